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
"""What there may be more or less of."""

MEMORY = 'memory'
DISKS = 'disks'


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """By how much sizes and counts may differ.

    ``shares`` are parts of one, ``numbers`` are whole; both by component. A
    share is one of the size where a component has a size, a number is a
    count, but MiB of memory.
    """

    shares: dict[str, float] = dataclasses.field(default_factory=dict)
    numbers: dict[str, int] = dataclasses.field(default_factory=dict)

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
    """Read tolerances: ``memory=5%``, ``disks=1``.

    :raises: :class:`.exceptions.Invalid` where one is none.
    """
    tolerance = Tolerance()
    for each in written:
        match = _FORM.fullmatch(each)
        if match is None or match['component'] not in COMPONENTS:
            raise exceptions.Invalid(
                _('tolerance "%(given)s": must be COMPONENT=NUMBER or '
                  'COMPONENT=NUMBER%%, with one of %(components)s') % {
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
    return tolerance
