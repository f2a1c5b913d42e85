# SPDX-License-Identifier: Apache-2.0

"""Actions write what they declare: each is carried out, and compared."""

import copy
import json

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import pair
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests.unit import base

MAC = '52:54:00:00:00:01'
NODE_PATHS = (
    '/description',
    '/driver',
    '/extra',
    '/extra/a',
    '/extra/l',
    '/extra/l/-',
    '/extra/l/0',
    '/extra/l/1',
    '/extra/l/x',
    '/maintenance',
    '/properties',
    '/properties/capabilities',
    '/deploy_interface',
    'extra.a',
)
PLUGIN_DATA_PATHS = ('/a', '/l', '/l/-', '/l/0', '/l/-/z', '/l/x')
PORT_PATHS = ('/extra', '/extra/a', '/extra/l/0', '/name', '/pxe_enabled')
VALUES = (
    1,
    '1',
    True,
    'true',
    None,
    [],
    {},
    {'l': [5]},
    ' z ',
    'redfish',
    'a:2,c:3',
    '2,d:4',
)
SET_AND_EXTEND = ('set', 'extend')


def actions():
    """Yield an action of each op, with paths and values of many kinds."""
    yield from at_paths()
    yield from at_names()


def at_paths():
    """Yield actions whose places are paths."""
    for path in NODE_PATHS:
        yield 'del-attribute', {'path': path}
        for value in VALUES:
            args = {'path': path, 'value': value}
            yield 'set-attribute', args
            yield 'inspector-set-attribute', args
            yield 'extend-attribute', args
            yield 'inspector-append-attribute', args
            yield 'inspector-extend-attribute', args
    yield (
        'inspector-set-attribute',
        {'path': 'driver', 'value': 'redfish', 'reset_interfaces': False},
    )
    for path in PLUGIN_DATA_PATHS:
        yield 'unset-plugin-data', {'path': path}
        for value in VALUES:
            for verb in SET_AND_EXTEND:
                yield f'{verb}-plugin-data', {'path': path, 'value': value}
    for path in PORT_PATHS:
        place = {'port_id': MAC.upper(), 'path': path}
        yield 'del-port-attribute', place
        for value in VALUES:
            for verb in SET_AND_EXTEND:
                yield f'{verb}-port-attribute', {**place, 'value': value}


def at_names():
    """Yield the other actions."""
    for name in ('a', ' a ', 'boot_mode'):
        yield 'unset-capability', {'name': name}
        for value in VALUES:
            yield 'set-capability', {'name': name, 'value': value}
            yield 'inspector-set-capability', {'name': name, 'value': value}
    for name in ('CUSTOM_A', 'CUSTOM_C'):
        for verb in ('add', 'remove'):
            yield f'{verb}-trait', {'name': name}
            yield f'inspector-{verb}-trait', {'name': name}
    for prefix in ('', 'CUSTOM_'):
        names = ['CUSTOM_C', 'CUSTOM_A']
        yield 'set-traits', {'names': names, 'prefix': prefix}
    yield 'log', {'msg': 'x'}
    yield 'api-call', {'url': 'https://192.0.2.1/'}


def machines():
    """Yield machines with capabilities and lists, and without."""
    for inner, properties in (
        ({}, {}),
        ({'l': [1, 2, 3]}, {'capabilities': 'a:1,boot_mode:bios'}),
        ({'l': {'x': 1}}, {}),
    ):
        node = {
            **dict.fromkeys(schema.NODE),
            'driver': 'ipmi',
            'deploy_interface': 'direct',
            'description': 'x',
            'maintenance': False,
            'properties': properties,
            'extra': copy.deepcopy(inner),
            'traits': ['CUSTOM_A', 'CUSTOM_B'],
        }
        port = {
            'address': MAC,
            'extra': copy.deepcopy(inner),
            'name': None,
            'pxe_enabled': True,
        }
        yield working_copy.Facts(
            inventory={},
            plugin_data=copy.deepcopy(inner),
            node=node,
            ports=[port],
        )


def data(facts):
    """Return what actions may write."""
    plugin_data = dict(facts.plugin_data)
    plugin_data.pop(trace.KEY, None)
    return {
        'node': dict(facts.node),
        'plugin_data': plugin_data,
        'ports': list(facts.ports),
    }


def leaves(value):
    """Return the plain values, with their paths; of others their type."""
    found = {}
    for path, inner in data_path.walk(value):
        if isinstance(inner, dict | list):
            found[tuple(path)] = type(inner).__name__
        else:
            found[tuple(path)] = json.dumps(inner)
    return found


def at(effect, there):
    """Return what is at the place of an effect."""
    if effect.kind == 'port':
        return data_path.get(there['ports'][0], effect.place[1:])
    if effect.kind != 'capability':
        return data_path.get(there[effect.root], effect.place)
    text = there['node']['properties'].get('capabilities') or ''
    pairs = [item.partition(':') for item in text.split(',')]
    values = {name.strip(): value.strip() for name, _colon, value in pairs}
    return values.get(effect.place[0], data_path.ABSENT)


class DeclaredWritesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ops = registry.installed()

    def carried_out(self):
        """Yield each action, the data before it and after it."""
        done = set()
        for op, args in actions():
            written = {'op': op, 'args': args}
            try:
                rule = file_rule.parse({'actions': [written]}, self.ops)
            except exceptions.InvalidRule:
                # A value that this attribute cannot have.
                continue
            _conditions, (action,) = file_rule.operations(rule, self.ops)
            plans = {rule.phase: [compiler.compile_rule(rule, self.ops)]}
            for facts in machines():
                outcome = evaluation.evaluate(plans, facts, explain=False)
                if outcome.error is None:
                    done.add(op)
                    yield action, data(facts), data(outcome.facts)
        fails = {'fail', 'inspector-fail'}
        self.assertEqual(set(self.ops.actions) - fails, done)

    def test_every_change_is_declared(self):
        for action, before, after in self.carried_out():
            old, new = leaves(before), leaves(after)
            for root, *steps in (set(old) | set(new)) - {()}:
                path = (root, *steps)
                if old.get(path) == new.get(path):
                    continue
                inside = ''.join(f'[{step}]' for step in steps)
                read = interpolation.fields(f'{{{root}{inside}}}')
                self.assertTrue(
                    effects.may_change(action, read), (action.written, path)
                )

    def test_a_proof_knows_of_every_change(self):
        for action, before, after in self.carried_out():
            places = list(states.places_changed(action.op, action.arguments))
            old, new = leaves(before), leaves(after)
            for path in (set(old) | set(new)) - {()}:
                if old.get(path) == new.get(path):
                    continue
                if path[0] == 'ports' and len(path) > 1:
                    # A proof names ports by their addresses.
                    path = ('ports', MAC, *path[2:])
                if path[:2] == ('node', 'traits'):
                    path = cells.TRAITS
                is_known = any(pair.overlap(place, path) for place in places)
                self.assertTrue(is_known, (action.written, path))

    def test_the_declared_value_is_left(self):
        for action, _before, after in self.carried_out():
            for effect in effects.effects(action):
                if effect.extends or effect.kind in ('trait', 'traits'):
                    continue
                if effect.place[-1].isdigit():
                    # Another item may have moved there.
                    continue
                left = at(effect, after)
                self.assertTrue(
                    data_path.is_same(effect.value, left),
                    (action.written, effect, left),
                )
