# SPDX-License-Identifier: Apache-2.0

"""Two views of the data, one of them masked, change together."""

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.engine.run.secrecy import masked_views
from ironic_inspection_rules.tests.unit import base


def mask_once(root, data, make):
    return make(data)


class ViewsTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.data = {'a': {'password': 'top', 'list': [1]}}
        self.views = masked_views.Views(
            budget.View({'node': self.data}), mask_once
        )

    def test_secrets_are_hidden_in_one_of_them(self):
        self.assertEqual('top', self.views.open['node']['a']['password'])
        self.assertEqual(
            masking.MASK, self.views.masked['node']['a']['password']
        )

    def test_what_is_written_is_in_both_however_they_were_looked_at(self):
        for looked_first in (True, False):
            both = masked_views.Views(
                budget.View({'node': self.data}), mask_once
            )
            if looked_first:
                self.assertEqual([1], both.masked['node']['a']['list'])
            both.assign('node', ('a', 'b'), 2)
            both.append('node', ('a', 'list'), 3)
            both.remove('node', ('a', 'password'))
            for view in (both.open, both.masked):
                self.assertEqual({'a': {'list': [1, 3], 'b': 2}}, view['node'])
        self.assertEqual({'password': 'top', 'list': [1]}, self.data['a'])

    def test_a_secret_that_is_written_is_masked(self):
        self.views.masked['node']
        self.views.assign('node', ('a', 'password'), 'new')
        self.views.append('node', ('a', 'secret'), 'x')
        shown = self.views.masked['node']['a']
        self.assertEqual(
            (masking.MASK, masking.MASK), (shown['password'], shown['secret'])
        )
        self.assertEqual('new', self.views.open['node']['a']['password'])

    def test_a_part_of_a_secret_that_is_written_or_removed_shows_none(self):
        data = {'a': {'b': {'password': {'one': 1, 'two': 2, 'list': [1]}}}}
        both = masked_views.Views(budget.View({'node': data}), mask_once)
        both.masked['node']
        secret = ('a', 'b', 'password')
        for change, *args in (
            (both.assign, (*secret, 'one'), 3),
            (both.append, (*secret, 'list'), 4),
            (both.remove, (*secret, 'list')),
            (both.remove, (*secret, 'two')),
        ):
            change('node', *args)
            self.assertEqual(
                {'a': {'b': {'password': masking.MASK}}}, both.masked['node']
            )
        both.remove('node', (*secret, 'one'))
        for view in (both.masked, both.open):
            self.assertEqual({'a': {'b': {'password': {}}}}, view['node'])

    def test_what_was_read_stays_as_it_was(self):
        read = self.views.open['node']['a']
        self.views.release(read)
        self.views.assign('node', ('a', 'list'), [])
        self.assertEqual([1], read['list'])
