# SPDX-License-Identifier: Apache-2.0

"""What is written as YAML is read as what was meant, whatever is in it."""

import contextlib
import io
import json
import logging
import math
import os
import pathlib

import fixtures
import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import escapes
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring.conversion import converted_file
from ironic_inspection_rules.kit.command import shell
from ironic_inspection_rules.kit.osc import inspection_rule
from ironic_inspection_rules.kit.trial import expectation
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import yaml_text
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.osc import fakes

TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(
        '\x85\u2028\u2029\x00\x1b\x0b\x0c\x1c\r\n\t"\'\\#:-{}[]&*!|>%@`,?'
        ' =~\u202e\u2066\ufeffä🙂a0',
        max_size=12,
    ),
    st.sampled_from(
        [
            'null',
            'on',
            'No',
            '1_0',
            '0o7',
            '1:30',
            '.inf',
            '1e3',
            '2026-01-01',
            '<<',
            '---',
            '...',
            ' a',
            'a ',
            'a: b',
            'x\x85- actions: [{op: fail, args: [x]}]',
            'x\u2028- actions: [{op: fail, args: [x]}]',
            'x\n- actions: [{op: fail, args: [x]}]',
        ]
    ),
)
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(-9, 9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=6,
)
RULES = st.fixed_dictionaries(
    {
        'description': TEXTS,
        'scope': TEXTS,
        'actions': st.just([])
        | st.builds(
            lambda text, value: [{'op': 'log', 'args': {text: value}}],
            TEXTS,
            VALUES,
        ),
    }
)


class YamlWritersTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.path = str(self.directory / 'file.yaml')
        root = logging.getLogger()
        self.addCleanup(setattr, root, 'handlers', root.handlers[:])

    def load(self, text):
        # A terminal would show it as it is.
        self.assertEqual(text, escapes.escape_text(text))
        pathlib.Path(self.path).write_text(text, encoding='utf-8')
        return list(document.load(self.path).entries)

    @hypothesis.given(st.lists(RULES, min_size=1, max_size=2))
    def test_rules(self, rules):
        for options in (
            {},
            {'Dumper': yaml_text.FastDumper},
            {'width': math.inf},
            {'width': 78, 'default_flow_style': None},
        ):
            self.assertEqual(
                rules, self.load(yaml_text.dump(rules, **options))
            )

    @hypothesis.given(TEXTS, st.sampled_from([20, math.inf]))
    def test_comments(self, text, width):
        comment = yaml_text.comment(text, width)

        self.assertEqual([], self.load(comment + '[]'))
        self.assertEqual([{'a': 1}], self.load(comment + '- a: 1\n'))

    @hypothesis.given(TEXTS.filter(lambda text: text.strip()), TEXTS, TEXTS)
    @hypothesis.settings(max_examples=50)
    def test_converted_files(self, description, field, value):
        old = [
            {
                'description': description,
                'conditions': [
                    {'op': 'eq', 'field': f'data://{field}', 'value': value},
                    {'op': value, 'field': field},
                ][:count],
                'actions': [{'action': 'fail', 'message': value}],
            }
            for count in (0, 1, 2)
        ]
        path = self.directory / 'old.json'
        path.write_text(json.dumps(old))

        text = converted_file.convert(
            document.load(str(path)), registry.installed()
        ).text

        loaded = self.load(text)
        self.assertLessEqual(len(loaded), 3)
        for rule in loaded:
            self.assertEqual(description, rule['description'])
            self.assertLessEqual(
                set(rule),
                {
                    'uuid',
                    'description',
                    'conditions',
                    'actions',
                    'priority',
                    'phase',
                },
            )

    @hypothesis.given(TEXTS, VALUES)
    def test_expectations(self, error, value):
        machine = os.path.join(str(self.directory), 'machine.json')
        expected = {
            'result': 'failed',
            'error': error or 'x',
            'matched': [],
            'changes': [
                {'object': 'node', 'op': 'add', 'path': error, 'value': value}
            ],
        }
        expectation.dump(
            self.path, [expectation.ActualOutcome(machine, expected)]
        )

        self.assertEqual(
            {'machine.json': expected}, document.load_mapping(self.path)
        )

    @hypothesis.given(st.lists(RULES, min_size=1, max_size=2))
    @hypothesis.settings(max_examples=30)
    def test_exported_rules(self, rules):
        rest = dict.fromkeys(
            ('uuid', 'mode', 'phase', 'priority', 'conditions', 'vars')
        )
        whole = [
            {**rest, **rule, 'sensitive': False, 'built_in': False}
            for rule in rules
        ]
        ironic = fakes.Ironic()
        ironic.routes['GET', '/inspection_rules'] = (
            200,
            {'inspection_rules': whole},
        )
        ironic.routes['GET', '/inspection_tables'] = (200, {'tables': []})
        app = fakes.App(ironic)
        command = inspection_rule.ExportInspectionRules(app, None)
        command.run(command.get_parser('export').parse_args([]))

        for rule, loaded in zip(
            json.loads(json.dumps(rules)),
            self.load(app.stdout.getvalue()),
            strict=True,
        ):
            self.assertEqual(rule, {name: loaded[name] for name in rule})

    @hypothesis.given(TEXTS)
    @hypothesis.settings(max_examples=15, deadline=None)
    def test_profiles(self, text):
        machine = self.directory / 'machine.json'
        machine.write_text(
            json.dumps(
                {
                    'inventory': {
                        'system_vendor': {
                            'product_name': text,
                            'manufacturer': 'a',
                        },
                        'cpu': {
                            'count': 2,
                            'model_name': text,
                            'architecture': 'x',
                        },
                    }
                }
            )
        )
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = shell.main(
                ['profile', str(machine), f'--name={text or "x"}']
            )

        self.assertEqual(0, code)
        for rule in self.load(output.getvalue()):
            self.assertIn('actions', rule)

    @hypothesis.given(st.lists(RULES, min_size=1, max_size=2))
    def test_json(self, rules):
        for text in (json.dumps(rules), json.dumps(rules, indent=2)):
            pathlib.Path(self.path).write_text(text)
            self.assertEqual(rules, list(document.load(self.path).entries))
