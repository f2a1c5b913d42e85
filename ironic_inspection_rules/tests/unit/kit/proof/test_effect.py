# SPDX-License-Identifier: Apache-2.0

"""Actions that perhaps do nothing leave what there was."""

import copy
import itertools
import typing
import unittest

from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.tests.unit import base

try:
    from ironic_inspection_rules.kit.proof import question
    from ironic_inspection_rules.kit.proof import witness
    from ironic_inspection_rules.tests.simulation.proof import leisure
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

LOOPS = ('{plugin_data.x | sort}', '{plugin_data.x}', '{node.traits}')
NEVER = [{'op': 'eq', 'args': ['{item}', 'never']}]
SETS = {
    '{plugin_data.m}': {'op': 'set-plugin-data', 'args': ['/m/k', 'v']},
    '{node.extra.m}': {'op': 'extend-attribute', 'args': ['/extra/m/k', 'v']},
}
ASKS = (('!exists',), ('is-none',), ('eq', 'a'))
LISTS = ([], [1], 8 * [1])
MAPPINGS = ({}, {'m': None}, {'m': 'a'}, {'m': {}})


class Deep(plugin.Action):
    """Writes below a mapping, and only for one value."""

    def writes(self, arguments):
        yield plugin.Write('node', '/extra/m/k', 'v')

    def __call__(self, target, value: typing.Any) -> None:
        if value == 5:
            target.set('node', ('extra', 'm', 'k'), 'v')


class PerhapsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(leisure.Leisure())
        load = registry._load

        def with_deep(group):
            found = load(group)
            if group == registry.ACTIONS:
                found['deep'] = Deep
            return found

        self.patch(registry, '_load', with_deep)
        registry.installed.cache_clear()
        self.addCleanup(registry.installed.cache_clear)

    def machines(self):
        """Return machines with lists, and with or without a mapping."""
        for items, data, extra in itertools.product(LISTS, MAPPINGS, MAPPINGS):
            sample = copy.deepcopy(witness.sample())
            yield witness.Witness(
                sample['inventory'],
                {'x': items, **data},
                {**sample['node'], 'extra': extra},
            )

    def check(self, action, field, asked):
        """Hold "dead" against what the engine does to machines."""
        op, *others = asked
        rules = repository.order(
            [
                validation.parse(
                    {
                        'uuid': f'00000000-0000-4000-8000-00000000000{number}',
                        **rule,
                    },
                    registry.installed(),
                )
                for number, rule in enumerate(
                    (
                        {'priority': 9, 'actions': [action]},
                        {
                            'conditions': [
                                {'op': op, 'args': [field, *others]}
                            ],
                            'actions': [
                                {'op': 'add-trait', 'args': ['CUSTOM_T']}
                            ],
                        },
                    )
                )
            ]
        )
        asks = rules[-1]
        engine = witness.Engine()
        # Or the test would ask for nothing.
        self.assertTrue(
            any(
                witness.has_matched(engine.evaluate(rules, machine), asks)
                for machine in self.machines()
            )
        )
        dead = [
            answer
            for answer in question.Proof(rules, leisure.SECONDS).answers(
                [question.DEAD]
            )
            if answer.rules == (asks,) and answer.verdict == question.YES
        ]
        self.assertEqual([], dead)

    def test_a_loop_without_items_makes_no_mapping(self):
        for (field, action), asked, loop in itertools.product(
            SETS.items(), ASKS, LOOPS
        ):
            with self.subTest(f'{action} {asked} {loop}'):
                self.check(
                    {**action, 'loop': loop, 'when': NEVER}, field, asked
                )

    def test_an_op_of_another_package_may_write_nothing(self):
        for asked in ASKS:
            with self.subTest(str(asked)):
                self.check(
                    {'op': 'deep', 'args': ['{inventory.cpu.count}']},
                    '{node.extra.m}',
                    asked,
                )
