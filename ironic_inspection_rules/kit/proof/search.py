# SPDX-License-Identifier: Apache-2.0

"""The search for a machine, and how long it may take."""

import math
import time

import z3

from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import witness as witnesses

_LONGEST = 5.0  # Seconds that one check may take.
_PATIENCE = 15.0  # Seconds that one search may take, with all its checks.
_MOST_ROUNDS = 40


class Unclear(Exception):
    """A question has no answer; the message says why."""


class Deadline:
    """The moment that ends a search.

    :param seconds: how far away it is.
    :param reason: what to say once it has passed.
    """

    def __init__(self, seconds: float, reason: str) -> None:
        self._at = time.monotonic() + seconds
        self._reason = reason

    def left(self) -> float:
        """Return how many seconds are left.

        :raises: :class:`Unclear` where none are.
        """
        left = self._at - time.monotonic()
        if left <= 0:
            raise Unclear(self._reason)
        return left


class MachineSearch:
    """Searches machines, those first that are like the sample."""

    def __init__(self, machine: machines.SymbolicMachine,
                 deadline: Deadline) -> None:
        self._machine = machine
        self._deadline = deadline
        self._asked: tuple[int, ...] = ()
        self._beyond: list[str] = []

    def _settle(self) -> None:
        """Collect what is known of the machine, if more was asked of it."""
        if self._asked == self._machine.asked:
            return
        domain, limits = self._machine.settle()
        self._limits: dict[str, cells.Limit] = {}
        self._about: dict[str, list[int]] = {}
        self._facts: list[tuple[logic.Formula, set[str], str]] = []
        for each in domain:
            self._note(each)
        for number, limit in enumerate(limits):
            self._limits[f'limit {number}'] = limit
            self._note(limit.formula, f'limit {number}')
        for cell in list(self._machine.cells.values()):
            for rank, usual in witnesses.usual_parts(cell):
                self._note(usual, f'usual {rank} {cell.name}')
        self._asked = self._machine.asked

    def _note(self, fact: logic.Formula, name: str = '') -> None:
        """Keep what holds, or what may be assumed under a name."""
        about = names(fact)
        for each in about:
            self._about.setdefault(each, []).append(len(self._facts))
        self._facts.append((fact, about, name))

    def find(self, wanted: logic.Formula) -> witnesses.Witness | None:
        """Return a machine for which something holds; None if there is none.

        :raises: :class:`Unclear` where the solver cannot tell.
        """
        if wanted is logic.FALSE:
            return None
        self._deadline.left()
        wanted = logic.simplified(wanted)
        if wanted is logic.FALSE:
            return None
        self._settle()
        self._patience = Deadline(_PATIENCE, 'the search takes too long')
        self._solver = z3.Solver()
        self._solver.add(wanted)
        labels: list[str] = []
        ahead, seen, added = list(names(wanted)), set[str](), set[int]()
        while ahead:
            name = ahead.pop()
            if name in seen:
                continue
            seen.add(name)
            for number in self._about.get(name, ()):
                if number in added:
                    continue
                added.add(number)
                fact, about, label = self._facts[number]
                ahead += about - seen
                if label:
                    labels.append(label)
                    fact = z3.Implies(z3.Bool(label), fact)
                self._solver.add(fact)
        return self._find(wanted, labels)

    def _find(self, wanted: logic.Formula,
              labels: list[str]) -> witnesses.Witness | None:
        limits = [each for each in labels if each in self._limits]
        usual = [each for each in labels if each not in self._limits]
        reasons: list[str] = []
        for _round in range(_MOST_ROUNDS):
            core = self._check([*usual, *limits])
            if core is None:
                # Beyond the limits the engine may still confirm a machine.
                self._beyond = reasons
                return witnesses.Witness.of(self._machine,
                                            self._solver.model())
            unusual = {each for each in core if each.startswith('usual')}
            if unusual:
                # Another value is less unusual than none.
                rank = min(each[:len('usual 0')] for each in unusual)
                usual = [each for each in usual if each not in unusual
                         or not each.startswith(rank)]
                continue
            # Where a limit is in the way, there may be others beyond it.
            beyond = [each for each in limits if each in core and not (
                self._is_complete(self._limits[each], wanted))]
            if not beyond:
                return None
            reasons += [f'depends on {self._limits[each].reason}'
                        for each in beyond]
            limits = [each for each in limits if each not in beyond]
            usual = []
        raise Unclear('; '.join(reasons) or 'the search takes too long')

    def _check(self, assumed: list[str]) -> set[str] | None:
        """Return which assumptions contradict, None if none do."""
        left = min(_LONGEST, self._deadline.left(), self._patience.left())
        self._solver.set('timeout', math.ceil(1000 * left))
        result = self._solver.check(*map(z3.Bool, assumed))
        if result == z3.sat:
            return None
        if result == z3.unknown:
            raise Unclear('the solver gives up: '
                          + self._solver.reason_unknown())
        return set(map(str, self._solver.unsat_core()))

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
        found = dict.fromkeys(known[name] for name in sorted(names(wanted))
                              if name in known)
        return '; '.join([*found, *self._beyond]) or (
            'the engine decides otherwise')


def names(formula: logic.Formula) -> set[str]:
    """Return the names of all that a formula depends on."""
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
            continue
        declared = z3.Z3_get_app_decl(context, part)
        if z3.Z3_get_decl_kind(context, declared) == (
                z3.Z3_OP_UNINTERPRETED):
            symbol = z3.Z3_get_decl_name(context, declared)
            found.add(z3.Z3_get_symbol_string(context, symbol))
    return found
