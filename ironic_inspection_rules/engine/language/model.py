# SPDX-License-Identifier: Apache-2.0

"""Defines the fields of a rule with their defaults, choices and help."""

import dataclasses
import typing

from ironic_inspection_rules.engine.language import path
from ironic_inspection_rules.i18n import _

EARLY = 'early'
PREPROCESS = 'preprocess'
MAIN = 'main'
PHASES = (EARLY, PREPROCESS, MAIN)
"""The phases of an inspection, in the order in which they run."""

ENFORCE = 'enforce'
AUDIT = 'audit'
OFF = 'off'
MODES = (ENFORCE, AUDIT, OFF)
"""A rule changes data, only records what it would change, or never runs."""

SCOPE_PROPERTY = 'inspection_scope'
"""The node property whose value selects the rules with that scope."""

MULTIPLE = ('any', 'all', 'first', 'last')
DEFAULT_MULTIPLE = 'any'
"""The items of a loop for which a condition must hold."""

OPERATIONS = ('conditions', 'actions')
"""The fields of a rule that hold lists of operations."""

VARS = 'vars'
"""The field of a rule that holds named values; also their root in the data."""

CONTENT = (*OPERATIONS, VARS)
"""The fields that hold the content of a rule."""

TRACE_KEY = 'inspection_rules'
"""The key of the plugin data that records what rules did, by phase."""

Operations = tuple[typing.Mapping[str, typing.Any], ...]
"""Conditions or actions as their author wrote them."""


def _field(
    text: str, default: typing.Any = dataclasses.MISSING, **more: typing.Any
) -> typing.Any:
    """Declare a field of the dataclass :class:`Rule`, with metadata.

    :param text: the help text for authors of rules.
    :param default: the value if an author omits the field. Without a default,
        the field is required.
    :param more: other metadata, such as ``choices``.
    """
    metadata = {'help': text, **more}
    # A factory is needed because dataclasses refuse a mutable default.
    if default == {}:
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One inspection rule (spec 003 "Data model impact").

    This is the only list of a rule's fields and their defaults. Validation,
    the table, the versioned object, the API, the schema and the commands all
    use it. The metadata of a field are ``help`` and optionally ``choices``,
    or ``read_only`` if authors cannot set the field.

    ``conditions`` and ``actions`` hold operations exactly as their author
    wrote them: ``{'op': str, 'args': list | dict, 'loop': …}``. ``vars``
    maps names to values, which are computed in order before the conditions.
    ``revision`` is the revision of the rule set in which the rule was last
    changed; it is None for a built-in rule.
    """

    uuid: str = _field(
        _('What names the rule for ever; made by the API if absent.')
    )
    description: str | None = _field(_('What names the rule to people.'), None)
    priority: int = _field(
        _('Rules with a higher one run first; 0 to 9999.'), 0
    )
    scope: str | None = _field(
        _(
            'The rule runs only for nodes with this value of '
            'properties.inspection_scope.'
        ),
        None,
    )
    sensitive: bool = _field(
        _('Whether nobody can read what is in the rule, for ever.'), False
    )
    phase: str = _field(
        _(
            'When it runs: early (before the node is known), preprocess '
            '(before the hooks) or main (after them).'
        ),
        MAIN,
        choices=PHASES,
    )
    mode: str = _field(
        _('enforce; audit: only recorded what it would do; off: never runs.'),
        ENFORCE,
        choices=MODES,
    )
    conditions: Operations = _field(
        _('The rule runs where all of these hold.'), ()
    )
    actions: Operations = _field(_('What it does, in this order.'))
    vars: typing.Mapping[str, typing.Any] = _field(
        _('Values by name, computed before the conditions: {vars.name}.'), {}
    )
    built_in: bool = dataclasses.field(
        default=False, metadata={'read_only': True}
    )
    revision: int | None = dataclasses.field(
        default=None, metadata={'read_only': True}
    )

    @classmethod
    def from_mapping(cls, fields: typing.Mapping[str, typing.Any]) -> 'Rule':
        """Build a rule from a mapping that has passed validation.

        :param fields: the values by field name. A field that is absent or None
            gets its default. Keys that are not field names are ignored.
        """
        values: dict[str, typing.Any] = {}
        for field in dataclasses.fields(cls):
            value = fields.get(field.name)
            if value is not None:
                values[field.name] = value
        for name in OPERATIONS:
            if name in values:
                values[name] = tuple(values[name])
        return cls(**values)

    def to_mapping(self) -> dict[str, typing.Any]:
        """Return the fields that authors can set, as plain JSON data.

        Fields that only the API sets are omitted, e.g. ``revision``.
        """
        fields = {name: getattr(self, name) for name in WRITABLE}
        for name in OPERATIONS:
            fields[name] = list(fields[name])
        return {**fields, VARS: dict(self.vars)}


FIELDS = tuple(field.name for field in dataclasses.fields(Rule))
SETTABLE = {
    field.name: field
    for field in dataclasses.fields(Rule)
    if not field.metadata.get('read_only')
}
"""The fields that the author of a rule can set, by name."""
WRITABLE = tuple(SETTABLE)
_READ_ONLY = tuple(name for name in FIELDS if name not in WRITABLE)
SHOWN = (*_READ_ONLY, 'created_at', 'updated_at', 'links')
"""The fields that are shown but cannot be set."""


def _defaults() -> dict[str, typing.Any]:
    """Return the defaults of the fields that an author may omit.

    They are plain JSON data, as clients see rules, with lists and dicts
    instead of the values of the frozen class.
    """
    defaults: dict[str, typing.Any] = {}
    for field in SETTABLE.values():
        if field.name in OPERATIONS:
            defaults[field.name] = []
        elif field.name == VARS:
            defaults[field.name] = {}
        else:
            defaults[field.name] = field.default
    # These have no default, because the API makes the UUID and a rule
    # without actions is refused.
    del defaults['uuid']
    del defaults['actions']
    return defaults


DEFAULTS: typing.Mapping[str, typing.Any] = _defaults()
"""The defaults of settable fields, as plain JSON data."""


def is_same_value(field_name: str, old: typing.Any, new: typing.Any) -> bool:
    """Return whether two values of one field of a rule are the same.

    Values of different types differ, e.g. 1 and true.
    """
    if not path.is_same(old, new):
        return False
    if field_name == VARS:
        # The order matters because a var may use the vars before it.
        old_names = list(old or ())
        new_names = list(new or ())
        return old_names == new_names
    return True


def split_op(op: str) -> tuple[str, bool]:
    """Split an op into its name and whether it is inverted.

    ``eq`` gives ``('eq', False)``, ``!eq`` and ``! eq`` give ``('eq', True)``
    (spec 003 "Consistent arguments for conditions and actions").
    """
    op = op.strip()
    if op.startswith('!'):
        name = op.removeprefix('!').lstrip()
        return name, True
    return op, False
