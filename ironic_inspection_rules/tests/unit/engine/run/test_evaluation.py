# SPDX-License-Identifier: Apache-2.0

"""A whole inspection without a machine."""

import dataclasses

import fixtures

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base


def rehearse(*rules, phases=model.PHASES, node=None, **facts):
    """Rehearse rules, each a mapping of its fields without the UUID."""
    return evaluate(
        rules,
        working_copy.Facts(
            **{'inventory': {}, 'plugin_data': {}, 'node': node or {}, **facts}
        ),
        phases,
    )


def evaluate(rules, known, phases=model.PHASES):
    plans = {phase: [] for phase in model.PHASES}
    for number, fields in enumerate(rules):
        rule = model.Rule.from_mapping({'uuid': f'rule-{number}', **fields})
        plans[rule.phase].append(
            compiler.compile_rule(rule, registry.installed())
        )
    return evaluation.evaluate(plans, known, phases)


def sets(path, value, **fields):
    return {
        'actions': [{'op': 'set-plugin-data', 'args': [path, value]}],
        **fields,
    }


class RehearseTestCase(base.TestCase):
    def changes(self, outcome):
        return [(change.path, change.value) for change in outcome.changes]

    def test_each_phase_finds_what_the_one_before_left(self):
        outcome = rehearse(
            sets('/c', '{plugin_data.b}'),
            sets('/b', '{plugin_data.a}', phase='preprocess'),
            sets('/a', 1, phase='early'),
        )

        self.assertEqual(
            [('/a', 1), ('/b', 1), ('/c', 1)], self.changes(outcome)
        )
        self.assertIsNone(outcome.error)

    def test_what_a_sensitive_rule_set_is_withheld(self):
        outcome = rehearse(
            sets('/key', 'c4n4ry', phase='early', sensitive=True),
            sets('/other', 1, phase='preprocess'),
        )

        self.assertEqual([('/other', 1)], self.changes(outcome))
        self.assertEqual(
            {('plugin_data', ('key',))}, outcome.facts.withheld_places
        )
        self.assertEqual('c4n4ry', outcome.facts.plugin_data['key'])

    def test_every_change_has_its_rule(self):
        # Rules that set, that undo, that fail, in several phases: whoever
        # counts by rule reads changes and rules side by side.
        outcome = rehearse(
            sets('/early', 1, phase='early'),
            sets('/key', 'c4n4ry', sensitive=True),
            {
                'conditions': [{'op': 'eq', 'args': [1, 2]}],
                'actions': [
                    {'op': 'add-trait', 'args': ['CUSTOM_A'], 'revert': True}
                ],
            },
            sets('/audited', 1, mode='audit'),
            {
                'actions': [
                    {'op': 'set-traits', 'args': [['CUSTOM_B', 'CUSTOM_C']]},
                    {'op': 'fail', 'args': ['x']},
                ]
            },
            node={'traits': ['CUSTOM_A']},
        )

        self.assertEqual(
            [
                ('/early', 'rule-0'),
                ('/CUSTOM_A', 'rule-2'),
                ('/CUSTOM_B', 'rule-4'),
                ('/CUSTOM_C', 'rule-4'),
            ],
            [
                (change.path, rule)
                for change, rule in zip(
                    outcome.changes, outcome.changed_by, strict=True
                )
            ],
        )

    def test_changes_of_the_node_last_as_well(self):
        outcome = rehearse(
            {
                'phase': 'preprocess',
                'actions': [{'op': 'set-attribute', 'args': ['/extra/a', 1]}],
            },
            sets('/a', '{node.extra.a}'),
        )

        self.assertEqual([('/extra/a', 1), ('/a', 1)], self.changes(outcome))

    def test_the_facts_stay_as_they_are(self):
        node, plugin_data = {'extra': {'a': 1}}, {'a': {'b': 1}}

        rehearse(
            sets('/a/b', 2),
            {'actions': [{'op': 'del-attribute', 'args': ['/extra/a']}]},
            node=node,
            plugin_data=plugin_data,
        )

        self.assertEqual(
            ({'extra': {'a': 1}}, {'a': {'b': 1}}), (node, plugin_data)
        )

    def test_what_does_not_change_is_masked_once(self):
        inventory = {'bmc': {'password': 'c4n4ry'}}
        masked = self.spy_on_masking()
        rules = [
            {
                'phase': phase,
                'actions': [
                    {'op': 'log', 'args': ['{inventory.bmc.password}']}
                ],
            }
            for phase in model.PHASES
        ]
        known = working_copy.Facts(inventory, {}, {})
        for _time in range(2):
            outcome = evaluate(rules, known)
            self.assertEqual(
                [('info: ******',)] * 3,
                [each.actions[0].notes for each in outcome.traces],
            )
        self.assertEqual(1, sum(each is inventory for each in masked))
        evaluate(
            rules,
            dataclasses.replace(known, inventory={'bmc': {'password': ''}}),
        )
        self.assertEqual(2, sum('bmc' in each for each in masked))

    def spy_on_masking(self):
        """Note what is masked."""
        seen = []
        stock = masking.mask

        def noted(value):
            if isinstance(value, dict):
                seen.append(value)
            return stock(value)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.secrecy.masking.mask',
                noted,
            )
        )
        return seen

    def test_a_change_of_the_scope_counts_from_the_next_phase(self):
        outcome = rehearse(
            {
                'phase': 'preprocess',
                'actions': [
                    {
                        'op': 'set-attribute',
                        'args': ['/properties/inspection_scope', 'rack'],
                    }
                ],
            },
            sets('/too-early', 1, phase='preprocess', scope='rack'),
            sets('/seen', 1, scope='rack'),
            sets('/elsewhere', 1, scope='row'),
        )

        self.assertEqual(
            ['/properties/inspection_scope', '/seen'],
            [path for path, _value in self.changes(outcome)],
        )

    def test_a_failure_ends_it_and_keeps_what_came_before(self):
        outcome = rehearse(
            sets('/a', 1, phase='preprocess'),
            {
                'phase': 'preprocess',
                'actions': [{'op': 'fail', 'args': ['enough']}],
            },
            sets('/b', 1),
        )

        self.assertEqual([('/a', 1)], self.changes(outcome))
        self.assertIn('enough', outcome.as_dict()['error'])
        self.assertEqual('failed', outcome.as_dict()['result'])
        self.assertEqual(2, len(outcome.traces))

    def test_an_error_keeps_nothing_of_its_phase(self):
        outcome = rehearse(
            sets('/a', 1, phase='preprocess'),
            sets('/b', 1),
            sets('/c', '{node.absent}'),
        )

        self.assertEqual([('/a', 1)], self.changes(outcome))
        self.assertIn('rule-2', outcome.as_dict()['error'])

    def test_only_the_phases_asked_for_run(self):
        outcome = rehearse(
            sets('/a', 1, phase='early'), sets('/b', 1), phases=['early']
        )

        self.assertEqual([('/a', 1)], self.changes(outcome))
        self.assertEqual(
            {
                'result': 'ok',
                'error': None,
                'rules': 1,
                'changes': 1,
                'audit': 0,
            },
            {
                name: len(value) if isinstance(value, list) else value
                for name, value in outcome.as_dict().items()
            },
        )
