# SPDX-License-Identifier: Apache-2.0

"""How much of their rules some machines reach, groups and all."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import functools
import itertools
import typing

from ironic_inspection_rules.engine import condition
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.trial import machine_test
from ironic_inspection_rules.trial import walk


class ConditionCoverage:
    """How many machines a condition held for, and how many not.

    ``conditions`` are those of a group: a machine counts for each that it
    was asked about, for both where that was in a loop and went both ways.

    :param written: the condition.
    """

    def __init__(self, written: typing.Mapping[str, typing.Any]) -> None:
        self.true = 0
        self.false = 0
        self.conditions = [ConditionCoverage(each) for each
                           in written.get('conditions') or ()]

    def note(self, results: typing.Collection[bool],
             inside: Sequence['Seen'] = ()) -> None:
        """Count one machine.

        :param results: what it was found to be.
        :param inside: of the conditions of a group.
        """
        self.true += True in results
        self.false += False in results
        for part, seen in zip(self.conditions, inside, strict=True):
            part.note(seen.results, seen.parts)

    def add(self, other: 'ConditionCoverage') -> None:
        """Count what other machines did too."""
        self.true += other.true
        self.false += other.false
        for mine, more in zip(self.conditions, other.conditions,
                              strict=True):
            mine.add(more)

    def missed(self, number: str, written: typing.Mapping[str, typing.Any],
               of: str = '') -> Iterator[str]:
        """Yield what no machine reached.

        :param number: of the condition, from one; 2.1 is the first one of
            the group that is the second.
        :param of: what else it is of, such as an action.
        """
        for name, count in (('true', self.true), ('false', self.false)):
            if not count:
                yield _('condition %(number)s (%(op)s)%(of)s was never '
                        '%(result)s') % {
                            'number': number, 'op': written['op'], 'of': of,
                            'result': name}
        for place, part in enumerate(self.conditions, 1):
            yield from part.missed(f'{number}.{place}',
                                   written['conditions'][place - 1], of)

    @property
    def reached(self) -> Iterator[bool]:
        """Yield whether it was true, then false; so for those of a group."""
        yield self.true > 0
        yield self.false > 0
        for part in self.conditions:
            yield from part.reached

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data."""
        return {'true': self.true, 'false': self.false, **({
            'conditions': [part.as_dict() for part in self.conditions]}
            if self.conditions else {})}


Parts = tuple[list[list['Seen']], list[list[list['Seen']]]]
"""Of a rule: what is inside of its conditions, and of those of actions."""


class RuleCoverage:
    """How often the parts of a rule were used.

    ``actions`` has the number of machines that each action ran for; undoing
    one does not count. ``when`` has the conditions of each action: for how
    many machines they held for some item, and did not for some.
    """

    def __init__(self, rule: model.Rule) -> None:
        self.conditions = list(map(ConditionCoverage, rule.conditions))
        self.actions = [0] * len(rule.actions)
        self.when = [list(map(ConditionCoverage, action.get('when') or ()))
                     for action in rule.actions]

    def note(self, seen: trace.RuleTrace, inside: Parts) -> None:
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
    def _all_conditions(self) -> list[ConditionCoverage]:
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
        self.parts = {rule.uuid: RuleCoverage(rule)
                      for rule in self.rules}
        self.problems: list[str] = []

    def note(self, machine: machine_test.MachineTest,
             watch: 'Watch') -> None:
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
        return self.percent_of(*self.rules)

    def percent_of(self, *rules: model.Rule) -> float:
        """Return the share of the parts of some rules, 0 to 100."""
        reached = [each for rule in rules
                   for each in self.parts[rule.uuid].reached]
        return 100 * sum(reached) / len(reached) if reached else 100.0

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data."""
        return {
            'rules': [{
                'description': rule.description,
                'uuid': rule.uuid,
                'conditions': [each.as_dict() for each in part.conditions],
                'actions': [
                    {'ran': ran, **({'when': [each.as_dict() for each
                                              in when]} if when else {})}
                    for ran, when in zip(part.actions, part.when,
                                         strict=True)],
            } for rule in self.rules for part in [self.parts[rule.uuid]]],
            'covered': round(self.percent, 1),
        }


class Seen(condition.Condition):
    """A condition of a group that notes how it was decided."""

    __slots__ = ('_condition', 'parts', 'results')

    def __init__(self, watched: condition.Condition, parts: list['Seen']
                 ) -> None:
        super().__init__(watched.op, watched.operation)
        self._condition = watched
        self.results: set[bool] = set()
        self.parts = parts

    def check(self, roots: condition.Roots) -> bool:
        result = self._condition.check(roots)
        self.results.add(result)
        return result

    def reason(self, view: condition.Roots, shown: condition.Roots) -> str:
        return self._condition.reason(view, shown)


class Watch:
    """Notes what happens inside of groups, one machine at a time.

    :param plans: compiled, and nobody else's.
    """

    def __init__(self, plans: machine_test.Plans) -> None:
        self._seen: list[Seen] = []
        self._parts: dict[str, Parts] = {
            plan.rule.uuid: (
                [self._watch(each) for each in plan.conditions],
                [[self._watch(each) for each in action.when]
                 for action in plan.actions])
            for plan in itertools.chain(*plans.values())}

    def begin(self) -> None:
        """Begin with another machine."""
        for each in self._seen:
            each.results.clear()

    def of(self, rule: model.Rule) -> Parts:
        """Return what was noted of the conditions, and of each action's."""
        return self._parts[rule.uuid]

    def _watch(self, watched: condition.Condition) -> list[Seen]:
        """Make the conditions of a group note how they are decided."""
        if isinstance(watched, condition.Looped):
            return self._watch(watched.condition)
        if not isinstance(watched, condition.Group):
            return []
        parts = [Seen(part, self._watch(part)) for part in watched.parts]
        self._seen += parts
        watched.parts = tuple(parts)
        return parts


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
    watch = Watch(plans)

    def cover(paths: Sequence[str]) -> Coverage:
        part = Coverage(rules)
        for path in paths:
            watch.begin()
            part.note(machine_test.attempt(path, plans, nodes), watch)
        return part

    return cover
