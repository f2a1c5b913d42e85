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

"""What rules did to a machine, told afterwards."""

import dataclasses
import typing

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import target as engine_target

KEY = 'inspection_rules'
"""Where plugin data keeps what rules did, by phase."""


@dataclasses.dataclass(frozen=True, slots=True)
class ConditionTrace:
    """How one condition was decided.

    ``result`` is None where it could not be. ``reason`` is one phrase, and
    None for a sensitive rule.
    """

    op: str
    result: bool | None
    reason: str | None = None

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data."""
        return {'op': self.op, 'result': self.result, 'reason': self.reason}


@dataclasses.dataclass(frozen=True, slots=True)
class ActionTrace:
    """What one action did.

    ``notes`` are the lines it logged and the requests it sent; a sensitive
    rule has none. ``reverted`` tells that it was undone instead.
    """

    op: str
    changes: tuple[engine_target.Change, ...] = ()
    notes: tuple[str, ...] = ()
    reverted: bool = False

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data."""
        return {'op': self.op,
                'changes': [each.as_dict() for each in self.changes],
                'notes': list(self.notes),
                'reverted': self.reverted}


@dataclasses.dataclass(frozen=True, slots=True)
class RuleTrace:
    """What became of one rule."""

    rule: model.Rule
    matched: bool
    conditions: tuple[ConditionTrace, ...] = ()
    actions: tuple[ActionTrace, ...] = ()

    def as_dict(self) -> dict[str, typing.Any]:
        """Return the full explanation as plain JSON data."""
        return {
            'uuid': self.rule.uuid,
            'description': self.rule.description,
            'phase': self.rule.phase,
            'matched': self.matched,
            'conditions': [each.as_dict() for each in self.conditions],
            'actions': [each.as_dict() for each in self.actions],
        }

    def summary(self) -> dict[str, typing.Any]:
        """Return what is kept with a machine's inventory.

        :returns: for a sensitive rule only its UUID.
        """
        if self.rule.sensitive:
            return {'uuid': self.rule.uuid}
        return {'uuid': self.rule.uuid,
                'description': self.rule.description,
                'actions': [each.op for each in self.actions
                            if not each.reverted]}
