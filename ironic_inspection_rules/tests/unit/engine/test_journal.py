# SPDX-License-Identifier: Apache-2.0

"""Changes are recorded, and hide what must not show."""

from ironic_inspection_rules.engine import journal as engine_journal
from ironic_inspection_rules.tests.unit import base


class TraitTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.journal = engine_journal.Journal([])

    def changes(self):
        return [(each.op, each.path, each.value, each.before, each.place)
                for each in self.journal.changes]

    def test_what_came_and_what_went_are_changes(self):
        self.journal.record_traits(['A', 'B'], ['B', 'C'])
        self.assertEqual([('remove', '/A', None, 'A', ('A',)),
                          ('add', '/C', 'C', None, ('C',))], self.changes())

    def test_of_a_sensitive_rule_no_name_shows_now_or_later(self):
        self.journal.enter(masked=True, sensitive=True)
        self.journal.record_traits([], ['A'])
        self.journal.enter(masked=True, sensitive=False)
        self.journal.record_traits(['A'], [])
        self.assertEqual([('add', '/******', '******', None, ('A',)),
                          ('remove', '/******', None, '******', ('A',))],
                         self.changes())

    def test_a_trait_that_others_add_again_shows(self):
        self.journal.enter(masked=True, sensitive=True)
        self.journal.record_traits([], ['A'])
        self.journal.enter(masked=True, sensitive=False)
        self.journal.record_traits([], ['A'])
        self.assertEqual(('add', '/A', 'A', None, ('A',)), self.changes()[1])
        self.assertFalse(self.journal.hidden)

    def test_a_trait_that_is_there_is_confirmed(self):
        self.journal.confirm(engine_journal.TRAITS, ('A',), 'A')
        confirmed, = self.journal.confirmed
        self.assertEqual(('traits', 'add', '/A', 'A', 'A'), (
            confirmed.object, confirmed.op, confirmed.path, confirmed.value,
            confirmed.before))
        self.assertEqual([], self.changes())

    def test_a_sensitive_rule_hides_what_it_finds(self):
        self.journal.record_traits([], ['A'])
        self.journal.enter(masked=True, sensitive=True)
        self.journal.confirm(engine_journal.TRAITS, ('A',), 'A')
        self.journal.hide_found(self.journal.changes[0])
        self.assertEqual([('add', '/******', '******', None, ('A',))],
                         self.changes())


class ChangeTestCase(base.TestCase):

    def test_a_port_has_its_address_and_the_path_in_it(self):
        journal = engine_journal.Journal([{'address': '1'},
                                          {'address': '2'}])
        journal.record('replace', [{}, {}], 'ports', ('1', 'extra', 'a'), 5, 4)
        change, = journal.changes
        self.assertEqual(
            ('port 2', '/extra/a', 5, 4, ('extra', 'a')),
            (change.object, change.path, change.value, change.before,
             change.place))

    def test_what_was_hidden_before_is_masked(self):
        journal = engine_journal.Journal([], [('node', ('extra', 'a'))])
        journal.record('replace', {}, 'node', ('extra', 'a'), 5, 4)
        change, = journal.changes
        self.assertEqual((5, '******'), (change.value, change.before))
        self.assertFalse(journal.hidden)
