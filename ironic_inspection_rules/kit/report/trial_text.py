# SPDX-License-Identifier: Apache-2.0

"""Output of test for machines: table, JSON, YAML, JUnit, details, diffs."""

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
_MAX_NAMES = 3
"""Maximum number of reasons of a rule, and of names of machines, in a cell,
which then has the number of the others."""

_MAX_SINGLE_ROWS = 20
"""Maximum number of machines that a table lists separately. A longer table has
one row for all machines that are alike."""


class MachineRow(typing.NamedTuple):
    """A row of the table: a machine, its result and three numbers.

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

    :ivar verdict: e.g. ``inspection would succeed``.
    :ivar body: the rules and changes of the machine, in several lines.
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

    :param indent: the number of spaces per level; None is far faster.
    """
    return json.dumps(as_dict(test), indent=indent)


def diff_lines(changes: typing.Iterable[engine_change.Change]) -> list[str]:
    """Return changes as lines of a diff, below the name of their object."""
    changes_with_before = [change.with_before() for change in changes]
    return list(machine_diff.change_lines(changes_with_before))


class Listing:
    """Prints tests of machines as they arrive.

    Other processes test the machines, and passing a whole test between
    processes would be slow. ``extract`` is therefore called there, and returns
    only the data that :meth:`add` prints. A format that prints every machine
    separately does not store them.
    """

    extract: machine_test.Extract

    def __init__(self, output: typing.TextIO) -> None:
        self._output = output

    def add(self, entry: typing.Any) -> None:
        """Print one more machine, either at once or at the end.

        :param entry: the result of :attr:`extract` for the machine.
        """
        self._output.write(entry)

    def end(self, results: collections.Counter[str]) -> None:
        """Print the rest of the listing.

        :param results: the number of machines by result.
        """


class JsonListing(Listing):
    """A list in JSON, with one machine per line if there are many."""

    def __init__(self, output: typing.TextIO, indented: bool) -> None:
        super().__init__(output)
        # Without indentation, JSON is on one line and is written far faster.
        indent = None
        if indented:
            indent = 2
        self.extract = functools.partial(as_json, indent=indent)
        # There is at least one machine, so the list always begins.
        self._separator = '['

    def add(self, entry: str) -> None:
        """Print the JSON of one more machine, after the separator."""
        super().add(self._separator + entry)
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
        # Machines that are alike share a row, whose path is empty. Only the
        # first paths are kept, because a table shows no more.
        self._paths: dict[MachineRow, list[str]] = {}
        self._counts: collections.Counter[MachineRow] = collections.Counter()

    def add(self, entry: MachineRow) -> None:
        """Count a machine with those that are alike, and keep its path.

        Machines are alike if their rows differ only in the path, so the row
        without its path is the key of their count.
        """
        alike = entry._replace(path='')
        self._counts[alike] += 1
        paths = self._paths.setdefault(alike, [])
        # The table shows the paths of all machines only if there are at most
        # so many in total. More paths are never needed.
        if len(paths) < _MAX_SINGLE_ROWS:
            paths.append(entry.path)

    def end(self, results: collections.Counter[str]) -> None:
        """Write the table of all machines, and the totals by result."""
        if self._counts:
            self._output.write(f'{self._table()}\n')
            # A row is for one machine, or for all machines that are alike.
            if any(row.hides_changes for row in self._counts):
                self._output.write(_HIDDEN_CHANGES + '\n')
            elif not any(row.changes for row in self._counts):
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

    def _table(self) -> str:
        """Return the table of machines.

        If there are few machines, every machine has a row. In a fleet, all
        machines that are alike share a row. The column "Audit" is only present
        if a rule in mode ``audit`` would do something.
        """
        if self._counts.total() <= _MAX_SINGLE_ROWS:
            rows = self._rows_of_machines()
        else:
            rows = self._rows_of_kinds()
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

    def _rows_of_machines(self) -> list[MachineRow]:
        """Return a row for every machine, ordered by path.

        There are few machines, so the paths of all of them were kept.
        """
        rows = []
        for alike, paths in self._paths.items():
            rows += [alike._replace(path=path) for path in paths]
        return sorted(rows)

    def _rows_of_kinds(self) -> list[MachineRow]:
        """Return one row for all machines that are alike.

        Its path is replaced by the first paths and the number of others.
        """
        rows = []
        for alike, paths in self._paths.items():
            lines = paths[:_MAX_NAMES]
            # Do not count the paths, because only the first ones were kept.
            left_out = self._counts[alike] - len(lines)
            if left_out:
                lines.append(_('and %d more') % left_out)
            rows.append(alike._replace(path='\n'.join(lines)))
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
    """All details of machines; equal rules and changes are printed once."""

    @staticmethod
    def extract(test: machine_test.MachineTest) -> MachineDetails:
        """Return the verdict on a machine, its rules and its changes as text.

        The rules are a table with the reasons why they did not match. The last
        lines show what rules in mode ``audit`` would do.
        """
        if test.problem is not None:
            reason = _why_unreadable(test.path, test.problem)
            return MachineDetails(
                path=test.path,
                verdict=_('it cannot be read: %s') % reason,
                body='',
            )
        rules = table.render(
            [_('Rule'), _('Phase'), _('Matched'), _('Why not')],
            _rule_rows(test.outcome.traces),
        )
        lines = [rules, *diff_lines(test.outcome.changes)]
        if test.hides_changes:
            lines.append(_HIDDEN_CHANGES)
        elif not test.outcome.changes:
            lines.append(_('nothing would change'))
        for traced in test.outcome.audited:
            lines += _audit_lines(traced)
        return MachineDetails(
            path=test.path,
            verdict=_verdict_sentence(test),
            body='\n'.join(lines),
        )

    def __init__(self, output: typing.TextIO) -> None:
        super().__init__(output)
        # The paths of machines that are alike, by their verdict and body.
        self._paths_of_alike: dict[tuple[str, str], list[str]] = {}

    def add(self, entry: MachineDetails) -> None:
        """Store the path of a machine with those that are alike."""
        verdict_and_body = (entry.verdict, entry.body)
        self._paths_of_alike.setdefault(verdict_and_body, []).append(
            entry.path
        )

    def end(self, results: collections.Counter[str]) -> None:
        """Write the paths of machines that are alike, then what they share.

        The last path is followed by the verdict::

            inventories/1.json
            inventories/2.json: inspection would succeed
        """
        texts = []
        for (verdict, body), paths in self._paths_of_alike.items():
            *other_paths, last_path = paths
            lines = [*other_paths, f'{last_path}: {verdict}', body]
            # The body may be empty.
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

    The reason names a file only if it is another file, e.g. the file of the
    node, or if it also names a place in the file.
    """
    names_only_this_file = problem.path == path and problem.place is None
    if names_only_this_file:
        return problem.reason
    return str(problem)


def _rule_rows(traces: typing.Iterable[trace.RuleTrace]) -> list[list[str]]:
    """Return a row with the result for every rule in mode ``enforce``.

    The last cell says why the rule did not match, or why some of its actions
    did not run. For a sensitive rule it says that this is withheld.
    """
    rows = []
    for traced in traces:
        if traced.rule.mode != model.ENFORCE:
            # Rules in mode "audit" have separate lines below the table.
            continue
        matched = _('no')
        if traced.matched:
            matched = _('yes')
        lines = _list_reasons(traced)
        if len(lines) > _MAX_REASONS:
            # The line with the number of others counts as a line too.
            first_reasons = lines[: _MAX_REASONS - 1]
            left_out = len(lines) - len(first_reasons)
            lines = [*first_reasons, _('%d more') % left_out]
        why_not = disclosure.disclose_text(
            traced.rule, '\n'.join(lines), _('withheld')
        )
        rows.append(
            [
                machine_test.title(traced.rule),
                traced.rule.phase,
                matched,
                why_not,
            ]
        )
    return rows


def _audit_lines(traced: trace.RuleTrace) -> list[str]:
    """Return what a rule in mode ``audit`` would do, below its title.

    For a sensitive rule the changes are withheld.
    """
    title = _('audit: %s') % machine_test.title(traced.rule)
    details = []
    if traced.error:
        details.append(_('would fail: %s') % traced.error)
    changes: list[engine_change.Change] = []
    for action in traced.actions:
        changes += action.changes
    details += diff_lines(changes)
    if not details:
        details.append(
            disclosure.disclose_text(
                traced.rule, _('would change nothing'), _('withheld')
            )
        )
    return [title, *(f'  {line}' for line in details)]


def _list_reasons(traced: trace.RuleTrace) -> list[str]:
    """List why a rule does not match, or which of its actions do not run.

    :returns: texts without duplicates, e.g. ``eq: values=[2, 4]`` or ``log``:
        the op, with the reason if it is known.
    """
    # Pairs of an op and the reason, which may be unknown or empty.
    ops_with_reasons = []
    if traced.matched:
        for action in traced.actions:
            if action.idle:
                ops_with_reasons.append((action.op, action.idle.reason))
    else:
        for condition in traced.conditions:
            if not condition.result:
                ops_with_reasons.append((condition.op, condition.reason))
    lines = []
    for op, reason in ops_with_reasons:
        if reason:
            lines.append(f'{op}: {reason}')
        else:
            lines.append(op)
    return list(dict.fromkeys(lines))
