# SPDX-License-Identifier: Apache-2.0

"""How far a machine may be from those that a profile is made of."""

from collections.abc import Iterable
import dataclasses
import math
import re

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

_FORM = re.compile(r'(?P<component>[a-z-]+)=(?P<number>\d+(?:\.\d+)?)'
                   r'(?P<percent>%?)')

COMPONENTS = ('processors', 'memory', 'disks', 'interfaces', 'accelerators',
              'pci-devices')
"""The quantities that may differ."""

OBSERVED = 'observed'
MEMORY = 'memory'
DISKS = 'disks'


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """By how much sizes and counts may differ.

    ``shares`` are parts of one, ``numbers`` are whole; both by component. A
    share is one of the size where a component has a size, a number is a
    count, but MiB of memory. Of the components in ``observed`` only what was
    seen is accepted, not what lies between.
    """

    shares: dict[str, float] = dataclasses.field(default_factory=dict)
    numbers: dict[str, int] = dataclasses.field(default_factory=dict)
    observed: set[str] = dataclasses.field(default_factory=set)

    def size(self, component: str, low: int, high: int) -> tuple[int, int]:
        """Widen the range of a size."""
        number = (self.numbers.get(component, 0) if component == MEMORY
                  else 0)
        return self._widen(low, high, self.shares.get(component, 0.0),
                           number)

    def count(self, component: str, low: int, high: int) -> tuple[int, int]:
        """Widen the range of a count."""
        share = (0.0 if component == DISKS
                 else self.shares.get(component, 0.0))
        return self._widen(low, high, share, self.numbers.get(component, 0))

    @staticmethod
    def _widen(low: int, high: int, share: float, number: int
               ) -> tuple[int, int]:
        # A share that is whole on paper may be a little less in a computer.
        less, more = (math.floor(round(each * share, 6)) + number
                      for each in (low, high))
        return max(0, low - less), high + more


def parse(written: Iterable[str]) -> Tolerance:
    """Read tolerances: ``memory=5%``, ``disks=1``, ``memory=observed``.

    :raises: :class:`.exceptions.Invalid` where one is none, or a component
        has one besides ``observed``.
    """
    tolerance = Tolerance()
    for each in written:
        name, _equals, number = each.partition('=')
        if number == OBSERVED and name in COMPONENTS:
            tolerance.observed.add(name)
            continue
        match = _FORM.fullmatch(each)
        if match is None or match['component'] not in COMPONENTS:
            raise exceptions.Invalid(
                _('tolerance "%(given)s": must be COMPONENT=NUMBER, '
                  'COMPONENT=NUMBER%% or COMPONENT=observed, with one of '
                  '%(components)s') % {
                    'given': each, 'components': ', '.join(COMPONENTS)})
        component = match['component']
        if match['percent']:
            tolerance.shares[component] = float(match['number']) / 100
        elif '.' in match['number']:
            raise exceptions.Invalid(
                _('tolerance "%s": must be a whole number, or have a %% '
                  'behind it') % each)
        else:
            tolerance.numbers[component] = int(match['number'])
    for name in tolerance.observed & {*tolerance.shares, *tolerance.numbers}:
        raise exceptions.Invalid(
            _('tolerance "%s=observed": it has a number as well') % name)
    return tolerance
