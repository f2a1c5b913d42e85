# SPDX-License-Identifier: Apache-2.0

"""What the API refuses, and that nothing of it is kept."""

import uuid

from ironic_inspection_rules.patches import body_limit
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration.base import action


class BadRuleTestCase(base.TestCase):
    """Rules that cannot be meant."""

    def assert_refused(self, rule: base.Json, *words: str) -> None:
        """Fail unless the rule is answered with 400 and these words."""
        answer = self.client.post('/v1/inspection_rules', json=rule)
        self.assertEqual(400, answer.status_code, answer.text)
        for word in words:
            self.assertIn(word, answer.text)
        self.assertEqual(
            {'inspection_rules': []},
            self.client.call('GET', '/v1/inspection_rules'),
        )

    def test_unknown_op(self) -> None:
        self.assert_refused(
            {'actions': [action('set-atribute', '/a', 1)]},
            'set-atribute',
            'set-attribute',
        )
        self.assert_refused(
            {
                'actions': [action('log', 'a')],
                'conditions': [{'op': 'equals', 'args': [1, 1]}],
            },
            'equals',
        )

    def test_wrong_arguments(self) -> None:
        self.assert_refused(
            {'actions': [action('set-attribute', '/extra/a')]}, 'value'
        )
        self.assert_refused(
            {'actions': [action('fail', msg='a', massage='b')]}, 'massage'
        )
        self.assert_refused(
            {
                'actions': [action('log', 'a')],
                'conditions': [{'op': 'contains', 'args': ['a', '(']}],
            },
            '/conditions/0/args/1',
        )

    def test_no_actions(self) -> None:
        self.assert_refused({}, 'actions')
        for actions in ([], None):
            self.assert_refused({'actions': actions}, 'actions')

    def test_text_where_a_list_belongs(self) -> None:
        self.assert_refused({'actions': 'fail'}, 'actions')
        self.assert_refused(
            {'actions': [action('log', 'a')], 'conditions': 'always'},
            'conditions',
        )

    def test_attributes_that_nobody_may_set(self) -> None:
        for path in (
            '/uuid',
            '/provision_state',
            '/driver_internal_info/a',
            '/no_such_thing',
        ):
            self.assert_refused(
                {'actions': [action('set-attribute', path, 'x')]},
                path.split('/')[1],
            )

    def test_all_problems_are_told_at_once(self) -> None:
        self.assert_refused(
            {
                'actions': [action('set-atribute', '/a', 1), action('fail')],
                'conditions': [{'op': 'eq', 'args': []}, {'op': 'is-tru'}],
            },
            '/actions/0',
            '/actions/1',
            '/conditions/1',
        )

    def test_wrong_fields(self) -> None:
        for fields in (
            {'priority': -1},
            {'priority': 10000},
            {'phase': 'late'},
            {'uuid': 'not-one'},
            {'sensitive': 'perhaps'},
            {'scope': 'x' * 256},
            {'description': 'x' * 256},
            {'colour': 'red'},
        ):
            with self.subTest(fields=fields):
                self.assert_refused(
                    {'actions': [action('log', 'a')], **fields}
                )


class BadDataTestCase(base.TestCase):
    """Ramdisks that post odd things."""

    overrides = {'api': {'max_json_body_depth': 60}}

    def test_odd_inventories_do_not_stop_rules(self) -> None:
        self.create_rule(
            action('set-attribute', '/extra/odd', '{inventory[odd]}'),
            conditions=[{'op': '!is-none', 'args': ['{inventory[odd]}']}],
        )
        deep: object = 'bottom'
        # An Ironic without limits of its own gets their defaults.
        for _ in range(22 if body_limit.json_depth else 8):
            deep = {'deeper': [deep]}
        for odd in (
            deep,
            {'a.b/c[0]': '{node.uuid}'},
            '\u2028\U0001f600',
            10**30,
            'x' * 2**20,
        ):
            data = base.ramdisk_data(base.new_mac())
            data['inventory']['odd'] = odd
            node = self.inspect(data)
            self.assert_inspected(node)
            self.assertEqual(odd, node['extra']['odd'])

    def test_what_is_no_inspection_data_is_refused(self) -> None:
        for body in ('{', 'null', '[]', '5', '{}', '{"inventory": 5}'):
            for path in ('', f'?node_uuid={uuid.uuid4()}'):
                answer = self.client.post(
                    f'/v1/continue_inspection{path}',
                    data=body,
                    headers={'Content-Type': 'application/json'},
                )
                self.assertEqual(400, answer.status_code, answer.text)

    def test_four_thousand_interfaces(self) -> None:
        self.create_rule(
            action(
                'set-plugin-data',
                '/names/{item[name]}',
                1,
                loop='{inventory[many]}',
            )
        )
        data = base.ramdisk_data(base.new_mac())
        data['inventory']['many'] = [
            {'name': f'eth{number}'} for number in range(4000)
        ]
        node = self.inspect(data)
        self.assert_inspected(node)
        stored = self.client.stored_data(node['uuid'])['plugin_data']
        self.assertEqual(4000, len(stored['names']))
