# SPDX-License-Identifier: Apache-2.0

"""Rules meet machines that nobody expected."""

import json
import threading

import fixtures
import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz

MAC = '52:54:00:aa:bb:01'
UUID = '11111111-1111-4111-8111-111111111111'


def _is_json(value):
    """Return whether a rule may have a value; a machine may send others."""
    try:
        return bool(json.dumps(value, allow_nan=False))
    except ValueError:
        return False


_value = st.one_of(
    fuzz.json_values.filter(_is_json),
    st.sampled_from(
        [
            '{plugin_data.a}',
            '{node.extra}',
            '{item}',
            '{ports}',
            '{item.a}',
            'a {inventory}',
            '{node.password:>9}',
        ]
    ),
)
_paths = st.sampled_from(
    [
        '/extra/a',
        '/extra/a/b/-',
        'extra.0',
        '/extra/-',
        '/extra/{item}',
        '{plugin_data.a}',
    ]
)


def _operation(op, *args):
    return st.fixed_dictionaries(
        {'op': st.just(op), 'args': st.tuples(*args).map(list)},
        optional={
            'loop': st.one_of(
                st.lists(_value, max_size=3),
                st.just('{plugin_data.a}'),
                st.just('{inventory}'),
            )
        },
    )


_conditions = st.one_of(
    *[
        _operation(op, _value, _value)
        for op in ('eq', '!ne', 'lt', 'gt', '!le', 'ge')
    ],
    *[
        _operation(op, _value)
        for op in ('is-true', '!is-false', 'is-none', '!is-empty')
    ],
    *[
        _operation(op, _value, st.sampled_from(['a*b?', '(a|aa)+$', '']))
        for op in ('contains', '!matches')
    ],
    _operation('in-net', _value, st.just('{plugin_data.a}')),
    _operation('one-of', _value, st.just('{plugin_data.a}')),
)
_actions = st.one_of(
    _operation('set-attribute', _paths, st.just('{plugin_data.a}')),
    *[
        _operation(op, _paths, _value)
        for op in ('extend-attribute', 'set-plugin-data', 'extend-plugin-data')
    ],
    *[_operation(op, _paths) for op in ('del-attribute', 'unset-plugin-data')],
    _operation(
        'set-port-attribute', st.just(MAC), _paths, st.just('{plugin_data.a}')
    ),
    *[
        _operation(op, st.just('{plugin_data.a}'))
        for op in (
            'fail',
            'log',
            'add-trait',
            'remove-trait',
            'set-traits',
            'unset-capability',
            'api-call',
        )
    ],
    _operation(
        'set-capability',
        st.just('{plugin_data.a}'),
        st.just('{plugin_data.b}'),
    ),
)


def compile_rules(rules, mask_secrets='always'):
    ops = registry.installed()
    return [
        compiler.compile_rule(
            validation.parse({'uuid': UUID, **rule}, ops), ops, mask_secrets
        )
        for rule in rules
    ]


class AnyRuleTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.pattern.TIME_LIMIT',
                0.001,
            )
        )

    @fuzz.settings
    @hypothesis.given(
        st.lists(_conditions, max_size=2),
        st.lists(_actions, min_size=1, max_size=3),
        fuzz.mappings,
        fuzz.json_values,
        st.sampled_from(['always', 'never']),
    )
    def test_any_rule_on_any_machine_ends_well_or_with_its_error(
        self, conditions, actions, data, value, mask_secrets
    ):
        plans = compile_rules(
            [
                {'conditions': conditions, 'actions': actions},
                {'conditions': [], 'actions': actions},
            ],
            mask_secrets,
        )
        for explain in (False, True):
            target = working_copy.WorkingCopy(
                working_copy.Facts(
                    inventory=data,
                    plugin_data={'a': value, **data},
                    node={
                        'extra': {'a': value},
                        'properties': {},
                        'traits': [],
                    },
                    ports=({'address': MAC, 'extra': data},),
                )
            )
            outcome = runner.run(plans, target, explain=explain)
            if outcome.error:
                self.assertIsInstance(
                    outcome.error, exceptions.RuleError, repr(explain)
                )
            for trace in outcome.traces:
                self.assertEqual(UUID, trace.as_dict()['uuid'])


class SmallStackTestCase(base.TestCase):
    """Ironic's threads have stacks of 128 KiB."""

    def in_small_thread(self, function, *args):
        results = []
        before = threading.stack_size(128 * 1024)
        try:
            thread = threading.Thread(
                target=lambda: results.append(function(*args))
            )
            thread.start()
        finally:
            threading.stack_size(before)
        thread.join()
        (result,) = results
        return result

    def run_rules(self, plugin_data, mask_secrets='always', explain=False):
        plans = compile_rules(
            [
                {
                    'conditions': [
                        {
                            'op': 'eq',
                            'args': ['{plugin_data.a}', '{plugin_data.b}'],
                        },
                        {
                            'op': 'one-of',
                            'args': ['{plugin_data.a}', ['{plugin_data.b}']],
                        },
                        {
                            'op': 'contains',
                            'args': ['{plugin_data}', 'password'],
                        },
                    ],
                    'actions': [
                        {
                            'op': 'set-attribute',
                            'args': ['/extra/a', '{plugin_data}'],
                        },
                        {
                            'op': 'set-attribute',
                            'args': ['/extra/b', '{node}'],
                        },
                        {
                            'op': 'extend-plugin-data',
                            'args': ['/c', '{plugin_data}'],
                        },
                        {'op': 'log', 'args': ['{plugin_data!r}']},
                    ],
                }
            ],
            mask_secrets,
        )
        target = working_copy.WorkingCopy(
            working_copy.Facts(
                inventory={}, plugin_data=plugin_data, node={'extra': {}}
            )
        )
        return runner.run(plans, target, explain=explain)

    @staticmethod
    def nested(depth):
        value = {'password': ''}
        for level in range(depth):
            value = {'a': value} if level % 2 else [value]
        return value

    def test_data_as_deep_as_ironic_takes_it(self):
        data = {'a': self.nested(18), 'b': self.nested(18)}
        for mask_secrets in ('always', 'never'):
            for explain in (False, True):
                outcome = self.in_small_thread(
                    self.run_rules, data, mask_secrets, explain
                )
                self.assertIsNone(outcome.error, (mask_secrets, explain))

    def test_data_hundreds_of_levels_deep_is_not_copied(self):
        data = {'a': self.nested(250), 'b': self.nested(250)}
        for mask_secrets in ('always', 'never'):
            for explain in (False, True):
                outcome = self.in_small_thread(
                    self.run_rules, data, mask_secrets, explain
                )
                self.assertIn(
                    'set-attribute: the value is nested deeper than 25 levels',
                    str(outcome.error),
                )

    def test_data_without_end_is_an_error(self):
        data = {'a': self.nested(3000), 'b': self.nested(3000)}
        outcome = self.in_small_thread(self.run_rules, data)

        self.assertIn('RecursionError', str(outcome.error))

    def test_a_regular_expression_gives_up(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.pattern.TIME_LIMIT',
                0.05,
            )
        )
        plans = compile_rules(
            [
                {
                    'conditions': [
                        {
                            'op': 'matches',
                            'args': ['{plugin_data.a}', '(a|aa)+'],
                        }
                    ],
                    'actions': [{'op': 'log', 'args': ['a']}],
                }
            ]
        )
        target = working_copy.WorkingCopy(
            working_copy.Facts({}, {'a': 'a' * 1000 + 'b'})
        )
        outcome = self.in_small_thread(runner.run, plans, target)

        # Else it would still be at it.
        self.assertIn('longer than', str(outcome.error))


class HugeMachineTestCase(base.TestCase):
    def test_four_thousand_interfaces(self):
        macs = [
            f'52:54:00:00:{number // 256:02x}:{number % 256:02x}'
            for number in range(4000)
        ]
        plans = compile_rules(
            [
                {
                    'conditions': [
                        {
                            'op': 'matches',
                            'multiple': 'all',
                            'args': ['{item.mac_address}', '[0-9a-f:]{17}'],
                            'loop': '{inventory.interfaces}',
                        }
                    ],
                    'actions': [
                        {
                            'op': 'extend-plugin-data',
                            'args': ['/macs', '{item[mac_address]}'],
                            'loop': '{inventory.interfaces}',
                        }
                    ],
                },
                {
                    'conditions': [
                        {
                            'op': 'is-true',
                            'args': ['{ports[52:54:00:00:0F:9F].pxe_enabled}'],
                        }
                    ],
                    'actions': [
                        {
                            'op': 'set-attribute',
                            'args': ['/extra/macs', '{plugin_data.macs}'],
                        }
                    ],
                },
            ]
        )
        target = working_copy.WorkingCopy(
            working_copy.Facts(
                inventory={
                    'interfaces': [
                        {'mac_address': mac, 'lldp': [[1, 'x' * 200]]}
                        for mac in macs
                    ]
                },
                plugin_data={},
                node={'extra': {}},
                ports=tuple(
                    {'address': mac, 'pxe_enabled': True} for mac in macs
                ),
            )
        )
        outcome = runner.run(plans, target)

        self.assertIsNone(outcome.error)
        self.assertEqual(macs, target.roots['node']['extra']['macs'])

    def test_a_megabyte_of_text(self):
        plans = compile_rules(
            [
                {
                    'conditions': [
                        {
                            'op': 'contains',
                            'args': ['{plugin_data.log}', 'end$'],
                        },
                        {
                            'op': '!contains',
                            'args': ['{plugin_data.log}', 'x.*y$'],
                        },
                    ],
                    'actions': [
                        {
                            'op': 'set-plugin-data',
                            'args': ['/copy', '{plugin_data.log}.'],
                        }
                    ],
                }
            ]
        )
        target = working_copy.WorkingCopy(
            working_copy.Facts({}, {'log': 'line\n' * 200_000 + 'the end'})
        )
        outcome = runner.run(plans, target)

        self.assertIsNone(outcome.error)
        self.assertEqual(1_000_008, len(target.roots['plugin_data']['copy']))
