# SPDX-License-Identifier: Apache-2.0

"""YAML as people like to read it, and JSON as YAML can."""

import json
import random
from unittest import mock

import hypothesis
from hypothesis import strategies as st
import yaml

from ironic_inspection_rules.rule_file import yaml_text
from ironic_inspection_rules.tests.unit import base


class DumpTestCase(base.TestCase):
    def test_what_is_in_two_places_is_written_twice(self):
        shared = {'ä': [1, 2]}
        for dumper in (yaml_text.Dumper, yaml_text.FastDumper):
            text = yaml_text.dump({'b': shared, 'a': [shared]}, Dumper=dumper)
            self.assertEqual(
                'b:\n  ä:\n  - 1\n  - 2\na:\n- ä:\n  - 1\n  - 2\n', text
            )
            self.assertEqual(
                {'b': shared, 'a': [shared]}, yaml.safe_load(text)
            )


def read(text):
    """Return the values of the documents of a text."""
    return [
        yaml_text.construct(root, text) for root in yaml_text.parse_nodes(text)
    ]


class FlowWriter:
    """Writes values in the flow style of YAML, with tabs where it may.

    :param chance: decides about quotes, and what is between values.
    :param tabs_in_plain: whether to write tabs in text without quotes, which
        PyYAML rejects where libyaml does not.
    """

    def __init__(self, chance, tabs_in_plain):
        self.chance = chance
        self.tabs_in_plain = tabs_in_plain

    def gap(self):
        return self.chance.choice(
            ('', '', ' ', '\t', '\n', '\n\t', '\t\n', ' # "x"\t\'y\'\n')
        )

    def text(self, value):
        quotes = self.chance.choice(('"', '"', "'", ''))
        is_plain = value.isidentifier() or (
            self.tabs_in_plain and value.replace('\t', '').isidentifier()
        )
        if quotes == '' and is_plain and value == value.strip():
            return value
        if quotes == "'":
            return "'{}'".format(value.replace("'", "''"))
        written = json.dumps(
            value, ensure_ascii=self.chance.choice((True, False))
        )
        if self.chance.random() < 0.5:
            # YAML knows more escapes than JSON, and more than escapes.
            written = written.replace('\\t', '\t').replace('a', '\\x61')
        return self.chance.choice(('', '', '!!str ', '!!str\t')) + written

    def member(self, key, value):
        # A key and its colon are on one line.
        before = self.chance.choice(('', ' ', '\t'))
        behind = self.chance.choice(' \t')
        return f'{self.text(key)}{before}:{behind}{self.value(value)}'

    def value(self, value):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int):
            return str(value)
        if isinstance(value, list):
            items = [self.value(item) for item in value]
            brackets = '[]'
        else:
            items = [self.member(*member) for member in value.items()]
            brackets = '{}'
        between = f'{self.gap()},{self.gap()}'
        return (
            f'{brackets[0]}{self.gap()}{between.join(items)}{self.gap()}'
            f'{brackets[1]}'
        )


TEXTS = st.text(
    '\t\t🙂é\ufffda b\'"\\#:,[]{}ud83', max_size=9
) | st.sampled_from(
    [r'\ud83d\ude00', r'a\\ud83d\ude00', '🙂🙂', '\ufffd\ufffd', 'a\tb', 'a']
)
VALUES = st.recursive(
    TEXTS | st.integers(0, 9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=6,
)
COLLECTIONS = st.lists(VALUES, max_size=3) | st.dictionaries(
    TEXTS, VALUES, max_size=3
)


class FileThatBeginsLikeJsonTestCase(base.TestCase):
    def test_tabs_in_text_stay(self):
        for text in ('["a\tb"]', "['a\tb']", '["a\\\tb"]', '\t["a\tb"]\n\t\n'):
            self.assertEqual([['a\tb']], read(text))
        if hasattr(yaml, 'CSafeLoader'):
            self.assertEqual([[{'a\tb': 'a\tb'}]], read('[{a\tb:\ta\tb\t}]'))

    def test_tabs_in_later_documents_stay(self):
        for marker in ('---', '...\n---'):
            self.assertEqual(
                [[1], {'a': 'b\tc\n'}], read(f'[1]\n{marker}\na: |\n  b\tc\n')
            )
        # A line may also end with a carriage return alone.
        self.assertEqual([[1], ['a\tb']], read('[1]\r---\r- "a\tb"'))

    def test_what_only_looks_like_a_pair_of_escapes_stays(self):
        pair = '\\ud83d\\ude00'
        for text in (
            f"['{pair}']",
            f'[{pair}]',
            f'["\\{pair[:6]}\\{pair[6:]}"]',
        ):
            self.assertEqual([[pair]], read(text))
        self.assertEqual([[1], [pair]], read(f'[1]\n---\n- {pair}\n'))

    def test_pairs_of_escapes_are_read_beside_what_json_lacks(self):
        pair = '\\ud83d\\ude00'
        for text, expected in (
            (f'["\\x61{pair}"]', 'a😀'),
            (f'["a\n\t{pair}"]', 'a 😀'),
            (f'["a\t{pair}"]', 'a\t😀'),
            (f'[!!str "{pair}"]', '😀'),
            (f'[&a "{pair}"]', '😀'),
            (f'["\ufffd{pair}\\ufffd"]', '\ufffd😀\ufffd'),
        ):
            self.assertEqual([[expected]], read(text))

    def test_an_alias_of_text_with_a_pair_of_escapes(self):
        self.assertEqual([['😀', '😀']], read('[&a "\\ud83d\\ude00", *a]'))

    def test_keys_that_differ_in_a_pair_of_escapes_differ(self):
        value = {'😀': 1, '😁': 2}
        self.assertEqual([value], read(json.dumps(value)))

    def test_json_is_read_as_it_is_written(self):
        for character in '\x7f\x80\x85\u2028\u2029\ufffe\uffff':
            value = {f'a {character} b': [f'a {character} b', '\ufffd😀']}
            for indent in (None, '\t'):
                text = json.dumps(value, ensure_ascii=False, indent=indent)
                self.assertEqual([value], read(text))
        self.assertEqual(
            [['a\t\x85 b😀']], read('["a\t\x85 b\\ud83d\\ude00"]')
        )

    def test_line_ends_of_yaml_are_folded_where_a_file_is_not_json(self):
        self.assertEqual([['a b', 'c']], read('["a\x85b", c]'))

    def test_mistakes_are_found_where_they_are(self):
        for text, line in (
            ('["\\ud83d\\ude00"\n\t1]', 1),
            ('["\\ud83d\\ude00",\n\t"\\q"]', 1),
            ('{"a":\t"\\ud83d\\ude00",\n\n\t"b}', 2),
        ):
            error = self.assertRaises(yaml.MarkedYAMLError, read, text)
            self.assertEqual(line, error.problem_mark.line)

    def test_what_is_too_deep_with_tabs_is_refused(self):
        error = self.assertRaises(yaml.MarkedYAMLError, read, '[\t' * 20_000)
        self.assertIn('nested too deeply', error.problem)
        deep = '["\u2028",' * 20_000
        error = self.assertRaises(yaml.MarkedYAMLError, read, deep)
        self.assertIn('nested too deeply', error.problem)

    @hypothesis.given(
        st.lists(COLLECTIONS, min_size=1, max_size=2),
        st.integers(0, 2**32),
        st.booleans(),
    )
    def test_no_data_are_changed(self, documents, seed, pure):
        loader = yaml_text.Loader
        if pure:
            loader = yaml.SafeLoader
        writer = FlowWriter(
            random.Random(seed), tabs_in_plain=loader is not yaml.SafeLoader
        )
        text = '\n---\n'.join(
            writer.value(one_document) for one_document in documents
        )
        with mock.patch.object(yaml_text, 'Loader', loader):
            self.assertEqual(documents, read(text))
