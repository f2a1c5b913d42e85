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

"""The rules that are checked."""

import dataclasses
import typing

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.offline import rulefile

Found = typing.Iterator[tuple[str, str]]
"""Where in a rule something is, as a JSON pointer, and what."""


@dataclasses.dataclass(frozen=True)
class CheckedRule:
    """A valid rule with what its author wrote."""

    written: rulefile.WrittenRule
    rule: model.Rule
    conditions: list[rulefile.Operation]
    actions: list[rulefile.Operation]

    @property
    def operations(self) -> list[rulefile.Operation]:
        """The conditions, also those in groups, then the actions."""
        return [*self.all_conditions, *self.actions]

    @property
    def all_conditions(self) -> list[rulefile.Operation]:
        """The conditions, also those in groups."""
        return [each for condition in self.conditions
                for each in condition.all]


def of(written: rulefile.WrittenRule, ops: registry.Registry) -> CheckedRule:
    """Parse a written rule.

    :raises: :class:`.exceptions.InvalidRule` with all problems.
    """
    rule = written.parse(ops)
    return CheckedRule(written, rule, *rulefile.operations(rule, ops))
