# SPDX-License-Identifier: Apache-2.0

"""Try rules on machines whose inventories are in files.

A trial is a dry run of an inspection: it returns what the rules would change,
and saves nothing. Its facts are the data that the rules read: the inventory
and the plugin data from the file of the machine; and a node with its ports,
either a new one, or from another file. Many machines are tried by several
worker processes, which get the files in chunks.
"""

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
from ironic_inspection_rules.kit.machine import file_work
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import table_file
from ironic_inspection_rules.rule_set import repository

Plans = dict[str, list[compiler.CompiledRule]]
"""Compiled rules by phase, in the order in which they run, e.g. ``{'early':
[], 'preprocess': [], 'main': [<rule>]}``."""

NO_TABLES: table.Tables = {}


def _list_defaults(
    attributes: typing.Mapping[str, schema.Attribute],
) -> dict[str, typing.Any]:
    """Return the values that Ironic gives to a new node or port, by name.

    An example is ``{'name': None, 'extra': {}, …}``.
    """
    defaults = {}
    for name, attribute in attributes.items():
        # A required attribute has "..." instead of a default.
        if attribute.default is not ...:
            defaults[name] = attribute.default
    return defaults


_NODE_DEFAULTS = _list_defaults(schema.NODE)
_PORT_DEFAULTS = _list_defaults(schema.PORT)


@dataclasses.dataclass(frozen=True)
class Node:
    """A node on which machines are tried.

    :ivar fields: the attributes of the node.
    :ivar ports: the ports of the node; None if a machine gets a port for every
        interface in its inventory.
    :ivar port_groups: the port groups of the node.
    """

    fields: dict[str, typing.Any]
    ports: tuple[dict[str, typing.Any], ...] | None = None
    port_groups: tuple[dict[str, typing.Any], ...] = ()


class Nodes:
    """The nodes on which machines are tried.

    :param path: a file with a node for all machines, see :func:`load_node`, or
        a directory with one node file per inventory, with the same name up to
        its ending. A machine without a node file gets a new node. Without a
        path, all machines get new nodes.
    :raises: :class:`.exceptions.InvalidDocument` if the file is not valid, see
        :func:`load_node`, or if the directory has no files.
    """

    def __init__(self, path: str | None = None) -> None:
        # The files of a directory by their names without the ending: "a" for
        # "nodes/a.json", which has the node of "machines/a.json".
        self._file_by_stem: dict[str, str] = {}
        if path is not None and os.path.isdir(path):
            for node_file in find_inventories([path]):
                stem = pathlib.Path(node_file).stem
                self._file_by_stem[stem] = node_file
            # Machines without a file in the directory get a new node.
            self._default_node = load_node(None)
        else:
            # All machines get the node of the file. Without a path, they get a
            # new node.
            self._default_node = load_node(path)

    def node_for(self, inventory: str) -> Node:
        """Return the node of a machine.

        :param inventory: the file of the machine, e.g. ``machines/a.json``.
        :raises: :class:`.exceptions.InvalidDocument` if its file in the
            directory is not valid, see :func:`load_node`.
        """
        stem = pathlib.Path(inventory).stem
        node_file = self._file_by_stem.get(stem)
        if node_file is None:
            return self._default_node
        return load_node(node_file)


@dataclasses.dataclass(frozen=True)
class MachineTest:
    """The result of trying rules on one machine.

    :ivar path: the file with the inventory of the machine.
    :ivar outcome: what the rules do to the machine.
    :ivar problem: why a file cannot be read; None if all files can be read.
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
        """The reason why the result is not ``ok``; None if it is.

        It is the error of a rule, or the reason why a file cannot be read.
        """
        if self.outcome.error is not None:
            return str(self.outcome.error)
        if self.problem is not None:
            return str(self.problem)
        return None

    @property
    def matched(self) -> list[str]:
        """The titles of the rules in mode ``enforce`` that matched.

        A rule in mode ``audit`` may match as well, but changes nothing.
        """
        return [
            title(rule_trace.rule)
            for rule_trace in self.outcome.traces
            if rule_trace.matched and rule_trace.rule.mode == model.ENFORCE
        ]

    @property
    def hides_changes(self) -> bool:
        """Whether the rules may have made changes that the outcome hides.

        Changes by sensitive rules are hidden. This is true if a sensitive rule
        in mode ``enforce`` matched, or undid its earlier changes, even if it
        changed nothing.
        """
        for rule_trace in self.outcome.traces:
            rule = rule_trace.rule
            # A rule that does not match may undo its earlier changes.
            has_run = rule_trace.matched or rule_trace.reverted
            if not has_run or rule.mode != model.ENFORCE:
                continue
            # disclosure.withheld_mark() returns an empty mapping for a rule
            # that is not sensitive.
            if disclosure.withheld_mark(rule):
                return True
        return False


def result_of(outcome: evaluation.Evaluation) -> str:
    """Return ``ok``, ``failed`` by a rule, or ``error`` in a rule.

    A rule fails an inspection on purpose with the action "fail". Any other
    error is a mistake in a rule, e.g. a missing field.
    """
    if outcome.error is None:
        return 'ok'
    if isinstance(outcome.error, exceptions.RuleFailed):
        return 'failed'
    return 'error'


def title(rule: model.Rule) -> str:
    """Return the description of a rule, or its UUID if it has none."""
    return rule.description or rule.uuid


def _ignore(_line: str) -> None:
    """Ignore a warning, for callers that do not show warnings."""


def load_rules(
    paths: typing.Iterable[str],
    warn: typing.Callable[[str], typing.Any] = _ignore,
) -> list[model.Rule]:
    """Read all rules of some files; see :func:`load_rule_set`."""
    return load_rule_set(paths, warn).rules


class RuleSet(typing.NamedTuple):
    """Rules, the tables that they read by name, and the files of both."""

    rules: list[model.Rule]
    tables: table.Tables
    paths: typing.Sequence[str] = ()


def load_rule_set(
    paths: typing.Iterable[str],
    warn: typing.Callable[[str], typing.Any] = _ignore,
) -> RuleSet:
    """Read all rules and tables of files and folders.

    :param warn: called with a line for each rule of stock Ironic, for each
        file with rules of ironic-inspector, and for each file without rules
        and tables.
    :raises: :class:`.exceptions.InvalidDocument` at the first problem.
    """
    documents = table_file.read_documents(paths)
    # The rules as they are in the files, not validated yet.
    written_rules = []
    for rules_file in documents:
        rules_of_file = file_rule.list_rules(rules_file)
        written_rules += rules_of_file
        is_without_content = not rules_of_file and not rules_file.tables
        if is_without_content:
            warn(_('%s: warning: the file holds no rules\n') % rules_file.path)
    tables = table_file.build(table_file.load(documents))
    rules = file_rule.parse_all(written_rules, registry.installed(), warn)
    # A rule may read a table of another file, so rules are checked after all
    # files have been read.
    table_file.check_rules(written_rules, rules, tables)
    files = [rules_file.path for rules_file in documents]
    return RuleSet(rules, tables, files)


def compile_rules(
    rules: typing.Iterable[model.Rule],
    explained: bool = True,
    tables: table.Tables = NO_TABLES,
) -> Plans:
    """Compile rules by phase, in the order in which they run.

    Rules in mode ``off`` are skipped. A phase without rules has an empty list:
    ``{'early': [], 'preprocess': [], 'main': [<rule>]}``.

    :param explained: whether the compiled rules can give reasons if they are
        asked for an explanation.
    :param tables: the tables that the rules read as ``{tables.NAME}``.
    """
    plans: Plans = {phase: [] for phase in model.PHASES}
    ops = registry.installed()
    # Sort the rules by priority.
    for rule in repository.order(rules):
        if rule.mode == model.OFF:
            continue
        compiled_rule = compiler.compile_rule(
            rule, ops, explained=explained, tables=tables
        )
        plans[rule.phase].append(compiled_rule)
    return plans


def compile_opened(
    rule: model.Rule, tables: table.Tables = NO_TABLES
) -> compiler.CompiledRule:
    """Compile a rule so that its trace shows its conditions and actions.

    A sensitive rule leaves no trace of these, so it is compiled as if it were
    not sensitive. Reports must not show this trace. But the rule must behave
    as before, so it still reads the secret columns of tables, which are masked
    for rules that are not sensitive.
    """
    ops = registry.installed()
    opened = compiler.compile_rule(
        disclosure.as_not_sensitive(rule), ops, explained=False, tables=tables
    )
    reads_tables = opened.tables is not None
    if not reads_tables:
        return opened
    # Use the tables that the rule itself sees. They are not masked if the rule
    # is sensitive.
    original = compiler.compile_rule(rule, ops, tables=tables)
    return dataclasses.replace(opened, tables=original.tables)


def find_inventories(paths: typing.Iterable[str]) -> list[str]:
    """List the paths of files, and the YAML and JSON files in directories.

    :raises: :class:`.exceptions.InvalidDocument` for a directory without such
        files.
    """
    # pathlib normalizes "./machines" to "machines", so that the same file is
    # only tried once.
    normal_paths = [str(pathlib.Path(path)) for path in paths]
    files = document.list_files(
        normal_paths, _('there are no inventories in this directory')
    )
    # Remove duplicates and keep the order.
    return list(dict.fromkeys(files))


def load_node(path: str | None) -> Node:
    """Read a file with a node in the form of Ironic's API.

    The file may contain only the node, or also its ports and port groups. A
    mapping without ``node`` is the node itself::

        {"name": "rack1-u12", "traits": ["CUSTOM_GPU"]}
        {"node": {"name": "rack1-u12"}, "ports": [{"address": …}]}

    Attributes of the node that are missing in the file get their defaults.

    :param path: the path of the file; None for a new node.
    :raises: :class:`.exceptions.InvalidDocument` if the file is not a mapping,
        if ``node`` is not, or if the ports or port groups are not a list.
    """
    defaults = {**_NODE_DEFAULTS, 'traits': []}
    if not path:
        return Node(defaults)
    mapping = document.load_mapping(path)
    if 'node' not in mapping:
        return Node({**defaults, **mapping})
    fields = mapping['node']
    if not isinstance(fields, dict):
        raise exceptions.InvalidDocument(path, _('there is no node'))
    for name in ('ports', 'port_groups'):
        # Both may be missing or null.
        if not isinstance(mapping.get(name), list | None):
            raise exceptions.InvalidDocument(
                path, _('"%s" must be a list') % name
            )
    # None differs from an empty list: without ports in the file, the machine
    # gets a port for every interface in its inventory.
    node_ports = None
    if mapping.get('ports') is not None:
        node_ports = tuple(mapping['ports'])
    port_groups = tuple(mapping.get('port_groups') or ())
    return Node({**defaults, **fields}, node_ports, port_groups)


def run(
    path: str, plans: Plans, node: Node, explain: bool = True
) -> MachineTest:
    """Try rules on one machine, as an inspection with these rules would end.

    Nothing is saved, and no request is sent.

    :param path: a file with an inventory, see :mod:`.machine.machine_file`.
    :param explain: whether the test includes rules that do not match, with a
        reason for every condition.
    :raises: :class:`.exceptions.InvalidDocument` if the file has no inventory.
    """
    facts = load_facts(path, node)
    return MachineTest(
        path, evaluation.evaluate(plans, facts, explain=explain)
    )


def load_facts(path: str, node: Node) -> working_copy.Facts:
    """Read the facts of a machine: inventory, plugin data, node and ports.

    If the file of the node does not mention ports, the node gets a port for
    every interface, see :func:`ports`.

    :param path: the file with the inventory of the machine.
    :raises: :class:`.exceptions.InvalidDocument` if the file has no inventory.
    """
    # The file of the machine only has the inventory and the plugin data.
    facts = machine_file.load(path)
    node_ports = node.ports
    if node_ports is None:
        node_ports = ports(facts.inventory)
    return dataclasses.replace(
        facts,
        node=node.fields,
        ports=node_ports,
        port_groups=node.port_groups,
    )


Extract = typing.Callable[[MachineTest], typing.Any]
"""Returns a part of a test, such as its result.

The function is sent to the worker processes, and they send the part back. So
both must be picklable.
"""


def run_all(
    rules: typing.Sequence[model.Rule],
    nodes: Nodes,
    paths: typing.Sequence[str],
    extract: Extract,
    advance: file_work.Advance,
    explain: bool = True,
    tables: table.Tables = NO_TABLES,
) -> typing.Iterator[typing.Any]:
    """Try rules on machines from files, using all processors.

    :param extract: returns the value to keep of a test, e.g. its result,
        because whole tests are too large to send to this process.
    :param advance: called with the number of files of each finished chunk.
    :param explain: see :func:`run`.
    :returns: the extracted values, in the order of the paths.
    """
    # Each worker process creates one object of the class from these arguments,
    # and calls it with chunks of the paths.
    prepare = functools.partial(
        _Trials, rules, tables, nodes, extract, explain
    )
    for chunk in file_work.in_chunks(paths, prepare, advance):
        yield from chunk


class _Trials:
    """Try rules on chunks of machines, in a worker process.

    The rules are compiled once per process instead of once per machine.
    """

    def __init__(
        self,
        rules: typing.Sequence[model.Rule],
        tables: table.Tables,
        nodes: Nodes,
        extract: Extract,
        explain: bool,
    ) -> None:
        self._plans = compile_rules(rules, tables=tables)
        self._nodes = nodes
        self._extract = extract
        self._explain = explain

    def __call__(self, paths: typing.Sequence[str]) -> list[typing.Any]:
        """Try the machines of a chunk of files, in their order.

        :returns: one value per test, extracted by the ``extract`` function of
            the caller of :func:`run_all`, e.g. the result.
        """
        extracted_values = []
        for path in paths:
            test = try_machine(path, self._plans, self._nodes, self._explain)
            extracted_values.append(self._extract(test))
        return extracted_values


def try_machine(
    path: str, plans: Plans, nodes: Nodes, explain: bool = True
) -> MachineTest:
    """Try rules on one machine; return a test even if a file cannot be read.

    One bad file must not end the trial of a thousand other machines.

    :param path: the file with the inventory of the machine.
    :param explain: see :func:`run`.
    :returns: the test. If a file cannot be read, the test has an empty outcome
        and the reason as ``problem``.
    """
    try:
        node = nodes.node_for(path)
        return run(path, plans, node, explain)
    except exceptions.InvalidDocument as exc:
        no_facts = working_copy.Facts(inventory={}, plugin_data={})
        no_outcome = evaluation.Evaluation(
            traces=(), changes=(), facts=no_facts
        )
        return MachineTest(path, no_outcome, problem=exc)


def ports(
    inventory: dict[str, typing.Any],
) -> tuple[dict[str, typing.Any], ...]:
    """Return ports for the interfaces of an inventory that have an address.

    Ironic's hook ``ports``, which runs before the rules, creates ports as
    well, but only for the interfaces that its options select. An interface
    ``{'mac_address': '52:54:00:00:00:01'}`` gives a port ``{…, 'address':
    '52:54:00:00:00:01'}``, with defaults for all other fields.
    """
    interfaces = inventory.get('interfaces')
    if not isinstance(interfaces, list):
        # A ramdisk may send a value of any type.
        return ()
    node_ports = []
    for interface in interfaces:
        if not isinstance(interface, dict):
            continue
        address = interface.get('mac_address')
        if isinstance(address, str):
            node_ports.append({**_PORT_DEFAULTS, 'address': address})
    return tuple(node_ports)
