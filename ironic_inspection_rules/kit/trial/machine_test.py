# SPDX-License-Identifier: Apache-2.0

"""Rules tried on machines from files."""

import dataclasses
import functools
import os.path
import pathlib
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.kit.trial import walk
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import table_file
from ironic_inspection_rules.rule_set import repository

Plans = dict[str, list[compiler.CompiledRule]]

NO_TABLES: table.Tables = {}

# What every node and every port has, as Ironic makes it.
_NODE, _PORT = ({name: attribute.default for name, attribute in table.items()
                 if attribute.default is not ...}
                for table in (schema.NODE, schema.PORT))


@dataclasses.dataclass(frozen=True)
class Node:
    """The node that every machine is taken for.

    ``ports`` is None where a machine has a port for each interface of its
    inventory.
    """

    fields: dict[str, typing.Any]
    ports: tuple[dict[str, typing.Any], ...] | None = None
    port_groups: tuple[dict[str, typing.Any], ...] = ()


class Nodes:
    """The node that each machine is taken for.

    :param path: a file with the node of all machines, see :func:`load_node`;
        or a directory with files that are called as the inventories are. A
        machine without a file is a new node, as are all without a path.
    :raises: :class:`.exceptions.InvalidDocument` where the file has no node.
    """

    def __init__(self, path: str | None = None) -> None:
        self._files: dict[str, str] = {}
        if path is not None and os.path.isdir(path):
            self._files = {pathlib.Path(found).stem: found
                           for found in find_inventories([path])}
            path = None
        self._node = load_node(path)

    def of(self, inventory: str) -> Node:
        """Return the node of a machine."""
        path = self._files.get(pathlib.Path(inventory).stem)
        return load_node(path) if path else self._node


@dataclasses.dataclass(frozen=True)
class MachineTest:
    """Trial of rules on one machine.

    ``problem`` says why its files cannot be read, None where they can.
    """

    path: str
    outcome: evaluation.Evaluation
    problem: exceptions.InvalidDocument | None = None

    @property
    def result(self) -> str:
        """``ok``, ``failed`` by a rule, or ``error`` in a rule or a file."""
        if self.problem is not None:
            return 'error'
        return result_of(self.outcome)

    @property
    def error(self) -> str | None:
        """Why the result is not ``ok``, None where it is."""
        if self.outcome.error is not None:
            return str(self.outcome.error)
        return None if self.problem is None else str(self.problem)

    @property
    def matched(self) -> list[str]:
        """The titles of the rules that matched."""
        return [title(each.rule) for each in self.outcome.traces
                if each.matched and each.rule.mode == model.ENFORCE]


def result_of(outcome: evaluation.Evaluation) -> str:
    """Return ``ok``, ``failed`` by a rule, or ``error`` in a rule."""
    if outcome.error is None:
        return 'ok'
    return 'failed' if isinstance(outcome.error,
                                  exceptions.RuleFailed) else 'error'


def title(rule: model.Rule) -> str:
    """Return the description of a rule, or its UUID if it has none."""
    return rule.description or rule.uuid


def load_rules(paths: typing.Iterable[str],
               warn: typing.Callable[[str], typing.Any] = lambda line: None
               ) -> list[model.Rule]:
    """Read all rules of some files; see :func:`load_rule_set`."""
    return load_rule_set(paths, warn).rules


class RuleSet(typing.NamedTuple):
    """Rules, and the tables that they read by name."""

    rules: list[model.Rule]
    tables: table.Tables


def load_rule_set(paths: typing.Iterable[str],
                  warn: typing.Callable[[str], typing.Any] = lambda line: None
                  ) -> RuleSet:
    """Read all rules and tables of some files.

    :param warn: see :func:`.file_rule.parse_all`; also called with a line
        for each file without rules and tables.
    :raises: :class:`.exceptions.InvalidDocument` at the first problem.
    """
    written = []
    documents = []
    for path in paths:
        read = document.load(path)
        documents.append(read)
        found = file_rule.rules(read)
        written += found
        if not found and not read.tables:
            warn(_('%s: warning: the file holds no rules\n') % path)
    tables = table_file.build(table_file.load(documents))
    rules = file_rule.parse_all(written, registry.installed(), warn)
    table_file.check_rules(written, rules, tables)
    return RuleSet(rules, tables)


def compile_rules(rules: typing.Iterable[model.Rule],
                  explained: bool = True,
                  tables: table.Tables = NO_TABLES) -> Plans:
    """Compile the rules that run, in that order, by phase.

    :param explained: whether to give reasons where an explanation is asked
        for.
    :param tables: what the rules read as ``{tables.NAME}``.
    """
    plans: Plans = {phase: [] for phase in model.PHASES}
    for rule in repository.order(rules):
        if rule.mode != model.OFF:
            plans[rule.phase].append(compiler.compile_rule(
                rule, registry.installed(), explained=explained,
                tables=tables))
    return plans


def compile_opened(rule: model.Rule, tables: table.Tables = NO_TABLES
                   ) -> compiler.CompiledRule:
    """Compile a rule as one that is not sensitive, but reads what it reads.

    For results that show nothing of the rule.
    """
    opened = compiler.compile_rule(
        disclosure.opened(rule), registry.installed(), explained=False,
        tables=tables)
    if opened.tables is None:
        return opened
    itself = compiler.compile_rule(rule, registry.installed(), tables=tables)
    return dataclasses.replace(opened, tables=itself.tables)


def find_inventories(paths: typing.Iterable[str]) -> list[str]:
    """Return the files that paths name, directly or as directories.

    :raises: :class:`.exceptions.InvalidDocument` where there are none.
    """
    return list(dict.fromkeys(document.files(
        (str(pathlib.Path(path)) for path in paths),
        _('there are no inventories in this directory'))))


def load_node(path: str | None) -> Node:
    """Read a file with a node as Ironic's API shows it.

    :param path: the node alone, or a mapping with ``node`` and perhaps
        ``ports`` and ``port_groups``. Without a file the node is a new one.
    :raises: :class:`.exceptions.InvalidDocument` where it has no node.
    """
    read = document.load_mapping(path) if path else {}
    fields = read.get('node', read)
    lists = {name: read.get(name) for name in ('ports', 'port_groups')
             } if fields is not read else {}
    if not isinstance(fields, dict) or not all(
            each is None or isinstance(each, list)
            for each in lists.values()):
        raise exceptions.InvalidDocument(path or '', _('there is no node'))
    ports = lists.get('ports')
    return Node({**_NODE, 'traits': [], **fields},
                None if ports is None else tuple(ports),
                tuple(lists.get('port_groups') or ()))


def run(path: str, plans: Plans, node: Node,
        explain: bool = True) -> MachineTest:
    """Try rules on one machine.

    :param path: file with its inventory, see :mod:`.machine.machine_file`.
    :raises: :class:`.exceptions.InvalidDocument` where it has none.
    """
    facts = load_facts(path, node)
    return MachineTest(path, evaluation.evaluate(plans, facts,
                                                 explain=explain))


def load_facts(path: str, node: Node) -> working_copy.Facts:
    """Read a machine as the first rule finds it.

    :raises: :class:`.exceptions.InvalidDocument` where there is none.
    """
    read = machine_file.load(path)
    return dataclasses.replace(
        read, node=node.fields, port_groups=node.port_groups,
        ports=ports(read.inventory) if node.ports is None else node.ports)


Extract = typing.Callable[[MachineTest], typing.Any]
"""Returns what is wanted of a test; it and what it returns can be pickled."""


def run_all(rules: typing.Sequence[model.Rule], nodes: Nodes,
            paths: typing.Sequence[str], extracts: typing.Sequence[Extract],
            advance: walk.Advance, explain: bool = True,
            tables: table.Tables = NO_TABLES
            ) -> typing.Iterator[tuple[typing.Any, ...]]:
    """Try rules on machines from files, on all processors.

    :param extracts: what is wanted of each test, which itself is not kept.
    :returns: for each machine, in order, what each of ``extracts`` returned.
    """
    for chunk in walk.in_chunks(paths, functools.partial(
            _prepare, rules, tables, nodes, extracts, explain), advance):
        yield from chunk


def _prepare(rules: typing.Sequence[model.Rule], tables: table.Tables,
             nodes: Nodes, extracts: typing.Sequence[Extract], explain: bool
             ) -> walk.Work[list[tuple[typing.Any, ...]]]:
    plans = compile_rules(rules, tables=tables)

    def work(paths: typing.Sequence[str]) -> list[tuple[typing.Any, ...]]:
        tests = (attempt(path, plans, nodes, explain) for path in paths)
        return [tuple(each(test) for each in extracts) for test in tests]

    return work


def attempt(path: str, plans: Plans, nodes: Nodes,
            explain: bool = True) -> MachineTest:
    """Try rules on one machine, whose files may be broken."""
    try:
        return run(path, plans, nodes.of(path), explain)
    except exceptions.InvalidDocument as exc:
        nothing = working_copy.Facts({}, {})
        return MachineTest(path, evaluation.Evaluation((), (), nothing), exc)


def ports(inventory: dict[str, typing.Any]
          ) -> tuple[dict[str, typing.Any], ...]:
    """Return a port for each interface of an inventory."""
    interfaces = inventory.get('interfaces')
    return tuple({**_PORT, 'address': interface['mac_address']}
                 for interface in interfaces
                 if isinstance(interface, dict)
                 and isinstance(interface.get('mac_address'), str)
                 ) if isinstance(interfaces, list) else ()
