# SPDX-License-Identifier: Apache-2.0

"""Witnesses: machines that prove an answer, built from a solution.

A witness is equal to the sample of this package, except where it must differ.

The engine runs the rules on every witness before it is reported. The formulas
are a second description of what the engine does, and if the two disagree, the
engine is right. A mistake in a translation therefore costs an answer, but it
never leads to a wrong "yes".

A *cell* is a field of all machines, e.g. ``inventory.cpu.count``. The
*solution* of the solver has two things for it: its *kind*, e.g. that the count
is a number, and the value of the *term* of this kind, e.g. 4.
"""

from collections.abc import Container, Iterator, Sequence
import copy
import dataclasses
import functools
import json
import pathlib
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import yaml_text

ABSENT = data_path.ABSENT

_MOST_ITEMS = 64
"""Maximum length of a list in a witness. Without a limit, the solver may
choose a length of millions."""

_SECRET = 'other_password'
"""The name of an entry that holds a secret and that no rule names."""

_KIND_BY_TYPE = {
    type(None): 'null',
    bool: 'boolean',
    int: 'number',
    float: 'float',
    str: 'text',
    dict: 'mapping',
    list: 'list',
}
"""The kind of a field, by the type of its value in JSON."""


# Ranks of the formulas for usual fields: the search drops lower ranks first. A
# field therefore first gets another value than in the sample, then another
# kind of value, and only at last a kind that no ramdisk reports, or a float.
_VALUE_IS_USUAL = 0
_KIND_IS_USUAL = 1
_KIND_IS_REPORTED = 2
_KIND_IS_REPORTED_OR_TEXT = 3
_NO_FLOAT = 4
_SECRET_HAS_PLACE = 5


@functools.cache
def sample() -> dict[str, typing.Any]:
    """Return a typical machine: inventory, plugin data, a new node, its ports.

    A witness is equal to it in everything that no rule reads.
    """
    roots = yaml_text.load_packaged('kit/proof/sample.yaml')
    node = machine_test.load_node(None)
    ports = machine_test.ports(roots['inventory'])
    return {**roots, 'node': node.fields, 'ports': list(ports)}


def usual_value(cell: cells.Cell) -> typing.Any:
    """Return the value of a field in the sample, ABSENT if it has none."""
    if cell.steps[:-1] == cells.TRAITS:
        # The sample has its traits in a list, which is empty.
        return False
    return data_path.get(sample(), cell.steps)


@dataclasses.dataclass(frozen=True)
class UsualFormula:
    """A formula that usually holds, e.g. ``cpu.count == 32``.

    :ivar rank: e.g. ``_VALUE_IS_USUAL``; lower ranks are dropped earlier.
    """

    rank: int
    formula: logic.Formula


def usual_formulas(cell: cells.Cell) -> list[UsualFormula]:
    """Return formulas that hold if a field is as on a typical machine.

    The search assumes these formulas, e.g. ``cpu.count == 32``, so that a
    witness looks realistic.
    The search may drop any of them independently of the others.
    """
    return [*_usual_kind_formulas(cell), *_usual_value_formulas(cell)]


def _usual_kind_formulas(cell: cells.Cell) -> Iterator[UsualFormula]:
    """Yield formulas that a field has a kind of value that ramdisks report.

    The sample is not used here. For ``inventory.cpu.count``, which ramdisks
    report as a number, the formulas are::

        _KIND_IS_REPORTED          the count is missing or a number
        _KIND_IS_REPORTED_OR_TEXT  it is missing, a number or a text
        _NO_FLOAT                  it is not a float
    """
    if 'text' in cell.kinds and len(cell.kinds) > 1:
        # A witness with a type that no ramdisk reports is of little use.
        reported = ['absent', cell.type or 'text']
        is_reported = _where_of_kinds(cell, reported)
        is_reported_or_text = _where_of_kinds(cell, [*reported, 'text'])
        yield UsualFormula(_KIND_IS_REPORTED, is_reported)
        yield UsualFormula(_KIND_IS_REPORTED_OR_TEXT, is_reported_or_text)
    if 'float' in cell.kinds:
        # Calculations with integers are exact; floats are rounded.
        yield UsualFormula(
            _NO_FLOAT, logic.negated(cell.where_of_kind('float'))
        )
    if cell.is_item:
        for secret in cell.secrets.values():
            # A list item can contain a secret only if it is a mapping, because
            # the secret needs a name.
            has_place = z3.Implies(secret, cell.where_of_kind('mapping'))
            yield UsualFormula(_SECRET_HAS_PLACE, has_place)


def _usual_value_formulas(cell: cells.Cell) -> Iterator[UsualFormula]:
    """Yield formulas that a field has the kind and the value of the sample.

    If the field cannot have that kind, nothing is yielded. The sample has 32
    processors, so the formulas for ``inventory.cpu.count`` are::

        _KIND_IS_USUAL   the count is a number
        _VALUE_IS_USUAL  count == 32
    """
    value = usual_value(cell)
    kind = _KIND_BY_TYPE.get(type(value), 'absent')
    if kind not in cell.kinds:
        return
    yield UsualFormula(_KIND_IS_USUAL, cell.where_of_kind(kind))
    if kind == 'mapping':
        # Only compare whether it is empty: its entries are separate fields.
        yield UsualFormula(
            _VALUE_IS_USUAL, cell.empty == z3.BoolVal(not value)
        )
        return
    # The solver chooses the value of this term for a field of this kind. There
    # is no term if the kind has only one value, e.g. null, or if no rule has
    # read the field.
    term = cell.terms.get(kind)
    if term is None:
        return
    usual: typing.Any = value
    if kind == 'list':
        # The term of a list is its length: its items are separate fields.
        usual = len(value)
    elif kind == 'text':
        usual = logic.text_term(value)
    yield UsualFormula(_VALUE_IS_USUAL, term == usual)


def _where_of_kinds(cell: cells.Cell, kinds: Sequence[str]) -> logic.Formula:
    """Return the formula that holds where a field is of one of the kinds."""
    parts = [cell.where_of_kind(kind) for kind in cell.kinds if kind in kinds]
    return logic.disj(*parts)


@dataclasses.dataclass(frozen=True)
class Witness:
    """A machine that the solver has found.

    :ivar ports: None if no rule reads ports: the machine then has one port for
        every interface.
    """

    inventory: dict[str, typing.Any]
    plugin_data: dict[str, typing.Any]
    node: dict[str, typing.Any]
    ports: tuple[dict[str, typing.Any], ...] | None = None

    @classmethod
    def of(
        cls, machine: machines.SymbolicMachine, solution: z3.ModelRef
    ) -> 'Witness':
        """Build the machine that a solution of the solver describes.

        Data that no rule reads are taken from :func:`sample`. If no rule reads
        ports, ``ports`` is None, and they are made from the inventory.

        :param machine: the fields that rules read.
        :param solution: the values that the solver has chosen for them.
        """
        # "inventory", "plugin_data", "node" and "ports".
        roots: dict[str, typing.Any] = {}
        for name, usual_root in sample().items():
            if (name,) in machine.cells:
                roots[name] = _build_value(machine.cells[name,], solution)
            else:
                # No rule reads this root.
                roots[name] = copy.deepcopy(usual_root)
        # A proof keeps traits and capabilities by name. A node of Ironic has a
        # list of traits, and one text with all capabilities.
        node = roots['node']
        has_trait_by_name = node.pop(cells.TRAITS[1], {})
        node['traits'] = _list_trait_names(has_trait_by_name)
        _write_capabilities(node.get('properties'))
        ports = None
        # The list has items only if a rule has read ports.
        if ('ports',) in machine.cells and machine.cells['ports',].items:
            ports = tuple(roots['ports'])
        return cls(roots['inventory'], roots['plugin_data'], node, ports)

    @property
    def facts(self) -> working_copy.Facts:
        """The machine as it is before the first rule."""
        ports = self.ports
        if ports is None:
            # No rule reads ports. Ironic's hook "ports" creates one for every
            # interface before the rules run, so the engine must get them too.
            ports = machine_test.ports(self.inventory)
        return working_copy.Facts(
            self.inventory, self.plugin_data, self.node, ports
        )

    def write(self, folder: pathlib.Path, name: str) -> tuple[str, str | None]:
        """Write the machine to files, so that users can run ``test`` on it.

        :param name: the base name of the files, e.g. ``001-dead`` for
            ``inventories/001-dead.json`` and ``nodes/001-dead.json``.
        :returns: the path of the inventory file, and the path of the node file
            or None if the node and its ports are as in the sample.
        """
        file_name = f'{name}.json'
        machine_data = {
            'inventory': self.inventory,
            'plugin_data': self.plugin_data,
        }
        inventory = _write_json(
            folder / 'inventories' / file_name, machine_data
        )
        if self.node == sample()['node'] and self.ports is None:
            return inventory, None
        node_data: dict[str, typing.Any] = {'node': self.node}
        if self.ports is not None:
            node_data['ports'] = list(self.ports)
        node = _write_json(folder / 'nodes' / file_name, node_data)
        return inventory, node


def _write_json(path: pathlib.Path, data: typing.Any) -> str:
    """Write data to a JSON file and return the path of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, indent=2, ensure_ascii=False)
    with exceptions.name_file_in_errors(str(path)):
        path.write_text(f'{text}\n', encoding='utf-8')
    return str(path)


def _list_trait_names(traits: dict[str, bool]) -> list[str]:
    """Return the names of the traits that a node has, sorted.

    ``{'CUSTOM_A': True, 'CUSTOM_B': False, 'CUSTOM_*': True}`` becomes
    ``['CUSTOM_A', 'CUSTOM_OTHER']``.

    :param traits: whether the node has a trait, by name. ``CUSTOM_*`` stands
        for any trait with that prefix that no rule names; it is replaced by
        such a trait.
    """
    names = []
    for name, is_there in traits.items():
        if not is_there:
            continue
        if not name.endswith('*'):
            names.append(name)
            continue
        unnamed_trait = _choose_unnamed_trait(name[:-1], traits)
        if unnamed_trait:
            names.append(unnamed_trait)
    return sorted(names)


def _choose_unnamed_trait(prefix: str, names_in_rules: Container[str]) -> str:
    """Return a trait with a prefix that no rule names, e.g. ``CUSTOM_OTHER``.

    :param names_in_rules: the names of traits in rules.
    :returns: an empty text if no such trait was found.
    """
    candidates = (
        f'{prefix}OTHER',
        'CUSTOM_OTHER',
        # The prefix may be that of standard traits, e.g. "HW_CPU_X86_AVX".
        *sorted(trait_names.STANDARD),
    )
    for name in candidates:
        is_unnamed = name not in names_in_rules
        if (
            is_unnamed
            and name.startswith(prefix)
            and trait_names.is_good(name)
        ):
            return str(name)
    return ''


def _write_capabilities(properties: typing.Any) -> None:
    """Join the capabilities of a node to one text, as Ironic stores them.

    The properties ``{'#capabilities': {'boot_mode': 'uefi', 'a': 'b'}}``
    become ``{'capabilities': 'boot_mode:uefi,a:b'}``.

    :param properties: the properties of the node, changed in place.
    """
    if not isinstance(properties, dict):
        return
    capabilities = properties.pop(cells.CAPABILITIES[-1], None)
    if capabilities:
        pairs = [f'{name}:{value}' for name, value in capabilities.items()]
        properties['capabilities'] = ','.join(pairs)


def _build_value(cell: cells.Cell, solution: z3.ModelRef) -> typing.Any:
    """Build the value of a field from a solution, ABSENT if it has none.

    The solver has chosen a kind of value for the field, e.g. a text, and a
    value for the term of that kind. The term of a list is its length, and a
    mapping has no term: its entries are cells.

    :param cell: the field.
    :param solution: the values that the solver has chosen.
    """
    kind = _chosen_kind(cell, solution)
    if kind == 'absent':
        return ABSENT
    if kind == 'null':
        return None
    if kind == 'mapping':
        return _build_mapping(cell, solution)
    # model_completion gives any value to a term that no formula constrains.
    value = solution.eval(cell.terms[kind], model_completion=True)
    if kind == 'list':
        # The term of a list is its length.
        length = min(value.as_long(), _MOST_ITEMS)
        return [_build_item(cell, solution, index) for index in range(length)]
    if kind == 'text':
        return _clean_text(cell, logic.text_of(value))
    if kind == 'float':
        return float(value.as_fraction())
    if kind == 'boolean':
        return z3.is_true(value)
    return value.as_long()


def _chosen_kind(cell: cells.Cell, solution: z3.ModelRef) -> str:
    """Return the kind of value that a solution chose for a field.

    For ``node.name``, whose kinds are ``('absent', 'null', 'text')``, the
    solver has chosen the index 0, 1 or 2.
    """
    if len(cell.kinds) == 1:
        return cell.kinds[0]
    index = solution.eval(cell.kind, model_completion=True).as_long()
    if 0 <= index < len(cell.kinds):
        return str(cell.kinds[index])
    # The field was not in the formulas of the search, so the number in the
    # solution is arbitrary, and any kind is right.
    return cell.kinds[0]


def _clean_text(cell: cells.Cell, text: str) -> str:
    """Replace the characters of a text that the solver cannot distinguish.

    If a rule compares the text with a regular expression, all characters that
    no rule names are the same to the solver, and it may choose any of them.
    Python distinguishes them, so they are replaced by "☃". So are all such
    characters of a text with halves of characters (surrogates), because these
    cannot be written to a file.
    """
    variable = cell.machine.texts[cell.terms['text'].get_id()]
    has_regex = bool(variable.languages)
    if has_regex or any(map(_is_surrogate, text)):
        return typing.cast(str, cell.machine.alphabet.cleaned(text))
    return text


def _is_surrogate(character: str) -> bool:
    return '\ud800' <= character <= '\udfff'


def _build_mapping(
    cell: cells.Cell, solution: z3.ModelRef
) -> dict[str, typing.Any]:
    """Build a mapping of a witness, with the entries that the solver chose.

    An entry that no rule reads is taken from the sample, unless the solver
    chose that the mapping has only certain names. If it chose that
    ``inventory.cpu`` has only ``count``, and 4 for the count, the mapping is
    ``{'count': 4}``, without the CPU model of the sample. The steps are:

    1. Begin with the entries of the sample.
    2. Replace or remove the entries that rules read.
    3. Remove all other entries if the solver chose that there are none.
    4. Add an entry ``other`` if the solver chose that there are others, but
       there is none yet.
    5. Add a secret that no rule names if the solver guessed that there is one.
    """
    if z3.is_true(solution.eval(cell.empty)):
        return {}
    in_sample = usual_value(cell)
    mapping: dict[str, typing.Any] = {}
    if isinstance(in_sample, dict):
        mapping = copy.deepcopy(in_sample)
    # Add the entries that rules read.
    for name, below in cell.below.items():
        value = _build_value(below, solution)
        mapping.pop(name, None)
        if value is not ABSENT:
            mapping[name] = value
    # A pair is, for example, {"count"} and the truth value that the mapping
    # has no other names. If the search did not need the truth value, the
    # solver has not chosen one, and it is neither true nor false.
    for names, has_only in cell.only_entries():
        if z3.is_true(solution.eval(has_only)):
            # Remove the other entries of the sample. Entries that rules read
            # were built above and stay.
            names_that_stay = names | cell.below.keys()
            mapping = {
                name: value
                for name, value in mapping.items()
                if name in names_that_stay
            }
    for names, has_only in cell.only_entries():
        has_others = z3.is_false(solution.eval(has_only))
        if has_others and names.issuperset(mapping):
            # The mapping must have another name, but so far it has none.
            mapping['other'] = 'something'
    if _needs_unnamed_secret(cell, solution):
        mapping[_SECRET] = 'something'
    return mapping


def _needs_unnamed_secret(cell: cells.Cell, solution: z3.ModelRef) -> bool:
    """Return whether a mapping needs an entry ``other_password``.

    It needs one if the solver has guessed that the mapping holds a secret that
    no rule names, and if an entry can be added. An action that writes the
    whole mapping, e.g. ``{node.driver_info}``, is then an error.
    """
    is_record = cell.steps == ('node',) or cell.steps[:-1] == ('ports',)
    if is_record:
        # Nodes and ports have only the columns of Ironic's tables.
        return False
    for _names, has_only in cell.only_entries():
        if z3.is_true(solution.eval(has_only)):
            # The solver has chosen that there are no other entries.
            return False
    return any(
        z3.is_true(solution.eval(guess)) for guess in cell.secrets.values()
    )


def _build_item(
    cell: cells.Cell, solution: z3.ModelRef, index: int
) -> typing.Any:
    """Build an item of a list; entries that no rule reads are as usual.

    If rules read the size of disks, a disk has the size that the solver chose,
    and the name and all other entries of a disk in the sample.

    :param cell: the list.
    :param index: the position of the item in the list, from 0.
    """
    usual_item = _usual_item(cell, index)
    if index >= len(cell.items):
        # For later items the solver has chosen nothing but the length.
        if usual_item is ABSENT:
            return None
        return usual_item
    item = cell.items[index]
    value = _build_value(item, solution)
    if not isinstance(usual_item, dict) or not isinstance(value, dict):
        return value
    # An entry that a rule reads is as the solver chose it, or missing. All
    # other entries are as in the sample.
    usual_entries = {
        name: entry
        for name, entry in usual_item.items()
        if name not in item.below
    }
    chosen_entries = {
        name: entry
        for name, entry in value.items()
        if name in item.below or name == _SECRET
    }
    return {**usual_entries, **chosen_entries}


def _usual_item(cell: cells.Cell, index: int) -> typing.Any:
    """Return an item of a list in the sample, ABSENT if it has no such list.

    An item after the last one of the sample is a copy of the last, with its
    own address, name and serial number, because no two parts share these. For
    example, the copy of an interface ``eth1`` at index 4 is called ``eth4``.
    """
    in_sample = usual_value(cell)
    if not isinstance(in_sample, list) or not in_sample:
        return ABSENT
    if index < len(in_sample):
        return copy.deepcopy(in_sample[index])
    item = copy.deepcopy(in_sample[-1])
    if not isinstance(item, dict):
        return item
    ending_by_name = {
        'mac_address': f'{index + 1:02x}',
        'name': str(index),
        'serial': f'{index:02d}',
    }
    for name, ending in ending_by_name.items():
        if isinstance(item.get(name), str):
            item[name] = item[name][: -len(ending)] + ending
    return item


class Engine:
    """Runs rules on machines in the real engine, to confirm solutions.

    :param tables: the tables that rules read, by name.
    """

    def __init__(self, tables: table.Tables | None = None) -> None:
        self._tables = tables or {}
        # Compiled rules by the id() of the rule. The rules must be kept alive,
        # because the id of a deleted rule may be used for another object.
        self._plans: dict[int, compiler.CompiledRule] = {}
        self._kept: list[model.Rule] = []

    def _compile(self, rule: model.Rule) -> compiler.CompiledRule:
        """Return the compiled form of a rule, cached after the first call."""
        key = id(rule)
        if key not in self._plans:
            self._plans[key] = machine_test.compile_opened(rule, self._tables)
            self._kept.append(rule)
        return self._plans[key]

    def evaluate(
        self, rules: Sequence[model.Rule], witness: Witness
    ) -> evaluation.Evaluation:
        """Run rules on a machine, phase by phase in their order."""
        plans: dict[str, list[compiler.CompiledRule]] = {}
        for rule in rules:
            if rule.mode != model.OFF:
                plans_of_phase = plans.setdefault(rule.phase, [])
                plans_of_phase.append(self._compile(rule))
        return evaluation.evaluate(plans, witness.facts, explain=False)

    def outcome(
        self, rules: Sequence[model.Rule], witness: Witness
    ) -> typing.Any:
        """Return the effect of rules on a machine, in a form to be compared.

        :returns: the error that ended the inspection, e.g.
            ``('RuleFailed', 'too small')`` or None, and the data that rules
            may change, see :func:`comparable_state`.
        """
        done = self.evaluate(rules, witness)
        error = None
        if done.error is not None:
            kind_of_error = type(done.error).__name__
            error = kind_of_error, _message_of_failure(done.error, rules)
        return error, comparable_state(done.facts)

    def differs(
        self,
        one: Sequence[model.Rule],
        other: Sequence[model.Rule],
        witness: Witness,
    ) -> bool:
        """Return whether two sets of rules have different outcomes.

        Both the error that ends the inspection and the data that rules may
        change are compared.
        """
        # Use lists, because same() compares JSON data, which have no tuples.
        one_outcome = list(self.outcome(one, witness))
        other_outcome = list(self.outcome(other, witness))
        return not data_path.is_same(one_outcome, other_outcome)

    def clashes(
        self,
        rules: Sequence[model.Rule],
        first: int,
        second: int,
        place: data_path.Path,
        written: states.SymbolicWrite,
        witness: Witness,
    ) -> bool:
        """Return whether two rules write different values to one place.

        The engine runs the rules on the machine to confirm what the solver has
        found. It runs them three times: up to the rule before the first one,
        up to the first rule, and up to the second. Both rules must match, and
        no rule may have an error. If the name is "a" after the first rule and
        "b" after the second, the rules clash at ``('node', 'name')``.

        :param rules: all rules, in the order in which they run.
        :param place: the place that both rules write, beginning with a root.
        :param first: the index of the rule that runs first.
        :param second: the index of the rule that runs later.
        :param written: the write of the first rule at the place. If its value
            or its port is unknown, the engine must show that the rule changes
            something there.
        """
        run_before = self.evaluate(rules[:first], witness)
        run_to_first = self.evaluate(rules[: first + 1], witness)
        if _is_broken(run_to_first):
            return False
        if not has_matched(run_to_first, rules[first]):
            return False
        run_to_second = self.evaluate(rules[: second + 1], witness)
        if _is_broken(run_to_second):
            return False
        if not has_matched(run_to_second, rules[second]):
            return False
        before = value_at(comparable_state(run_before.facts), place)
        after_first = value_at(comparable_state(run_to_first.facts), place)
        after_second = value_at(comparable_state(run_to_second.facts), place)
        if place[:2] == ('ports', states.ANY_PORT):
            # The port is not known, so these are the values of all ports at
            # the place, in order. Both rules must change the same port.
            for values_of_port in zip(
                before, after_first, after_second, strict=True
            ):
                value_before, value, value_after = values_of_port
                is_changed = value != value_before
                is_changed_again = value != value_after
                if is_changed and is_changed_again:
                    return True
            return False
        if data_path.is_same(after_first, after_second):
            return False
        # A known value was certainly written, even if it was there before. An
        # unknown value may not have been written at all.
        is_known = values.where(written.value, _is_unknown) is logic.FALSE
        return is_known or not data_path.is_same(after_first, before)


def _is_broken(done: evaluation.Evaluation) -> bool:
    """Return whether an error undid the writes of rules.

    A rule that fails the inspection on purpose undoes no writes.
    """
    if done.error is None:
        return False
    return not isinstance(done.error, exceptions.RuleFailed)


def _is_unknown(alternative: values.Alternative) -> bool:
    return isinstance(alternative, values.UnknownValue)


def _message_of_failure(
    error: exceptions.RuleError, rules: Sequence[model.Rule]
) -> str:
    """Return the message of ``fail`` as users read it.

    :returns: an empty text for any other error, and for a sensitive rule,
        whose message users must not see.
    """
    if not isinstance(error, exceptions.RuleFailed):
        return ''
    message = error.reason or ''
    for rule in rules:
        if rule.uuid == error.rule_uuid:
            message = disclosure.disclose_text(rule, message)
    return message


def has_matched(done: evaluation.Evaluation, rule: model.Rule) -> bool:
    """Return whether a rule matched; rules in mode ``audit`` count too."""
    return any(
        rule_trace.matched and rule_trace.rule.uuid == rule.uuid
        for rule_trace in (*done.traces, *done.audited)
    )


def comparable_state(facts: working_copy.Facts) -> dict[str, typing.Any]:
    """Return the data that rules may change, in a form to be compared.

    Data whose order does not matter are put in a fixed order: traits and
    capabilities are sorted lists, and ports are keyed by MAC address::

        {'node': {'traits': ['CUSTOM_A', 'CUSTOM_B'], …},
         'ports': {'52:54:00:00:00:01': {…}},
         'plugin_data': {…}}
    """
    node = copy.deepcopy(facts.node or {})
    node['traits'] = sorted(node.get('traits') or ())
    properties = node.get('properties')
    if isinstance(properties, dict):
        capabilities = properties.get('capabilities')
        if isinstance(capabilities, str):
            properties['capabilities'] = sorted(capabilities.split(','))
    ports = {}
    for port in facts.ports:
        address = str(port.get('address')).lower()
        ports[address] = port
    plugin_data = dict(facts.plugin_data)
    # The trace of the rules is not data of the machine.
    plugin_data.pop(trace.KEY, None)
    return {'node': node, 'ports': ports, 'plugin_data': plugin_data}


def value_at(
    machine_state: dict[str, typing.Any], place: data_path.Path
) -> typing.Any:
    """Return the value at a place of a comparable state.

    A proof uses it to confirm that a rule overwrites what another rule has
    written. By the place, the value is::

        a trait                  → whether the node has it
        all traits               → their names
        one or all capabilities  → a list such as ['boot_mode:uefi']
        a place in any port      → the values of all ports, in their order
        any other place          → the value there, or ABSENT

    :param machine_state: see :func:`comparable_state`.
    """
    if place[:2] == cells.TRAITS:
        traits = machine_state['node']['traits']
        if place[2:]:
            return place[2] in traits
        return traits
    if place[:3] == cells.CAPABILITIES:
        return _list_capabilities(machine_state, place[3:])
    if place[:2] == ('ports', states.ANY_PORT):
        # By order, because rules may change the addresses.
        return [
            data_path.get(port, place[2:])
            for port in machine_state['ports'].values()
        ]
    return data_path.get(machine_state, place)


def _list_capabilities(
    machine_state: dict[str, typing.Any], names: data_path.Path
) -> list[typing.Any]:
    """Return capabilities as a list, e.g. ``['boot_mode:uefi']``.

    :param names: ``('boot_mode',)``, or ``()`` for all capabilities.
    """
    capabilities = data_path.get(machine_state, cells.CAPABILITY_TEXT)
    if not isinstance(capabilities, list):
        # The node has none, or a rule has replaced them by something else.
        return []
    # "boot_mode:" for one name, and an empty text for all.
    beginning = ':'.join([*names, ''])
    return [
        capability
        for capability in capabilities
        if str(capability).startswith(beginning)
    ]
