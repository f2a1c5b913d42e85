# SPDX-License-Identifier: Apache-2.0

"""Of a sensitive rule nothing is told but its UUID, of data no secrets."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.tests.unit import base

CONTENT = {
    'conditions': ({'op': 'eq', 'args': ['c4n4ry', 1]},),
    'actions': ({'op': 'log', 'args': ['c4n4ry']},),
    'vars': {'c4n4ry': 'c4n4ry'},
}
OPEN = model.Rule(uuid='u', description='about', **CONTENT)
SENSITIVE = model.Rule(
    uuid='u', description='about', sensitive=True, **CONTENT
)


class RuleTestCase(base.TestCase):
    def test_it_is_shown_without_its_content(self):
        self.assertIs(OPEN, disclosure.disclose_rule(OPEN))
        self.assertNotIn('c4n4ry', repr(disclosure.disclose_rule(SENSITIVE)))
        self.assertTrue(disclosure.disclose_rule(SENSITIVE).sensitive)

    def test_its_label_is_its_uuid_alone(self):
        self.assertEqual('u (about)', disclosure.rule_label(OPEN))
        self.assertEqual('u', disclosure.rule_label(SENSITIVE))

    def test_another_text_stands_for_one_about_its_content(self):
        self.assertEqual('a', disclosure.disclose_text(OPEN, 'a', 'b'))
        self.assertEqual('b', disclosure.disclose_text(SENSITIVE, 'a', 'b'))

    def test_it_is_described_by_its_uuid_and_the_members_given(self):
        self.assertEqual(
            'about',
            disclosure.disclose_entry(
                OPEN, lambda rule: {'description': rule.description}, part=1
            )['description'],
        )
        self.assertEqual(
            {'uuid': 'u', 'withheld': True, 'part': 1},
            disclosure.disclose_entry(SENSITIVE, self.fail, part=1),
        )
        self.assertEqual({}, disclosure.withheld_mark(OPEN))
        self.assertEqual(
            {'withheld': True}, disclosure.withheld_mark(SENSITIVE)
        )

    def test_an_error_has_neither_reason_nor_cause(self):
        for exc in (
            exceptions.OperationError('why'),
            exceptions.FailRequested('why', maintenance=True),
        ):
            told = disclosure.make_error(OPEN, 'eq', exc)
            self.assertEqual(
                ('u (about)', 'eq', 'why', exc),
                (told.rule, told.op, told.reason, told.__cause__),
            )
            kept = disclosure.make_error(SENSITIVE, 'eq', exc)
            self.assertEqual(
                (type(told), 'u', 'eq', None, None),
                (type(kept), kept.rule, kept.op, kept.reason, kept.__cause__),
            )
        self.assertIs(True, kept.maintenance)

    def test_which_rules_see_secrets_is_an_option(self):
        for option, hidden in (
            ('always', (True, True)),
            ('sensitive', (True, False)),
            ('never', (False, False)),
        ):
            self.assertEqual(
                hidden,
                tuple(
                    disclosure.hides_secrets(rule, option)
                    for rule in (OPEN, SENSITIVE)
                ),
            )


class DataTestCase(base.TestCase):
    def test_secrets_are_masked_by_their_names(self):
        self.assertEqual(
            {'password': '******', 'a': 1},
            disclosure.mask_data({'password': 'x', 'a': 1}),
        )
        self.assertEqual(
            '******', disclosure.mask_value_at(('password',), 'x')
        )
        self.assertEqual('x', disclosure.mask_value_at(('a',), 'x'))

    def test_an_operation_with_a_secret_shows_its_op(self):
        for args in (
            {'path': '/driver_info/password', 'value': 'x'},
            ['/driver_info/password', 'x'],
            {'url': 'https://me:x@there'},
            {'url': '/', 'headers': {'Authorization': 'x'}},
        ):
            self.assertEqual(
                {'op': 'o', 'args': '******'},
                disclosure.mask_operation({'op': 'o', 'args': args}),
            )
        written = {'op': 'o', 'args': ['/extra/a', 'x'], 'loop': [1]}
        self.assertIs(written, disclosure.mask_operation(written))

    def test_an_action_with_a_list_of_arguments_shows_no_secret(self):
        for op, args in (
            ('set-attribute', ['/driver_info/password', 'x']),
            ('set-attribute', ['/driver_info/password', 'x', 'y']),
            ('set-attribute', ['/driver_info/password', '{item}', 'y']),
            ('set-port-attribute', ['m', '/extra/password', 'x', 'y']),
            ('extend-plugin-data', ['/token/a', 'x', True]),
            ('inspector-set-attribute', ['driver_info/password', 'x', 1]),
            ('api-call', ['https://me:x@there']),
            ('api-call', ['https://there', {'Authorization': 'x'}, None]),
        ):
            with self.subTest(op=op, args=args):
                written = {'op': op, 'args': args}
                self.assertTrue(disclosure.has_secrets(written))
                self.assertEqual(
                    {'op': op, 'args': '******'},
                    disclosure.mask_operation(written),
                )
        for op, args in (
            ('set-attribute', ['/extra/a', 'x', 'y']),
            ('set-attribute', ['/driver_info/password', '{item}']),
            ('api-call', ['https://there']),
        ):
            self.assertFalse(
                disclosure.has_secrets({'op': op, 'args': args}), args
            )
