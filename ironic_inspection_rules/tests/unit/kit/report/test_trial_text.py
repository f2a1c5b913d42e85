# SPDX-License-Identifier: Apache-2.0

"""Machines are printed as they come."""

import collections
import io
import json

import yaml

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.report import trial_text
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests.unit import base


class ListingTestCase(base.TestCase):
    def print_all(self, made, *entries):
        shown = made(self.output)
        for each in entries:
            shown.add(each)
        self.before_the_end = self.output.getvalue()
        shown.end(collections.Counter(ok=2, error=1))
        return self.output.getvalue()

    def setUp(self):
        super().setUp()
        self.output = io.StringIO()

    def test_json_is_a_list_that_is_written_as_it_comes(self):
        text = self.print_all(
            lambda output: trial_text.JsonListing(output, False),
            '{"a": 1}',
            '{"a": 2}',
        )
        self.assertEqual([{'a': 1}, {'a': 2}], json.loads(text))
        self.assertEqual('[{"a": 1},\n{"a": 2}', self.before_the_end)

    def test_yaml_is_a_list(self):
        text = self.print_all(trial_text.YamlListing, '- a: 1\n', '- a: 2\n')
        self.assertEqual([{'a': 1}, {'a': 2}], yaml.safe_load(text))

    def test_few_machines_have_a_line_each(self):
        text = self.print_all(
            trial_text.TableListing,
            *[
                trial_text.MachineRow(f'{number}.json', 'ok', 1, 2, 0, '')
                for number in range(20)
            ],
        )
        self.assertEqual(20, text.count('.json'))
        self.assertNotIn('nothing would change', text)
        self.assertNotIn('Audit', text)
        self.assertEqual(
            '3 inventories: 2 ok, 0 failed, 1 with an error',
            text.splitlines()[-1],
        )

    def test_of_many_those_that_fared_alike_have_one(self):
        text = self.print_all(
            trial_text.TableListing,
            *[
                trial_text.MachineRow(
                    f'{number}.json',
                    'failed' if number == 7 else 'ok',
                    1,
                    0,
                    2,
                    '',
                )
                for number in range(1500)
            ],
        )
        self.assertEqual(4, text.count('.json'))
        self.assertIn('and 1496 more', text)
        self.assertIn('7.json', text)
        self.assertIn('Audit', text)
        self.assertIn('nothing would change', text)

    def test_what_is_alike_is_told_once(self):
        self.assertEqual(
            'a.json\nc.json: fine\nx\n\nb.json: bad\n',
            self.print_all(
                trial_text.DetailsListing,
                trial_text.MachineDetails('a.json', 'fine', 'x'),
                trial_text.MachineDetails('b.json', 'bad', ''),
                trial_text.MachineDetails('c.json', 'fine', 'x'),
            ),
        )

    def test_what_sensitive_rules_change_is_said_to_be_withheld(self):
        withheld = 'what sensitive rules would change is withheld'
        unchanged = 'nothing would change'
        for sensitive, mode, matched, reverted, expected in (
            (True, 'enforce', True, False, withheld),
            (True, 'enforce', False, True, withheld),
            (True, 'enforce', False, False, unchanged),
            (True, 'audit', True, False, unchanged),
            (False, 'enforce', True, False, unchanged),
        ):
            rule = model.Rule(
                uuid='u', actions=(), sensitive=sensitive, mode=mode
            )
            traced = trace.RuleTrace(rule, matched, reverted=reverted)
            test = machine_test.MachineTest(
                'a.json',
                evaluation.Evaluation(
                    (traced,), (), working_copy.Facts({}, {})
                ),
            )
            for listing in (
                trial_text.TableListing,
                trial_text.DetailsListing,
            ):
                self.output = io.StringIO()
                lines = self.print_all(
                    listing, listing.extract(test)
                ).splitlines()
                self.assertIn(expected, lines)
                self.assertNotIn(
                    ({withheld, unchanged} - {expected}).pop(), lines
                )

    def test_a_sensitive_rule_in_audit_is_not_said_to_change_nothing(self):
        for sensitive, expected in (
            (True, '  withheld'),
            (False, '  would change nothing'),
        ):
            rule = model.Rule(
                uuid='u', actions=(), sensitive=sensitive, mode='audit'
            )
            outcome = evaluation.Evaluation(
                (),
                (),
                working_copy.Facts({}, {}),
                audited=(trace.RuleTrace(rule, True),),
            )
            details = trial_text.DetailsListing.extract(
                machine_test.MachineTest('a.json', outcome)
            )
            self.assertEqual(expected, details.body.splitlines()[-1])

    def test_it_is_told_which_actions_of_a_rule_did_not_run(self):
        rule = model.Rule(uuid='u', description='d', actions=())
        idle = [
            trace.ActionTrace('log', idle=reasons.NotRun('error', reason))
            for reason in ('why', 'why', None, '')
        ]
        for actions, cells in (
            (idle, [['d', 'main', 'yes', 'log: why'], ['log']]),
            ([trace.ActionTrace('log')], [['d', 'main', 'yes']]),
        ):
            outcome = evaluation.Evaluation(
                (trace.RuleTrace(rule, True, (), tuple(actions)),),
                (),
                working_copy.Facts({}, {}),
            )
            _path, _verdict, text = trial_text.DetailsListing.extract(
                machine_test.MachineTest('a.json', outcome)
            )
            rows = [
                line.strip('| ').split('|')
                for line in text.splitlines()
                if line.startswith('|')
            ]
            self.assertEqual(
                cells,
                [
                    [cell.strip() for cell in row if cell.strip()]
                    for row in rows[1:]
                ],
            )


class DiffTestCase(base.TestCase):
    def test_changes_of_sensitive_rules_are_withheld(self):
        rules = [
            model.Rule(
                uuid=str(number),
                sensitive=sensitive,
                actions=[
                    {
                        'op': 'set-plugin-data',
                        'args': {'path': '/a', 'value': 1},
                    },
                    {'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}},
                ],
            )
            for number, sensitive in enumerate((False, True))
        ]
        facts = working_copy.Facts({}, {}, {'traits': []})
        lines = [
            trial_text.diff_lines(
                evaluation.evaluate(
                    machine_test.compile_rules([rule]), facts
                ).changes
            )
            for rule in rules
        ]
        self.assertEqual(
            [['plugin_data', '+ /a: 1', 'traits', '+ CUSTOM_A'], []], lines
        )
