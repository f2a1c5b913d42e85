# SPDX-License-Identifier: Apache-2.0

"""What ops and filters that declare it are given before their arguments."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.unit import base


class Pays(plugin.Condition):
    """Pays as much as its first argument says."""

    PAYS = True

    def __call__(self, allowance, value, other=None):
        allowance.spend(value)
        return value == other


class PaysForAll(plugin.Condition):
    """Pays for each of its values."""

    PAYS = True

    def __call__(self, allowance, *values):
        allowance.spend(sum(values))
        return True


class Sees(plugin.Condition):
    """Pays, and sees the data."""

    PAYS = True
    NEEDS_VIEW = True

    def __call__(self, view, allowance, value):
        allowance.spend(value)
        return view['plugin_data']['n'] == value


class Buys(plugin.Action):
    """Pays, and can be undone for as much."""

    PAYS = True

    def __call__(self, target, allowance, value):
        allowance.spend(value)
        target.set('plugin_data', ('bought',), value)

    def revert(self, target, allowance, value):
        allowance.spend(value)
        target.set('plugin_data', ('returned',), value)


class PayingTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.ops = registry.Registry(
            {
                'pays': Pays(),
                'pays-for-all': PaysForAll(),
                'sees': Sees(),
                'is-none': registry.installed().conditions['is-none'].plugin,
            },
            {'buys': Buys()},
        )

    def run_with(self, operations, conditions=(), **fields):
        """Return the outcome of a rule, and the plugin data afterwards."""
        plan = compiler.compile_rule(
            model.Rule.from_mapping(
                {
                    'uuid': 'a',
                    'conditions': conditions,
                    'actions': operations,
                    **fields,
                }
            ),
            self.ops,
        )
        target = working_copy.WorkingCopy(
            working_copy.Facts({}, {'n': 7, 'one': 1})
        )
        outcome = runner.run(
            [plan], target, explain=True, limits=budget.Limits(operations=60)
        )
        return outcome, target.roots['plugin_data']

    def spends(self, condition):
        """Return whether checking a condition ends the budget."""
        outcome, _data = self.run_with(
            [{'op': 'buys', 'args': [0]}], [condition]
        )
        return isinstance(
            outcome.error and outcome.error.__cause__,
            exceptions.BudgetExceeded,
        )

    def test_a_condition_pays_whatever_form_its_arguments_have(self):
        for op, args in (
            ('pays', ['{plugin_data.n}']),
            ('pays', [7]),
            ('pays', ['{plugin_data.n}', 7]),
            ('pays', ['{plugin_data.n}', '{plugin_data.n}']),
            ('pays', [7, '{plugin_data.n}']),
            ('pays-for-all', ['{plugin_data.n}', 1]),
            ('pays-for-all', ['{plugin_data.n}', '{plugin_data.one}']),
            ('pays-for-all', {'values': '{plugin_data.l}'}),
            ('sees', ['{plugin_data.n}']),
        ):
            self.assertFalse(self.spends({'op': op, 'args': args}), args)
            if 'l}' not in str(args):
                self.assertTrue(
                    self.spends(
                        {
                            'op': op,
                            'args': args,
                            'loop': list(range(9)),
                            'multiple': 'all',
                        }
                        if op == 'pays-for-all'
                        else {'op': f'!{op}', 'args': [99, *args[1:]]}
                    ),
                    (op, args),
                )

    def test_its_result_is_that_of_its_arguments(self):
        for args, holds in (
            (['{plugin_data.n}', 7], True),
            (['{plugin_data.n}', 8], False),
            ([7, '{plugin_data.n}'], True),
        ):
            for sign in ('', '!'):
                outcome, _data = self.run_with(
                    [{'op': 'buys', 'args': [0]}],
                    [{'op': f'{sign}pays', 'args': args}],
                )
                self.assertIs(
                    holds is (not sign), outcome.traces[0].matched, args
                )

    def test_an_action_pays_and_so_does_undoing_it(self):
        outcome, data = self.run_with(
            [{'op': 'buys', 'args': ['{plugin_data.n}']}]
        )
        self.assertIsNone(outcome.error)
        self.assertEqual(7, data['bought'])
        outcome, _data = self.run_with([{'op': 'buys', 'args': [99]}])
        self.assertIsInstance(
            outcome.error.__cause__, exceptions.BudgetExceeded
        )
        outcome, data = self.run_with(
            [{'op': 'buys', 'args': ['{plugin_data.n}'], 'revert': True}],
            [{'op': 'is-none', 'args': ['{plugin_data.n}']}],
        )
        self.assertIsNone(outcome.error)
        self.assertEqual(7, data['returned'])

    def test_who_is_tried_or_explained_spends_nothing_of_the_rules(self):
        for fields in ({'mode': 'audit'}, {}):
            outcome, data = self.run_with(
                [
                    {
                        'op': 'buys',
                        'args': [0],
                        'when': [
                            {'op': 'pays', 'args': ['{plugin_data.n}', 7]}
                        ],
                    }
                ],
                [{'op': 'pays', 'args': [30, 30]}],
                **fields,
            )
            self.assertIsNone(outcome.error, repr(fields))
            self.assertEqual('mode' not in fields, 'bought' in data)
