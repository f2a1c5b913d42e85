# SPDX-License-Identifier: Apache-2.0

"""Histories of a machine, made by chance: rules, and changes by others."""

import copy
import functools
import json
import random

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_rule
from ironic_inspection_rules.tests.unit.runs import written_machine

PORTS = (
    '11111111-1111-4111-8111-111111111111',
    '22222222-2222-4222-8222-222222222222',
)
UUID = '00000000-0000-4000-8000-%012d'
NEVER = {'op': 'eq', 'args': [1, 2]}
ABSENT = written_machine.ABSENT
TRAITS = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C')
_ADDRESS = '52:54:00:00:00:%02x'

START = {
    'node': {
        'extra': {'m': {'k': 1, 'l': [1, {'k': 2}]}},
        'properties': {},
        'driver_info': {},
        'resource_class': None,
        'description': None,
    },
    'traits': {'CUSTOM_A': True},
    'plugin_data': {'l': [1, 2, 3, 4], 'm': {'k': {'n': 1}, 'l': [5, 6, 7]}},
    **{
        uuid: {
            'uuid': uuid,
            'address': _ADDRESS % number,
            'extra': {},
            'pxe_enabled': True,
        }
        for number, uuid in enumerate(PORTS)
    },
}


class History:
    """What rules and others did to a machine, by chance.

    The engine does it and records it, the model does it as well.

    :ivar runs: records of runs, newest first, each with its number and the
        places that sensitive rules set.
    :ivar ends: the machine after each run, by its number.
    """

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._made = 100
        self._rules = 0
        self.model = written_machine.Machine(START)
        self.runs = []
        self.ends = {}
        for _number in range(self._random.randint(1, 4)):
            if self._random.random() < 0.3:
                self._change_otherwise()
            self._run()
        if self._random.random() < 0.3:
            self._change_otherwise()

    # What is made by chance.

    def _new(self):
        self._made += 1
        return self._made

    def _value(self):
        chance = self._random.random()
        if chance < 0.5:
            return self._new()
        if chance < 0.6:
            return None
        if chance < 0.7:
            return {'x_password': 'secret', 'k': self._new()}
        if chance < 0.8:
            return [self._new(), {'k': self._new()}, self._new()]
        return {'k': self._new(), 'm': {'k': self._new()}}

    def _near(self, value):
        """Return a value that is the same, or shares parts with this one."""
        value = copy.deepcopy(value)
        if value == ABSENT:
            return self._value()
        if isinstance(value, dict) and value:
            if self._random.random() < 0.6:
                name = self._random.choice(sorted(value))
                value[name] = self._near(value[name])
            if self._random.random() < 0.3:
                del value[self._random.choice(sorted(value))]
        elif self._random.random() < 0.5:
            return self._value()
        return value

    def _tokens(self, start, shortest=1):
        """Return a path that exists, or continues one that does."""
        path, value = [], start
        while True:
            has_keys = isinstance(value, dict) and value
            if has_keys and self._random.random() < 0.85:
                token = self._random.choice(sorted(value))
                value = value[token]
            elif isinstance(value, list) and self._random.random() < 0.85:
                index = self._random.randrange(len(value) + 1)
                if index == len(value):
                    # The place behind the last item.
                    token, value = '-', None
                else:
                    token, value = str(index), value[index]
                if self._random.random() < 0.4:
                    return [*path, token]
            else:
                # Nothing is there.
                token, value = self._random.choice('klm0n'), None
            path.append(token)
            if len(path) >= shortest and self._random.random() < 0.4:
                return path
            if len(path) == 5:
                return path

    def _attribute(self, attributes, names):
        """Return a path in an attribute, or of one."""
        name = self._random.choice(names)
        if self._random.random() < 0.15:
            return [name]
        return [name, *self._tokens(attributes[name])]

    # What happens.

    def _change_otherwise(self):
        """Change something as an operator does, without a rule."""
        data, machine = copy.deepcopy(self.model.data), self.model
        place = self._random.choice(
            [
                ('node', 'extra'),
                ('node', 'extra', 'm'),
                ('plugin_data', 'm'),
                ('node', 'resource_class'),
                (PORTS[0], 'extra'),
                ('plugin_data',),
                ('node', 'properties'),
                ('node', 'extra', 'm', 'l'),
                ('plugin_data', 'l'),
            ]
        )
        value = self._near(written_machine.get(data, place))
        if place[-1] in ('extra', 'properties') and not isinstance(
            value, dict
        ):
            # Ironic takes no other values for these attributes.
            value = {}
        if len(place) == 1:
            machine.data[place[0]] = {}
        else:
            parent = written_machine.get(machine.data, place[:-1])
            if isinstance(parent, dict):
                parent[place[-1]] = value
        # Capabilities that are no text would be refused by the engine.
        capabilities = written_machine.get(
            machine.data, written_machine.CAPABILITIES
        )
        if not isinstance(capabilities, str):
            machine.data['node']['properties'].pop('capabilities', None)
        machine.events.append(
            written_machine.Event(
                None, data, copy.deepcopy(machine.data), place
            )
        )

    def _run(self):
        number = len(self.ends)
        phases, places = {}, {}
        for phase in ('preprocess', 'main'):
            written = [
                self._rule(phase)
                for _rule in range(self._random.randint(0, 3))
            ]
            before = copy.deepcopy(self.model.data)
            events = len(self.model.events)
            actions = self._fill(written, number, phase)
            outcome, roots = self._carry_out(written, before)
            phases[phase] = json.loads(
                json.dumps(phase_record.build(outcome, 0))
            )
            places[phase] = recorded_rule.places_of(outcome)
            if actions is None:
                assert outcome.error, written
                self.model.data = before
                del self.model.events[events:]
                break
            assert not outcome.error, (outcome.error, written)
            assert written_machine.same(self._seen(roots), self.model.data), (
                written,
                self._seen(roots),
                self.model.data,
            )
        self.runs.insert(0, (number, phases, places))
        self.ends[number] = copy.deepcopy(self.model.data)

    def _rule(self, phase):
        self._rules += 1
        rule = {
            'uuid': UUID % self._rules,
            'phase': phase,
            'actions': [],
            'sensitive': self._random.random() < 0.08,
        }
        if self._random.random() < 0.1:
            rule['conditions'] = [NEVER]
        return rule

    def _fill(self, written, run, phase):
        """Give actions to rules, and do what they do to the model.

        :returns: None if one of them is refused.
        """
        try:
            ordered = sorted(
                written, key=lambda rule: 'conditions' not in rule
            )
            for rule in ordered:
                who = (run, phase, rule['uuid'], rule['sensitive'])
                events = len(self.model.events)
                for _action in range(self._random.randint(1, 4)):
                    action, do = self._random.choice(
                        [self._on_node] * 3
                        + [
                            self._on_plugin_data,
                            self._on_plugin_data,
                            self._on_port,
                            self._on_capability,
                            self._on_traits,
                        ]
                    )('conditions' in rule)
                    if 'conditions' in rule:
                        action['revert'] = True
                    rule['actions'].append(action)
                    do(who)
                if 'conditions' in rule and all(
                    event.confirmed for event in self.model.events[events:]
                ):
                    # There is no trace of a rule that undid nothing.
                    del self.model.events[events:]
        except written_machine.Refused:
            for rule in written:
                rule['actions'] = rule['actions'] or [
                    {'op': 'log', 'args': ['x']}
                ]
            return None
        return True

    def _carry_out(self, written, data):
        ops = registry.installed()
        plans = [
            compiler.compile_rule(validation.parse(rule, ops), ops, 'never')
            for rule in written
        ]
        target = working_copy.WorkingCopy(
            working_copy.Facts(
                {},
                copy.deepcopy(data['plugin_data']),
                {
                    **copy.deepcopy(data['node']),
                    'traits': list(data['traits']),
                },
                tuple(copy.deepcopy(data[uuid]) for uuid in PORTS),
            )
        )
        return runner.run(plans, target, keep=True), target.roots

    @staticmethod
    def _seen(roots):
        node = dict(roots['node'])
        return {
            'traits': dict.fromkeys(node.pop('traits'), True),
            'node': node,
            'plugin_data': roots['plugin_data'],
            **{port['uuid']: port for port in roots['ports']},
        }

    # Actions: as they are written, and what they do to the model.

    def _write(self, root, path, kind, undone, port_id=None):
        """Return an action that writes at a path, and what the model does.

        :param kind: the end of the op, such as ``attribute``.
        :param undone: whether the action is undone, and not carried out.
        """
        place, model = (root, *path), self.model
        known = written_machine.get(model.data, place)
        args = {'path': data_path.pointer(path)}
        if port_id:
            args['port_id'] = port_id
        is_attribute = kind != 'plugin-data' and len(path) == 1
        verb = self._choose_verb(known, path[-1], is_attribute, undone)
        if kind == 'plugin-data':
            verb_of_removal = 'unset'
            remove = functools.partial(model.unset, place=place)
        else:
            verb_of_removal = 'del'
            remove = functools.partial(model.delete, place=place)
        if verb == 'del':
            return {'op': f'{verb_of_removal}-{kind}', 'args': args}, remove
        if verb == 'set':
            value = self._near(known)
        else:
            value = self._value()
        has_items = isinstance(known, list) and known
        if verb == 'extend' and has_items and self._random.random() < 0.3:
            # An item that is there already.
            value = copy.deepcopy(self._random.choice(known))
        if is_attribute:
            value = self._whole(path[0], value)
        args['value'] = value
        if verb == 'set':
            do = functools.partial(model.set, place=place, value=value)
            if undone:
                do = remove
            return {'op': f'set-{kind}', 'args': args}, do
        unique = not undone and self._random.random() < 0.3
        if unique:
            args['unique'] = True
        do = functools.partial(
            model.extend, place=place, value=value, unique=unique
        )
        if undone:
            do = functools.partial(model.discard, place=place, value=value)
        return {'op': f'extend-{kind}', 'args': args}, do

    def _choose_verb(self, known, last_token, is_attribute, undone):
        """Return ``set``, ``del`` or ``extend``.

        :param known: the value that is there.
        :param last_token: the last token of its path.
        :param is_attribute: whether it is an attribute as a whole, which
            cannot be extended.
        :param undone: whether the action is undone; a removal cannot be.
        """
        verb = self._random.choice(
            ['set', 'set', 'set', 'del', 'del', 'extend']
        )
        if isinstance(known, list) and self._random.random() < 0.5:
            verb = 'extend'
        if last_token.isdigit() and self._random.random() < 0.4:
            verb = 'del'
        if is_attribute and verb == 'extend':
            verb = 'set'
        if undone and verb == 'del':
            verb = 'set'
        return verb

    def _whole(self, name, value):
        """Return a value that an attribute may have."""
        if name in ('extra', 'properties', 'driver_info'):
            if not isinstance(value, dict):
                return {}
            # A rule that leaves capabilities that are no text is refused.
            return {
                key: inner
                for key, inner in value.items()
                if key != 'capabilities'
            }
        if name == 'pxe_enabled':
            return self._random.random() < 0.5
        return f'v{self._new()}'

    def _on_node(self, undone):
        node = self.model.data['node']
        path = self._attribute(
            node, ['extra', 'extra', 'extra', 'properties', 'driver_info']
        )
        if self._random.random() < 0.1:
            path = [self._random.choice(['resource_class', 'description'])]
        if path == ['properties', 'capabilities'] and not undone:
            value = f'a:{self._new()},b:{self._new()}'
            action = {
                'op': 'set-attribute',
                'args': ['/properties/capabilities', value],
            }
            return action, functools.partial(
                self.model.set, place=('node', *path), value=value
            )
        return self._write('node', path, 'attribute', undone)

    def _on_port(self, undone):
        uuid = self._random.choice(PORTS)
        port = self.model.data[uuid]
        port_id = self._random.choice([uuid, port['address'].upper()])
        if not undone and self._random.random() < 0.15:
            address = _ADDRESS % (self._new() % 256)
            action = {
                'op': 'set-port-attribute',
                'args': [uuid, '/address', address],
            }
            return action, functools.partial(
                self.model.set, place=(uuid, 'address'), value=address
            )
        path = self._attribute(port, ['extra'])
        if self._random.random() < 0.1:
            path = ['pxe_enabled']
        return self._write(uuid, path, 'port-attribute', undone, port_id)

    def _on_plugin_data(self, undone):
        path = self._tokens(self.model.data['plugin_data'])
        return self._write('plugin_data', path, 'plugin-data', undone)

    def _on_capability(self, undone):
        name = self._random.choice('abc')
        remove = functools.partial(
            self.model.set_capability, name=name, value=ABSENT
        )
        if not undone and self._random.random() < 0.3:
            return {'op': 'unset-capability', 'args': [name]}, remove
        value = written_machine.get(
            self.model.data, (*written_machine.CAPABILITIES, name)
        )
        if value == ABSENT or self._random.random() < 0.6:
            value = str(self._new())
        do = functools.partial(
            self.model.set_capability, name=name, value=value
        )
        if undone:
            do = remove
        return {'op': 'set-capability', 'args': [name, value]}, do

    def _on_traits(self, undone):
        model, name = self.model, self._random.choice(TRAITS)
        names = self._random.sample(TRAITS, self._random.randint(0, 2))
        kind = self._random.choice(['add', 'remove', 'set'])
        if kind == 'set' and not undone:
            return {'op': 'set-traits', 'args': [names]}, functools.partial(
                model.set_traits, names=names, confirmed=names
            )
        others = [trait for trait in model.data['traits'] if trait != name]
        remove = functools.partial(model.set_traits, names=others)
        if kind == 'remove' and not undone:
            return {'op': 'remove-trait', 'args': [name]}, remove
        do = functools.partial(
            model.set_traits,
            names=[*model.data['traits'], name],
            confirmed=[name],
        )
        if undone:
            do = remove
        return {'op': 'add-trait', 'args': [name]}, do
