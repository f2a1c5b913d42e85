# SPDX-License-Identifier: Apache-2.0

"""The search for wrong verdicts: proofs against the engine itself."""

import collections
import dataclasses
import random
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.kit.proof import question
from ironic_inspection_rules.kit.proof import witness
from ironic_inspection_rules.tests.simulation.proof import leisure
from ironic_inspection_rules.tests.simulation.proof import machines
from ironic_inspection_rules.tests.simulation.proof import probes
from ironic_inspection_rules.tests.simulation.proof import rules
from ironic_inspection_rules.tests.simulation.proof import theme_rules

MACHINES = 200
STEPS = 20_000_000
"""Of the solver, for all questions of a set; hardly any takes a tenth."""

QUESTIONS = (
    'dead',
    'shadowed',
    'conflict',
    'gap:/resource_class',
    'gap:/extra/tag',
)
# Traits are many values at one place.
_SETS_A_PLACE = ('set-attribute', 'set-port-attribute', 'set-plugin-data')
LASTING = ('log', 'api-call', 'third-party')


@dataclasses.dataclass(frozen=True)
class Wrong:
    """A verdict that a machine refutes."""

    seed: int
    question: str
    rules: tuple[str, ...]
    verdict: str
    machine: witness.Witness | None


class Search:
    """Asks all questions of random sets of rules.

    :ivar verdicts: how often there was a verdict, by kind of question.
    :ivar reasons: how often there was a reason for ``unknown``.
    :ivar wrong: the verdicts that some machine refutes.
    """

    def __init__(self) -> None:
        self.verdicts: collections.Counter[tuple[str, str]] = (
            collections.Counter()
        )
        self.reasons: collections.Counter[str] = collections.Counter()
        self.wrong: list[Wrong] = []

    def seed(self, seed: int) -> None:
        """Ask about the set of rules that a number makes."""
        chance = random.Random(seed)
        entries: list[rules.Entry] = []
        while not entries:
            grammar = rules.Grammar(chance)
            if chance.random() < 0.6:
                grammar = theme_rules.Grammar(chance)
            entries = rules.valid(grammar.rules())
        others = rules.valid(grammar.changed(entries))
        self._attack(seed, chance, grammar, entries, others)

    def _attack(
        self,
        seed: int,
        chance: random.Random,
        grammar: rules.Grammar,
        entries: list[rules.Entry],
        others: list[rules.Entry],
    ) -> None:
        generator = machines.Generator(chance, [*entries, *others])
        everywhere = [generator.machine() for _number in range(MACHINES)]
        probing = probes.make(chance, grammar, entries, everywhere)
        one = rules.in_order([*entries, *probing])
        other = rules.in_order([*others, *probing])
        oracle = Oracle(one, everywhere)
        proof = question.Proof(one, leisure.SECONDS, other, steps=STEPS)
        given: dict[tuple[str, tuple[str, ...]], str] = {}
        for answer in proof.answers([question.DIFFERENT, *QUESTIONS]):
            kind = answer.question.partition(':')[0]
            self.verdicts[kind, answer.verdict] += 1
            named = tuple(rule.description for rule in answer.rules)
            given[answer.question, named] = answer.verdict
            if answer.verdict == question.UNKNOWN:
                assert answer.reason
                assert not answer.reason.startswith(question.MISTAKE)
                self.reasons[f'{kind}: {answer.reason}'] += 1
                continue
            found = oracle.refutes(answer, other)
            if found is not None:
                self.wrong.append(
                    Wrong(
                        seed, answer.question, named, answer.verdict, found[0]
                    )
                )
        # What is not mentioned is "no", too.
        for pair, machine in dict(oracle.conflicts()).items():
            if given.get(('conflict', pair), 'no') == 'no':
                self.wrong.append(Wrong(seed, 'conflict', pair, 'no', machine))
        if entries == others and given['equivalent', ()] != 'no':
            self.wrong.append(
                Wrong(
                    seed,
                    'equivalent',
                    ('itself',),
                    given['equivalent', ()],
                    None,
                )
            )


class Oracle:
    """What the engine does to many machines.

    :param chosen: rules in the order in which they run.
    """

    def __init__(
        self, chosen: list[model.Rule], everywhere: list[witness.Witness]
    ) -> None:
        self._rules = [rule for rule in chosen if rule.mode != model.OFF]
        self._machines = everywhere
        self._engine = witness.Engine()
        self._done = [
            self._engine.evaluate(self._rules, machine)
            for machine in everywhere
        ]

    def refutes(
        self, answer: question.Answer, other: list[model.Rule]
    ) -> tuple[witness.Witness | None] | None:
        """Return the machine that refutes a verdict, None if none does."""
        kind, _colon, path = answer.question.partition(':')
        if kind == question.DEAD and answer.verdict == question.YES:
            return self._first(
                lambda number: witness.has_matched(
                    self._done[number], answer.rules[0]
                )
            )
        if kind == question.SHADOWED and answer.verdict == question.YES:
            return self._shadow_shows(answer.rules[0])
        if kind == 'gap':
            if answer.verdict == question.NO:
                return self._first(
                    lambda number: self._has_gap(self._done[number], path)
                )
            assert answer.witness is not None
            if not self._has_gap(
                self._engine.evaluate(self._rules, answer.witness), path
            ):
                return (answer.witness,)
        if kind == question.DIFFERENT:
            if answer.verdict == question.NO:
                return self._first(
                    lambda number: self._engine.differs(
                        self._rules, other, self._machines[number]
                    )
                )
            assert answer.witness is not None
            if not self._engine.differs(self._rules, other, answer.witness):
                return (answer.witness,)
        return None

    def _first(
        self, test: typing.Callable[[int], bool]
    ) -> tuple[witness.Witness] | None:
        for number, machine in enumerate(self._machines):
            if test(number):
                return (machine,)
        return None

    def _shadow_shows(self, rule: model.Rule) -> tuple[witness.Witness] | None:
        without = [each for each in self._rules if each is not rule]
        for machine, done in zip(self._machines, self._done, strict=True):
            if self._engine.differs(self._rules, without, machine):
                return (machine,)
            if any(
                action.ran and action.op in LASTING
                for each in done.traces
                if each.rule is rule
                for action in each.actions
            ):
                return (machine,)
        return None

    @staticmethod
    def _has_gap(done: typing.Any, path: str) -> bool:
        found = data_path.get(done.facts.node, data_path.parse(path))
        return done.error is None and found in (None, data_path.ABSENT)

    def conflicts(
        self,
    ) -> typing.Iterator[tuple[tuple[str, ...], witness.Witness]]:
        """Yield pairs of rules that set two values, with a machine.

        Only what is plain: both set a value at the very same place, and the
        second one found there what the first one had set.
        """
        for machine, done in zip(self._machines, self._done, strict=True):
            if done.error is not None and not isinstance(
                done.error, exceptions.RuleFailed
            ):
                continue
            last: dict[tuple[str, ...], tuple[model.Rule, typing.Any]] = {}
            # A rule that does not match may undo what it did: it sets nothing.
            for each in done.traces:
                if not each.matched:
                    continue
                mine: dict[tuple[str, ...], _Set] = {}
                for action in each.actions:
                    mine.update(_sets(action))
                for place, change in mine.items():
                    before = last.get(place)
                    if (
                        before
                        and change.value != change.before
                        and (
                            before[0].phase == each.rule.phase
                            and before[0].priority == each.rule.priority
                            and before[0] is not each.rule
                            and change.before == before[1]
                        )
                    ):
                        yield (
                            (before[0].description, each.rule.description),
                            machine,
                        )
                last = {
                    place: found
                    for place, found in last.items()
                    if place not in mine
                }
                last.update(
                    {
                        place: (each.rule, change.value)
                        for place, change in mine.items()
                    }
                )


class _Set(typing.NamedTuple):
    """A value that an action has set at a place, and the one before it."""

    before: typing.Any
    value: typing.Any


def _sets(
    action: trace.ActionTrace,
) -> typing.Iterator[tuple[tuple[str, ...], _Set]]:
    """Yield what an action has set, each with its place."""
    for change in action.changes:
        if action.op in _SETS_A_PLACE and change.op == 'replace':
            yield (
                (change.object, change.path),
                _Set(change.before, change.value),
            )
        elif action.op in _SETS_A_PLACE:
            yield (
                (change.object, change.path),
                _Set(change.value, change.value),
            )
        elif action.op == 'set-capability':
            # The text has all capabilities: the one that differs is set.
            before, after = (
                _capabilities(text) for text in (change.before, change.value)
            )
            for name, value in after.items():
                if before.get(name) != value:
                    yield (
                        (change.object, change.path, name),
                        _Set(before.get(name), value),
                    )


def _capabilities(text: str | None) -> dict[str, str]:
    """Return capabilities by their names."""
    pairs = (item.partition(':') for item in (text or '').split(','))
    return {name: value for name, _colon, value in pairs}
