# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""How much of their rules some machines reach."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import functools
import typing

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.offline import machine_test
from ironic_inspection_rules.offline import walk


@dataclasses.dataclass
class ConditionCoverage:
    """How many machines a condition held for, and how many not."""

    true: int = 0
    false: int = 0


@dataclasses.dataclass
class RuleCoverage:
    """How often the parts of a rule were used.

    ``actions`` has the number of machines that each action ran for; undoing
    one does not count.
    """

    conditions: list[ConditionCoverage]
    actions: list[int]

    @classmethod
    def of(cls, rule: model.Rule) -> 'RuleCoverage':
        """Make that of a rule which no machine has met yet."""
        return cls([ConditionCoverage() for _each in rule.conditions],
                   [0 for _each in rule.actions])

    def note(self, seen: trace.RuleTrace) -> None:
        """Count what became of the rule on one machine."""
        for counted, condition in zip(self.conditions, seen.conditions,
                                      strict=True):
            counted.true += condition.result is True
            counted.false += condition.result is False
        if seen.matched:
            for index, _action in enumerate(seen.actions):
                self.actions[index] += 1

    def add(self, other: 'RuleCoverage') -> None:
        """Count what other machines did too."""
        for mine, more in zip(self.conditions, other.conditions,
                              strict=True):
            mine.true += more.true
            mine.false += more.false
        self.actions = [mine + more for mine, more in zip(
            self.actions, other.actions, strict=True)]

    def missed(self, rule: model.Rule) -> Iterator[str]:
        """Say what no machine reached."""
        for number, (part, condition) in enumerate(
                zip(self.conditions, rule.conditions, strict=True), 1):
            for name, count in (('true', part.true), ('false', part.false)):
                if not count:
                    yield _('condition %(number)d (%(op)s) was never '
                            '%(result)s') % {'number': number,
                                             'op': condition['op'],
                                             'result': name}
        for number, (ran, action) in enumerate(
                zip(self.actions, rule.actions, strict=True), 1):
            if not ran:
                yield _('action %(number)d (%(op)s) never ran') % {
                    'number': number, 'op': action['op']}

    @property
    def reached(self) -> Iterator[bool]:
        """Whether each part was: a condition has two, true and false."""
        for condition in self.conditions:
            yield condition.true > 0
            yield condition.false > 0
        for ran in self.actions:
            yield ran > 0


class Coverage:
    """What machines reached of some rules.

    ``problems`` say why files cannot be read.

    :param rules: in the order that they are shown in.
    """

    def __init__(self, rules: Sequence[model.Rule]) -> None:
        self.rules = tuple(rules)
        self.parts = {rule.uuid: RuleCoverage.of(rule) for rule in rules}
        self.problems: list[str] = []

    def note(self, machine: machine_test.MachineTest) -> None:
        """Count one machine, whose test was explained."""
        if machine.problem is not None:
            self.problems.append(machine.problem)
        for seen in machine.outcome.traces:
            self.parts[seen.rule.uuid].note(seen)

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
                'conditions': [dataclasses.asdict(each) for each
                               in self.parts[rule.uuid].conditions],
                'actions': [{'ran': ran} for ran
                            in self.parts[rule.uuid].actions],
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

    def cover(paths: Sequence[str]) -> Coverage:
        part = Coverage(rules)
        for path in paths:
            part.note(machine_test.attempt(path, plans, nodes))
        return part

    return cover
