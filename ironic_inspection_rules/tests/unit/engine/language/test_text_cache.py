# SPDX-License-Identifier: Apache-2.0

import gc
import json
import tracemalloc

from ironic_inspection_rules.engine.language import path
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.plugins.conditions import comparison
from ironic_inspection_rules.plugins.conditions import (
    value as value_conditions,  # noqa: H301
)
from ironic_inspection_rules.plugins.legacy import action
from ironic_inspection_rules.plugins.legacy import field
from ironic_inspection_rules.plugins.legacy import text as legacy_text
from ironic_inspection_rules.tests.unit import base

LENGTH = 50_000

READERS = {
    'the name of a secret': masking.is_secret,
    'a number': comparison.as_number,
    'an address': lambda text: value_conditions.InNet()(
        f'10.0.0.1/{text}', '10.0.0.0/8'
    ),
    'a path': lambda text: path.parse(f'/{text}'),
    'a template': lambda text: template.compile_value(f'{{item}}{text}'),
    'a field of ironic-inspector': lambda text: field.compile_field(
        f'data://{text}'
    ),
    'a text of ironic-inspector': lambda text: legacy_text.render(
        f'{text}{{data[a]}}', {'a': 1}
    ),
    'a path of ironic-inspector': lambda text: action._read_path(
        f'/extra/{text}'
    ),
}


class TextCacheTestCase(base.TestCase):
    def test_short_texts_are_read_once(self):
        read = []
        known = text_cache.cache_short_texts(maxsize=2, longest=3)(read.append)

        for text in ('abc', 'abc', 'abcd', 'abcd'):
            known(text)

        self.assertEqual(['abc', 'abcd', 'abcd'], read)

    def test_nobody_keeps_long_texts(self):
        for name, read in READERS.items():
            with self.subTest(name):
                self.assertLess(self.left_by(read, 8), 4)

    @staticmethod
    def left_by(read, times):
        """Count the texts that remain of those that were read.

        What a library keeps of itself are smaller pieces of memory.
        """
        read('x')
        # All that is there by now need not be searched for what remains.
        gc.freeze()
        tracemalloc.start()
        try:
            for number in range(times):
                read('x' * LENGTH + str(number))
            gc.collect()
            traces = tracemalloc.take_snapshot().traces
            return sum(trace.size >= LENGTH for trace in traces)
        finally:
            tracemalloc.stop()
            gc.unfreeze()


class EqualTextsTestCase(base.TestCase):
    def test_equal_texts_become_one(self):
        texts = text_cache.TextInterner()
        first, second = (
            json.loads('{"rack": "rack 1", "unit": 1, "x": []}')
            for _number in range(2)
        )
        self.assertIsNot(first['rack'], second['rack'])
        made = texts.build_mapping(first.items())
        other = texts.build_mapping(second.items())
        self.assertEqual([first, second], [made, other])
        self.assertIs(made['rack'], other['rack'])

    def test_many_texts_stay_what_they_are(self):
        texts = text_cache.TextInterner()
        rows = [
            {'n': f'{number % 7000}', 'm': number} for number in range(20_000)
        ]
        built = [texts.build_mapping(row.items()) for row in rows]
        self.assertEqual(rows, built)
