# SPDX-License-Identifier: Apache-2.0

"""Let a solver search for a machine that meets a formula, within limits."""

import dataclasses
import math
import time

import z3

from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import effort
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import witness as witnesses

# A round gives up at least one assumption. That the solver works for too long
# is what the limits of :mod:`.effort` are for.
_MOST_ROUNDS = 40

GIVES_UP = 'the solver gives up'
"""How the reason of an answer begins that the solver does not know."""


class Unclear(Exception):
    """A question has no answer; the message says why."""


class Exhausted(Unclear):
    """No time or no steps are left, so that no other search is of any use."""


class Deadline:
    """The end of all searches of a proof, by the clock and by steps.

    :param seconds: how long all searches together may take.
    :param steps: how many steps of the solver they may take, None for any
        number. They end a proof at the same question on a busy machine as on
        an idle one.
    """

    def __init__(self, seconds: float, steps: int | None = None) -> None:
        self._ends_at = time.monotonic() + seconds
        # It only counts steps: those of all solvers.
        self._counter = z3.Solver()
        self._last_step = math.inf
        if steps is not None:
            self._last_step = effort.steps_taken(self._counter) + steps

    def left(self) -> float:
        """Return how many seconds are left.

        :raises: :class:`Exhausted` where no seconds or no steps are left.
        """
        seconds_left = self._ends_at - time.monotonic()
        if seconds_left <= 0:
            raise Exhausted('the time limit is reached')
        # Raises where no steps are left: callers that ask for seconds only are
        # to end then as well.
        self.steps_left()
        return seconds_left

    def steps_left(self) -> float:
        """Return how many steps of the solver are left.

        :raises: :class:`Exhausted` where none are.
        """
        steps_left = self._last_step - effort.steps_taken(self._counter)
        if steps_left <= 0:
            raise Exhausted('the limit of steps is reached')
        return steps_left


@dataclasses.dataclass(frozen=True)
class _Fact:
    """A formula that holds of all machines, or an assumption about them.

    :ivar names: see :func:`find_constant_names`.
    :ivar label: the name of the truth value that switches an assumption on,
        such as ``usual 2 inventory.cpu``: by it the solver names the
        assumption in a contradiction. Empty for what holds of all machines.
    """

    formula: logic.Formula
    names: set[str]
    label: str = ''


class MachineSearch:
    """Searches for a machine that meets a formula, the most usual one first.

    What is usual of a field, and every restriction, is an assumption. Where
    the solver finds no machine it names assumptions that contradict what is
    wanted. First the usual ones are given up, those of the lowest rank first;
    then the restrictions that are in the way are lifted.

    Where machines that a restriction leaves out may matter, that there is
    none among the others does not answer a question. The answer is unknown
    then, and the restriction is its reason.
    """

    def __init__(
        self, machine: machines.SymbolicMachine, deadline: Deadline
    ) -> None:
        self._machine = machine
        self._deadline = deadline
        # How much rules had asked of the machine, in counts, when its facts
        # were last collected.
        self._asked: tuple[int, ...] = ()
        # It only counts steps: those of all solvers.
        self._counter = z3.Solver()
        # Reasons of the restrictions that do not hold for the machine found
        # last.
        self._lifted_reasons: list[str] = []
        self.begin_question()

    def begin_question(self) -> None:
        """Reset the number of steps that are left, for the next answer."""
        self._steps_left = effort.STEPS_OF_QUESTION

    def _collect_facts(self) -> None:
        """Collect all facts about the machine again, if there may be new ones.

        There may be where rules have asked for more of the machine since the
        last search: ``asked`` counts what they ask for.

        A fact without a label holds for all machines, such as that no list has
        a negative length. One with a label is an assumption, which the search
        may give up::

            limit 3                      the list of disks has at most 5 items
            usual 0 inventory.cpu.count  the count is 32, as in the sample
            usual 2 inventory.cpu.count  the count is a number, or is missing

        The number after ``usual`` is a rank: the lower, the earlier the
        assumption is given up. Of rank 0 are also guesses that mostly hold,
        and that a number is rounded to itself.
        """
        if self._asked == self._machine.asked:
            return
        # Formulas that hold for all machines, and those that keep the search
        # among the machines that it can decide.
        domain, restrictions = self._machine.settle()
        # By label.
        self._restrictions: dict[str, cells.Restriction] = {}
        self._facts: list[_Fact] = []
        # The ranks of the assumptions about what is usual, by label.
        self._ranks: dict[str, int] = {}
        # The indexes of the facts in which a name is, such as those about
        # "inventory.cpu.count".
        self._facts_by_name: dict[str, list[int]] = {}
        for formula in domain:
            self._note_fact(formula)
        for number, restriction in enumerate(restrictions):
            # The solver sees the label: with another word in it, the search
            # might take another way, and other steps.
            label = f'limit {number}'
            self._restrictions[label] = restriction
            self._note_fact(restriction.formula, label)
        for cell in list(self._machine.cells.values()):
            for rank, usual in witnesses.usual_formulas(cell):
                self._note_usual(usual, cell.name, rank)
        for exact, rounded in self._machine.rounded.values():
            # The formulas allow more rounded numbers than Python computes.
            # The engine hardly ever confirms a machine with one of those that
            # are not exact.
            self._note_usual(rounded == exact, str(rounded), rank=0)
        for guess in self._machine.likely.values():
            self._note_usual(guess, str(guess), rank=0)
        self._asked = self._machine.asked

    def _note_usual(
        self, formula: logic.Formula, name: str, rank: int
    ) -> None:
        """Note an assumption about what is usual, such as ``count == 32``.

        :param name: of the field, the number or the guess that it is about:
            with the name ``inventory.cpu.count`` and the rank 0, its label is
            ``usual 0 inventory.cpu.count``.
        :param rank: the assumptions of the lowest rank are given up first.
        """
        label = f'usual {rank} {name}'
        self._ranks[label] = rank
        self._note_fact(formula, label)

    def _note_fact(self, formula: logic.Formula, label: str = '') -> None:
        """Note a fact; with a label, such as ``limit 3``, an assumption."""
        fact = _Fact(formula, find_constant_names(formula), label)
        index = len(self._facts)
        for name in fact.names:
            self._facts_by_name.setdefault(name, []).append(index)
        self._facts.append(fact)

    def find(self, formula: logic.Formula) -> witnesses.Witness | None:
        """Return a machine for which a formula holds; None if there is none.

        For ``inventory.cpu.count > 8`` it is the sample of this package, which
        has 32 processors; for ``< 8`` it has fewer, and else is as the sample.
        Formulas may have guesses: the engine has to confirm the machine.

        :raises: :class:`Unclear` where the solver does not know; of these
            :class:`Exhausted` where no time or steps are left.
        """
        if formula is logic.FALSE:
            return None
        # Raises where no time or steps are left: to simplify a large formula
        # takes long.
        self._limit_of_check()
        self._solver = effort.new_solver()
        simplified = effort.simplified_in(self._solver, formula)
        if z3.is_false(simplified):
            return None
        self._collect_facts()
        self._solver.add(simplified)
        labels = self._add_facts(find_constant_names(simplified))
        return self._find_in_rounds(simplified, labels)

    def _add_facts(self, wanted_names: set[str]) -> list[str]:
        """Give the solver all facts that may decide about a wanted formula.

        A fact about ``cpu`` and ``disks`` makes the facts about ``disks``
        matter for a formula about ``cpu``. Facts without such a connection
        would only cost time. An assumption is given as ``usual 0 cpu → the
        formula``: so the solver can drop it where it drops the label.

        :param wanted_names: the names of the constants in the formula.
        :returns: the labels of the assumptions among the facts.
        """
        labels: list[str] = []
        seen_names: set[str] = set()
        added_facts: set[int] = set()
        # Sorted, as a set has no order: where its formulas come in another
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
                effort.add(self._solver, formula)
        return labels

    def _find_in_rounds(
        self, wanted: logic.Formula, labels: list[str]
    ) -> witnesses.Witness | None:
        """Return a wanted machine which is unusual only where it must be.

        A round asks the solver for a machine for which all assumptions hold.
        If there is none, the solver names assumptions that contradict what is
        wanted, and the next round is without them. If a machine with 4
        processors is wanted, one is ``usual 0 inventory.cpu.count``, that
        there are 32 as in the sample. If one with 50 disks is wanted, one is
        ``limit 3``, that the list has at most 5 items.

        :param wanted: the formula that holds for the machine.
        :param labels: the labels of all assumptions.
        :returns: None where there is no machine, and no assumption is to
            blame.
        :raises: Unclear where the solver does not know, or rounds run out.
        """
        restriction_labels = [
            label for label in labels if label in self._restrictions
        ]
        usual_labels = [label for label in labels if label in self._ranks]
        lifted_reasons: list[str] = []
        for _round in range(_MOST_ROUNDS):
            assumed = [*usual_labels, *restriction_labels]
            contradicting = self._find_contradiction(assumed)
            if contradicting is None:
                # The solver has found a machine. Where restrictions were
                # lifted for it, the engine may not confirm it: their reasons
                # are then those of the answer "unknown".
                self._lifted_reasons = lifted_reasons
                # The terms of the machine are in the main context.
                solution = self._solver.model().translate(z3.main_ctx())
                return witnesses.Witness.of(self._machine, solution)
            usual_in_the_way = contradicting.intersection(self._ranks)
            if usual_in_the_way:
                # All of the lowest rank are given up at once: one might be
                # enough, but to find out which would take more rounds.
                lowest = min(self._ranks[label] for label in usual_in_the_way)
                given_up = {
                    label
                    for label in usual_in_the_way
                    if self._ranks[label] == lowest
                }
                usual_labels = [
                    label for label in usual_labels if label not in given_up
                ]
                continue
            # Nothing usual is in the way, but perhaps restrictions are.
            lifted_labels = []
            for label in restriction_labels:
                restriction = self._restrictions[label]
                if label not in contradicting:
                    continue
                if not self._is_harmless(restriction, wanted):
                    lifted_labels.append(label)
                    lifted_reasons.append(f'depends on {restriction.reason}')
            if not lifted_labels:
                # The formula contradicts itself, or restrictions that leave
                # out no machine that matters.
                return None
            restriction_labels = [
                label
                for label in restriction_labels
                if label not in lifted_labels
            ]
            # Without a restriction any machine is good enough, and rounds
            # that would look for a usual one are saved.
            usual_labels = []
        raise Unclear('; '.join(lifted_reasons) or 'the search takes too long')

    def _find_contradiction(self, assumed: list[str]) -> set[str] | None:
        """Return the labels of assumptions that contradict the formulas.

        :param assumed: the labels, such as ``limit 3``.
        :returns: None where all assumptions can hold: the solver then has a
            model, which is the machine. An empty set where the formulas
            contradict one another even without assumptions.
        :raises: :class:`Unclear` where the solver does not know in time.
        """
        limit = self._limit_of_check()
        # In the solver an assumption is "label → formula": with the truth
        # values of the labels, the formulas are to hold as well.
        labels = [z3.Bool(label, self._solver.ctx) for label in assumed]
        steps_before = effort.steps_taken(self._counter)
        can_hold = False
        reason_given_up = ''
        try:
            can_hold = effort.can_hold(self._solver, limit, *labels)
        except effort.GivenUp as exc:
            reason_given_up = str(exc)
        self._steps_left -= effort.steps_taken(self._counter) - steps_before
        if reason_given_up:
            # Where the check has used up what was left for the question or
            # the proof, this raises: a better reason than that of the solver.
            self._limit_of_check()
            raise Unclear(f'{GIVES_UP}: {reason_given_up}')
        if can_hold:
            return None
        # The labels of a contradiction: "unsatisfiable core" is the solver's
        # word for it.
        return set(map(str, self._solver.unsat_core()))

    def _limit_of_check(self) -> effort.Limit:
        """Return how many steps and seconds the next check may take.

        A check may take no more than is left for the question and the proof.

        :raises: :class:`Exhausted` where no seconds or steps are left.
        """
        seconds_of_proof = self._deadline.left()
        if self._steps_left <= 0:
            raise Exhausted('the search takes too long')
        steps_of_proof = self._deadline.steps_left()
        steps = min(effort.CHECK.steps, self._steps_left, steps_of_proof)
        return effort.Limit(
            # The steps of a proof are a float, infinite without a limit.
            steps=int(steps),
            seconds=min(effort.CHECK.seconds, seconds_of_proof),
        )

    def _is_harmless(
        self, restriction: cells.Restriction, wanted: logic.Formula
    ) -> bool:
        """Return whether a restriction leaves out no machine that matters.

        Only the restriction that a list has at most five items can be so. If
        rules only ask whether any disk is larger than 1 TB, a machine with 40
        disks may match. But then a machine with one of these disks matches as
        well, so that the search needs no longer lists.

        In general these items are needed, and the rules do the same with a
        machine that has them alone:

        * for every condition with a loop, an item that decides it, and perhaps
          one for which it is an error;
        * for every ``one-of``, the item that it looks for;
        * of ports, the one that an action names by its address;
        * the first and the last item, for ``multiple: first`` and ``last``.

        It is not so where a rule depends on how many items the list has, or on
        their places.
        """
        cell = restriction.cell
        if cell is None:
            # It is no restriction of the length of a list.
            return False
        # A filter counts or picks items, or an action writes for every item.
        is_used_beyond_loops = bool(cell.uses)
        if is_used_beyond_loops:
            return False
        # The names of the guesses about items behind the first five. A loop
        # has one for that it holds, and perhaps one for that it fails: for
        # each of the two another item may be the reason. "one-of" and a write
        # to a port have one for that the list has the item.
        guesses = self._machine.loops.get(cell.name, set())
        guesses_that_matter = guesses & find_constant_names(wanted)
        # Beside them the first item and the last one.
        items_needed = len(guesses_that_matter) + 2
        return items_needed <= cells.LONGEST

    def why_unconfirmed(self, wanted: logic.Formula) -> str:
        """Return why the engine decides otherwise than the last search.

        The reasons are the guesses in the formula, truth values that the
        solver chose for what nobody knows, and the restrictions that were
        lifted to find the machine.

        :param wanted: the formula that the machine was searched for.
        """
        reason_by_guess = self._machine.reasons
        reasons = []
        for name in sorted(find_constant_names(wanted)):
            # None for a field of the machine, which is no guess.
            reason = reason_by_guess.get(name)
            if reason is not None and reason not in reasons:
                reasons.append(reason)
        reasons += self._lifted_reasons
        return '; '.join(reasons) or 'the engine decides otherwise'


def find_constant_names(formula: logic.Formula) -> set[str]:
    """Return the names of the constants in a formula, such as ``guess 3``.

    Constants are the terms that the solver fills in: fields of a machine,
    guesses, and values that are computed outside of the solver.
    """
    constant_names: set[str] = set()
    # Parts may be in a formula many times.
    seen_ids: set[int] = set()
    # The C functions below the classes of z3: an object of Python for every
    # part of a formula would cost ten times as much. They count no
    # references, which is safe here, as the formula keeps its parts.
    context = formula.ctx_ref()
    parts_ahead = [formula.as_ast()]
    while parts_ahead:
        part = parts_ahead.pop()
        part_id = z3.Z3_get_ast_id(context, part)
        if part_id in seen_ids:
            continue
        seen_ids.add(part_id)
        # To z3 constants are functions without arguments: "applications".
        if z3.Z3_get_ast_kind(context, part) != z3.Z3_APP_AST:
            continue
        count = z3.Z3_get_app_num_args(context, part)
        if count:
            # A function such as "+": go on with its arguments.
            for index in range(count):
                argument = z3.Z3_get_app_arg(context, part, index)
                parts_ahead.append(argument)
            continue
        declared = z3.Z3_get_app_decl(context, part)
        kind = z3.Z3_get_decl_kind(context, declared)
        # Other constants are known, such as 8 or "true".
        if kind == z3.Z3_OP_UNINTERPRETED:
            symbol = z3.Z3_get_decl_name(context, declared)
            constant_names.add(z3.Z3_get_symbol_string(context, symbol))
    return constant_names
