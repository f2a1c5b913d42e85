# SPDX-License-Identifier: Apache-2.0

import yaml

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.inspection import stock_trial
from ironic_inspection_rules.kit.authoring.conversion import stock_rule
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.patches import stock_engine
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.inspection import stock_rules

UUID = '0a1b2c3d-0000-4000-8000-000000000001'
OPS = registry.installed()
FILLS_VALUES = stock_engine.fills_values()


def _files(name):
    return sorted((shared_data.directory() / name).iterdir())


class BothEnginesTestCase(base.IronicTestCase):
    """Tests with Ironic's own engine, of the release that is installed."""

    def convert(self, rule):
        return stock_rule.convert(rule, OPS, FILLS_VALUES)

    def differences(self, rule, converted, machines):
        """Return how often a rule does something else, in words."""
        ours = converted.rule and validation.parse(
            {**converted.rule, 'uuid': UUID}, OPS
        )
        pair = stock_trial.Pair('rule', {'uuid': UUID, **rule}, ours)
        return [
            f'{difference.machine}: {difference.what}'
            for machine in machines
            for difference in stock_trial.compare(
                stock_rules.CONTEXT, machine, [pair]
            )
        ]

    def test_most_idioms_do_the_same_and_the_others_are_announced(self):
        machines = [
            stock_rules.machine(number, inventory)
            for number, inventory in enumerate(stock_rules.INVENTORIES)
        ]
        same = []
        for idiom, rule in stock_rules.IDIOMS.items():
            converted = self.convert(rule)
            differ = self.differences(rule, converted, machines)
            if not differ:
                same.append(idiom)
            elif not converted.lost and not converted.differences:
                self.fail(f'{idiom}: nobody said that {differ[0]}')
        self.assertGreaterEqual(len(stock_rules.IDIOMS), 45)
        self.assertGreaterEqual(
            len(same),
            len(stock_rules.IDIOMS) - 5,
            set(stock_rules.IDIOMS) - set(same),
        )

    def test_no_difference_is_silent(self):
        generator = stock_rules.Generator(20)
        machines = [generator.machine(number) for number in range(8)]
        converted_whole = 0
        for number in range(200):
            rule = generator.rule(number)
            converted = self.convert(rule)
            if converted.lost or converted.differences:
                continue
            converted_whole += 1
            self.assertEqual(
                [],
                self.differences(rule, converted, machines),
                f'{rule} became {converted.rule}',
            )
        self.assertGreater(converted_whole, 40)

    def test_the_rules_of_others_do_the_same(self):
        machines = []
        for path in _files('inventories'):
            read = machine_file.load(str(path))
            machines.append(
                stock_rules.machine(
                    len(machines), read.inventory, read.plugin_data
                )
            )
        for path in _files('rules-ironic'):
            for rule in yaml.safe_load(path.read_text()):
                rule.pop('uuid', None)
                converted = self.convert(rule)
                differ = self.differences(rule, converted, machines)
                self.assertTrue(
                    not differ or converted.lost or converted.differences,
                    f'{rule} became {converted.rule}: {differ[:1]}',
                )

    def test_a_field_that_an_action_removes_stays_as_it_is_written(self):
        machine = stock_rules.machine(
            1, {}, {'p': {'q': 'x'}}, extra={'rack': 'x'}, owner=None
        )
        for field, op, path, value in (
            ('{node.extra[rack]}', 'set-attribute', '/extra', {}),
            ('{plugin_data[p][q]}', 'set-plugin-data', 'p', 'y'),
        ):
            rule = {
                'conditions': [
                    {'op': 'one-of', 'args': {'value': field, 'values': ['x']}}
                ],
                'actions': [
                    {'op': op, 'args': {'path': path, 'value': value}},
                    {
                        'op': 'set-attribute',
                        'args': {'path': '/owner', 'value': field},
                    },
                ],
            }
            converted = self.convert(rule)
            self.assertEqual([], converted.lost + converted.hints)
            self.assertEqual([], self.differences(rule, converted, [machine]))

    def test_capabilities_as_a_node_has_them_are_no_difference(self):
        unset = {
            'conditions': [],
            'actions': [{'op': 'unset-capability', 'args': {'name': 'a'}}],
        }
        hit = {'conditions': [], 'actions': [stock_rules.HIT]}
        for text in ('a:b,a:c', 'a:b, x:y', 'a', '', 'a:b'):
            machine = stock_rules.machine(
                1, {}, properties={'capabilities': text}
            )
            self.assertEqual(
                [], self.differences(hit, self.convert(hit), [machine]), text
            )
            if text not in ('a', 'a:b, x:y'):
                self.assertEqual(
                    [],
                    self.differences(unset, self.convert(unset), [machine]),
                    text,
                )
        converted = self.convert(unset)
        converted.rule['actions'] = [stock_rules.HIT]
        self.assertEqual(
            [
                'machine 1: node /extra/hit: stock Ironic null, here "yes"',
                'machine 1: node /properties/capabilities: stock Ironic null, '
                'here "a:b"',
            ],
            self.differences(unset, converted, [machine]),
        )

    def test_a_difference_is_seen(self):
        rule = {'conditions': [], 'actions': [stock_rules.HIT]}
        converted = self.convert(rule)
        converted.rule['actions'][0]['args']['value'] = 'no'
        machine = stock_rules.machine(1, {})
        self.assertEqual(
            ['machine 1: node /extra/hit: stock Ironic "yes", here "no"'],
            self.differences(rule, converted, [machine]),
        )
        self.assertEqual({}, machine.node.extra)
        converted.rule['actions'] = [{'op': 'fail', 'args': {'msg': 'x'}}]
        self.assertIn(
            'here: a rule fails it',
            self.differences(rule, converted, [machine])[0],
        )

    def test_what_a_sensitive_rule_sets_is_no_difference_that_is_told(self):
        wrong = {
            'op': 'extend-attribute',
            'args': {'path': '/extra/hit', 'value': 1},
        }
        rule = {'conditions': [], 'actions': [stock_rules.HIT]}
        for more, differences in (
            ([], []),
            (
                [wrong],
                [
                    'machine 1: stock Ironic: passes; here: '
                    'an error in a rule fails it'
                ],
            ),
        ):
            converted = self.convert(rule)
            converted.rule['sensitive'] = True
            converted.rule['actions'][0]['args']['value'] = 'no'
            converted.rule['actions'] += more
            self.assertEqual(
                differences,
                self.differences(
                    rule, converted, [stock_rules.machine(1, {})]
                ),
            )

    def test_what_stock_ironic_keeps_in_spite_of_an_error_is_seen(self):
        rule = {
            'conditions': [],
            'actions': [
                {'op': 'set-plugin-data', 'args': {'path': 'a', 'value': 1}},
                {
                    'op': 'set-attribute',
                    'args': {'path': '/extra/err', 'value': 'yes'},
                },
                {
                    'op': 'extend-attribute',
                    'args': {'path': '/extra/flag', 'value': 'x'},
                },
            ],
        }
        machine = stock_rules.machine(1, {}, extra={'flag': True})
        # Plugin data of a failed inspection are kept by nobody.
        self.assertEqual(
            ['machine 1: node /extra/err: stock Ironic "yes", here null'],
            self.differences(rule, self.convert(rule), [machine]),
        )
        rule['actions'].reverse()
        self.assertEqual(
            [], self.differences(rule, self.convert(rule), [machine])
        )

    def pair(self, name, stock_value, our_value, our_conditions=()):
        """Return a pair of rules that set an attribute to these values."""

        def rule(value, conditions):
            args = {'path': '/extra/a', 'value': value}
            action = {'op': 'set-attribute', 'args': args}
            return {
                'uuid': UUID,
                'conditions': conditions,
                'actions': [action],
            }

        ours = validation.parse(rule(our_value, list(our_conditions)), OPS)
        return stock_trial.Pair(name, rule(stock_value, []), ours)

    def rules_that_differ(self, *pairs):
        machine = stock_rules.machine(1, {})
        differences = stock_trial.compare(stock_rules.CONTEXT, machine, pairs)
        return [difference.rule for difference in differences]

    def test_rules_are_tried_alone_and_together(self):
        unset = {'op': '!exists', 'args': ['{node.extra.a}']}
        self.assertEqual(
            ['before', 'all together'],
            self.rules_that_differ(
                self.pair('before', '1', '3'),
                self.pair('after', '2', '2', [unset]),
            ),
        )

    def test_a_difference_that_a_rule_makes_alone_is_counted_once(self):
        self.assertEqual(
            ['after'],
            self.rules_that_differ(
                self.pair('before', '1', '1'), self.pair('after', '1', '2')
            ),
        )
