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

    ``object`` is ``node``, ``port <MAC>``, ``plugin_data`` or ``traits``.
    ``op`` is ``add``, ``replace`` or ``remove`` with ``path`` and ``value`` as
    in RFC 6902, but ``add`` also creates missing parents. ``before`` is the
    previous value, None if there was none. Secrets are masked. ``place`` is
    the path as tokens, with an index in place of ``-``, and behind it the path
    to the part of the value that the rule has set, if it is only a part.
    ``left`` is the number of items that are left in the list, if an item was
    removed from one. ``earlier`` is the number of changes of the phase before
    a value was set that was already there. ``port`` is the UUID of the port.
    ``rule`` made the change, ``action`` is the op that did.
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
        """Return plain JSON data, an operation of RFC 6902 and its object."""
        return {
            'object': self.object,
            'op': self.op,
            'path': self.path,
            'value': self.value,
        }

    def with_before(self) -> dict[str, typing.Any]:
        """Return the same with the previous value."""
        return {**self.as_dict(), 'before': self.before}


def port_name(port: typing.Mapping[str, typing.Any]) -> str:
    """Return the name of a port in changes."""
    return f'port {port.get("address")}'
