# SPDX-License-Identifier: Apache-2.0

"""Output of ``test`` for machines: table, JSON, YAML, JUnit, details, diffs.

``test`` tries rules on machines whose inventories are in files. Every output
format has a :class:`Listing`. The processes that try the rules call its
``extract``, which reduces the test of a machine to the data that the format
needs, e.g. to a row. The main process then passes these data to ``add``, and
calls ``end`` after the last machine::

    for data in …:  # from other processes
        listing.add(data)
    listing.end(results)

Machines are *alike* if their data are equal except for the path of the file. A
fleet has many of them, so some formats print them together.
"""

import collections
import functools
import json
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.report import junit
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import machine_diff
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import yaml_text

_HIDDEN_CHANGES = _('what sensitive rules would change is withheld')

_MAX_REASONS = 3
"""Maximum number of lines in a cell with the reasons of a rule."""

_MAX_NAMES = 3
"""Maximum number of machines that a cell names; a line with the number of
other machines follows."""

_MAX_SINGLE_ROWS = 20
"""Maximum number of machines that a table lists separately. A longer table has
one row for all machines that are alike."""


class MachineRow(typing.NamedTuple):
    """A row of the table: a machine, its result and three numbers.

    :ivar path: the file of the machine. In a row for machines that are alike,
        it is empty, or the paths of some of them in several lines.
    :ivar matched: the number of rules that matched.
    :ivar changes: the number of changes, without those of sensitive rules.
    :ivar audited: the number of rules in mode ``audit`` that would do
        something.
    :ivar hides_changes: whether sensitive rules ran, which may make more
        changes.
    """

    path: str
    result: str
    matched: int
    changes: int
    audited: int
    error: str
    hides_changes: bool = False


class MachineDetails(typing.NamedTuple):
    """The text about a machine in the details.

    :ivar verdict: the result as a sentence, e.g. ``inspection would succeed``.
    :ivar body: the rules and changes of the machine, in several lines. It is
        empty if the machine cannot be read.
    """

    path: str
    verdict: str
    body: str


def as_dict(test: machine_test.MachineTest) -> dict[str, typing.Any]:
    """Return the test of a machine as plain JSON data."""
    return {
        'inventory': test.path,
        **test.outcome.as_dict(),
        'result': test.result,
        'error': test.error,
    }


def as_json(test: machine_test.MachineTest, indent: int | None = None) -> str:
    """Return the test of a machine as JSON.

    :param indent: the number of spaces per level; None for JSON on one line,
        which is far faster.
    """
    return json.dumps(as_dict(test), indent=indent)


def diff_lines(changes: typing.Iterable[engine_change.Change]) -> list[str]:
    """Return changes as lines of a diff, below the name of their object.

    For example, ``['node', '+ /extra/rack: "b7"']``.
    """
    changes_with_before = [change.with_before() for change in changes]
    return list(machine_diff.change_lines(changes_with_before))


class Listing:
    """Prints the tests of machines in one format.

    Subclasses may override :meth:`add` and :meth:`end`. This class prints
    every machine at once, and nothing at the end.

    :ivar extract: the function that reduces the test of a machine to the data
        that :meth:`add` needs. It runs in other processes, because passing a
        whole test between processes would be slow. Its result is a text,
        unless a subclass overrides :meth:`add`.
    """

    extract: machine_test.Extract

    def __init__(self, output: typing.TextIO) -> None:
        self._output = output

    def add(self, entry: typing.Any) -> None:
        """Print one more machine, or store it until the end.

        :param entry: the result of :attr:`extract` for the machine.
        """
        self._output.write(entry)

    def end(self, results: collections.Counter[str]) -> None:
        """Print the rest of the listing.

        :param results: the number of machines by result.
        """


class JsonListing(Listing):
    """A list in JSON, which is printed machine by machine.

    :param indented: whether the JSON of a machine is indented. Otherwise it is
        on one line, which is far faster for many machines.
    """

    def __init__(self, output: typing.TextIO, indented: bool) -> None:
        super().__init__(output)
        indent = None
        if indented:
            indent = 2
        self.extract = functools.partial(as_json, indent=indent)
        # The text before the next machine. There is at least one machine, so
        # the bracket is always printed.
        self._separator = '['

    def add(self, entry: str) -> None:
        """Print the JSON of one more machine, after a separator."""
        self._output.write(self._separator + entry)
        self._separator = ',\n'

    def end(self, results: collections.Counter[str]) -> None:
        """Print the end of the list."""
        self._output.write(']\n')


class YamlListing(Listing):
    """A list in YAML."""

    @staticmethod
    def extract(test: machine_test.MachineTest) -> str:
        """Return the test of a machine as a list in YAML with one item."""
        return yaml_text.dump([as_dict(test)], Dumper=yaml_text.FastDumper)


class TableListing(Listing):
    """A line for every machine, or for all that are alike, and the totals."""

    @staticmethod
    def extract(test: machine_test.MachineTest) -> MachineRow:
        """Return the row of a machine, with counts of rules and changes."""
        return MachineRow(
            path=test.path,
            result=test.result,
            matched=len(test.matched),
            changes=len(test.outcome.changes),
            audited=len(test.outcome.audited),
            error=test.error or '',
            hides_changes=test.hides_changes,
        )

    def __init__(self, output: typing.TextIO) -> None:
        super().__init__(output)
        # Machines that are alike share a row, whose path is empty. These are
        # the number of machines and the first paths of every shared row.
        self._count_by_row: collections.Counter[MachineRow] = (
            collections.Counter()
        )
        self._paths_by_row: dict[MachineRow, list[str]] = {}

    def add(self, entry: MachineRow) -> None:
        """Count a machine with the machines that are alike.

        :param entry: the row of the machine, with its path.
        """
        shared_row = entry._replace(path='')
        self._count_by_row[shared_row] += 1
        paths = self._paths_by_row.setdefault(shared_row, [])
        # A table with more machines than this does not list them separately,
        # so more paths are never needed.
        if len(paths) < _MAX_SINGLE_ROWS:
            paths.append(entry.path)

    def end(self, results: collections.Counter[str]) -> None:
        """Print the table of all machines, and the totals by result.

        For example, the last line is ``40 inventories: 39 ok, 1 failed, 0 with
        an error``.
        """
        if self._count_by_row:
            self._output.write(f'{self._render_table()}\n')
            if any(row.hides_changes for row in self._count_by_row):
                self._output.write(_HIDDEN_CHANGES + '\n')
            elif not any(row.changes for row in self._count_by_row):
                self._output.write(_('nothing would change') + '\n')
        total = results.total()
        text = _P(
            '%(all)d inventory: %(ok)d ok, %(failed)d failed, '
            '%(error)d with an error',
            '%(all)d inventories: %(ok)d ok, %(failed)d failed, '
            '%(error)d with an error',
            total,
        )
        text %= {
            'all': total,
            'ok': results['ok'],
            'failed': results['failed'],
            'error': results['error'],
        }
        self._output.write(f'{text}\n')

    def _render_table(self) -> str:
        """Return the table of machines.

        If there are few machines, every machine has a row. In a fleet, all
        machines that are alike share a row. The table has the column "Audit"
        only if a rule in mode ``audit`` would do something.
        """
        if self._count_by_row.total() <= _MAX_SINGLE_ROWS:
            rows = self._list_single_rows()
        else:
            rows = self._list_shared_rows()
        has_audit = any(row.audited for row in rows)
        columns = [_('Inventory'), _('Result'), _('Matched'), _('Changes')]
        if has_audit:
            columns.append(_('Audit'))
        columns.append(_('Error'))
        cells_of_rows = []
        for row in rows:
            cells = [row.path, row.result, row.matched, row.changes]
            if has_audit:
                cells.append(row.audited)
            cells.append(row.error)
            cells_of_rows.append(cells)
        return table.render(columns, cells_of_rows)

    def _list_single_rows(self) -> list[MachineRow]:
        """Return a row for every machine, ordered by path.

        There are at most :data:`_MAX_SINGLE_ROWS` machines, so the paths of
        all of them were stored.
        """
        rows = []
        for shared_row, paths in self._paths_by_row.items():
            rows += [shared_row._replace(path=path) for path in paths]
        return sorted(rows)

    def _list_shared_rows(self) -> list[MachineRow]:
        """Return the shared rows of all machines that are alike.

        The path of a row has several lines: the first paths, and the number of
        other machines, e.g. ``and 7 more``.
        """
        rows = []
        for shared_row, paths in self._paths_by_row.items():
            lines = paths[:_MAX_NAMES]
            # Only the first paths were stored, so the number of paths is not
            # the number of machines.
            left_out = self._count_by_row[shared_row] - len(lines)
            if left_out:
                lines.append(_('and %d more') % left_out)
            rows.append(shared_row._replace(path='\n'.join(lines)))
        return rows


class JunitListing(Listing):
    """A test case for each machine, as JUnit XML."""

    def __init__(self, output: typing.TextIO) -> None:
        super().__init__(output)
        self._cases: list[junit.JunitCase] = []

    @staticmethod
    def extract(test: machine_test.MachineTest) -> junit.JunitCase:
        """Return the result of a machine as a test case."""
        return junit.JunitCase(test.path, test.result, test.error or '')

    def add(self, entry: junit.JunitCase) -> None:
        """Store a test case until all machines have been tried."""
        self._cases.append(entry)

    def end(self, results: collections.Counter[str]) -> None:
        """Print all test cases, because JUnit XML begins with their number."""
        self._output.write(junit.render(self._cases))


class DetailsListing(Listing):
    """All details of machines, only once for machines that are alike."""

    @staticmethod
    def extract(test: machine_test.MachineTest) -> MachineDetails:
        """Return the verdict on a machine, and its details as text.

        If the machine cannot be read, the verdict is the reason, and there are
        no details. Otherwise, the details are:

        - a table of the rules, with the reasons why they did not match,
        - the changes, as lines of a diff,
        - what rules in mode ``audit`` would do.
        """
        if test.problem is not None:
            reason = _why_unreadable(test.path, test.problem)
            return MachineDetails(
                path=test.path,
                verdict=_('it cannot be read: %s') % reason,
                body='',
            )
        table_of_rules = table.render(
            [_('Rule'), _('Phase'), _('Matched'), _('Why not')],
            _rule_rows(test.outcome.traces),
        )
        lines = [table_of_rules, *diff_lines(test.outcome.changes)]
        if test.hides_changes:
            lines.append(_HIDDEN_CHANGES)
        elif not test.outcome.changes:
            lines.append(_('nothing would change'))
        for rule_trace in test.outcome.audited:
            lines += _audit_lines(rule_trace)
        return MachineDetails(
            path=test.path,
            verdict=_verdict_sentence(test),
            body='\n'.join(lines),
        )

    def __init__(self, output: typing.TextIO) -> None:
        super().__init__(output)
        # The paths of machines that are alike, by their verdict and body.
        self._paths_by_text: dict[tuple[str, str], list[str]] = {}

    def add(self, entry: MachineDetails) -> None:
        """Store the path of a machine with the machines that are alike."""
        verdict_and_body = (entry.verdict, entry.body)
        paths = self._paths_by_text.setdefault(verdict_and_body, [])
        paths.append(entry.path)

    def end(self, results: collections.Counter[str]) -> None:
        """Print the paths of machines that are alike, then their details.

        The verdict follows the last path::

            inventories/1.json
            inventories/2.json: inspection would succeed
            (the table of rules and the changes)
        """
        texts = []
        for (verdict, body), paths in self._paths_by_text.items():
            *other_paths, last_path = paths
            lines = [*other_paths, f'{last_path}: {verdict}', body]
            # The body may be empty, which leaves an empty line at the end.
            texts.append('\n'.join(lines).rstrip())
        self._output.write('\n\n'.join(texts) + '\n')


def _verdict_sentence(test: machine_test.MachineTest) -> str:
    """Return the result of an inspection as a sentence, with its error.

    For example, ``inspection would fail: no disk``.
    """
    verdict_by_result = {
        'ok': _('inspection would succeed'),
        'failed': _('inspection would fail'),
        'error': _('a rule has an error'),
    }
    verdict = verdict_by_result[test.result]
    if test.error:
        return f'{verdict}: {test.error}'
    return verdict


def _why_unreadable(path: str, problem: exceptions.InvalidDocument) -> str:
    """Return why a machine cannot be read, for a line that has its path.

    The text of a problem begins with the file, and may have a place in it. The
    file is left out if it is the path of the line, and there is no place.

    :param path: the file with the inventory of the machine.
    :param problem: a problem in this file, or in the file of the node.
    """
    if problem.path == path and problem.place is None:
        return problem.reason
    return str(problem)


def _rule_rows(traces: typing.Iterable[trace.RuleTrace]) -> list[list[str]]:
    """Return a row with the result for every rule in mode ``enforce``.

    A row has the title, the phase, ``yes`` or ``no``, and the reasons why the
    rule did not match, or why some of its actions did not run. The reasons of
    a sensitive rule are withheld.

    :param traces: the traces of the rules that ran.
    """
    rows = []
    for rule_trace in traces:
        rule = rule_trace.rule
        if rule.mode != model.ENFORCE:
            # Rules in mode "audit" have separate lines below the table.
            continue
        matched = _('no')
        if rule_trace.matched:
            matched = _('yes')
        lines = _list_reasons(rule_trace)
        if len(lines) > _MAX_REASONS:
            # Keep one line for the number of reasons that are left out.
            first_reasons = lines[: _MAX_REASONS - 1]
            left_out = len(lines) - len(first_reasons)
            lines = [*first_reasons, _('%d more') % left_out]
        reasons = '\n'.join(lines)
        why_not = disclosure.disclose_text(rule, reasons, _('withheld'))
        rows.append([machine_test.title(rule), rule.phase, matched, why_not])
    return rows


def _audit_lines(rule_trace: trace.RuleTrace) -> list[str]:
    """Return what a rule in mode ``audit`` would do, below its title.

    For example, ``['audit: Note the rack', '  node', '  + /extra/rack:
    "b7"']``. The changes of a sensitive rule are withheld.
    """
    title = _('audit: %s') % machine_test.title(rule_trace.rule)
    details = []
    if rule_trace.error:
        details.append(_('would fail: %s') % rule_trace.error)
    # The trace of a sensitive rule has no actions.
    changes: list[engine_change.Change] = []
    for action in rule_trace.actions:
        changes += action.changes
    details += diff_lines(changes)
    if not details:
        details.append(
            disclosure.disclose_text(
                rule_trace.rule, _('would change nothing'), _('withheld')
            )
        )
    return [title, *(f'  {line}' for line in details)]


def _list_reasons(rule_trace: trace.RuleTrace) -> list[str]:
    """Return why a rule does not match, or why some actions do not run.

    - If the rule does not match, there is a text for every condition that does
      not hold, e.g. ``eq: values=[2, 4]``.
    - If it matches, there is a text for every action that does not run, e.g.
      ``fail: the loop has no items``.

    A text has only the op if the reason is not known. Equal texts are listed
    once.
    """
    # Pairs of an op and the reason, which may be None or empty.
    ops_and_reasons = []
    if rule_trace.matched:
        for action in rule_trace.actions:
            if action.idle:
                ops_and_reasons.append((action.op, action.idle.reason))
    else:
        for condition in rule_trace.conditions:
            if not condition.result:
                ops_and_reasons.append((condition.op, condition.reason))
    texts = []
    for op, reason in ops_and_reasons:
        if reason:
            texts.append(f'{op}: {reason}')
        else:
            texts.append(op)
    # A dictionary removes equal texts, and keeps the order.
    return list(dict.fromkeys(texts))
