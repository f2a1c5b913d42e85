# SPDX-License-Identifier: Apache-2.0

"""What the rules of a phase see, and where their actions write."""

import copy
import json

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.plugins.actions import capability
from ironic_inspection_rules.plugins.actions import trait
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz
from ironic_inspection_rules.tests.unit.engine import paid
from ironic_inspection_rules.tests.unit.engine.language import test_path

MAC = '52:54:00:aa:bb:01'

OPEN = model.Rule(uuid='open', actions=())
SENSITIVE = model.Rule(uuid='sensitive', sensitive=True, actions=())


def make(**facts):
    return working_copy.WorkingCopy(
        working_copy.Facts(
            **{
                'inventory': {},
                'plugin_data': {},
                'node': {'extra': {}},
                **facts,
            }
        )
    )


class ConfirmedTestCase(base.TestCase):
    def test_what_is_set_to_what_it_was_is_noted(self):
        target = make(
            node={
                'extra': {'size': 1},
                'traits': ['CUSTOM_A'],
                'properties': {'capabilities': 'a:b,c:d'},
            }
        )

        target.set('node', ('extra', 'size'), 1)
        trait.AddTrait()(target, 'CUSTOM_A')
        trait.SetTraits()(target, ['CUSTOM_A'])
        capability.SetCapability()(target, 'c', 'd')

        self.assertEqual(
            [
                ('node', '/extra/size', 1),
                ('traits', '/CUSTOM_A', 'CUSTOM_A'),
                ('traits', '/CUSTOM_A', 'CUSTOM_A'),
                ('node', '/properties/capabilities/c', 'd'),
            ],
            [
                (each.object, each.path, each.value)
                for each in target.journal.confirmed
            ],
        )
        self.assertTrue(
            all(each.before == each.value for each in target.journal.confirmed)
        )
        self.assertEqual([], target.journal.changes)

    def test_only_so_many_are_noted_but_of_a_sensitive_rule(self):
        for rule, noted in ((OPEN, (1000, 0)), (SENSITIVE, (0, 1100))):
            target = make(node={'extra': {'size': 1}})
            target.journal.begin_action(rule, 'set-attribute', masked=True)

            for _number in range(1100):
                target.set('node', ('extra', 'size'), 1)

            self.assertEqual(
                noted,
                (len(target.journal.confirmed), len(target.journal.withheld)),
            )


class DiscardTestCase(base.TestCase):
    def test_the_last_such_item_of_a_list_goes(self):
        for before, after in (
            ([2, 1, 2, 1], [2, 1, 1]),
            ([1, 2], [1]),
            ([2, 1, 1, 1], [1, 1, 1]),
            ([2], []),
            ([1, 3, 4, 2], [1, 3, 4]),
            ([True], [True]),
            ([1], [1]),
            ([], []),
            ({'2': 1}, {'2': 1}),
        ):
            target = make(plugin_data={'l': before})
            target.discard('plugin_data', ('l',), 2)
            self.assertEqual(after, target.get('plugin_data', ('l',)))


class CostTestCase(base.TestCase):
    def test_what_is_looked_for_in_a_list_is_paid_for(self):
        for count in (15, 160, 1610):
            target, till = make(plugin_data={'l': [1] * count}), paid.Till()
            with target.paid_by(till):
                target.discard('plugin_data', ('l',), 2)
                self.assertEqual(count // 16, till.paid)
                target.discard('plugin_data', ('l',), 1)
            self.assertEqual(count // 16 * 2 + 1, till.paid)


class FactsTestCase(base.TestCase):
    def test_without_a_node_there_are_no_ports(self):
        facts = working_copy.Facts({'a': 1}, {}, ports=({},))
        self.assertEqual(
            {'inventory': {'a': 1}, 'plugin_data': {}}, facts.roots()
        )


class ViewTestCase(base.TestCase):
    def test_only_the_masked_view_hides_secrets(self):
        target = make(plugin_data={'password': 'x'})
        self.assertEqual('x', target.view(False)['plugin_data']['password'])
        self.assertEqual(
            '******', target.view(True)['plugin_data']['password']
        )

    def test_what_nobody_looks_at_is_not_masked(self):
        target = make(inventory={'password': 'x'})
        view = target.view(True)
        view['plugin_data']
        self.assertEqual({'plugin_data'}, set(view))

    def test_unknown_data_is_none_of_both(self):
        for masked in (False, True):
            self.assertRaises(
                KeyError, make().view(masked).__getitem__, 'item'
            )

    @fuzz.settings
    @hypothesis.given(
        fuzz.mappings,
        st.lists(
            st.tuples(
                st.sampled_from(['set', 'extend', 'unset']),
                test_path.paths,
                fuzz.json_values,
            ),
            max_size=5,
        ),
    )
    def test_both_views_tell_the_same_story(self, data, steps):
        before = copy.deepcopy(data)
        target = make(plugin_data=data)
        masked = target.view(True)
        masked['plugin_data']
        for op, path, value in steps:
            arguments = () if op == 'unset' else (value,)
            try:
                getattr(target, op)('plugin_data', path, *arguments)
            except exceptions.OperationError:
                pass
        self.assertEqual(repr(before), repr(data))
        self.assertEqual(
            repr(masking.mask(target.roots['plugin_data'])),
            repr(masked['plugin_data']),
        )


class OwnershipTestCase(base.TestCase):
    def test_what_grows_is_copied_once_in_both_views(self):
        given = {'a': [1], 'b': {'c': {}}}
        target = make(plugin_data=given)
        views = [target.view(masked) for masked in (False, True)]
        for view in views:
            view['plugin_data']
        seen = set()
        for step in range(3):
            target.extend('plugin_data', ('a',), {'step': step})
            target.set('plugin_data', ('b', f'{step}'), {'step': step})
            seen.add(
                tuple(
                    (
                        id(view['plugin_data']),
                        id(view['plugin_data']['a']),
                        id(view['plugin_data']['b']),
                    )
                    for view in views
                )
            )
        self.assertEqual(1, len(seen))
        self.assertEqual(views[0]['plugin_data'], views[1]['plugin_data'])
        self.assertEqual({'a': [1], 'b': {'c': {}}}, given)

    def test_a_value_in_two_places_changes_in_one(self):
        target = make()
        target.set('plugin_data', ('a', 'b'), [1])
        target.set('plugin_data', ('c',), target.get('plugin_data', ('a',)))
        target.extend('plugin_data', ('a', 'b'), 2)
        target.extend('plugin_data', ('c', 'b'), 3)
        self.assertEqual(
            {'a': {'b': [1, 2]}, 'c': {'b': [1, 3]}},
            target.roots['plugin_data'],
        )

    def test_an_item_is_as_deep_as_what_is_set_in_its_place(self):
        for path in (('a',), ('a', 'b')):
            for depth in range(30):
                value = []
                for _level in range(depth):
                    value = [value]
                ends = []
                for write, place in (('extend', path), ('set', (*path, 'c'))):
                    target = make()
                    try:
                        with target.paid_by(budget.Budget(budget.MAIN)):
                            getattr(target, write)('plugin_data', place, value)
                    except exceptions.BudgetExceeded as exc:
                        ends.append(str(exc))
                    else:
                        ends.append(None)
                self.assertEqual(*ends, (path, depth))

    def test_a_view_made_late_shares_nothing_that_changes(self):
        target = make()
        target.extend('plugin_data', ('a',), 1)
        view = target.view(masked=True)
        view['plugin_data']
        target.extend('plugin_data', ('a',), 2)
        self.assertEqual({'a': [1, 2]}, view['plugin_data'])
        self.assertEqual({'a': [1, 2]}, target.roots['plugin_data'])


class ChangeTestCase(base.TestCase):
    def test_setting_the_same_value_changes_nothing(self):
        target = make(node={'extra': {'a': [1]}})
        target.set('node', ('extra', 'a'), [1])
        self.assertEqual([], target.journal.changes)
        self.assertEqual({}, target.changed('node'))

    def test_what_changed_is_told_by_its_top(self):
        target = make(node={'extra': {}, 'name': 'a', 'owner': 'b'})
        target.set('node', ('extra', 'a', 'b'), 1)
        target.unset('node', ('name',))
        self.assertEqual(
            {'extra': {'a': {'b': 1}}, 'name': data_path.ABSENT},
            target.changed('node'),
        )

    def test_changed_has_what_changed_of_a_port(self):
        target = make(ports=({'address': MAC, 'extra': {}}, {'extra': {}}))
        target.set('ports', ('0', 'extra', 'a'), 1)
        self.assertEqual({'extra': {'a': 1}}, target.changed_of_port(0))
        self.assertEqual({}, target.changed_of_port(1))

    def test_changed_has_names_lost_with_a_whole_port(self):
        target = make(ports=({'address': MAC, 'extra': {}},))
        target.set('ports', ('0',), {'address': MAC, 'name': 'eth0'})
        self.assertEqual(
            {'address': MAC, 'extra': data_path.ABSENT, 'name': 'eth0'},
            target.changed_of_port(0),
        )

    def test_final_values_give_another_target_the_same_data(self):
        facts = {
            'node': {'extra': {'a': 1}, 'name': 'n', 'traits': []},
            'ports': ({'address': MAC, 'extra': {}},),
            'plugin_data': {'p': 1},
        }
        target, other = make(**facts), make(**facts)
        target.set('node', ('extra', 'b'), 2)
        target.set_traits(['CUSTOM_A'])
        target.set('ports', ('0', 'extra', 'a'), 1)
        target.unset('plugin_data', ('p',))
        for root, path, value in target.final_values():
            if value is data_path.ABSENT:
                other.unset(root, path)
            else:
                other.set(root, path, value)
        self.assertEqual(target.roots, other.roots)

    @fuzz.settings
    @hypothesis.given(
        fuzz.mappings,
        st.lists(
            st.tuples(
                st.sampled_from(['set', 'extend', 'unset', 'discard']),
                st.sampled_from(
                    [('node',), ('node', 'extra'), ('ports', '0', 'extra')]
                ),
                test_path.paths,
                fuzz.json_values,
            ),
            max_size=8,
        ),
    )
    def test_final_values_give_the_same_node_and_ports(self, extra, steps):
        facts = {
            'node': {'extra': extra, 'name': 'n'},
            'ports': ({'address': MAC, 'extra': extra},),
        }
        target, other = make(**facts), make(**facts)
        for op, place, path, value in steps:
            arguments = () if op == 'unset' else (value,)
            root, *above = place
            if not above:
                # Of an attribute that is no mapping, no part is changed.
                path = path[:1]
            try:
                getattr(target, op)(root, (*above, *path), *arguments)
            except exceptions.OperationError:
                pass
        for root, path, value in target.final_values():
            if value is data_path.ABSENT:
                other.unset(root, path)
            else:
                other.set(root, path, value)
        # As text: NaN differs from itself. The order of names may differ.
        self.assertEqual(
            json.dumps(target.roots, sort_keys=True),
            json.dumps(other.roots, sort_keys=True),
        )

    def test_final_values_have_a_whole_without_its_parts(self):
        target = make(node={'extra': {'a': 1}})
        target.set('node', ('extra', 'b'), 2)
        target.set('node', ('extra',), {'c': 3})
        target.set('node', ('extra', 'd'), 4)
        self.assertEqual(
            [('node', ('extra',), {'c': 3, 'd': 4})], target.final_values()
        )

    def test_final_values_have_no_appended_item_of_plugin_data(self):
        target = make(plugin_data={'disks': [1]})
        target.set('plugin_data', ('disks', '-'), 2)
        self.assertEqual(
            [('plugin_data', ('disks', '-'), data_path.ABSENT)],
            target.final_values(),
        )

    def test_discarding_takes_the_last_of_an_item(self):
        target = make(node={'extra': {'a': [1, 2, 1]}})
        for value in (1, 3, True):
            target.discard('node', ('extra', 'a'), value)
        target.discard('node', ('extra', 'b'), 1)
        self.assertEqual([1, 2], target.roots['node']['extra']['a'])

    def test_a_port_keeps_the_name_it_had_before(self):
        target = make(ports=({'address': MAC},))
        target.set('ports', ('0', 'address'), '52:54:00:aa:bb:09')
        target.set('ports', ('0', 'name'), 'a')
        self.assertEqual(
            [f'port {MAC}'] * 2,
            [change.object for change in target.journal.changes],
        )
        self.assertEqual(('0',), target.port('52:54:00:AA:BB:09'))

    def test_what_a_sensitive_rule_sets_is_withheld(self):
        changed = make(node={'traits': ['CUSTOM_OLD']})
        changed.journal.begin_action(SENSITIVE, 'set-traits', masked=False)

        changed.set_traits(['CUSTOM_NEW'])
        changed.set('node', ('extra',), 'value')

        self.assertEqual([], changed.journal.changes)
        self.assertEqual(3, len(changed.journal.withheld))
        self.assertEqual(['CUSTOM_NEW'], changed.traits)
