# SPDX-License-Identifier: Apache-2.0

"""However a file is written, mending loses nothing of it."""

import collections
import json
import random
import re

import hypothesis
from hypothesis import strategies

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import mended_file
from ironic_inspection_rules.kit.authoring import mended_text
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.authoring import written

COMMENT = re.compile(r'#c\d+ . x')
PLACES = collections.defaultdict(lambda: (1, 1))


def mended(text):
    return mended_file.mend_text('x', text, registry.installed())[0]


def entries(text):
    return list(document.parse('x', text).entries)


def wanted(rules):
    """Return what mends rules that are data, with the number of each."""
    read = document.Document('x', tuple(rules), PLACES)
    return [
        (
            rule.index,
            list(
                dict.fromkeys(mended_file.changes(rule, registry.installed()))
            ),
        )
        for rule in file_rule.list_rules(read)
    ]


def mended_data(rules):
    """Mend rules that nobody wrote down."""
    while any(changes for _index, changes in wanted(rules)):
        rules = [
            mended_text.apply(rules[index], changes)
            for index, changes in wanted(rules)
        ]
    return rules


class WrittenTestCase(base.TestCase):
    @hypothesis.settings(derandomize=True, database=None)
    @hypothesis.given(
        seed=strategies.integers(0, 2**32),
        slips=strategies.booleans(),
        anchors=strategies.booleans(),
        mark=strategies.sampled_from(('', '\ufeff')),
        line_end=strategies.sampled_from(('\n', '\r\n')),
    )
    def test_yaml(self, seed, slips, anchors, mark, line_end):
        chance = random.Random(seed)
        rules = written.Rules(chance, slips)
        documents = []
        for _number in range(chance.choice((1, 1, 1, 3))):
            entries_of_one = rules.make(chance.choice((1, 2, 3)))
            documents.append(self.document(chance, entries_of_one))
        text = written.Writer(chance, anchors).text(documents)
        text = text.replace('\n', line_end)

        after = mended(mark + text)

        self.assertTrue(after.startswith(mark))
        after = after.removeprefix(mark)
        self.assertEqual(COMMENT.findall(text), COMMENT.findall(after))
        self.assertEqual(
            '\n' in text.replace('\r\n', ''),
            '\n' in after.replace('\r\n', ''),
            after,
        )
        self.check(text, after, complete=not anchors)

    @hypothesis.settings(
        deadline=None, derandomize=True, max_examples=20, database=None
    )
    @hypothesis.given(
        seed=strategies.integers(0, 2**32),
        indent=strategies.sampled_from((None, 2, '\t')),
        ascii=strategies.booleans(),
    )
    def test_json(self, seed, indent, ascii):
        chance = random.Random(seed)
        rules = written.Rules(chance, True).make(2)
        text = json.dumps(rules, indent=indent, ensure_ascii=ascii)
        after = mended(text)
        self.assertEqual(entries(after), json.loads(after))
        self.check(text, after, complete=True)

    def document(self, chance, rules):
        return chance.choice(
            (rules, rules, rules[0], {'one': rules, 'other': 'x'})
        )

    def check(self, text, after, complete):
        """Check what must hold for any file.

        :param complete: whether nothing may be left.
        """
        self.assertEqual(after, mended(after))
        before, now = entries(text), entries(after)
        self.assertEqual(mended_data(before), mended_data(now), after)
        self.assertNotIn('#c', json.dumps(now))
        if complete:
            self.assertEqual(mended_data(now), now, after)


class FormsTestCase(base.TestCase):
    def test_keys_have_the_quotes_of_those_beside_them(self):
        for quote in ('', "'", '"'):
            for args in ('[x, info]', '\n    - x\n    - info'):
                text = (
                    f'- actions:\n  - op: log\n'
                    f'    {quote}args{quote}: {args}\n'
                )
                self.assertIn(f'{quote}level{quote}: info', mended(text))

    def test_a_list_that_says_it_is_one_stays(self):
        for text in (
            '- actions: [{op: log, args: !!seq [x]}]\n',
            '- actions:\n  - op: log\n    args: !!seq\n    - x\n',
        ):
            self.assertEqual(text, mended(text))

    def test_nothing_is_put_behind_a_key_without_a_value(self):
        self.assertEqual(
            '- actions:\n  - op: set-attribute\n    args:\n'
            '      path: /extra/a\n      value:\n    # Nothing.\n',
            mended(
                '- actions:\n  - op: set-attribute\n    args:\n'
                '    - /extra/a\n    -\n    # Nothing.\n'
            ),
        )

    def test_a_tab_before_a_comment_is_in_nobodys_way(self):
        self.assertEqual(
            '- actions: [{op: log, args: {msg: x}}]\t# c\n',
            mended('- actions: [{op: log, args: [x]}]\t# c\n'),
        )

    def test_what_stays_costs_little(self):
        # 300 rules once took minutes, and gigabytes.
        shared = '\n  '.join(
            f'- {{op: set-attribute, args: &a{number} [/extra/a, 1]}}\n'
            f'  - {{op: set-plugin-data, args: *a{number}}}'
            for number in range(100)
        )
        parsed = []
        parse = document.parse
        self.patch(
            document,
            'parse',
            lambda *args: parsed.append(args) or parse(*args),
        )
        after = mended(
            f'- actions:\n  {shared}\n- actions: [{{op: log, args: [x]}}]\n'
        )
        self.assertIn('{msg: x}', after)
        self.assertLess(len(parsed), 5)
