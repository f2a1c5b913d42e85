# SPDX-License-Identifier: Apache-2.0

"""Rules of a request are compiled once for many requests."""

from concurrent import futures
import threading
import types
from unittest import mock

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import posted_rules
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.tests.unit import base

UUID = '1d5c8e0a-6b1f-4a57-9a35-2f4f6f0f7a11'
OTHER = '2d5c8e0a-6b1f-4a57-9a35-2f4f6f0f7a11'


def rule(text='x', **fields):
    return {'actions': [{'op': 'log', 'args': [text]}], **fields}


class WatchedLock:
    """A lock that says when somebody has come to wait for it."""

    def __init__(self):
        self._lock = threading.Lock()
        self.awaited = threading.Event()

    def __enter__(self):
        if not self._lock.acquire(blocking=False):
            self.awaited.set()
            self._lock.acquire()

    def __exit__(self, *_error):
        self._lock.release()


class PostedRulesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.stored = []
        self.revision = 1
        for name, value in (
            (
                'objects.rule.StoredRule.read_rule_set',
                lambda *_context: (self.revision, self.stored),
            ),
            (
                'api.posted_rules.api.request',
                types.SimpleNamespace(context=None),
            ),
        ):
            self.useFixture(
                fixtures.MonkeyPatch(f'ironic_inspection_rules.{name}', value)
            )
        self.use_rules([])

    def use_rules(self, built_in, **options):
        rules = repository.Repository(
            registry.installed(),
            built_in,
            lambda context: self.revision,
            lambda context: self.stored,
            **options,
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.inspection.start.rules', lambda: rules
            )
        )

    def store(self, *rules):
        self.revision += 1
        self.stored = [
            {
                **model.Rule.from_mapping(each).to_mapping(),
                'position': float(position),
            }
            for position, each in enumerate(rules)
        ]

    def plans(self, *rules, prune=None):
        return posted_rules.compile_plans(
            {'rules': list(rules), 'prune': prune}
        )

    def test_a_set_that_was_there_is_not_compiled_again(self):
        first = self.plans(rule(), rule(phase='early'))
        self.assertIs(first, self.plans(rule(), rule(phase='early')))
        self.assertIsNot(first, self.plans(rule(phase='early'), rule()))
        self.assertIsNot(
            first, self.plans(rule(), rule(phase='early'), prune=True)
        )

    def test_two_requests_at_a_time_compile_a_set_once(self):
        lock = WatchedLock()
        compile_set = posted_rules._compile
        pool = futures.ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        second = []

        def compile_while_another_waits(*arguments):
            second.append(pool.submit(self.plans, rule()))
            self.assertTrue(lock.awaited.wait(60))
            return compile_set(*arguments)

        with (
            mock.patch.object(posted_rules, '_compiling', lock),
            mock.patch.object(
                posted_rules, '_compile', compile_while_another_waits
            ),
        ):
            first = self.plans(rule())
            [second_plans] = second
            self.assertIs(first, second_plans.result(60))

    def test_it_is_compiled_again_when_stored_rules_change(self):
        self.store(rule(uuid=UUID))
        first = self.plans(rule('y'))
        self.store()
        self.assertEqual(
            [2, 1],
            [len(plans['main']) for plans in (first, self.plans(rule('y')))],
        )

    def test_only_some_sets_are_kept(self):
        first = self.plans(rule())
        for number in range(4):
            self.plans(rule(str(number)))
        self.assertIsNot(first, self.plans(rule()))

    def test_no_big_set_is_kept(self):
        big = rule('x' * (1 << 20))
        self.assertIsNot(self.plans(big), self.plans(big))

    def test_a_uuid_depends_on_what_a_rule_says_and_where(self):
        def uuids(*rules):
            return [plan.rule.uuid for plan in self.plans(*rules)['main']]

        first, second = uuids(rule(), rule())
        self.assertNotEqual(first, second)
        self.assertEqual([first], uuids(rule(uuid=None)))
        self.assertNotEqual([first], uuids(rule('y')))

    def test_given_rules_are_added_to_those_in_force(self):
        self.use_rules(
            [
                model.Rule.from_mapping(
                    rule(uuid='high', priority=-1, built_in=True)
                )
            ]
        )
        self.store(
            rule('a', uuid=UUID, description='a'),
            rule('b', uuid=OTHER, description='b'),
        )
        for given in ({'uuid': UUID}, {'description': 'a'}):
            plans = self.plans(rule('new'), rule('c', **given))['main']
            *stored, new, built_in = [plan.rule for plan in plans]
            self.assertEqual(
                [(UUID, ['c']), (OTHER, ['b'])],
                [(each.uuid, each.actions[0]['args']) for each in stored],
            )
            self.assertEqual(['new'], new.actions[0]['args'])
            self.assertEqual('high', built_in.uuid)

    def test_with_prune_they_are_the_whole_set(self):
        self.use_rules(
            [model.Rule.from_mapping(rule(uuid='high', built_in=True))]
        )
        self.store(rule('a', uuid=UUID), rule('b', uuid=OTHER))
        plans = self.plans(rule('c'), rule('b', uuid=OTHER), prune=True)
        self.assertEqual(
            [['x'], ['c'], ['b']],
            [plan.rule.actions[0]['args'] for plan in plans['main']],
        )

    def test_prune_alone_says_nothing(self):
        self.assertIsNone(
            posted_rules.compile_plans({'rules': None, 'prune': None})
        )
        self.assertRaises(
            exceptions.Invalid,
            posted_rules.compile_plans,
            {'rules': None, 'prune': True},
        )

    def test_a_built_in_rule_is_refused_as_it_is_when_applied(self):
        self.use_rules(
            [model.Rule.from_mapping(rule(uuid=UUID, built_in=True))]
        )
        for given in ({'built_in': True}, {}):
            self.assertRaises(
                exceptions.Invalid, self.plans, rule(uuid=UUID, **given)
            )

    def test_rules_have_the_scope_that_they_would_have_stored(self):
        self.use_rules([], default_scope='site')
        plans = self.plans(rule(), rule(scope='rack'))
        self.assertEqual(
            ['site', 'rack'], [plan.rule.scope for plan in plans['main']]
        )

    def test_a_bad_rule_is_refused_with_its_place(self):
        exc = self.assertRaises(
            exceptions.InvalidRules,
            self.plans,
            rule(),
            {'actions': 1},
            rule(uuid=[5]),
            rule(uuid=0),
        )
        for place in (
            '/rules/1: /actions',
            '/rules/2: /uuid',
            '/rules/3: /uuid',
        ):
            self.assertIn(place, str(exc))
