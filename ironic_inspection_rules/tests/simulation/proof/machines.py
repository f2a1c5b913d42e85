# SPDX-License-Identifier: Apache-2.0

"""Machines made for a set of rules: the ones that its rules tell apart.

Each field that the rules name is left as it is, taken away, or set to a
literal of the rules, to a neighbour of one, or to a value of another type.
"""

import copy
import json
import random
import re
import typing

from ironic_inspection_rules.kit.proof import witness
from ironic_inspection_rules.tests.simulation.proof import rules
from ironic_inspection_rules.tests.simulation.proof import vocabulary

_FIELD = re.compile(r'\b(inventory|plugin_data|node)((?:\.\w+|\[\d+\])+)')
_STEP = re.compile(r'\.(\w+)|\[(\d+)\]')
_WORD = re.compile(r'[A-Za-z0-9\u00a0-\uffff][ -~\u00a0-\uffff]*')
_ODD = (
    '\u00e9',
    '\u0663',
    '\u00a0',
    '\u20ac',
    '\n',
    '\t',
    '\u017f',
    '\u212a',
    '\u0130',
    '\U00030000',
    '\x00',
)
_PLACES = {
    'set-attribute': 'node',
    'del-attribute': 'node',
    'extend-attribute': 'node',
    'set-plugin-data': 'plugin_data',
    'unset-plugin-data': 'plugin_data',
    'extend-plugin-data': 'plugin_data',
}
_IN_NODE = ('extra', 'properties', 'driver_info')
_LISTS = ('disks', 'interfaces', 'flags', 'tags', 'l')
_TEXTS = ('name', 'resource_class', 'description')


class Generator:
    """Makes machines for some rules.

    :param entries: all rules, those of two sets together.
    """

    def __init__(
        self, chance: random.Random, entries: typing.Sequence[rules.Entry]
    ) -> None:
        self._chance = chance
        self._literals: list[typing.Any] = []
        self._places: list[tuple[str, ...]] = []
        for entry in entries:
            self._collect(entry)
            for action in entry['actions']:
                root = _PLACES.get(action['op'])
                path = action['args'].get('path', '')
                if root and '{' not in path:
                    steps = path[1:].replace('-', '0').split('/')
                    self._places += [
                        (root, *steps[: length + 1])
                        for length in range(len(steps))
                    ]
        text = json.dumps(list(entries), ensure_ascii=False)
        for root, steps in _FIELD.findall(text):
            self._places.append(
                (
                    root,
                    *(name or index for name, index in _STEP.findall(steps)),
                )
            )
        if '{ports}' in text or 'port_id' in text:
            self._places.append(('ports',))
        self._places = sorted(set(self._places))
        self._has_scopes = any('scope' in entry for entry in entries)

    def _collect(self, value: typing.Any) -> None:
        if isinstance(value, dict):
            for each in value.values():
                self._collect(each)
        elif isinstance(value, list):
            for each in value:
                self._collect(each)
        elif isinstance(value, str):
            self._literals.append(value)
            self._literals += _WORD.findall(value)
            self._literals += [
                int(each) for each in re.findall(r'\d{1,9}', value)
            ]
        else:
            self._literals.append(value)

    def machine(self) -> witness.Witness:
        """Return one machine."""
        chance = self._chance
        usual = copy.deepcopy(witness.sample())
        node = usual['node']
        node['traits'] = [
            name for name in vocabulary.TRAITS if chance.random() < 0.4
        ]
        if chance.random() < 0.3:
            node['properties'] = {
                'capabilities': chance.choice(
                    ('c:1', 'c:1,d:b', 'd:a', 'c:a,e:1')
                )
            }
        if chance.random() < (0.6 if self._has_scopes else 0.1):
            node['properties'] = {
                **node.get('properties', {}),
                'inspection_scope': chance.choice('st'),
            }
        roots = {
            'inventory': usual['inventory'],
            'node': node,
            'plugin_data': usual['plugin_data'],
        }
        ports: tuple[dict[str, typing.Any], ...] | None = None
        for place in self._places:
            if place == ('ports',):
                ports = self._ports()
            elif chance.random() < 0.75:
                self._set(roots, place)
        return witness.Witness(
            roots['inventory'], roots['plugin_data'], roots['node'], ports
        )

    def _ports(self) -> tuple[dict[str, typing.Any], ...] | None:
        chance = self._chance
        if chance.random() < 0.3:
            return None
        addresses = [
            *vocabulary.MACS,
            *(f'52:54:00:00:01:{number:02x}' for number in range(6)),
        ]
        return tuple(
            {
                'address': address,
                'pxe_enabled': chance.random() < 0.5,
                'extra': chance.choice(
                    ({}, {'tag': self.value()}, {'m': {'k': 'a'}}, {'m': 1})
                ),
            }
            for address in chance.sample(
                addresses, chance.choice((0, 1, 2, 3, 8))
            )
        )

    def _set(
        self, roots: dict[str, typing.Any], place: tuple[str, ...]
    ) -> None:
        """Set one field, if that is one that a machine may have."""
        root, *steps = place
        if root == 'node' and not self._may_set(steps):
            return
        inside = roots[root]
        for step in steps[:-1]:
            inside = _stepped(inside, step)
        last = steps[-1]
        if isinstance(inside, list):
            if last.isdecimal() and int(last) < len(inside):
                inside[int(last)] = self.value()
        elif isinstance(inside, dict):
            self._put(inside, last, root == 'node' and len(steps) == 1)

    @staticmethod
    def _may_set(steps: list[str]) -> bool:
        """Return whether Ironic lets an attribute of a node be so."""
        if steps[:2] == ['properties', 'capabilities']:
            return False
        return steps[0] in _IN_NODE or len(steps) == 1 and steps[0] in _TEXTS

    def _put(
        self, inside: dict[str, typing.Any], name: str, is_attribute: bool
    ) -> None:
        chance = self._chance
        if is_attribute and name in _IN_NODE:
            inside[name] = chance.choice(
                (
                    {},
                    {'m': {}},
                    {'other': 1},
                    {'tag': self.value()},
                    {'m': {'password': 'a'}},
                )
            )
        elif is_attribute:
            inside[name] = chance.choice(
                (None, 'a', 'b', str(self.value())[:60])
            )
        elif chance.random() < 0.15:
            inside.pop(name, None)
        elif name in _LISTS and chance.random() < 0.7:
            inside[name] = self._list(name)
        else:
            inside[name] = self.value()

    def _list(self, name: str) -> list[typing.Any]:
        chance = self._chance
        length = chance.choice((0, 1, 2, 3, 5, 6, 7, 9))
        if name in ('disks', 'interfaces'):
            return [
                {
                    key: self.value()
                    for key in chance.sample(
                        ('size', 'name', 'k', 'mac_address'),
                        chance.choice((1, 3)),
                    )
                }
                for _number in range(length)
            ]
        return [self.value() for _number in range(length)]

    def value(self, depth: int = 0) -> typing.Any:
        """Return a literal of the rules, a neighbour, or something else."""
        chance = self._chance
        kind = chance.random()
        if kind < 0.6 and self._literals:
            return self._near(chance.choice(self._literals))
        if kind < 0.72:
            return chance.choice(
                (
                    True,
                    False,
                    None,
                    0,
                    1,
                    -1,
                    2.5,
                    10**20,
                    '',
                    'x',
                    '0',
                    'True',
                    '10.1.2.3',
                    '192.0.2.7',
                    '2.9.1',
                    ' a ',
                    '1e3',
                )
            )
        if kind < 0.84:
            return (
                chance.choice(('', 'a', 'Dell', '8', 'k'))
                + (chance.choice(_ODD))
                + chance.choice(('', 'b', 'HPE'))
            )
        if depth:
            return 1
        if kind < 0.92:
            return [
                self.value(1) for _number in range(chance.choice((0, 1, 2, 6)))
            ]
        return {
            name: self.value(1)
            for name in chance.sample(
                ('k', 'j', 'size', 'other', 'gb'), chance.randrange(4)
            )
        }

    def _near(self, literal: typing.Any) -> typing.Any:
        chance = self._chance
        if isinstance(literal, bool) or literal is None:
            return literal
        if isinstance(literal, int | float):
            return chance.choice(
                (
                    literal,
                    literal,
                    literal + 1,
                    literal - 1,
                    literal + 0.5,
                    float(literal),
                    str(literal),
                    str(literal + 1),
                )
            )
        return chance.choice(
            (
                literal,
                literal,
                literal,
                literal.lower(),
                literal.upper(),
                f'{literal}x',
                f'x{literal}',
                literal[:-1],
                f' {literal}',
                f'{literal}\n',
                f'{literal}\u00e9',
            )
        )


def _stepped(inside: typing.Any, step: str) -> typing.Any:
    """Return what is below, made if it may be; None if there can be none."""
    if isinstance(inside, list):
        if step.isdecimal() and int(step) < len(inside):
            return inside[int(step)]
        return None
    if isinstance(inside, dict):
        return inside.setdefault(step, {})
    return None
