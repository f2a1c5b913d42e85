# SPDX-License-Identifier: Apache-2.0

"""Actions of old rules change what they changed in ironic-inspector."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.plugins.legacy import inspection

NEVER = [{'op': 'eq', 'field': 'missing', 'value': 1}]


class ActionTestCase(base.TestCase):
    def applied(self, *actions, conditions=(), data=None, **node):
        result = inspection.inspect(
            {'conditions': list(conditions), 'actions': list(actions)},
            data=data or {'serial': 'S1'},
            node={**inspection.NODE, **node},
        )
        self.assertIsNone(result.error)
        return result.node

    def refused(self, *actions, **node):
        return inspection.inspect(
            {'actions': list(actions)}, node={**inspection.NODE, **node}
        ).error


class SetAttributeTestCase(ActionTestCase):
    def action(self, path, value, **more):
        return {
            'action': 'set-attribute',
            'path': path,
            'value': value,
            **more,
        }

    def test_paths_may_lack_the_first_slash(self):
        node = self.applied(
            self.action('extra/a', 1),
            {
                'action': 'set-attribute',
                'key': '/extra/b',
                'value': '{data[serial]}',
            },
        )
        self.assertEqual({'a': 1, 'b': 'S1'}, node['extra'])

    def test_all_data_has_no_trace_of_rules(self):
        node = self.applied(
            self.action('/extra/a', '{data}'),
            data={'a': 1, 'inspection_rules': {'early': []}},
        )
        self.assertEqual("{'inventory': {}, 'a': 1}", node['extra']['a'])

    def test_the_path_is_not_formatted(self):
        node = self.applied(self.action('/extra/{data[serial]}', 1))
        self.assertEqual({'{data[serial]}': 1}, node['extra'])

    def test_parents_are_not_made(self):
        self.assertIn(
            '/extra/a does not exist',
            self.refused(self.action('/extra/a/b', 1)),
        )

    def test_an_index_inserts_into_a_list(self):
        node = self.applied(
            self.action('/extra/l/0', 'x'),
            self.action('/extra/l/-', 'z'),
            extra={'l': ['y']},
        )
        self.assertEqual(['x', 'y', 'z'], node['extra']['l'])
        self.assertIsNotNone(
            self.refused(self.action('/extra/l/9', 'x'), extra={'l': []})
        )

    def test_what_the_api_may_not_change_is_refused(self):
        self.assertRaisesRegex(
            exceptions.InvalidRule,
            '/actions/0/path',
            self.refused,
            self.action('/provision_state', 'active'),
        )
        self.assertIn('name', self.refused(self.action('/name', [])))

    def test_a_new_driver_resets_interfaces_unless_told_not_to(self):
        set_driver = self.action('driver', 'ipmi')
        self.assertIsNone(
            self.applied(set_driver, power_interface='fake')['power_interface']
        )
        self.assertEqual(
            'fake',
            self.applied(
                {**set_driver, 'reset_interfaces': False},
                power_interface='fake',
            )['power_interface'],
        )

    def test_revert_sets_the_cleanup_value_or_removes(self):
        node = self.applied(
            self.action('/extra/a', 1, revert=True),
            self.action('/extra/b', 1, revert=True, cleanup=0),
            self.action('/extra/never/there', 1, revert=True),
            self.action('/name', 'x', revert=True),
            self.action('/driver', 'x', revert=True),
            self.action('/extra/kept', 2),
            conditions=NEVER,
            extra={'a': 1, 'b': 1, 'kept': 1},
            name='x',
        )
        self.assertEqual({'b': 0, 'kept': 1}, node['extra'])
        self.assertIsNone(node['name'])
        self.assertEqual('fake-hardware', node['driver'])


class ExtendAttributeTestCase(ActionTestCase):
    def action(self, path, value, name='extend-attribute', **more):
        return {'action': name, 'path': path, 'value': value, **more}

    def test_a_list_is_made_and_extended(self):
        node = self.applied(
            self.action('/extra/l', '{data[serial]}'),
            self.action('extra/l', 'b', 'append-attribute'),
            self.action('/extra/l', 'b', unique=True),
        )
        self.assertEqual(['S1', 'b'], node['extra']['l'])

    def test_a_list_further_down_is_replaced(self):
        node = self.applied(
            self.action('/extra/a/l', 'new'), extra={'a': {'l': ['old']}}
        )
        self.assertEqual(['new'], node['extra']['a']['l'])

    def test_something_else_is_refused(self):
        self.assertIn(
            'is not a list',
            self.refused(self.action('/extra/l', 1), extra={'l': 'text'}),
        )

    def test_revert_removes_the_value(self):
        node = self.applied(
            self.action('/extra/l', '{data[serial]}', revert=True),
            self.action('/extra/l', '{data[gone]}', revert=True),
            self.action('/extra/none', 1, revert=True),
            conditions=NEVER,
            extra={'l': ['a', 'S1']},
        )
        self.assertEqual({'l': ['a']}, node['extra'])


class SetCapabilityTestCase(ActionTestCase):
    def test_capabilities_are_merged_and_removed(self):
        node = self.applied(
            {
                'action': 'set-capability',
                'name': 'a',
                'value': '{data[serial]}',
            },
            {'action': 'set-capability', 'name': 'b', 'value': None},
            {'action': 'set-capability', 'name': 'c', 'value': 1},
            properties={'capabilities': 'a:0,b:1'},
        )
        self.assertEqual('a:S1,c:1', node['properties']['capabilities'])

    def test_data_adds_no_other_capability(self):
        result = inspection.inspect(
            {
                'actions': [
                    {
                        'action': 'set-capability',
                        'name': 'a',
                        'value': '{data[serial]}',
                    }
                ]
            },
            data={'serial': '1,boot_mode:uefi'},
        )
        self.assertIn('comma', result.error)
        self.assertEqual(inspection.NODE, result.node)

    def test_a_comma_of_the_rule_stays(self):
        node = self.applied(
            {
                'action': 'set-capability',
                'name': 'a',
                'value': '{data[serial]},b:2',
            }
        )
        self.assertEqual('a:S1,b:2', node['properties']['capabilities'])

    def test_revert_removes_the_capability(self):
        action = {
            'action': 'set-capability',
            'name': 'a',
            'value': '1',
            'revert': True,
        }
        node = self.applied(
            action, conditions=NEVER, properties={'capabilities': 'a:0,b:1'}
        )
        self.assertEqual('b:1', node['properties']['capabilities'])
        node = self.applied(action, conditions=NEVER)
        self.assertEqual({}, node['properties'])


class TraitTestCase(ActionTestCase):
    def test_traits_are_added_removed_and_reverted(self):
        node = self.applied(
            {'action': 'add-trait', 'name': 'CUSTOM_A'},
            {'action': 'remove-trait', 'name': 'CUSTOM_B'},
            {'action': 'remove-trait', 'name': 'CUSTOM_C'},
            traits=['CUSTOM_B'],
        )
        self.assertEqual(['CUSTOM_A'], node['traits'])
        node = self.applied(
            {'action': 'add-trait', 'name': 'CUSTOM_A', 'revert': True},
            conditions=NEVER,
            traits=['CUSTOM_A', 'CUSTOM_B'],
        )
        self.assertEqual(['CUSTOM_B'], node['traits'])


class FailTestCase(ActionTestCase):
    def test_the_message_is_not_formatted(self):
        self.assertIn(
            'boom {data[serial]}',
            self.refused({'action': 'fail', 'message': 'boom {data[serial]}'}),
        )

    def test_what_came_before_is_kept(self):
        result = inspection.inspect(
            {
                'actions': [
                    {
                        'action': 'set-attribute',
                        'path': '/extra/a',
                        'value': 1,
                    },
                    {'action': 'fail', 'message': 'boom'},
                ]
            }
        )
        self.assertEqual({'a': 1}, result.node['extra'])


class OrderTestCase(base.TestCase):
    def test_all_rules_are_decided_before_the_first_action(self):
        rule = {
            'conditions': [{'op': 'is-empty', 'field': 'node://extra.a'}],
            'actions': [
                {'action': 'set-attribute', 'path': '/extra/a', 'value': 1}
            ],
        }
        self.assertEqual([0, 1], inspection.inspect(rule, rule).matched)

    def test_reverts_come_before_actions(self):
        result = inspection.inspect(
            {
                'actions': [
                    {
                        'action': 'set-attribute',
                        'path': '/extra/a',
                        'value': 'set',
                    }
                ]
            },
            {
                'conditions': NEVER,
                'actions': [
                    {
                        'action': 'set-attribute',
                        'path': '/extra/a',
                        'value': 1,
                        'revert': True,
                    }
                ],
            },
            node={**inspection.NODE, 'extra': {'a': 'old'}},
        )
        self.assertEqual({'a': 'set'}, result.node['extra'])
