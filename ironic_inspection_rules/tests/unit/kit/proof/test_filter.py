# SPDX-License-Identifier: Apache-2.0

"""Filters in proofs take the values that they take in the engine."""

import copy
import typing
import unittest

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.tests.unit import base

try:
    from ironic_inspection_rules.kit.proof import question
    from ironic_inspection_rules.kit.proof import witness
    from ironic_inspection_rules.tests.simulation.proof import leisure
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

VALUE = {'a': {'b': 'text'}, 'c/d': 'text'}


class GetTestCase(base.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.useFixture(leisure.Leisure())

    def rule(self, field: str, **fields: typing.Any) -> model.Rule:
        args = [f'{{{field}}}', 'text']
        return validation.parse(
            {
                'uuid': '5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a10',
                'conditions': [
                    # So plugin_data.x is a mapping.
                    {'op': 'exists', 'args': ['{plugin_data.x.other}']},
                    {'op': 'eq', 'args': args},
                ],
                'actions': [{'op': 'set-attribute', 'args': ['/extra/a', 1]}],
                **fields,
            },
            registry.installed(),
        )

    def matches(self, rule: model.Rule) -> bool:
        """Return whether the engine matches a machine with the value."""
        sample = copy.deepcopy(witness.sample())
        machine = witness.Witness(
            sample['inventory'],
            {'x': {**VALUE, 'other': 1}},
            sample['node'],
        )
        evaluated = witness.Engine().evaluate([rule], machine)
        return typing.cast(bool, witness.has_matched(evaluated, rule))

    def check_not_dead(self, rule: model.Rule, path: str) -> None:
        """Check that a rule which the engine matches is not proved dead."""
        self.assertTrue(self.matches(rule), path)
        proof = question.Proof([rule], leisure.SECONDS)
        (answer,) = proof.answers([question.DEAD])
        self.assertEqual('no', answer.verdict, path)

    def test_a_path_is_read_in_each_of_its_forms(self) -> None:
        for path in ('a.b', 'a/b', '/a/b', '/c~1d'):
            rule = self.rule(f"plugin_data.x | get('{path}')")
            self.check_not_dead(rule, path)

    def test_so_it_is_in_a_mapping_that_a_rule_writes(self) -> None:
        written = {'a': {'b': '{plugin_data.x.a.b}'}}
        for path in ('a.b', 'a/b', '/a/b'):
            rule = self.rule(
                f"vars.written | get('{path}')", vars={'written': written}
            )
            self.check_not_dead(rule, path)
