# SPDX-License-Identifier: Apache-2.0

"""The rules in force in a process."""

import logging
from unittest import mock

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.tests.unit import base

ACTIONS = ({'op': 'fail', 'args': ['no']},)


def make(uuid, **fields):
    return model.Rule(uuid=uuid, actions=ACTIONS, **fields)


class FakeStore:
    """Stored rules in memory; counts what it is asked."""

    def __init__(self, *rules):
        self.stored = list(rules)
        self.changes = 0
        self.reads = 0

    def revision(self, context):
        return self.changes

    def rules(self, context):
        self.reads += 1
        return self.stored


class OrderTestCase(base.TestCase):
    def test_the_highest_priority_comes_first(self):
        rules = [make('a'), make('b', priority=9), make('c', priority=-1)]

        self.assertEqual(
            ['b', 'a', 'c'], [rule.uuid for rule in repository.order(rules)]
        )

    def test_among_equals_built_in_rules_come_first_in_order(self):
        rules = [
            make('a'),
            make('b'),
            make('c', built_in=True),
            make('d', built_in=True),
        ]

        self.assertEqual(
            ['c', 'd', 'a', 'b'],
            [rule.uuid for rule in repository.order(rules)],
        )


class RepositoryTestCase(base.TestCase):
    def test_rules_that_are_off_never_run(self):
        rules = self.repository(
            {'uuid': 'a', 'actions': ACTIONS, 'mode': 'off'},
            {'uuid': 'b', 'actions': ACTIONS, 'mode': 'enforce'},
            built_in=[make('c', built_in=True, mode='off')],
        )

        self.assertEqual(['b'], [rule.uuid for rule in self.in_force(rules)])

    def repository(self, *stored, built_in=(), **options):
        self.store = FakeStore(*stored)
        return repository.Repository(
            registry.installed(),
            built_in,
            lambda context: self.store.revision(context),
            lambda context: self.store.rules(context),
            **options,
        )

    def in_force(self, rules, phase='main'):
        return [plan.rule for plan in rules.refresh(None).plans[phase]]

    def test_rules_of_a_phase_are_given_in_order(self):
        rules = self.repository(
            {'uuid': 'a', 'actions': ACTIONS},
            {'uuid': 'b', 'actions': ACTIONS, 'phase': 'early'},
            {'uuid': 'c', 'actions': ACTIONS, 'priority': 5},
            built_in=[make('d', built_in=True)],
        )

        self.assertEqual(
            ['c', 'd', 'a'], [rule.uuid for rule in self.in_force(rules)]
        )
        self.assertEqual(
            ['b'], [rule.uuid for rule in self.in_force(rules, 'early')]
        )

    def test_stored_rules_are_read_again_only_after_a_change(self):
        rules = self.repository({'uuid': 'a', 'actions': ACTIONS})
        self.in_force(rules)
        self.in_force(rules)
        self.assertEqual(1, self.store.reads)

        self.store.stored.append({'uuid': 'b', 'actions': ACTIONS})
        self.store.changes += 1

        self.assertEqual(
            ['a', 'b'], [rule.uuid for rule in self.in_force(rules)]
        )
        self.assertEqual(2, self.store.reads)

    def test_rules_and_revision_are_those_of_one_moment(self):
        rules = self.repository({'uuid': 'a', 'actions': ACTIONS})
        read = self.store.rules

        def change_meanwhile(context):
            # After the revision was read.
            self.store.changes = 7
            self.store.stored = [{'uuid': 'b', 'actions': ACTIONS}]
            return read(context)

        self.store.rules = change_meanwhile

        rules.refresh(None)

        before = rules.snapshot
        self.assertEqual(
            (7, ['b']),
            (before.revision, [rule.uuid for rule in self.in_force(rules)]),
        )
        self.store.changes, self.store.rules = 8, lambda context: []
        rules.refresh(None)
        self.assertEqual((7, 1), (before.revision, len(before.plans['main'])))

    def test_rows_that_a_change_replaces_meanwhile_are_read_again(self):
        rules = self.repository({'uuid': 'a', 'actions': ACTIONS})
        read = self.store.rules

        def lose_rows(context):
            self.store.changes = 7
            self.store.rules = read
            raise exceptions.Conflict('rows are gone')

        self.store.rules = lose_rows

        self.assertEqual(7, rules.refresh(None).revision)

    def test_rows_that_are_missing_for_good_are_an_error(self):
        rules = self.repository({'uuid': 'a', 'actions': ACTIONS})

        def lose_rows(context):
            raise exceptions.Conflict('rows are gone')

        self.store.changes, self.store.rules = 7, lose_rows

        self.assertRaises(exceptions.Conflict, rules.refresh, None)

    def test_what_was_read_is_returned_whatever_is_read_next(self):
        rules = self.repository({'uuid': 'a', 'actions': ACTIONS})

        class Lock:
            def __enter__(self):
                pass

            def __exit__(self, *error):
                # Another thread has waited for it.
                rules.snapshot = repository.Snapshot(7)

        rules._lock = Lock()
        read = rules.refresh(None)
        self.assertEqual((0, 1), (read.revision, len(read.plans['main'])))

    def test_the_default_scope_is_for_stored_rules_that_set_none(self):
        rules = self.repository(
            {'uuid': 'a', 'actions': ACTIONS},
            {'uuid': 'b', 'actions': ACTIONS, 'scope': 'own'},
            built_in=[make('c', built_in=True)],
            default_scope='site',
        )

        self.assertEqual(
            {'a': 'site', 'b': 'own', 'c': None},
            {rule.uuid: rule.scope for rule in self.in_force(rules)},
        )

    def test_early_rules_get_no_default_scope(self):
        rules = self.repository(
            {'uuid': 'a', 'actions': ACTIONS, 'phase': 'early'},
            default_scope='site',
        )

        self.assertEqual(
            [None], [rule.scope for rule in self.in_force(rules, 'early')]
        )

    def test_an_op_that_is_gone_names_the_rule(self):
        rules = self.repository(
            {'uuid': 'a', 'actions': [{'op': 'gone', 'args': []}]}
        )

        error = self.assertRaises(exceptions.InvalidRule, rules.refresh, None)

        self.assertIn('Invalid inspection rule a', str(error))
        self.assertIn('"gone" is no longer installed', str(error))

    def test_a_sensitive_rule_names_nothing_but_the_op_that_failed(self):
        rules = self.repository(
            {
                'uuid': 'a',
                'description': 'hidden',
                'actions': [{'op': 'gone', 'args': ['hidden']}],
                'sensitive': True,
            }
        )
        failures = {
            exceptions.UnknownOp('gone'): 'op "gone" is no longer installed',
            exceptions.PluginFailed(
                'broken', 'site.Broken', ValueError('hidden')
            ): 'op "broken" cannot be prepared',
        }

        for failure, reason in failures.items():
            with mock.patch.object(
                compiler, 'compile_rule', autospec=True, side_effect=failure
            ):
                error = self.assertRaises(
                    exceptions.InvalidRule, rules.refresh, None
                )

            self.assertIn('Invalid inspection rule a', str(error))
            self.assertIn(reason, str(error))
            self.assertNotIn('hidden', str(error))

    def test_what_somebody_wrote_to_the_database_need_be_no_rule(self):
        for fields, problem in (
            ({'actions': [7]}, '/actions/0: must be a mapping'),
            ({'actions': [{}]}, '/actions/0/op: the name of an op is'),
            ({'conditions': [['hidden']]}, '/conditions/0: must be'),
            ({'vars': ['hidden']}, '/vars: must be a mapping'),
        ):
            for phase in ('main', 'early'):
                rule = {
                    'uuid': 'a',
                    'phase': phase,
                    'actions': ACTIONS,
                    **fields,
                }
                rules = self.repository(rule)
                error = self.assertRaises(
                    exceptions.InvalidRule, rules.refresh, None
                )
                self.assertIn(
                    f'Invalid inspection rule a: {problem}', str(error)
                )

            rules = self.repository({**rule, 'sensitive': True})
            error = self.assertRaises(
                exceptions.InvalidRule, rules.refresh, None
            )
            self.assertIn('it does not have the form of a rule', str(error))
            self.assertNotIn('hidden', str(error))

    def test_a_mistake_of_this_package_is_none_of_a_rule(self):
        rules = self.repository({'uuid': 'a', 'actions': ACTIONS})
        with mock.patch.object(
            compiler, 'compile_rule', autospec=True, side_effect=TypeError
        ):
            self.assertRaises(TypeError, rules.refresh, None)

    def test_each_rule_that_no_longer_compiles_is_logged(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        text = '{inventory.disks | map("size")}'
        action = {'op': 'set-plugin-data', 'args': ['/a', text]}
        rules = self.repository(
            {'uuid': 'a', 'actions': ACTIONS},
            {'uuid': 'b', 'actions': [action]},
            {'uuid': 'c', 'actions': [action], 'sensitive': True},
            {'uuid': 'd', 'actions': [action], 'mode': 'off'},
        )

        error = self.assertRaises(exceptions.InvalidRule, rules.refresh, None)

        self.assertIn('Invalid inspection rule b', str(error))
        lines = log.output.splitlines()
        self.assertEqual(2, len(lines))
        self.assertIn("attribute='size'", lines[0])
        self.assertIn('rule c', lines[1])
        self.assertNotIn('size', lines[1])

    def test_an_early_rule_that_reads_a_node_is_named_once(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        action = {'op': 'set-plugin-data', 'args': ['/a', '{node.uuid}']}
        rules = self.repository(
            {
                'uuid': 'a',
                'actions': [action],
                'phase': 'early',
                'conditions': [{'op': 'eq', 'args': ['{node.name}', 1]}],
                'vars': {'x': '{previous.inventory}'},
            },
            {
                'uuid': 'b',
                'actions': [action],
                'phase': 'early',
                'sensitive': True,
            },
            {'uuid': 'c', 'actions': [action]},
            {
                'uuid': 'd',
                'actions': [action],
                'phase': 'early',
                'mode': 'off',
            },
            {'uuid': 'e', 'actions': ACTIONS, 'phase': 'early'},
        )

        self.assertEqual(
            ['a', 'b', 'e'],
            [rule.uuid for rule in self.in_force(rules, 'early')],
        )

        first, second = log.output.splitlines()
        self.assertIn('rule a is of the early phase', first)
        self.assertIn(
            '(/conditions/0/args/0, /actions/0/args/1, /vars/x)', first
        )
        self.assertIn('rule b is of the early phase', second)
        self.assertNotIn('args', second)

    def test_rules_of_before_stay_until_all_compile_again(self):
        rules = self.repository({'uuid': 'a', 'actions': ACTIONS})
        rules.refresh(None)
        self.store.changes = 1
        self.store.stored.append(
            {
                'uuid': 'b',
                'actions': [
                    {
                        'op': 'set-plugin-data',
                        'args': ['/a', '{inventory | gone}'],
                    }
                ],
            }
        )
        self.assertRaises(exceptions.InvalidRule, rules.refresh, None)
        self.assertEqual(0, rules.snapshot.revision)
        self.store.changes = 2
        del self.store.stored[1]
        self.assertEqual(['a'], [each.uuid for each in self.in_force(rules)])
        self.assertEqual(2, rules.snapshot.revision)
