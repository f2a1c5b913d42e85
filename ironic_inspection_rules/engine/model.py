# SPDX-License-Identifier: Apache-2.0

"""A rule as plain, frozen data."""

import dataclasses
import typing

EARLY = 'early'
PREPROCESS = 'preprocess'
MAIN = 'main'
PHASES = (EARLY, PREPROCESS, MAIN)

ENFORCE = 'enforce'
AUDIT = 'audit'
OFF = 'off'
MODES = (ENFORCE, AUDIT, OFF)

SCOPE_PROPERTY = 'inspection_scope'
"""The property of a node that says which rules run for it."""

MULTIPLE = ('any', 'all', 'first', 'last')


OPERATIONS = ('conditions', 'actions')
"""The fields of a rule that hold lists of operations."""

VARS = 'vars'
"""The field of a rule with its values by name, and the root that has them."""

HIDDEN = (*OPERATIONS, VARS)
"""The fields that nobody reads of a sensitive rule."""

Operations = tuple[typing.Mapping[str, typing.Any], ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One inspection rule (spec 003 "Data model impact").

    The one list of a rule's fields and their defaults: validation, the
    versioned object, the API and the commands take them from here. A field
    may have in its metadata ``choices``, the values there are, and
    ``read_only``, which says that its author does not set it.

    ``conditions`` and ``actions`` hold operations exactly as their author
    wrote them: ``{'op': str, 'args': list | dict, 'loop': ...}``. ``vars``
    are values by name, computed in their order before the conditions.
    ``revision`` is that of the rule set when the rule was last changed; a
    built-in rule has none.
    """

    uuid: str
    description: str | None = None
    priority: int = 0
    scope: str | None = None
    sensitive: bool = False
    phase: str = dataclasses.field(default=MAIN, metadata={'choices': PHASES})
    mode: str = dataclasses.field(default=ENFORCE,
                                  metadata={'choices': MODES})
    conditions: Operations = ()
    actions: Operations
    vars: typing.Mapping[str, typing.Any] = dataclasses.field(
        default_factory=dict)
    built_in: bool = dataclasses.field(default=False,
                                       metadata={'read_only': True})
    revision: int | None = dataclasses.field(default=None,
                                             metadata={'read_only': True})

    @property
    def label(self) -> str:
        """Return the rule's name in errors: of a sensitive one its UUID."""
        if self.description and not self.sensitive:
            return f'{self.uuid} ({self.description})'
        return self.uuid

    @classmethod
    def from_mapping(cls, fields: typing.Mapping[str, typing.Any]) -> 'Rule':
        """Build a rule of a mapping that passed validation.

        :param fields: keys are names of this class's fields; what is absent
            or None takes the default; other keys are ignored.
        """
        given = ((field.name, fields.get(field.name))
                 for field in dataclasses.fields(cls))
        known: dict[str, typing.Any] = {
            name: value for name, value in given if value is not None}
        for name in OPERATIONS:
            if name in known:
                known[name] = tuple(known[name])
        return cls(**known)

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return what the author of the rule set, as JSON has it.

        :returns: the fields of :data:`WRITABLE`; conditions and actions are
            lists, ``vars`` a mapping.
        """
        fields = {name: getattr(self, name) for name in WRITABLE}
        for name in OPERATIONS:
            fields[name] = list(fields[name])
        return {**fields, VARS: dict(self.vars)}


FIELDS = tuple(field.name for field in dataclasses.fields(Rule))
WRITABLE = tuple(field.name for field in dataclasses.fields(Rule)
                 if not field.metadata.get('read_only'))
"""The fields that the author of a rule sets."""
DEFAULTS: typing.Mapping[str, typing.Any] = {
    field.name: [] if field.name in OPERATIONS
    else {} if field.name == VARS else field.default
    for field in dataclasses.fields(Rule)
    if field.name in WRITABLE and field.name not in ('uuid', 'actions')}
"""Their defaults, as JSON has them."""


def split_op(op: str) -> tuple[str, bool]:
    """Split an op into its name and whether it is inverted.

    ``eq`` is not, ``!eq`` and ``! eq`` are (spec 003 "Consistent arguments
    for conditions and actions").

    :returns: the bare name, and True when inverted.
    """
    op = op.strip()
    if op.startswith('!'):
        return op[1:].lstrip(), True
    return op, False
