# SPDX-License-Identifier: Apache-2.0

"""Changes are recorded, and those of sensitive rules apart."""

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run.secrecy import (
    journal as engine_journal,  # noqa: H301
)
from ironic_inspection_rules.tests.unit import base

OPEN = model.Rule(uuid='open', actions=())
OTHER = model.Rule(uuid='other', actions=())
SENSITIVE = model.Rule(uuid='sensitive', sensitive=True, actions=())


class TraitTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.journal = engine_journal.Journal([])

    def changes(self):
        return [
            (each.op, each.path, each.value, each.before, each.place)
            for each in self.journal.changes
        ]

    def test_what_came_and_what_went_are_changes(self):
        self.journal.record_traits(['A', 'B'], ['B', 'C'])
        self.assertEqual(
            [
                ('remove', '/A', None, 'A', ('A',)),
                ('add', '/C', 'C', None, ('C',)),
            ],
            self.changes(),
        )

    def test_what_a_sensitive_rule_sets_is_no_change_that_is_shown(self):
        self.journal.begin_action(SENSITIVE, 'add-trait', masked=True)
        self.journal.record_traits([], ['A'])
        self.journal.confirm(engine_change.TRAITS, ('A',), 'A')
        self.assertNotIn('A', self.journal.log('info', 'A'))
        self.assertEqual('GET http://b', self.journal.note_request('http://b'))
        self.assertEqual([], self.changes())
        self.assertEqual([], self.journal.confirmed)
        self.assertEqual([], self.journal.notes)
        self.assertEqual(
            ['/A', '/A'], [each.path for each in self.journal.withheld]
        )
        self.journal.begin_action(OPEN, 'set-traits', masked=True)
        self.journal.record_traits(['A'], [])
        self.assertEqual([('remove', '/A', None, 'A', ('A',))], self.changes())
        self.assertEqual(2, self.journal.change_count)

    def test_a_trait_that_is_there_is_confirmed(self):
        self.journal.confirm(engine_change.TRAITS, ('A',), 'A')
        (confirmed,) = self.journal.confirmed
        self.assertEqual(
            ('traits', 'add', '/A', 'A', 'A'),
            (
                confirmed.object,
                confirmed.op,
                confirmed.path,
                confirmed.value,
                confirmed.before,
            ),
        )
        self.assertEqual([], self.changes())


class ChangeTestCase(base.TestCase):
    def test_a_port_has_its_address_and_the_path_in_it(self):
        journal = engine_journal.Journal([{'address': '1'}, {'address': '2'}])
        journal.record('replace', [{}, {}], 'ports', ('1', 'extra', 'a'), 5, 4)
        (change,) = journal.changes
        self.assertEqual(
            ('port 2', '/extra/a', 5, 4, ('extra', 'a')),
            (
                change.object,
                change.path,
                change.value,
                change.before,
                change.place,
            ),
        )

    def test_secrets_are_masked_by_their_names(self):
        for masked, shown in ((True, '******'), (False, 'x')):
            journal = engine_journal.Journal([])
            journal.begin_action(OPEN, 'set-attribute', masked)
            journal.record(
                'replace', {}, 'node', ('extra', 'password'), 'x', 'x'
            )
            (change,) = journal.changes
            self.assertEqual((shown, shown), (change.value, change.before))

    def test_it_blames_who_changed_an_attribute_or_else_the_object(self):
        journal = engine_journal.Journal([])
        for rule, name in ((OPEN, 'name'), (OTHER, 'driver'), (OPEN, 'owner')):
            journal.begin_action(rule, f'set-{name}', masked=True)
            journal.record('add', {}, 'node', (name,), 'x')
        exc = ValueError('why')
        for attributes, rule, op in (
            (['driver'], OTHER, 'set-driver'),
            (['name', 'driver'], OTHER, 'set-driver'),
            (['lessee'], OPEN, 'set-owner'),
        ):
            error = journal.blame('node', attributes, exc)
            self.assertEqual(
                (rule.uuid, op, 'why', exc),
                (error.rule, error.op, error.reason, error.__cause__),
            )
        self.assertIsNone(journal.blame('port 1', ['name'], exc))

    def test_an_error_of_a_part_blames_who_changed_that_part(self):
        journal = engine_journal.Journal([])
        for rule, path in (
            (OTHER, ('properties', 'cpus')),
            (OPEN, ('properties', 'memory_mb', 'free')),
            (OTHER, ('properties', 'vendor')),
            (OTHER, ('owner',)),
        ):
            journal.begin_action(rule, 'set-attribute', masked=True)
            journal.record('add', {}, 'node', path, 'x')

        def blamed():
            return journal.blame(
                'node', ['/properties/memory_mb'], ValueError('why')
            ).rule

        self.assertEqual(OPEN.uuid, blamed())
        journal.begin_action(OTHER, 'set-attribute', masked=True)
        journal.record('replace', {}, 'node', ('properties',), {})
        self.assertEqual(OTHER.uuid, blamed())

    def test_an_error_tells_nothing_of_a_sensitive_rule_or_a_secret(self):
        journal = engine_journal.Journal([])
        for rule, name, path in (
            (OPEN, 'driver', ('name',)),
            (SENSITIVE, 'name', ('name',)),
            (OPEN, 'info', ('driver_info', 'password')),
        ):
            journal.begin_action(rule, f'set-{name}', masked=True)
            journal.record('add', {}, 'node', path, 'x')
        error = journal.blame('node', ['name'], ValueError('x'))
        self.assertEqual(('sensitive', None), (error.rule, error.reason))
        self.assertIsNone(error.__cause__)
        for attributes in (['driver_info'], ['owner']):
            error = journal.blame('node', attributes, ValueError('xyzzy'))
            self.assertEqual('open', error.rule)
            self.assertNotIn('xyzzy', str(error))
            self.assertIsNone(error.__cause__, repr(attributes))
