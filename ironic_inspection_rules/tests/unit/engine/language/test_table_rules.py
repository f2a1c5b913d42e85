# SPDX-License-Identifier: Apache-2.0

"""Rules that read tables."""

import uuid

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import table_check
from ironic_inspection_rules.engine.language import table_form
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import phase

TABLES = table_form.read_all(
    {
        'machines': {
            'key': '{serial | upper}',
            'of': '{plugin_data.serial | upper}',
            'secret': ['pin'],
            'rows': [
                {
                    'serial': 'a1',
                    'rack': 'r1',
                    'pin': '1234',
                    'more': {'unit': 7},
                },
                {'serial': 'b2', 'rack': 'r2', 'pin': '', 'more': None},
            ],
        },
        'cables': {
            'key': '{switch} {port}',
            'rows': [{'switch': 'sw1', 'port': 7, 'machine': 'a1'}],
        },
        'empty': {'key': 'name', 'of': '{plugin_data.serial}', 'rows': []},
    }
)
ROW = '{tables.machines | row}'


def written(value, serial='a1', **rule):
    """Return what a rule writes, and the error of the phase."""
    outcome, roots = phase.run(
        {
            'actions': [{'op': 'set-plugin-data', 'args': ['/made', value]}],
            **rule,
        },
        plugin_data={'serial': serial, 'switch': 'sw1', 'port': 7},
        tables=TABLES,
    )
    return roots['plugin_data'].get('made'), outcome.error


def holds(op, value, serial='a1'):
    outcome, _roots = phase.run(
        {'conditions': [{'op': op, 'args': [value]}]},
        plugin_data={'serial': serial, 'other': ['x']},
        tables=TABLES,
    )
    if outcome.error:
        raise outcome.error
    return bool(outcome.traces)


class RowTestCase(base.TestCase):
    def test_row_of_this_machine(self):
        self.assertEqual(
            'r1', written("{tables.machines | row | get('rack')}")[0]
        )

    def test_row_of_another_key(self):
        self.assertEqual(
            'r2', written("{tables.machines | row('B2') | get('rack')}")[0]
        )

    def test_row_of_a_computed_key(self):
        self.assertEqual(
            'r1',
            written(
                "{tables.machines | row(vars.key) | get('rack')}",
                vars={'key': '{plugin_data.serial | upper}'},
            )[0],
        )

    def test_lookup_in_a_table(self):
        made, error = written(
            "{vars.place | lookup(tables.cables) | get('machine')}",
            vars={'place': '{plugin_data.switch} {plugin_data.port}'},
        )
        self.assertIsNone(error)
        self.assertEqual('a1', made)

    def test_number_is_its_text(self):
        found = table_form.read_all({'n': {'key': 'n', 'rows': [{'n': 7}]}})
        outcome, _roots = phase.run(
            {
                'conditions': [
                    {
                        'op': 'exists',
                        'args': ['{plugin_data.port | lookup(tables.n)}'],
                    }
                ]
            },
            plugin_data={'port': 7},
            tables=found,
        )
        self.assertTrue(outcome.traces)

    def test_lookup_with_default(self):
        self.assertEqual(
            'none',
            written("{plugin_data.switch | lookup(tables.cables, 'none')}")[0],
        )

    def test_missing_row_is_a_missing_field(self):
        for text in (
            ROW,
            "{tables.machines | row('B3')}",
            '{plugin_data.serial | lookup(tables.machines)}',
            '{plugin_data.absent | lookup(tables.machines)}',
            '{tables.machines | row(plugin_data.absent)}',
        ):
            self.assertFalse(holds('exists', text, 'c3'), repr(text))
            self.assertTrue(holds('!exists', text, 'c3'), repr(text))

    def test_row_of_a_machine_without_usable_identity_is_missing(self):
        for serial in (None, '', ['a1'], {'a': 1}):
            self.assertTrue(holds('!exists', ROW, serial), repr(serial))

    def test_list_is_no_key(self):
        self.assertRaises(
            exceptions.RuleError,
            holds,
            'exists',
            '{tables.machines | row(plugin_data.other)}',
        )

    def test_vars_hold_a_row(self):
        self.assertEqual(
            7, written('{vars.row.more.unit}', vars={'row': ROW})[0]
        )

    def test_early_rules_read_tables(self):
        outcome, roots = phase.run(
            {
                'phase': 'early',
                'actions': [
                    {
                        'op': 'set-plugin-data',
                        'args': [
                            '/made',
                            "{tables.machines | row | get('rack')}",
                        ],
                    }
                ],
            },
            plugin_data={'serial': 'b2'},
            tables=TABLES,
        )
        self.assertIsNone(outcome.error)
        self.assertEqual('r2', roots['plugin_data']['made'])

    def test_audited_rules_read_tables(self):
        outcome, _roots = phase.run(
            {
                'mode': 'audit',
                'conditions': [{'op': 'exists', 'args': [ROW]}],
                'actions': [
                    {
                        'op': 'set-plugin-data',
                        'args': [
                            '/made',
                            "{tables.machines | row | get('rack')}",
                        ],
                    }
                ],
            },
            plugin_data={'serial': 'a1'},
            tables=TABLES,
        )
        self.assertIsNone(outcome.audited[0].error)
        self.assertEqual('r1', outcome.audited[0].actions[0].changes[0].value)

    def test_writing_beside_a_row_leaves_the_table_alone(self):
        before = dict(TABLES['cables'].row('sw1 7'))
        outcome, roots = phase.run(
            {
                'actions': [
                    {
                        'op': 'set-plugin-data',
                        'args': ['/made', "{tables.cables | row('sw1 7')}"],
                    },
                    {'op': 'set-plugin-data', 'args': ['/made/machine', 'x']},
                ]
            },
            plugin_data={},
            tables=TABLES,
        )
        self.assertIsNone(outcome.error)
        self.assertEqual('x', roots['plugin_data']['made']['machine'])
        self.assertEqual(before, TABLES['cables'].row('sw1 7'))

    def test_look_up_costs_the_same_in_any_table(self):
        rows = [{'n': str(number)} for number in range(20_000)]
        large = table_form.read_all({'n': {'key': 'n', 'rows': rows}})
        outcome, _roots = phase.run(
            {
                'conditions': [
                    {'op': 'exists', 'args': ["{tables.n | row('19999')}"]}
                ]
            },
            tables=large,
            limits=budget.Limits(operations=30),
        )
        self.assertIsNone(outcome.error)
        self.assertTrue(outcome.traces)

    def test_reason_does_not_show_a_table(self):
        outcome, _roots = phase.run(
            {
                'conditions': [
                    {
                        'op': 'eq',
                        'args': ["{tables.machines | row | get('rack')}", 'x'],
                    }
                ]
            },
            plugin_data={'serial': 'a1'},
            tables=TABLES,
            explain=True,
        )
        reason = outcome.traces[0].conditions[0].reason
        self.assertIn('r1', reason)
        self.assertNotIn('b2', reason)

    def test_reason_names_all_tables_that_have_a_row(self):
        # Nobody knows which one the rule has it from.
        made = {'key': 'serial', 'rows': [{'serial': 'a1', 'rack': 'r1'}]}
        other = {'key': 'rack', 'rows': made['rows']}
        for names in (('old', 'new', 'by_rack'), ('by_rack', 'new', 'old')):
            entries = {'old': made, 'new': made, 'by_rack': other}
            outcome, _roots = phase.run(
                {
                    'conditions': [
                        {'op': 'exists', 'args': ["{tables.old | row('a1')}"]}
                    ]
                },
                tables=table_form.read_all(
                    {name: entries[name] for name in names}
                ),
                explain=True,
            )
            self.assertIn(
                "<row 'r1' of by_rack or 'a1' of new or 'a1' of old>",
                outcome.traces[0].conditions[0].reason,
            )

    def test_reason_does_not_show_the_columns_of_a_row(self):
        for value, is_row in (
            (ROW, True),
            ('{vars.row}', True),
            ('{vars}', True),
            ("{tables.machines | row('B2')}", True),
            ('{vars.row | default({})}', True),
            ('{plugin_data.serial | upper | lookup(tables.machines)}', True),
            ('{plugin_data.other}', False),
        ):
            for op in ('exists', 'is-empty', '!one-of'):
                args = [value, ['x']] if op == '!one-of' else [value]
                outcome, _roots = phase.run(
                    {
                        'vars': {'row': ROW},
                        'mode': 'audit',
                        'conditions': [{'op': op, 'args': args}],
                    },
                    plugin_data={
                        'serial': 'a1',
                        'other': {'serial': 'a1', 'rack': 'r1'},
                    },
                    tables=TABLES,
                    explain=True,
                )
                reason = outcome.traces[0].conditions[0].reason
                self.assertEqual(
                    is_row, 'r1' not in reason and 'r2' not in reason, reason
                )


class SecretTestCase(base.TestCase):
    def of_rule(self, value, mask_secrets, **rule):
        outcome, roots = phase.run(
            {
                'actions': [
                    {'op': 'set-plugin-data', 'args': ['/made', value]}
                ],
                **rule,
            },
            plugin_data={'serial': 'a1'},
            tables=TABLES,
            mask_secrets=mask_secrets,
        )
        return roots['plugin_data'].get('made'), outcome.error

    def test_sensitive_rule_reads_them_whatever_the_option(self):
        for option in ('always', 'sensitive', 'never'):
            made, error = self.of_rule(
                '{vars.row.pin}', option, sensitive=True, vars={'row': ROW}
            )
            self.assertIsNone(error, repr(option))
            self.assertEqual('1234', made)

    def test_other_rules_compare_masked_values(self):
        for option in ('always', 'sensitive', 'never'):
            outcome, _roots = phase.run(
                {
                    'vars': {'row': ROW},
                    'conditions': [
                        {'op': 'eq', 'args': ['{vars.row.pin}', '******']}
                    ],
                },
                plugin_data={'serial': 'a1'},
                tables=TABLES,
                mask_secrets=option,
            )
            self.assertTrue(outcome.traces, repr(option))

    def test_other_rules_never_write_them(self):
        for option in ('always', 'sensitive', 'never'):
            for value in (
                ROW,
                '{vars.row}',
                '{vars.row.pin}',
                'x {vars.row.pin}',
                "{tables.machines | row | get('pin')}",
                "{tables.machines | row | get('pin') | length}",
                '{vars.row.pin | length}',
                '{vars.pin}',
                '{plugin_data.serial | upper | lookup(tables.machines)}',
                '{vars.again.pin}',
                {'a': ['{vars.row.pin}']},
                "{vars.row | get('pin')}",
                '{plugin_data.absent | default(vars.row.pin)}',
                "{vars.rows | map(attribute='pin')}",
                '{vars.text}',
            ):
                made, error = self.of_rule(
                    value,
                    option,
                    vars={
                        'row': ROW,
                        'pin': '{vars.row.pin | lower}',
                        'key': '{plugin_data.serial | upper}',
                        'again': '{vars.key | lookup(tables.machines)}',
                        'rows': [ROW],
                        'text': 'a {vars.row.pin}',
                    },
                )
                self.assertIsInstance(error, exceptions.RuleError, value)
                self.assertIsNone(made, (option, value))

    def test_other_rules_never_write_an_item_that_is_one(self):
        for loop, value in (
            (f'{ROW[:-1]} | dict2items}}', '{item}'),
            ([ROW], '{item}'),
            (ROW, '{item.pin}'),
            ([ROW], '{item.pin | length}'),
            ('{vars.rows}', "{item | get('pin')}"),
            ([ROW], '{plugin_data.absent | default(item.pin)}'),
        ):
            outcome, roots = phase.run(
                {
                    'vars': {'rows': [ROW]},
                    'actions': [
                        {
                            'op': 'set-plugin-data',
                            'loop': loop,
                            'args': ['/made', value],
                        }
                    ],
                },
                plugin_data={'serial': 'a1'},
                tables=TABLES,
            )
            self.assertIsInstance(outcome.error, exceptions.RuleError, value)
            self.assertNotIn('******', str(roots['plugin_data'].get('made')))

    def test_other_rules_write_what_else_an_item_has(self):
        for loop, value in (
            (ROW, '{item.rack}'),
            ([ROW], '{item.rack}'),
            ([ROW], "{item | get('rack')}"),
            ('{vars.rows}', '{item.rack}'),
        ):
            outcome, roots = phase.run(
                {
                    'vars': {'rows': [ROW]},
                    'actions': [
                        {
                            'op': 'set-plugin-data',
                            'loop': loop,
                            'args': ['/made', value],
                        }
                    ],
                },
                plugin_data={'serial': 'a1'},
                tables=TABLES,
            )
            self.assertIsNone(outcome.error, value)
            self.assertEqual('r1', roots['plugin_data']['made'])

    def test_data_of_a_rule_are_the_same_after_its_actions(self):
        outcome, roots = phase.run(
            {
                'vars': {'row': ROW},
                'actions': [
                    {'op': 'set-plugin-data', 'args': ['/serial', 'b2']},
                    {
                        'op': 'set-plugin-data',
                        'args': ['/made', '{vars.row.rack}'],
                    },
                ],
            },
            plugin_data={'serial': 'a1'},
            tables=TABLES,
        )
        self.assertIsNone(outcome.error)
        self.assertEqual('r1', roots['plugin_data']['made'])

    def test_other_rules_write_what_is_not_secret(self):
        for option in ('always', 'sensitive', 'never'):
            for value, expected in (
                ('{vars.row.rack}', 'r1'),
                ('x {vars.row.rack}', 'x r1'),
                ("{tables.machines | row | get('rack') | upper}", 'R1'),
                ('{vars.row.more}', {'unit': 7}),
                ("{vars.row | get('rack')}", 'r1'),
                ('{vars.text}', 'a r1'),
                ('{vars.row | length}', 4),
                ('{vars.again.rack}', 'r1'),
                ("{vars.rows | map(attribute='rack')}", ['r1']),
            ):
                made, error = self.of_rule(
                    value,
                    option,
                    vars={
                        'row': ROW,
                        'text': 'a {vars.row.rack}',
                        'rows': [ROW],
                        'again': '{vars.row.serial | upper | '
                        'lookup(tables.machines)}',
                    },
                )
                self.assertIsNone(error, value)
                self.assertEqual(expected, made)

    def test_message_shows_them_masked(self):
        outcome, _roots = phase.run(
            {
                'actions': [
                    {
                        'op': 'fail',
                        'args': ["{tables.machines | row | get('pin')}"],
                    }
                ]
            },
            plugin_data={'serial': 'a1'},
            tables=TABLES,
        )
        self.assertIn('******', str(outcome.error))
        self.assertNotIn('1234', str(outcome.error))

    def test_rules_of_both_kinds_see_their_own(self):
        eq = {
            'op': 'eq',
            'args': ["{tables.machines | row | get('pin')}", '1234'],
        }
        outcome, _roots = phase.run(
            {'conditions': [eq]},
            {'conditions': [eq], 'sensitive': True},
            {'conditions': [eq]},
            plugin_data={'serial': 'a1'},
            tables=TABLES,
            keep=True,
        )
        self.assertEqual(
            [phase.UUID % 1], [made.rule.uuid for made in outcome.traces]
        )


class ValidationTestCase(base.TestCase):
    def refused(self, text, **rule):
        found = validation.validate(
            {
                'uuid': str(uuid.uuid4()),
                'actions': [phase.SET],
                'conditions': [{'op': 'exists', 'args': [text]}],
                **rule,
            },
            registry.installed(),
        )
        return bool(found)

    def test_table_is_only_read_by_its_rows(self):
        for text in (
            '{tables}',
            '{tables.m}',
            '{tables.m | length}',
            '{tables.m.x | row}',
            '{tables | row}',
            '{tables.m | default(1) | row}',
            '{inventory.x | row}',
            '{inventory.x | default(tables.m)}',
            '{inventory.x | lookup([tables.m])}',
            '{tables.m | row(tables.n)}',
            'x {tables.m} y',
        ):
            self.assertTrue(self.refused(text), text)

    def test_rows_are_read_everywhere(self):
        for text in (
            '{tables.m | row}',
            "{tables.m | row('x')}",
            '{tables[m] | row(inventory.x)}',
            '{inventory.x | lookup(tables.m)}',
            "{inventory.x | lookup(mapping=tables.m, default='x')}",
            "{inventory.x | map('lookup', tables.m)}",
        ):
            self.assertFalse(self.refused(text), text)

    def test_hint_is_a_field_that_can_be_written(self):
        for text in (
            '{tables.machines}',
            '{tables.machines | length}',
            "{tables.machines | map(attribute='rack')}",
            '{tables.machines!s}',
        ):
            problems = validation.validate(
                {
                    'uuid': str(uuid.uuid4()),
                    'actions': [phase.SET],
                    'conditions': [{'op': 'exists', 'args': [text]}],
                },
                registry.installed(),
            )
            self.assertIn(ROW, str(problems[0]))

    def test_vars_are_no_table(self):
        self.assertTrue(self.refused('{vars.t}', vars={'t': '{tables.m}'}))


class ProblemsTestCase(base.TestCase):
    def problems(self, **rule):
        read = validation.parse(
            {'uuid': str(uuid.uuid4()), 'actions': [phase.SET], **rule},
            registry.installed(),
        )
        self.assertEqual(rule, {name: rule[name] for name in rule})
        return list(table_check.find_problems(read, TABLES))

    def of_text(self, text, **rule):
        return self.problems(
            conditions=[{'op': 'exists', 'args': [text]}], **rule
        )

    def test_unknown_table(self):
        (problem,) = self.of_text('{tables.machine | row}')
        self.assertEqual('/conditions/0/args/0', problem.pointer)
        self.assertIn('machines', problem.hint)
        (problem,) = self.of_text('{inventory.x | lookup(tables.cable)}')
        self.assertIn('cables', problem.hint)

    def test_row_without_key_needs_of(self):
        self.assertEqual(1, len(self.of_text('{tables.cables | row}')))
        self.assertEqual([], self.of_text("{tables.cables | row('x')}"))

    def test_unknown_column(self):
        for text, rule in (
            ("{tables.machines | row | get('rak')}", {}),
            ("{tables.machines | row('x') | get('rak.x')}", {}),
            ("{inventory.x | lookup(tables.machines) | get('/rak')}", {}),
            ('{vars.row.rak}', {'vars': {'row': ROW}}),
            ("{vars.row | get('rak')}", {'vars': {'row': ROW}}),
            ('{vars.next.rak}', {'vars': {'row': ROW, 'next': '{vars.row}'}}),
        ):
            (problem,) = self.of_text(text, **rule)
            self.assertEqual(
                'table "machines" has no column "rak"', problem.detail
            )
            self.assertIn('rack', problem.hint)
            self.assertEqual('/conditions/0/args/0', problem.pointer)

    def test_unknown_column_in_an_item(self):
        (problem,) = self.problems(
            actions=[
                {
                    'op': 'set-plugin-data',
                    'loop': [ROW],
                    'args': ['/x', '{item.rak}'],
                }
            ]
        )
        self.assertEqual('/actions/0/args/1', problem.pointer)

    def test_known_columns(self):
        for text, rule in (
            ("{tables.machines | row | get('rack')}", {}),
            ('{vars.row.pin}', {'vars': {'row': ROW}}),
            ('{vars.row.more.unit}', {'vars': {'row': ROW}}),
            ("{tables.empty | row | get('anything')}", {}),
        ):
            self.assertEqual([], self.of_text(text, **rule))

    def test_names_of_tables(self):
        read = validation.parse(
            {
                'uuid': str(uuid.uuid4()),
                'vars': {'row': ROW},
                'actions': [
                    {
                        'op': 'set-plugin-data',
                        'args': ['/x', '{vars.row | lookup(tables.cables)}'],
                    }
                ],
            },
            registry.installed(),
        )
        self.assertIsInstance(read, model.Rule)
        self.assertEqual(
            {'machines', 'cables'}, table_check.find_table_names(read)
        )
