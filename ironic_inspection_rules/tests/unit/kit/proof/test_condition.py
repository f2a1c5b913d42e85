# SPDX-License-Identifier: Apache-2.0

"""Conditions of other packages on machines that lack a field."""

import copy
import typing
import unittest

from ironic_inspection_rules.engine.language import model
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

GONE = '{plugin_data.x}'


class Typed(plugin.Condition):
    ACCEPTS_MISSING = True

    def __call__(self, value: typing.Any, limit: int) -> bool:
        return limit is None or limit > 3


class Defaulted(plugin.Condition):
    ACCEPTS_MISSING = True

    def __call__(self, value: typing.Any = 'd', limit: int = 5) -> bool:
        return value == 'd' and limit == 5


class Seeing(plugin.Condition):
    SEES_MISSING = True

    def __call__(self, value: typing.Any, limit: int = 5) -> bool:
        return True


class Several(plugin.Condition):
    ACCEPTS_MISSING = True

    def __call__(self, *values: typing.Any) -> bool:
        return None in values


OPS = {
    'typed': Typed,
    'defaulted': Defaulted,
    'seeing': Seeing,
    'several': Several,
}
CONDITIONS = (
    ('typed', 'a', GONE),
    ('typed', GONE, 4),
    ('defaulted', GONE),
    ('defaulted', 'd', GONE),
    ('defaulted', GONE, GONE),
    ('seeing', 'a', GONE),
    ('seeing', GONE),
    ('several', 'a', GONE),
    ('is-none', GONE),
    ('is-empty', GONE),
    ('exists', GONE),
    ('eq', GONE, None),
)


class MissingTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(leisure.Leisure())
        load = registry._load

        def with_ops(group):
            found = load(group)
            if group == registry.CONDITIONS:
                found.update(OPS)
            return found

        self.patch(registry, '_load', with_ops)
        registry.installed.cache_clear()
        self.addCleanup(registry.installed.cache_clear)

    def rules(self, op, *args):
        """Return a rule that takes a field away, and one that asks for it."""
        ops = registry.installed()
        return repository.order(
            [
                validation.parse(
                    {
                        'uuid': '00000000-0000-4000-8000-000000000000',
                        'priority': 9,
                        'actions': [
                            {'op': 'unset-plugin-data', 'args': ['/x']}
                        ],
                    },
                    ops,
                ),
                validation.parse(
                    {
                        'uuid': '00000000-0000-4000-8000-000000000001',
                        'conditions': [{'op': op, 'args': list(args)}],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    },
                    ops,
                ),
            ]
        )

    def test_proofs_say_what_the_engine_does_without_a_field(self):
        sample = copy.deepcopy(witness.sample())
        machine = witness.Witness(sample['inventory'], {}, sample['node'])
        for name, *args in CONDITIONS:
            for op in (name, f'!{name}'):
                with self.subTest(f'{op} {args}'):
                    rules = self.rules(op, *args)
                    asks = rules[-1]
                    self.assertEqual(model.MAIN, asks.phase)
                    done = witness.Engine().evaluate(rules, machine)
                    dead = [
                        answer
                        for answer in question.Proof(
                            rules, leisure.SECONDS
                        ).answers([question.DEAD])
                        if answer.rules == (asks,)
                        and answer.verdict == question.YES
                    ]
                    self.assertEqual(witness.has_matched(done, asks), not dead)
