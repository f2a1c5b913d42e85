# SPDX-License-Identifier: Apache-2.0

"""One change of the data of a machine."""

import dataclasses
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path

TRAITS = 'traits'


# Not frozen: it is made for each value that is set, and frozen ones take four
# times as long to make.
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
    :ivar place: the path as tokens. It has the index of an appended item in
        place of ``-``: ``('extra', 'disks', '2')``. Where the rule has set
        only a part of the value, the path to that part follows:
        ``('properties', 'capabilities', 'boot_mode')``.
    :ivar left: the number of items that are left in the list from which an
        item was removed; None for any other change.
    :ivar earlier: for a value that was there already, the number of changes
        that the phase had made when the rule set it.
    :ivar port: the UUID of the port; None for any other object.
    :ivar rule: the rule that made the change.
    :ivar action: the op that made it, such as ``set-attribute``.
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
        """Return plain JSON data: an operation of RFC 6902 and its object.

        An example is ``{'object': 'node', 'op': 'replace', 'path':
        '/extra/rack', 'value': 'r2'}``.
        """
        return {
            'object': self.object,
            'op': self.op,
            'path': self.path,
            'value': self.value,
        }

    def with_before(self) -> dict[str, typing.Any]:
        """Return the data of :meth:`as_dict` and the previous value."""
        return {**self.as_dict(), 'before': self.before}


def port_name(port: typing.Mapping[str, typing.Any]) -> str:
    """Return the object of a port's changes: ``port 52:54:00:00:00:01``."""
    return f'port {port.get("address")}'
