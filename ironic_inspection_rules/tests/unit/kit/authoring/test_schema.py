# SPDX-License-Identifier: Apache-2.0

"""The schema of rules says what validation says."""

import json
import re

import hypothesis
import jsonschema

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import schema as form
from ironic_inspection_rules.engine.language import table_form
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.kit.authoring import schema
from ironic_inspection_rules.rule_file import document as rule_document
from ironic_inspection_rules.rule_file import table_file
from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz
from ironic_inspection_rules.tests.unit.kit.authoring import generated

GOOD = {'actions': [{'op': 'log', 'args': {'msg': 'x'}}]}

EXCEPTIONS = (
    # What a regular expression is, and which fields it may hold.
    'regular expression',
    'there is no loop for',
    # What a URL and a subnet are, beyond how they begin.
    'must be an http or https URL',
    'is not an IP subnet',
    # What is between the braces of a field.
    'cannot be read:',
    'unknown filter',
    '^filter |: filter ',
    # That a loop is one field, and not two with text between them.
    'never a list',
    # A path with a brace that is no field, or more than 32 parts, or that an
    # item of the loop leaves without a name.
    'does not name an attribute',
    'more than 32 parts',
    'does not exist or may not be changed',
    # That the names of set-traits begin with its prefix.
    'does not begin with the prefix',
    # Text that reads as a number that is too small.
    'must be greater than zero',
    'must not be negative',
    # Text no database takes, of characters no file can hold.
    'U.D800',
    # How deep and how large a rule may be.
    'deeper|larger|longer than',
)
"""Why validation may refuse what the schema accepts.

The documentation has the same list. Ops that only serve rules of
ironic-inspector are one more.
"""


def validator(built_in=False):
    made = schema.schema(registry.installed(), built_in)
    jsonschema.Draft7Validator.check_schema(made)
    return jsonschema.Draft7Validator(made)


class AgreementTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.schema = validator()

    @hypothesis.settings(
        fuzz.settings, derandomize=True, max_examples=2 * base.EXAMPLES
    )
    @hypothesis.given(rule=generated.rules())
    def test_it_accepts_what_the_api_accepts_and_no_more(self, rule):
        self.assert_agreed(rule)

    def test_each_field_may_be_what_the_api_accepts(self):
        for name, values in generated.FIELDS_OF_RULES.items():
            for value in values:
                for op, args in (
                    ('log', {'msg': 'x'}),
                    ('add-trait', {'name': 'CUSTOM_A'}),
                ):
                    rule = {'actions': [{'op': op, 'args': args}], name: value}
                    self.assert_agreed(rule)
                    self.assert_agreed({**rule, 'phase': 'early'})

    def test_both_refuse_what_fails_for_every_machine(self):
        for path in (
            '/extra/l/-1',
            'extra.l.-1',
            '/extra/-1/a',
            [1],
            ['{node.name}'],
            {'{node.name}': 1},
        ):
            self.assert_refused('set-attribute', path=path, value=1)
        for loop in (
            '{ports | nosuch}',
            ['{ports | nosuch}'],
            '{ports | first | nosuch(1)}',
            "{ports[a] | join('|') | nosuch}",
            'x {ports}',
            '{ports} x',
            '{{ports | nosuch}} {ports}',
        ):
            self.assert_refused('log', loop, msg='x')
        for filters in (
            "add('x')",
            "add('1')",
            'add(number=true)',
            'subtract(null)',
            'multiply([1])',
            'divide(None)',
            "lower | add('x')",
            "split('')",
            'split("")',
            'split(5)',
            "split(sep='')",
            'trim(5)',
            "date('YYYY-MM-DD')",
            'date(5)',
            'date(format="D")',
            'sum([1])',
            "sum(attribute={'a': 1})",
            "join('a', attribute=[1])",
            'map(attribute=[1])',
        ):
            self.assert_refused('log', msg=f'a {{node.name | {filters}}}')
        self.assert_refused('fail', msg='x', maintenance=0.5)
        self.assert_refused('set-capability', name=['{node.name}'], value=1)

    def assert_refused(self, op, loop=None, **args):
        rule = {'actions': [{'op': op, 'args': args, 'loop': loop}]}
        self.assertNotEqual(
            [], validation.validate(rule, registry.installed()), rule
        )
        self.assertFalse(self.schema.is_valid([rule]), rule)

    def test_both_accept_what_only_looks_wrong(self):
        for loop in (
            "{ports | join('| nosuch')}",
            '{inventory.a b | c}',
            '{ports[|nosuch]}',
            "{ports|first|default('x')}",
        ):
            self.assert_accepted(
                {'op': 'log', 'args': {'msg': 'x'}, 'loop': loop}
            )
        self.assert_accepted(
            {
                'op': 'fail',
                'args': {'msg': '{inventory | nosuch', 'maintenance': 1.0},
            }
        )
        self.assert_accepted(
            {
                'op': 'set-plugin-data',
                'args': {'path': '/-1/-x', 'value': '{ports | upper}'},
            }
        )
        for filters in (
            'add(1)',
            'add(-1.5)',
            'add(item.x)',
            'add(number=1)',
            'split',
            "split(',')",
            'split(null)',
            'split(vars.x)',
            'split(sep=None)',
            "trim('x')",
            "date('%Y')",
            'date("%d.%m.%Y")',
            r"date('it\'s %Y')",
            'sum',
            "sum('a')",
            "sum(attribute='a')",
            "map('lower')",
            "map('split', ',')",
            "join(',', attribute='a')",
            "sort(attribute='a', reverse=true)",
        ):
            self.assert_accepted(
                {'op': 'log', 'args': {'msg': f'{{inventory.a | {filters}}}'}}
            )

    def test_both_know_what_a_subnet_is(self):
        for subnet, is_good in (
            ('10.0.0.0/8', True),
            ('10.0.0.0/255.0.0.0', True),
            (' 10.0.0.1 ', True),
            ('1.2.3.4/08', True),
            ('::/0', True),
            ('fe80::%eth0/64', True),
            ('fd00::/128', True),
            ('10.0.0.0/77', False),
            ('10.0.0.0/33', False),
            ('fd00::/129', False),
            ('10.0.0/8', False),
            ('x', False),
        ):
            rule = {
                **GOOD,
                'conditions': [
                    {
                        'op': 'in-net',
                        'args': {
                            'address': '{inventory.bmc_address}',
                            'subnet': subnet,
                        },
                    }
                ],
            }
            self.assertIs(
                is_good,
                not validation.validate(rule, registry.installed()),
                subnet,
            )
            self.assertIs(is_good, self.schema.is_valid([rule]), subnet)

    def assert_accepted(self, action):
        rule = {'actions': [action], 'priority': 5.0}
        self.assertEqual([], validation.validate(rule, registry.installed()))
        self.assertEqual(
            [], [each.message for each in self.schema.iter_errors([rule])]
        )

    def assert_agreed(self, rule):
        """Check that schema and validation say the same of a rule."""
        problems = [
            str(each)
            for each in validation.validate(rule, registry.installed())
        ]
        accepted = self.schema.is_valid([rule])
        if not problems:
            self.assertTrue(
                accepted,
                [each.message for each in self.schema.iter_errors([rule])],
            )
        elif accepted and 'inspector-' not in str(rule):
            self.assertEqual(
                [],
                [
                    problem
                    for problem in problems
                    if not any(re.search(each, problem) for each in EXCEPTIONS)
                ],
            )


class SchemaTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.schema = validator()

    def messages(self, data):
        return [error.message for error in self.schema.iter_errors(data)]

    def test_arguments_of_old_ops_are_not_offered(self):
        """Rules of ironic-inspector keep even those that do nothing."""
        offered_by_op = {}
        definitions = self.schema.schema['definitions']
        for name in ('conditionArgs', 'actionArgs'):
            for call in definitions[name]['allOf']:
                op = call['if']['properties']['op']['pattern']
                args = call['then']['properties']['args']['anyOf'][0]
                offered_by_op[op] = [
                    argument
                    for argument, about in args.get('properties', {}).items()
                    if not about.get('doNotSuggest')
                ]
        for op, arguments in offered_by_op.items():
            if 'inspector' in op:
                self.assertEqual([], arguments, op)
        # As editors complete them in new rules.
        (of_log,) = (
            arguments
            for op, arguments in offered_by_op.items()
            if ':log)' in op
        )
        self.assertEqual(['msg', 'level'], of_log)

    def test_public_rules_are_rules(self):
        built_in = validator(built_in=True)
        for path in shared_data.directory().glob('rules-ironic/*'):
            entries = list(rule_document.load(str(path)).entries)
            self.assertEqual(
                [], [error.message for error in built_in.iter_errors(entries)]
            )

    def test_a_file_is_a_list_one_rule_or_rules_by_name(self):
        for data in (
            [],
            [GOOD],
            GOOD,
            {'rules': [GOOD], 'message': 'x'},
            {'rules': None, 'revision': 5},
            {'inspection_rules': [GOOD], 'next': 'x'},
            {'a': GOOD, 'b': [GOOD, '{{ a }}'], 'c': 5, 'd': ['x']},
        ):
            self.assertEqual([], self.messages(data), data)
        bad = {'actions': [{'op': 'lg'}]}
        for data in (
            [bad],
            bad,
            {'rules': [bad]},
            {'a': [bad]},
            {'a': {'b': bad}},
            {'a': {'b': GOOD}},
            {},
            5,
            'x',
            [5],
            {'a': [GOOD, 5]},
            {'a': GOOD, 'defaults': {'b': 1}},
            {'rules': [GOOD], 'tabels': {}},
            {'rules': 5},
            {'rules': [{'action': 1}]},
        ):
            self.assertNotEqual([], self.messages(data), data)

    def test_a_table_has_the_members_of_one_in_a_file(self):
        made = schema.schema(registry.installed())
        self.assertEqual(
            set(table_file.MEMBERS),
            set(made['definitions']['table']['properties']),
        )

    def test_tables_stand_beside_rules(self):
        table = {
            'key': 'serial',
            'rows': [{'serial': 'A1', 'cpus': 1}],
            'of': '{inventory.serial}',
            'types': {'cpus': 'integer'},
            'secret': ['pin'],
            'expect': {'cpus': '{inventory.cpus}'},
        }
        rest = {name: value for name, value in table.items() if name != 'rows'}
        for data in (
            {'tables': {'m': table}},
            {'tables': {}},
            {'rules': [GOOD], 'tables': {'m': table}},
            {'tables': {'m': {**rest, 'file': 'm.csv'}}},
        ):
            self.assertEqual([], self.messages(data), data)
        for wrong in (
            rest,
            {**table, 'file': 'm.csv'},
            {'rows': []},
            {**table, 'types': {'cpus': 'int'}},
            {**table, 'expect': {'cpus': 'x'}},
            {**table, 'sekret': ['pin']},
            {**table, 'rows': [1]},
        ):
            data = {'rules': [GOOD], 'tables': {'m': wrong}}
            self.assertNotEqual([], self.messages(data), data)

    def test_columns_of_known_tables_are_completed(self):
        found = table_form.read_all(
            {
                'machines': {
                    'key': 'serial',
                    'of': '{inventory.serial}',
                    'secret': ['pin'],
                    'rows': [{'serial': 'A1', 'a.b/c': 1, 'pin': 'hush'}],
                },
                'other': {'key': 'n', 'rows': []},
            }
        )
        made = schema.schema(registry.installed(), tables=found)
        text = json.dumps(made)
        self.assertNotIn('hush', text)
        for field in ('{tables.machines | row}', '{tables.other | row(KEY)}'):
            self.assertIn(field, text)
        fields = made['definitions']['rule']['properties']['vars'][
            'additionalProperties'
        ]['examples']
        for field in fields:
            template.compile_value(field.replace('KEY', "'x'"))
        for column in ('a.b/c', 'pin', 'serial'):
            self.assertIn(json.dumps(column), text)
        jsonschema.Draft7Validator.check_schema(made)
        self.assertEqual(
            [],
            list(
                jsonschema.Draft7Validator(made).iter_errors(
                    {
                        'rules': [GOOD],
                        'tables': {
                            'machines': {
                                'key': 'serial',
                                'file': 'x.csv',
                                'types': {'new': 'integer'},
                            }
                        },
                    }
                )
            ),
        )

    def test_the_early_phase_has_fewer_actions_and_no_scope(self):
        action = {'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}
        self.assertEqual([], self.messages([{'actions': [action]}]))
        self.assertNotEqual(
            [], self.messages([{'actions': [action], 'phase': 'early'}])
        )
        self.assertEqual([], self.messages([{**GOOD, 'phase': 'early'}]))
        self.assertNotEqual(
            [], self.messages([{**GOOD, 'phase': 'early', 'scope': 'a'}])
        )

    def test_groups_are_nested_as_deep_as_the_api_has_it(self):
        condition = {'op': 'is-none', 'args': {'value': 1}}
        for depth in range(form.DEEPEST_GROUP + 2):
            self.assertEqual(
                depth <= form.DEEPEST_GROUP,
                self.schema.is_valid([{**GOOD, 'conditions': [condition]}]),
                depth,
            )
            condition = {'op': '!any-of', 'conditions': [condition]}

    def test_built_in_rules_have_any_priority_and_name(self):
        rule = {**GOOD, 'uuid': 'dell', 'priority': -5}
        self.assertNotEqual([], self.messages([rule]))
        self.assertTrue(validator(built_in=True).is_valid([rule]))

    def test_each_word_is_described(self):
        defined = self.schema.schema['definitions']
        for name in model.WRITABLE:
            self.assertIn('description', defined['rule']['properties'][name])
        for name in ('condition', 'action', 'earlyAction'):
            ops = defined[name]['properties']['op']['anyOf'][:-1]
            self.assertNotEqual([], ops, repr(name))
            for op in ops:
                self.assertRegex(op['description'], '^[A-Z].*[a-z]', op)
                self.assertNotIn('`', op['description'])
        ops = registry.installed()
        self.assertEqual(
            set(),
            {
                argument.name
                for op in (*ops.conditions.values(), *ops.actions.values())
                if not op.name.startswith('inspector-')
                for argument in op.signature.arguments
            }
            - schema.DESCRIPTIONS.keys(),
        )

    def test_the_documentation_shows_what_only_validation_knows(self):
        for page in guide.pages():
            if page.endswith('cli/ironic-inspection-rules.rst'):
                text = guide.Page(page).text
                self.assertIn('yaml-language-server: $schema=', text)
