# SPDX-License-Identifier: Apache-2.0

"""Questions that a proof answers about rules, for all possible machines."""

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

_MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    z3.Z3Exception,
)
"""Errors in which a mistake of this package, or of the solver's, shows.

The question then has the answer "unknown" instead of a wrong one.
"""

MISTAKE = 'a mistake in the proof itself'
"""How the reason of such an answer begins."""

Witness = witnesses.Witness
Unclear = search.Unclear


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to one question about some rules.

    :ivar rules: that the answer is about.
    :ivar reason: why it is ``unknown``, or what the witness shows.
    :ivar witness: a machine that proves a ``yes``. A rule that no machine can
        match has none.
    """

    question: str
    rules: tuple[model.Rule, ...]
    verdict: str
    reason: str = ''
    witness: Witness | None = None


class Proof:
    """Follows rules on all machines at once, and answers questions on them.

    :param rules: in the order they run in, phase by phase.
    :param seconds: how long all answers together may take.
    :param other: another set of rules, for the question :data:`DIFFERENT`.
    :param tables: of the rules, by name.
    :param other_tables: of the other set of rules, by name.
    :param steps: how many steps of the solver all answers together may take;
        None for any number.
    """

    def __init__(
        self,
        rules: Sequence[model.Rule],
        seconds: float,
        other: Sequence[model.Rule] | None = None,
        tables: table.Tables | None = None,
        other_tables: table.Tables | None = None,
        steps: int | None = None,
    ) -> None:
        self._deadline = search.Deadline(seconds, steps)
        self._rules = [rule for rule in rules if rule.mode != model.OFF]
        self._other = other or ()
        all_rules = [*self._rules, *self._other]
        texts = inspections.collect_texts(all_rules) | _list_table_texts(
            tables or {}
        )
        alphabet = alphabets.Alphabet(texts)
        self._machine = machines.SymbolicMachine(
            alphabet, tables, self._deadline.left
        )
        self._has_same_tables = _are_same_tables(
            tables or {}, other_tables or {}
        )
        self._inspection = inspections.SymbolicInspection(
            self._machine, self._deadline, all_rules
        )
        # The rules are followed once, here, on all machines: every question is
        # about what they did. Of a rule that could not be followed, and all
        # after it, nothing is known; those before it have answers.
        self._passes: list[states.RulePass] = []
        # Why the rules after these could not be followed; empty if all were.
        self._stopped = ''
        try:
            self._followed = self._inspection.run(
                self._rules, notes=self._passes
            )
        except Unclear as exc:
            self._stopped = str(exc)
        except _MISTAKES as exc:
            self._stopped = _explain_mistake(exc)
        self._search = search.MachineSearch(self._machine, self._deadline)
        self._engine = witnesses.Engine(tables)
        # Machines that a rule matches, by the number of the rule.
        self._matching: dict[int, Witness] = {}
        # All witnesses so far. Most rules match some of them, or differ on
        # some, and need no search.
        self._witnesses: list[Witness] = []

    def answers(self, questions: Iterable[str]) -> Iterator[Answer]:
        """Answer questions one after another.

        :param questions: of :data:`OF_RULES`, ``gap:`` with a path, and
            :data:`DIFFERENT`.
        :returns: an answer for every rule or pair of rules that a question
            concerns, without those that are trivial.
        """
        for question in questions:
            for numbers in self._list_rules_concerned(question):
                answer = self._answer(question, *numbers)
                if answer is not None:
                    yield answer

    def _list_rules_concerned(
        self, question: str
    ) -> Iterator[tuple[int, ...]]:
        """Yield the indexes of the rules that answers to a question are about.

        ``dead`` gives ``(0,)``, ``(1,)`` and so on, ``conflict`` gives pairs.
        Any other question is about all rules, and has one answer: ``()``.
        """
        numbers = range(len(self._rules))
        if question in (DEAD, SHADOWED):
            for number in numbers:
                yield (number,)
        elif question == CONFLICT:
            for first, second in itertools.combinations(numbers, 2):
                # Of two phases the later one is to have the last word.
                if self._rules[first].phase == self._rules[second].phase:
                    yield first, second
        else:
            yield ()

    def _answer(self, question: str, *numbers: int) -> Answer | None:
        """Answer a question about rules, None if the answer is trivial.

        Where the search gives up, or fails by a mistake of this package, the
        answer is "unknown" and says why.

        :param numbers: the indices of the rules in the order they run in.
        """
        method_by_question: dict[str, Callable[..., Answer | None]] = {
            DEAD: self._answer_dead,
            SHADOWED: self._answer_shadowed,
            CONFLICT: self._answer_conflict,
            DIFFERENT: self._answer_different,
        }
        # Any other question is about a gap, and names the place of it, as
        # "gap:/resource_class" does.
        answer_gap = functools.partial(self._answer_gap, question)
        answer = method_by_question.get(question, answer_gap)
        self._search.begin_question()
        try:
            return answer(*numbers)
        except Unclear as exc:
            reason = str(exc)
        except _MISTAKES as exc:
            # The other questions are answered all the same.
            reason = _explain_mistake(exc)
        rules = tuple(self._rules[number] for number in numbers)
        return Answer(question, rules, UNKNOWN, reason)

    def _pass_of(self, number: int) -> states.RulePass:
        """Return what the rule with an index did on all machines.

        :raises: :class:`Unclear` where it could not be followed.
        """
        # The rules were followed in order, up to the first that could not be.
        if number >= len(self._passes):
            raise Unclear(self._stopped)
        return self._passes[number]

    @property
    def _end(self) -> states.State:
        """The machines after all rules.

        :raises: :class:`Unclear` where these could not be followed.
        """
        if self._stopped:
            raise Unclear(self._stopped)
        return self._followed

    def _answer_by_search(
        self,
        question: str,
        rules: tuple[model.Rule, ...],
        wanted: logic.Formula,
        confirms: Callable[[Witness], bool],
        reason: str,
    ) -> Answer:
        """Answer by a search for a machine, which the engine has to confirm.

        The answer is "no" only if there is no such machine. A machine that the
        engine does not confirm leaves the question open: where formulas guess,
        they allow more than the engine does, and another machine may do.

        :param wanted: holds where a machine is an example for "yes".
        :param confirms: asks the engine whether the machine is an example.
        :param reason: the reason of the answer "yes".
        :raises: :class:`Unclear` if the engine does not confirm the machine,
            or the solver does not know.
        """
        witness = self._search.find(wanted)
        if witness is None:
            return Answer(question, rules, NO)
        if not confirms(witness):
            raise Unclear(self._search.why_unconfirmed(wanted))
        return Answer(question, rules, YES, reason, witness)

    def _find_machine_that_matches(self, number: int) -> Witness | None:
        """Return a machine that a rule matches, confirmed by the engine.

        A machine that was found before, for this or another rule, is taken
        without a search.

        :param number: the index of the rule.
        :returns: None if the solver proves that no machine matches.
        :raises: :class:`Unclear` where the rule could not be followed, the
            engine does not confirm the match, or the search gives up.
        """
        rule_pass = self._pass_of(number)
        if number in self._matching:
            return self._matching[number]
        # A machine that was found for another rule may match this one as well.
        for earlier_witness in self._witnesses:
            if self._matches(rule_pass.rule, earlier_witness):
                self._matching[number] = earlier_witness
                return earlier_witness
        witness = self._search.find(rule_pass.matched)
        if witness is None:
            return None
        if not self._matches(rule_pass.rule, witness):
            raise Unclear(self._search.why_unconfirmed(rule_pass.matched))
        self._witnesses.append(witness)
        self._matching[number] = witness
        return witness

    def _matches(self, rule: model.Rule, machine: Witness) -> bool:
        """Return whether the engine finds that a rule matches a machine."""
        done = self._engine.evaluate(self._rules, machine)
        return witnesses.has_matched(done, rule)

    def _answer_dead(self, number: int) -> Answer | None:
        """Answer whether no machine can match a rule.

        :param number: the index of the rule.
        :returns: None for a rule that matches all machines, which is trivial.
        """
        rule_pass = self._pass_of(number)
        matches_all = logic.settled(rule_pass.matched) is logic.TRUE
        if matches_all:
            return None
        rules = (rule_pass.rule,)
        if self._find_machine_that_matches(number) is None:
            return Answer(DEAD, rules, YES, reason='no machine can match it')
        return Answer(DEAD, rules, NO)

    def _answer_shadowed(self, number: int) -> Answer | None:
        """Answer whether a rule never has an effect.

        A rule is shadowed if every inspection ends the same without the rule,
        and if the rule makes no call and no log entry.

        :returns: None for a rule in mode ``audit``, which is to change
            nothing, and for a rule that matches no machine.
        """
        rule_pass = self._pass_of(number)
        rules = (rule_pass.rule,)
        if rule_pass.rule.mode == model.AUDIT:
            return None
        match = self._find_machine_that_matches(number)
        if match is None:
            # It is dead, which is another question.
            return None
        without = [*self._rules[:number], *self._rules[number + 1 :]]
        # Witnesses of other answers cost no search.
        for machine in (match, *self._witnesses):
            if self._engine.differs(self._rules, without, machine):
                return Answer(SHADOWED, rules, NO)
        for wanted in self._effect_formulas(rule_pass, without, number):
            witness = self._search.find(wanted)
            if witness is None:
                continue
            has_effect = self._engine.differs(
                self._rules, without, witness
            ) or self._has_lasting_effect(rule_pass.rule, witness)
            if not has_effect:
                # The engine finds no effect on the machine of the solver.
                raise Unclear(self._search.why_unconfirmed(wanted))
            self._witnesses.append(witness)
            return Answer(SHADOWED, rules, NO)
        # The engine has confirmed above that the rule matches the machine, and
        # that the inspection ends the same without the rule.
        return Answer(
            SHADOWED,
            rules,
            YES,
            'whatever it does, other rules do, undo or prevent',
            match,
        )

    def _effect_formulas(
        self,
        rule_pass: states.RulePass,
        without: Sequence[model.Rule],
        number: int,
    ) -> list[logic.Formula]:
        """Return formulas, one of which holds where a rule has an effect.

        The inspection then ends otherwise than without the rule, or the rule
        made a call or a log entry. A machine is searched for by one formula
        after the other: mostly the first finds a machine. If the rule sets the
        name to "a" where it matches, the first is::

            the rule matches, and the name at the end is another than without
            the rule: "a" instead of what it was before

        :param rule_pass: what the rule did.
        :param without: all other rules.
        :param number: the index of the rule.
        """
        # First, as it raises where the end is unclear: then it would be in
        # vain to run the rules again, which takes long.
        end = self._end
        end_without = self._inspection.resume(rule_pass, without, number)
        ends_differ = self._where_ends_differ(end, end_without)
        has_effect = logic.disj(rule_pass.lasts, ends_differ)
        # Also where it did not match: an error of its vars or conditions ends
        # the inspection.
        effects = [
            logic.conj(rule_pass.matched, has_effect),
            logic.conj(rule_pass.ends, has_effect),
        ]
        if self._inspection.decides_first(rule_pass.rule):
            # A rule that does not match may undo what it did before, and an
            # error of its conditions may come before another rule fails the
            # inspection.
            effects.append(has_effect)
        return effects

    def _has_lasting_effect(self, rule: model.Rule, machine: Witness) -> bool:
        """Return whether a rule makes a call or a log entry for a machine.

        Such an effect lasts also where the inspection fails. The state at the
        end of the inspection does not show it.
        """
        done = self._engine.evaluate(self._rules, machine)
        for rule_trace in done.traces:
            if rule_trace.rule.uuid != rule.uuid:
                continue
            for action in rule_trace.actions:
                # "log" or "api-call"; a rule may have spaces around it.
                if action.ran and action.op.strip() in actions.LASTING:
                    return True
        return False

    def _where_ends_differ(
        self, one: states.State, other: states.State
    ) -> logic.Formula:
        """Return the formula that holds where two inspections end apart.

        The result is compared, such as the message of a rule that failed the
        inspection, and so are the node, the plugin data and the ports
        afterwards. The inventory is not: rules do not change it.

        :param one: all machines after one of the inspections.
        :param other: all machines after the other.
        """
        differing = [one.result != other.result]
        for name in ('node', 'plugin_data', 'ports'):
            differs = values.where_different(
                self._machine, one.roots[name], other.roots[name]
            )
            differing.append(differs)
        return logic.disj(*differing)

    def _answer_conflict(self, first: int, second: int) -> Answer | None:
        """Answer whether two rules of one priority write different values.

        They conflict if both may write to ``driver_info/address`` of the same
        machine, for example.

        :param first: the index of a rule; ``second`` is that of a later rule.
        :returns: None for two rules that never write to a common place, and
            for two rules of different priorities.
        """
        first_rule = self._rules[first]
        second_rule = self._rules[second]
        if first_rule.priority != second_rule.priority:
            # Whoever gives priorities wants one rule to have the last word.
            return None
        pairs_of_writes = list(
            itertools.product(
                self._pass_of(first).writes, self._pass_of(second).writes
            )
        )
        last_unclear: Unclear | None = None
        for write, other_write in pairs_of_writes:
            try:
                answer = self._answer_clash(first, second, write, other_write)
            except search.Exhausted:
                # No time or steps are left for the other pairs of writes.
                raise
            except Unclear as exc:
                # Another pair of writes may still show a conflict.
                last_unclear = exc
                continue
            if answer.verdict == YES:
                return answer
        if last_unclear is not None:
            raise last_unclear
        for write, other_write in pairs_of_writes:
            if pair.overlap(write.place, other_write.place):
                return Answer(CONFLICT, (first_rule, second_rule), NO)
        # They write to no common place: "no" would be trivial.
        return None

    def _answer_clash(
        self,
        first: int,
        second: int,
        mine: states.SymbolicWrite,
        theirs: states.SymbolicWrite,
    ) -> Answer:
        """Answer whether a write of one rule clashes with a write of another.

        :param mine: a write of the rule with the index ``first``.
        :param theirs: a write of the rule with the index ``second``.
        :raises: :class:`Unclear` where the engine does not confirm the clash.
        """
        values_differ = pair.clash(self._machine, mine, theirs)
        # A machine on which both rules match, both write, and the values are
        # different.
        wanted = logic.conj(
            self._pass_of(first).matched,
            self._pass_of(second).matched,
            mine.when,
            theirs.when,
            values_differ,
        )
        # One place may be above the other, as "extra" is above "extra/rack":
        # they clash at the lower one.
        place = max(mine.place, theirs.place, key=len)
        confirms = functools.partial(
            self._engine.clashes, self._rules, first, second, place, mine
        )
        return self._answer_by_search(
            CONFLICT,
            (self._rules[first], self._rules[second]),
            wanted=wanted,
            confirms=confirms,
            reason=f'both write {pair.as_text(place)}',
        )

    def _answer_gap(self, question: str) -> Answer:
        """Answer whether rules leave some machine without a value at a place.

        :param question: names the place, such as ``gap:/resource_class``.
        """
        # Raises where no time is left: what follows may take long as well.
        self._deadline.left()
        _kind, _colon, place = question.partition(':')
        # Such as ('node', 'resource_class').
        path = _parse_place(place)
        root, *steps = path
        value_at_end = values.step(self._end.roots[root], *steps)
        # An unknown value may be missing or null. Whether it is so on the
        # machine that the search finds, the engine says.
        lacks_value = logic.disj(
            self._machine.may_lack(value_at_end),
            self._machine.may_be_null(value_at_end),
            values.where(value_at_end, _is_null_or_missing),
        )
        # An inspection that fails leaves no value anyway: that is no gap.
        succeeds = self._end.going
        return self._answer_by_search(
            question,
            rules=(),
            wanted=logic.conj(succeeds, lacks_value),
            confirms=functools.partial(self._ends_without, path),
            reason=f'no rule gives it {pair.as_text(path)}',
        )

    def _ends_without(self, path: data_path.Path, machine: Witness) -> bool:
        """Return whether an inspection succeeds, with no value at a place."""
        done = self._engine.evaluate(self._rules, machine)
        if done.error is not None:
            return False
        data_at_end = witnesses.comparable_state(done.facts)
        return data_path.get(data_at_end, path) in (None, data_path.ABSENT)

    def _answer_different(self) -> Answer:
        """Answer whether the two sets of rules treat a machine differently.

        Only sets with the same tables can be compared. For the same rules the
        answer is "no" without a search.
        """
        if not self._has_same_tables:
            raise Unclear(_('the tables differ'))
        others = [rule for rule in self._other if rule.mode != model.OFF]
        if _are_written_alike(self._rules, others):
            return Answer(DIFFERENT, (), NO)
        # Raises where no time is left.
        self._deadline.left()
        end_of_others = self._inspection.run(self._other)
        return self._answer_by_search(
            DIFFERENT,
            rules=(),
            wanted=self._where_ends_differ(self._end, end_of_others),
            confirms=functools.partial(
                self._engine.differs, self._rules, self._other
            ),
            reason='a machine is treated differently',
        )


def _is_null_or_missing(alternative: values.Alternative) -> bool:
    """Return whether a value is missing or null."""
    return isinstance(alternative, values.Const) and (
        alternative.value in (None, data_path.ABSENT)
    )


def _explain_mistake(mistake: Exception) -> str:
    """Return the reason of an answer that an error has prevented.

    It is the limit that the solver has reached, or names the error and where
    it was raised, such as ``… KeyError in _answer_gap, line 480``.
    """
    if isinstance(mistake, z3.Z3Exception):
        # Not always a mistake: the solver raises it where memory runs out.
        limit = effort.reason_of(mistake)
        if limit is not None:
            return f'{search.GIVES_UP}: {limit}'
    # The innermost call, which raised the error.
    frame = traceback.extract_tb(mistake.__traceback__)[-1]
    return (
        f'{MISTAKE}: {type(mistake).__name__} in {frame.name}, '
        f'line {frame.lineno}'
    )


def _are_written_alike(
    old: Sequence[model.Rule], new: Sequence[model.Rule]
) -> bool:
    """Return whether two sets of rules are written alike, in one order.

    UUIDs, descriptions and priorities may differ: rules that run in one order
    do the same with other priorities.
    """
    if len(old) != len(new):
        return False
    for old_rule, new_rule in zip(old, new, strict=True):
        if _without_identity(old_rule) != _without_identity(new_rule):
            return False
        # Variables are read in their order, which "==" does not compare.
        if list(old_rule.vars) != list(new_rule.vars):
            return False
    return True


def _without_identity(rule: model.Rule) -> model.Rule:
    """Return a rule without its UUID, description, priority and revision.

    What the rule does is left. The priority decides about the order alone,
    which the caller compares.
    """
    return dataclasses.replace(
        rule,
        uuid='',
        description=None,
        priority=0,
        built_in=False,
        revision=None,
    )


def _list_table_texts(tables: table.Tables) -> set[str]:
    """Return the texts in tables: keys, columns, cells and templates.

    The solver makes texts of machines of the characters in such texts.
    """
    texts: set[str] = set()
    for expected in tables.values():
        # Such as "{inventory.system_vendor.serial_number}", which gives the
        # key of the row of a machine.
        if expected.definition.of is not None:
            texts.add(expected.definition.of)
        if len(expected) > expected_row.MOST_ROWS:
            # The solver does not look at so many rows.
            continue
        texts.update(expected.keys)
        for row in expected.rows:
            texts.update(row)
            for value in row.values():
                if isinstance(value, str):
                    texts.add(value)
    return texts


def _are_same_tables(old: table.Tables, new: table.Tables) -> bool:
    """Return whether two sets have the same tables, rows in one order."""
    if old.keys() != new.keys():
        return False
    for name, old_table in old.items():
        new_table = new[name]
        if old_table.definition != new_table.definition:
            return False
        if list(old_table.rows) != list(new_table.rows):
            return False
    return True


def parse(questions: str) -> list[str]:
    """Return the questions in a text of an option, separated by commas.

    ``'dead, gap:/name'`` becomes ``['dead', 'gap:/name']``.

    :raises: ValueError that names a part that is no question, or asks for a
        place that no node has.
    """
    parts = (part.strip() for part in questions.split(','))
    asked_for = [part for part in parts if part]
    for question in asked_for:
        kind, _colon, path = question.partition(':')
        if kind == GAP and path:
            try:
                root, *steps = _parse_place(path)
                if root == 'node' and steps:
                    # Raises for an attribute that rules cannot set.
                    schema.check_path(tuple(steps), schema.NODE)
            except exceptions.InspectionRulesError as exc:
                raise ValueError(f'{question}: {exc}') from exc
        elif question not in OF_RULES:
            raise ValueError(
                _(
                    '%s is no question; there are dead, shadowed, conflict '
                    'and gap:<path>'
                )
                % question
            )
    return asked_for


def _parse_place(path: str) -> data_path.Path:
    """Return a path with its root: ``/name`` is ``('node', 'name')``.

    A path may begin with its root, as ``/plugin_data/rack`` does.
    """
    place = data_path.parse(path)
    if place[0] in ('node', 'plugin_data', 'ports'):
        return place
    return ('node', *place)
