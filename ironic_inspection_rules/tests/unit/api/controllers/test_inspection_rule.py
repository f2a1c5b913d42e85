# SPDX-License-Identifier: Apache-2.0

"""Pages of rules, against a model."""

import fixtures
import hypothesis
from hypothesis import strategies as st
from ironic.common import context
from ironic.common import exception as ironic_exception

from ironic_inspection_rules.api.controllers import inspection_rule
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base


def uuid(number):
    """Make a UUID that tells which rule it is."""
    return f'00000000-0000-4000-8000-{number:012}'


class PageTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
        self.context = context.get_admin_context()
        self.built_in = [
            model.Rule(
                uuid=uuid(number),
                actions=(),
                priority=priority,
                scope=scope,
                description=description,
                built_in=True,
            )
            for number, (priority, scope, description) in enumerate(
                [(5, None, None), (-1, 'a', 'x'), (20000, 'B', '')]
            )
        ]
        for number, (priority, scope, description) in enumerate(
            [
                (5, 'a', None),
                (0, 'B', '\xe9'),
                (5, None, 'Z'),
                (9, 'a', 'x'),
                (0, None, 'a'),
            ],
            10,
        ):
            db_rule.create_rule(
                {
                    'uuid': uuid(number),
                    'version': '1.0',
                    'conditions': [],
                    'actions': [],
                    'priority': priority,
                    'scope': scope,
                    'description': description,
                }
            )

    def pages(self, limit, sort_key='id', descending=False, **filters):
        """Follow the pages from the first to the last."""
        marker, more = None, True
        while more:
            rules = inspection_rule.list_page(
                self.context,
                self.built_in,
                filters,
                sort_key,
                descending,
                limit + 1,
                marker,
            )
            more = len(rules) > limit
            yield [int(rule.uuid[-12:]) for rule in rules[:limit]]
            marker = rules[:limit][-1].uuid if rules else None

    @hypothesis.given(
        limit=st.integers(1, 9),
        descending=st.booleans(),
        sort_key=st.sampled_from(['priority', 'scope', 'description']),
        scope=st.sampled_from([None, 'a', 'B']),
    )
    def test_pages_put_together_are_all_rules_in_order(
        self, limit, descending, sort_key, scope
    ):
        stored = rule_object.StoredRule.list(self.context)
        everything = sorted(
            [*self.built_in, *stored], key=lambda rule: -rule.priority
        )
        expected = sorted(
            (rule for rule in everything if not scope or rule.scope == scope),
            key=lambda rule: (
                getattr(rule, sort_key) is not None,
                getattr(rule, sort_key),
            ),
            reverse=descending,
        )

        pages = list(
            self.pages(
                limit,
                sort_key,
                descending,
                **({'scope': scope} if scope else {}),
            )
        )

        self.assertEqual(
            [rule.uuid for rule in expected],
            [uuid(number) for page in pages for number in page],
        )
        self.assertTrue(all(len(page) == limit for page in pages[:-1]))

    def test_creation_order_has_built_in_rules_first(self):
        self.assertEqual(
            [[0, 1, 2, 10], [11, 12, 13, 14]], list(self.pages(4))
        )
        self.assertEqual(
            [[14, 13, 12, 11, 10], [2, 1, 0]],
            list(self.pages(5, descending=True)),
        )

    def test_creation_order_is_not_that_of_moved_rules(self):
        for number, position in ((12, 0.5), (11, 9.0)):
            rule = db_rule.get_rule_by_uuid(uuid(number))
            db_rule.update_rule(
                rule.uuid, {'position': position}, rule.revision
            )

        self.assertEqual([[0, 1, 2, 10, 11, 12, 13, 14]], list(self.pages(9)))
        self.assertEqual(
            [[14, 13, 12, 11, 10, 2, 1, 0]],
            list(self.pages(9, descending=True)),
        )

    def test_rules_of_equal_values_are_in_the_order_in_which_they_run(self):
        self.assertEqual(
            [[13, 10, 12, 11, 14]],
            [
                [number for number in page if number >= 10]
                for page in self.pages(9, 'sensitive')
            ],
        )

    def test_falling_priority_is_the_order_in_which_rules_run(self):
        self.assertEqual(
            [[2, 13, 0, 10, 12, 11, 14, 1]],
            list(self.pages(10, 'priority', True)),
        )

    def test_without_a_key_rules_are_in_the_order_in_which_they_run(self):
        for number, phase in ((20, 'early'), (21, 'preprocess')):
            db_rule.create_rule(
                {
                    'uuid': uuid(number),
                    'version': '1.0',
                    'conditions': [],
                    'actions': [],
                    'priority': 0,
                    'phase': phase,
                }
            )
        expected = [20, 21, 2, 13, 0, 10, 12, 11, 14, 1]
        self.assertEqual([expected], list(self.pages(10, None)))
        self.assertEqual([expected[::-1]], list(self.pages(10, None, True)))

    def test_the_page_after_a_marker_that_is_gone_is_not_found(self):
        self.assertRaises(
            ironic_exception.InspectionRuleNotFound,
            inspection_rule.list_page,
            self.context,
            self.built_in,
            {},
            'id',
            False,
            3,
            uuid(99),
        )

    def test_a_rule_that_goes_meanwhile_is_left_out(self):
        pages = self.pages(4)
        next(pages)
        db_rule.destroy_rule(uuid(12))

        self.assertEqual([[11, 13, 14]], list(pages))

    def test_rules_that_go_while_a_page_is_read_are_none_less_on_it(self):
        read = rule_object.StoredRule.list

        def read_late(_cls, context, filters):
            for gone in (10, 11):
                if uuid(gone) in filters['uuid']:
                    db_rule.destroy_rule(uuid(gone))
            return read(context, filters)

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.objects.rule.StoredRule.list',
                read_late,
            )
        )
        rules = inspection_rule.list_page(
            self.context, [], {}, 'id', False, 3, None
        )

        self.assertEqual(
            [uuid(12), uuid(13), uuid(14)], [each.uuid for each in rules]
        )
