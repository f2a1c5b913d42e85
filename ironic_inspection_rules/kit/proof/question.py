# SPDX-License-Identifier: Apache-2.0

"""Questions about rules that a proof answers for all possible machines.

The questions are::

    dead                 does a rule match no machine at all?
    shadowed             does a rule never have an effect?
    conflict             do two rules write different values to one place?
    gap:/resource_class  is a place empty on some machine after all rules?
    equivalent           do two sets of rules treat some machine differently?

A proof first follows the rules *symbolically*: it computes formulas over all
possible machines, e.g. the formula that a rule matches. For a question, it
then builds the formula of a wanted machine, and a solver (z3) searches for a
machine for which the formula holds. Such a machine is a *witness*. The engine
runs the rules on the witness to confirm the answer, because a formula may
allow more than the engine does. If the engine does not confirm it, the answer
is "unknown".

The formulas do not have two limits of the engine, so a "no" does not count
machines that come near them: the size of data and the time of a phase, and the
maximum number of traits of a node. They also assume that the capabilities of a
node are written as rules write them, e.g. without blanks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import dataclasses
import functools
import itertools
import json
import traceback
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.proof import action as actions
from ironic_inspection_rules.kit.proof import alphabet as alphabets
from ironic_inspection_rules.kit.proof import expected_row
from ironic_inspection_rules.kit.proof import inspection as inspections
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import pair
from ironic_inspection_rules.kit.proof import search
from ironic_inspection_rules.kit.proof import solver_limits
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

Users know the question by the name of its option, ``--equivalent``. Its answer
is "no" if the two sets are equivalent, because its "yes" has a witness.
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
"""Errors that indicate a bug in this package or in the solver.

The answer to the question is then "unknown" instead of a wrong one.
"""

MISTAKE = 'a mistake in the proof itself'
"""The beginning of the reason of such an answer."""

Witness = witnesses.Witness
Unclear = search.Unclear


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to one question about some rules.

    :ivar rules: the rules that the answer is about.
    :ivar reason: why the verdict is ``unknown``, or what the witness shows.
    :ivar witness: a machine that proves a ``yes``. The answer that a rule is
        dead has none, because no machine can match the rule.
    """

    question: str
    rules: tuple[model.Rule, ...]
    verdict: str
    reason: str = ''
    witness: Witness | None = None


@dataclasses.dataclass(frozen=True)
class _QuestionAboutRules:
    """A question about one rule, about two, or about all rules together.

    :ivar name: e.g. :data:`DEAD`, or ``gap:/resource_class``.
    :ivar rules: the one or two rules; empty if it is about all of them.
    :ivar ask: returns the answer, None if it is trivial.
    """

    name: str
    rules: tuple[model.Rule, ...]
    ask: Callable[[], Answer | None]


class Proof:
    """Follows rules on all possible machines, and answers questions on them.

    Rules are named by their number, the index in the rules of the proof. The
    rules are followed once, when the proof is created; the answers are
    computed one by one.

    :param rules: in the order in which they run, phase by phase.
    :param seconds: the time limit for all answers together.
    :param other: another set of rules, for the question :data:`DIFFERENT`.
    :param tables: the tables of the rules, by name.
    :param other_tables: the tables of the other set of rules, by name.
    :param steps: the limit of solver steps for all answers together; None
        for no limit.
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
            self._machine, self._deadline, all_rules, texts
        )
        # The rules are followed once, here, on all machines: every question is
        # about their effects. If a rule cannot be followed, nothing is known
        # about it and the rules after it, but those before it have answers.
        self._passes: list[states.RulePass] = []
        # The reason why the next rule could not be followed, otherwise empty.
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
        # Machines that a rule matches, by the index of the rule.
        self._matching: dict[int, Witness] = {}
        # All witnesses so far. Most rules match one of them, or have an effect
        # on one, and then need no search.
        self._witnesses: list[Witness] = []

    def answers(self, questions: Iterable[str]) -> Iterator[Answer]:
        """Answer questions one after another.

        :param questions: :data:`OF_RULES`, ``gap:`` with a path, or
            :data:`DIFFERENT`.
        :returns: an answer for every rule or pair of rules that a question
            concerns, except trivial ones.
        """
        for question in questions:
            for about_rules in self._split(question):
                answer = self._answer(about_rules)
                if answer is not None:
                    yield answer

    def _split(self, question: str) -> Iterator[_QuestionAboutRules]:
        """Yield a question for every rule or pair of rules that it is about.

        ``dead`` is asked about every rule, and ``conflict`` about every pair.
        A gap is a property of all rules together, and so is the difference
        from another set, so these have only one answer.
        """
        if question == DEAD:
            for number, rule in enumerate(self._rules):
                ask = functools.partial(self._answer_dead, number)
                yield _QuestionAboutRules(question, (rule,), ask)
        elif question == SHADOWED:
            for number, rule in enumerate(self._rules):
                ask = functools.partial(self._answer_shadowed, number)
                yield _QuestionAboutRules(question, (rule,), ask)
        elif question == CONFLICT:
            numbers = range(len(self._rules))
            for first, second in itertools.combinations(numbers, 2):
                rules = (self._rules[first], self._rules[second])
                # Rules of a later phase are meant to override earlier ones.
                if rules[0].phase == rules[1].phase:
                    ask = functools.partial(
                        self._answer_conflict, first, second
                    )
                    yield _QuestionAboutRules(question, rules, ask)
        elif question == DIFFERENT:
            yield _QuestionAboutRules(question, (), self._answer_different)
        else:
            # A question about a gap names its place: "gap:/resource_class".
            ask_gap = functools.partial(self._answer_gap, question)
            yield _QuestionAboutRules(question, (), ask_gap)

    def _answer(self, question: _QuestionAboutRules) -> Answer | None:
        """Answer a question about rules, or return None if it is trivial.

        If the search gives up, or fails because of a bug in this package, the
        answer is "unknown" with the reason.
        """
        self._search.begin_question()
        try:
            return question.ask()
        except Unclear as exc:
            reason = str(exc)
        except _MISTAKES as exc:
            # Do not propagate, so that the other questions are answered.
            reason = _explain_mistake(exc)
        return Answer(question.name, question.rules, UNKNOWN, reason)

    def _pass_of(self, number: int) -> states.RulePass:
        """Return the effect of the rule with an index on all machines.

        :raises: :class:`Unclear` if the rule could not be followed.
        """
        # Rules were followed in order, until one could not be followed.
        if number >= len(self._passes):
            raise Unclear(self._stopped)
        return self._passes[number]

    @property
    def _end(self) -> states.State:
        """The machines after all rules.

        :raises: :class:`Unclear` if a rule could not be followed.
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
        """Answer by searching for a machine, which the engine must confirm.

        The answer is "no" only if there is no such machine. If the engine does
        not confirm the machine, the answer is unknown: formulas with guesses
        allow more than the engine does, and another machine may be an example.

        :param wanted: holds if a machine is an example for "yes".
        :param confirms: asks the engine whether a machine is an example.
        :param reason: the reason for the answer "yes".
        :raises: :class:`Unclear` if the engine does not confirm the machine,
            or if the solver cannot decide.
        """
        witness = self._search.find(wanted)
        if witness is None:
            return Answer(question, rules, NO)
        if not confirms(witness):
            raise Unclear(self._search.why_unconfirmed(wanted))
        return Answer(question, rules, YES, reason, witness)

    def _find_machine_that_matches(self, number: int) -> Witness | None:
        """Return a machine that a rule matches, confirmed by the engine.

        A machine that was found before, for this or another rule, is reused
        without a search.

        :param number: the index of the rule.
        :returns: None if the solver proves that no machine matches.
        :raises: :class:`Unclear` if the rule could not be followed, if the
            engine does not confirm the match, or if the search gives up.
        """
        rule_pass = self._pass_of(number)
        if number in self._matching:
            return self._matching[number]
        # A machine that was found for another rule may match this one too.
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
        :returns: None if the rule matches all machines, which is trivial.
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

        A rule is shadowed if every inspection ends the same without it, and if
        the rule makes no API call and no log entry. The answer is::

            the mode of the rule is ``audit``       → None
            no machine matches the rule             → None: the rule is dead
            a machine ends differently without it   → no
            there is no such machine                → yes

        :param number: the index of the rule.
        :returns: None if the question makes no sense for the rule.
        :raises: :class:`Unclear` if the engine does not confirm a machine, or
            if the solver cannot decide.
        """
        rule_pass = self._pass_of(number)
        rules = (rule_pass.rule,)
        if rule_pass.rule.mode == model.AUDIT:
            return None
        match = self._find_machine_that_matches(number)
        if match is None:
            # The rule is dead, which is another question.
            return None
        without = [*self._rules[:number], *self._rules[number + 1 :]]
        # Try known witnesses first, because they need no search.
        for machine in (match, *self._witnesses):
            if self._engine.differs(self._rules, without, machine):
                return Answer(SHADOWED, rules, NO)
        for wanted in self._effect_formulas(rule_pass, without, number):
            witness = self._search.find(wanted)
            if witness is None:
                # No machine has such an effect. Try the next formula.
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
        """Return formulas, one of which holds if a rule has an effect.

        A rule has an effect if the inspection ends differently without it, or
        if it makes an API call or a log entry. The search tries one formula
        after another; usually the first one finds a machine. If the rule sets
        the name to "a" when it matches, the first formula is::

            the rule matches, and the name at the end differs from the name
            without the rule: "a" instead of the old name

        :param rule_pass: the effect of the rule on all machines.
        :param without: all other rules.
        :param number: the index of the rule.
        """
        # Read this first, because it raises if the end is unclear. Running the
        # rules again, which is slow, would then be useless.
        end = self._end
        end_without = self._inspection.resume(rule_pass, without, number)
        ends_differ = self._where_ends_differ(end, end_without)
        has_effect = logic.disj(rule_pass.lasts, ends_differ)
        # The rule may also have an effect if it did not match, because an
        # error in its vars or conditions ends the inspection.
        effects = [
            logic.conj(rule_pass.matched, has_effect),
            logic.conj(rule_pass.ends, has_effect),
        ]
        if self._inspection.decides_first(rule_pass.rule):
            # Even if such a rule does not match, it may undo its earlier
            # changes, or an error of its conditions may come before another
            # rule fails the inspection.
            effects.append(has_effect)
        return effects

    def _has_lasting_effect(self, rule: model.Rule, machine: Witness) -> bool:
        """Return whether a rule makes an API call or a log entry.

        Such an effect remains even if the inspection fails, but it is not
        visible in the state at the end of the inspection.
        """
        done = self._engine.evaluate(self._rules, machine)
        for rule_trace in done.traces:
            if rule_trace.rule.uuid != rule.uuid:
                continue
            for action in rule_trace.actions:
                # "log" or "api-call"; the op in a rule may have spaces around.
                if action.ran and action.op.strip() in actions.LASTING:
                    return True
        return False

    def _where_ends_differ(
        self, one: states.State, other: states.State
    ) -> logic.Formula:
        """Return the formula that holds if two inspections end differently.

        The formula compares the result, e.g. the message of a rule that failed
        the inspection, and the node, the plugin data and the ports at the end.
        It does not compare the inventory, because rules cannot change it.

        :param one: all machines after one of the inspections.
        :param other: all machines after the other inspection.
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

        For example, they conflict if both may write different values to
        ``driver_info/address`` of the same machine. Every write of the first
        rule is compared with every write of the second::

            one pair of writes may clash      → yes
            one pair is unclear, none clashes → unknown
            no pair clashes, but two writes
            are to a common place             → no
            the rules share no place          → None

        :param first: the index of a rule.
        :param second: the index of a later rule.
        :returns: None if the two rules never write to a common place, or if
            they have different priorities.
        """
        first_rule = self._rules[first]
        second_rule = self._rules[second]
        if first_rule.priority != second_rule.priority:
            # Different priorities mean that one rule is meant to win.
            return None
        pairs_of_writes = self._pair_writes(first, second)
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
        # The rules write to no common place, so "no" would be trivial.
        return None

    def _pair_writes(
        self, first: int, second: int
    ) -> list[tuple[states.SymbolicWrite, states.SymbolicWrite]]:
        """Return all pairs of a write of one rule and a write of another.

        If a rule changes the address of a port, two addresses may name the
        same port. Such a pair then consists of writes to any port.

        :param first: the index of a rule.
        :param second: the index of the other rule.
        """
        all_writes = [
            write for rule_pass in self._passes for write in rule_pass.writes
        ]
        may_rename = any(map(pair.may_change_address, all_writes))
        pairs_of_writes = []
        for mine, theirs in itertools.product(
            self._pass_of(first).writes, self._pass_of(second).writes
        ):
            if may_rename and pair.name_two_ports(mine, theirs):
                pairs_of_writes.append(
                    (pair.to_any_port(mine), pair.to_any_port(theirs))
                )
            else:
                pairs_of_writes.append((mine, theirs))
        return pairs_of_writes

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
        :raises: :class:`Unclear` if the engine does not confirm the clash.
        """
        values_differ = pair.clash(self._machine, mine, theirs)
        # Search for a machine on which both rules match, both write, and the
        # values differ.
        wanted = logic.conj(
            self._pass_of(first).matched,
            self._pass_of(second).matched,
            mine.when,
            theirs.when,
            values_differ,
        )
        # One place may contain the other, as "extra" contains "extra/rack".
        # The rules then clash at the inner place, which has the longer path.
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

        The wanted machine passes the inspection, and the place is missing or
        null on it afterwards.

        :param question: contains the place, e.g. ``gap:/resource_class``.
        """
        # This raises if no time is left, because the rest may be slow too.
        self._deadline.left()
        _kind, _colon, place = question.partition(':')
        # The path is, for example, ('node', 'resource_class').
        path = _parse_place(place)
        root, *steps = path
        value_at_end = values.step(self._end.roots[root], *steps)
        # An unknown value may be missing or null. The engine checks whether it
        # is on the machine that the search finds.
        lacks_value = logic.disj(
            self._machine.may_lack(value_at_end),
            self._machine.may_be_null(value_at_end),
            values.where(value_at_end, _is_null_or_missing),
        )
        # An inspection that fails sets no value, which is not a gap.
        succeeds = self._end.going
        return self._answer_by_search(
            question,
            rules=(),
            wanted=logic.conj(succeeds, lacks_value),
            confirms=functools.partial(self._ends_without, path),
            reason=f'no rule gives it {pair.as_text(path)}',
        )

    def _ends_without(self, path: data_path.Path, machine: Witness) -> bool:
        """Return whether an inspection succeeds but leaves a place empty."""
        done = self._engine.evaluate(self._rules, machine)
        if done.error is not None:
            return False
        data_at_end = witnesses.comparable_state(done.facts)
        return data_path.get(data_at_end, path) in (None, data_path.ABSENT)

    def _answer_different(self) -> Answer:
        """Answer whether the two sets of rules treat a machine differently.

        Only sets with the same tables can be compared. If the rules are the
        same, the answer is "no" without a search. Otherwise both sets are
        followed, and the wanted machine ends differently with the other set.

        :raises: :class:`Unclear` if the tables differ, or if the search gives
            up.
        """
        if not self._has_same_tables:
            raise Unclear(_('the tables differ'))
        others = [rule for rule in self._other if rule.mode != model.OFF]
        if _are_written_alike(self._rules, others):
            return Answer(DIFFERENT, (), NO)
        # This raises if no time is left.
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
    """Return the reason for an answer that an error has prevented.

    If the solver has reached a limit, the reason names the limit. Otherwise it
    names the error and where it was raised, e.g.
    ``… KeyError in _answer_gap, line 480``.
    """
    if isinstance(mistake, z3.Z3Exception):
        # This may not be a bug: the solver also raises it if memory runs out.
        limit = solver_limits.reason_of(mistake)
        if limit is not None:
            return f'{search.GIVES_UP}: {limit}'
    # The innermost frame is the one that raised the error.
    frame = traceback.extract_tb(mistake.__traceback__)[-1]
    return (
        f'{MISTAKE}: {type(mistake).__name__} in {frame.name}, '
        f'line {frame.lineno}'
    )


def _are_written_alike(
    old: Sequence[model.Rule], new: Sequence[model.Rule]
) -> bool:
    """Return whether two sets have the same rules in the same order.

    UUIDs, descriptions and priorities may differ: rules that run in the same
    order do the same whatever their priorities are.
    """
    return list(map(_behavior_as_json, old)) == list(
        map(_behavior_as_json, new)
    )


def _behavior_as_json(rule: model.Rule) -> str:
    """Return everything of a rule that affects what it does, as JSON.

    Rules with equal texts do the same. Their mappings cannot be compared
    instead: in Python, 1 equals true and 1.0, and the order of entries does
    not matter, but rules can distinguish all of these.
    """
    fields = rule.to_mapping()
    # The priority only determines the order of rules, which callers compare.
    for name in ('uuid', 'description', 'priority'):
        del fields[name]
    for name in model.OPERATIONS:
        fields[name] = list(map(_sort_members, fields[name]))
    return json.dumps(fields, default=repr)


def _sort_members(
    operation: Mapping[str, typing.Any],
) -> dict[str, typing.Any]:
    """Return a condition or an action with its members in a fixed order.

    The order of its members and of its named arguments has no meaning. The
    order of entries inside of an argument does: a filter can read it.
    """
    sorted_members = {}
    for name, member in sorted(operation.items()):
        if name in ('conditions', 'when') and member:
            # These contain conditions.
            member = list(map(_sort_members, member))
        elif name == 'args' and isinstance(member, dict):
            member = dict(sorted(member.items()))
        sorted_members[name] = member
    return sorted_members


def _list_table_texts(tables: table.Tables) -> set[str]:
    """Return the texts in tables: keys, columns, cells and templates.

    The solver builds texts of machines from the characters in these texts.
    """
    texts: set[str] = set()
    for expected in tables.values():
        # For example "{inventory.system_vendor.serial_number}", which computes
        # the key of the row for a machine.
        if expected.definition.of is not None:
            texts.add(expected.definition.of)
        if len(expected) > expected_row.MOST_ROWS:
            # The solver does not look at tables with so many rows.
            continue
        texts.update(expected.keys)
        for row in expected.rows:
            texts.update(row)
            for value in row.values():
                if isinstance(value, str):
                    texts.add(value)
    return texts


def _are_same_tables(old: table.Tables, new: table.Tables) -> bool:
    """Return whether two sets have the same tables, with rows in order."""
    if old.keys() != new.keys():
        return False
    for name, old_table in old.items():
        new_table = new[name]
        if old_table.definition != new_table.definition:
            return False
        # As text, because rules distinguish 1 from true, but "==" does not.
        old_rows = [json.dumps(row) for row in old_table.rows]
        new_rows = [json.dumps(row) for row in new_table.rows]
        if old_rows != new_rows:
            return False
    return True


def parse(questions: str) -> list[str]:
    """Parse the value of an option: questions separated by commas.

    ``'dead, gap:/name'`` becomes ``['dead', 'gap:/name']``.

    :raises: ValueError for a part that is not a question, or that asks for a
        place that does not exist.
    """
    parts = (part.strip() for part in questions.split(','))
    asked_for = [part for part in parts if part]
    for question in asked_for:
        kind, _colon, path = question.partition(':')
        if kind == GAP and path:
            try:
                root, *steps = _parse_place(path)
                if root == 'node' and steps:
                    # This raises for an attribute that rules cannot set.
                    schema.check_path(tuple(steps), schema.NODE)
            except exceptions.InspectionRulesError as exc:
                raise ValueError(f'{question}: {exc}') from exc
        elif question not in OF_RULES:
            raise ValueError(
                _(
                    '%(question)s is no question; there are %(of_rules)s '
                    'and gap:<path>'
                )
                % {'question': question, 'of_rules': ', '.join(OF_RULES)}
            )
    return asked_for


def _parse_place(path: str) -> data_path.Path:
    """Return a path with its root, e.g. ``('node', 'name')`` for ``/name``.

    The path may already begin with one of the roots ``node``, ``plugin_data``
    and ``ports``, e.g. ``/plugin_data/rack``.

    :raises: :class:`.exceptions.OperationError` if it is not a path.
    """
    place = data_path.parse(path)
    if place[0] in ('node', 'plugin_data', 'ports'):
        return place
    return ('node', *place)
