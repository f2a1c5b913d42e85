# SPDX-License-Identifier: Apache-2.0

"""A sensitive rule is withheld whole, and what it wrote is not followed."""

import itertools
import json

import fixtures

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import difference
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.tests.unit import base

CANARY = 'c4n4ry'
MAC = '52:54:00:00:00:01'


def facts(**node):
    return working_copy.Facts(
        {'vendor': 'x'},
        {'list': [], 'items': [{'name': 'a'}]},
        {'extra': {}, 'properties': {}, 'traits': [], **node},
        ({'uuid': 'p', 'address': MAC, 'extra': {}},),
    )


def run(rules, known=None, explain=True):
    """Evaluate rules, given by their fields."""
    plans = [
        compiler.compile_rule(
            model.Rule.from_mapping(
                {'uuid': f'rule-{number}', 'conditions': (), **rule}
            ),
            registry.installed(),
        )
        for number, rule in enumerate(rules)
    ]
    by_phase = {
        phase: [plan for plan in plans if plan.rule.phase == phase]
        for phase in ('preprocess', 'main')
    }
    return evaluation.evaluate(by_phase, known or facts(), by_phase, explain)


def does(op, *args, **fields):
    return {'actions': [{'op': op, 'args': list(args)}], **fields}


def told(outcome):
    """Return all that anybody is told of it."""
    of_phase = phase_record.build(
        runner.PhaseOutcome(outcome.traces, outcome.error, outcome.audited), 0
    )
    summaries = [made.summary() for made in outcome.traces]
    return json.dumps(
        [outcome.as_dict(), of_phase, summaries, str(outcome.error)]
    )


SECRETS = (
    (does('set-attribute', '/extra/x', CANARY), '{node.extra.x}'),
    (does('set-attribute', '/extra/x', {'a': [CANARY]}), '{node.extra}'),
    (does('set-plugin-data', '/list', [CANARY]), '{plugin_data.list[0]}'),
    (does('extend-plugin-data', '/list', CANARY), '{plugin_data.list}'),
    (
        does('set-port-attribute', MAC, '/extra/x', CANARY),
        f'{{ports[{MAC}].extra.x}}',
    ),
    (does('set-capability', 'x', CANARY), '{node.properties.capabilities}'),
    (does('add-trait', f'CUSTOM_{CANARY}'.upper()), '{node.traits}'),
    (does('set-plugin-data', f'/{CANARY}', CANARY), '{plugin_data}'),
)
OPEN = (
    lambda field: does('log', field),
    lambda field: does('fail', f'it is {field}'),
    lambda field: does('add-trait', field),
    lambda field: does('set-attribute', '/extra/copy', field),
    lambda field: does('set-attribute', f'/extra/{field}', 1),
    lambda field: does('set-plugin-data', '/copy', {'a': [field]}),
    lambda field: does('extend-attribute', '/extra/copies', field),
    lambda field: does('set-capability', 'y', field),
    lambda field: does('set-capability', 'y', 'plain'),
    lambda field: does('set-port-attribute', MAC, '/extra/y', field),
    lambda field: does('set-attribute', '/extra', {}),
    lambda field: does('set-traits', []),
    lambda field: {
        'actions': [{'op': 'log', 'args': ['{item}'], 'loop': field}]
    },
    lambda field: {
        'actions': [
            {
                'op': 'set-plugin-data',
                'loop': field,
                'args': ['/by/{item}', '{item}'],
            }
        ]
    },
    lambda field: does(
        'set-plugin-data', '/n', field.replace('}', ' | default("x") | int}')
    ),
    lambda field: does(
        'log', 'x', conditions=({'op': 'eq', 'args': [field, 1]},)
    ),
    lambda field: does(
        'log', 'x', conditions=({'op': '!contains', 'args': [field, 'zzz']},)
    ),
    lambda field: does(
        'log',
        'x',
        conditions=({'op': 'in-net', 'args': [field, '192.0.2.0/24']},),
    ),
    lambda field: does(
        'log',
        'x',
        conditions=({'op': 'eq', 'args': ['{item}', 1], 'loop': field},),
    ),
    lambda field: does(
        'log',
        'x',
        conditions=(
            {
                'op': 'any-of',
                'conditions': [
                    {'op': 'eq', 'args': [field, 1]},
                    {'op': 'gt', 'args': [field, 1]},
                ],
            },
        ),
    ),
    lambda field: does(
        'log',
        'x',
        conditions=(
            {
                'op': 'eq',
                'args': [field.replace('}', ' | default("x") | int}'), 1],
            },
        ),
    ),
    lambda field: {
        'actions': [
            {
                'op': 'set-attribute',
                'args': ['/extra/z', 1],
                'when': [{'op': 'ne', 'args': [field, 1]}],
            }
        ]
    },
)


class WithheldTestCase(base.TestCase):
    def assert_silent(self, outcome):
        self.assertNotIn(CANARY, told(outcome).lower())

    def test_nothing_of_what_it_does_is_shown(self):
        for (secret, _field), mode, explain in itertools.product(
            SECRETS, ('enforce', 'audit'), (True, False)
        ):
            secret = {
                **secret,
                'sensitive': True,
                'mode': mode,
                'description': CANARY,
                'vars': {'a': CANARY},
                'conditions': [{'op': 'ne', 'args': [CANARY, 'x']}],
            }
            outcome = run([secret, does('log', 'x'), secret], explain=explain)
            self.assert_silent(outcome)
            made = next(
                made
                for made in (*outcome.traces, *outcome.audited)
                if made.rule.uuid == 'rule-0'
            )
            self.assertEqual(
                {'uuid': 'rule-0', 'withheld': True}, made.summary()
            )
            for shown in made.as_dict(), made.as_audit():
                self.assertEqual(
                    {'uuid': 'rule-0', 'matched': True, 'withheld': True},
                    shown,
                )
            self.assertEqual(
                ((), (), {}),
                (made.rule.conditions, made.rule.actions, made.rule.vars),
            )

    def test_nor_what_it_logs_or_calls_or_undoes(self):
        outcome = run(
            [
                {
                    'sensitive': True,
                    'actions': [
                        {'op': 'log', 'args': [CANARY]},
                        {
                            'op': 'api-call',
                            'args': [f'http://{CANARY}.example'],
                        },
                        {
                            'op': 'set-attribute',
                            'args': [f'/extra/{CANARY}', 1],
                            'when': [{'op': 'ne', 'args': [CANARY, 1]}],
                        },
                    ],
                },
                {
                    'sensitive': True,
                    'actions': [
                        {
                            'op': 'set-attribute',
                            'args': ['/extra/x', CANARY],
                            'revert': True,
                        }
                    ],
                    'conditions': [{'op': 'eq', 'args': [CANARY, 1]}],
                },
            ],
            facts(extra={'x': CANARY}),
        )
        self.assert_silent(outcome)
        self.assertTrue(outcome.traces[1].reverted)
        self.assertNotIn('x', outcome.facts.node['extra'])

    def test_its_errors_name_it_and_the_op(self):
        for secret, op in (
            (does('fail', CANARY), 'fail'),
            (does('set-attribute', f'/{CANARY}', 1), 'set-attribute'),
            (does('log', '{node.extra.' + CANARY + '.x}'), None),
            (
                {
                    **does('log', 'x'),
                    'conditions': [
                        {'op': 'in-net', 'args': [CANARY, '192.0.2.0/24']}
                    ],
                },
                None,
            ),
        ):
            for mode in ('enforce', 'audit'):
                outcome = run(
                    [
                        {
                            **secret,
                            'sensitive': True,
                            'mode': mode,
                            'description': CANARY,
                        }
                    ]
                )
                self.assert_silent(outcome)
                if op and mode == 'enforce':
                    self.assertEqual(
                        f'Inspection rule rule-0, {op}: failed',
                        str(outcome.error),
                    )

    def test_what_it_logs_is_not_in_the_log(self):
        lines = []

        class Effects(working_copy.Effects):
            def log(self, level, message):
                lines.append(message)

        for sensitive in (True, False):
            plan = compiler.compile_rule(
                model.Rule.from_mapping(
                    {
                        'uuid': 'rule-0',
                        'sensitive': sensitive,
                        'conditions': (),
                        **does('log', CANARY),
                    }
                ),
                registry.installed(),
            )
            runner.run([plan], working_copy.WorkingCopy(facts(), Effects()))
        self.assertEqual(
            ['a sensitive rule logs what is withheld', CANARY], lines
        )

    def test_what_it_wrote_is_read_by_others(self):
        for secret, field in SECRETS:
            outcome = run([{**secret, 'sensitive': True}, does('log', field)])
            self.assertIn(CANARY, told(outcome).lower(), field)

    def test_changes_of_others_are_theirs_alone(self):
        outcome = run(
            [
                {**SECRETS[0][0], 'sensitive': True},
                does('set-attribute', '/extra/y', 1),
            ]
        )
        self.assertEqual(
            ['/extra/y'], [change.path for change in outcome.changes]
        )
        self.assertEqual(['rule-1'], outcome.changed_by)
        self.assertEqual(CANARY, outcome.facts.node['extra']['x'])

    def test_a_difference_tells_that_there_is_one(self):
        for secret, _field in SECRETS:
            with_it = run(
                [
                    {**secret, 'sensitive': True},
                    does('set-attribute', '/extra/y', 1),
                ]
            )
            found = difference.between(
                facts(), with_it.facts, with_it.facts.ports
            )
            self.assertTrue(found.has_withheld, secret)
            self.assertNotIn(CANARY, str(found.changes).lower())
            again = difference.between(
                with_it.facts, with_it.facts, with_it.facts.ports
            )
            self.assertFalse(again)


class GrowthTestCase(base.TestCase):
    def test_what_changed_is_grouped_once(self):
        known = working_copy.Facts(
            {},
            {},
            {},
            tuple(
                {'uuid': str(number), 'address': str(number), 'extra': {}}
                for number in range(500)
            ),
        )
        target = working_copy.WorkingCopy(known)
        for number in range(16000):
            target.set('plugin_data', ('a', str(number)), 1)
        target.set('ports', ('7', 'extra', 'x'), 1)
        read = []
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.path.get',
                lambda _data, path: read.append(path),
            )
        )

        for index in range(500):
            target.changed_of_port(index)

        self.assertEqual([('7', 'extra')], read)
