# SPDX-License-Identifier: Apache-2.0

"""Every case of the corpus, and whether the corpus is complete."""

import collections
import copy
import re

import fixtures

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.plugins.legacy import translate
from ironic_inspection_rules.tests.corpus import case as corpus
from ironic_inspection_rules.tests.corpus import checks
from ironic_inspection_rules.tests.unit import base

_SENTENCE = 3
_OP = 5
_ALL = 250


class CorpusTestCase(checks.Checks, base.TestCase):
    """Has one test for each case; see the end of this module."""

    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.pattern.TIME_LIMIT',
                0.01,
            )
        )

    def check(self, case):
        found = corpus.problems(case)
        if case.get('problems'):
            self.check_problems(case.get('problems'), found)
            return
        self.assertEqual([], found)
        given = copy.deepcopy(case.content)
        self.check_result(case, corpus.run(case))
        self.check_result(case, corpus.run(case, in_other_form(case)))
        self.check_explanation(case)
        if 'holds' in case.content:
            self.check_opposite(case)
        self.assertEqual(given, case.content)

    def check_problems(self, expected, found):
        messages = collections.defaultdict(str)
        for problem in found:
            messages[problem.pointer] += problem.sentence
        self.assertEqual(expected.keys(), messages.keys())
        for pointer, text in expected.items():
            self.assertIn(text, messages[pointer])

    def check_explanation(self, case):
        """Explaining changes nothing of what is explained."""
        result = corpus.run(case, explain=True)
        self.check_result(case, result)
        reasons = [
            condition.reason
            for trace in result.outcome.traces
            for condition in trace.conditions
        ]
        for text, reason in zip(
            case.get('reasons', ()), reasons, strict='reasons' in case.content
        ):
            self.assertIn(text, reason)


def in_other_form(case):
    ops = registry.installed()
    rules = copy.deepcopy(case.rules)
    for rule in rules:
        for name, known in (
            ('conditions', ops.conditions),
            ('actions', ops.actions),
        ):
            rule[name] = [
                corpus.other_form(each, known) for each in rule.get(name) or ()
            ]
    return rules


class CompletenessTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.cases = corpus.load()

    def test_there_are_enough_cases(self):
        self.assertGreaterEqual(len(self.cases), _ALL)

    def test_no_two_cases_of_a_file_have_the_same_name(self):
        names = collections.Counter(map(_method, self.cases))
        self.assertEqual(
            [], [name for name, count in names.items() if count > 1]
        )

    def test_each_sentence_has_enough_cases(self):
        counts = collections.Counter(
            (case.file, case.sentence) for case in self.cases
        )
        self.assertEqual(
            {},
            {
                sentence: count
                for sentence, count in counts.items()
                if count < _SENTENCE
            },
        )

    def test_each_op_has_enough_cases(self):
        counts = collections.Counter(
            op
            for case in self.cases
            for op in {
                each['op'].lstrip('! ')
                for each in case.operations
                if isinstance(each, dict) and isinstance(each.get('op'), str)
            }
        )
        ops = registry.installed()
        # Those of ironic-inspector are held to what it did, which is
        # recorded elsewhere.
        self.assertEqual(
            {},
            {
                op: counts[op]
                for op in [*ops.conditions, *ops.actions]
                if counts[op] < _OP and not op.startswith(translate.PREFIX)
            },
        )


def _method(case):
    return 'test_' + re.sub(
        '[^a-z0-9]+', '_', f'{case.file} {case.name}'.lower()
    ).strip('_')


for _case in corpus.load():
    setattr(
        CorpusTestCase,
        _method(_case),
        lambda self, case=_case: self.check(case),
    )
