# SPDX-License-Identifier: Apache-2.0

"""Limits of the solver that count its steps."""

import itertools
import time
import unittest
from unittest import mock

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.tests.unit import base

try:
    import z3

    from ironic_inspection_rules.kit.proof import logic
    from ironic_inspection_rules.kit.proof import question
    from ironic_inspection_rules.kit.proof import search
    from ironic_inspection_rules.kit.proof import solver_limits
    from ironic_inspection_rules.tests.simulation.proof import leisure
except ImportError as exc:
    raise unittest.SkipTest('needs z3-solver') from exc

RULE = {
    'uuid': '5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a10',
    'conditions': [
        {
            'op': 'contains',
            'args': ['{inventory.system_vendor.manufacturer}', '(?i)^dell.*x'],
        },
        {'op': 'ge', 'args': ['{inventory.cpu.count}', 8]},
    ],
    'actions': [{'op': 'add-trait', 'args': ['CUSTOM_T']}],
}


class EffortTestCase(base.TestCase):
    def verdict(self, **steps):
        self.useFixture(leisure.Leisure(**steps))
        rule = validation.parse(RULE, registry.installed())
        (answer,) = question.Proof([rule], leisure.SECONDS).answers(
            [question.DEAD]
        )
        return answer.verdict

    def test_a_check_ends_after_its_steps(self):
        self.assertEqual('unknown', self.verdict(steps_of_check=10))

    def test_a_question_ends_after_the_steps_of_all_its_checks(self):
        self.assertEqual('unknown', self.verdict(steps_of_question=10))

    def test_enough_steps_are_enough(self):
        self.assertEqual('no', self.verdict())

    def test_steps_are_counted(self):
        solver = z3.Solver()
        before = solver_limits.count_steps(solver)
        number = z3.Int('number')
        solver.add(number * number == 1369, number > 0)
        self.assertEqual(z3.sat, solver.check())
        self.assertLess(before, solver_limits.count_steps(solver))


class EarlierWorkTestCase(base.TestCase):
    """Proofs that the program made before change nothing in a proof."""

    def setUp(self):
        super().setUp()
        self.useFixture(leisure.Leisure())

    def prove(self, *fields):
        """Return the proof of a rule that fails without any of some fields.

        :returns: the proof, and all that its solvers were asked.
        """
        asked = []
        can_hold = solver_limits.can_hold

        def noted(solver, limit, *assumed):
            asked.append((solver.sexpr(), *map(str, assumed)))
            return can_hold(solver, limit, *assumed)

        rule = validation.parse(
            {
                'uuid': RULE['uuid'],
                'conditions': [
                    {'op': '!is-empty', 'args': [f'{{inventory.{field}}}']}
                    for field in fields
                ],
                'actions': [{'op': 'fail', 'args': ['no']}],
            },
            registry.installed(),
        )
        with mock.patch.object(solver_limits, 'can_hold', noted):
            proof = question.Proof([rule], leisure.SECONDS)
            list(proof.answers([question.DEAD, 'gap:/name']))
        return proof, asked

    def test_the_solver_is_asked_the_same(self):
        _proof, asked = self.prove('a.one', 'a.two', 'a.three')
        # As long as this proof is kept, the next one has the same terms, which
        # the solver has numbered in another order.
        _kept = self.prove('b.three', 'b.two', 'b.one')
        _proof, asked_later = self.prove('b.one', 'b.two', 'b.three')
        renamed = [
            tuple(text.replace('inventory.b', 'inventory.a') for text in check)
            for check in asked_later
        ]
        self.assertGreater(len(asked), 1)
        self.assertEqual(asked, renamed)


def unconfirmed(places=12):
    """Return two rules that write to common places, and may never match.

    The solver cannot sort, so that it finds a machine for each of the places,
    and the engine confirms none.
    """
    rules = []
    for number in (0, 1):
        rules.append(
            validation.parse(
                {
                    'uuid': f'00000000-0000-4000-8000-00000000000{number}',
                    'conditions': [
                        {
                            'op': 'eq',
                            'args': [
                                '{inventory.cpu.flags | sort | first}',
                                'zzz',
                            ],
                        }
                    ],
                    'actions': [
                        {
                            'op': 'set-attribute',
                            'args': [f'/extra/{place}', number],
                        }
                        for place in range(places)
                    ],
                },
                registry.installed(),
            )
        )
    return rules


class BoundTestCase(base.TestCase):
    """What bounds a question, and all of them."""

    def setUp(self):
        super().setUp()
        self.searches = 0
        find = search.MachineSearch.find

        def counted(searching, wanted):
            self.searches += 1
            return find(searching, wanted)

        self.patch(search.MachineSearch, 'find', counted)

    def conflict(self, steps=None):
        """Return the answer about a conflict, and the steps it took."""
        self.searches = 0
        proof = question.Proof(unconfirmed(), leisure.SECONDS, steps=steps)
        counter = z3.Solver()
        before = solver_limits.count_steps(counter)
        (answer,) = proof.answers([question.CONFLICT])
        self.assertEqual('unknown', answer.verdict)
        return answer, solver_limits.count_steps(counter) - before

    def test_a_question_ends_after_the_steps_of_all_its_searches(self):
        self.useFixture(leisure.Leisure())
        answer, steps = self.conflict()
        self.assertIn('filter sort', answer.reason)
        needed = self.searches
        self.useFixture(leisure.Leisure(steps_of_question=steps // 4))
        answer, _steps = self.conflict()
        self.assertEqual('the search takes too long', answer.reason)
        self.assertGreater(self.searches, 1)
        self.assertLess(self.searches, needed / 2)

    def test_questions_have_their_steps_each(self):
        rules = [
            validation.parse(RULE | {'uuid': uuid}, registry.installed())
            for uuid in (RULE['uuid'], RULE['uuid'][:-1] + '1')
        ]
        self.useFixture(leisure.Leisure())
        proof = question.Proof(rules, leisure.SECONDS)
        counter = z3.Solver()
        before = solver_limits.count_steps(counter)
        # A machine is searched anew for each.
        self.patch(question.Proof, '_matches', lambda *_about: False)
        asked = [question.DEAD] * 4
        self.assertEqual(8, len(list(proof.answers(asked))))
        steps = solver_limits.count_steps(counter) - before
        self.useFixture(leisure.Leisure(steps_of_question=steps // 3))
        proof = question.Proof(rules, leisure.SECONDS)
        reasons = {answer.reason for answer in proof.answers(asked)}
        self.assertNotIn('the search takes too long', reasons)

    def test_all_questions_end_after_the_steps_of_a_proof(self):
        self.useFixture(leisure.Leisure())
        _answer, steps = self.conflict()
        needed = self.searches
        answer, _steps = self.conflict(steps=steps // 4)
        self.assertEqual('the limit of steps is reached', answer.reason)
        self.assertLess(self.searches, needed / 2)

    def test_what_is_asked_after_the_last_step_is_unknown(self):
        rules = unconfirmed(1)
        proof = question.Proof(rules, leisure.SECONDS, rules[1:], steps=1)
        answers = list(
            proof.answers(
                ['dead', 'shadowed', 'conflict', 'gap:/name', 'equivalent']
            )
        )
        self.assertEqual(7, len(answers))
        self.assertEqual(
            {('unknown', 'the limit of steps is reached')},
            {(each.verdict, each.reason) for each in answers},
        )


class OrderTestCase(base.TestCase):
    def test_facts_come_in_one_order_whatever_that_of_sets_is(self):
        class Backwards(set):
            def __iter__(self):
                return iter(sorted(super().__iter__(), reverse=True))

            def __sub__(self, other):
                return Backwards(super().__sub__(other))

        rule = validation.parse(RULE, registry.installed())
        orders = []
        add_facts = search.MachineSearch._add_facts

        def added(searching, asked):
            labels = add_facts(searching, asked)
            orders[-1].append(labels)
            return labels

        self.patch(search.MachineSearch, '_add_facts', added)
        names = search.find_constant_names
        for kind in (set, Backwards):
            orders.append([])
            self.patch(
                search,
                'find_constant_names',
                lambda formula, kind=kind: kind(names(formula)),
            )
            proof = question.Proof([rule], leisure.SECONDS)
            list(proof.answers([question.DEAD]))
        self.assertTrue(orders[0])
        self.assertEqual(*orders)


class GivenUpTestCase(base.TestCase):
    """The reasons where the solver does not know."""

    def reason(self):
        rule = validation.parse(RULE, registry.installed())
        proof = question.Proof([rule], leisure.SECONDS)
        (answer,) = proof.answers([question.DEAD])
        self.assertEqual('unknown', answer.verdict)
        return answer.reason

    def raising(self, words):
        self.patch(
            z3.Solver, 'check', mock.Mock(side_effect=z3.Z3Exception(words))
        )

    def returning(self, words):
        self.patch(z3.Solver, 'check', lambda *_given: z3.unknown)
        self.patch(z3.Solver, 'reason_unknown', lambda _solver: words)

    def test_a_limit_is_the_reason_however_the_solver_tells(self):
        for words, reason in (
            ('timeout', 'too much time'),
            ('canceled', 'too much time'),
            (b'canceled', 'too much time'),
            ('max. resource limit exceeded', 'too many steps'),
            ('out of memory', 'too much memory'),
            ('max. memory exceeded', 'too much memory'),
            (b'reached max unfolding', 'too long texts'),
        ):
            for tell in (self.raising, self.returning):
                if tell == self.returning and isinstance(words, bytes):
                    continue
                tell(words)
                self.assertEqual(
                    f'the solver gives up: {reason}',
                    self.reason(),
                    (words, tell),
                )

    def test_other_words_of_the_solver_are_the_reason(self):
        self.returning('(incomplete (theory arithmetic))')
        self.assertEqual(
            'the solver gives up: (incomplete (theory arithmetic))',
            self.reason(),
        )

    def test_other_errors_are_mistakes(self):
        self.raising('sort mismatch')
        self.assertTrue(self.reason().startswith(question.MISTAKE))
        for error in (AttributeError, IndexError, TypeError, RecursionError):
            self.patch(z3.Solver, 'check', mock.Mock(side_effect=error('x')))
            expected = f'{question.MISTAKE}: {error.__name__} in'
            self.assertTrue(self.reason().startswith(expected), error)

    def test_a_check_that_ends_with_all_time_has_that_reason(self):
        now = 0.0

        def check(*_given):
            nonlocal now
            now += 100
            raise z3.Z3Exception('canceled')

        self.patch(time, 'monotonic', lambda: now)
        self.patch(z3.Solver, 'check', check)
        # There is nothing to check before the search.
        rule = validation.parse(
            RULE | {'conditions': RULE['conditions'][1:]}, registry.installed()
        )
        proof = question.Proof([rule], 50.0)
        (answer,) = proof.answers([question.DEAD])
        self.assertEqual('the time limit is reached', answer.reason)

    def test_the_steps_of_a_check_are_told_from_its_time(self):
        # Pigeons, each in a hole of its own: one is left, which the solver
        # does not see soon.
        is_in = [
            [z3.Bool(f'{pigeon} in {hole}') for hole in range(12)]
            for pigeon in range(13)
        ]
        solver = z3.Solver()
        for holes in is_in:
            solver.add(z3.Or(*holes))
        for pigeons in zip(*is_in, strict=True):
            for one, other in itertools.combinations(pigeons, 2):
                solver.add(z3.Not(z3.And(one, other)))
        error = self.assertRaises(
            solver_limits.SolverGaveUp,
            solver_limits.can_hold,
            solver,
            solver_limits.Limit(1000, leisure.SECONDS),
        )
        self.assertEqual('too many steps', str(error))
        error = self.assertRaises(
            solver_limits.SolverGaveUp,
            solver_limits.can_hold,
            solver,
            solver_limits.Limit(2**31, 0.001),
        )
        self.assertEqual('too much time', str(error))

    def test_a_limit_outside_of_a_check_is_no_mistake(self):
        def simplified(_formula):
            raise z3.Z3Exception('canceled')

        rule = validation.parse(RULE, registry.installed())
        proof = question.Proof([rule], leisure.SECONDS)
        self.patch(logic, 'simplified', simplified)
        (answer,) = proof.answers([question.DEAD])
        self.assertEqual('the solver gives up: too much time', answer.reason)

    def test_an_interrupt_ends_the_program(self):
        # The solver takes the signal for itself.
        for tell in (self.raising, self.returning):
            tell('interrupted from keyboard')
            self.assertRaises(KeyboardInterrupt, self.reason)
