# SPDX-License-Identifier: Apache-2.0

"""Random rules over the whole language, for the search of wrong proofs.

Few fields and few literals, so that rules meet: a rule that touches nothing
of another one shows nothing. Rules that meet nearly always are those of
:mod:`.theme_rules`.
"""

import copy
import json
import random
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.tests.simulation.proof import vocabulary

Entry = dict[str, typing.Any]


class Grammar:
    """Makes rules out of a source of random numbers."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        pick = chance.choice
        # What one set of rules is about.
        self._fields = [
            pick(vocabulary.NUMBER_FIELDS),
            pick(vocabulary.TEXT_FIELDS),
            pick(vocabulary.TEXT_FIELDS),
            pick(vocabulary.OTHER_FIELDS),
        ]
        self._lists = [pick(vocabulary.LISTS), pick(vocabulary.LISTS)]
        self._places = chance.sample(vocabulary.NODE_PLACES, 3)
        self._data_places = chance.sample(vocabulary.DATA_PLACES, 2)
        self._texts = chance.sample(vocabulary.TEXTS, 3)
        self._numbers = chance.sample(vocabulary.NUMBERS, 2)
        self._traits = chance.sample(vocabulary.TRAITS, 2)
        self._regexes = vocabulary.REGEXES
        self._asks = vocabulary.ASKS
        self._does = vocabulary.DOES
        # How often rules have what they need not have.
        self._loops = 0.15
        self._nested = 0.12
        self._reverted = 0.02

    def rules(self) -> list[Entry]:
        """Return rules as a file has them."""
        count = self._chance.choice((1, 2, 3, 4))
        return [self._rule(number) for number in range(count)]

    def _rule(self, number: int) -> Entry:
        chance = self._chance
        made: Entry = {
            **named(number),
            'priority': chance.choice((0, 0, 0, 1, 5)),
            'conditions': [
                self.condition()
                for _number in range(chance.choice((0, 1, 1, 1, 2, 2, 3)))
            ],
            'actions': [
                self.action() for _number in range(chance.choice((1, 1, 1, 2)))
            ],
        }
        if chance.random() < 0.15:
            made['phase'] = chance.choice(('preprocess', 'early'))
        if chance.random() < 0.1:
            made['mode'] = chance.choice(('audit', 'off'))
        if chance.random() < 0.1:
            made['scope'] = chance.choice(('s', 't'))
        if chance.random() < 0.15:
            made['vars'] = {'v': self.value()}
        if chance.random() < 0.05:
            made['sensitive'] = True
        return made

    def field(self, item: bool = False) -> str:
        """Return a replacement field."""
        chance = self._chance
        filters: tuple[str, ...] = ()
        if item and chance.random() < 0.8:
            path = chance.choice(vocabulary.ITEMS)
            filters = (*vocabulary.TEXT_FILTERS, *vocabulary.NUMBER_FILTERS)
        elif chance.random() < 0.05:
            path = 'vars.v'
        else:
            path = chance.choice(self._fields)
            filters = vocabulary.LIST_FILTERS
            if path in vocabulary.NUMBER_FIELDS:
                filters = vocabulary.NUMBER_FILTERS
            elif path in vocabulary.TEXT_FIELDS:
                filters = vocabulary.TEXT_FILTERS
        if filters and chance.random() < 0.25:
            path = f'{path} | {chance.choice(filters)}'
        return f'{{{path}}}'

    def literal(self) -> typing.Any:
        """Return a literal that other rules are likely to use, too."""
        chance = self._chance
        return chance.choice(
            (
                chance.choice(self._numbers),
                chance.choice(self._texts),
                chance.choice(self._texts),
                chance.choice((True, None)),
                chance.choice(self._traits),
                chance.choice(vocabulary.TEXTS),
            )
        )

    def value(self, item: bool = False, depth: int = 0) -> typing.Any:
        """Return a value of an action, or of a variable."""
        chance = self._chance
        kind = chance.random()
        if kind < 0.55:
            return self.literal()
        if kind < 0.75:
            return self.field(item)
        if kind < 0.85:
            return (
                f'{self.field(item)}{chance.choice(("", "-", "x"))}'
                f'{chance.choice(("", self.field(item)))}'
            )
        if depth > 1:
            return 1
        if kind < 0.93:
            return [
                self.value(item, depth + 1)
                for _number in range(chance.randrange(3))
            ]
        return {
            name: self.value(item, depth + 1)
            for name in chance.sample(('k', 'j', 'size'), chance.randrange(3))
        }

    def condition(self, item: bool = False, depth: int = 0) -> Entry:
        """Return a condition."""
        chance = self._chance
        if depth < 2 and chance.random() < self._nested:
            return {
                'op': chance.choice(('any-of', 'all-of', 'none-of')),
                'conditions': [
                    self.condition(item, depth + 1)
                    for _number in range(chance.choice((1, 2, 2)))
                ],
            }
        loop: Entry = {}
        if not item and chance.random() < self._loops:
            item = True
            loop = {
                'loop': self._loop(),
                'multiple': chance.choice(('any', 'all', 'first', 'last')),
            }
        ask = getattr(self, f'_{chance.choice(self._asks)}')
        made = {**ask(item), **loop}
        if chance.random() < 0.25:
            made['op'] = f'!{made["op"]}'
        return made

    def _comparison(self, item: bool) -> Entry:
        chance = self._chance
        values = [self.field(item), self.literal()]
        if chance.random() < 0.15:
            values[1] = self.field(item)
        if chance.random() < 0.1:
            values.append(self.literal())
        if chance.random() < 0.2:
            values.reverse()
        args: Entry = {'values': values}
        if chance.random() < 0.1:
            args['force_strings'] = True
        return {
            'args': args,
            'op': chance.choice(('eq', 'eq', 'ne', 'lt', 'le', 'gt', 'ge')),
        }

    def _match(self, item: bool) -> Entry:
        return {
            'op': self._chance.choice(('contains', 'matches')),
            'args': {
                'value': self.field(item),
                'regex': self._chance.choice(self._regexes),
            },
        }

    def _state(self, item: bool) -> Entry:
        return {
            'args': {'value': self.field(item)},
            'op': self._chance.choice(
                (
                    'is-true',
                    'is-false',
                    'is-none',
                    'is-empty',
                    'is-empty',
                    'exists',
                )
            ),
        }

    def _membership(self, item: bool) -> Entry:
        values = [self.literal(), self.literal()]
        if self._chance.random() < 0.4:
            values[0] = self.field(item)
        return {
            'op': 'one-of',
            'args': {'value': self.field(item), 'values': values},
        }

    def _trait_asked(self, item: bool) -> Entry:
        return {
            'op': 'one-of',
            'args': {
                'value': self._chance.choice(
                    (*self._traits, *vocabulary.TRAITS, self.field(item))
                ),
                'values': '{node.traits}',
            },
        }

    def _subnet(self, item: bool) -> Entry:
        return {
            'op': 'in-net',
            'args': {
                'address': self.field(item),
                'subnet': self._chance.choice(vocabulary.SUBNETS),
            },
        }

    def _version(self, item: bool) -> Entry:
        chance = self._chance
        return {
            'op': f'version-{chance.choice(("eq", "lt", "ge"))}',
            'args': {
                'values': [
                    self.field(item),
                    chance.choice(vocabulary.VERSIONS),
                ]
            },
        }

    def _third_party(self, item: bool) -> Entry:
        if self._chance.random() < 0.6:
            return {'op': 'third-party', 'args': {'value': self.field(item)}}
        names = self._chance.sample(('value', 'limit', 'name'), 2)
        return {
            'op': 'third-typed',
            'args': {
                'value': 'a',
                **{name: self.field(item) for name in names},
            },
        }

    def _inspector(self, item: bool) -> Entry:
        """Return a condition of ironic-inspector, which is decided first."""
        chance = self._chance
        op = chance.choice(('eq', 'ne', 'lt', 'contains', 'is-empty'))
        args: Entry = {'field': chance.choice(vocabulary.INSPECTOR_FIELDS)}
        if op != 'is-empty':
            args['value'] = str(self.literal())
        if chance.random() < 0.3:
            args['invert'] = True
        return {'op': f'inspector-{op}', 'args': args}

    def _loop(self) -> typing.Any:
        chance = self._chance
        if chance.random() < 0.3:
            return [self.value() for _number in range(chance.randrange(4))]
        return f'{{{chance.choice(self._lists)}}}'

    def action(self) -> Entry:
        """Return an action."""
        chance = self._chance
        item = False
        made: Entry = {}
        if chance.random() < self._loops:
            item = True
            made['loop'] = self._loop()
        if chance.random() < self._nested:
            made['when'] = [self.condition(item)]
        if chance.random() < self._reverted:
            made['revert'] = True
        do = getattr(self, f'_{chance.choice(self._does)}')
        return {**do(item), **made}

    def _place(self, item: bool) -> str:
        if self._chance.random() < 0.1:
            return f'/extra/{self.field(item)}'
        return self._chance.choice(self._places)

    def _set(self, item: bool) -> Entry:
        return {
            'op': 'set-attribute',
            'args': {'path': self._place(item), 'value': self.value(item)},
        }

    def _delete(self, item: bool) -> Entry:
        return {'op': 'del-attribute', 'args': {'path': self._place(item)}}

    def _extend(self, item: bool) -> Entry:
        chance = self._chance
        op, paths = chance.choice(
            (
                ('extend-attribute', ('/extra/l', '/extra/tag')),
                ('extend-plugin-data', ('/tags', '/t')),
            )
        )
        args: Entry = {'path': chance.choice(paths), 'value': self.value(item)}
        if chance.random() < 0.5:
            args['unique'] = True
        return {'op': op, 'args': args}

    def _data(self, item: bool) -> Entry:
        chance = self._chance
        path = chance.choice(self._data_places)
        if chance.random() < 0.05:
            path = f'/{self.field(item)}'
        if chance.random() < 0.3:
            return {'op': 'unset-plugin-data', 'args': {'path': path}}
        return {
            'op': 'set-plugin-data',
            'args': {'path': path, 'value': self.value(item)},
        }

    def _capability(self, item: bool) -> Entry:
        chance = self._chance
        name = chance.choice(('c', 'd'))
        if chance.random() < 0.1:
            name = self.field(item)
        if chance.random() < 0.5:
            return {'op': 'unset-capability', 'args': {'name': name}}
        return {
            'op': 'set-capability',
            'args': {'name': name, 'value': self.value(item)},
        }

    def _set_made(self, item: bool) -> Entry:
        path = self._chance.choice(
            ('/extra/{plugin_data.t}', '/extra/m/{plugin_data.t}')
        )
        return {
            'op': 'set-attribute',
            'args': {'path': path, 'value': self.value(item)},
        }

    def _data_made(self, item: bool) -> Entry:
        path = self._chance.choice(('/{plugin_data.t}', '/m/{plugin_data.t}'))
        return {
            'op': 'set-plugin-data',
            'args': {'path': path, 'value': self.value(item)},
        }

    def _trait_made(self, item: bool) -> Entry:
        return {
            'args': {'name': '{plugin_data.t | trait}'},
            'op': self._chance.choice(('add-trait', 'remove-trait')),
        }

    def _trait_name(self, item: bool) -> str:
        if self._chance.random() < 0.15:
            return self.field(item)[:-1] + ' | trait}'
        return self._chance.choice(self._traits)

    def _trait(self, item: bool) -> Entry:
        return {
            'args': {'name': self._trait_name(item)},
            'op': self._chance.choice(
                ('add-trait', 'add-trait', 'remove-trait')
            ),
        }

    def _traits_set(self, item: bool) -> Entry:
        names: typing.Any = [self._trait_name(item)]
        kind = self._chance.random()
        if kind < 0.3:
            names = '{node.traits}'
        elif kind < 0.6:
            names = []
        return {
            'op': 'set-traits',
            'args': {
                'names': names,
                **self._chance.choice(
                    ({}, {'prefix': 'CUSTOM_'}, {'prefix': 'HW_'})
                ),
            },
        }

    def _port(self, item: bool) -> Entry:
        chance = self._chance
        port = chance.choice(vocabulary.MACS)
        if chance.random() < 0.3:
            port = port.upper()
        if chance.random() < 0.3:
            port = self.field(item)
        if chance.random() < 0.5:
            return {
                'op': 'del-port-attribute',
                'args': {'port_id': port, 'path': '/extra/tag'},
            }
        return {
            'op': 'set-port-attribute',
            'args': {
                'port_id': port,
                'value': self.value(item),
                'path': chance.choice(
                    ('/extra/tag', '/pxe_enabled', '/extra/m/k')
                ),
            },
        }

    def _fail(self, item: bool) -> Entry:
        return {
            'op': 'fail',
            'args': {
                'msg': self._chance.choice(('no', 'never', self.field(item)))
            },
        }

    def _log(self, item: bool) -> Entry:
        chance = self._chance
        args = {
            'msg': chance.choice(
                ('x', self.field(item), f'of {self.field(item)}')
            )
        }
        if chance.random() < 0.2:
            args['level'] = self.field(item)
        return {'op': 'log', 'args': args}

    def _call(self, item: bool) -> Entry:
        return {
            'op': 'api-call',
            'args': {
                'url': self._chance.choice(
                    (self.field(item), f'http://a/{self.field(item)}')
                )
            },
        }

    def _other(self, item: bool) -> Entry:
        return self._chance.choice(
            (self._log(item), self._call(item), self._third_trait(item))
        )

    def _third_trait(self, item: bool) -> Entry:
        return {
            'op': 'third-trait',
            'args': {
                'value': self._chance.choice(
                    (self.field(item), '{plugin_data.n | int}')
                )
            },
        }

    def _argument(self, item: bool) -> Entry:
        """Return an action with an argument that is a var."""
        name = '{vars.name}'
        op, args = self._chance.choice(
            (
                ('set-capability', {'name': name, 'value': '1'}),
                ('unset-capability', {'name': name}),
                ('remove-trait', {'name': name}),
                ('add-trait', {'name': name}),
                ('set-traits', {'names': name, 'prefix': 'CUSTOM_'}),
                (
                    'extend-plugin-data',
                    {'path': '/t', 'value': 1, 'unique': name},
                ),
            )
        )
        return {'op': op, 'args': args}

    def _typed(self, item: bool) -> Entry:
        """Return an action with an argument of any type."""
        chance = self._chance
        given = chance.choice(('{vars.name}', '{vars.name}', self.field(item)))
        port = chance.choice(vocabulary.MACS)
        op, args = chance.choice(
            (
                (
                    'set-attribute',
                    {
                        'path': chance.choice(vocabulary.TYPED_ATTRIBUTES),
                        'value': given,
                    },
                ),
                (
                    'set-attribute',
                    {
                        'path': chance.choice(vocabulary.TYPED_ATTRIBUTES),
                        'value': given,
                    },
                ),
                (
                    'set-port-attribute',
                    {
                        'port_id': port,
                        'value': given,
                        'path': chance.choice(
                            ('/pxe_enabled', '/name', '/extra', '/category')
                        ),
                    },
                ),
                (
                    'del-port-attribute',
                    {'port_id': given, 'path': '/extra/tag'},
                ),
                ('set-capability', {'name': 'c', 'value': given}),
                ('set-traits', {'names': [given]}),
                ('set-traits', {'names': ['CUSTOM_A'], 'prefix': given}),
                (
                    'extend-attribute',
                    {'path': '/extra/l', 'value': given, 'unique': given},
                ),
                ('fail', {'msg': 'no', 'maintenance': given}),
                ('log', {'msg': 'x', 'level': given}),
                (
                    'api-call',
                    {
                        'url': 'http://a',
                        chance.choice(
                            ('timeout', 'retries', 'backoff_factor')
                        ): given,
                    },
                ),
            )
        )
        return {'op': op, 'args': args}

    def _typed_asked(self, item: bool) -> Entry:
        """Return a condition with an argument of any type."""
        field, other = self.field(item), self.field(item)
        op, args = self._chance.choice(
            (
                (
                    'eq',
                    {
                        'values': [field, self.literal()],
                        'force_strings': other,
                    },
                ),
                ('lt', {'values': other}),
                ('one-of', {'value': field, 'values': other}),
                ('in-net', {'address': field, 'subnet': other}),
                ('version-ge', {'values': [field, other]}),
                ('contains', {'value': field, 'regex': 'a'}),
            )
        )
        return {'op': op, 'args': args}

    def _third(self, item: bool) -> Entry:
        return {'op': 'third-party', 'args': {'value': self.field(item)}}

    def changed(self, entries: list[Entry]) -> list[Entry]:
        """Return a set of rules that is nearly the same, or the same."""
        chance = self._chance
        made = copy.deepcopy(entries)
        rule = chance.choice(made)
        kind = chance.randrange(11)
        if kind == 0:
            return made
        if kind > 7:
            chance.shuffle(made)
            reorder(made)
        elif kind == 1:
            rule['conditions'].reverse()
        elif kind == 2 and rule['conditions']:
            rule['conditions'].pop()
        elif kind == 3:
            rule['conditions'].append(self.condition())
        elif kind == 4:
            rule['actions'].append(self.action())
        elif kind == 5 and len(made) > 1:
            made.remove(rule)
        elif kind == 6:
            rule['actions'] = [self.action()]
        else:
            old = json.dumps(made)
            one, other = chance.sample((*self._texts, *self._traits), 2)
            made = json.loads(
                old.replace(
                    f': {json.dumps(one)}', f': {json.dumps(other)}', 1
                )
            )
        return made


def named(number: int) -> Entry:
    """Return what tells a rule from others."""
    return {
        'uuid': f'00000000-0000-4000-8000-{number:012d}',
        'description': f'rule {number}',
    }


def reorder(entries: list[Entry]) -> None:
    """Give rules priorities so that they run in the order of a list."""
    for number, entry in enumerate(entries):
        entry['priority'] = len(entries) - number


def invert(condition: Entry) -> None:
    """Make a condition the opposite of what it is."""
    condition['op'] = f'!{condition["op"]}'.removeprefix('!!')


def in_order(entries: typing.Iterable[Entry]) -> list[model.Rule]:
    """Return rules as they run."""
    ops = registry.installed()
    parsed = repository.order(validation.parse(each, ops) for each in entries)
    return [
        rule
        for phase in model.PHASES
        for rule in parsed
        if rule.phase == phase
    ]


def valid(entries: typing.Iterable[Entry]) -> list[Entry]:
    """Return the rules that the API would take."""
    found = []
    for entry in entries:
        try:
            validation.parse(entry, registry.installed())
        except exceptions.InspectionRulesError:
            continue
        found.append(entry)
    return found
