# SPDX-License-Identifier: Apache-2.0

"""Random rules over the whole language, for the search of wrong proofs.

Few fields and few literals, so that rules meet: a rule that touches nothing
of another one shows nothing.
"""

import copy
import json
import random
import typing

Entry = dict[str, typing.Any]

MACS = ('52:54:00:12:34:01', '52:54:00:00:00:99')
TRAITS = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_SPARE', 'HW_CPU_X86_VMX')
NUMBERS = (0, 1, 2, 4, 8, 100, 4.5, -1)
TEXTS = ('a', 'b', 'Dell Inc.', 'HPE', '', '8', '4.0', 'true', 'x y',
         'Gr\u00f6\u00dfe', '\u00df', '\u0663', 'CUSTOM_A', 'K', 'a/b', '-')
REGEXES = ('(?i)^dell', '^HPE$', '[^ -~]', r'\w+', r'\d', r'^\S*$', '\u00df',
           '.', '^.$', '[^a]', 'a|b', r'\bDell\b', r'(?i)k', r'[0-9]+',
           r'^$', '(?s)^.*$', r'\s', r'\D', '[a-z]{2,}', 'Inc', 'True',
           r'(?a)\w', '^(?!a)')
VERSIONS = ('2.9', '2.10', '1.0~rc1', '3')
SUBNETS = ('10.0.0.0/8', '192.0.2.0/24', '2001:db8::/32', '0.0.0.0/0')
NUMBER_FIELDS = ('inventory.cpu.count', 'inventory.memory.physical_mb',
                 'plugin_data.n', 'node.extra.n')
TEXT_FIELDS = ('inventory.system_vendor.manufacturer',
               'inventory.system_vendor.serial_number',
               'inventory.cpu.architecture', 'inventory.bmc_address',
               'plugin_data.t', 'node.extra.tag', 'node.name',
               'node.resource_class', 'node.extra.m.k', 'plugin_data.m.k',
               'node.properties.p', 'node.driver_info.a',
               'node.driver_info.password')
OTHER_FIELDS = ('node.extra', 'node.extra.m', 'plugin_data.m', 'plugin_data',
                'node.properties', 'node.properties.capabilities',
                'node.traits', 'node.extra.l', 'plugin_data.tags',
                'inventory.disks', 'inventory.cpu', 'inventory.cpu.flags',
                'node.extra.l[0]', 'inventory.disks[1].size', 'ports',
                'inventory.system_vendor.firmware.version',
                'node.extra.hw.size.gb', 'node.driver_info')
LISTS = ('inventory.disks', 'inventory.interfaces', 'plugin_data.tags',
         'node.extra.l', 'inventory.cpu.flags', 'ports', 'node.traits',
         'plugin_data.m')
ITEMS = ('item', 'item.size', 'item.name', 'item.k', 'item.address',
         'item.mac_address')
TEXT_FILTERS = ('lower', 'upper', 'trim', "replace('a', 'b')", 'int',
                'float', 'length', 'trait', "regex_search('[0-9]+')",
                "split(',')", "default('a')", "default('b', true)",
                "regex_replace('[0-9]', '')", "lookup({'a': 'x', 'b': 'y'})")
NUMBER_FILTERS = ('add(1)', 'subtract(1)', 'multiply(2)', 'divide(2)', 'int',
                  'float', "tier([[0, 's'], [8, 'm']])", 'default(4)',
                  'round', 'abs', 'divide(10)')
LIST_FILTERS = ('length', 'first', 'last', 'sort', "join(',')", 'unique',
                "map(attribute='size')", 'sum', 'min', 'max',
                'default([])', "selectattr('size', 'gt', 4)", 'first | int')
NODE_PLACES = ('/resource_class', '/extra/tag', '/extra/m', '/extra/m/k',
               '/extra/m/j', '/extra/n', '/extra/hw/size/gb', '/extra/hw',
               '/extra/l/0', '/extra/l/-', '/name', '/driver_info/a',
               '/properties/p', '/extra', '/properties/capabilities',
               '/properties', '/description', '/extra/l')
DATA_PLACES = ('/t', '/n', '/m', '/m/k', '/m/j', '/tags', '/tags/0',
               '/tags/-', '/deep/er/k')


class Theme(typing.NamedTuple):
    """What a set of rules is about, so that its rules meet.

    ``asks`` and ``does`` are kinds of conditions and of actions: methods of
    :class:`Grammar`.
    """

    fields: tuple[str, ...]
    lists: tuple[str, ...]
    places: tuple[str, ...]
    data: tuple[str, ...]
    asks: tuple[str, ...]
    does: tuple[str, ...]


THEMES = (
    Theme(('node.extra', 'node.extra.m', 'node.extra.tag'), ('node.extra.l',),
          ('/extra', '/extra/m', '/extra/m/k', '/extra/tag'), ('/m',),
          ('state', 'state', 'comparison'), ('set', 'delete', 'delete')),
    Theme(('plugin_data', 'plugin_data.m', 'plugin_data.m.k'),
          ('plugin_data.m',), ('/extra/tag',), ('/m', '/m/k', '/m/j'),
          ('state', 'state', 'comparison'), ('data', 'data', 'data', 'set')),
    Theme(('node.traits', 'plugin_data.t'), ('node.traits',),
          ('/extra/tag',), ('/t',), ('trait_asked', 'comparison'),
          ('trait', 'trait', 'traits_set', 'set')),
    Theme(('node.properties', 'node.properties.capabilities'),
          ('plugin_data.tags',), ('/properties', '/properties/capabilities',
                                  '/properties/p'), ('/t',),
          ('state', 'comparison'), ('capability', 'set', 'delete')),
    Theme(('plugin_data.t', 'node.extra.tag'), ('plugin_data.tags',),
          ('/extra/tag', '/resource_class'), ('/t',),
          ('match', 'match', 'comparison', 'membership'), ('set', 'data')),
    Theme(('inventory.cpu.count', 'plugin_data.n'), ('inventory.disks',),
          ('/extra/n', '/resource_class'), ('/n',),
          ('comparison', 'comparison', 'state'), ('set', 'data', 'fail')),
    Theme(('node.extra.l', 'plugin_data.tags', 'inventory.disks'),
          ('node.extra.l', 'plugin_data.tags', 'inventory.disks'),
          ('/extra/l', '/extra/l/0', '/extra/l/-'), ('/tags', '/tags/0'),
          ('comparison', 'state', 'membership'),
          ('set', 'extend', 'extend', 'delete')),
    Theme(('ports', 'node.extra.tag'), ('ports', 'inventory.interfaces'),
          ('/extra/tag',), ('/t',), ('comparison', 'state'),
          ('port', 'port', 'other', 'set')),
)
_ASKS = (*5 * ('comparison',), *2 * ('match',), *2 * ('state',), 'membership',
         'trait_asked', 'subnet', 'version', 'third_party')
_DOES = (*5 * ('set',), *2 * ('delete',), *2 * ('extend',), *3 * ('data',),
         'capability', *3 * ('trait',), 'traits_set', 'port', 'fail', 'other')


class Grammar:
    """Makes rules out of a source of random numbers."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        pick = chance.choice
        # What one set of rules is about.
        self._fields = [pick(NUMBER_FIELDS), pick(TEXT_FIELDS),
                        pick(TEXT_FIELDS), pick(OTHER_FIELDS)]
        self._lists = [pick(LISTS), pick(LISTS)]
        self._places = chance.sample(NODE_PLACES, 3)
        self._data_places = chance.sample(DATA_PLACES, 2)
        self._texts = chance.sample(TEXTS, 3)
        self._numbers = chance.sample(NUMBERS, 2)
        self._traits = chance.sample(TRAITS, 2)
        self._asks = _ASKS
        self._does = _DOES
        self._loops = .15
        if chance.random() < .7:
            theme = pick(THEMES)
            self._fields = [*theme.fields]
            self._lists = [*theme.lists]
            self._places = [*theme.places]
            self._data_places = [*theme.data]
            self._asks, self._does = theme.asks, theme.does
            self._loops = pick((0, .1, .5))
        # Simple rules of one theme do what the mistakes of proofs are about.
        self._is_simple = chance.random() < .5
        if self._is_simple:
            self._loops = 0

    def entries(self, count: int) -> list[Entry]:
        """Return rules as a file has them."""
        return [self._entry(number) for number in range(count)]

    def _entry(self, number: int) -> Entry:
        chance = self._chance
        if self._is_simple:
            return {
                'uuid': f'00000000-0000-4000-8000-{number:012d}',
                'description': f'rule {number}',
                'conditions': [self.condition() for _number in range(
                    chance.choice((0, 1)))],
                'actions': [self.action()]}
        made: Entry = {
            'uuid': f'00000000-0000-4000-8000-{number:012d}',
            'description': f'rule {number}',
            'priority': chance.choice((0, 0, 0, 1, 5)),
            'conditions': [self.condition() for _number in range(
                chance.choice((0, 1, 1, 1, 2, 2, 3)))],
            'actions': [self.action() for _number in range(
                chance.choice((1, 1, 1, 2)))],
        }
        if chance.random() < .15:
            made['phase'] = chance.choice(('preprocess', 'early'))
        if chance.random() < .1:
            made['mode'] = chance.choice(('audit', 'off'))
        if chance.random() < .1:
            made['scope'] = chance.choice(('s', 't'))
        if chance.random() < .15:
            made['vars'] = {'v': self.value()}
        if chance.random() < .05:
            made['sensitive'] = True
        return made

    def field(self, item: bool = False) -> str:
        """Return a replacement field."""
        chance = self._chance
        filters: tuple[str, ...] = ()
        if item and chance.random() < .8:
            path = chance.choice(ITEMS)
            filters = (*TEXT_FILTERS, *NUMBER_FILTERS)
        elif chance.random() < .05:
            path = 'vars.v'
        else:
            path = chance.choice(self._fields)
            filters = LIST_FILTERS
            if path in NUMBER_FIELDS:
                filters = NUMBER_FILTERS
            elif path in TEXT_FIELDS:
                filters = TEXT_FILTERS
        if filters and chance.random() < (.05 if self._is_simple else .25):
            path = f'{path} | {chance.choice(filters)}'
        return f'{{{path}}}'

    def literal(self) -> typing.Any:
        """Return a literal that other rules are likely to use, too."""
        chance = self._chance
        return chance.choice((
            chance.choice(self._numbers), chance.choice(self._texts),
            chance.choice(self._texts), chance.choice((True, None)),
            chance.choice(self._traits), chance.choice(TEXTS)))

    def value(self, item: bool = False, depth: int = 0) -> typing.Any:
        """Return a value of an action, or of a variable."""
        chance = self._chance
        kind = chance.random()
        if kind < .55 or self._is_simple and kind < .9:
            return self.literal()
        if kind < .75:
            return self.field(item)
        if kind < .85:
            return f'{self.field(item)}{chance.choice(("", "-", "x"))}' \
                   f'{chance.choice(("", self.field(item)))}'
        if depth > 1:
            return 1
        if kind < .93:
            return [self.value(item, depth + 1)
                    for _number in range(chance.randrange(3))]
        return {name: self.value(item, depth + 1) for name
                in chance.sample(('k', 'j', 'size'), chance.randrange(3))}

    def condition(self, item: bool = False, depth: int = 0) -> Entry:
        """Return a condition."""
        chance = self._chance
        if depth < 2 and not self._is_simple and chance.random() < .12:
            return {'op': chance.choice(('any-of', 'all-of', 'none-of')),
                    'conditions': [self.condition(item, depth + 1) for _number
                                   in range(chance.choice((1, 2, 2)))]}
        loop: Entry = {}
        if not item and chance.random() < self._loops:
            item = True
            loop = {'loop': self._loop(), 'multiple': chance.choice(
                ('any', 'all', 'first', 'last'))}
        ask = getattr(self, f'_{chance.choice(self._asks)}')
        made = {**ask(item), **loop}
        if chance.random() < .25:
            made['op'] = f'!{made["op"]}'
        return made

    def _comparison(self, item: bool) -> Entry:
        chance = self._chance
        values = [self.field(item), self.literal()]
        if chance.random() < .15:
            values[1] = self.field(item)
        if chance.random() < .1:
            values.append(self.literal())
        if chance.random() < .2:
            values.reverse()
        args: Entry = {'values': values}
        if chance.random() < .1:
            args['force_strings'] = True
        return {'args': args, 'op': chance.choice(
            ('eq', 'eq', 'ne', 'lt', 'le', 'gt', 'ge'))}

    def _match(self, item: bool) -> Entry:
        return {'op': self._chance.choice(('contains', 'matches')), 'args': {
            'value': self.field(item),
            'regex': self._chance.choice(REGEXES)}}

    def _state(self, item: bool) -> Entry:
        return {'args': {'value': self.field(item)}, 'op': self._chance.choice(
            ('is-true', 'is-false', 'is-none', 'is-empty', 'is-empty',
             'exists'))}

    def _membership(self, item: bool) -> Entry:
        values = [self.literal(), self.literal()]
        if self._chance.random() < .4:
            values[0] = self.field(item)
        return {'op': 'one-of', 'args': {'value': self.field(item),
                                         'values': values}}

    def _trait_asked(self, item: bool) -> Entry:
        return {'op': 'one-of', 'args': {
            'value': self._chance.choice((*self._traits, self.field(item))),
            'values': '{node.traits}'}}

    def _subnet(self, item: bool) -> Entry:
        return {'op': 'in-net', 'args': {
            'address': self.field(item),
            'subnet': self._chance.choice(SUBNETS)}}

    def _version(self, item: bool) -> Entry:
        chance = self._chance
        return {'op': f'version-{chance.choice(("eq", "lt", "ge"))}',
                'args': {'values': [self.field(item),
                                    chance.choice(VERSIONS)]}}

    def _third_party(self, item: bool) -> Entry:
        return {'op': 'third-party', 'args': {'value': self.field(item)}}

    def _loop(self) -> typing.Any:
        chance = self._chance
        if chance.random() < .3:
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
        if not self._is_simple and chance.random() < .1:
            made['when'] = [self.condition(item)]
        if chance.random() < .02:
            made['revert'] = True
        do = getattr(self, f'_{chance.choice(self._does)}')
        return {**do(item), **made}

    def _place(self, item: bool) -> str:
        if self._chance.random() < .1:
            return f'/extra/{self.field(item)}'
        return self._chance.choice(self._places)

    def _set(self, item: bool) -> Entry:
        return {'op': 'set-attribute', 'args': {
            'path': self._place(item), 'value': self.value(item)}}

    def _delete(self, item: bool) -> Entry:
        return {'op': 'del-attribute', 'args': {'path': self._place(item)}}

    def _extend(self, item: bool) -> Entry:
        chance = self._chance
        op, paths = chance.choice((
            ('extend-attribute', ('/extra/l', '/extra/tag')),
            ('extend-plugin-data', ('/tags', '/t'))))
        args: Entry = {'path': chance.choice(paths), 'value': self.value(item)}
        if chance.random() < .5:
            args['unique'] = True
        return {'op': op, 'args': args}

    def _data(self, item: bool) -> Entry:
        chance = self._chance
        path = chance.choice(self._data_places)
        if chance.random() < .05:
            path = f'/{self.field(item)}'
        if chance.random() < .3:
            return {'op': 'unset-plugin-data', 'args': {'path': path}}
        return {'op': 'set-plugin-data', 'args': {
            'path': path, 'value': self.value(item)}}

    def _capability(self, item: bool) -> Entry:
        chance = self._chance
        name = chance.choice(('c', 'd'))
        if chance.random() < .1:
            name = self.field(item)
        if chance.random() < .5:
            return {'op': 'unset-capability', 'args': {'name': name}}
        return {'op': 'set-capability', 'args': {
            'name': name, 'value': self.value(item)}}

    def _trait_name(self, item: bool) -> str:
        if self._chance.random() < .15:
            return self.field(item)[:-1] + ' | trait}'
        return self._chance.choice(self._traits)

    def _trait(self, item: bool) -> Entry:
        return {'args': {'name': self._trait_name(item)},
                'op': self._chance.choice(
                    ('add-trait', 'add-trait', 'remove-trait'))}

    def _traits_set(self, item: bool) -> Entry:
        names: typing.Any = [self._trait_name(item)]
        if self._chance.random() < .3:
            names = '{node.traits}'
        return {'op': 'set-traits', 'args': {
            'names': names, **self._chance.choice(
                ({}, {'prefix': 'CUSTOM_'}, {'prefix': 'HW_'}))}}

    def _port(self, item: bool) -> Entry:
        chance = self._chance
        port = chance.choice(MACS)
        if chance.random() < .3:
            port = self.field(item)
        if chance.random() < .5:
            return {'op': 'del-port-attribute', 'args': {
                'port_id': port, 'path': '/extra/tag'}}
        return {'op': 'set-port-attribute', 'args': {
            'port_id': port, 'value': self.value(item), 'path': chance.choice(
                ('/extra/tag', '/pxe_enabled', '/extra/m/k'))}}

    def _fail(self, item: bool) -> Entry:
        return {'op': 'fail', 'args': {'msg': self._chance.choice(
            ('no', 'never', self.field(item)))}}

    def _other(self, item: bool) -> Entry:
        return self._chance.choice((
            {'op': 'log', 'args': {'msg': 'x'}},
            {'op': 'third-party', 'args': {'value': self.field(item)}},
            {'op': 'third-trait', 'args': {'value': self.field(item)}}))

    def changed(self, entries: list[Entry]) -> list[Entry]:
        """Return a set of rules that is nearly the same, or the same."""
        chance = self._chance
        made = copy.deepcopy(entries)
        rule = chance.choice(made)
        kind = chance.randrange(11)
        if kind == 0:
            return made
        if kind > 7:
            # The same rules in another order.
            chance.shuffle(made)
            for number, moved in enumerate(made):
                moved['priority'] = len(made) - number
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
            made = json.loads(old.replace(f': {json.dumps(one)}',
                                          f': {json.dumps(other)}', 1))
        return made
