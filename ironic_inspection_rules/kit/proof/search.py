# SPDX-License-Identifier: Apache-2.0

"""Let a solver search for a machine that fulfills a formula, within limits.

The solver is z3. A formula is over the fields of a machine, for example
``inventory.cpu.count > 8``, and the solver finds values of these fields for
which it holds. Where a proof cannot compute something, the formula contains a
*guess*, e.g. ``guess 3``: a truth value that the solver chooses freely.

The search also passes *assumptions* to the solver, so that it finds a usual
machine: ``inventory.cpu.count == 32``. It drops an assumption that contradicts
the formula. Some assumptions are *restrictions*, e.g. "the list of disks has
at most five items". They keep the search among machines that it can decide.
"""

from collections.abc import Collection, Iterable, Sequence
import dataclasses
import math
import time

import z3

from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import solver_limits
from ironic_inspection_rules.kit.proof import witness as witnesses

# Every round drops at least one assumption. This does not limit the time of
# the solver, which the limits of :mod:`.solver_limits` do.
_MOST_ROUNDS = 40

GIVES_UP = 'the solver gives up'
"""The beginning of the reason if the solver cannot answer a question."""


class Unclear(Exception):
    """A question has no answer; the message is the reason."""


class Exhausted(Unclear):
    """No time or no steps are left, so further searches are useless."""


class Deadline:
    """The limit of all searches of a proof, in time and in solver steps.

    :param seconds: the time limit for all searches together.
    :param steps: the maximum number of solver steps, None for no limit. With
        a limit, a proof ends at the same question on a busy machine as on an
        idle one.
    """

    def __init__(self, seconds: float, steps: int | None = None) -> None:
        self._ends_at = time.monotonic() + seconds
        # This solver only counts the steps of all solvers.
        self._counter = z3.Solver()
        self._last_step = math.inf
        if steps is not None:
            self._last_step = solver_limits.count_steps(self._counter) + steps

    def left(self) -> float:
        """Return how many seconds are left.

        :raises: :class:`Exhausted` if no seconds or no steps are left.
        """
        seconds_left = self._ends_at - time.monotonic()
        if seconds_left <= 0:
            raise Exhausted('the time limit is reached')
        # This raises if no steps are left, so that callers that only ask for
        # seconds stop too.
        self.steps_left()
        return seconds_left

    def steps_left(self) -> float:
        """Return how many solver steps are left.

        :raises: :class:`Exhausted` if none are left.
        """
        steps_left = self._last_step - solver_limits.count_steps(self._counter)
        if steps_left <= 0:
            raise Exhausted('the limit of steps is reached')
        return steps_left


@dataclasses.dataclass(frozen=True)
class _Fact:
    """A formula that holds for all machines, or an assumption about them.

    :ivar names: see :func:`find_constant_names`.
    :ivar label: empty if the formula holds for all machines. Otherwise the
        formula is an assumption, and this is its name, e.g. ``usual 2
        inventory.cpu``. It is also the name of a truth value of the solver:
        the assumption holds if that is true. If assumptions contradict each
        other, the solver names them by their labels.
    """

    formula: logic.Formula
    names: set[str]
    label: str = ''


@dataclasses.dataclass(frozen=True)
class _Assumed:
    """The labels of the assumptions of one round of a search, in order.

    :ivar usual: of the assumptions about usual values.
    :ivar restrictions: of the restrictions.
    """

    usual: Sequence[str]
    restrictions: Sequence[str]

    @property
    def labels(self) -> list[str]:
        """The labels of all assumptions."""
        return [*self.usual, *self.restrictions]

    def without(self, dropped: Collection[str]) -> '_Assumed':
        """Return the assumptions that are left after some are dropped."""
        return _Assumed(
            usual=[label for label in self.usual if label not in dropped],
            restrictions=[
                label for label in self.restrictions if label not in dropped
            ],
        )


class MachineSearch:
    """Searches for a machine that fulfills a formula, the most typical first.

    The search makes assumptions: that fields have usual values, and that
    machines meet certain restrictions. If the solver finds no machine, it
    names assumptions that contradict the wanted formula. The search first
    drops assumptions about usual values, starting with the lowest rank, and
    then lifts the restrictions that are in the way.

    If machines outside of a restriction may matter, finding no machine within
    it does not answer the question. The answer is then "unknown", with the
    restriction as the reason.
    """

    def __init__(
        self, machine: machines.SymbolicMachine, deadline: Deadline
    ) -> None:
        self._machine = machine
        self._deadline = deadline
        # How much rules had asked about the machine when its facts were last
        # collected: counts of fields, compared texts and so on.
        self._asked: tuple[int, ...] = ()
        # This solver only counts the steps of all solvers.
        self._counter = z3.Solver()
        # The reasons of the restrictions that were lifted to find the last
        # machine.
        self._lifted_reasons: list[str] = []
        self.begin_question()

    def begin_question(self) -> None:
        """Reset the number of steps that are left, for the next answer."""
        self._steps_left = solver_limits.STEPS_OF_QUESTION

    def _collect_facts(self) -> None:
        """Collect all facts about the machine again if there may be new ones.

        There may be new facts if rules have read more fields of the machine,
        or compared them with more values, since the last search. The property
        ``asked`` of the machine counts these.

        A fact without a label holds for all machines, e.g. that no list has a
        negative length. A fact with a label is an assumption, which the search
        may drop::

            limit 3                      the list of disks has at most 5 items
            usual 0 inventory.cpu.count  the count is 32, as in the sample
            usual 2 inventory.cpu.count  the count is a number, or is missing

        The number after ``usual`` is a rank: assumptions with lower ranks are
        dropped earlier. Rank 0 also has guesses that usually hold, and the
        assumptions that rounding does not change a number.
        """
        if self._asked == self._machine.asked:
            return
        # The domain has formulas that hold for all machines. The restrictions
        # keep the search among the machines that it can decide.
        domain, restrictions = self._machine.settle()
        # Restrictions by label.
        self._restrictions: dict[str, cells.Restriction] = {}
        self._facts: list[_Fact] = []
        # The ranks of the assumptions about usual values, by label.
        self._ranks: dict[str, int] = {}
        # The indexes of the facts that contain a name, e.g. the facts about
        # "inventory.cpu.count".
        self._facts_by_name: dict[str, list[int]] = {}
        for formula in domain:
            self._note_fact(formula)
        for number, restriction in enumerate(restrictions):
            # Do not change this label: the solver sees it, and with other
            # names the search might take another path and other steps.
            label = f'limit {number}'
            self._restrictions[label] = restriction
            self._note_fact(restriction.formula, label)
        for cell in list(self._machine.cells.values()):
            for usual in witnesses.usual_formulas(cell):
                self._note_usual(usual.formula, cell.name, usual.rank)
        for rounding in self._machine.rounded.values():
            # The formulas allow more rounded numbers than Python computes. If
            # a machine needs a number that is not exact, the engine hardly
            # ever confirms it.
            rounded = rounding.rounded
            self._note_usual(rounded == rounding.exact, str(rounded), rank=0)
        for guess in self._machine.likely.values():
            self._note_usual(guess, str(guess), rank=0)
        self._asked = self._machine.asked

    def _note_usual(
        self, formula: logic.Formula, name: str, rank: int
    ) -> None:
        """Record an assumption about a usual value, e.g. ``count == 32``.

        :param name: the field, the number or the guess that it is about. With
            the name ``inventory.cpu.count`` and the rank 0, the label is
            ``usual 0 inventory.cpu.count``.
        :param rank: assumptions with the lowest rank are dropped first.
        """
        label = f'usual {rank} {name}'
        self._ranks[label] = rank
        self._note_fact(formula, label)

    def _note_fact(self, formula: logic.Formula, label: str = '') -> None:
        """Record a fact; with a label, e.g. ``limit 3``, an assumption."""
        fact = _Fact(formula, find_constant_names(formula), label)
        index = len(self._facts)
        for name in fact.names:
            self._facts_by_name.setdefault(name, []).append(index)
        self._facts.append(fact)

    def find(self, formula: logic.Formula) -> witnesses.Witness | None:
        """Return a machine for which a formula holds; None if there is none.

        For ``inventory.cpu.count > 8`` it is the sample of this package, which
        has 32 processors. For ``< 8`` it is the sample with fewer processors.
        Formulas may contain guesses, so the engine must confirm the machine.

        :raises: :class:`Unclear` if the solver cannot decide; its subclass
            :class:`Exhausted` if no time or steps are left.
        """
        if formula is logic.FALSE:
            # The formula holds on no machine.
            return None
        # This raises if no time or steps are left, because simplifying a large
        # formula is slow.
        self._limit_of_check()
        self._solver = solver_limits.new_solver()
        simplified = solver_limits.simplified_in(self._solver, formula)
        if z3.is_false(simplified):
            return None
        self._collect_facts()
        self._solver.add(simplified)
        labels = self._add_facts(find_constant_names(simplified))
        return self._find_in_rounds(simplified, labels)

    def _add_facts(self, wanted_names: set[str]) -> list[str]:
        """Give the solver all facts that may affect a wanted formula.

        For a formula about ``cpu``, all facts that contain ``cpu`` are added.
        If one of them also contains ``disks``, the facts about ``disks`` are
        added as well, and so on. All other facts would only cost time.

        An assumption is added as ``usual 0 cpu → the formula``. The solver
        therefore ignores the formula unless the label is passed to the check.

        :param wanted_names: the names of the constants in the formula.
        :returns: the labels of the assumptions among the facts.
        """
        labels: list[str] = []
        seen_names: set[str] = set()
        added_facts: set[int] = set()
        # Sort the names, because a set has no order: with formulas in another
        # order the solver may find another machine, or none in time.
        names_ahead = sorted(wanted_names)
        while names_ahead:
            name = names_ahead.pop()
            if name in seen_names:
                continue
            seen_names.add(name)
            for index in self._facts_by_name.get(name, ()):
                if index in added_facts:
                    continue
                added_facts.add(index)
                fact = self._facts[index]
                names_ahead += sorted(fact.names - seen_names)
                formula = fact.formula
                if fact.label:
                    labels.append(fact.label)
                    formula = z3.Implies(z3.Bool(fact.label), formula)
                solver_limits.add(self._solver, formula)
        return labels

    def _find_in_rounds(
        self, wanted: logic.Formula, labels: list[str]
    ) -> witnesses.Witness | None:
        """Return a wanted machine that is unusual only where it must be.

        A round asks the solver for a machine for which all assumptions hold.
        If there is none, the solver names assumptions that contradict the
        wanted formula, and the next round drops them. If a machine with 4
        processors is wanted, ``usual 0 inventory.cpu.count``, the assumption
        of 32 as in the sample, is dropped. If a machine with 50 disks is
        wanted, ``limit 3``, which allows at most 5 items, is dropped.

        :param wanted: the formula that holds for the machine.
        :param labels: the labels of all assumptions.
        :returns: None if there is no machine, and this does not depend on an
            assumption.
        :raises: Unclear if the solver cannot decide, or after too many rounds.
        """
        assumed = _Assumed(
            usual=[label for label in labels if label in self._ranks],
            restrictions=[
                label for label in labels if label in self._restrictions
            ],
        )
        # The reasons of the restrictions that were lifted so far.
        lifted_reasons: list[str] = []
        for _round in range(_MOST_ROUNDS):
            contradicting = self._find_contradiction(assumed.labels)
            if contradicting is None:
                # The solver has found a machine. If restrictions were lifted
                # for it, the engine may not confirm it, and their reasons
                # become the reason of the answer "unknown".
                self._lifted_reasons = lifted_reasons
                # The terms of the machine are in the main context.
                solution = self._solver.model().translate(z3.main_ctx())
                return witnesses.Witness.of(self._machine, solution)
            usual_in_the_way = contradicting.intersection(self._ranks)
            if usual_in_the_way:
                lowest = self._select_lowest(usual_in_the_way)
                assumed = assumed.without(lowest)
                continue
            # No usual value is in the way, but perhaps restrictions are.
            lifted = self._select_restrictions(
                assumed.restrictions, contradicting, wanted
            )
            if not lifted:
                # The formula contradicts itself, or only restrictions that
                # exclude no machine that matters.
                return None
            for label in lifted:
                reason = self._restrictions[label].reason
                lifted_reasons.append(f'depends on {reason}')
            # Once a restriction is lifted, any machine is good enough. Save
            # the rounds that would look for a typical one.
            assumed = assumed.without({*assumed.usual, *lifted})
        raise Unclear('; '.join(lifted_reasons) or 'the search takes too long')

    def _select_lowest(self, labels: set[str]) -> set[str]:
        """Return the labels of usual values that have the lowest rank.

        They are dropped all at once. One might be enough, but finding out
        which one would take more rounds.
        """
        lowest = min(self._ranks[label] for label in labels)
        return {label for label in labels if self._ranks[label] == lowest}

    def _select_restrictions(
        self,
        labels: Iterable[str],
        contradicting: set[str],
        wanted: logic.Formula,
    ) -> list[str]:
        """Return the labels of restrictions that may exclude a wanted machine.

        :param labels: the labels of the restrictions that are assumed.
        :param contradicting: the labels that contradict the wanted formula.
        """
        selected = []
        for label in labels:
            if label not in contradicting:
                continue
            if not self._is_harmless(self._restrictions[label], wanted):
                selected.append(label)
        return selected

    def _find_contradiction(self, assumed: list[str]) -> set[str] | None:
        """Return the labels of assumptions that contradict the formulas.

        :param assumed: the labels, e.g. ``limit 3``.
        :returns: None if all assumptions can hold: the solver then has a
            model, which describes the machine. An empty set if the formulas
            contradict each other even without assumptions.
        :raises: :class:`Unclear` if the solver cannot decide in time.
        """
        limit = self._limit_of_check()
        # In the solver an assumption is "label → formula". Passing the labels
        # as true makes the formulas hold too.
        labels = [z3.Bool(label, self._solver.ctx) for label in assumed]
        steps_before = solver_limits.count_steps(self._counter)
        can_hold = False
        reason_given_up = ''
        try:
            can_hold = solver_limits.can_hold(self._solver, limit, *labels)
        except solver_limits.SolverGaveUp as exc:
            reason_given_up = str(exc)
        self._steps_left -= (
            solver_limits.count_steps(self._counter) - steps_before
        )
        if reason_given_up:
            # If the check has used up the limit of the question or the proof,
            # this raises, because that is a better reason than the solver's.
            self._limit_of_check()
            raise Unclear(f'{GIVES_UP}: {reason_given_up}')
        if can_hold:
            return None
        # The solver calls the labels of a contradiction "unsatisfiable core".
        return set(map(str, self._solver.unsat_core()))

    def _limit_of_check(self) -> solver_limits.Limit:
        """Return how many steps and seconds the next check may take.

        The limit of a check is lowered to the steps that are left for the
        question and for the proof, and to the seconds of the proof.

        :raises: :class:`Exhausted` if no seconds or steps are left.
        """
        seconds_of_proof = self._deadline.left()
        if self._steps_left <= 0:
            raise Exhausted('the search takes too long')
        steps_of_proof = self._deadline.steps_left()
        steps = min(
            solver_limits.CHECK.steps, self._steps_left, steps_of_proof
        )
        return solver_limits.Limit(
            # The steps of a proof are a float, which is infinite if unlimited.
            steps=int(steps),
            seconds=min(solver_limits.CHECK.seconds, seconds_of_proof),
        )

    def _is_harmless(
        self, restriction: cells.Restriction, wanted: logic.Formula
    ) -> bool:
        """Return whether a restriction excludes no machine that matters.

        Only the restriction that a list has at most five items can be
        harmless. If rules only ask whether any disk is larger than 1 TB, a
        machine with 40 disks may match. But then a machine that has only one
        of these disks matches as well, so the search needs no longer lists.

        In general the following items are needed, and the rules treat a
        machine that has only these items in the same way:

        * for every condition with a loop, an item that decides it, and perhaps
          one for which it is an error;
        * for every ``one-of``, the item that it looks for;
        * the port that an action names by its address;
        * the first and the last item, for ``multiple: first`` and ``last``.

        The restriction is not harmless if a rule depends on the number of
        items in the list, or on their positions.
        """
        cell = restriction.cell
        if cell is None:
            # It does not restrict the length of a list.
            return False
        # A filter counts or picks items, or an action writes for every item.
        is_used_beyond_loops = bool(cell.uses)
        if is_used_beyond_loops:
            return False
        # The names of the guesses about items after the first five. A loop has
        # a guess that its condition holds, and perhaps one that it fails; each
        # guess may need another item. "one-of" and a write to a port have one
        # guess, that the list has the item.
        guesses = self._machine.guesses_beyond.get(cell.name, set())
        guesses_that_matter = guesses & find_constant_names(wanted)
        # The first and the last item are needed as well.
        items_needed = len(guesses_that_matter) + 2
        return items_needed <= cells.LONGEST

    def why_unconfirmed(self, wanted: logic.Formula) -> str:
        """Return why the engine may disagree with the last search.

        There are two kinds of reasons. If a proof cannot express part of a
        rule, the formula has a guess instead, whose truth the solver is free
        to choose, so the engine may decide this part otherwise. And if the
        restrictions on machines exclude all solutions, the search lifts some
        of them, so the machine that it finds may be one on which the formula
        and the engine differ.

        :param wanted: the formula that the machine was searched for.
        """
        # For example, {'guess 3': 'the format of {inventory.cpu}'}.
        reason_by_guess = self._machine.reasons
        reasons = []
        for name in sorted(find_constant_names(wanted)):
            # A field of the machine is not a guess and has no reason.
            reason = reason_by_guess.get(name)
            if reason is not None and reason not in reasons:
                reasons.append(reason)
        reasons += self._lifted_reasons
        return '; '.join(reasons) or 'the engine decides otherwise'


def find_constant_names(formula: logic.Formula) -> set[str]:
    """Return the names of the constants in a formula, e.g. ``guess 3``.

    Constants are the terms whose values the solver chooses: fields of a
    machine, guesses, and values that are computed outside of the solver.
    """
    constant_names: set[str] = set()
    # The same part may occur in a formula many times.
    seen_ids: set[int] = set()
    # Use the C functions below the classes of z3, because a Python object for
    # every part of a formula would be ten times as slow. They do not count
    # references, which is safe here, because the formula keeps its parts.
    context = formula.ctx_ref()
    parts_ahead = [formula.as_ast()]
    while parts_ahead:
        part = parts_ahead.pop()
        part_id = z3.Z3_get_ast_id(context, part)
        if part_id in seen_ids:
            continue
        seen_ids.add(part_id)
        # In z3, constants are "applications" of functions without arguments.
        if z3.Z3_get_ast_kind(context, part) != z3.Z3_APP_AST:
            continue
        count = z3.Z3_get_app_num_args(context, part)
        if count:
            # This is a function such as "+": visit its arguments.
            for index in range(count):
                argument = z3.Z3_get_app_arg(context, part, index)
                parts_ahead.append(argument)
            continue
        declared = z3.Z3_get_app_decl(context, part)
        kind = z3.Z3_get_decl_kind(context, declared)
        # All other constants are known, e.g. 8 or "true".
        if kind == z3.Z3_OP_UNINTERPRETED:
            symbol = z3.Z3_get_decl_name(context, declared)
            constant_names.add(z3.Z3_get_symbol_string(context, symbol))
    return constant_names
