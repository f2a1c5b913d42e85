# SPDX-License-Identifier: Apache-2.0

"""Rows of tables in proofs are those that the engine finds."""

import copy
import json
import pathlib
import unittest

import fixtures

from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.tests.unit import base

try:
    from ironic_inspection_rules.kit.proof import question
    from ironic_inspection_rules.kit.proof import witness
    from ironic_inspection_rules.tests.simulation.proof import leisure
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

KEYS = ('5', '5.0', '-0.0', 'true', 'None', '1e+16', 'a', '007', ' 5')
VALUES = (
    5,
    5.0,
    -0.0,
    True,
    None,
    1e16,
    10**16,
    'a',
    '007',
    7,
    ' 5',
    '5',
    '',
    [5],
    {},
    'None',
)


class RowTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(leisure.Leisure())
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def rule_set(self, keys, condition, of='{plugin_data.x}'):
        path = self.folder / 'rules.json'
        path.write_text(
            json.dumps(
                {
                    'tables': {
                        't': {
                            'key': 'k',
                            'of': of,
                            'rows': [
                                {'k': key, 'c': f'row {key}'} for key in keys
                            ],
                        }
                    },
                    'rules': [
                        {
                            'description': 'r',
                            'conditions': [condition],
                            'actions': [
                                {'op': 'add-trait', 'args': ['CUSTOM_T']}
                            ],
                        }
                    ],
                }
            )
        )
        return machine_test.load_rule_set([str(path)], self.fail)

    def verdict(self, given):
        (answer,) = question.Proof(
            repository.order(given.rules), leisure.SECONDS, tables=given.tables
        ).answers([question.DEAD])
        return answer.verdict

    def test_a_row_that_some_machine_has_is_found(self):
        for key in KEYS:
            for of in ('{plugin_data.x}', '{plugin_data.x | add(1)}'):
                given = self.rule_set(
                    KEYS,
                    {
                        'op': 'eq',
                        'args': ['{tables.t | row | get("c")}', f'row {key}'],
                    },
                    of,
                )
                rules = repository.order(given.rules)
                engine = witness.Engine(given.tables)
                sample = copy.deepcopy(witness.sample())
                matched = [
                    value
                    for value in VALUES
                    if witness.has_matched(
                        engine.evaluate(
                            rules,
                            witness.Witness(
                                sample['inventory'],
                                {'x': value},
                                sample['node'],
                            ),
                        ),
                        rules[0],
                    )
                ]
                if matched:
                    with self.subTest(f'{key} of {of}'):
                        self.assertNotEqual('yes', self.verdict(given))

    def test_serial_numbers_are_no_texts_of_floats(self):
        given = self.rule_set(
            ['7xe2.93', 'abe'],
            {'op': 'exists', 'args': ['{tables.t | row}']},
            '{plugin_data.x | add(1)}',
        )
        # A number is the key of no row.
        self.assertEqual('yes', self.verdict(given))


class TableTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(leisure.Leisure())
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def rule_set(self, rules, of='{inventory.x}', secret=(), cell='a'):
        """Load rules and a table with a row for the key ``k``."""
        defined = {
            'key': 'k',
            'of': of,
            'secret': [*secret],
            'rows': [{'k': 'k', 'c': cell}],
        }
        path = self.folder / 'rules.json'
        path.write_text(json.dumps({'tables': {'t': defined}, 'rules': rules}))
        return machine_test.load_rule_set([str(path)], self.fail)

    def machine(self, **inventory):
        sample = copy.deepcopy(witness.sample())
        return witness.Witness(
            {**sample['inventory'], **inventory}, {}, sample['node']
        )

    def verdict(self, one, other):
        (answer,) = question.Proof(
            repository.order(one.rules),
            leisure.SECONDS,
            repository.order(other.rules),
            tables=one.tables,
            other_tables=other.tables,
        ).answers([question.DIFFERENT])
        return answer.verdict

    def test_only_sensitive_rules_read_secret_columns(self):
        secret = "{tables.t | row | get('c')}"
        writes = {'op': 'set-plugin-data', 'args': ['/x', secret]}
        adds = {'op': 'add-trait', 'args': ['CUSTOM_T']}
        asks = {'op': 'eq', 'args': [secret, 'a']}
        for content in (
            {'actions': [writes]},
            {'actions': [adds], 'conditions': [asks]},
        ):
            given = {'description': 'r', **content}
            one = self.rule_set([{**given, 'sensitive': True}], secret=['c'])
            other = self.rule_set([given], secret=['c'])
            self.assertTrue(
                witness.Engine(one.tables).differs(
                    repository.order(one.rules),
                    repository.order(other.rules),
                    self.machine(x='k'),
                )
            )
            self.assertNotEqual(question.NO, self.verdict(one, other))

    def test_one_is_not_true_in_a_table(self):
        copies = {
            'op': 'set-plugin-data',
            'args': ['/x', "{tables.t | row | get('c')}"],
        }
        given = [{'description': 'r', 'actions': [copies]}]
        one = self.rule_set(given, cell=1)
        other = self.rule_set(given, cell=True)
        self.assertNotEqual(question.NO, self.verdict(one, other))

    def test_a_rule_may_change_which_row_a_machine_has(self):
        has_row = {'op': 'exists', 'args': ['{tables.t | row}']}
        is_asked = {'op': 'eq', 'args': ['{inventory.y}', 'r']}
        given = self.rule_set(
            [
                {
                    'description': 'names',
                    'priority': 9,
                    'actions': [
                        {'op': 'set-attribute', 'args': ['/name', 'k']}
                    ],
                },
                {
                    'description': 'reads the row',
                    'priority': 8,
                    'conditions': [has_row, is_asked],
                    'actions': [{'op': 'set-plugin-data', 'args': ['/x', 1]}],
                },
                {
                    'description': 'names again',
                    'priority': 7,
                    'actions': [
                        {'op': 'set-attribute', 'args': ['/name', 'z']}
                    ],
                },
            ],
            of='{node.name}',
        )
        rules = repository.order(given.rules)
        self.assertTrue(
            witness.Engine(given.tables).differs(
                rules, rules[1:], self.machine(y='r')
            )
        )
        proof = question.Proof(rules, leisure.SECONDS, tables=given.tables)
        first, *_others = proof.answers([question.SHADOWED])
        self.assertEqual((rules[0],), first.rules)
        self.assertNotEqual(question.YES, first.verdict)
