# SPDX-License-Identifier: Apache-2.0

"""Questions about rules on all machines, and their answers."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import time

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.proof import action as actions
from ironic_inspection_rules.proof import inspection as inspections
from ironic_inspection_rules.proof import machine as machines
from ironic_inspection_rules.proof import pair
from ironic_inspection_rules.proof import search as searches
from ironic_inspection_rules.proof import state as states
from ironic_inspection_rules.proof import value as values
from ironic_inspection_rules.proof import witness as witnesses

DEAD, SHADOWED, CONFLICT, ORDER = 'dead', 'shadowed', 'conflict', 'order'
GAP, EQUIVALENT = 'gap', 'equivalent'
OF_RULES = (DEAD, SHADOWED, CONFLICT, ORDER)
YES, NO, UNKNOWN = 'yes', 'no', 'unknown'

Witness = witnesses.Witness
Unclear = searches.Unclear


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to one question about some rules.

    ``witness`` shows a ``yes`` to somebody who doubts it; there is none for
    a rule that no machine can match.
    """

    question: str
    rules: tuple[model.Rule, ...]
    verdict: str
    reason: str = ''
    witness: Witness | None = None


class Proof:
    """Answers questions about a set of rules.

    :param rules: in the order they run in, phase by phase.
    :param seconds: what all answers together may take.
    :param other: another set, for :meth:`equivalent`.
    """

    def __init__(self, rules: Sequence[model.Rule], seconds: float,
                 other: Sequence[model.Rule] | None = None) -> None:
        deadline = time.monotonic() + seconds
        self._rules = [rule for phase in model.PHASES for rule in rules
                       if rule.phase == phase and rule.mode != model.OFF]
        self._other = other or ()
        self._machine = machines.Machine()
        self._inspection = inspections.Inspection(self._machine)
        self._inspection.learn([*self._rules, *self._other])
        self._passed: list[states.Passed] = []
        self._end = self._inspection.run(self._rules, notes=self._passed)
        self._deadline = deadline
        self._settled: searches.Search | None = None
        self._asked: tuple[int, ...] = ()
        self._engine = witnesses.Engine()
        self._met: dict[int, Witness] = {}
        self._pool: list[Witness] = []

    def answers(self, questions: Iterable[str]) -> Iterator[Answer]:
        """Answer questions, of each rule or pair that has to be asked for.

        :param questions: of :data:`OF_RULES`, and ``gap:`` with a path.
        """
        asked = list(questions)
        for question in asked:
            if question == DEAD:
                yield from self._dead()
            elif question == SHADOWED:
                yield from self._shadowed()
            elif question == CONFLICT:
                yield from self._conflicts()
            elif question == ORDER:
                yield from self._orders()
            else:
                yield self._gap(question)

    def _find(self, wanted: values.Formula) -> Witness | None:
        if self._settled is None or self._asked != self._machine.asked:
            self._settled = searches.Search(self._machine, self._deadline)
            self._asked = self._machine.asked
        return self._settled.find(wanted)

    def _why(self, wanted: values.Formula) -> str:
        assert self._settled is not None
        return self._settled.reasons(wanted)

    def _meet(self, number: int) -> Witness | None:
        """Return a machine that a rule matches, None if there is none.

        :raises: :class:`.search.Unclear` where nobody can tell.
        """
        passed = self._passed[number]
        if number not in self._met:
            for known in self._pool:
                if self._matches(passed.rule, known):
                    self._met[number] = known
                    return known
            found = self._find(passed.matched)
            if found is None:
                return None
            if not self._matches(passed.rule, found):
                raise Unclear(self._why(passed.matched))
            self._met[number] = found
            self._pool.append(found)
        return self._met[number]

    def _matches(self, rule: model.Rule, machine: Witness) -> bool:
        return witnesses.matched(
            self._engine.evaluate(self._rules, machine), rule)

    def _dead(self) -> Iterator[Answer]:
        for number, passed in enumerate(self._passed):
            if values.simplified(passed.matched) is values.TRUE:
                continue
            rules = (passed.rule,)
            try:
                if self._meet(number) is None:
                    yield Answer(DEAD, rules, YES, 'no machine can match it')
                else:
                    yield Answer(DEAD, rules, NO)
            except Unclear as exc:
                yield Answer(DEAD, rules, UNKNOWN, str(exc))

    def _shadowed(self) -> Iterator[Answer]:
        for number, passed in enumerate(self._passed):
            if passed.rule.mode == model.AUDIT:
                continue
            rules = (passed.rule,)
            try:
                met = self._meet(number)
                if met is not None:
                    yield self._shadow(number, met)
            except Unclear as exc:
                yield Answer(SHADOWED, rules, UNKNOWN, str(exc))

    def _shadow(self, number: int, met: Witness) -> Answer:
        passed = self._passed[number]
        rules = (passed.rule,)
        without = [*self._rules[:number], *self._rules[number + 1:]]
        for machine in (met, *self._pool):
            if self._differs(self._rules, without, machine):
                return Answer(SHADOWED, rules, NO)
        end = self._rerun(passed.before, number, without[number:])
        wanted = values.conj(passed.matched, values.disj(
            passed.lasts, self._ends_differ(self._end, end)))
        found = self._find(wanted)
        if found is None:
            if self._differs(self._rules, without, met):
                raise Unclear('the engine decides otherwise')
            return Answer(SHADOWED, rules, YES, 'whatever it does, other '
                          'rules do, undo or prevent', met)
        if self._lasts(passed, found) or self._differs(
                self._rules, without, found):
            self._pool.append(found)
            return Answer(SHADOWED, rules, NO)
        raise Unclear(self._why(wanted))

    def _lasts(self, passed: states.Passed, machine: Witness) -> bool:
        done = self._engine.evaluate(self._rules, machine)
        return any(action.ran and action.op.strip() in actions.LASTING
                   for each in done.traces if each.rule is passed.rule
                   for action in each.actions)

    def _differs(self, one: Sequence[model.Rule],
                 other: Sequence[model.Rule], machine: Witness) -> bool:
        return bool(self._engine.outcome(one, machine)
                    != self._engine.outcome(other, machine))

    def _rerun(self, state: states.State, number: int,
               rest: Sequence[model.Rule]) -> states.State:
        """Run rules from the moment on when one of them would have run."""
        passed = self._passed[number]
        return self._inspection.resume(state, passed.begin, rest,
                                       passed.rule.phase)

    def _ends_differ(self, one: states.State,
                     other: states.State) -> values.Formula:
        return values.disj(one.result != other.result, *(
            pair.differ(self._machine, one.roots[name],
                               other.roots[name])
            for name in ('node', 'plugin_data', 'ports')))

    def _conflicts(self) -> Iterator[Answer]:
        for first, one in enumerate(self._passed):
            for second in range(first + 1, len(self._passed)):
                other = self._passed[second]
                if one.rule.phase != other.rule.phase or (
                        one.rule.priority != other.rule.priority):
                    continue
                answer = self._conflict(first, second)
                if answer is not None:
                    yield answer

    def _conflict(self, first: int, second: int) -> Answer | None:
        rules = (self._rules[first], self._rules[second])
        one, other = self._passed[first], self._passed[second]
        unknown = None
        for mine in one.writes:
            for theirs in other.writes:
                differing = pair.clash(self._machine, mine, theirs)
                if differing is values.FALSE:
                    continue
                wanted = values.conj(one.matched, other.matched, mine.when,
                                     theirs.when, differing)
                try:
                    found = self._find(wanted)
                    if found is None:
                        continue
                    place = max(mine.place, theirs.place, key=len)
                    if self._clashes(first, second, place, found, mine):
                        return Answer(CONFLICT, rules, YES, 'both write '
                                      + pair.shown(place), found)
                    unknown = self._why(wanted)
                except Unclear as exc:
                    unknown = str(exc)
        if unknown is not None:
            return Answer(CONFLICT, rules, UNKNOWN, unknown)
        overlap = any(pair.overlap(mine.place, theirs.place)
                      for mine in one.writes for theirs in other.writes)
        return Answer(CONFLICT, rules, NO) if overlap else None

    def _clashes(self, first: int, second: int, place: data_path.Path,
                 machine: Witness, written: states.Write) -> bool:
        """Return whether the engine writes two values to one place.

        :param written: what the first rule writes; where its value or its
            port is not known it has to change something there.
        """
        found = []
        for number in (first - 1, first, second):
            done = self._engine.evaluate(self._rules[:number + 1], machine)
            if number >= first and (
                    not witnesses.matched(done, self._rules[number])
                    or done.error is not None and not isinstance(
                        done.error, exceptions.RuleFailed)):
                return False
            found.append(witnesses.at(witnesses.state(done.facts), place))
        before, one, other = found
        if place[:2] == ('ports', states.ANY_PORT):
            return any(one[port] != other.get(port)
                       and one[port] != before.get(port) for port in one)
        is_known = values.when(written.value, lambda each: isinstance(
            each, values.Unknown)) is values.FALSE
        return bool(one != other and (is_known or one != before))

    def _orders(self) -> Iterator[Answer]:
        for first, one in enumerate(self._passed):
            for second in range(first + 1, len(self._passed)):
                other = self._passed[second]
                if one.rule.phase == other.rule.phase and (
                        model.AUDIT not in (one.rule.mode, other.rule.mode)
                        ) and pair.order_may_matter(one, other):
                    yield self._order(first, second)

    def _order(self, first: int, second: int) -> Answer:
        """Compare one rule after the other with the other way round.

        Both come where the first of them is, without those between them.
        """
        rules = (self._rules[first], self._rules[second])
        before = self._rules[:first]
        both = [*before, *rules], [*before, *reversed(rules)]
        for machine in self._pool:
            if self._differs(*both, machine):
                return Answer(ORDER, rules, YES, 'their order decides',
                              machine)
        try:
            state = self._passed[first].before
            wanted = self._ends_differ(*(
                self._rerun(state, first, each[first:]) for each in both))
            found = self._find(wanted)
            if found is None:
                return Answer(ORDER, rules, NO)
            if self._differs(*both, found):
                self._pool.append(found)
                return Answer(ORDER, rules, YES, 'their order decides', found)
            return Answer(ORDER, rules, UNKNOWN, self._why(wanted))
        except Unclear as exc:
            return Answer(ORDER, rules, UNKNOWN, str(exc))

    def _gap(self, question: str) -> Answer:
        path = data_path.parse(question.partition(':')[2])
        if path[0] not in ('node', 'plugin_data', 'ports'):
            path = ('node', *path)
        end = self._end.roots[path[0]]
        for name in path[1:]:
            end = values.step(end, name, False)
        wanted = values.conj(self._end.going, values.when(
            end, lambda each: isinstance(each, values.Const)
            and each.value in (None, data_path.ABSENT)))
        try:
            found = self._find(wanted)
            if found is None:
                return Answer(question, (), NO)
            done = self._engine.evaluate(self._rules, found)
            if done.error is None and data_path.get(
                    witnesses.state(done.facts), path) in (
                    None, data_path.ABSENT):
                return Answer(question, (), YES, 'no rule gives it '
                              + pair.shown(path), found)
            return Answer(question, (), UNKNOWN, self._why(wanted))
        except Unclear as exc:
            return Answer(question, (), UNKNOWN, str(exc))

    def equivalent(self) -> Answer:
        """Answer whether the other set treats some machine otherwise."""
        end = self._inspection.run(self._other)
        wanted = self._ends_differ(self._end, end)
        try:
            found = self._find(wanted)
            if found is None:
                return Answer(EQUIVALENT, (), NO)
            if self._differs(self._rules, self._other, found):
                return Answer(EQUIVALENT, (), YES, 'a machine is treated '
                              'differently', found)
            return Answer(EQUIVALENT, (), UNKNOWN, self._why(wanted))
        except Unclear as exc:
            return Answer(EQUIVALENT, (), UNKNOWN, str(exc))


def parse(questions: str) -> list[str]:
    """Read questions with commas between them.

    :raises: ValueError that says which is none.
    """
    found = [each.strip() for each in questions.split(',') if each.strip()]
    for each in found:
        if each not in OF_RULES and not (
                each.startswith(f'{GAP}:') and len(each) > len(GAP) + 1):
            raise ValueError(each)
    return found
