# SPDX-License-Identifier: Apache-2.0

"""Answers about all machines agree with those of every kind of machine."""

import itertools
import json
import os
import random
import re
import time
import unittest

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.tests.unit import base

try:
    import z3

    from ironic_inspection_rules.kit.proof import condition as conditions
    from ironic_inspection_rules.kit.proof import expression
    from ironic_inspection_rules.kit.proof import question
    from ironic_inspection_rules.kit.proof import relation as relations
    from ironic_inspection_rules.kit.proof import value as values
    from ironic_inspection_rules.kit.proof import witness
    from ironic_inspection_rules.tests.simulation.proof import leisure
    from ironic_inspection_rules.tests.simulation.proof import third_party
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

COUNT = int(os.environ.get('IR_PROVE', 3))
MACHINES = 300 if COUNT < 50 else 10_000

COUNTS = (8, 16)
VENDORS = ('Dell Inc.', 'HPE')
SIZES = (100, 200)
GONE = object()
SECONDS = leisure.SECONDS
MAC = '52:54:00:00:00:01'
MACHINE = '5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a10'


def _uuid(index):
    return f'00000000-0000-4000-8000-00000000000{index}'


def machines():
    """Return machines of each kind that generated rules can tell, or some."""
    everywhere = list(_machines())
    return random.Random(0).sample(everywhere, min(MACHINES, len(everywhere)))


def _machines():
    usual = witness.sample()
    counts = sorted({each + more for each in COUNTS for more in (-1, 0, 1)})
    vendors = (*VENDORS, 'dell inc.', 'other', '', None, GONE)
    disks = [
        [{'size': size} for size in sizes]
        for number in range(3)
        for sizes in itertools.combinations((99, 100, 150, 200), number)
    ]
    for count, vendor, each, tag, traits, macs in itertools.product(
        [*counts, None, GONE],
        vendors,
        [*disks, GONE],
        ('x', 'y', 'z', GONE),
        ([], ['CUSTOM_T']),
        ((), (MAC,)),
    ):
        inventory = {
            'cpu': {} if count is GONE else {'count': count},
            'system_vendor': {}
            if vendor is GONE
            else {'manufacturer': vendor},
        }
        if each is not GONE:
            inventory['disks'] = each
        extra = {} if tag is GONE else {'tag': tag}
        yield witness.Witness(
            inventory,
            {},
            {**usual['node'], 'extra': extra, 'traits': traits},
            tuple({'address': mac, 'extra': {}} for mac in macs),
        )


def condition(chance):
    """Return a condition of a few kinds."""
    kind = chance.randrange(6)
    invert = chance.choice(('', '', '!'))
    if kind in (0, 1):
        op = chance.choice(('lt', 'le', 'gt', 'ge', 'eq', 'ne'))
        return {
            'op': invert + op,
            'args': ['{inventory.cpu.count}', chance.choice(COUNTS)],
        }
    field = '{inventory.system_vendor.manufacturer}'
    if kind == 2:
        return {
            'op': invert + 'contains',
            'args': [field, chance.choice(('(?i)^dell', '^HPE$', 'l Inc'))],
        }
    if kind == 3:
        return {
            'op': invert + chance.choice(('is-empty', 'exists')),
            'args': [field],
        }
    if kind == 4:
        return {
            'op': invert + chance.choice(('lt', 'ge')),
            'args': ['{item.size}', chance.choice(SIZES)],
            'loop': '{inventory.disks}',
            'multiple': chance.choice(('any', 'all', 'first', 'last')),
        }
    return {
        'op': invert + 'eq',
        'args': ['{node.extra.tag}', chance.choice('xy')],
    }


def action(chance):
    """Return an action whose effect the machines show."""
    kind = chance.randrange(8)
    if kind < 3:
        return {
            'op': 'set-attribute',
            'args': ['/resource_class', chance.choice(('a', 'b'))],
        }
    if kind == 3:
        return {
            'op': chance.choice(('add-trait', 'remove-trait')),
            'args': ['CUSTOM_T'],
        }
    if kind == 4:
        return {
            'op': 'set-attribute',
            'args': ['/extra/tag', chance.choice('xy')],
        }
    if kind == 5:
        return {'op': 'set-capability', 'args': ['c', chance.choice('12')]}
    if kind == 6:
        return {
            'op': 'set-port-attribute',
            'args': [MAC, '/extra/tag', chance.choice('xy')],
        }
    return {'op': 'fail', 'args': ['no']}


def rules_of(chance, number):
    """Return rules as they run."""
    made = []
    for index in range(number):
        conditions = [
            condition(chance) for _each in range(chance.randrange(4))
        ]
        if len(conditions) > 2:
            conditions = [
                conditions[0],
                {
                    'op': chance.choice(('any-of', 'all-of', 'none-of')),
                    'conditions': conditions[1:],
                },
            ]
        made.append(
            {
                'uuid': _uuid(index),
                'description': f'rule {index}',
                'priority': chance.choice((0, 0, 1)),
                'phase': chance.choice(('preprocess', 'main', 'main')),
                'mode': chance.choice(('enforce',) * 5 + ('audit',)),
                'conditions': conditions,
                'actions': [
                    action(chance) for _each in range(chance.choice((1, 2)))
                ],
            }
        )
    return made


class QuestionTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(leisure.Leisure())

    def parse(self, entries):
        ops = registry.installed()
        rules = repository.order(
            validation.parse(each, ops) for each in entries
        )
        return [
            rule
            for phase in model.PHASES
            for rule in rules
            if rule.phase == phase
        ]

    def ask(self, rules, *questions):
        return {
            (each.question, *(rule.description for rule in each.rules)): each
            for each in question.Proof(rules, SECONDS).answers(questions)
        }

    def test_an_expression_that_matches_every_text_is_asked_for_one(self):
        """The solver leaves such a text open."""
        for name, pattern in (('contains', '.*'), ('contains', '')):
            verdicts = self.one(
                'dead',
                {
                    'conditions': [
                        {
                            'op': name,
                            'args': {
                                'value': '{plugin_data.a}',
                                'regex': pattern,
                            },
                        },
                        {
                            'op': 'version-ge',
                            'args': {'values': ['{plugin_data.a}', '1.10']},
                        },
                    ],
                    'actions': [{'op': 'log', 'args': {'msg': 'x'}}],
                },
            )
            self.assertEqual({('0',): 'no'}, verdicts, pattern)

    def test_a_text_of_many_fields_is_followed(self):
        """Their kinds have more combinations than anybody waits for."""
        fields = '-'.join(f'{{plugin_data.{name}}}' for name in 'abcdefgh')
        answers = self.ask(
            self.parse(
                [
                    {
                        'uuid': _uuid(0),
                        'description': 'text',
                        'actions': [
                            {
                                'op': 'set-attribute',
                                'args': {'path': '/extra/x', 'value': fields},
                            }
                        ],
                    },
                    {
                        'uuid': _uuid(1),
                        'description': 'never',
                        'conditions': [
                            {
                                'op': 'eq',
                                'args': {'values': ['{plugin_data.a}', value]},
                            }
                            for value in ('one', 'two')
                        ],
                        'actions': [{'op': 'log', 'args': {'msg': 'x'}}],
                    },
                ]
            ),
            'dead',
            'shadowed',
        )
        self.assertEqual('yes', answers['dead', 'never'].verdict)
        self.assertEqual('no', answers['shadowed', 'text'].verdict)

    def test_the_solver_is_not_asked_for_a_text_of_many_kinds(self):
        rules = self.parse(
            [
                {
                    'uuid': _uuid(0),
                    'vars': {
                        'x': '{plugin_data.a}-{plugin_data.b}-{plugin_data.c}'
                    },
                    'conditions': [
                        {
                            'op': 'contains',
                            'args': {'value': '{vars.x}', 'regex': '-x'},
                        }
                    ],
                    'actions': [{'op': 'log', 'args': {'msg': 'x'}}],
                }
            ]
        )
        (answer,) = question.Proof(rules, SECONDS).answers(['dead'])
        self.assertEqual('unknown', answer.verdict)
        self.assertIn('a value with too many alternatives', answer.reason)

    def equivalent(self, one, other):
        (answer,) = question.Proof(one, SECONDS, other).answers(
            [question.DIFFERENT]
        )
        return answer

    def one(self, asked, *entries):
        """Ask one question of rules, and return the verdicts."""
        rules = self.parse(
            [
                {
                    'uuid': _uuid(index),
                    'description': str(index),
                    **each,
                }
                for index, each in enumerate(entries)
            ]
        )
        return {
            tuple(rule.description for rule in each.rules): each.verdict
            for each in question.Proof(rules, SECONDS).answers([asked])
        }

    def test_answers_are_those_of_every_kind_of_machine(self):
        everywhere = machines()
        unknown = asked = 0
        for seed in range(COUNT):
            chance = random.Random(seed)
            rules = self.parse(rules_of(chance, chance.choice((3, 4, 5))))
            met = _Met(rules, everywhere)
            for key, answer in self.ask(
                rules, 'dead', 'shadowed', 'conflict', 'gap:/resource_class'
            ).items():
                asked += 1
                if answer.verdict == question.UNKNOWN:
                    unknown += 1
                    continue
                if answer.question in ('conflict', 'gap'):
                    self.assertEqual(
                        answer.verdict == question.YES,
                        answer.witness is not None,
                        (seed, key),
                    )
                # What the engine has not shown itself is attacked.
                denied = (
                    question.YES
                    if answer.question in ('dead', 'shadowed')
                    else question.NO
                )
                if answer.verdict == denied:
                    self.assertEqual(
                        met.truth(answer),
                        denied == question.YES,
                        (seed, key, answer),
                    )
        self.assertLessEqual(unknown, asked / 10)

    def test_sets_are_equivalent_where_no_machine_tells_them_apart(self):
        everywhere = machines()
        engine = witness.Engine()
        for seed in range(COUNT):
            chance = random.Random(1000 + seed)
            entries = rules_of(chance, 3)
            others = [dict(each) for each in entries]
            changed = chance.choice(others)
            changed['conditions'] = list(reversed(changed['conditions']))
            if chance.random() < 0.5:
                changed['conditions'] = changed['conditions'][:1]
            one, other = self.parse(entries), self.parse(others)
            answer = self.equivalent(one, other)
            differs = any(
                engine.outcome(one, each) != engine.outcome(other, each)
                for each in everywhere
            )
            if differs:
                self.assertIn(
                    answer.verdict, ('unknown', 'yes'), (seed, answer)
                )

    def test_sets_that_fail_with_other_messages_are_not_equivalent(self):
        def fails(text, **more):
            return {'actions': [{'op': 'fail', 'args': [text], **more}]}

        def sets(value):
            return {
                'actions': [{'op': 'set-plugin-data', 'args': ['/x', value]}]
            }

        for one, other in (
            (
                [{**fails('{vars.x}'), 'vars': {'x': 'a'}}],
                [{**fails('{vars.x}'), 'vars': {'x': 'b'}}],
            ),
            (
                [sets('a'), fails('{plugin_data.x}')],
                [sets('b'), fails('{plugin_data.x}')],
            ),
            (
                [fails('{item}', loop=['a', 'b'])],
                [fails('{item}', loop=['b', 'a'])],
            ),
        ):
            one, other = (
                self.parse(
                    [
                        {
                            **each,
                            'uuid': _uuid(index),
                            'description': 'a',
                        }
                        for index, each in enumerate(rules)
                    ]
                )
                for rules in (one, other)
            )
            self.assertEqual('yes', self.equivalent(one, other).verdict)
            self.assertEqual('no', self.equivalent(one, one).verdict)

    def compared(self, one, other):
        """Return the verdict on two sets of rules."""
        return self.equivalent(
            *(
                self.parse(
                    [
                        {
                            'uuid': _uuid(index),
                            'description': str(index),
                            **entry,
                        }
                        for index, entry in enumerate(entries)
                    ]
                )
                for entries in (one, other)
            )
        ).verdict

    def test_a_rule_of_a_scope_or_in_mode_audit_undoes_less(self):
        undoes = {
            'conditions': [
                {'op': 'eq', 'args': ['{plugin_data.t}', value]}
                for value in 'ab'
            ],
            'actions': [
                {'op': 'set-capability', 'args': ['c', '1'], 'revert': True}
            ],
        }
        for frame in ({'scope': 's'}, {'mode': 'audit'}):
            self.assertNotEqual(
                'no', self.compared([{**undoes, **frame}], [undoes]), frame
            )
            self.assertEqual(
                'no',
                self.compared([{**undoes, **frame}], [{**undoes, **frame}]),
                frame,
            )

    def test_a_rule_that_can_only_fail_undoes_where_it_does_not_match(self):
        # No list is the text that the filter takes.
        error = '{node.traits | trait}'
        asked = [{'op': 'eq', 'args': ['{plugin_data.t}', 'a']}]
        fails = {'op': 'set-attribute', 'args': ['/extra', error]}
        adds = {'op': 'add-trait', 'args': ['CUSTOM_A'], 'revert': True}
        cleans = {
            'op': 'set-attribute',
            'args': {'path': '/extra/a', 'value': error, 'cleanup': 'b'},
        }
        for actions in (
            [{**fails, 'revert': True}],
            [cleans],
            [
                {
                    'op': 'extend-attribute',
                    'args': ['/extra/l', error],
                    'revert': True,
                }
            ],
            [{'op': 'set-plugin-data', 'args': ['/m', error], 'revert': True}],
            [{'op': 'set-capability', 'args': ['c', error], 'revert': True}],
            [
                {
                    'op': 'set-port-attribute',
                    'args': [MAC, '/extra', error],
                    'revert': True,
                }
            ],
            [
                {
                    'op': 'add-trait',
                    'args': ['{item}'],
                    'revert': True,
                    'loop': ['CUSTOM_A', error],
                }
            ],
            [adds, fails],
            [fails, adds],
        ):
            for frame in {}, {'scope': 's'}:
                undoes = {'conditions': asked, 'actions': actions, **frame}
                other = {'conditions': asked, 'actions': [fails], **frame}
                # In mode audit it undoes nothing for the one that does.
                audits = {**undoes, 'mode': 'audit'}
                self.assertNotEqual(
                    'yes',
                    self.one('shadowed', undoes, other, audits)['0',],
                    (actions, frame),
                )

    def test_a_rule_undoes_in_the_early_phase(self):
        undoes, fails = (
            {
                'phase': 'early',
                'vars': {'x': []},
                'conditions': [{'op': 'eq', 'args': ['{plugin_data.t}', 'a']}],
                'actions': [
                    {
                        'op': 'set-plugin-data',
                        'args': ['/m', '{vars.x | trait}'],
                        **more,
                    }
                ],
            }
            for more in ({'revert': True}, {})
        )
        self.assertNotEqual('yes', self.one('shadowed', undoes, fails)['0',])

    def test_a_rule_undoes_though_another_one_fails_the_inspection(self):
        fails = {
            'op': 'set-attribute',
            'args': ['/extra', '{node.traits | trait}'],
        }
        stops = {'op': 'fail', 'args': ['no']}
        undoes = {**fails, 'revert': True}
        rules = [
            {
                'actions': [action],
                'conditions': [
                    {'op': 'eq', 'args': ['{plugin_data.t}', value]}
                ],
            }
            for value, action in (('b', stops), ('a', undoes), ('a', fails))
        ]
        self.assertNotEqual('yes', self.one('shadowed', *rules)['1',])

    def test_an_action_does_not_write_a_secret(self):
        password = '{node.driver_info.password}'
        there = {'op': '!is-empty', 'args': [password]}
        last = {'actions': [{'op': 'set-attribute', 'args': ['/extra', {}]}]}
        for args, more in (
            (['/extra/tag', password], {}),
            (['/extra/tag', f'of {password}'], {}),
            (['/extra/tag', '{node.driver_info.password | length}'], {}),
            (['/extra/tag', '{node.driver_info}'], {}),
            ([f'/extra/{password}', 1], {}),
            (['/extra/tag', '{item}'], {'loop': [password]}),
            (
                ['/extra/tag', '{item.password}'],
                {'loop': ['{node.driver_info}']},
            ),
        ):
            writes = {
                'conditions': [there],
                'actions': [{'op': 'set-attribute', 'args': args, **more}],
            }
            self.assertEqual(
                'yes', self.compared([writes, last], [last]), args
            )
        writes = {
            'conditions': [there],
            'vars': {'v': password},
            'actions': [
                {'op': 'set-attribute', 'args': ['/extra/tag', '{vars.v}']}
            ],
        }
        self.assertEqual('yes', self.compared([writes, last], [last]))

    def test_a_secret_that_no_rule_names_is_in_a_witness(self):
        for field in (
            'node.extra',
            'inventory',
            'inventory.cpu',
            'inventory.cpu.architecture',
            'inventory.disks',
        ):
            there = {'op': 'exists', 'args': [f'{{{field}}}']}
            # It is undone, but where it is an error.
            rules = [
                {
                    'conditions': [there],
                    'actions': [
                        {
                            'op': 'set-attribute',
                            'args': ['/extra/tag', f'{{{field}}}'],
                        }
                    ],
                },
                {
                    'actions': [
                        {'op': 'set-attribute', 'args': ['/extra/tag', 'x']}
                    ]
                },
            ]
            self.assertEqual(
                {('0',): 'no', ('1',): 'no'},
                self.one('shadowed', *rules),
                field,
            )
            parsed = self.parse(
                [
                    {
                        'uuid': _uuid(index),
                        **rule,
                    }
                    for index, rule in enumerate(rules)
                ]
            )
            answer = self.equivalent(parsed, parsed[1:])
            self.assertEqual('yes', answer.verdict, field)
            self.assertIn(
                'password',
                json.dumps([answer.witness.inventory, answer.witness.node]),
                field,
            )

    def test_a_node_has_no_secret_beside_its_columns(self):
        last = {
            'actions': [{'op': 'set-attribute', 'args': ['/extra/tag', 'x']}]
        }
        writes = {
            'conditions': [{'op': 'is-true', 'args': ['{node.maintenance}']}],
            'actions': [
                {'op': 'set-attribute', 'args': ['/extra/tag', '{node}']}
            ],
        }
        parsed = self.parse(
            [
                {'uuid': _uuid(index), **rule}
                for index, rule in enumerate((writes, last))
            ]
        )
        answer = self.equivalent(parsed, parsed[1:])
        if answer.witness is not None:
            self.assertNotIn('other_password', answer.witness.node)

    def test_a_secret_in_a_plain_field_is_one_in_a_mapping(self):
        field = '{inventory.cpu.architecture}'
        rules = self.parse(
            [
                {
                    'uuid': '00000000-0000-4000-8000-000000000000',
                    'description': '0',
                    'conditions': [
                        {
                            'op': 'eq',
                            'args': [
                                '{inventory.cpu.architecture | length}',
                                1,
                            ],
                        },
                        {
                            'op': 'exists',
                            'args': ['{inventory.cpu.architecture.a}'],
                        },
                    ],
                    'actions': [
                        {'op': 'set-attribute', 'args': ['/extra/tag', field]}
                    ],
                },
                {
                    'uuid': '00000000-0000-4000-8000-000000000001',
                    'description': '1',
                    'actions': [
                        {'op': 'set-attribute', 'args': ['/extra/tag', 'x']}
                    ],
                },
            ]
        )
        answer = self.ask(rules, 'shadowed')['shadowed', '0']
        self.assertEqual('unknown', answer.verdict)
        self.assertIn(
            'inventory.cpu.architecture as a mapping with a secret in it',
            answer.reason,
        )

    def test_names_that_a_rule_writes_are_of_no_secrets(self):
        tags = [{'op': 'set-attribute', 'args': ['/extra/tag', 1]}]
        # Whatever the machine, they hold.
        self.assertEqual(
            {},
            self.one(
                'dead',
                {
                    'vars': {'password': 'a'},
                    'actions': tags,
                    'conditions': [
                        {'op': 'eq', 'args': ['{vars.password}', 'a']}
                    ],
                },
                {
                    'actions': tags,
                    'conditions': [
                        {
                            'op': 'eq',
                            'args': ['{item.password}', 'a'],
                            'loop': [{'password': 'a'}],
                        }
                    ],
                },
            ),
        )
        # What a machine has stays one, wherever it goes.
        self.assertEqual(
            {('0',): 'yes'},
            self.one(
                'dead',
                {
                    'vars': {'v': '{node.extra}'},
                    'actions': tags,
                    'conditions': [
                        {'op': 'eq', 'args': ['{vars.v.password}', 'a']}
                    ],
                },
            ),
        )

    def test_secrets_inside_of_a_value_are_masked(self):
        tags = [{'op': 'set-attribute', 'args': ['/extra/tag', 1]}]
        sets = {
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': ['/extra/m', {'password': 'a'}],
                }
            ]
        }
        for op, args, dead in (
            ('eq', ['{node.extra.m}', {'password': 'a'}], 'yes'),
            ('ne', ['{node.extra.m}', {'password': 'a'}], 'no'),
            ('contains', ['{node.extra.m}', r'\*\*'], 'no'),
        ):
            self.assertEqual(
                dead,
                self.one(
                    'dead',
                    sets,
                    {
                        'actions': tags,
                        'conditions': [{'op': op, 'args': args}],
                    },
                ).get(('1',), 'no'),
                op,
            )

    def test_an_action_that_changes_nothing_may_be_an_error(self):
        def does(op, **args):
            return {'actions': [{'op': op, 'args': args}]}

        tags = does('set-attribute', path='/extra/tag', value='a')
        for first in (
            does('log', msg='{plugin_data.t | int}'),
            does('log', msg='x {plugin_data.t | int}'),
            does('log', msg='x', level='{plugin_data.t}'),
            does('api-call', url='http://a/{plugin_data.t}'),
        ):
            self.assertEqual(
                'yes', self.compared([first, tags], [tags]), first
            )
        # In a message, what is missing reads so.
        self.assertEqual(
            'no',
            self.compared([does('log', msg='{plugin_data.t}'), tags], [tags]),
        )
        # To fail with a message and with an error are two things.
        asked = {
            'conditions': [{'op': 'eq', 'args': ['{plugin_data.t}', 'a']}]
        }
        self.assertEqual(
            'no',
            self.compared(
                [tags, {**asked, **does('fail', msg='{plugin_data.t | int}')}],
                [
                    tags,
                    {
                        **asked,
                        **does('add-trait', name='{plugin_data.t | int}'),
                    },
                ],
            ),
        )

    def test_an_argument_of_another_type_is_an_error(self):
        def does(op, var=None, **args):
            return {'vars': {'v': var}, 'actions': [{'op': op, 'args': args}]}

        nothing = {'actions': [{'op': 'log', 'args': ['x']}]}
        clears = {
            'actions': [
                {'op': 'set-attribute', 'args': {'path': path, 'value': {}}}
                for path in ('/properties', '/extra')
            ]
        }
        for value, broken in (
            ('a,b', True),
            ('a:b', True),
            ('', True),
            (None, True),
            (['a'], True),
            (1, False),
            (' ', True),
        ):
            answer = self.compared(
                [
                    does('set-capability', value, name='{vars.v}', value='1'),
                    clears,
                ],
                [nothing, clears],
            )
            self.assertEqual('yes' if broken else 'no', answer, value)
        self.assertEqual(
            'yes',
            self.compared(
                [does('unset-capability', ['a'], name='{vars.v}'), clears],
                [nothing, clears],
            ),
        )
        # Traits of another prefix than that of those that are replaced.
        names = {'names': '{vars.v}', 'prefix': 'CUSTOM_'}
        self.assertEqual(
            'yes',
            self.compared(
                [
                    does('set-traits', ['HW_CPU_X86_VMX'], **names),
                    does('set-traits', names=[]),
                ],
                [nothing, does('set-traits', names=[])],
            ),
        )
        tags = does('unset-plugin-data', path='/tags')
        self.assertEqual(
            'yes',
            self.compared(
                [
                    tags,
                    does(
                        'extend-plugin-data',
                        path='/tags',
                        value='x',
                        unique='{inventory.cpu.architecture}',
                    ),
                    tags,
                ],
                [tags, nothing, tags],
            ),
        )

    def test_an_argument_of_a_condition_may_be_of_another_type(self):
        text = '{plugin_data.t}'
        known = [1, '1.0']
        is_number = {
            'op': 'all-of',
            'conditions': [
                {'op': 'is-true', 'args': [text]},
                {
                    'op': 'none-of',
                    'conditions': [
                        {'op': 'matches', 'args': [text, '(?i)yes|true']}
                    ],
                },
            ],
        }
        for op, args, var, dead, opposite in (
            ('lt', {'values': '{vars.v}'}, [1, 2], None, 'yes'),
            ('lt', {'values': '{vars.v}'}, [2, 1], 'yes', None),
            ('lt', {'values': '{vars.v}'}, [[2, 1]], 'yes', None),
            ('lt', {'values': '{vars.v}'}, 'a', 'yes', 'yes'),
            ('lt', {'values': '{vars.v}'}, None, 'yes', 'yes'),
            ('lt', {'values': '{node.extra}'}, 1, 'yes', 'yes'),
            ('lt', {'values': text}, 1, 'no', 'no'),
            ('version-lt', {'values': '{vars.v}'}, ['2', '1'], 'yes', None),
            ('version-lt', {'values': text}, 1, 'no', 'no'),
            ('eq', {'values': known, 'force_strings': 'no'}, 1, None, 'yes'),
            (
                'eq',
                {'values': known, 'force_strings': '{vars.v}'},
                'no',
                None,
                'yes',
            ),
            (
                'eq',
                {'values': known, 'force_strings': '{vars.v}'},
                '1',
                'yes',
                None,
            ),
            (
                'eq',
                {'values': known, 'force_strings': '{vars.v}'},
                'a',
                'yes',
                'yes',
            ),
            (
                'eq',
                {'values': [text, 1], 'force_strings': '{vars.v}'},
                'a',
                'yes',
                'no',
            ),
            ('one-of', {'value': 1, 'values': '{vars.v}'}, 1, 'yes', 'yes'),
            (
                'in-net',
                {'address': '10.0.0.1', 'subnet': '{vars.v}'},
                {},
                'yes',
                'yes',
            ),
        ):
            asked = {'op': op, 'args': args}
            adds = [{'op': 'add-trait', 'args': ['CUSTOM_T']}]
            for verdict, conditions_ in (
                (dead, [asked]),
                (opposite, [{'op': 'none-of', 'conditions': [asked]}]),
            ):
                self.assertEqual(
                    verdict,
                    self.one(
                        'dead',
                        {
                            'vars': {'v': var},
                            'conditions': conditions_,
                            'actions': adds,
                        },
                    ).get(('0',)),
                    (op, args, var),
                )
        # One value is compared with none, whatever it is.
        self.assertEqual(
            {('0',): 'no'},
            self.one(
                'dead',
                {
                    'actions': adds,
                    'conditions': [
                        is_number,
                        {'op': 'version-lt', 'args': [text]},
                    ],
                },
            ),
        )

    def test_text_of_values_may_be_compared_for_some_machines(self):
        field = '{node.maintenance}'
        equal = {'op': 'eq', 'args': {'values': [1, '1.0']}}
        adds = [{'op': 'add-trait', 'args': ['CUSTOM_T']}]
        asks = {
            'actions': adds,
            'conditions': [
                {**equal, 'args': {**equal['args'], 'force_strings': field}}
            ],
        }
        ignores = {
            'actions': adds,
            'conditions': [{'op': 'exists', 'args': [field]}, equal],
        }
        self.assertNotEqual('no', self.compared([asks], [ignores]))

    def test_what_is_decided_first_loses_nothing_if_it_undoes_nothing(self):
        tags = {
            'actions': [{'op': 'set-attribute', 'args': ['/extra/tag', 'a']}]
        }
        asks = {
            'priority': 9,
            'conditions': [
                {
                    'op': 'inspector-eq',
                    'args': {'field': 'data://t', 'value': 'a'},
                }
            ],
            'actions': [{'op': 'log', 'args': ['x']}],
        }
        self.assertEqual({(): 'no'}, self.one('gap:/extra/tag', asks, tags))
        self.assertEqual('yes', self.compared([asks, tags], [asks]))

    def test_a_mistake_in_a_proof_is_unknown_for_that_question_alone(self):
        def fails(*_given, **_named):
            raise AssertionError

        tags, asks = (
            self.parse(
                [
                    {
                        'uuid': _uuid(index),
                        'conditions': [
                            {'op': op, 'args': ['{plugin_data.t}', 'a']}
                        ],
                        'actions': [
                            {
                                'op': 'set-attribute',
                                'args': ['/extra/tag', index],
                            }
                        ],
                    }
                    for index, op in enumerate(ops)
                ]
            )
            for ops in (('eq', 'ne'), ('eq', 'contains'))
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.kit.proof.pair.clash', fails
            )
        )
        self.assertEqual(
            ['no', 'no', 'unknown'],
            [
                each.verdict
                for each in question.Proof(tags, SECONDS).answers(
                    ['dead', 'conflict']
                )
            ],
        )
        # What comes before the rule that nobody can follow is known.
        operators = 'ironic_inspection_rules.kit.proof.operator'
        self.useFixture(
            fixtures.MonkeyPatch(f'{operators}._where_text_matches', fails)
        )
        answers = list(
            question.Proof(asks, SECONDS).answers(['dead', 'gap:/extra/tag'])
        )
        self.assertEqual(
            ['no', 'unknown', 'unknown'], [each.verdict for each in answers]
        )
        self.assertIn('fails', answers[1].reason)

    def test_braces_in_the_language_of_ironic_inspector_are_text(self):
        asks = {
            'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
            'conditions': [
                {
                    'op': 'inspector-ne',
                    'args': {
                        'field': 'data://inventory.cpu.architecture',
                        'value': '{vars.nothing}',
                    },
                }
            ],
        }
        self.assertNotEqual('yes', self.one('dead', asks).get(('0',)))

    def test_lists_that_many_rules_extend_do_not_explode(self):
        rules = self.parse(
            [
                {
                    'uuid': f'00000000-0000-4000-8000-0000000000{index}',
                    'description': str(index),
                    'conditions': [
                        {'op': '!eq', 'args': ['{inventory.cpu.count}', index]}
                    ],
                    'actions': [
                        {
                            'op': 'extend-plugin-data',
                            'args': [
                                '/l',
                                f'{index} '
                                '{inventory.system_vendor.manufacturer '
                                '| default("none", true)}',
                            ],
                        }
                    ],
                }
                for index in range(10, 18)
            ]
        )
        proof = question.Proof(rules, SECONDS)
        made = values.step(proof._end.roots['plugin_data'], 'l')
        self.assertLess(len(made), 100)
        self.assertEqual(
            ['no'] * 8, [each.verdict for each in proof.answers(['dead'])]
        )

    def test_values_of_different_types_are_different(self):
        self.assertEqual(
            {('0', '1'): 'yes'},
            self.one(
                'conflict',
                *(
                    {
                        'actions': [
                            {
                                'op': 'set-attribute',
                                'args': ['/extra/a', value],
                            }
                        ]
                    }
                    for value in (1, True)
                ),
            ),
        )

    def test_text_that_looks_like_an_escape_of_the_solver_is_itself(self):
        one, other = (
            {
                'conditions': [
                    {
                        'op': 'eq',
                        'args': [
                            '{inventory.system_vendor.manufacturer}',
                            text,
                        ],
                    }
                ],
                'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
            }
            for text in (r'\u{{41}}', 'A')
        )
        self.assertEqual(
            {('0',): 'no', ('1',): 'no'}, self.one('dead', one, other)
        )
        sets = (
            self.parse([{**each, 'uuid': MACHINE, 'description': 'a'}])
            for each in (one, other)
        )
        answer = self.equivalent(*sets)
        self.assertEqual('yes', answer.verdict)
        self.assertIn(
            answer.witness.inventory['system_vendor']['manufacturer'],
            (r'\u{41}', 'A'),
        )
        # Also where other text is tried, made of it, or looked for in it. A
        # pattern in the text of two fields may take the solver minutes.
        name, maker = (
            '{inventory.system_vendor.product_name}',
            '{inventory.system_vendor.manufacturer}',
        )
        lower = '{inventory.system_vendor.product_name | lower}'
        for field, text, ops in (
            (name, r'\u0041', ('eq', 'matches')),
            (lower, r'\u{6a}', ('eq', 'matches')),
            (name + maker, r'\u{41}', ('eq',)),
        ):
            literal = text.replace('{', '{{').replace('}', '}}')
            values_ = {'eq': literal, 'matches': re.escape(text)}
            for op in ops:
                self.assertEqual(
                    {('0',): 'no'},
                    self.one(
                        'dead',
                        {
                            **one,
                            'conditions': [
                                {'op': op, 'args': [field, values_[op]]}
                            ],
                        },
                    ),
                    (field, op),
                )

    def test_text_may_have_any_characters(self):
        field = '{inventory.system_vendor.manufacturer}'
        for op, value, verdict in (
            ('eq', 'Gr\u00f6\u00dfe', 'no'),
            ('ne', 'Gr\u00f6\u00dfe', 'no'),
            ('contains', '\u00df', 'no'),
            ('contains', '[\u00df]', 'no'),
            ('contains', '[^ -~]', 'no'),
            ('contains', r'^[^\x00-\x7f]$', 'no'),
            ('matches', r'\s', 'no'),
            ('matches', r'(?i)[^a-z]elvin', 'no'),
            ('matches', '^(^Dell|HPE)$', 'unknown'),
            ('matches', '(?:Dell$)$', 'unknown'),
            ('matches', '^(Dell|HPE)$', 'no'),
        ):
            self.assertEqual(
                {('0',): verdict},
                self.one(
                    'dead',
                    {
                        'conditions': [{'op': op, 'args': [field, value]}],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    },
                ),
                (op, value),
            )

    def test_what_is_left_of_a_mapping_is_known(self):
        empty = {
            'conditions': [{'op': 'is-empty', 'args': ['{node.extra}']}],
            'actions': [{'op': 'add-trait', 'args': ['CUSTOM_CLEAN']}],
        }
        forgets = {
            'actions': [{'op': 'del-attribute', 'args': ['/extra/old']}]
        }
        one, other = (
            self.parse(
                [
                    {
                        'uuid': f'00000000-0000-4000-8000-00000000000{number}',
                        'description': str(number),
                        **rule,
                    }
                    for number, rule in enumerate(rules)
                ]
            )
            for rules in ([forgets, empty], [empty, forgets])
        )
        answer = self.equivalent(one, other)
        self.assertEqual('yes', answer.verdict)
        self.assertEqual(['old'], list(answer.witness.node['extra']))

    def test_traits_that_only_conditions_name_are_traits(self):
        asks = {
            'conditions': [
                {
                    'op': 'one-of',
                    'args': {'value': 'CUSTOM_B', 'values': '{node.traits}'},
                }
            ],
            'actions': [{'op': 'set-attribute', 'args': ['/extra/b', 1]}],
        }
        replaces = {
            'priority': 10,
            'actions': [{'op': 'set-traits', 'args': [['CUSTOM_A']]}],
        }
        self.assertEqual({('1',): 'yes'}, self.one('dead', replaces, asks))

    def test_a_write_after_one_that_nobody_can_follow_counts(self):
        vendor = '{inventory.system_vendor.manufacturer'
        for first, second in (
            (
                {'op': 'add-trait', 'args': [f'{vendor} | trait}}']},
                {'op': 'remove-trait', 'args': ['CUSTOM_SPARE']},
            ),
            (
                {'op': 'set-attribute', 'args': [f'/extra/{vendor}}}', 1]},
                {'op': 'del-attribute', 'args': ['/extra/spare']},
            ),
            (
                {'op': 'set-capability', 'args': [f'{vendor}}}', 1]},
                {'op': 'unset-capability', 'args': ['spare']},
            ),
            (
                {'op': 'set-plugin-data', 'args': [f'/m/{vendor}}}', 1]},
                {'op': 'unset-plugin-data', 'args': ['/m/spare']},
            ),
        ):
            self.assertNotEqual(
                'yes',
                self.one(
                    'shadowed',
                    {'priority': 10, 'actions': [first]},
                    {'actions': [second]},
                )['1',],
                first,
            )

    def test_a_list_of_fields_has_no_item_where_one_has_no_value(self):
        self.assertEqual(
            {('0',): 'no'},
            self.one(
                'dead',
                {
                    'conditions': [
                        {
                            'op': 'one-of',
                            'args': {
                                'value': '{inventory.cpu.architecture}',
                                'values': ['{plugin_data.t | lower}', 'a'],
                            },
                        }
                    ],
                    'actions': [{'op': 'add-trait', 'args': ['CUSTOM_A']}],
                },
            ),
        )

    def test_a_place_that_nobody_can_follow_may_be_a_gap(self):
        extends = {
            'actions': [
                {'op': 'extend-attribute', 'args': ['/extra/l', 1]},
                {'op': 'set-attribute', 'args': ['/extra/l/-', 1]},
            ]
        }
        self.assertNotEqual({(): 'no'}, self.one('gap:/extra/l/5', extends))

    def test_a_missing_value_is_no_error_of_a_condition(self):
        # Nobody knows what the first rule leaves there.
        sets = {
            'priority': 5,
            'actions': [
                {'op': 'set-attribute', 'args': ['/extra/tag', 1]},
                {
                    'op': 'del-attribute',
                    'args': ['/extra/{item}'],
                    'loop': '{inventory.cpu.flags | sort}',
                },
            ],
        }
        asks = {
            'conditions': [{'op': '!is-empty', 'args': ['{node.extra.tag}']}],
            'actions': [{'op': 'add-trait', 'args': ['CUSTOM_A']}],
        }
        self.assertEqual(
            {(): 'unknown'}, self.one('gap:/extra/tag', sets, asks)
        )

    def test_a_condition_of_others_may_be_an_error(self):
        self.useFixture(third_party.Installed())
        tags = {
            'actions': [{'op': 'set-attribute', 'args': ['/extra/tag', 'a']}]
        }
        # The op is asked for what is known: null is an error.
        asks = {
            **tags,
            'conditions': [
                {'op': '!is-none', 'args': ['{plugin_data.t}']},
                {'op': 'third-party', 'args': ['{plugin_data.t}']},
            ],
        }
        self.assertNotEqual('no', self.compared([asks, tags], [tags]))

    def test_a_mistake_in_a_plugin_is_named(self):
        def breaks(*_given):
            raise KeyError('place')

        self.useFixture(third_party.Installed())
        for name in ('ThirdAction.writes', 'ThirdCondition.__call__'):
            self.useFixture(
                fixtures.MonkeyPatch(f'{third_party.__name__}.{name}', breaks)
            )
        acts = {'actions': [{'op': 'third-party', 'args': ['a']}]}
        (answer,) = question.Proof(
            self.parse([{**acts, 'uuid': MACHINE}]), SECONDS
        ).answers(['gap:/extra/tag'])
        self.assertEqual('unknown', answer.verdict)
        self.assertIn('ThirdAction.writes', answer.reason)
        # The inspection ends where a condition cannot be checked.
        tags = {
            'actions': [{'op': 'set-attribute', 'args': ['/extra/tag', 'a']}]
        }
        asks = {**tags, 'conditions': [{'op': 'third-party', 'args': ['b']}]}
        self.assertEqual('yes', self.compared([asks], [tags]))

    def test_an_action_of_others_may_write_anywhere(self):
        def writes(_action, _arguments):
            yield 'disk', 'sda'

        self.useFixture(third_party.Installed())
        self.useFixture(
            fixtures.MonkeyPatch(
                f'{third_party.__name__}.ThirdAction.writes', writes
            )
        )
        acts = {'actions': [{'op': 'third-party', 'args': ['a']}]}
        (answer,) = question.Proof(
            self.parse([{**acts, 'uuid': MACHINE}]), SECONDS
        ).answers(['gap:/extra/tag'])
        self.assertEqual('unknown', answer.verdict)
        self.assertIn('ThirdAction.writes', answer.reason)

    def test_a_plain_value_takes_no_key(self):
        attributes = 'set-attribute', 'del-attribute', '/extra/tag'
        data = 'set-plugin-data', 'unset-plugin-data', '/t'
        for (set_, remove, path), value in (
            (attributes, 'a'),
            (attributes, 1),
            (attributes, True),
            (attributes, '{node.traits}'),
            (data, 'a'),
            (data, 1),
        ):
            first = {
                'priority': 5,
                'actions': [{'op': set_, 'args': [path, value]}],
            }
            adds = {'actions': [{'op': set_, 'args': [f'{path}/k', 1]}]}
            self.assertEqual(
                'yes', self.compared([first, adds], [first]), (path, value)
            )
            # To remove what is not there is fine.
            removes = {'actions': [{'op': remove, 'args': [f'{path}/k']}]}
            self.assertEqual(
                'no', self.compared([first, removes], [first]), (path, value)
            )
        # A value that the machine has.
        adds = {
            'actions': [{'op': 'set-attribute', 'args': ['/extra/tag/k', 1]}],
            'conditions': [{'op': 'eq', 'args': ['{node.extra.tag}', 'a']}],
        }
        self.assertEqual('yes', self.compared([adds], []))

    def test_capabilities_conflict_by_their_names_and_texts(self):
        def sets(value, name='c', **more):
            return {
                'actions': [{'op': 'set-capability', 'args': [name, value]}],
                **more,
            }

        def whole(text):
            return {
                'actions': [
                    {
                        'op': 'set-attribute',
                        'args': ['/properties/capabilities', text],
                    }
                ]
            }

        def counts(op):
            return {
                'conditions': [
                    {'op': op, 'args': ['{inventory.cpu.count}', 8]}
                ]
            }

        unsets = {'actions': [{'op': 'unset-capability', 'args': ['c']}]}
        for one, other, verdict in (
            (sets('1'), sets('2'), 'yes'),
            (sets('1'), sets('1'), 'no'),
            # A capability is text, whatever it was set to.
            (sets('1'), sets(1), 'no'),
            (sets('1'), sets(True), 'yes'),
            (sets('True'), sets(True), 'no'),
            (sets('1'), sets('2', 'd'), None),
            (sets('1'), unsets, 'yes'),
            (unsets, sets('1'), 'yes'),
            (unsets, unsets, 'no'),
            (sets('1'), sets('{inventory.cpu.count}'), 'yes'),
            (sets('1', **counts('lt')), sets('2', **counts('ge')), 'no'),
            (sets('1'), whole('c:2'), 'yes'),
            (whole('c:2'), sets('1'), 'yes'),
            (whole('c:1'), whole('c:2'), 'yes'),
        ):
            self.assertEqual(
                verdict,
                self.one('conflict', one, other).get(('0', '1')),
                (one, other),
            )
        # A name that a machine has may be that of the other.
        self.assertIn(
            self.one('conflict', sets('1'), sets('2', '{plugin_data.t}')).get(
                ('0', '1')
            ),
            ('yes', 'unknown'),
        )

    def test_white_space_around_a_capability_is_no_part_of_it(self):
        def sets(name, value):
            return {
                'actions': [{'op': 'set-capability', 'args': [name, value]}]
            }

        of_data = sets('c', '{plugin_data.t}')
        constant = sets('d', 'b')
        self.assertEqual(
            'no', self.compared([of_data, constant], [constant, of_data])
        )
        self.assertEqual(
            'no', self.compared([sets('c', ' 1 ')], [sets(' c', '1\t')])
        )
        self.assertEqual(
            'yes', self.compared([sets('c', '1')], [sets('c', '1 2')])
        )

    def test_what_a_field_gives_is_one_token_of_a_path(self):
        def sets(path, token=''):
            return [
                {
                    'vars': {'v': token},
                    'actions': [
                        {'op': 'set-attribute', 'args': ['/extra', {'l': []}]},
                        {'op': 'set-attribute', 'args': [path, 1]},
                    ],
                }
            ]

        for parent, token in (
            ('/extra', 'm/k'),
            ('/extra', 'm~1k'),
            ('/extra/l', '-'),
        ):
            self.assertEqual(
                'yes',
                self.compared(
                    sets(f'{parent}/{{vars.v}}', token),
                    sets(f'{parent}/{token}'),
                ),
                token,
            )

    def test_a_loop_over_what_nobody_knows_may_be_an_error(self):
        tags = {
            'actions': [{'op': 'set-attribute', 'args': ['/extra/tag', 'a']}]
        }
        # Text is no list.
        loops = {
            **tags,
            'conditions': [
                {'op': '!is-none', 'args': ['{node.name}']},
                {
                    'op': 'exists',
                    'args': ['{item}'],
                    'loop': '{node.name | lookup({"a": "text"})}',
                },
            ],
        }
        self.assertNotEqual('no', self.compared([loops, tags], [tags]))

    def test_an_item_that_is_not_looked_at_may_be_an_error(self):
        tags = '{plugin_data.tags}'
        sets = {
            'actions': [{'op': 'set-attribute', 'args': ['/extra/tag', 'a']}]
        }
        # No mapping, and no text, and five numbers.
        guards = [
            {
                'conditions': [{'op': 'contains', 'args': [tags, '^{']}],
                'actions': [{'op': 'fail', 'args': ['no']}],
            },
            {
                'conditions': [
                    {'op': 'exists', 'args': ['{item}'], 'loop': tags},
                    *(
                        {
                            'op': 'exists',
                            'args': [f'{{plugin_data.tags[{number}] | abs}}'],
                        }
                        for number in range(5)
                    ),
                ],
                'actions': [{'op': 'log', 'args': ['x']}],
            },
        ]
        for multiple in 'any', 'last':
            asks = {
                **sets,
                'conditions': [
                    {
                        'op': 'eq',
                        'args': ['{item | abs}', -1],
                        'loop': tags,
                        'multiple': multiple,
                    }
                ],
            }
            self.assertNotEqual(
                'no',
                self.compared([*guards, asks, sets], [*guards, sets]),
                multiple,
            )

    def test_an_action_is_done_for_items_that_are_not_looked_at(self):
        tags = '{plugin_data.tags}'
        guard = {
            'conditions': [{'op': 'exists', 'args': ['{item}'], 'loop': tags}],
            'actions': [{'op': 'log', 'args': ['x']}],
        }
        adds = {
            'conditions': [
                {'op': '!eq', 'args': [f'{{plugin_data.tags[{number}]}}', 'x']}
                for number in range(5)
            ],
            'actions': [
                {
                    'op': 'add-trait',
                    'args': ['CUSTOM_A'],
                    'loop': tags,
                    'when': [{'op': 'eq', 'args': ['{item}', 'x']}],
                }
            ],
        }
        self.assertNotEqual('no', self.compared([guard, adds], [guard]))

    def test_values_that_nobody_knows_are_not_the_same(self):
        first, second = (
            f'{{node.name | lookup({{"a": "{text}"}})' for text in 'BC'
        )
        for one, other in (
            (first, second),
            (first, f'{first} | lower'),
            (f'{first} | lower', f'{first} | upper'),
        ):
            # Both sets read both of them, and end where one has no value.
            sets = [
                [
                    {
                        'conditions': [
                            {'op': '!is-none', 'args': ['{node.name}']}
                        ],
                        'actions': [
                            {'op': 'set-attribute', 'args': [path, value]}
                            for path, value in (
                                ('/extra/p', f'{one}}}'),
                                ('/extra/p', f'{other}}}'),
                                ('/extra/p', 1),
                                ('/extra/tag', f'{last}}}'),
                            )
                        ],
                    }
                ]
                for last in (one, other)
            ]
            self.assertNotEqual('no', self.compared(*sets), (one, other))
            self.assertEqual('no', self.compared(sets[0], [*sets[0]] * 2))

    def test_plugin_data_have_the_names_of_ironic_inspector(self):
        removes = {
            'priority': 5,
            'actions': [{'op': 'unset-plugin-data', 'args': ['/bmc_address']}],
        }
        asks = {
            'actions': [{'op': 'add-trait', 'args': ['CUSTOM_A']}],
            'conditions': [
                {'op': '!is-empty', 'args': ['{plugin_data.bmc_address}']}
            ],
        }
        self.assertEqual({('1',): 'no'}, self.one('dead', removes, asks))

    def test_an_empty_value_of_another_name_is_none(self):
        field = '{inventory.bmc_address}'
        for empty in (0, False, 0.0, '', [], {}):
            is_it = {'op': 'eq', 'args': [field, empty]}
            if empty in ('', [], {}):
                is_it = {'op': 'is-empty', 'args': [field]}
            asks = {
                'actions': [{'op': 'add-trait', 'args': ['CUSTOM_A']}],
                'conditions': [
                    {'op': '!exists', 'args': ['{plugin_data.bmc_address}']},
                    {'op': '!exists', 'args': ['{inventory.bmc_v6address}']},
                    {'op': 'exists', 'args': [field]},
                    is_it,
                ],
            }
            rules = self.parse([{'uuid': MACHINE, **asks}])
            usual = witness.sample()
            machine = witness.Witness(
                {'bmc_address': empty}, {}, usual['node']
            )
            self.assertTrue(
                witness.has_matched(
                    witness.Engine().evaluate(rules, machine), rules[0]
                ),
                empty,
            )
            self.assertNotEqual('yes', self.one('dead', asks)['0',], empty)

    def test_the_text_of_capabilities_is_not_what_it_was(self):
        sets = {
            'priority': 5,
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': ['/properties/capabilities', 'a:1'],
                },
                {'op': 'set-capability', 'args': ['b', '2']},
            ],
        }
        asks = {
            'actions': [{'op': 'add-trait', 'args': ['CUSTOM_A']}],
            'conditions': [
                {
                    'op': '!eq',
                    'args': ['{node.properties.capabilities}', 'a:1'],
                }
            ],
        }
        self.assertNotEqual('yes', self.one('dead', sets, asks).get(('1',)))

    def test_conditions_look_for_items_that_are_not_looked_at(self):
        tags = '{plugin_data.tags}'
        # A list of more than five items, and none of five is the wanted one.
        guards = [
            {'op': '!eq', 'args': [f'{{plugin_data.tags[{number}]}}', 'x']}
            for number in range(6)
        ]
        guards.append({'op': '!contains', 'args': [tags, '^{']})
        for asked in (
            {'op': 'eq', 'args': ['{item}', 'x'], 'loop': tags},
            {'op': 'one-of', 'args': {'value': 'x', 'values': tags}},
        ):
            self.assertNotEqual(
                'yes',
                self.one(
                    'dead',
                    {
                        'conditions': [*guards, asked],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_A']}],
                    },
                )['0',],
                asked,
            )

    def test_there_may_be_anything_in_what_nobody_knows(self):
        takes = {
            'priority': 5,
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': ['/extra/m', f'{{ports[{MAC}].extra.m}}'],
                }
            ],
        }
        asks = {
            'conditions': [{'op': 'exists', 'args': ['{node.extra.m.k}']}],
            'actions': [{'op': 'add-trait', 'args': ['CUSTOM_A']}],
        }
        self.assertNotEqual('yes', self.one('dead', takes, asks)['1',])

    def test_what_is_written_to_a_log_stays(self):
        self.assertEqual(
            {('0',): 'no'},
            self.one('shadowed', {'actions': [{'op': 'log', 'args': ['x']}]}),
        )

    def test_an_error_undoes_its_phase_alone(self):
        sets = {
            'actions': [{'op': 'set-attribute', 'args': ['/extra/tag', 1]}]
        }
        # No list is the text that the filter takes.
        breaks = {
            'actions': [{'op': 'log', 'args': ['x']}],
            'conditions': [{'op': 'eq', 'args': ['{node.traits | trait}', 1]}],
        }
        self.assertEqual(
            'yes',
            self.compared(
                [sets, breaks], [{**sets, 'phase': 'preprocess'}, breaks]
            ),
        )
        self.assertEqual('no', self.compared([sets, breaks], [breaks]))

    def test_an_action_is_done_when_its_conditions_hold(self):
        does = {'op': 'set-attribute', 'args': ['/extra/tag', 1]}
        when = [{'op': 'ge', 'args': ['{inventory.cpu.count}', 8]}]
        always, sometimes = (
            [{'actions': [action]}]
            for action in (does, {**does, 'when': when})
        )
        self.assertEqual('yes', self.compared(always, sometimes))
        self.assertEqual(
            'no',
            self.compared(
                [{'conditions': when, 'actions': [does]}], sometimes
            ),
        )

    def test_a_rule_in_mode_audit_does_nothing(self):
        sets = {
            'actions': [{'op': 'set-attribute', 'args': ['/extra/tag', 1]}]
        }
        audits = {**sets, 'mode': 'audit'}
        self.assertEqual('yes', self.compared([audits], [sets]))
        self.assertEqual('no', self.compared([audits, sets], [sets]))

    def test_rules_that_run_again_decide_on_what_was_first(self):
        sets = {
            'priority': 5,
            'actions': [{'op': 'set-plugin-data', 'args': ['/t', 'a']}],
        }
        undoes = {
            'conditions': [{'op': '!eq', 'args': ['{plugin_data.t}', 'a']}],
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': ['/extra/tag', 1],
                    'revert': True,
                }
            ],
        }
        other = {
            'actions': [{'op': 'set-attribute', 'args': ['/extra/tag', 2]}]
        }
        self.assertNotIn(
            self.one('conflict', sets, undoes, other).get(('1', '2')),
            ('no', None),
        )

    def test_an_unknown_value_before_an_error_may_be_missing(self):
        # No list is the text that the filter takes.
        error = '{node.traits | trait}'
        port = f'{{ports[{MAC}].extra.tag}}'
        asks = {
            'actions': [{'op': 'log', 'args': ['x']}],
            'conditions': [{'op': 'eq', 'args': [port, error]}],
        }
        self.assertNotEqual({(): 'no'}, self.one('gap:/extra/tag', asks))

    def test_an_action_needs_a_value_that_may_be_missing(self):
        found = '{node.name | lookup({"a": 1})}'
        clears = {'actions': [{'op': 'set-attribute', 'args': ['/extra', {}]}]}
        named = [{'op': '!is-none', 'args': ['{node.name}']}]
        logs = {
            'conditions': named,
            'actions': [{'op': 'log', 'args': [found]}],
        }
        sets = {
            'conditions': named,
            'actions': [{'op': 'set-attribute', 'args': ['/extra/q', found]}],
        }
        self.assertNotEqual(
            'no', self.compared([logs, clears], [sets, clears])
        )

    def test_a_value_that_is_put_into_itself_grows_not_for_ever(self):
        grown = values.const(1)
        for _number in range(13):
            grown = values.only(
                values.Mapping(None, {'one': grown, 'other': grown})
            )
        (made,) = (
            alternative
            for _guard, alternative in values.choose(
                z3.Bool('guard'), grown, values.const(1)
            )
        )
        self.assertIsInstance(made, values.UnknownValue)

    def test_the_first_value_that_is_none_decides(self):
        # No list is the text that the filter takes.
        fields = ['{plugin_data.t}', '{node.traits | trait}']
        for asked, gaps in ((fields, 'yes'), (fields[::-1], 'no')):
            for written in asked, [asked, 1]:
                asks = {
                    'actions': [{'op': 'log', 'args': ['x']}],
                    'conditions': [{'op': 'eq', 'args': {'values': written}}],
                }
                self.assertEqual({(): gaps}, self.one('gap:/extra/tag', asks))

    def test_what_may_be_undone_is_decided_on_what_was_before(self):
        sets = {
            'priority': 5,
            'actions': [{'op': 'set-plugin-data', 'args': ['/m', 'x']}],
        }
        undoes = {
            'conditions': [{'op': 'is-true', 'args': ['{plugin_data.m.k}']}],
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': ['/extra/tag', 1],
                    'revert': True,
                }
            ],
        }
        self.assertEqual(
            {('0',): 'no', ('1',): 'no'}, self.one('dead', sets, undoes)
        )

    def test_an_item_has_no_value_where_a_field_in_it_has_none(self):
        loop = [{'size': '{node.extra.size}'}]
        conditions_ = [
            {'op': 'is-none', 'args': ['{item}'], 'loop': loop},
            {'op': 'exists', 'args': ['{item.size}'], 'loop': loop},
        ]
        rules = [
            {
                'conditions': asked,
                'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
            }
            for asked in (conditions_[:1], conditions_)
        ]
        self.assertEqual(
            {('0',): 'no', ('1',): 'yes'}, self.one('dead', *rules)
        )

    def test_a_loop_that_a_rule_writes_out_is_filled_as_a_whole(self):
        # No list is the text that the filter takes.
        error = '{node.traits | trait}'
        for loop, item in (
            (['a', error], '{item}'),
            (['a', [{'k': error}]], '{item}'),
            ({'k': 'a', 'l': error}, '{item.k}'),
        ):
            asks = {
                'conditions': [
                    {'op': 'eq', 'args': [item, 'a'], 'loop': loop}
                ],
                'actions': [{'op': 'log', 'args': ['x']}],
            }
            adds = {
                'actions': [
                    {'op': 'add-trait', 'args': ['CUSTOM_A'], 'loop': loop}
                ]
            }
            for first in asks, adds:
                later = {'actions': [{'op': 'log', 'args': ['x']}]}
                self.assertEqual(
                    'yes',
                    self.one('dead', {'priority': 5, **first}, later)['1',],
                    first,
                )

    def test_what_a_rule_makes_of_a_secret_is_not_written(self):
        later = {
            'actions': [{'op': 'log', 'args': ['x']}],
            'conditions': [
                {'op': '!is-empty', 'args': ['{node.driver_info.x_password}']}
            ],
        }
        for value, dead in (
            ('******', 'no'),
            ('{node.driver_info.x_password}', 'yes'),
            ('{node.driver_info.x_password | length}', 'yes'),
            ('{inventory.cpu.count}', 'no'),
        ):
            makes = {
                'priority': 5,
                'vars': {'password': value},
                'actions': [
                    {
                        'op': 'set-plugin-data',
                        'args': ['/n', '{vars.password}'],
                    }
                ],
            }
            self.assertEqual(dead, self.one('dead', makes, later)['1',], value)

    def test_capabilities_that_are_no_text_end_an_inspection(self):
        later = {'actions': [{'op': 'add-trait', 'args': ['CUSTOM_A']}]}
        path = '/properties/capabilities'
        for written, ends in (
            (['set-attribute', [path, [None]]], True),
            (['set-attribute', [path, '{plugin_data.n | int}']], True),
            (['set-attribute', ['/properties', {'capabilities': 1}]], True),
            (['set-attribute', [f'{path}/a', 'b']], True),
            (['extend-attribute', [path, 'a:1']], True),
            (['set-attribute', [path, 'a:1']], False),
            (['set-attribute', ['/properties', {'p': 1}]], False),
        ):
            sets = {
                'priority': 5,
                'actions': [{'op': written[0], 'args': written[1]}],
            }
            self.assertEqual(
                {('1',): 'yes'} if ends else {},
                self.one('dead', sets, later),
                written,
            )

    def test_a_list_takes_no_key(self):
        writes = {
            'priority': 5,
            'actions': [
                {'op': 'set-attribute', 'args': ['/extra/m', [1]]},
                {'op': 'set-attribute', 'args': ['/extra/m/k', 1]},
            ],
        }
        deletes = {
            'priority': 5,
            'actions': [
                {'op': 'set-attribute', 'args': ['/extra/m', [1]]},
                {'op': 'del-attribute', 'args': ['/extra/m/k']},
            ],
        }
        asks = {
            'conditions': [{'op': 'eq', 'args': ['{node.extra.m}', [1]]}],
            'actions': [{'op': 'add-trait', 'args': ['CUSTOM_A']}],
        }
        self.assertEqual({('1',): 'yes'}, self.one('dead', writes, asks))
        self.assertEqual({}, self.one('dead', deletes, asks))

    def test_a_set_is_equivalent_to_itself_whatever_is_in_it(self):
        entries = [
            {
                'uuid': f'00000000-0000-4000-8000-00000000000{number}',
                'description': str(number),
                'actions': [action],
                **more,
            }
            for number, (action, more) in enumerate(
                (
                    (
                        {
                            'op': 'set-attribute',
                            'args': [
                                '/extra/hw/size',
                                '{inventory.memory.physical_mb}',
                            ],
                        },
                        {},
                    ),
                    ({'op': 'set-attribute', 'args': ['/extra/l/-', 1]}, {}),
                    (
                        {
                            'op': 'set-attribute',
                            'args': [
                                '/extra/{inventory.system_vendor.manufacturer}',
                                1,
                            ],
                        },
                        {},
                    ),
                    (
                        {
                            'op': 'add-trait',
                            'args': [
                                '{inventory.system_vendor.product_name '
                                '| trait}'
                            ],
                        },
                        {
                            'conditions': [
                                {
                                    'op': 'contains',
                                    'args': ['{inventory.disks}', r'\bSSD\b'],
                                }
                            ]
                        },
                    ),
                    (
                        {
                            'op': 'set-attribute',
                            'args': ['/extra/n', 5, 'clean'],
                        },
                        {
                            'conditions': [
                                {
                                    'op': 'ge',
                                    'args': [
                                        '{inventory.cpu.flags | length}',
                                        7,
                                    ],
                                }
                            ]
                        },
                    ),
                )
            )
        ]
        answer = self.equivalent(self.parse(entries), self.parse(entries))
        self.assertEqual(('no', ''), (answer.verdict, answer.reason))

    def test_a_line_may_end_before_its_newline(self):
        def dead(*regexes):
            return self.one(
                'dead',
                {
                    'conditions': [
                        {
                            'op': 'contains',
                            'args': [
                                '{inventory.system_vendor.manufacturer}',
                                regex,
                            ],
                        }
                        for regex in regexes
                    ],
                    'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                },
            )['0',]

        self.assertEqual('no', dead('^HPE$', r'\s'))
        self.assertEqual('yes', dead(r'^HPE\Z', r'\s'))

    def test_a_machine_may_send_a_value_of_any_type(self):
        count = '{inventory.cpu.count}'
        for conditions_, verdict in (
            ([('gt', [count, 'a'])], 'no'),
            ([('gt', [count, 4]), ('lt', [count, 5])], 'no'),
            ([('gt', [count, 5]), ('lt', [count, 4])], 'yes'),
            ([('exists', ['{inventory.cpu.count.total}'])], 'no'),
            ([('is-true', [count]), ('!ge', [count, 0])], 'no'),
        ):
            self.assertEqual(
                {('0',): verdict},
                self.one(
                    'dead',
                    {
                        'conditions': [
                            {'op': op, 'args': args}
                            for op, args in conditions_
                        ],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    },
                ),
                conditions_,
            )

    def test_a_rule_that_another_one_prevents_is_dead(self):
        self.assertEqual(
            {('1',): 'yes'},
            self.one(
                'dead',
                {'actions': [{'op': 'fail', 'args': ['no']}]},
                {'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}]},
            ),
        )

    def test_groups_hold_where_enough_of_them_do(self):
        few, many = (
            {'op': op, 'args': ['{inventory.cpu.count}', 8]}
            for op in ('le', 'ge')
        )
        self.assertEqual(
            {('0',): 'no', ('1',): 'no', ('2',): 'yes'},
            self.one(
                'dead',
                *(
                    {
                        'conditions': [
                            {'op': 'eq', 'args': ['{inventory.cpu.count}', 8]},
                            {'op': op, 'conditions': [few, many]},
                        ],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    }
                    for op in ('any-of', 'all-of', 'none-of')
                ),
            ),
        )

    def test_what_one_rule_does_to_a_port_another_may_undo(self):
        one, same, other = (
            {
                'actions': [
                    {
                        'op': 'set-port-attribute',
                        'args': [mac, '/extra/a', value],
                    }
                ]
            }
            for mac, value in (
                (MAC, 1),
                (MAC.replace('01', '02'), 2),
                (MAC.upper(), 2),
            )
        )
        self.assertEqual(
            {('0', '2'): 'yes'},
            {
                pair: verdict
                for pair, verdict in self.one(
                    'conflict', one, same, other
                ).items()
                if verdict != 'no'
            },
        )
        each = {
            'actions': [
                {
                    'op': 'set-port-attribute',
                    'args': ['{item.address}', '/extra/a', 3],
                    'loop': '{ports}',
                }
            ]
        }
        self.assertEqual({('0', '1'): 'yes'}, self.one('conflict', one, each))

    def test_a_place_out_of_the_data_may_be_any(self):
        place = '{inventory.system_vendor.manufacturer}'
        tag = {'actions': [{'op': 'set-attribute', 'args': ['/extra/tag', 1]}]}
        other = {
            'actions': [
                {'op': 'set-attribute', 'args': [f'/extra/{place}', 2]}
            ]
        }
        self.assertEqual(
            {('0', '1'): 'unknown'}, self.one('conflict', tag, other)
        )
        plugin_data = {
            'actions': [{'op': 'set-plugin-data', 'args': [f'/{place}', 2]}]
        }
        self.assertEqual({}, self.one('conflict', tag, plugin_data))

    def test_traits_that_rules_add_do_not_conflict(self):
        named, found = (
            {'actions': [{'op': 'add-trait', 'args': [name]}]}
            for name in (
                'CUSTOM_A',
                '{inventory.system_vendor.product_name | trait}',
            )
        )
        self.assertNotIn('yes', self.one('conflict', named, found).values())
        removes = {'actions': [{'op': 'remove-trait', 'args': ['CUSTOM_A']}]}
        self.assertEqual(
            {('0', '1'): 'yes'}, self.one('conflict', named, removes)
        )

    def test_versions_have_an_order_of_their_own(self):
        field = '{inventory.system_vendor.firmware.version}'
        self.assertEqual(
            {('0',): 'yes', ('1',): 'no'},
            self.one(
                'dead',
                *(
                    {
                        'conditions': [
                            {'op': 'version-lt', 'args': [field, one]},
                            {'op': 'version-gt', 'args': [field, other]},
                        ],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    }
                    for one, other in (('2.9', '2.10'), ('2.10', '2.9'))
                ),
            ),
        )

    def test_subnets_are_apart_or_not(self):
        field = '{inventory.bmc_address}'
        self.assertEqual(
            {('0',): 'yes', ('1',): 'no'},
            self.one(
                'dead',
                *(
                    {
                        'conditions': [
                            {'op': 'in-net', 'args': [field, '10.0.0.0/8']},
                            {'op': 'in-net', 'args': [field, other]},
                        ],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    }
                    for other in ('192.168.0.0/16', '10.1.0.0/16')
                ),
            ),
        )

    def test_filters_are_followed(self):
        field = '{inventory.system_vendor.manufacturer | lower}'
        self.assertEqual(
            {('0',): 'no', ('1',): 'yes'},
            self.one(
                'dead',
                *(
                    {
                        'conditions': [{'op': 'eq', 'args': args}],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    }
                    for args in (
                        [field, 'dell'],
                        [
                            '{inventory.cpu.count '
                            '| tier([[0, "s"], [9, "m"]])}',
                            'l',
                        ],
                    )
                ),
            ),
        )

    def test_what_is_no_name_of_a_node_ends_an_inspection(self):
        names_node = {
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': [
                        '/name',
                        '{inventory.system_vendor.serial_number}',
                    ],
                }
            ]
        }
        asks = [
            {
                'conditions': [{'op': 'eq', 'args': ['{node.name}', name]}],
                'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
            }
            for name in ('a b', MACHINE, MACHINE[:-1])
        ]

        verdicts = self.one('dead', names_node, *asks)

        self.assertEqual('yes', verdicts['1',])
        self.assertEqual('no', verdicts['3',])
        # The solver takes one million steps or more than ten to see that text
        # is a UUID: that depends on what it was asked before.
        self.assertIn(verdicts['2',], ('yes', 'unknown'))

    def test_text_that_no_column_stores_ends_an_inspection(self):
        describes_node = {
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': [
                        '/description',
                        '{inventory.system_vendor.serial_number}',
                    ],
                }
            ]
        }
        asks = [
            {
                'conditions': [
                    {
                        'op': 'eq',
                        'args': [
                            '{inventory.system_vendor.serial_number}',
                            text,
                        ],
                    }
                ],
                'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
            }
            for text in ('a\0b', 'ab')
        ]

        self.assertEqual(
            {('1',): 'yes', ('2',): 'no'},
            self.one('dead', describes_node, *asks),
        )

    def test_an_empty_mapping_equals_one_that_has_no_entries(self):
        tags = [{'op': 'add-trait', 'args': ['CUSTOM_T']}]
        last = {'op': 'exists', 'args': ['{node.extra.a}']}
        for args in (['{node.extra}', {}], [{}, '{node.extra}']):
            rules = [
                {
                    'actions': tags,
                    'conditions': [{'op': 'eq', 'args': args}, last],
                },
                {'actions': tags, 'conditions': [{'op': 'eq', 'args': args}]},
                {
                    'actions': tags,
                    'conditions': [{'op': 'ne', 'args': args}, last],
                },
                {
                    'actions': tags,
                    'conditions': [
                        {'op': 'ne', 'args': args},
                        {'op': 'is-empty', 'args': ['{node.extra}']},
                    ],
                },
            ]
            self.assertEqual(
                {('0',): 'yes', ('1',): 'no', ('2',): 'no', ('3',): 'yes'},
                self.one('dead', *rules),
                args,
            )

    def test_what_rules_took_away_is_gone(self):
        def empty(field):
            return {
                'conditions': [{'op': 'eq', 'args': [field, {}]}],
                'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
            }

        text = '/properties/capabilities'
        whole = {
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': ['/properties', {'capabilities': 'a:1'}],
                }
            ]
        }
        part = {'actions': [{'op': 'set-attribute', 'args': [text, 'a:1']}]}
        unset = {'actions': [{'op': 'unset-capability', 'args': ['a']}]}
        for sets in (whole, part):
            self.assertEqual({(): 'yes'}, self.one(f'gap:{text}', sets, unset))
            self.assertEqual(
                {('2',): 'no'},
                self.one('dead', sets, unset, empty('{node.properties}')),
            )
        self.assertEqual(
            'no',
            self.one(
                'dead',
                {
                    **part,
                    'conditions': [
                        {'op': 'ge', 'args': ['{inventory.cpu.count}', 8]}
                    ],
                },
                empty('{node.properties}'),
            )['1',],
        )
        # A loop may go through anything.
        loop = {
            'actions': [
                {
                    'op': 'del-attribute',
                    'args': ['/extra/tag'],
                    'loop': '{inventory.cpu.flags | sort}',
                }
            ]
        }
        self.assertEqual(
            {('1',): 'no'}, self.one('dead', loop, empty('{node.extra}'))
        )
        self.assertEqual(
            {(): 'unknown'},
            self.one(
                'gap:/extra/tag',
                {
                    'actions': [
                        {'op': 'set-attribute', 'args': ['/extra/tag', 1]}
                    ]
                },
                loop,
            ),
        )
        # All that the machine had may have been one entry.
        removed = {
            'conditions': [{'op': 'exists', 'args': ['{node.extra.tag}']}],
            'actions': [
                {'op': 'del-attribute', 'args': ['/extra/tag']},
                {'op': 'set-plugin-data', 'args': ['/x', 1]},
            ],
        }
        after = empty('{node.extra}')
        after['conditions'].append(
            {'op': 'exists', 'args': ['{plugin_data.x}']}
        )
        self.assertEqual(
            'no',
            self.one(
                'dead',
                {'actions': [{'op': 'unset-plugin-data', 'args': ['/x']}]},
                removed,
                after,
            )['2',],
        )

    def test_an_unknown_value_may_be_an_error(self):
        serial = '{inventory.disks | map(attribute="serial") | sort | first}'
        disks = {'op': 'ge', 'args': ['{inventory.disks | length}', 1]}
        actions = [{'op': 'set-attribute', 'args': ['/extra/a', 2]}]
        last = {'actions': [{'op': 'set-attribute', 'args': ['/extra/a', 1]}]}
        for first in (
            {
                'conditions': [disks],
                'actions': [
                    {'op': 'set-attribute', 'args': ['/extra/a', serial]}
                ],
            },
            {
                'conditions': [
                    disks,
                    {'op': 'eq', 'args': [serial[:-1] + ' | int}', 1]},
                ],
                'actions': actions,
            },
            {
                'conditions': [{'op': '!eq', 'args': [serial, 'x']}],
                'actions': actions,
            },
            {'actions': actions, 'vars': {'serial': serial}},
            {
                'conditions': [disks],
                'actions': actions,
                'vars': {'serial': serial[:-1] + ' | int}'},
            },
        ):
            self.assertNotEqual(
                'yes', self.one('shadowed', first, last)['0',], first
            )

    def test_an_error_of_vars_or_conditions_is_an_effect(self):
        number = '{inventory.system_vendor.manufacturer | int}'
        actions = [{'op': 'set-attribute', 'args': ['/extra/a', 2]}]
        last = {'actions': [{'op': 'set-attribute', 'args': ['/extra/a', 1]}]}
        for first in (
            {'actions': actions, 'vars': {'number': number}},
            {
                'actions': actions,
                'conditions': [{'op': 'ge', 'args': [number, 0]}],
            },
        ):
            self.assertEqual(
                {('0',): 'no', ('1',): 'no'},
                self.one('shadowed', first, last),
                first,
            )

    def test_lists_may_be_as_long_as_they_like(self):
        loop = {'loop': '{inventory.disks}'}
        self.assertEqual(
            {('0',): 'yes'},
            self.one(
                'dead',
                {
                    'conditions': [
                        {'op': 'gt', 'args': ['{item.size}', 5], **loop},
                        {
                            'op': 'lt',
                            'args': ['{item.size}', 5],
                            **loop,
                            'multiple': 'all',
                        },
                    ],
                    'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                },
            ),
        )
        # Beyond what is looked at, the engine has to confirm a machine; it
        # is not made with more than 64 items.
        for length, verdict in ((20, 'no'), (64, 'unknown')):
            self.assertEqual(
                {('0',): verdict},
                self.one(
                    'dead',
                    {
                        'conditions': [
                            {'op': 'gt', 'args': ['{ports | length}', length]}
                        ],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    },
                ),
            )

    def test_one_of_may_look_for_more_items_than_are_looked_at(self):
        flags = '{inventory.cpu.flags}'
        # Only a list has such an item.
        is_list = {'op': 'eq', 'args': ['{item}', 'f0'], 'loop': flags}
        for number, verdict in ((5, 'no'), (6, 'unknown')):
            has_flags = [
                {'op': 'one-of', 'args': [f'f{index}', flags]}
                for index in range(number)
            ]
            rule = {
                'conditions': [is_list, *has_flags],
                'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
            }
            self.assertEqual({('0',): verdict}, self.one('dead', rule), number)
        has_flag = {'op': 'one-of', 'args': ['f1', flags]}
        lacks_flag = {
            'op': 'ne',
            'args': ['{item}', 'f1'],
            'loop': flags,
            'multiple': 'all',
        }
        self.assertEqual(
            {('0',): 'yes'},
            self.one(
                'dead',
                {
                    'conditions': [is_list, has_flag, lacks_flag],
                    'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                },
            ),
        )

    def test_set_traits_may_set_more_items_than_are_looked_at(self):
        names = [f'CUSTOM_{letter}' for letter in 'ABCDEF']
        flags = '{inventory.cpu.flags}'
        is_list_of_six = [
            {'op': 'exists', 'args': ['{inventory.cpu.flags[5]}']},
            # Only a list has such an item.
            {
                'op': 'eq',
                'args': ['{item}', names[0]],
                'loop': flags,
                'multiple': 'first',
            },
        ]
        for index, name in enumerate(names[:5]):
            flag = f'{{inventory.cpu.flags[{index}]}}'
            is_list_of_six.append({'op': 'eq', 'args': [flag, name]})
        sets = {'op': 'set-traits', 'args': [flags]}
        removes = {'op': 'remove-trait', 'args': [names[5]]}
        rule = {'uuid': _uuid(0), 'conditions': is_list_of_six}
        one = self.parse([{**rule, 'actions': [sets]}])
        other = self.parse([{**rule, 'actions': [sets, removes]}])
        sample = witness.sample()
        cpu = {**sample['inventory']['cpu'], 'flags': names}
        machine = witness.Witness(
            {**sample['inventory'], 'cpu': cpu}, {}, sample['node']
        )
        self.assertTrue(witness.Engine().differs(one, other, machine))
        self.assertEqual('unknown', self.equivalent(one, other).verdict)
        # A trait beyond the first five is no reason to doubt what undoes it.
        clears = {'op': 'set-traits', 'args': [[]]}
        one = self.parse([{**rule, 'actions': [sets, clears]}])
        other = self.parse([{**rule, 'actions': [sets, clears, removes]}])
        self.assertEqual('no', self.equivalent(one, other).verdict)

    def test_a_prefix_of_traits_may_have_a_field(self):
        sets = {
            'op': 'set-traits',
            'args': {'names': [], 'prefix': 'CUSTOM_{item}'},
            'loop': ['A', 'B'],
        }
        removes = {'op': 'remove-trait', 'args': ['CUSTOM_A1']}
        one = self.parse([{'uuid': _uuid(0), 'actions': [removes, sets]}])
        other = self.parse([{'uuid': _uuid(0), 'actions': [removes]}])
        sample = witness.sample()
        # No rule names this trait.
        node = {**sample['node'], 'traits': ['CUSTOM_A2']}
        machine = witness.Witness(sample['inventory'], {}, node)
        self.assertTrue(witness.Engine().differs(one, other, machine))
        self.assertEqual('unknown', self.equivalent(one, other).verdict)

    def test_a_port_may_be_behind_those_that_are_looked_at(self):
        macs = [MAC[:-1] + str(number) for number in range(6)]

        def write(value, *addresses):
            return [
                {
                    'op': 'set-port-attribute',
                    'args': [mac, '/extra/a', value],
                }
                for mac in addresses
            ]

        five_others = [
            {'op': 'eq', 'args': [f'{{ports[{index}].address}}', mac]}
            for index, mac in enumerate(macs[:5])
        ]
        first = {'conditions': five_others, 'actions': write(1, macs[5])}
        second = {'conditions': five_others, 'actions': write(2, macs[5])}
        self.assertEqual(
            {('0',): 'no', ('1',): 'unknown'}, self.one('dead', first, second)
        )
        self.assertEqual(
            {('0',): 'unknown', ('1',): 'unknown'},
            self.one('shadowed', first, second),
        )
        # Few ports are found among those that are looked at.
        for number, verdict in ((3, 'yes'), (6, 'unknown')):
            addresses = macs[:number]
            verdicts = self.one(
                'shadowed',
                {'actions': write(1, *addresses)},
                {'actions': write(2, *addresses)},
            )
            self.assertEqual(verdict, verdicts[('0',)], number)

    def test_texts_have_the_order_of_their_characters(self):
        field = '{inventory.system_vendor.manufacturer}'
        for conditions_, dead in (
            ([('lt', [field, 'b']), ('gt', [field, 'a'])], 'no'),
            ([('lt', [field, 'b']), ('gt', ['b', field])], 'no'),
            ([('lt', [field, 'a']), ('gt', [field, 'b'])], 'yes'),
            (
                [
                    ('le', [field, 'b']),
                    ('ge', [field, 'b']),
                    ('ne', [field, 'b']),
                ],
                'yes',
            ),
            ([('le', [field, 'b']), ('ge', [field, 'b'])], 'no'),
            ([('gt', ['a', field, 'b'])], 'yes'),
            ([('lt', ['ab', field, 'abc'])], 'no'),
            ([('lt', [field, ''])], 'yes'),
            ([('lt', [field, 'B']), ('contains', [field, '^a'])], 'yes'),
        ):
            self.assertEqual(
                {('0',): dead},
                self.one(
                    'dead',
                    {
                        'conditions': [
                            {'op': op, 'args': args}
                            for op, args in conditions_
                        ],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    },
                ),
                conditions_,
            )

    def test_numbers_have_a_text(self):
        field = '{node.name | length}'
        for op, args, dead in (
            ('eq', [field, '12'], 'no'),
            ('eq', [field, '-1'], 'yes'),
            ('eq', [field, '01'], 'yes'),
            ('lt', [field, 'a'], 'no'),
            ('gt', [field, 'a'], 'yes'),
            # There is none, but not all numbers are tried.
            ('gt', ['100', field, '10'], 'unknown'),
            ('lt', ['100', field, '2'], 'no'),
            ('lt', [field, '{node.name}'], 'no'),
        ):
            asked = {'op': op, 'args': {'values': args, 'force_strings': True}}
            self.assertEqual(
                {('0',): dead},
                self.one(
                    'dead',
                    {
                        'conditions': [asked],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    },
                ),
                asked,
            )
        for regex, dead in (
            ('^37$', 'no'),
            ('^[0-9]+$', 'no'),
            ('-', 'unknown'),
            ('[a-z]', 'yes'),
        ):
            self.assertEqual(
                {('0',): dead},
                self.one(
                    'dead',
                    {
                        'conditions': [
                            {'op': 'contains', 'args': [field, regex]}
                        ],
                        'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                    },
                ),
                regex,
            )
        # Texts of equal numbers are equal, whatever the number is.
        sets = [
            {'actions': [{'op': 'set-attribute', 'args': ['/extra/n', text]}]}
            for text in (f'n{field}', 'n7')
        ]
        self.assertEqual('yes', self.compared(sets[:1], sets[1:]))
        self.assertEqual('no', self.compared(sets[:1], [*sets[:1] * 2]))

    def test_what_has_no_translation_is_unknown_with_the_reason(self):
        rules = self.parse(
            [
                {
                    'uuid': '00000000-0000-4000-8000-000000000000',
                    'description': 'sorted',
                    'conditions': [
                        {
                            'op': 'eq',
                            'args': [
                                '{inventory.cpu.flags | sort | first}',
                                'zzz',
                            ],
                        }
                    ],
                    'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                }
            ]
        )
        (answer,) = self.ask(rules, 'dead').values()
        self.assertEqual(question.UNKNOWN, answer.verdict)
        self.assertIn('filter sort', answer.reason)

    def test_a_filter_in_a_filter_is_no_field_as_argument(self):
        texts = [
            "{inventory.cpu.flags | map('upper') | first}",
            '{inventory.cpu.flags | join(inventory.hostname)}',
        ]
        rules = self.parse(
            [
                {
                    'uuid': f'00000000-0000-4000-8000-00000000000{number}',
                    'description': text,
                    'conditions': [{'op': 'eq', 'args': [text, 'zzz']}],
                    'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                }
                for number, text in enumerate(texts)
            ]
        )
        in_filter, with_field = self.ask(rules, 'dead').values()
        self.assertIn('filter map with a filter', in_filter.reason)
        self.assertIn('filter join with a field', with_field.reason)

    def test_time_for_formulas_counts(self):
        now = 0.0
        translate = conditions.all_hold

        def takes_a_second(*args):
            nonlocal now
            now += 1
            return translate(*args)

        self.patch(conditions, 'all_hold', takes_a_second)
        self.patch(time, 'monotonic', lambda: now)
        rules = self.parse(
            [
                {
                    'uuid': _uuid(index),
                    'description': str(index),
                    'conditions': [
                        {'op': 'eq', 'args': ['{node.extra.a}', index]}
                    ],
                    'actions': [
                        {
                            'op': 'set-attribute',
                            'args': ['/extra/a', index + 1],
                        }
                    ],
                }
                for index in range(4)
            ]
        )
        questions = ('dead', 'shadowed', 'conflict', 'gap:/name', 'equivalent')
        # Before the fourth rule, or a fourth one of those that run again.
        for seconds, most, given_up in (
            (2.5, 3, questions),
            (6.5, 7, questions[-1:]),
        ):
            now = 0.0
            proof = question.Proof(rules, seconds, rules[1:])
            unknown = [
                each
                for each in proof.answers(questions)
                if each.verdict == 'unknown'
            ]
            self.assertEqual(most, now)
            self.assertLessEqual(
                set(given_up),
                {each.question for each in unknown},
                (seconds, most, given_up),
            )
            self.assertEqual(
                {'the time limit is reached'},
                {each.reason for each in unknown},
            )

    def test_time_for_the_parts_of_one_rule_counts(self):
        equals = [
            {'op': 'eq', 'args': ['{inventory.hostname}', f'h{number}']}
            for number in range(50)
        ]
        text = ''.join(f'{{inventory.disks.{n}.name}}' for n in range(2))
        for module, name, condition in (
            (
                relations,
                'between',
                {
                    'op': 'one-of',
                    'args': ['{inventory.hostname}', list('abcdefghijklmnop')],
                },
            ),
            (
                conditions,
                '_translate_single',
                {'op': 'any-of', 'conditions': equals},
            ),
            (
                conditions,
                '_translate_single',
                {
                    'op': 'eq',
                    'args': ['{inventory.hostname}', '{item}'],
                    'loop': [f'h{number}' for number in range(50)],
                },
            ),
            (expression, '_join_text', {'op': 'eq', 'args': [text, 'x']}),
        ):
            now, answer = self.seconds_until_the_limit(module, name, condition)
            self.assertEqual(10, now, condition)
            self.assertEqual('the time limit is reached', answer.reason)

    def seconds_until_the_limit(self, module, name, condition):
        """Return when a proof of 9.5 seconds ends, and its answer.

        :param name: of the function that takes a second for a part of the
            condition.
        """
        rules = self.parse(
            [
                {
                    'uuid': _uuid(0),
                    'conditions': [condition],
                    'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
                }
            ]
        )
        translate = getattr(module, name)
        now = 0.0

        def takes_a_second(*args):
            nonlocal now
            now += 1
            return translate(*args)

        with (
            fixtures.MonkeyPatch(f'{module.__name__}.{name}', takes_a_second),
            fixtures.MonkeyPatch('time.monotonic', lambda: now),
        ):
            (answer,) = question.Proof(rules, 9.5).answers(['dead'])
        return now, answer

    def test_rules_that_write_nothing_in_common_need_no_time(self):
        rules = self.parse(
            [
                {
                    'uuid': _uuid(index),
                    'description': str(index),
                    'actions': [
                        {'op': 'set-attribute', 'args': [path, index]}
                    ],
                }
                for index, path in enumerate(
                    ('/extra/a', '/extra/b', '/extra/a')
                )
            ]
        )
        proof = question.Proof(rules, SECONDS)
        self.patch(time, 'monotonic', lambda: float('inf'))
        self.assertEqual(
            [('0', '2')],
            [
                tuple(rule.description for rule in each.rules)
                for each in proof.answers(['conflict'])
            ],
        )

    def test_a_witness_is_a_whole_inventory(self):
        rules = self.parse(
            [
                {
                    'uuid': '00000000-0000-4000-8000-000000000000',
                    'description': 'one',
                    'conditions': [
                        {'op': 'ge', 'args': ['{inventory.cpu.count}', 8]}
                    ],
                    'actions': [
                        {
                            'op': 'set-attribute',
                            'args': ['/resource_class', 'a'],
                        }
                    ],
                }
            ]
        )
        (answer,) = self.ask(rules, 'gap:/resource_class').values()
        self.assertEqual(question.YES, answer.verdict)
        usual = witness.sample()['inventory']
        found = answer.witness.inventory
        self.assertLess(found['cpu'].pop('count'), 8)
        self.assertEqual(
            {
                **usual,
                'cpu': {
                    name: each
                    for name, each in usual['cpu'].items()
                    if name != 'count'
                },
            },
            found,
        )


class _Met:
    """What rules do to machines of every kind."""

    def __init__(self, rules, everywhere):
        self.rules = [rule for rule in rules if rule.mode != model.OFF]
        self.everywhere = everywhere
        self.engine = witness.Engine()

    def truth(self, answer):
        found = getattr(self, answer.question.partition(':')[0])
        return found(*answer.rules)

    def matching(self, rule):
        return [
            each
            for each in self.everywhere
            if witness.has_matched(
                self.engine.evaluate(self.rules, each), rule
            )
        ]

    def dead(self, rule):
        return not self.matching(rule)

    def differ(self, one, other):
        return any(
            self.engine.outcome(one, each) != self.engine.outcome(other, each)
            for each in self.everywhere
        )

    def shadowed(self, rule):
        return not self.differ(
            self.rules, [each for each in self.rules if each is not rule]
        )

    def conflict(self, one, other):
        first, second = self.rules.index(one), self.rules.index(other)
        for each in self.everywhere:
            done = [
                self.engine.evaluate(self.rules[: number + 1], each)
                for number in (first, second)
            ]
            # A rule that breaks off has written nothing.
            if all(
                witness.has_matched(*pair)
                and (
                    pair[0].error is None
                    or isinstance(pair[0].error, exceptions.RuleFailed)
                )
                for pair in zip(done, (one, other), strict=True)
            ) and any(
                here != there for here, there in self.places(one, other, *done)
            ):
                return True
        return False

    def places(self, one, other, first, second):
        """Yield what is at each place that both rules write."""
        both = {self.place(each) for each in one.actions} & {
            self.place(each) for each in other.actions
        } - {None}
        for place in both:
            yield tuple(
                self.at(place, witness.comparable_state(each.facts))
                for each in (first, second)
            )

    @staticmethod
    def place(action):
        return {
            'set-attribute': action['args'][0],
            'fail': None,
            'set-port-attribute': 'port',
            'set-capability': 'capabilities',
        }.get(action['op'], 'trait')

    @staticmethod
    def at(place, state):
        node = state['node']
        return {
            'trait': node['traits'],
            'port': state['ports'],
            'capabilities': node['properties'].get('capabilities'),
            '/resource_class': node.get('resource_class'),
            '/extra/tag': node['extra'].get('tag'),
        }[place]

    def gap(self):
        for each in self.everywhere:
            done = self.engine.evaluate(self.rules, each)
            if done.error is None and not done.facts.node['resource_class']:
                return True
        return False
