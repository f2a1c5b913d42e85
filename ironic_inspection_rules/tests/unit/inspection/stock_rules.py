# SPDX-License-Identifier: Apache-2.0

"""Rules of stock Ironic and machines to try them on.

``IDIOMS`` are rules that people write for stock Ironic and that mean
something else here unless they are converted; ``generate`` makes many more of
all that stock Ironic accepts.
"""

import random
import uuid

from ironic import objects
from ironic.common import context

from ironic_inspection_rules.inspection import stock_trial

objects.register_all()

CONTEXT = context.RequestContext()

VENDOR = '{inventory[system_vendor][manufacturer]}'
MEMORY = '{inventory[memory][physical_mb]}'
NOTHING = '{inventory[nothing][here]}'

HIT = {'op': 'set-attribute', 'args': {'path': '/extra/hit', 'value': 'yes'}}


def _when(op, loop=None, multiple=None, **args):
    condition = {'op': op, 'args': args}
    if loop is not None:
        condition['loop'] = loop
    if multiple:
        condition['multiple'] = multiple
    return {'conditions': [condition], 'actions': [HIT]}


def _do(op, loop=None, **args):
    action = {'op': op, 'args': args}
    if loop is not None:
        action['loop'] = loop
    return {'conditions': [], 'actions': [action]}


def _set(value, path='/extra/value', loop=None):
    return _do('set-attribute', loop, path=path, value=value)


IDIOMS = {
    'a number is stored as text': _set(MEMORY),
    'a list is stored as text': _set('{inventory[disks]}'),
    'a mapping is stored as text': _set('{inventory[memory]}'),
    'null is stored as text': _set('{inventory[cpu][model_name]}'),
    'text around a field': _set('vendor-' + VENDOR),
    'a missing field is stored as it is written': _set(NOTHING),
    'JSON in text is stored as it is': _set('{"a": 1}'),
    'doubled braces': _set('{{x}}'),
    'braces and fields in keys': _set(
        {'a}}': {'{{': 1}, '{node.name}': 2, NOTHING: 3}
    ),
    'a brace before a missing field': _set('}}' + NOTHING),
    'a field with a dot is never filled in': _set('{inventory.memory}'),
    'a field of no known name': _set('{hostname}'),
    'eq of a number and text': _when('eq', values=[MEMORY, '65536']),
    'eq of text and a number': _when('eq', values=[MEMORY, 65536]),
    'eq of true and text': _when(
        'eq', values=['{inventory[boot][secure]}', 'True']
    ),
    'eq of null and text': _when(
        'eq', values=['{inventory[cpu][model_name]}', 'None']
    ),
    'eq of a missing field': _when('eq', values=[NOTHING, 'Dell']),
    'not eq of a missing field': _when('!eq', values=[NOTHING, 'Dell']),
    'not contains of a missing field': _when(
        '!contains', value=NOTHING, regex='Dell'
    ),
    'gt as text': _when('gt', values=[MEMORY, '9']),
    'lt as text': _when('lt', values=[MEMORY, '9']),
    'gt of a missing field': _when('gt', values=[NOTHING, '9']),
    'gt of text and a number': _when('gt', values=[MEMORY, 32768]),
    'forced text': _when('eq', values=[MEMORY, 65536], force_strings=True),
    'is-none of null': _when('is-none', value='{inventory[cpu][model_name]}'),
    'is-none of a missing field': _when('is-none', value=NOTHING),
    'is-empty of a missing key': _when(
        'is-empty', value='{inventory[bmc_address]}'
    ),
    'is-empty of the text None': _when(
        'is-empty', value='{inventory[hostname]}'
    ),
    'not is-empty': _when('!is-empty', value=VENDOR),
    'is-true of one': _when('is-true', value='{inventory[boot][order]}'),
    'is-false of a missing field': _when('is-false', value=NOTHING),
    'is-false of false': _when('is-false', value='{inventory[boot][secure]}'),
    'matches with alternatives': _when(
        'matches', value=VENDOR, regex='Dell|HPE'
    ),
    'matches the beginning': _when('matches', value=VENDOR, regex='Dell.*'),
    'matches its own text': _when(
        'matches',
        value='{inventory[bmc_address]}',
        regex=r'\{inventory\[bmc_address\]\}',
    ),
    'matches not its own text': _when(
        '!matches',
        value=VENDOR,
        regex=r'{inventory\[system_vendor\]\[manufacturer\]}',
    ),
    'contains a number': _when('contains', value=MEMORY, regex='^6'),
    'one-of with text': _when(
        'one-of', value=MEMORY, values=['65536', '131072']
    ),
    'one-of with numbers': _when(
        'one-of', value=MEMORY, values=[65536, 131072]
    ),
    'in-net of an address': _when(
        'in-net', address='{inventory[bmc_address]}', subnet='10.0.0.0/8'
    ),
    'matches behind several flags': _when(
        'matches', value=VENDOR, regex='(?i)(?m)dell.*'
    ),
    'matches up to a comment': _when(
        'matches', value=VENDOR, regex='(?x)Dell # and more'
    ),
    'one list to compare': _when('eq', values=[[VENDOR, 'x']]),
    'a list with a field is not empty': _when(
        'is-empty', value=['{inventory[hostname]}']
    ),
    'text is true': _set('no', '/retired'),
    'a list in the message of fail': _do('fail', ['a'], msg=['{item}']),
    'an empty loop of a condition': _when(
        'contains', loop=[], value=VENDOR, regex='Dell'
    ),
    'the first of a loop': _when(
        'eq',
        loop=['HPE', 'Dell Inc.'],
        multiple='first',
        values=[VENDOR, '{item}'],
    ),
    'the last of a loop': _when(
        'eq',
        loop=['Dell Inc.', 'HPE'],
        multiple='last',
        values=[VENDOR, '{item}'],
    ),
    'a loop over numbers as text': _when(
        'lt', loop=[10], values=['{item}', '9']
    ),
    'an empty loop of an action': _set(VENDOR, loop=[]),
    'a loop with fields in its items': _set(
        '{item[value]}',
        '{item[path]}',
        [
            {'path': '/extra/a', 'value': 'plain'},
            {'path': 'extra.b', 'value': '{inventory[bmc_address]}'},
        ],
    ),
    'a loop over parts of traits': _do(
        'add-trait', ['A', 'B'], name='CUSTOM_{item}'
    ),
    'a field in the message of fail': _do('fail', msg='no ' + VENDOR),
    'a field in a path': _set('x', '/extra/' + MEMORY),
    'plugin data with a slash': _do(
        'set-plugin-data', path='a/b', value=VENDOR
    ),
    'plugin data are never unset': _do('unset-plugin-data', path='old'),
    'a capability': _do('set-capability', name='cpu', value=VENDOR),
}

_PLAIN = {
    'interfaces': [],
    'hostname': 'None',
    'bmc_address': '10.0.0.7',
    'system_vendor': {'manufacturer': 'Dell Inc.'},
    'memory': {'physical_mb': 65536},
    'cpu': {'model_name': None},
    'boot': {'secure': True, 'order': 1},
    'disks': [{'name': '/dev/sda', 'size': 1000}],
}

INVENTORIES = (
    _PLAIN,
    {
        **_PLAIN,
        'system_vendor': {'manufacturer': 'HPE'},
        'memory': {'physical_mb': '131072'},
        'hostname': '',
        'boot': {'secure': False, 'order': 0},
    },
    {
        **_PLAIN,
        'system_vendor': {'manufacturer': 'Dell'},
        'memory': {'physical_mb': None},
        'disks': [],
        'cpu': {'model_name': 'x'},
    },
    {
        'interfaces': [],
        'bmc_address': '192.0.2.1',
        'memory': {'physical_mb': 7},
    },
)

_ODD = [
    'Dell Inc.',
    '',
    None,
    0,
    1,
    65536,
    True,
    False,
    '65536',
    'None',
    'yes',
    'false',
    [],
    {},
    ['a', 'b'],
    {'x': 1},
    1.5,
    '10.0.0.7',
    'a\n',
    '9',
    '{item}',
    '[]',
    '{inventory[text]}',
    'Dell',
]
_NAMES = [
    '{inventory[text]}',
    '{inventory[number]}',
    '{inventory[flag]}',
    '{inventory[list]}',
    '{inventory[deep][a]}',
    '{inventory[deep]}',
    '{inventory[disks][0][size]}',
    '{plugin_data[p]}',
    '{node.name}',
    '{node.extra[rack]}',
    '{node.resource_class}',
    '{inventory.text}',
    '{node.auto_discovered}',
    '{foo}',
    '{inventory[number]:>5}',
    '{inventory[text]!r}',
    '{node.properties[capabilities]}',
]
_LITERALS = [
    'Dell',
    '65536',
    65536,
    0,
    True,
    False,
    None,
    'None',
    'yes',
    [],
    '{',
    'a}b',
    '{{x}}',
    '9',
    '',
    '10.0.0.0/8',
    1.5,
    ['a', 'b'],
    '{"a": 1}',
]
_REGEXES = [
    'Dell',
    'Dell|HPE',
    '^Dell.*',
    '(?i)dell',
    'a$',
    '.*',
    '[0-9]+',
    r'\{inventory\[text\]\}',
    'None',
    r'\d{5}',
    '{item}',
    '^$',
    r'x\$',
    'a|',
]
_LOOPS = [
    [],
    ['Dell', '9'],
    ['Dell'],
    [{'a': 'Dell'}, {'a': 'x'}],
    {'a': 'Dell'},
    [10, 9],
    [{'a': '{inventory[text]}'}],
    [None],
    [True, 'b'],
    [{'b': 1}],
    ['a', 'b', 'c'],
    ['65536', 'Dell Inc.'],
]


def machine(number, inventory, plugin_data=None, **fields):
    """Make a machine, of a node with these fields."""
    node = objects.Node(
        CONTEXT,
        **{
            'id': 1,
            'uuid': str(uuid.UUID(int=number)),
            'name': f'n{number}',
            'driver': 'ipmi',
            'driver_info': {},
            'properties': {},
            'extra': {},
            'instance_info': {},
            'driver_internal_info': {},
            'provision_state': 'inspecting',
            'resource_class': None,
            'description': None,
            'inspect_interface': 'agent',
            **fields,
        },
    )
    node.traits = objects.TraitList(CONTEXT, objects=[])
    return stock_trial.TrialMachine(
        f'machine {number}', node, [], [], inventory, plugin_data or {}
    )


class Generator:
    """Makes rules that stock Ironic accepts, and odd machines.

    :param seed: the same one makes the same.
    """

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._one = self._random.choice

    def machine(self, number):
        inventory = {
            name: self._one(_ODD)
            for name in ('text', 'number', 'flag', 'list')
            if self._often()
        }
        if self._often():
            inventory['deep'] = self._one(
                [{'a': self._one(_ODD)}, {'b': 1}, self._one(_ODD)]
            )
        if self._often():
            inventory['disks'] = self._one(
                [[{'size': self._one(_ODD)}], [], self._one(_ODD)]
            )
        # The order of the calls decides what a seed makes.
        plugin_data = {}
        if self._often():
            plugin_data = {'p': self._one(_ODD)}
        return machine(
            number,
            inventory,
            plugin_data,
            extra=self._one([{}, {'rack': 'r1'}, {'rack': None}]),
            properties=self._one([{}, {'capabilities': 'cpu:a,x:y'}]),
        )

    def rule(self, number):
        conditions = []
        if self._often():
            conditions = [self._condition()]
        return {
            'uuid': str(uuid.UUID(int=number)),
            'conditions': conditions,
            'actions': [self._one([self._action(), HIT])],
        }

    def _often(self):
        return self._random.random() < 0.8

    def _value(self, loop):
        name = self._one(_NAMES)
        value = self._one(
            [
                name,
                name,
                name,
                f'a {name}',
                f'{name} {{{{z}}}}',
                f'{name} and {self._one(_NAMES)}',
                self._one(_LITERALS),
            ]
        )
        return self._itemed(value, loop)

    def _itemed(self, value, loop):
        if not loop or not isinstance(value, str):
            return value
        return self._one(
            [
                value,
                '{item}',
                '{item[a]}',
                'x{item}',
                '{item[a]}/{inventory[text]}',
            ]
        )

    def _loop(self):
        return self._one([None, None, self._one(_LOOPS)])

    def _condition(self):
        op = self._one(
            [
                'eq',
                'eq',
                'lt',
                'gt',
                'is-empty',
                'in-net',
                'matches',
                'contains',
                'one-of',
                'is-none',
                'is-true',
                'is-false',
            ]
        )
        loop = self._loop()
        if op in ('eq', 'lt', 'gt'):
            args = {
                'values': [
                    self._value(loop)
                    for _ in range(self._one([1, 2, 2, 2, 3]))
                ]
            }
            if not self._often():
                args['force_strings'] = self._one([True, False])
        elif op == 'in-net':
            args = {
                'address': self._value(loop),
                'subnet': self._one(
                    ['10.0.0.0/8', '10.0.0.0/8', 'bad', self._one(_NAMES)]
                ),
            }
        else:
            args = {'value': self._value(loop)}
        if op in ('matches', 'contains'):
            args['regex'] = self._itemed(self._one(_REGEXES), loop)
        elif op == 'one-of':
            args['values'] = self._one(
                [
                    ['Dell', '65536', 1],
                    [],
                    ['None', None],
                    [65536],
                    'Dell Inc. x',
                    ['{inventory[text]}'],
                ]
            )
        return self._looped(
            {'op': self._one(['', '!']) + op, 'args': args},
            loop,
            multiple=self._one(['any', 'all', 'first', 'last']),
        )

    def _action(self):
        loop = self._loop()
        value = self._value(loop)
        path = self._itemed(
            self._one(
                ['/extra/a', 'extra.b.c', '/extra/rack', '/description']
            ),
            loop,
        )
        op, args = self._one(
            [
                ('set-attribute', {'path': path, 'value': value}),
                ('set-attribute', {'path': '/extra/b', 'value': value}),
                (
                    'extend-attribute',
                    {
                        'path': '/extra/l',
                        'value': value,
                        'unique': self._one([True, False]),
                    },
                ),
                ('set-capability', {'name': 'cpu', 'value': value}),
                (
                    'set-plugin-data',
                    {
                        'path': self._one(['a', 'a.b', '/a/b', 'p']),
                        'value': value,
                    },
                ),
                ('extend-plugin-data', {'path': 'l.m', 'value': value}),
                ('unset-plugin-data', {'path': 'p'}),
                (
                    'add-trait',
                    {'name': self._one(['CUSTOM_A', 'CUSTOM_{item}', 'bad'])},
                ),
                ('remove-trait', {'name': 'CUSTOM_A'}),
                ('fail', {'msg': value}),
                ('log', {'msg': value, 'level': self._one(['info', 'no'])}),
                (
                    'del-attribute',
                    {'path': self._one(['/extra/rack', '/description'])},
                ),
            ]
        )
        return self._looped({'op': op, 'args': args}, loop)

    @staticmethod
    def _looped(operation, loop, **more):
        if loop is None:
            return operation
        return {**operation, 'loop': loop, **more}
