# SPDX-License-Identifier: Apache-2.0

"""Changing a rule by a JSON patch; HTTP tests cover what is refused."""

import copy
import itertools
import json
import types

import fixtures
import hypothesis
from hypothesis import strategies as st
import jsonpatch

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import patch
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.tests.unit import base

SECRET = 's3cret'

RULE = {
    'uuid': '5b3b2b1a-0000-4000-8000-000000000001',
    'description': 'a rule',
    'priority': 1,
    'scope': None,
    'sensitive': False,
    'phase': 'main',
    'conditions': [{'op': 'eq', 'args': [1, 1]}],
    'actions': [{'op': 'log', 'args': {'msg': SECRET}}],
}

POINTERS = st.sampled_from(
    [
        '',
        '/',
        '/uuid',
        '/description',
        '/sensitive',
        '/conditions',
        '/conditions/0',
        '/conditions/-',
        '/condition/0',
        '/actions',
        '/actions/0/args',
        '/actions/0/args/msg',
        '/action/0/args/msg',
        '/action',
        '/actions/0/args/msg/0',
        '/~1',
        '/~',
        'x',
        None,
        1,
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=3)
    | st.just(SECRET),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
OPERATIONS = st.fixed_dictionaries(
    {},
    optional={
        'op': st.sampled_from(
            ['add', 'remove', 'replace', 'move', 'copy', 'test', 'x', 1]
        ),
        'path': POINTERS,
        'from': POINTERS,
        'value': VALUES,
    },
)


class ApplyTestCase(base.TestCase):
    def test_the_given_fields_stay_as_they_are(self):
        before = copy.deepcopy(RULE)

        patch.apply(
            RULE,
            [
                {'op': 'add', 'path': '/actions/0/args/msg', 'value': 'x'},
                {'op': 'remove', 'path': '/conditions/0'},
            ],
        )

        self.assertEqual(before, RULE)

    def test_what_is_removed_is_absent(self):
        self.assertNotIn(
            'priority',
            patch.apply(RULE, [{'op': 'remove', 'path': '/priority'}]),
        )

    def test_the_error_says_which_operation_it_was(self):
        exc = self.assertRaises(
            exceptions.Invalid,
            patch.apply,
            RULE,
            [
                {'op': 'remove', 'path': '/priority'},
                {'op': 'remove', 'path': '/priority'},
            ],
        )

        self.assertIn('Operation 1', str(exc))
        self.assertIn('/priority', str(exc))

    def test_a_patch_has_a_bounded_number_of_operations(self):
        one = {'op': 'test', 'path': '/priority', 'value': 1}
        patch.apply(RULE, [one] * patch.MOST_OPERATIONS)

        exc = self.assertRaises(
            exceptions.Invalid,
            patch.apply,
            RULE,
            [one] * (patch.MOST_OPERATIONS + 1),
        )
        self.assertIn(f'at most {patch.MOST_OPERATIONS} operations', str(exc))

    def test_copies_of_copies_end_before_they_are_made(self):
        made = []

        def apply_patch(document, operations, **options):
            made.append(len(json.dumps(document)))
            return jsonpatch.apply_patch(document, operations, **options)

        with fixtures.MonkeyPatch(
            'ironic_inspection_rules.api.patch.jsonpatch',
            types.SimpleNamespace(
                **{**vars(jsonpatch), 'apply_patch': apply_patch}
            ),
        ):
            exc = self.assertRaises(
                exceptions.Invalid,
                patch.apply,
                RULE,
                [
                    {
                        'op': 'add',
                        'path': '/actions/0/args',
                        'value': 'x' * 1000,
                    },
                    *[
                        {
                            'op': 'copy',
                            'from': '/actions',
                            'path': '/actions/-',
                        },
                        {
                            'op': 'copy',
                            'from': '/actions',
                            'path': '/conditions/-',
                        },
                        {
                            'op': 'move',
                            'from': '/conditions',
                            'path': '/actions/-',
                        },
                        {'op': 'add', 'path': '/conditions', 'value': []},
                    ]
                    * 20,
                ],
            )

        self.assertIn('larger than', str(exc))
        self.assertLess(max(made), 2 * patch.MOST_CHARACTERS)

    def test_copies_of_small_values_are_bounded_too(self):
        copy_ = {'op': 'copy', 'from': '/actions', 'path': '/actions/-'}

        exc = self.assertRaises(
            exceptions.Invalid, patch.apply, RULE, [copy_] * 20, 1000
        )

        self.assertIn('larger than 1000 characters', str(exc))
        # Half of that is one more copy than there is room for.
        self.assertIn('Operation 4', str(exc))

    def test_what_is_moved_out_of_what_it_replaces_is_not_free(self):
        operations = [{'op': 'replace', 'path': '/scope', 'value': 'x' * 400}]
        for _cycle in range(20):
            operations += [
                {'op': 'add', 'path': '/description', 'value': {}},
                {'op': 'move', 'from': '/scope', 'path': '/description/x'},
                {
                    'op': 'move',
                    'from': '/description/x',
                    'path': '/description',
                },
                {'op': 'move', 'from': '/description', 'path': '/scope'},
            ]
        copies = [{'op': 'copy', 'from': '/scope', 'path': '/actions/-'}] * 10
        patch.apply(RULE, operations, 1000)

        exc = self.assertRaises(
            exceptions.Invalid, patch.apply, RULE, operations + copies, 1000
        )

        self.assertIn('larger than 1000 characters', str(exc))

    def test_a_place_is_that_after_the_removal(self):
        move = {'op': 'move', 'from': '/actions/0', 'path': '/actions/1/x'}
        operations = [
            {
                'op': 'replace',
                'path': '/actions',
                'value': [1, {'x': 'y' * 400}, {}],
            },
            *[move, {'op': 'add', 'path': '/actions/0', 'value': 1}] * 20,
        ]
        copy_ = {'op': 'copy', 'from': '/actions/1/x', 'path': '/actions/-'}
        result = patch.apply(RULE, operations, 1000)
        self.assertEqual([1, {'x': 'y' * 400}, {'x': 1}], result['actions'])

        exc = self.assertRaises(
            exceptions.Invalid,
            patch.apply,
            RULE,
            [*operations, copy_, copy_, copy_],
            1000,
        )

        self.assertIn('larger than 1000 characters', str(exc))

    def test_nothing_is_moved_into_itself(self):
        for source, path in (('/actions', '/actions/0'), ('', '/actions')):
            self.assertRaises(
                exceptions.Invalid,
                patch.apply,
                RULE,
                [{'op': 'move', 'from': source, 'path': path}],
            )

    def test_a_move_to_the_same_place_leaves_the_order_of_vars(self):
        rule = {**RULE, 'vars': {'a': 1, 'b': '{vars.a}'}}
        move = {'op': 'move', 'from': '/vars/a', 'path': '/vars/a'}

        result = patch.apply(rule, [move])

        self.assertEqual(['a', 'b'], list(result['vars']))
        self.assertEqual(rule, result)

    def test_a_field_that_is_read_only_is_not_said_to_be_unknown(self):
        for operation in (
            {'op': 'test', 'path': '/revision', 'value': 1},
            {'op': 'test', 'path': '/created_at', 'value': 'x'},
            {'op': 'copy', 'from': '/built_in', 'path': '/description'},
        ):
            exc = self.assertRaises(
                exceptions.Invalid, patch.apply, RULE, [operation]
            )
            self.assertIn('is read only', str(exc))
            self.assertNotIn('unknown', str(exc))

    def test_nothing_is_moved_from_where_nothing_is(self):
        for place in ('/vars/a', '/actions/1', '/actions/-'):
            move = {'op': 'move', 'from': place, 'path': place}
            exc = self.assertRaises(
                exceptions.Invalid, patch.apply, {**RULE, 'vars': {}}, [move]
            )
            self.assertIn('there is nothing to work on', str(exc))

    @hypothesis.given(st.lists(OPERATIONS, max_size=6))
    def test_the_size_is_exact_after_each_operation(self, given):
        document = copy.deepcopy(RULE)
        for operation in given:
            try:
                checked = patch._check_operation(operation, RULE)
            except exceptions.Invalid:
                continue
            rule_size = patch._RuleSize(document, patch.MOST_CHARACTERS)
            try:
                for step in patch._split_move(checked, document):
                    rule_size.count(step, document)
                    document = jsonpatch.apply_patch(document, [step])
            except (exceptions.Invalid, *patch._ERRORS_OF_LIBRARIES):
                return
            if not isinstance(document, dict):
                return
            size = budget.Budget(patch._LIMITS).measure(document)
            self.assertEqual(size, rule_size._size, operation)

    def test_what_a_patch_removes_makes_room(self):
        text = 'x' * 600
        replace = {'op': 'replace', 'path': '/description', 'value': text}
        moves = [
            {'op': 'move', 'from': '/description', 'path': '/scope'},
            {'op': 'move', 'from': '/scope', 'path': '/description'},
        ]
        renew = [
            {'op': 'remove', 'path': '/description'},
            {'op': 'add', 'path': '/description', 'value': text},
        ]

        changed = patch.apply(
            RULE, [replace, *moves * 10, *renew * 10, replace], 1000
        )

        self.assertEqual(text, changed['description'])

    def test_a_rule_that_is_large_already_can_be_changed(self):
        rule = {**RULE, 'description': 'x' * 5000}
        smaller = {'op': 'replace', 'path': '/description', 'value': 'y'}
        larger = {'op': 'add', 'path': '/actions/-', 'value': 'y' * 9}

        changed = patch.apply(rule, [smaller, larger], 1000)

        self.assertEqual('y', changed['description'])
        self.assertRaises(
            exceptions.Invalid, patch.apply, rule, [larger], 1000
        )

    def test_a_patch_takes_a_bounded_time(self):
        ticks = itertools.count()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.budget.time',
                types.SimpleNamespace(monotonic=lambda: next(ticks)),
            )
        )

        exc = self.assertRaises(
            exceptions.Invalid,
            patch.apply,
            RULE,
            [{'op': 'test', 'path': '/priority', 'value': 1}] * 9,
        )

        self.assertIn('Operation 2', str(exc))
        self.assertIn('longer than 2 seconds', str(exc))

    def test_moves_do_not_nest_without_end(self):
        exc = self.assertRaises(
            exceptions.Invalid,
            patch.apply,
            RULE,
            [
                operation
                for _number in range(30)
                for operation in (
                    {'op': 'add', 'path': '/vars', 'value': []},
                    {'op': 'move', 'from': '/conditions', 'path': '/vars/-'},
                    {'op': 'move', 'from': '/vars', 'path': '/conditions'},
                )
            ],
        )

        self.assertIn('deeper than', str(exc))

    def test_a_stray_member_does_not_hide_a_value(self):
        deep = []
        for _level in range(30):
            deep = [deep]
        self.assertRaises(
            exceptions.Invalid,
            patch.apply,
            RULE,
            [{'op': 'add', 'path': '/actions', 'from': '', 'value': deep}],
        )

    def test_lists_of_objects_take_a_string_as_it_is(self):
        rule = rule_object.StoredRule(**RULE)
        fields = {name: rule[name] for name in RULE}

        for text in ("{'op': 'log'}", 'f(', '[' * 100_000):
            changed = patch.apply(
                fields,
                [
                    {'op': 'add', 'path': '/actions/-', 'value': text},
                    {'op': 'replace', 'path': '/actions/0', 'value': text},
                ],
            )

            self.assertEqual([text, text], changed['actions'])

    def test_operations_of_a_sensitive_rule_are_replaced_whole(self):
        rule = {**RULE, 'sensitive': True}
        for name in ('actions', 'conditions'):
            for op, path in (
                ('add', '0/args/path'),
                ('add', '-'),
                ('remove', '0'),
                ('replace', '0'),
                ('replace', '0/args'),
            ):
                self.assertRaises(
                    exceptions.Invalid,
                    patch.apply,
                    rule,
                    [{'op': op, 'path': f'/{name}/{path}', 'value': {}}],
                )
            for op in ('add', 'replace'):
                self.assertEqual(
                    [],
                    patch.apply(
                        rule, [{'op': op, 'path': f'/{name}', 'value': []}]
                    )[name],
                )

    @hypothesis.given(st.lists(OPERATIONS | VALUES, max_size=4) | VALUES)
    def test_any_patch_gives_a_mapping_or_is_refused(self, given):
        try:
            result = patch.apply(RULE, given)
        except exceptions.Invalid:
            return
        self.assertEqual(RULE['uuid'], result['uuid'])

    @hypothesis.given(st.lists(OPERATIONS, max_size=4))
    def test_no_secret_gets_where_it_can_be_read(self, given):
        hypothesis.assume(SECRET not in str(given))
        try:
            result = patch.apply({**RULE, 'sensitive': True}, given)
        except exceptions.Invalid as exc:
            self.assertNotIn(SECRET, str(exc))
            return
        self.assertNotIn(
            SECRET,
            str(
                {
                    name: value
                    for name, value in result.items()
                    if name not in ('conditions', 'actions')
                }
            ),
        )

    @hypothesis.given(VALUES)
    def test_a_secret_cannot_be_guessed(self, guess):
        for path, value in (
            ('/actions/0/args/msg', SECRET),
            ('/actions/0/args/msg', guess),
            ('/actions', guess),
            ('', guess),
        ):
            self.assertRaises(
                exceptions.Invalid,
                patch.apply,
                {**RULE, 'sensitive': True},
                [{'op': 'test', 'path': path, 'value': value}],
            )
