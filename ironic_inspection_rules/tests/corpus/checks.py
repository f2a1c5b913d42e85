# SPDX-License-Identifier: Apache-2.0

"""Comparing what rules did to a machine with what a case says."""

import copy

import testtools

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.tests.corpus import case as corpus

_OPPOSITE = {'any': 'all', 'all': 'any', 'first': 'first', 'last': 'last'}


class Checks(testtools.TestCase):
    """What a test of cases checks."""

    def check_result(self, case, result):
        self.check_error(case, result.outcome.error)
        if 'holds' in case.content:
            self.assertEqual([case.get('holds') is True], result.matched)
        for name in ('matched', 'changes'):
            if name in case.content:
                self.assertEqual(case.get(name), getattr(result, name))
        if 'notes' in case.content:
            self.assertEqual(case.get('notes'), result.target.journal.notes)
        for pointer, value in case.get('after', {}).items():
            self.assertTrue(
                data_path.is_same(value, result.at(pointer)),
                f'{pointer}: {result.at(pointer)!r}',
            )
        for pointer in case.get('gone', ()):
            self.assertIs(data_path.ABSENT, result.at(pointer))
        for text in case.get('hidden', ()):
            self.assertNotIn(text, result.shown())
        if 'trace' in case.content:
            plugin_data = {}
            result.outcome.record(plugin_data, 'main')
            self.assertEqual(
                case.get('trace'), plugin_data['inspection_rules']['main']
            )

    def check_error(self, case, error):
        expected = case.get('fails') or case.get('error')
        if not expected:
            self.assertIsNone(error)
            return
        for text in expected:
            self.assertIn(text, str(error))
        self.assertEqual(
            'fails' in case.content, hasattr(error, 'maintenance')
        )
        self.assertEqual(
            case.get('maintenance', False),
            getattr(error, 'maintenance', False),
        )

    def check_opposite(self, case):
        rule = copy.deepcopy(case.rules[0])
        op = rule['conditions'][0]['op'].strip()
        rule['conditions'][0]['op'] = (
            op[1:] if op.startswith('!') else f'!{op}'
        )
        if rule['conditions'][0].get('loop') is not None:
            rule['conditions'][0]['multiple'] = _OPPOSITE[
                rule['conditions'][0].get('multiple') or 'any'
            ]
        self.assertEqual(
            [case.get('holds') is False], corpus.run(case, [rule]).matched
        )
