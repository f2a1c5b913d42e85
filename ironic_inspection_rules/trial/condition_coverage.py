# SPDX-License-Identifier: Apache-2.0

"""Coverage of conditions, and of those inside of groups."""

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import itertools
import typing

from ironic_inspection_rules.engine import condition
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.trial import machine_test


@dataclasses.dataclass
class ConditionCoverage:
    """How many machines a condition held for, and how many not.

    ``conditions`` are those of a group: a machine counts for each that it
    was asked about, for both where that was in a loop and went both ways.
    """

    true: int = 0
    false: int = 0
    conditions: list['ConditionCoverage'] = dataclasses.field(
        default_factory=list)

    @classmethod
    def of(cls, written: typing.Mapping[str, typing.Any]
           ) -> 'ConditionCoverage':
        """Make that of a condition which no machine has met yet."""
        return cls(conditions=[cls.of(each) for each
                               in written.get('conditions') or ()])

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
        counts: dict[str, typing.Any] = {'true': self.true,
                                         'false': self.false}
        if self.conditions:
            counts['conditions'] = [part.as_dict()
                                    for part in self.conditions]
        return counts


class Seen(condition.Condition):
    """A condition of a group that notes how it was decided."""

    __slots__ = ('_condition', 'parts', 'results')

    def __init__(self, watched: condition.Condition) -> None:
        super().__init__(watched.op, watched.operation)
        self._condition = watched
        self.results: set[bool] = set()
        self.parts = _watch(watched)

    def check(self, roots: condition.Roots) -> bool:
        result = self._condition.check(roots)
        self.results.add(result)
        return result

    def forget(self) -> None:
        """Begin with another machine."""
        self.results.clear()
        for part in self.parts:
            part.forget()


def _watch(watched: condition.Condition) -> list[Seen]:
    """Make the conditions of a group note how they are decided."""
    if isinstance(watched, condition.Looped):
        return _watch(watched.condition)
    if not isinstance(watched, condition.Group):
        return []
    parts = [Seen(part) for part in watched.parts]
    watched.parts = tuple(parts)
    return parts


class Watch:
    """Notes what happens inside of groups, one machine at a time.

    :param plans: compiled, and nobody else's.
    """

    def __init__(self, plans: machine_test.Plans) -> None:
        self._parts: dict[str, Parts] = {}
        for plan in itertools.chain(*plans.values()):
            self._parts[plan.rule.uuid] = (
                [_watch(each) for each in plan.conditions],
                [[_watch(each) for each in action.when]
                 for action in plan.actions])

    def begin(self) -> None:
        """Begin with another machine."""
        for conditions, when in self._parts.values():
            for parts in itertools.chain(conditions, *when):
                for part in parts:
                    part.forget()

    def of(self, rule: model.Rule) -> 'Parts':
        """Return what was noted of the conditions, and of each action's."""
        return self._parts[rule.uuid]


Parts = tuple[list[list[Seen]], list[list[list[Seen]]]]
"""Of a rule: what is inside of its conditions, and of those of actions."""
