# SPDX-License-Identifier: Apache-2.0

"""Old rules are converted to readable rules that do the same."""

import json

import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.authoring.conversion import converted_file
from ironic_inspection_rules.kit.authoring.conversion import inspector
from ironic_inspection_rules.plugins.legacy import field as old_field
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.plugins.legacy import inspection
from ironic_inspection_rules.tests.unit.plugins.legacy import test_golden
from ironic_inspection_rules.tests.unit.rule_file import files

ACTION = {'action': 'fail', 'message': 'no'}
LOCAL_GB = (
    '{plugin_data.root_disk.size | default(1073741824) '
    '| divide(1073741824) | int | subtract(1)}'
)


def convert_file(path, stock=False):
    """Convert the rules of a file."""
    return converted_file.convert(
        document.load(path), registry.installed(), stock
    )


def convert(*entries):
    """Convert old rules.

    :returns: the conversions.
    """
    return inspector.convert(
        [
            inspection.parse(entry, number)
            for number, entry in enumerate(entries)
        ]
    )


class ConditionTestCase(base.TestCase):
    def converted(self, op, field, value=..., **more):
        condition = {'op': op, 'field': field, **more}
        if value is not ...:
            condition['value'] = value
        (made,) = convert({'conditions': [condition], 'actions': [ACTION]})
        return made

    def check(self, expected, *args, lost=0, **more):
        made = self.converted(*args, **more)
        self.assertEqual([expected], made.rule['conditions'])
        self.assertEqual(lost, len(made.lost))

    def test_a_boolean_to_order_by_becomes_a_number(self):
        # To ironic-inspector it was 1 or 0, and "4096" was greater.
        for op, type_here in (
            ('lt', int),
            ('le', int),
            ('gt', int),
            ('ge', int),
            ('eq', bool),
            ('ne', bool),
        ):
            made = self.converted(op, 'size', True)
            (condition,) = made.rule['conditions']
            _field, value = condition['args']['values']
            self.assertIs(type_here, type(value), op)
            self.assertEqual(1, value)

    def test_what_a_boolean_orders_is_ordered_as_it_was(self):
        for op in ('lt', 'le', 'gt', 'ge'):
            for value in (True, False):
                condition = {'op': op, 'field': 'size', 'value': value}
                entry = {'conditions': [condition], 'actions': [ACTION]}
                (made,) = convert(entry)
                old = inspection.parse(entry)
                new = validation.parse(
                    {**made.rule, 'uuid': old.uuid}, registry.installed()
                )
                for size in (True, False, 0, 1, 2, 0.5, 1.5, -0.5):
                    data = {'size': size}
                    self.assertEqual(
                        inspection.run([old], data).matched,
                        inspection.run([new], data).matched,
                        f'{size} {op} {value}',
                    )

    def test_a_fraction_that_was_cut_off_is_named_where_it_matters(self):
        # 2.5 was no more than 2, but not less than 3 either: it was 2.
        for op, value, field, is_named in (
            ('eq', 2, 'size', True),
            ('ne', -2, 'size', True),
            ('gt', 2, 'size', True),
            ('gt', 0, 'node://extra.size', True),
            ('gt', 0, 'extra.load.x', True),
            ('gt', 0, 'inventory.cpu.cuont', True),
            ('gt', -1, 'size', False),
            ('le', 2, 'names[*].x', True),
            ('le', -1, 'size', False),
            ('ge', 2, 'size', False),
            ('ge', 0, 'size', True),
            ('lt', 1, 'size', False),
            ('lt', -1, 'size', True),
            ('eq', True, 'size', False),
            ('gt', True, 'size', False),
            ('eq', 2.0, 'size', False),
            ('eq', '2', 'size', False),
            ('gt', 2, 'inventory.cpu.count', False),
            ('gt', 2, 'inventory.disks[*].size', False),
            ('gt', 2, 'interfaces.eth0.ip', False),
            ('gt', 2, 'memory_mb', False),
            ('gt', 2, 'local_gb', False),
        ):
            case = (op, value, field)
            made = self.converted(op, field, value)
            sentences = [problem.sentence for problem in made.hints]
            named = [text for text in sentences if 'fraction' in text]
            self.assertEqual(is_named, bool(named), case)
            self.assertEqual([], made.lost, case)

    def test_no_fraction_matters_where_none_is_named(self):
        sizes = [-3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3]
        for op in ('eq', 'ne', 'lt', 'le', 'gt', 'ge'):
            for value in (-2, -1, 0, 1, 2):
                condition = {'op': op, 'field': 'size', 'value': value}
                entry = {'conditions': [condition], 'actions': [ACTION]}
                (made,) = convert(entry)
                old = inspection.parse(entry)
                new = validation.parse(
                    {**made.rule, 'uuid': old.uuid}, registry.installed()
                )
                different = []
                for size in sizes:
                    data = {'size': size}
                    before = inspection.run([old], data).matched
                    if inspection.run([new], data).matched != before:
                        different.append(size)
                self.assertEqual(
                    bool(made.hints), bool(different), (op, value, different)
                )

    def test_paths_become_fields(self):
        for path, field in (
            ('root_disk', '{plugin_data.root_disk}'),
            ('data://inventory.cpu.count', '{inventory.cpu.count}'),
            ('$.inventory', '{inventory}'),
            ('node://extra[a][b]', '{node.extra.a.b}'),
            ('inventory.disks[1].size', '{inventory.disks[1].size}'),
            ("'a b'.'c.d'", '{plugin_data[a b][c.d]}'),
            ("a.'b|c'", '{plugin_data.a[b|c]}'),
        ):
            self.check(
                {'op': 'is-empty', 'args': {'value': field}}, 'is-empty', path
            )

    def test_wildcards_become_loops(self):
        self.check(
            {
                'op': 'gt',
                'args': {'values': ['{item.size}', 4]},
                'loop': '{inventory.disks}',
            },
            'gt',
            'inventory.disks[*].size',
            4,
        )
        self.check(
            {
                'op': '!eq',
                'args': {'values': ['{item}', 'x']},
                'loop': '{plugin_data.names}',
                'multiple': 'all',
            },
            'eq',
            'names[*]',
            'x',
            invert=True,
            multiple='all',
        )

    def test_wildcards_in_items_become_loops_of_groups(self):
        size = {'op': 'gt', 'args': {'values': ['{item.size}', 4]}}
        self.check(
            {
                'op': 'any-of',
                'loop': '{inventory.disks}',
                'conditions': [{**size, 'loop': '{item.parts}'}],
            },
            'gt',
            'inventory.disks[*].parts[*].size',
            4,
        )
        item = {'op': '!eq', 'args': {'values': ['{item}', 'x']}}
        every = {'op': 'all-of', 'multiple': 'all'}
        self.check(
            {
                **every,
                'loop': '{plugin_data.a}',
                'conditions': [
                    {
                        **every,
                        'loop': '{item}',
                        'conditions': [
                            {**item, 'loop': '{item.b[0]}', 'multiple': 'all'}
                        ],
                    }
                ],
            },
            'eq',
            'a[*][*].b[0][*]',
            'x',
            invert=True,
            multiple='all',
            lost=2,
        )

    def test_loops_in_loops_hold_as_they_did(self):
        entry = {
            'conditions': [
                {'op': 'gt', 'field': 'a[*].b[*].c', 'value': 4},
                {'op': 'eq', 'field': 'd[*][*]', 'value': 1, 'invert': True},
            ],
            'actions': [ACTION],
        }
        (made,) = convert(entry)
        self.assertEqual([], made.lost)
        both = [
            inspection.parse(entry, 0),
            validation.parse(
                {'uuid': inspection.UUID % 1, **made.rule},
                registry.installed(),
            ),
        ]
        many = [{'b': []}, {}, {'b': [{}, {'c': 1}]}, {'b': [{'c': 5}]}]
        for a, d, holds in (
            (many, [[1], [1, 2]], True),
            (many, [[1], [1]], False),
            (many, [[], [2]], True),
            (many, [], False),
            (many[:3], [[2]], False),
            ([], [[2]], False),
            (many[::-1], [[2]], True),
        ):
            for rule in both:
                result = inspection.run([rule], {'a': a, 'd': d})
                self.assertEqual(holds, bool(result.matched), (a, d))

    def test_what_items_lack_is_named_where_it_matters(self):
        for op, multiple, lost in (
            ('eq', 'all', 1),
            ('eq', 'first', 1),
            ('eq', 'any', 0),
        ):
            made = self.converted(op, 'names[*].x', 5, multiple=multiple)
            self.assertEqual(lost, len(made.lost), multiple)
        self.assertEqual(2, len(self.converted('is-empty', 'names[*].x').lost))

    def test_other_paths_leave_the_rule_out(self):
        for path in (
            'inventory..size',
            '(a|b)',
            'a.*',
            'a[1:]',
            'a[-1]',
            'a' + '[*]' * 9,
            '$',
            '*',
            "a.'b]c'",
            '[*].x',
            'a where b',
            'a.`parent`',
        ):
            made = self.converted('is-empty', path)
            self.assertIsNone(made.rule, path)
            self.assertEqual(
                ['/conditions/0'], [problem.pointer for problem in made.lost]
            )

    def test_text_that_reads_as_a_number_stays_text(self):
        args = {'values': ['{plugin_data.a!r}', "'5'"]}
        self.check({'op': 'eq', 'args': args}, 'eq', 'a', '5')
        self.check({'op': 'ne', 'args': args}, 'ne', 'a', '5')
        self.check({'op': '!ne', 'args': args}, 'ne', 'a', '5', invert=True)

    def test_braces_are_literal(self):
        self.check(
            {'op': 'eq', 'args': {'values': ['{plugin_data.a}', '{{x}}']}},
            'eq',
            'a',
            '{x}',
        )
        self.check(
            {
                'op': 'contains',
                'args': {'value': '{plugin_data.a}', 'regex': 'x{2}'},
            },
            'contains',
            'a',
            'x{2}',
        )

    def test_matches_keeps_its_alternatives(self):
        field = '{plugin_data.a}'
        for regex, op, converted in (
            ('a+', 'matches', 'a+'),
            ('^a$', 'matches', '^a$'),
            ('(a|b)', 'matches', '(a|b)'),
            ('[|]', 'matches', '[|]'),
            (r'a\|b', 'matches', r'a\|b'),
            (r'a\$', 'contains', r'\A(?:a\$)'),
            (r'a\\$', 'matches', r'a\\$'),
            ('[$]', 'matches', '[$]'),
            ('(?x)a #$', 'contains', '(?x)\\A(?:a #$\n)'),
            ('(?x)a # b', 'contains', '(?x)\\A(?:a # b$\n)'),
            ('(?x)a # b\nc', 'matches', '(?x)a # b\nc'),
            ('a #$', 'matches', 'a #$'),
            ('a|b', 'contains', r'\A(?:a|b$)'),
            ('(?i)a|b$', 'contains', r'(?i)\A(?:a|b$)'),
        ):
            self.check(
                {'op': op, 'args': {'value': field, 'regex': converted}},
                'matches',
                'a',
                regex,
            )

    def test_an_empty_expression_matched_nothing(self):
        made = self.converted('matches', 'a', '')
        self.assertIsNone(made.rule)
        self.assertEqual(
            ['/conditions/0'], [problem.pointer for problem in made.lost]
        )
        self.check(
            {
                'op': 'contains',
                'args': {'value': '{plugin_data.a}', 'regex': ''},
            },
            'contains',
            'a',
            '',
        )

    def test_what_was_ignored_is_a_hint(self):
        made = self.converted('contains', 'a', 'b', regex='c', when='d')
        self.assertEqual([], made.lost)
        self.assertIn('regex, when', str(made.hints))

    def test_older_names_are_replaced(self):
        self.check(
            {
                'op': 'in-net',
                'args': {'address': '{plugin_data.a}', 'subnet': '::/0'},
            },
            'net',
            'a',
            '::/0',
        )

    def test_what_only_ironic_inspector_made_is_found_where_ironic_has_it(
        self,
    ):
        (hint,) = self.converted('gt', 'memory_mb', 5).hints
        self.assertIn('{inventory.memory.physical_mb}', hint.sentence)
        for old, new in (
            ('memory_mb', '{inventory.memory.physical_mb}'),
            ('cpus', '{inventory.cpu.count}'),
            ('cpu_arch', '{inventory.cpu.architecture}'),
            ('ipmi_address', '{inventory.bmc_address}'),
            ('ipmi_v6address', '{inventory.bmc_v6address}'),
            ('local_gb', LOCAL_GB),
            (
                'interfaces.eth0.ip',
                '{plugin_data.valid_interfaces.eth0.ipv4_address | default('
                'plugin_data.valid_interfaces.eth0.ipv6_address, true)}',
            ),
            (
                "all_interfaces.'eth0.1'.ip",
                '{plugin_data.all_interfaces[eth0.1].ipv4_address | default('
                'plugin_data.all_interfaces[eth0.1].ipv6_address, true)}',
            ),
            (
                'all_interfaces.eth0.mac',
                '{plugin_data.all_interfaces.eth0.mac_address}',
            ),
            (
                'interfaces.eth0.pxe',
                '{plugin_data.valid_interfaces.eth0.pxe_enabled}',
            ),
            (
                'all_interfaces.eth0.client_id',
                '{plugin_data.all_interfaces.eth0.client_id}',
            ),
            (
                'all_interfaces.eth0.lldp_processed.switch_vlans',
                '{plugin_data.parsed_lldp.eth0.switch_vlans}',
            ),
        ):
            self.check(
                {'op': 'gt', 'args': {'values': [new, 5]}}, 'gt', old, 5
            )

    def test_an_address_of_no_bmc_is_empty(self):
        for old, now, none in (
            ('ipmi_address', 'bmc_address', '0.0.0.0'),
            ('ipmi_v6address', 'bmc_v6address', '::/0'),
        ):
            args = {
                'value': f"{{inventory.{now} | default('')}}",
                'values': ['', None, none],
            }
            self.check({'op': 'one-of', 'args': args}, 'is-empty', old)
            self.check(
                {'op': '!one-of', 'args': args}, 'is-empty', old, invert=True
            )

    def test_what_is_converted_finds_what_the_old_rule_found(self):
        interface = {
            'name': 'eth0',
            'mac_address': '52:54:00:00:00:01',
            'ipv4_address': None,
            'ipv6_address': '2001:db8::1',
            'pxe_enabled': True,
        }
        plugin_data = {
            'all_interfaces': {'eth0': interface},
            'valid_interfaces': {'eth0': interface},
            'root_disk': {'size': 10**12},
        }
        inventory = {
            'bmc_address': '192.0.2.1',
            'cpu': {'count': 4, 'architecture': 'x86_64'},
            'memory': {'physical_mb': 4096},
        }
        for field in (
            'memory_mb',
            'cpus',
            'cpu_arch',
            'ipmi_address',
            'local_gb',
            'interfaces.eth0.ip',
            'all_interfaces.eth0.mac',
            'interfaces.eth0.pxe',
        ):
            view = budget.View(
                {'inventory': inventory, 'plugin_data': plugin_data}
            )
            new = inspector.convert_path(field).field
            self.assertEqual(
                old_field.compile_field(field)(view),
                [template.compile_value(new).render(view)],
                field,
            )
        view = budget.View({'inventory': {}, 'plugin_data': {}})
        self.assertEqual(0, template.compile_value(LOCAL_GB).render(view))

    def test_each_operator_of_ironic_inspector(self):
        # The entry points of ironic_inspector.rules.conditions.
        for op in (
            'eq',
            'lt',
            'gt',
            'le',
            'ge',
            'ne',
            'in-net',
            'matches',
            'contains',
            'is-empty',
        ):
            value = () if op == 'is-empty' else ('::/0',)
            made = self.converted(op, 'inventory.bmc_v6address', *value)
            self.assertEqual(
                [], validation.validate(made.rule, registry.installed()), op
            )
            self.assertEqual(op, made.rule['conditions'][0]['op'])


class ActionTestCase(base.TestCase):
    def check(self, expected, lost=0, **action):
        (made,) = convert({'actions': [action]})
        self.assertEqual([expected], made.rule['actions'])
        self.assertEqual(lost, len(made.lost))

    def test_values_stay_text(self):
        for text, converted in (
            ('{data[a]}', '{plugin_data.a!s}'),
            ('{data[a]!r}', '{plugin_data.a!r}'),
            ('{data[a]:03d}', '{plugin_data.a:03d}'),
            ('{data[inventory][cpu][count]}x', '{inventory.cpu.count}x'),
            ('{data[memory_mb]}', '{inventory.memory.physical_mb!s}'),
            ('{data[local_gb]}', f'{LOCAL_GB[:-1]}!s}}'),
            (
                '{data[all_interfaces][eth0][mac]}',
                '{plugin_data.all_interfaces.eth0.mac_address!s}',
            ),
            ('{data[a b][0]}-{{}}', '{plugin_data[a b][0]}-{{}}'),
        ):
            self.check(
                {
                    'op': 'set-attribute',
                    'args': {
                        'path': '/extra/x',
                        'value': {'k': [converted, 5, None]},
                    },
                },
                action='set-attribute',
                path='extra/x',
                value={'k': [text, 5, None]},
            )

    def test_what_has_no_words_is_left_out(self):
        for text in (
            '{data}',
            '{data[a]',
            '{node}',
            '{data[a]!a}',
            '{data[a]:{data[b]}}',
        ):
            (made,) = convert(
                {
                    'actions': [
                        {
                            'action': 'set-attribute',
                            'path': '/extra/a',
                            'value': text,
                        },
                        ACTION,
                    ]
                }
            )
            self.assertEqual(
                ['fail'], [action['op'] for action in made.rule['actions']]
            )
            self.assertEqual(
                ['/actions/0'], [problem.pointer for problem in made.lost]
            )

    def test_a_rule_without_actions_is_left_out(self):
        (made,) = convert(
            {
                'actions': [
                    {
                        'action': 'set-attribute',
                        'path': '/extra/a',
                        'value': '{data}',
                    }
                ]
            }
        )
        self.assertIsNone(made.rule)

    def test_every_action(self):
        self.check(
            {'op': 'set-capability', 'args': {'name': 'a', 'value': 1}},
            action='set-capability',
            name='a',
            value=1,
        )
        self.check(
            {'op': 'unset-capability', 'args': {'name': 'a'}},
            action='set-capability',
            name='a',
        )
        self.check(
            {'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}},
            action='add-trait',
            name='CUSTOM_A',
        )
        self.check(
            {'op': 'remove-trait', 'args': {'name': 'CUSTOM_A'}},
            action='remove-trait',
            name='CUSTOM_A',
        )
        self.check(
            {'op': 'fail', 'args': {'msg': '{{no}}'}},
            action='fail',
            message='{no}',
        )
        self.check(
            {'op': 'fail', 'args': {'msg': 'no', 'maintenance': True}},
            action='fail',
            message='no',
            maintenance=True,
        )
        self.check(
            {
                'op': 'extend-attribute',
                'args': {'path': '/extra/l', 'value': 5, 'unique': True},
                'revert': True,
            },
            action='append-attribute',
            key='/extra/l',
            value=5,
            unique=True,
            revert=True,
        )
        self.check(
            {
                'op': 'set-attribute',
                'args': {'path': '/extra/{{a}}', 'value': 5, 'cleanup': '{{'},
            },
            action='set-attribute',
            path='/extra/{a}',
            value=5,
            cleanup='{',
        )

    def test_other_ways_with_lists_are_named(self):
        self.check(
            {
                'op': 'set-attribute',
                'args': {'path': '/extra/l/0', 'value': 1},
            },
            lost=1,
            action='set-attribute',
            path='/extra/l/0',
            value=1,
        )
        self.check(
            {
                'op': 'extend-attribute',
                'args': {'path': '/extra/a/l', 'value': 1},
            },
            lost=1,
            action='extend-attribute',
            path='/extra/a/l',
            value=1,
        )

    def test_rules_with_secrets_become_sensitive(self):
        (made,) = convert(
            {
                'actions': [
                    {
                        'action': 'set-attribute',
                        'path': '/driver_info/ipmi_password',
                        'value': 'x',
                    }
                ]
            }
        )
        self.assertIs(True, made.rule['sensitive'])


class OrderTestCase(base.TestCase):
    def test_what_is_no_longer_checked_first_is_named(self):
        setting = {
            'actions': [
                {'action': 'set-attribute', 'path': '/extra/a/b', 'value': 1}
            ]
        }
        looking = {
            'conditions': [{'op': 'is-empty', 'field': None}],
            'actions': [ACTION],
        }
        for field, lost in (
            ('node://extra.a', 1),
            ('node://extra.a.b.c', 1),
            ('node://extra.b', 0),
            ('extra.a', 0),
        ):
            looking['conditions'][0]['field'] = field
            _made, other = convert(setting, looking)
            self.assertEqual(lost, len(other.lost), field)
            other, _made = convert(looking, setting)
            self.assertEqual([], other.lost)


class FileTestCase(files.FilesTestCase):
    def test_what_is_no_rule_is_listed(self):
        for text, count in (('5', 1), ('[1, [2]]', 2)):
            converted = convert_file(self.write('rules.json', text))
            self.assertEqual(count, len(converted.lost))
            self.assertNotIn('- 5', converted.text)

    def convert(self, content):
        self.path = self.write('rules.json', content)
        return convert_file(self.path)

    def test_tables_are_listed(self):
        converted = convert_file(
            self.write(
                'rules.yaml',
                """\
rules: [{actions: [{op: log, args: {msg: a}}]}]
tables:
  machines: {key: a, rows: []}
""",
            )
        )
        (lost,) = converted.lost
        self.assertEqual(3, lost.line)
        self.assertIn('machines', lost.rule)
        self.assertIn('machines', converted.text)

    def test_the_head_names_those_whose_rules_they_are(self):
        old = {'description': 'old', 'actions': [ACTION]}
        new = {
            'description': 'new',
            'actions': [{'op': 'fail', 'args': ['no']}],
        }
        for rules, stock, said in (
            ([old], False, 'inspector'),
            ([old], True, 'inspector'),
            ([old, new], True, 'both'),
            ([new], True, 'stock'),
            ([new], False, 'none'),
        ):
            text, _lost = convert_file(self.write('rules.json', rules), stock)
            self.assertEqual(
                (said in ('inspector', 'both'), said in ('stock', 'both')),
                (
                    'Other than in ironic-inspector' in text,
                    'Other than in stock' in text,
                ),
                (rules, stock),
            )
            self.assertEqual(
                stock and rules == [old],
                'not of stock' in text.replace('\n#  ', ''),
            )

    def test_comments_say_what_differs(self):
        text, lost = self.convert(
            [
                {
                    'description': 'one',
                    'uuid': inspection.UUID % 1,
                    'conditions': [
                        {'op': 'gt', 'field': 'memory_mb', 'value': 5}
                    ],
                    'actions': [
                        ACTION,
                        {
                            'action': 'set-attribute',
                            'value': '{data}',
                            'path': '/extra/a',
                        },
                    ],
                },
                {'description': 'two', 'actions': [{'action': 'no'}]},
                {
                    'description': 'three',
                    'actions': [{'op': 'fail', 'args': ['no']}],
                },
            ]
        )
        self.assertIn('\n# action 2: no field has all data', text)
        self.assertIn('\n# condition 1: Ironic has the "memory_mb"', text)
        self.assertIn(
            '\n# Rule #2 (two) is left out.\n# action 1, action: ', text
        )
        self.assertEqual(
            [(inspection.UUID % 1, 'one'), (None, 'three')],
            [
                (rule.get('uuid'), rule['description'])
                for rule in yaml.safe_load(text)
            ],
        )
        self.assertEqual(
            [(self.path, '#1 (one)'), (self.path, '#2 (two)')],
            [(each.path, each.rule) for each in lost],
        )

    def test_what_never_did_in_ironic_is_listed(self):
        _text, lost = self.convert(
            [
                {'description': 'good', 'actions': [ACTION]},
                {
                    'description': 'bad',
                    'actions': [ACTION],
                    'conditions': [
                        {'op': 'is-empty', 'field': 'inventory.cpu.cuont'}
                    ],
                },
            ]
        )
        (bad,) = lost
        self.assertEqual('#2 (bad)', bad.rule)
        self.assertIn('"cuont"', bad.message)

    def test_a_rule_that_is_there_twice_names_no_line_of_the_new_file(self):
        twice = {'description': 'one', 'actions': [ACTION]}
        _text, lost = self.convert([twice, twice])
        (second,) = lost
        self.assertEqual('#2 (one)', second.rule)
        self.assertIn('an earlier rule', second.message)
        self.assertNotIn(self.path, second.message)

    def test_templates_of_ansible_are_no_rules_yet(self):
        text = json.dumps(
            [
                {
                    'description': str(number),
                    'actions': [
                        {
                            'op': 'set-attribute',
                            'args': {'path': '/extra/a', 'value': value},
                        }
                    ],
                }
                for number, value in enumerate(
                    (
                        '{{ ipmi_username }}',
                        '{{ names[0] | default("x") }}',
                        "{{ lookup('env', 'USER') }}-1",
                        '{% raw %}a',
                        '{{"a": 1}}',
                        '{{a}}',
                        '{{ }}',
                        '{{ "a": {node.name} }}',
                        '{inventory[cpu][count]}',
                    )
                )
            ]
        )
        path = self.write('rules.yaml', text)
        made = convert_file(path, stock=True)
        self.assertEqual(
            ['#1 (0)', '#2 (1)', '#3 (2)', '#4 (3)'],
            [each.rule for each in made.lost],
        )
        for each in made.lost:
            self.assertIn('is a template of Ansible', each.message)
            self.assertIn('convert the rendered file', each.message)
            self.assertIn('/extra/a', made.text)
        self.assertEqual(4, made.text.count('is a template of Ansible'))
        self.assertIn('{{"a": 1}}', made.text)

    def test_what_comes_out_otherwise_is_said_in_the_file(self):
        path = self.write(
            'rules.yaml',
            json.dumps(
                [
                    {
                        'conditions': [
                            {
                                'op': 'le',
                                'field': field,
                                'value': 4,
                                'invert': True,
                            }
                        ],
                        'actions': [ACTION],
                    }
                    for field in ('text', 'list[*]', 'text[0]', 'decimals')
                ]
            ),
        )
        text, lost = convert_file(path)
        self.assertEqual([], lost)
        header = ' '.join(text[: text.index('- ')].replace('#', '').split())
        for told in (
            'and holds inverted',
            'are compared as they are',
            'finds no character of text',
            'fails on text',
            'null is no text',
        ):
            self.assertIn(told, header)

    def test_a_capability_that_a_machine_fills_is_told(self):
        for value, told in (
            ('{data[serial]}', 1),
            ('x{data[serial]}', 1),
            ('{{big}}', 0),
            (5, 0),
            (None, 0),
        ):
            (made,) = convert(
                {
                    'conditions': [],
                    'actions': [
                        {
                            'action': 'set-capability',
                            'name': 'serial',
                            'value': value,
                        }
                    ],
                }
            )
            self.assertEqual(([], told), (made.lost, len(made.hints)), value)

    def test_each_condition_that_fails_in_ironic_is_told(self):
        path = self.write(
            'rules.yaml',
            json.dumps(
                [
                    {
                        'conditions': [
                            {
                                'op': 'matches',
                                'args': {
                                    'value': '{node.name}',
                                    'regex': regex,
                                },
                            }
                            for regex in ('(', 'good', '[')
                        ],
                        'actions': [
                            {
                                'op': 'set-attribute',
                                'args': {'path': '/extra/a', 'value': 1},
                            }
                        ],
                    }
                ]
            ),
        )
        made = convert_file(path, stock=True)
        for number, regex in ((1, '('), (3, '[')):
            self.assertIn(
                f'# condition {number}: stock Ironic fails each '
                f'inspection here: "{regex}" is',
                made.text,
            )
        self.assertNotIn('condition 2', made.text)
        self.assertIn('such as a password', made.text)

    def test_public_rules_lint_clean(self):
        for path in sorted(shared_data.directory().glob('rules-inspector/*')):
            text, _lost = convert_file(str(path))
            # That Ironic does not report what ironic-inspector did is the
            # author's to mend.
            found = [
                each
                for each in lint.lint(
                    [self.write('converted.yaml', text)], registry.installed()
                )
                if each.is_problem and each.check != lint.UNREPORTED
            ]
            self.assertEqual([], found, path.name)


class GoldenTestCase(base.TestCase):
    """Converted rules give the nodes that ironic-inspector gave."""

    # What the comment at the top of each converted file says; and a machine
    # with a memory_mb that its inventory has not.
    IN_GENERAL = {'a-set-missing-parent', 'a-cap-novalue', 'scheme-data'}

    def node(self, entries, data, node):
        """Return what changed, or None if something was lost."""
        rules = []
        for made in convert(*entries):
            if made.lost:
                return None
            rules.append(
                validation.parse(
                    {'uuid': inspection.UUID % len(rules), **made.rule},
                    registry.installed(),
                )
            )
        result = inspection.run(rules, data, {**node, 'traits': []})
        return {
            name: test_golden.readable(value)
            for name, value in result.node.items()
            if name != 'traits' and value != node.get(name)
        }

    def test_edge_cases_end_alike_or_are_named(self):
        golden = shared_data.read('golden-inspector-micro.json')
        different = set()
        for name, case in golden['cases'].items():
            try:
                changed = self.node(
                    case['rules'],
                    golden['data'],
                    golden['nodes'][case['node']],
                )
            except exceptions.InvalidRule:
                continue
            if changed not in (None, case['expect']['node']):
                different.add(name)
        self.assertEqual(self.IN_GENERAL, different)

    def test_rule_sets_end_alike_or_are_named(self):
        golden = shared_data.read('golden-inspector.json')
        compared = 0
        for rule_set, inventories in golden['results'].items():
            rules = shared_data.read(f'rules-inspector/{rule_set}.json')
            for name, nodes in inventories.items():
                name = test_golden.INVENTORIES.get(name, name)
                data = shared_data.read(f'inventories/{name}.json')
                for node, expected in nodes.items():
                    changed = self.node(rules, data, golden['nodes'][node])
                    if changed is not None:
                        compared += 1
                        self.assertEqual(expected['node'], changed)
        self.assertGreaterEqual(compared, 20)
