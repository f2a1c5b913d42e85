# SPDX-License-Identifier: Apache-2.0

"""Find machines that two rule sets treat differently, for ``diff``.

Both rule sets are tried on every machine, in a dry run. Then the results of
the inspection are compared, and the data that the rules leave, e.g.
``extra.rack``. The differences are the lines of a diff.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import dataclasses
import functools
import json
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import difference
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.machine import file_work
from ironic_inspection_rules.kit.trial import machine_test

_LONGEST_VALUE = 500
"""Maximum length of a value in a line of a diff."""


@dataclasses.dataclass(frozen=True)
class MachineComparison:
    """The comparison of two sets of rules on one machine.

    :param path: the file with the inventory of the machine.
    :param old: the result of the old rules: ``ok``, ``failed`` by a rule, or
        ``error``.
    :param new: the result of the new rules.
    :param lines: the differences of the results, as lines of a diff.
    :param problem: why its files cannot be read; None if they can be read.
    """

    path: str
    old: str
    new: str
    lines: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def differs(self) -> bool:
        """Whether the two sets of rules treat the machine differently."""
        return bool(self.lines)

    @property
    def result(self) -> 'ComparisonResult':
        """The comparison without the path, which can be compared."""
        return ComparisonResult(self.old, self.new, self.lines)


class ComparisonResult(typing.NamedTuple):
    """The common data of machines that are treated in the same way.

    :param old: the result of the old rules: ``ok``, ``failed`` by a rule, or
        ``error``.
    :param new: the result of the new rules.
    :param lines: the differences of the results, as lines of a diff.
    """

    old: str
    new: str
    lines: tuple[str, ...]


def compare(
    old: machine_test.RuleSet,
    new: machine_test.RuleSet,
    nodes: machine_test.Nodes,
    paths: Sequence[str],
    advance: file_work.Advance,
) -> Iterator[MachineComparison]:
    """Evaluate two sets of rules on machines from files, on all processors.

    :param nodes: the nodes that belong to files of machines.
    :param paths: the files with the inventories.
    :param advance: called as machines are tried, for a progress bar.
    :returns: a comparison per machine, yielded as the machines are tried.
    """
    # Each worker process creates one object of the class from these arguments,
    # and calls it with chunks of the paths.
    prepare = functools.partial(_MachineComparer, old, new, nodes)
    for comparisons in file_work.in_chunks(paths, prepare, advance):
        yield from comparisons


class _MachineComparer:
    """Try both rule sets on chunks of machines, in a worker process.

    The rules are compiled once per process instead of once per machine.
    """

    def __init__(
        self,
        old: machine_test.RuleSet,
        new: machine_test.RuleSet,
        nodes: machine_test.Nodes,
    ) -> None:
        self._old = machine_test.compile_rules(old.rules, tables=old.tables)
        self._new = machine_test.compile_rules(new.rules, tables=new.tables)
        self._nodes = nodes

    def __call__(self, paths: Sequence[str]) -> list[MachineComparison]:
        """Return the comparisons of the machines of some files."""
        return [
            compare_machine(path, self._old, self._new, self._nodes)
            for path in paths
        ]


def compare_machine(
    path: str,
    old_plans: machine_test.Plans,
    new_plans: machine_test.Plans,
    nodes: machine_test.Nodes,
) -> MachineComparison:
    """Evaluate two sets of rules on one machine, and compare the results.

    Both the result of the inspection and the resulting data are compared. For
    example, if only the new rules refuse a machine, and the old rules set a
    rack, the lines of the comparison are::

        inspection
        - ok
        + failed: too old
        node
        - /extra/rack: "b7"

    :param path: the file with the inventory of the machine.
    :param old_plans: the compiled old rules by phase.
    :param new_plans: the compiled new rules by phase.
    :param nodes: the nodes that belong to files of machines.
    :returns: the comparison. If a file cannot be read, it has a ``problem``,
        and does not differ.
    """
    try:
        node = nodes.node_for(path)
        # The data of the machine before the first rule.
        facts = machine_test.load_facts(path, node)
    except exceptions.InvalidDocument as exc:
        return MachineComparison(
            path=path, old='error', new='error', problem=str(exc)
        )
    old = evaluation.evaluate(old_plans, facts, explain=False)
    new = evaluation.evaluate(new_plans, facts, explain=False)
    lines = []
    old_ending = _describe_ending(old)
    new_ending = _describe_ending(new)
    if old_ending != new_ending:
        lines += ['inspection', f'- {old_ending}', f'+ {new_ending}']
    # Compare the data after the old rules with the data after the new rules.
    # The ports are only needed to name the ports in the changes.
    data_difference = difference.between(old.facts, new.facts, facts.ports)
    changes = [change.with_before() for change in data_difference.changes]
    lines += change_lines(changes)
    if data_difference.has_withheld:
        # Values that sensitive rules set differ as well, but nobody may see
        # them.
        lines.append(_('what sensitive rules set is withheld'))
    return MachineComparison(
        path=path,
        old=machine_test.result_of(old),
        new=machine_test.result_of(new),
        lines=tuple(lines),
    )


def _describe_ending(outcome: evaluation.Evaluation) -> str:
    """Return how an inspection ended, e.g. ``failed: too old``.

    The rule and the op that failed are omitted, because they make no
    difference to the machine.
    """
    result = machine_test.result_of(outcome)
    if outcome.error and outcome.error.reason:
        return f'{result}: {outcome.error.reason}'
    return result


def change_lines(changes: Iterable[Mapping[str, typing.Any]]) -> Iterator[str]:
    """Yield changes of data as lines of a diff, for a terminal or a page.

    ``diff`` and ``test``, and the pages of ``test`` and of a replay, contain
    them. For example, a node gets another name and a new trait::

        node
        - /name: "a"
        + /name: "b"
        traits
        + CUSTOM_GPU

    Long values are truncated.

    :param changes: mappings with ``object``, ``op``, ``path``, ``before`` and
        ``value``; changes of the same object must be consecutive. The op is
        ``add``, ``replace`` or ``remove``.
    """
    object_of_last_line = None
    for change in changes:
        if change['object'] != object_of_last_line:
            # A line such as "node" precedes the changes of the node.
            object_of_last_line = change['object']
            yield object_of_last_line
        if change['object'] == working_copy.TRAITS:
            # A trait has no value. Its path is its name, "/CUSTOM_GPU".
            name = data_path.parse(change['path'])[0]
            if change['op'] == 'remove':
                yield f'- {name}'
            else:
                yield f'+ {name}'
            continue
        # A value that is replaced gives both a "-" line and a "+" line.
        if change['op'] != 'add':
            yield f'- {change["path"]}: {_format_value(change["before"])}'
        if change['op'] != 'remove':
            yield f'+ {change["path"]}: {_format_value(change["value"])}'


def _format_value(value: typing.Any) -> str:
    """Format a value as JSON for a line of a diff, truncated if it is long.

    ``{'rack': 'b7'}`` becomes ``{"rack": "b7"}``.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(text) > _LONGEST_VALUE:
        return f'{text[:_LONGEST_VALUE]}…'
    return text
