# SPDX-License-Identifier: Apache-2.0

"""The pairs of rules that may meet are those that no wanted value parts."""

import itertools
import random
import tracemalloc

from oslotest import base

from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import required_values

FIELDS = ('/node/a', '/node/b')
COMPARISONS = ('eq', 'ne', 'lt', 'le', 'gt', 'ge')
NUMBERS = range(8)
TEXTS = ('a', 'b', 'ba', 'c')


def wanted_of(facts_of_rule):
    """Return what a rule wants whose conditions state these facts."""
    wanted = required_values.RequiredValues()
    for fact in facts_of_rule:
        wanted.add(fact, '')
    return wanted


def make_fact(choose):
    """Return a fact about a number."""
    field = choose.choice(FIELDS)
    if choose.random() < 0.3:
        return facts.Fact(field, 'one-of', choose.sample(NUMBERS, 2))
    return facts.Fact(
        field, choose.choice(COMPARISONS), choose.choice(NUMBERS)
    )


class PairsThatMayMeetTestCase(base.BaseTestCase):
    def pairs(self, *facts_of_rules):
        wanted = list(map(wanted_of, facts_of_rules))
        return list(required_values.pairs_that_may_meet(wanted))

    def test_pairs_that_are_left_out_exclude_each_other(self):
        choose = random.Random(0)
        left_out = 0
        for _number in range(300):
            rules = [
                [make_fact(choose) for _ in range(choose.randrange(3))]
                for _ in range(6)
            ]
            pairs = self.pairs(*rules)
            self.assertEqual(sorted(pairs), pairs)
            for pair in itertools.combinations(range(len(rules)), 2):
                if pair in pairs:
                    continue
                left_out += 1
                first, second = (rules[position] for position in pair)
                self.assertTrue(
                    facts.contradict(first, second), (first, second)
                )
        self.assertGreater(left_out, 500)

    def test_pairs_of_single_bounds_are_those_that_do_not_exclude(self):
        stated = [
            facts.Fact('/node/a', relation, number)
            for relation in ('eq', 'lt', 'le', 'gt', 'ge')
            for number in NUMBERS
        ]
        expected = [
            (first, second)
            for first, second in itertools.combinations(range(len(stated)), 2)
            if not facts.exclude(stated[first], stated[second])
        ]
        self.assertEqual(expected, self.pairs(*([fact] for fact in stated)))

    def test_pairs_of_text_bounds_are_those_that_do_not_exclude(self):
        stated = [
            facts.Fact('/node/a', relation, text)
            for relation in ('eq', 'lt', 'le', 'gt', 'ge')
            for text in TEXTS
        ]
        expected = [
            (first, second)
            for first, second in itertools.combinations(range(len(stated)), 2)
            if not facts.exclude(stated[first], stated[second])
        ]
        self.assertEqual(expected, self.pairs(*([fact] for fact in stated)))

    def test_texts_of_numbers_and_unordered_facts_have_no_range(self):
        below = facts.Fact('/node/a', 'lt', 'b')
        for other in (
            facts.Fact('/node/a', 'gt', '5'),
            facts.Fact('/node/a', 'gt', 5),
            facts.Fact('/node/a', 'ne', 'c'),
            facts.Fact('/node/a', 'gt', 'c', unordered=True),
        ):
            self.assertEqual([(0, 1)], self.pairs([below], [other]), other)

    def test_a_rule_that_never_holds_is_in_all_pairs(self):
        never = [
            facts.Fact('/node/a', 'gt', 5),
            facts.Fact('/node/a', 'lt', 3),
        ]
        other = [facts.Fact('/node/a', 'eq', 9)]
        self.assertEqual(
            [(0, 1), (0, 2), (1, 2)], self.pairs(never, other, never)
        )

    def test_fields_of_other_vars_are_other_fields(self):
        wanted = []
        for value, own_vars in ((1, '{"a": 1}'), (2, '{"a": 2}')):
            wanted.append(required_values.RequiredValues())
            wanted[-1].add(facts.Fact('/vars/a', 'eq', value), own_vars)
        self.assertEqual(
            [(0, 1)], list(required_values.pairs_that_may_meet(wanted))
        )

    def test_rules_that_all_agree_take_little_memory(self):
        stated = [
            facts.Fact('/node/a', 'eq', 1),
            facts.Fact('/node/b', 'gt', 4),
            facts.Fact('/node/c', 'ne', 4),
        ]
        wanted = [wanted_of(stated)] * 400
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        number = sum(1 for _ in required_values.pairs_that_may_meet(wanted))
        _current, peak = tracemalloc.get_traced_memory()
        self.assertEqual(400 * 399 // 2, number)
        self.assertLess(peak, 1_000_000)
