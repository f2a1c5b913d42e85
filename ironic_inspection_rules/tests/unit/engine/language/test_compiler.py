# SPDX-License-Identifier: Apache-2.0

"""From a rule to a plan."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base


class Recorder:
    """Keeps the arguments it was called with."""

    def __init__(self):
        self.calls = []


class Seen(Recorder, plugin.Condition):
    """Holds for values that are true."""

    def __call__(self, *values, strict: bool = False, name=None):
        self.calls.append((values, strict, name))
        return values and values[0]


class SeenOne(Recorder, plugin.Condition):
    """Holds for a number above a bound."""

    def __call__(self, value: int, bound: int = 0):
        self.calls.append((value, bound))
        return value > bound


class SeenAll(Recorder, plugin.Condition):
    """Sees the whole machine, and what is missing."""

    NEEDS_VIEW = True
    ACCEPTS_MISSING = True

    def __call__(self, view, name, *, other=None):
        self.calls.append((sorted(view), name, other))
        return True


class Act(Recorder, plugin.Action):
    """Does nothing."""

    def __call__(self, target, what: str, times: int = 1, how: list = ()):
        self.calls.append((what, times, how))


def view(**plugin_data):
    return budget.View({'inventory': {}, 'plugin_data': plugin_data})


class CompileTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ops = registry.Registry(
            {'seen': Seen, 'seen-one': SeenOne, 'seen-all': SeenAll},
            {'act': Act},
        )

    def plan(self, condition=None, action=None, **fields):
        return compiler.compile_rule(
            model.Rule.from_mapping(
                {
                    'uuid': 'a',
                    'conditions': [condition] if condition else [],
                    'actions': [action or {'op': 'act', 'args': ['a']}],
                    **fields,
                }
            ),
            self.ops,
        )

    def check(self, op, args, **plugin_data):
        """Check a condition and return the result and its one call."""
        holds = (
            self.plan({'op': op, 'args': args})
            .conditions[0]
            .check(view(**plugin_data))
        )
        calls = self.ops.conditions[op.lstrip('!')].plugin.calls
        return holds, calls.pop() if calls else None

    def test_values_come_one_by_one_with_their_types(self):
        self.assertEqual(
            (True, ((5, 'b', [5]), False, None)),
            self.check(
                'seen', ['{plugin_data.a}', 'b', ['{plugin_data.a}']], a=5
            ),
        )

    def test_named_arguments_come_beside_the_values(self):
        self.assertEqual(
            (True, ((5, 6), True, 'n-5')),
            self.check(
                'seen',
                {
                    'values': [5, 6],
                    'strict': 'yes',
                    'name': 'n-{plugin_data.a}',
                },
                a=5,
            ),
        )

    def test_what_is_true_holds_even_if_it_is_no_bool(self):
        self.assertEqual(True, self.check('seen', ['text'])[0])
        self.assertEqual(
            False, self.check('!seen', ['{plugin_data.a}'], a='text')[0]
        )
        self.assertEqual(
            True, self.check('!seen', ['{plugin_data.a}'], a=[])[0]
        )

    def test_values_are_read_as_declared(self):
        self.assertEqual(
            (True, (8, 7)),
            self.check('seen-one', ['{plugin_data.a}', '7'], a='8'),
        )

    def test_a_value_that_cannot_be_read_is_an_error(self):
        self.assertRaises(
            exceptions.OperationError,
            self.check,
            'seen-one',
            ['{plugin_data.a}'],
            a='eight',
        )

    def test_what_is_missing_is_not_asked_for(self):
        self.assertEqual(
            (False, None), self.check('seen', ['{plugin_data.a}'])
        )
        self.assertEqual(
            (False, None), self.check('!seen-one', [1, '{plugin_data.a}'])
        )

    def test_a_plugin_may_see_everything_and_what_is_missing(self):
        self.assertEqual(
            (True, (['inventory', 'plugin_data'], None, 'b')),
            self.check('seen-all', {'name': '{plugin_data.a}', 'other': 'b'}),
        )

    def test_actions_get_literals_and_data_with_their_types(self):
        plan = self.plan(
            action={
                'op': 'act',
                'args': {'what': '{plugin_data.a}', 'times': '3', 'how': [1]},
            }
        )
        target = working_copy.WorkingCopy(working_copy.Facts({}, {'a': 5}))
        plan.actions[0].apply(target, target.roots)

        self.assertEqual([('5', 3, [1])], self.ops.actions['act'].plugin.calls)

    def test_arguments_that_do_not_fit_are_told(self):
        self.assertRaises(
            exceptions.InvalidRule,
            self.plan,
            {'op': 'seen-one', 'args': [1, 2, 3]},
        )

    def test_the_item_is_gone_after_an_error(self):
        plan = self.plan(
            {'op': 'seen-one', 'args': ['{item}'], 'loop': ['a', 2]}
        )
        roots = view()
        self.assertRaises(
            exceptions.OperationError, plan.conditions[0].check, roots
        )
        self.assertEqual(view(), roots)


class MaskingTestCase(base.TestCase):
    def test_who_sees_secrets(self):
        for option, sensitive, masked in (
            ('always', False, True),
            ('always', True, True),
            ('never', False, False),
            ('never', True, False),
            ('sensitive', False, True),
            ('sensitive', True, False),
        ):
            rule = model.Rule(
                uuid='a',
                sensitive=sensitive,
                actions=({'op': 'log', 'args': ['a']},),
            )
            plan = compiler.compile_rule(rule, registry.installed(), option)
            self.assertEqual(masked, plan.masked, (option, sensitive))


class SpeedTestCase(base.TestCase):
    def test_checking_a_rule_parses_nothing(self):
        """Whatever is compiled has what it needs, and asks for nothing."""
        # Not those that other modules have: they lose their conditions.
        registry.installed.cache_clear()
        ops = registry.installed()
        plan = compiler.compile_rule(
            model.Rule.from_mapping(
                {
                    'uuid': 'a',
                    'conditions': [
                        {'op': 'contains', 'args': ['{plugin_data.a}', 'b+']},
                        {
                            'op': 'in-net',
                            'args': ['192.0.2.1', '192.0.2.0/24'],
                        },
                    ],
                    'actions': [{'op': 'set-plugin-data', 'args': ['/b', 1]}],
                }
            ),
            ops,
        )
        ops.conditions.clear()
        self.addCleanup(registry.installed.cache_clear)

        target = working_copy.WorkingCopy(working_copy.Facts({}, {'a': 'abb'}))
        roots = target.view(plan.masked)
        self.assertTrue(all(each.check(roots) for each in plan.conditions))
        plan.actions[0].apply(target, roots)
        self.assertEqual({'a': 'abb', 'b': 1}, target.roots['plugin_data'])
