# SPDX-License-Identifier: Apache-2.0

"""Machines that the solver has found, as inventories that people know.

They are the sample of this package where nothing has to differ from it.
"""

from collections.abc import Sequence
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
from ironic_inspection_rules.traits import names as trait_names

ABSENT = data_path.ABSENT


@functools.cache
def sample() -> dict[str, typing.Any]:
    """Return the sample by the names of roots, with a new node."""
    read = yaml_text.packaged('kit/proof/sample.yaml')
    node = machine_test.load_node(None)
    return {**read, 'node': node.fields,
            'ports': list(machine_test.ports(read['inventory']))}


def usual(cell: cells.Cell) -> typing.Any:
    """Return what a field is in the sample, ABSENT if it is not there."""
    return False if cell.steps[:-1] == cells.TRAITS else data_path.get(
        sample(), cell.steps)


def usual_parts(cell: cells.Cell
                ) -> list[tuple[int, logic.Formula]]:
    """Return when a field is more and more as in the sample.

    :returns: pairs of a rank and a formula: what is of a higher rank is less
        usual to be otherwise.
    """
    parts = []
    if 'text' in cell.kinds and len(cell.kinds) > 1:
        # Rules hardly ask for a value of a type that nobody reports.
        known = cell.type or 'text'
        parts += [(2, logic.disj(*(cell.is_of(kind) for kind in cell.kinds
                                   if kind in ('absent', known)))),
                  (3, logic.disj(*(cell.is_of(kind) for kind in cell.kinds
                                   if kind in ('absent', 'text', known))))]
    value = usual(cell)
    kind = {type(None): 'null', bool: 'boolean', int: 'number',
            float: 'float', str: 'text',
            dict: 'mapping', list: 'list'}.get(type(value), 'absent')
    if kind not in cell.kinds:
        return parts
    parts.append((1, cell.is_of(kind)))
    if kind == 'mapping':
        parts.append((0, cell.empty == z3.BoolVal(not value)))
    elif kind in cell.terms:
        wanted = len(value) if kind == 'list' else value
        parts.append((0, cell.terms[kind] == (
            logic.constant(wanted) if isinstance(wanted, str) else wanted)))
    return parts


@dataclasses.dataclass(frozen=True)
class Witness:
    """A machine; ``ports`` is None where its interfaces have one each."""

    inventory: dict[str, typing.Any]
    plugin_data: dict[str, typing.Any]
    node: dict[str, typing.Any]
    ports: tuple[dict[str, typing.Any], ...] | None = None

    @classmethod
    def of(cls, machine: machines.SymbolicMachine,
           found: z3.ModelRef) -> 'Witness':
        """Return the machine that a model of the solver is."""
        roots = {name: _build(machine.cells[name,], found)
                 if (name,) in machine.cells else copy.deepcopy(
                     sample()[name]) for name in sample()}
        node = roots['node']
        traits = node.pop(cells.TRAITS[1], {})
        node['traits'] = _trait_names(traits)
        properties = node.get('properties')
        capabilities = properties.pop(cells.CAPABILITIES[-1], None) if (
            isinstance(properties, dict)) else None
        if capabilities:
            properties['capabilities'] = ','.join(
                f'{name}:{value}' for name, value in capabilities.items())
        ports = ('ports',) in machine.cells and machine.cells['ports',].items
        return cls(roots['inventory'], roots['plugin_data'], node,
                   tuple(roots['ports']) if ports else None)

    @property
    def facts(self) -> working_copy.Facts:
        """The machine as the first rule finds it."""
        return working_copy.Facts(
            self.inventory, self.plugin_data, self.node,
            machine_test.ports(self.inventory) if self.ports is None
            else self.ports)

    def write(self, folder: pathlib.Path, name: str) -> tuple[str, str | None]:
        """Write the files that ``test`` reads.

        :returns: the file of the inventory and, where the node matters, that
            of the node.
        """
        written: list[tuple[str, typing.Any]] = [('inventories', {
            'inventory': self.inventory, 'plugin_data': self.plugin_data})]
        if self.node != sample()['node'] or self.ports is not None:
            written.append(('nodes', {
                'node': self.node, **({} if self.ports is None else {
                    'ports': list(self.ports)})}))
        paths = []
        for kind, data in written:
            path = folder / kind / f'{name}.json'
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(data, indent=2, ensure_ascii=False)
            with exceptions.naming(str(path)):
                path.write_text(f'{text}\n', encoding='utf-8')
            paths.append(str(path))
        return paths[0], paths[1] if paths[1:] else None


def _trait_names(traits: dict[str, bool]) -> list[str]:
    """Return the names of traits; a star stands for one that has no other."""
    found = []
    for name, is_there in traits.items():
        if is_there and name.endswith('*'):
            begin = name[:-1]
            name = next((each for each in (
                f'{begin}OTHER', 'CUSTOM_OTHER', *sorted(trait_names.STANDARD))
                if str(each).startswith(begin) and each not in traits
                and trait_names.is_good(each)), '')
        if is_there and name:
            found.append(name)
    return sorted(found)


def _build(cell: cells.Cell, found: z3.ModelRef) -> typing.Any:
    kind = cell.kinds[0]
    if len(cell.kinds) > 1:
        number = found.eval(cell.kind, model_completion=True).as_long()
        kind = cell.kinds[number] if 0 <= number < len(cell.kinds) else kind
    if kind == 'absent':
        return ABSENT
    if kind == 'null':
        return None
    if kind == 'mapping':
        return _build_mapping(cell, found)
    value = found.eval(cell.terms[kind], model_completion=True)
    if kind == 'list':
        return [_item(cell, found, index)
                for index in range(min(value.as_long(), 64))]
    if kind == 'text':
        return _text(cell, logic.text_of(value))
    if kind == 'float':
        return float(value.as_fraction())
    return z3.is_true(value) if kind == 'boolean' else value.as_long()


def _text(cell: cells.Cell, text: str) -> str:
    """Return a text with characters that the rules take as the solver did.

    For regular expressions, all that the alphabet does not have are one.
    """
    asked = cell.machine.texts[cell.terms['text'].get_id()]
    if asked.languages or any(map(_is_surrogate, text)):
        return typing.cast(str, cell.machine.alphabet.cleaned(text))
    return text


def _is_surrogate(character: str) -> bool:
    return '\ud800' <= character <= '\udfff'


def _build_mapping(cell: cells.Cell, found: z3.ModelRef
                   ) -> dict[str, typing.Any]:
    if z3.is_true(found.eval(cell.empty)):
        return {}
    there = usual(cell)
    made = copy.deepcopy(there) if isinstance(there, dict) else {}
    for name, below in cell.below.items():
        value = _build(below, found)
        made.pop(name, None)
        if value is not ABSENT:
            made[name] = value
    for names, only in cell.others():
        if z3.is_true(found.eval(only)):
            made = {name: value for name, value in made.items()
                    if name in names or name in cell.below}
    for names, only in cell.others():
        # What no rule names has to be there.
        if z3.is_false(found.eval(only)) and names.issuperset(made):
            made['other'] = 'something'
    return made


def _item(cell: cells.Cell, found: z3.ModelRef, index: int) -> typing.Any:
    """Return an item of a list: what is not asked for is as usual."""
    there = usual(cell)
    below = cell.items[index] if index < len(cell.items) else None
    value = ABSENT if below is None else _build(below, found)
    if isinstance(there, list) and there:
        base = copy.deepcopy(there[min(index, len(there) - 1)])
        if isinstance(base, dict):
            if index >= len(there):
                for name, suffix in (('mac_address', f'{index + 1:02x}'),
                                     ('name', str(index)),
                                     ('serial', f'{index:02d}')):
                    if isinstance(base.get(name), str):
                        base[name] = base[name][:-len(suffix)] + suffix
            if isinstance(value, dict) and below is not None:
                for name in below.below:
                    base.pop(name, None)
                return {**base, **{name: each for name, each in value.items()
                                   if name in below.below}}
        if value is ABSENT:
            return base
    return None if value is ABSENT else value


class Engine:
    """The engine itself, to confirm what the solver found.

    :param tables: those that rules read, by name.
    """

    def __init__(self, tables: table.Tables | None = None) -> None:
        self._tables = tables or {}
        # By identity of a rule, which must not be another one's later.
        self._plans: dict[int, compiler.CompiledRule] = {}
        self._kept: list[model.Rule] = []

    def evaluate(self, rules: Sequence[model.Rule],
                 witness: Witness) -> evaluation.Evaluation:
        """Run rules in the order given."""
        by_phase: dict[str, list[compiler.CompiledRule]] = {}
        for rule in rules:
            if rule.mode == model.OFF:
                continue
            if id(rule) not in self._plans:
                self._plans[id(rule)] = machine_test.compile_opened(
                    rule, self._tables)
                self._kept.append(rule)
            by_phase.setdefault(rule.phase, []).append(self._plans[id(rule)])
        return evaluation.evaluate(by_phase, witness.facts, explain=False)

    def outcome(self, rules: Sequence[model.Rule],
                witness: Witness) -> typing.Any:
        """Return what becomes of a machine, to be compared."""
        done = self.evaluate(rules, witness)
        error = None
        if done.error is not None:
            reason = ''
            if isinstance(done.error, exceptions.RuleFailed):
                reason = done.error.reason or ''
            for rule in rules:
                if rule.uuid == done.error.rule_uuid:
                    reason = disclosure.say(rule, reason)
            error = type(done.error).__name__, reason
        return error, state(done.facts)

    def differs(self, one: Sequence[model.Rule],
                other: Sequence[model.Rule], witness: Witness) -> bool:
        """Return whether two sets of rules treat a machine differently."""
        return not data_path.same(*(
            list(self.outcome(rules, witness)) for rules in (one, other)))

    def clashes(self, rules: Sequence[model.Rule], first: int, second: int,
                place: data_path.Path, written: states.SymbolicWrite,
                witness: Witness) -> bool:
        """Return whether two rules write two values to one place.

        :param first: the number of the one, ``second`` of the other.
        :param written: what the first rule writes; where its value or its
            port is not known it has to change something there.
        """
        found = []
        for number in (first - 1, first, second):
            done = self.evaluate(rules[:number + 1], witness)
            if number >= first and (
                    not matched(done, rules[number])
                    or done.error is not None and not isinstance(
                        done.error, exceptions.RuleFailed)):
                return False
            found.append(at(state(done.facts), place))
        before, one, other = found
        if place[:2] == ('ports', states.ANY_PORT):
            return any(one[port] != other.get(port)
                       and one[port] != before.get(port) for port in one)
        is_known = values.when(written.value, lambda each: isinstance(
            each, values.UnknownValue)) is logic.FALSE
        return not data_path.same(one, other) and (
            is_known or not data_path.same(one, before))


def matched(done: evaluation.Evaluation, rule: model.Rule) -> bool:
    """Return whether a rule matched."""
    return any(each.matched and each.rule.uuid == rule.uuid
               for each in (*done.traces, *done.audited))


def state(facts: working_copy.Facts) -> dict[str, typing.Any]:
    """Return what rules may change, in no order where none matters.

    Ports are by their MAC addresses, capabilities are a list.
    """
    node = copy.deepcopy(facts.node or {})
    node['traits'] = sorted(node.get('traits') or ())
    properties = node.get('properties')
    if isinstance(properties, dict) and isinstance(
            properties.get('capabilities'), str):
        properties['capabilities'] = sorted(
            properties['capabilities'].split(','))
    return {
        'node': node,
        'ports': {str(port.get('address')).lower(): port
                  for port in facts.ports},
        'plugin_data': {name: value for name, value
                        in facts.plugin_data.items() if name != trace.KEY}}


def at(found: dict[str, typing.Any], place: data_path.Path) -> typing.Any:
    """Return what is at a place of :func:`state`, ABSENT for nothing.

    For any port it is what each port has there, by MAC address.
    """
    if place[:2] == cells.TRAITS:
        traits = found['node']['traits']
        return place[2] in traits if place[2:] else traits
    if place[:3] == cells.CAPABILITIES:
        there = data_path.get(found, ('node', 'properties', 'capabilities'))
        return [each for each in (there if isinstance(there, list) else ())
                if str(each).startswith(':'.join([*place[3:], '']))]
    if place[:2] == ('ports', states.ANY_PORT):
        return {address: data_path.get(port, place[2:])
                for address, port in found['ports'].items()}
    return data_path.get(found, place)
