# SPDX-License-Identifier: Apache-2.0

"""The search for a machine, and how long it may take."""

import dataclasses
import math
import time

import z3

from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import effort
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import witness as witnesses

# A round gives up some assumptions; the steps of the solver end a long one.
_MOST_ROUNDS = 40

GIVES_UP = 'the solver gives up'
"""How the reason of an answer begins that the solver does not know."""


class Unclear(Exception):
    """A question has no answer; the message says why."""


class Exhausted(Unclear):
    """Nor does another search for its answer find one, nothing being left."""


class Deadline:
    """What ends all searches: the clock, or the steps that were taken.

    :param seconds: how long all may take.
    :param steps: how many steps of the solver; None for any number. They end
        a proof at the same question on a busy machine as on an idle one.
    """

    def __init__(self, seconds: float, steps: int | None = None) -> None:
        self._at = time.monotonic() + seconds
        # Any solver counts the steps of all.
        self._counter = z3.Solver()
        self._last_step = math.inf
        if steps is not None:
            self._last_step = effort.steps_taken(self._counter) + steps

    def left(self) -> float:
        """Return how many seconds are left.

        :raises: :class:`Exhausted` where none are, or no step.
        """
        left = self._at - time.monotonic()
        if left <= 0:
            raise Exhausted('the time limit is reached')
        self.steps_left()
        return left

    def steps_left(self) -> float:
        """Return how many steps of the solver are left.

        :raises: :class:`Exhausted` where none are.
        """
        left = self._last_step - effort.steps_taken(self._counter)
        if left <= 0:
            raise Exhausted('the limit of steps is reached')
        return left


@dataclasses.dataclass(frozen=True)
class _Fact:
    """What holds of machines, or may be assumed of them under a label.

    ``names`` are those of all that it is about.
    """

    formula: logic.Formula
    names: set[str]
    label: str = ''


class MachineSearch:
    """Searches machines, those first that are like the sample.

    What is usual of a field, and each limit of the search, is an assumption.
    Where the solver finds no machine it names assumptions that contradict
    what is wanted. First the usual ones are given up, the least unusual
    first; then the limits that are in the way. If a machine may matter that
    is beyond a limit, none within it is no answer, and the limit is the
    reason.
    """

    def __init__(self, machine: machines.SymbolicMachine,
                 deadline: Deadline) -> None:
        self._machine = machine
        self._deadline = deadline
        self._asked: tuple[int, ...] = ()
        self._beyond: list[str] = []
        self.begin_question()

    def begin_question(self) -> None:
        """Give the searches for the next answer their steps."""
        self._steps_left = effort.STEPS_OF_QUESTION

    def _settle(self) -> None:
        """Collect what is known of the machine, if more was asked of it."""
        if self._asked == self._machine.asked:
            return
        domain, limits = self._machine.settle()
        # The facts, and by a name the numbers of those that are about it.
        self._limits: dict[str, cells.Limit] = {}
        self._about: dict[str, list[int]] = {}
        self._facts: list[_Fact] = []
        for fact in domain:
            self._note(fact)
        for number, limit in enumerate(limits):
            self._limits[f'limit {number}'] = limit
            self._note(limit.formula, f'limit {number}')
        for cell in list(self._machine.cells.values()):
            for rank, usual in witnesses.usual_parts(cell):
                self._note(usual, f'usual {rank} {cell.name}')
        for exact, made in self._machine.rounded.values():
            # A machine with other numbers is hardly ever confirmed.
            self._note(made == exact, f'usual 0 {made}')
        for guess in self._machine.likely.values():
            self._note(guess, f'usual 0 {guess}')
        self._asked = self._machine.asked

    def _note(self, formula: logic.Formula, label: str = '') -> None:
        """Keep what holds, or what may be assumed under a label."""
        fact = _Fact(formula, names(formula), label)
        for name in fact.names:
            self._about.setdefault(name, []).append(len(self._facts))
        self._facts.append(fact)

    def find(self, wanted: logic.Formula) -> witnesses.Witness | None:
        """Return a machine for which something holds; None if there is none.

        :raises: :class:`Unclear` where the solver cannot tell.
        """
        if wanted is logic.FALSE:
            return None
        self._limit()
        wanted = logic.simplified(wanted)
        if wanted is logic.FALSE:
            return None
        self._settle()
        self._solver = z3.Solver()
        self._solver.add(wanted)
        labels = self._add_facts(names(wanted))
        return self._find(wanted, labels)

    def _add_facts(self, asked: set[str]) -> list[str]:
        """Give the solver what holds of some names, and of others by these.

        The other facts are about parts of a machine that do not matter, and
        would only cost time.

        :returns: the labels of what may be assumed.
        """
        labels: list[str] = []
        seen: set[str] = set()
        added: set[int] = set()
        # In order: the solver may find another machine, or none in time,
        # where its formulas come in another one.
        ahead = sorted(asked)
        while ahead:
            name = ahead.pop()
            if name in seen:
                continue
            seen.add(name)
            for number in self._about.get(name, ()):
                if number in added:
                    continue
                added.add(number)
                fact = self._facts[number]
                ahead += sorted(fact.names - seen)
                formula = fact.formula
                if fact.label:
                    labels.append(fact.label)
                    formula = z3.Implies(z3.Bool(fact.label), formula)
                self._solver.add(formula)
        return labels

    def _find(self, wanted: logic.Formula,
              labels: list[str]) -> witnesses.Witness | None:
        """Return a machine of which as much holds as can be had cheaply.

        Each round gives up what the solver names as contradicting, which need
        not be the least that would do.

        :param labels: of all that is assumed at first.
        """
        limits = [label for label in labels if label in self._limits]
        usual = [label for label in labels if label not in self._limits]
        reasons: list[str] = []
        for _round in range(_MOST_ROUNDS):
            core = self._check([*usual, *limits])
            if core is None:
                # Beyond the limits the engine may still confirm a machine.
                self._beyond = reasons
                return witnesses.Witness.of(self._machine,
                                            self._solver.model())
            unusual = {label for label in core if label.startswith('usual')}
            if unusual:
                # All of the lowest rank in it, at once: a round for each would
                # be too many.
                rank = min(map(_rank_of, unusual))
                given_up = {label for label in unusual
                            if _rank_of(label) == rank}
                usual = [label for label in usual if label not in given_up]
                continue
            beyond = []
            for label in limits:
                if label in core and not self._is_complete(
                        self._limits[label], wanted):
                    beyond.append(label)
            if not beyond:
                # What is wanted contradicts itself, or limits that leave out
                # no machine that matters.
                return None
            # Where a limit is in the way, there may be machines beyond it.
            for label in beyond:
                reasons.append(f'depends on {self._limits[label].reason}')
            limits = [label for label in limits if label not in beyond]
            # An unusual machine there is as good as any.
            usual = []
        raise Unclear('; '.join(reasons) or 'the search takes too long')

    def _check(self, assumed: list[str]) -> set[str] | None:
        """Return which assumptions contradict, None if none do.

        They contradict what was added to the solver, or one another; an empty
        set is a contradiction without any of them.

        :raises: :class:`Unclear` where the solver does not know in time.
        """
        limit = self._limit()
        labels = map(z3.Bool, assumed)
        steps_before = effort.steps_taken(self._solver)
        can_hold = False
        given_up = ''
        try:
            can_hold = effort.can_hold(self._solver, limit, *labels)
        except effort.GivenUp as exc:
            given_up = str(exc)
        self._steps_left -= effort.steps_taken(self._solver) - steps_before
        if given_up:
            # Where nothing is left after the check, that is the reason.
            self._limit()
            raise Unclear(f'{GIVES_UP}: {given_up}')
        if can_hold:
            return None
        return set(map(str, self._solver.unsat_core()))

    def _limit(self) -> effort.Limit:
        """Return the limit of the next check.

        :raises: :class:`Exhausted` where nothing is left for it.
        """
        seconds = self._deadline.left()
        if self._steps_left <= 0:
            raise Exhausted('the search takes too long')
        steps = min(self._steps_left, self._deadline.steps_left())
        return effort.Limit(
            steps=int(min(effort.CHECK.steps, steps)),
            seconds=min(effort.CHECK.seconds, seconds),
        )

    def _is_complete(self, limit: cells.Limit,
                     wanted: logic.Formula) -> bool:
        """Return whether a limit excludes no machine that matters.

        Where conditions only loop over a list, an item for each of them is
        enough, beside the first and the last one.
        """
        if limit.cell is None or limit.cell.uses:
            return False
        loops = self._machine.loops.get(limit.cell.name, set())
        return len(loops & names(wanted)) + 2 <= cells.LONGEST

    def reasons(self, wanted: logic.Formula) -> str:
        """Return why the engine may not confirm the machine found last.

        :param wanted: what it was to be like.
        """
        known = self._machine.reasons
        reasons = []
        for name in sorted(names(wanted)):
            if name in known and known[name] not in reasons:
                reasons.append(known[name])
        reasons += self._beyond
        return '; '.join(reasons) or 'the engine decides otherwise'


def _rank_of(label: str) -> int:
    """Return the rank in a label: 2 in ``usual 2 inventory.cpu``."""
    return int(label.split(' ')[1])


def names(formula: logic.Formula) -> set[str]:
    """Return the names of all constants that a formula has.

    Those are the terms that the solver fills in: parts of a machine, guesses,
    and values that are computed outside of the solver.
    """
    found: set[str] = set()
    seen: set[int] = set()
    # The functions below the classes of z3: an object for each part of a
    # formula costs ten times as much. The formula keeps its parts.
    context = formula.ctx_ref()
    ahead = [formula.as_ast()]
    while ahead:
        part = ahead.pop()
        number = z3.Z3_get_ast_id(context, part)
        if number in seen:
            continue
        seen.add(number)
        if z3.Z3_get_ast_kind(context, part) != z3.Z3_APP_AST:
            continue
        count = z3.Z3_get_app_num_args(context, part)
        ahead += [z3.Z3_get_app_arg(context, part, index)
                  for index in range(count)]
        if count:
            # A function such as "+": its arguments are ahead.
            continue
        declared = z3.Z3_get_app_decl(context, part)
        kind = z3.Z3_get_decl_kind(context, declared)
        if kind == z3.Z3_OP_UNINTERPRETED:
            symbol = z3.Z3_get_decl_name(context, declared)
            found.add(z3.Z3_get_symbol_string(context, symbol))
    return found
