# SPDX-License-Identifier: Apache-2.0

"""Who calls a plugin pays for what it is given and what it returns.

The plugins here are a third party's, and know nothing of budgets.
"""

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base

LONG = 64 * 1000


class Repeat(plugin.Filter):
    """Returns as much as its argument says."""

    def __call__(self, value, kind, count=0):
        nested = []
        for _level in range(count if kind == 'nested' else 0):
            nested = [nested]
        return {
            'text': 'x' * count,
            'list': [value] * count,
            'mapping': dict.fromkeys(map(str, range(count))),
            'nested': nested,
            'inside': [['x' * count]],
        }[kind]


class Ignore(plugin.Filter):
    """Returns a number, whatever it is given."""

    def __call__(self, value, other=None):
        return 1


class Any(plugin.Condition):
    """Holds for anything."""

    def __call__(self, value, other=None):
        return True


class All(plugin.Condition):
    """Holds for any number of values."""

    def __call__(self, *values):
        return True


class Keep(plugin.Action):
    """Does nothing with a value."""

    def __call__(self, target, value, other=None):
        pass

    def revert(self, target, value):
        pass


class Tell(plugin.Action):
    """Writes the same to the log, again and again."""

    def __call__(self, target, count):
        for _time in range(count):
            target.log('info', 'x' * 1000)


class Trust(plugin.Action):
    """Sets more traits than a node may have."""

    def __call__(self, target, count):
        target.set_traits(f'CUSTOM_{number}' for number in range(count))


class ChargesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        filters = {'repeat_it': Repeat, 'ignore_it': Ignore}
        known = {
            name: registry._register(
                name, each, plugin.Filter, engine_arguments=1
            )
            for name, each in filters.items()
        }
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.registry.filters',
                lambda: known,
            )
        )
        self.ops = registry.Registry(
            {'any': Any, 'all': All},
            {'keep': Keep, 'tell': Tell, 'trust': Trust},
        )

    def run_rule(
        self, actions=(('keep', [1]),), conditions=(), loop=None, **limits
    ):
        plan = compiler.compile_rule(
            model.Rule.from_mapping(
                {
                    'uuid': 'a',
                    'conditions': [
                        {
                            'op': op,
                            'args': args,
                            'loop': loop,
                            'multiple': 'all',
                        }
                        for op, args in conditions
                    ],
                    'actions': [
                        {'op': op, 'args': args, 'loop': loop}
                        for op, args in actions
                    ],
                }
            ),
            self.ops,
        )
        data = {
            'text': 'x' * LONG,
            'list': [1] * LONG,
            'mapping': dict.fromkeys(map(str, range(LONG))),
            'short': [1],
        }
        target = working_copy.WorkingCopy(
            working_copy.Facts({}, data, {'traits': []})
        )
        return runner.run([plan], target, limits=budget.Limits(**limits)).error

    def check(self, problem, *args, **kwargs):
        error = self.run_rule(*args, **kwargs)
        self.assertIsNotNone(error, args)
        self.assertIsInstance(error.__cause__, exceptions.BudgetExceeded)
        self.assertIn(problem, str(error))

    def test_what_a_filter_returns_is_bounded(self):
        for kind, count, problem in (
            ('text', 2000, 'the text is longer than 1000'),
            ('list', 2000, 'the value is larger than 1000'),
            ('mapping', 2000, 'the value is larger than 1000'),
            ('inside', 2000, 'the value is larger than 1000'),
            ('nested', 30, 'nested deeper than 25'),
        ):
            field = f"{{plugin_data.short | repeat_it('{kind}', {count})}}"
            for where in (
                {'actions': [('keep', [field])]},
                {'conditions': [('any', [field])]},
            ):
                self.check(problem, size=1000, **where)
            small = field.replace(str(count), '20')
            self.assertIsNone(
                self.run_rule([('keep', [small])], size=1000),
                (kind, count, problem),
            )

    def test_a_deep_result_ends_before_it_is_made_text(self):
        self.check(
            'nested deeper than 25 levels',
            [
                (
                    'keep',
                    ["a {plugin_data.short | repeat_it('nested', 100000)}"],
                )
            ],
        )

    def test_what_a_filter_is_given_is_paid_for(self):
        for kind in ('text', 'list', 'mapping'):
            for field in (
                f'{{plugin_data.{kind} | ignore_it}}',
                f'{{item | ignore_it(plugin_data.{kind})}}',
            ):
                arguments = {
                    'actions': [('keep', [field])],
                    'loop': list(range(10)),
                }
                self.check(
                    'more than 5000 operations', operations=5000, **arguments
                )
                self.assertIsNone(
                    self.run_rule(operations=15000, **arguments), (kind, field)
                )

    def test_what_a_condition_is_given_is_paid_for(self):
        for kind in ('text', 'list', 'mapping'):
            field = f'{{plugin_data.{kind}}}'
            for op, args in (
                ('any', [field]),
                ('!any', [field]),
                ('any', [field, 1]),
                ('any', [1, field]),
                ('any', [field, '{item}']),
                ('all', [field, 1]),
                ('all', [1, field]),
                ('all', [1, field, '{item}']),
            ):
                arguments = {
                    'conditions': [(op, args)],
                    'loop': list(range(10)),
                }
                if op == '!any':
                    arguments['loop'] = None
                    self.check(
                        'more than 900 operations', operations=900, **arguments
                    )
                    continue
                self.check(
                    'more than 5000 operations', operations=5000, **arguments
                )
                self.assertIsNone(
                    self.run_rule(operations=15000, **arguments),
                    (kind, op, args),
                )

    def test_what_an_action_is_given_is_paid_for(self):
        for kind in ('text', 'list', 'mapping'):
            for args in (
                [f'{{plugin_data.{kind}}}'],
                [1, f'{{plugin_data.{kind}}}'],
            ):
                arguments = {
                    'actions': [('keep', args)],
                    'loop': list(range(10)),
                }
                self.check(
                    'more than 5000 operations', operations=5000, **arguments
                )
                self.assertIsNone(
                    self.run_rule(operations=15000, **arguments), (kind, args)
                )

    def test_the_clock_is_looked_at_before_each_list_and_mapping(self):
        # Short ones may hold all that a machine sent.
        for where in (
            {'actions': [('keep', ['{plugin_data.short}'])]},
            {'actions': [('keep', ['{plugin_data.short | ignore_it}'])]},
            {'conditions': [('any', ['{plugin_data.short}'])]},
            {'conditions': [('all', ['{plugin_data.short}', 1])]},
        ):
            self.check('runs longer than', time=-1, **where)
        self.assertIsNone(self.run_rule(time=-1))

    def test_what_an_action_logs_is_bounded(self):
        self.check(
            'more than 1000 operations', [('tell', [500])], operations=1000
        )
        self.assertIsNone(self.run_rule([('tell', [20])], operations=1000))

    def test_the_traits_of_an_action_are_bounded(self):
        self.check(
            'the phase writes more than 1000', [('trust', [200])], size=1000
        )
        self.assertIsNone(self.run_rule([('trust', [10])], size=1000))
