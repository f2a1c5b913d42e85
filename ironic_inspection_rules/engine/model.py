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

"""A rule as plain, frozen data."""

import dataclasses
import typing

PHASES = ('early', 'preprocess', 'main')

EARLY = 'early'

SCOPE_PROPERTY = 'inspection_scope'
"""The property of a node that says which rules run for it."""

MULTIPLE = ('any', 'all', 'first', 'last')


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """One inspection rule (spec 003 "Data model impact").

    ``conditions`` and ``actions`` hold operations exactly as their author
    wrote them: ``{'op': str, 'args': list | dict, 'loop': ...}``.
    """

    uuid: str
    actions: tuple[typing.Mapping[str, typing.Any], ...]
    conditions: tuple[typing.Mapping[str, typing.Any], ...] = ()
    description: str | None = None
    priority: int = 0
    scope: str | None = None
    sensitive: bool = False
    phase: str = 'main'
    built_in: bool = False

    @property
    def label(self) -> str:
        """What names the rule in errors: a sensitive one only its UUID."""
        if self.description and not self.sensitive:
            return f'{self.uuid} ({self.description})'
        return self.uuid

    @classmethod
    def from_mapping(cls, fields: typing.Mapping[str, typing.Any]) -> 'Rule':
        """Make a rule of a mapping that passed validation.

        :param fields: keys are names of this class's fields; what is absent
            or None takes the default; other keys are ignored.
        """
        given = ((field.name, fields.get(field.name))
                 for field in dataclasses.fields(cls))
        known: dict[str, typing.Any] = {
            name: value for name, value in given if value is not None}
        for operations in ('conditions', 'actions'):
            if operations in known:
                known[operations] = tuple(known[operations])
        return cls(**known)


def split_op(op: str) -> tuple[str, bool]:
    """Tell an op's name and whether it is inverted.

    ``eq`` is not, ``!eq`` and ``! eq`` are (spec 003 "Consistent arguments
    for conditions and actions").

    :returns: the bare name, and True when inverted.
    """
    op = op.strip()
    if op.startswith('!'):
        return op[1:].lstrip(), True
    return op, False
