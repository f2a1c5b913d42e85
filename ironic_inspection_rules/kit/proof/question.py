# SPDX-License-Identifier: Apache-2.0

"""Questions about rules on all machines, and their answers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
import dataclasses
import functools
import itertools
import traceback

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.proof import action as actions
from ironic_inspection_rules.kit.proof import alphabet as alphabets
from ironic_inspection_rules.kit.proof import effort
from ironic_inspection_rules.kit.proof import expected_row
from ironic_inspection_rules.kit.proof import inspection as inspections
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import pair
from ironic_inspection_rules.kit.proof import search
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.kit.proof import witness as witnesses
from ironic_inspection_rules.plugins.actions import schema

DEAD = 'dead'
SHADOWED = 'shadowed'
CONFLICT = 'conflict'
GAP = 'gap'
DIFFERENT = 'equivalent'
"""Whether two sets of rules treat some machine differently.

Users call the question by the name of its option, ``--equivalent``. Its answer
is "no" where the two are equivalent, as a "yes" always has a witness.
"""

OF_RULES = (DEAD, SHADOWED, CONFLICT)
YES = 'yes'
NO = 'no'
UNKNOWN = 'unknown'

_MISTAKES = (AssertionError, z3.Z3Exception)
"""Errors that a mistake of a proof shows in: it then knows nothing."""

MISTAKE = 'a mistake in the proof itself'
"""How the reason of such an answer begins."""

Witness = witnesses.Witness
Unclear = search.Unclear


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
    :param other: another set, which :data:`DIFFERENT` compares with.
    :param tables: those that the rules read, by name.
    :param other_tables: those of the other set.
    :param steps: how many steps of the solver all answers together may take;
        None for any number.
    """

    def __init__(self, rules: Sequence[model.Rule], seconds: float,
                 other: Sequence[model.Rule] | None = None,
                 tables: table.Tables | None = None,
                 other_tables: table.Tables | None = None,
                 steps: int | None = None) -> None:
        self._deadline = search.Deadline(seconds, steps)
        self._rules = [rule for rule in rules if rule.mode != model.OFF]
        self._other = other or ()
        everything = [*self._rules, *self._other]
        texts = inspections.texts(everything) | _texts(tables or {})
        alphabet = alphabets.Alphabet(texts)
        self._machine = machines.SymbolicMachine(alphabet, tables)
        self._same_tables = _same_tables(tables or {}, other_tables or {})
        self._inspection = inspections.SymbolicInspection(
            self._machine, self._deadline, everything)
        # How each rule went, as far as they were followed. Where that ends
        # with an error, questions about the rules before have answers.
        self._passed: list[states.RulePass] = []
        # Why not all rules were followed; "" if they were.
        self._stopped = ''
        try:
            self._followed = self._inspection.run(self._rules,
                                                  notes=self._passed)
        except Unclear as exc:
            self._stopped = str(exc)
        except _MISTAKES as exc:
            self._stopped = _reason_of(exc)
        self._search = search.MachineSearch(self._machine, self._deadline)
        self._engine = witnesses.Engine(tables)
        # A machine that each rule matches, by the number of the rule.
        self._met: dict[int, Witness] = {}
        # All machines found so far: they often answer for another rule.
        self._pool: list[Witness] = []

    def answers(self, questions: Iterable[str]) -> Iterator[Answer]:
        """Answer questions, each about the rules or pairs that it concerns.

        :param questions: of :data:`OF_RULES`, ``gap:`` with a path, and
            :data:`DIFFERENT`: of the other set.
        """
        for question in questions:
            for numbers in self._concerned(question):
                answer = self._answer(question, *numbers)
                if answer is not None:
                    yield answer

    def _concerned(self, question: str) -> Iterator[tuple[int, ...]]:
        """Yield the numbers of the rules that a question concerns."""
        numbers = range(len(self._rules))
        if question in (DEAD, SHADOWED):
            for number in numbers:
                yield (number,)
        elif question == CONFLICT:
            for first, second in itertools.combinations(numbers, 2):
                if self._rules[first].phase == self._rules[second].phase:
                    yield first, second
        else:
            yield ()

    def _answer(self, question: str, *numbers: int) -> Answer | None:
        """Answer a question of the rules with these numbers."""
        asks: dict[str, Callable[..., Answer | None]] = {
            DEAD: self._dead,
            SHADOWED: self._shadowed,
            CONFLICT: self._conflict,
            DIFFERENT: self._different,
        }
        ask = asks.get(question, functools.partial(self._gap, question))
        self._search.begin_question()
        try:
            return ask(*numbers)
        except Unclear as exc:
            reason = str(exc)
        except _MISTAKES as exc:
            # The other questions are answered all the same.
            reason = _reason_of(exc)
        rules = tuple(self._rules[number] for number in numbers)
        return Answer(question, rules, UNKNOWN, reason)

    def _went(self, number: int) -> states.RulePass:
        """Return how a rule went.

        :raises: :class:`Unclear` where it was not followed.
        """
        if number >= len(self._passed):
            raise Unclear(self._stopped)
        return self._passed[number]

    @property
    def _end(self) -> states.State:
        """The machines after all rules.

        :raises: :class:`Unclear` where these were not followed.
        """
        if self._stopped:
            raise Unclear(self._stopped)
        return self._followed

    def _confirmed(self, question: str, rules: tuple[model.Rule, ...],
                   wanted: logic.Formula,
                   confirms: Callable[[Witness], bool], reason: str) -> Answer:
        """Search a machine, which the engine has to confirm.

        The answer is "no" only if there is none. A machine that the engine
        does not confirm leaves the question open: the formulas allow more
        than the engine, as where they guess, and there may be another one.

        :param wanted: when a machine shows the answer.
        :param confirms: whether the engine finds so, too.
        :param reason: what a machine shows.
        :raises: :class:`Unclear` if the engine does not confirm it, or the
            solver cannot tell.
        """
        witness = self._search.find(wanted)
        if witness is None:
            return Answer(question, rules, NO)
        if not confirms(witness):
            raise Unclear(self._search.reasons(wanted))
        return Answer(question, rules, YES, reason, witness)

    def _meet(self, number: int) -> Witness | None:
        """Return a machine that a rule matches, None if there is none."""
        passed = self._went(number)
        if number in self._met:
            return self._met[number]
        # A machine that was found for another rule costs no search.
        for known in self._pool:
            if self._matches(passed.rule, known):
                self._met[number] = known
                return known
        witness = self._search.find(passed.matched)
        if witness is None:
            return None
        if not self._matches(passed.rule, witness):
            raise Unclear(self._search.reasons(passed.matched))
        self._pool.append(witness)
        self._met[number] = witness
        return witness

    def _matches(self, rule: model.Rule, machine: Witness) -> bool:
        """Return whether the engine finds that a rule matches a machine."""
        done = self._engine.evaluate(self._rules, machine)
        return witnesses.matched(done, rule)

    def _dead(self, number: int) -> Answer | None:
        """Answer whether no machine can match a rule."""
        passed = self._went(number)
        if logic.settled(passed.matched) is logic.TRUE:
            return None
        if self._meet(number) is None:
            return Answer(DEAD, (passed.rule,), YES, 'no machine can match it')
        return Answer(DEAD, (passed.rule,), NO)

    def _shadowed(self, number: int) -> Answer | None:
        """Answer whether a rule does nothing that is left in the end.

        All rules run, and all but this one; where the two end alike on all
        machines and nothing of it lasts, it is shadowed.
        """
        passed = self._went(number)
        rules = (passed.rule,)
        if passed.rule.mode == model.AUDIT:
            return None
        met = self._meet(number)
        if met is None:
            # It is dead, which is another question.
            return None
        without = [*self._rules[:number], *self._rules[number + 1:]]
        # Machines that were found before cost no search.
        for machine in (met, *self._pool):
            if self._engine.differs(self._rules, without, machine):
                return Answer(SHADOWED, rules, NO)
        for wanted in self._effects(passed, without, number):
            witness = self._search.find(wanted)
            if witness is None:
                continue
            differs = self._engine.differs(self._rules, without, witness)
            if not differs and not self._leaves_lasting(passed.rule, witness):
                raise Unclear(self._search.reasons(wanted))
            self._pool.append(witness)
            return Answer(SHADOWED, rules, NO)
        # The machine shows a match for which nothing is left: the engine
        # has said so above.
        return Answer(SHADOWED, rules, YES, 'whatever it does, other '
                      'rules do, undo or prevent', met)

    def _effects(self, passed: states.RulePass, without: Sequence[model.Rule],
                 number: int) -> list[logic.Formula]:
        """Return when something of a rule is left, the usual cases first.

        :param without: all rules but this one.
        :param number: that of the rule.
        """
        # The end may be unclear. It is read before rules are run again, which
        # takes long and would be in vain.
        end = self._end
        end_without = self._inspection.resume(passed, without, number)
        ends_differ = self._ends_differ(end, end_without)
        lasts = logic.disj(passed.lasts, ends_differ)
        # An error of its vars or conditions is an effect too.
        effects = [logic.conj(passed.matched, lasts),
                   logic.conj(passed.ends, lasts)]
        if self._inspection.decides_first(passed.rule):
            # So is what it undoes where it does not match, or is an error of
            # its conditions where other rules would fail the inspection.
            effects.append(lasts)
        return effects

    def _leaves_lasting(self, rule: model.Rule, machine: Witness) -> bool:
        """Return whether a rule does to a machine what nothing takes back."""
        done = self._engine.evaluate(self._rules, machine)
        for record in done.traces:
            if record.rule.uuid != rule.uuid:
                continue
            for action in record.actions:
                if action.ran and action.op.strip() in actions.LASTING:
                    return True
        return False

    def _ends_differ(self, one: states.State,
                     other: states.State) -> logic.Formula:
        """Return when two inspections of a machine end differently.

        Rules do not change the inventory.
        """
        differing = [one.result != other.result]
        for name in ('node', 'plugin_data', 'ports'):
            differing.append(values.differ(
                self._machine, one.roots[name], other.roots[name]))
        return logic.disj(*differing)

    def _conflict(self, first: int, second: int) -> Answer | None:
        """Answer whether two rules write two values to one place."""
        rules = (self._rules[first], self._rules[second])
        if rules[0].priority != rules[1].priority:
            return None
        one = self._went(first)
        other = self._went(second)
        unclear = ''
        for mine, theirs in itertools.product(one.writes, other.writes):
            differing = pair.clash(self._machine, mine, theirs)
            wanted = logic.conj(one.matched, other.matched, mine.when,
                                theirs.when, differing)
            place = max(mine.place, theirs.place, key=len)
            confirms = functools.partial(
                self._engine.clashes, self._rules, first, second, place, mine)
            try:
                answer = self._confirmed(
                    CONFLICT, rules, wanted, confirms,
                    f'both write {pair.as_text(place)}')
            except search.Exhausted:
                raise
            except Unclear as exc:
                # Another pair of writes may show it.
                unclear = str(exc)
                continue
            if answer.verdict == YES:
                return answer
        if unclear:
            raise Unclear(unclear)
        for mine, theirs in itertools.product(one.writes, other.writes):
            if pair.overlap(mine.place, theirs.place):
                return Answer(CONFLICT, rules, NO)
        # Rules that write to no common place are no answer: it is trivial.
        return None

    def _gap(self, question: str) -> Answer:
        """Answer whether rules leave some machine without a value somewhere.

        :param question: ``gap:`` with the path of the place.
        """
        self._deadline.left()
        path = _place(question.partition(':')[2])
        end = values.step(self._end.roots[path[0]], *path[1:])
        # What nobody knows may be missing or null: a machine where it is has
        # to be confirmed as any other.
        lacks_it = logic.disj(
            self._machine.may_lack(end), self._machine.may_be_null(end),
            values.when(end, _is_nothing))
        wanted = logic.conj(self._end.going, lacks_it)

        def confirms(machine: Witness) -> bool:
            done = self._engine.evaluate(self._rules, machine)
            if done.error is not None:
                return False
            found = data_path.get(witnesses.state(done.facts), path)
            return found in (None, data_path.ABSENT)

        return self._confirmed(question, (), wanted, confirms,
                               f'no rule gives it {pair.as_text(path)}')

    def _different(self) -> Answer:
        """Answer whether the two sets of rules treat a machine differently."""
        if not self._same_tables:
            raise Unclear(_('the tables differ'))
        others = [rule for rule in self._other if rule.mode != model.OFF]
        if _same(self._rules, others):
            return Answer(DIFFERENT, (), NO)
        self._deadline.left()
        end = self._inspection.run(self._other)
        differs = functools.partial(self._engine.differs, self._rules,
                                    self._other)
        return self._confirmed(
            DIFFERENT, (), self._ends_differ(self._end, end), differs,
            'a machine is treated differently')


def _is_nothing(alternative: values.Alternative) -> bool:
    """Return whether a value is missing or null."""
    return isinstance(alternative, values.Const) and (
        alternative.value in (None, data_path.ABSENT))


def _reason_of(mistake: Exception) -> str:
    """Return where a mistake was noticed, or the limit that it is none of."""
    if isinstance(mistake, z3.Z3Exception):
        limit = effort.reason_of(mistake)
        if limit is not None:
            return f'{search.GIVES_UP}: {limit}'
    frame = traceback.extract_tb(mistake.__traceback__)[-1]
    return (f'{MISTAKE}: {type(mistake).__name__} in {frame.name}, '
            f'line {frame.lineno}')


def _same(one: Sequence[model.Rule], other: Sequence[model.Rule]) -> bool:
    """Return whether two sets are word for word the same rules in order."""
    if len(one) != len(other):
        return False
    for mine, theirs in zip(one, other, strict=True):
        if _without_name(mine) != _without_name(theirs):
            return False
        # Variables are read in their order, which "==" does not compare.
        if list(mine.vars) != list(theirs.vars):
            return False
    return True


def _without_name(rule: model.Rule) -> model.Rule:
    """Return a rule without all that does not change what it does."""
    return dataclasses.replace(
        rule, uuid='', description=None, priority=0, built_in=False,
        revision=None)


def _texts(tables: table.Tables) -> set[str]:
    """Return the texts of tables that the alphabet of a proof needs.

    Of a large table they are only those of its definition: the solver does
    not look at its rows.
    """
    texts: set[str] = set()
    for expected in tables.values():
        if expected.definition.of is not None:
            texts.add(expected.definition.of)
        if len(expected) > expected_row.MOST_ROWS:
            continue
        texts.update(expected.keys)
        for row in expected.rows:
            texts.update(row)
            for value in row.values():
                if isinstance(value, str):
                    texts.add(value)
    return texts


def _same_tables(one: table.Tables, other: table.Tables) -> bool:
    """Return whether two sets of tables have the same rows, in order."""
    if one.keys() != other.keys():
        return False
    for name, mine in one.items():
        theirs = other[name]
        if mine.definition != theirs.definition:
            return False
        if list(mine.rows) != list(theirs.rows):
            return False
    return True


def parse(questions: str) -> list[str]:
    """Read questions with commas between them.

    :raises: ValueError that says what is none.
    """
    parts = (part.strip() for part in questions.split(','))
    asked_for = [part for part in parts if part]
    for asked in asked_for:
        kind, _colon, path = asked.partition(':')
        if kind == GAP and path:
            try:
                root, *steps = _place(path)
                if root == 'node' and steps:
                    schema.check_path(tuple(steps), schema.NODE)
            except exceptions.InspectionRulesError as exc:
                raise ValueError(f'{asked}: {exc}') from exc
        elif asked not in OF_RULES:
            raise ValueError(
                _('%s is no question; there are dead, shadowed, conflict '
                  'and gap:<path>') % asked)
    return asked_for


def _place(path: str) -> data_path.Path:
    """Return a path with the name of its root, the node if it has none."""
    place = data_path.parse(path)
    if place[0] in ('node', 'plugin_data', 'ports'):
        return place
    return ('node', *place)
