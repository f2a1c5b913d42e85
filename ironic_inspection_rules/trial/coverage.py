# SPDX-License-Identifier: Apache-2.0

"""How much of their rules some machines reach."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import functools
import itertools
import typing

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.trial import condition_coverage
from ironic_inspection_rules.trial import machine_test
from ironic_inspection_rules.trial import walk


@dataclasses.dataclass
class RuleCoverage:
    """How often the parts of a rule were used.

    ``actions`` has the number of machines that each action ran for; undoing
    one does not count. ``when`` has the conditions of each action: for how
    many machines they held for some item, and did not for some.
    """

    conditions: list[condition_coverage.ConditionCoverage]
    actions: list[int]
    when: list[list[condition_coverage.ConditionCoverage]]

    @classmethod
    def of(cls, rule: model.Rule) -> 'RuleCoverage':
        """Make that of a rule which no machine has met yet."""
        of = condition_coverage.ConditionCoverage.of
        return cls([of(each) for each in rule.conditions],
                   [0 for _each in rule.actions],
                   [[of(each) for each in action.get('when') or ()]
                    for action in rule.actions])

    def note(self, seen: trace.RuleTrace, inside: condition_coverage.Parts
             ) -> None:
        """Count what became of the rule on one machine."""
        conditions, when = inside
        for counted, decided, parts in zip(
                self.conditions, seen.conditions, conditions, strict=True):
            counted.note([decided.result is True] if decided.result
                         is not None else [], parts)
        if not seen.matched:
            return
        for index, action in enumerate(seen.actions):
            self.actions[index] += action.ran
            for counted, asked, parts in zip(
                    self.when[index], action.when, when[index], strict=True):
                counted.note([result for result, count in (
                    (True, asked.true), (False, asked.false)) if count],
                    parts)

    @property
    def _all_conditions(self) -> list[condition_coverage.ConditionCoverage]:
        return [*self.conditions, *itertools.chain(*self.when)]

    def add(self, other: 'RuleCoverage') -> None:
        """Count what other machines did too."""
        for mine, more in zip(self._all_conditions, other._all_conditions,
                              strict=True):
            mine.add(more)
        self.actions = [mine + more for mine, more in zip(
            self.actions, other.actions, strict=True)]

    def missed(self, rule: model.Rule) -> Iterator[str]:
        """Yield what no machine reached."""
        for number, (part, written) in enumerate(
                zip(self.conditions, rule.conditions, strict=True), 1):
            yield from part.missed(str(number), written)
        for number, (ran, action) in enumerate(
                zip(self.actions, rule.actions, strict=True), 1):
            if not ran:
                yield _('action %(number)d (%(op)s) never ran') % {
                    'number': number, 'op': action['op']}
            for place, (part, written) in enumerate(zip(
                    self.when[number - 1], action.get('when') or (),
                    strict=True), 1):
                yield from part.missed(str(place), written,
                                       _(' of action %d') % number)

    @property
    def reached(self) -> Iterator[bool]:
        """Yield whether each part was: a condition has two, true and false."""
        for part in self._all_conditions:
            yield from part.reached
        for ran in self.actions:
            yield ran > 0


class Coverage:
    """Coverage of some rules by machines.

    Rules that are off are no part of it. ``problems`` say why files cannot be
    read.

    :param rules: in the order that they are shown in.
    """

    def __init__(self, rules: Sequence[model.Rule]) -> None:
        self.rules = tuple(rule for rule in rules if rule.mode != model.OFF)
        self.parts = {rule.uuid: RuleCoverage.of(rule)
                      for rule in self.rules}
        self.problems: list[str] = []

    def note(self, machine: machine_test.MachineTest,
             watch: condition_coverage.Watch) -> None:
        """Count one machine, whose test was explained.

        :param watch: of the plans that it was tried with.
        """
        if machine.problem is not None:
            self.problems.append(machine.problem)
        for seen in machine.outcome.traces:
            self.parts[seen.rule.uuid].note(seen, watch.of(seen.rule))

    def add(self, other: 'Coverage') -> None:
        """Count the machines of another one of the same rules."""
        self.problems += other.problems
        for uuid, part in other.parts.items():
            self.parts[uuid].add(part)

    @property
    def percent(self) -> float:
        """The share of all parts that some machine reached, 0 to 100."""
        return _percent(self.parts.values())

    def percent_of(self, rule: model.Rule) -> float:
        """The share of the parts of one rule, 0 to 100."""
        return _percent([self.parts[rule.uuid]])

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data."""
        return {
            'rules': [{
                'description': rule.description,
                'uuid': rule.uuid,
                'conditions': [each.as_dict() for each
                               in self.parts[rule.uuid].conditions],
                'actions': [
                    {'ran': ran, **({'when': [each.as_dict() for each
                                              in when]} if when else {})}
                    for ran, when in zip(self.parts[rule.uuid].actions,
                                         self.parts[rule.uuid].when,
                                         strict=True)],
            } for rule in self.rules],
            'covered': round(self.percent, 1),
        }


def _percent(parts: Iterable[RuleCoverage]) -> float:
    reached = [each for part in parts for each in part.reached]
    return 100 * sum(reached) / len(reached) if reached else 100.0


def measure(rules: Sequence[model.Rule], nodes: machine_test.Nodes,
            paths: Sequence[str],
            advance: Callable[[int], typing.Any]) -> Coverage:
    """Try rules on machines from files, on all processors.

    :param nodes: what each machine is taken for.
    :param advance: called with the number of machines that were tried.
    """
    covered = Coverage(rules)
    for count, part in walk.in_chunks(
            paths, functools.partial(_prepare, rules, nodes)):
        covered.add(part)
        advance(count)
    return covered


def _prepare(rules: Sequence[model.Rule],
             nodes: machine_test.Nodes) -> walk.Work[Coverage]:
    plans = machine_test.compile_rules(rules, registry.installed(),
                                       explained=False)
    watch = condition_coverage.Watch(plans)

    def cover(paths: Sequence[str]) -> Coverage:
        part = Coverage(rules)
        for path in paths:
            watch.begin()
            part.note(machine_test.attempt(path, plans, nodes), watch)
        return part

    return cover
