# SPDX-License-Identifier: Apache-2.0

"""Defines a change of the data of a machine.

The journal of a phase, traces of rules, and reports list changes. They are
shown as operations of a JSON patch (RFC 6902).
"""

import dataclasses
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path

TRAITS = 'traits'
"""The object of a change of traits, and the key of a node's traits."""


# The class is not frozen, because an instance is created for every value that
# is set, and creating a frozen instance takes four times as long.
@dataclasses.dataclass(slots=True)
class Change:
    """One change that an action made.

    An action that sets ``/extra/rack`` of the node from ``r1`` to ``r2`` makes
    ``Change('node', 'replace', '/extra/rack', value='r2', before='r1')``.

    :ivar object: ``node``, ``port <MAC>``, ``plugin_data`` or ``traits``.
    :ivar op: ``add``, ``replace`` or ``remove`` of RFC 6902, but ``add`` also
        creates missing parents.
    :ivar path: a JSON pointer, such as ``/extra/disks/-``.
    :ivar value: the new value, without secrets.
    :ivar before: the previous value without secrets; None if there was none.
    :ivar place: the path as tokens, with the index of an appended item instead
        of ``-``, e.g. ``('extra', 'disks', '2')``. If the rule has set only
        a part of the value, the path to that part is appended, e.g.
        ``('properties', 'capabilities', 'boot_mode')``.
    :ivar left: the number of items left in the list after an item was removed
        from it; None for any other change.
    :ivar earlier: if the value was there already, the number of changes that
        the phase had made when the rule set it.
    :ivar port: the UUID of the port; None for any other object.
    :ivar rule: the rule that made the change.
    :ivar action: the op that made the change, e.g. ``set-attribute``.
    """

    object: str
    op: str
    path: str
    value: typing.Any = None
    before: typing.Any = None
    place: data_path.Path = dataclasses.field(
        default=(), compare=False, repr=False
    )
    left: int | None = dataclasses.field(default=None, compare=False)
    earlier: int = dataclasses.field(default=0, compare=False, repr=False)
    port: str | None = dataclasses.field(
        default=None, compare=False, repr=False
    )
    rule: model.Rule | None = dataclasses.field(
        default=None, compare=False, repr=False
    )
    action: str = dataclasses.field(default='', compare=False, repr=False)

    def as_dict(self) -> dict[str, typing.Any]:
        """Return an operation of RFC 6902 and its object as plain JSON data.

        For example, ``{'object': 'node', 'op': 'replace', 'path':
        '/extra/rack', 'value': 'r2'}``.
        """
        return {
            'object': self.object,
            'op': self.op,
            'path': self.path,
            'value': self.value,
        }

    def with_before(self) -> dict[str, typing.Any]:
        """Return the data of :meth:`as_dict` plus the previous value."""
        return {**self.as_dict(), 'before': self.before}


def port_name(port: typing.Mapping[str, typing.Any]) -> str:
    """Return the name of a port in changes, ``port 52:54:00:00:00:01``."""
    return f'port {port.get("address")}'
