# SPDX-License-Identifier: Apache-2.0

"""The data of a machine, and how they are changed.

A container is copied when something in it is first changed; from then on the
copy is the tree's own and is changed in place. So a loop that fills a list
takes linear time, not quadratic.
"""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _

NODE = interpolation.NODE
PORTS = interpolation.PORTS
PLUGIN_DATA = interpolation.PLUGIN_DATA

Container = dict[str, typing.Any] | list[typing.Any]
CONTAINERS = frozenset((dict, list))

Place = tuple[str, data_path.Path]
"""The name of an object, as in a change, and the path of a value in it."""


class Tree:
    """Changes data, and knows which of their containers it has copied.

    The data themselves are kept by the caller: each method that changes them
    takes them and returns them, or a copy if they were not the tree's own.
    """

    __slots__ = ('_members', '_own')

    def __init__(self) -> None:
        # By id. The containers are kept alive, so that no id is used again.
        self._own: dict[int, Container] = {}
        self._members: dict[int, tuple[Container, set[typing.Any]]] = {}

    def assign(self, data: typing.Any, path: data_path.Path,
               value: typing.Any) -> typing.Any:
        """Set the value at a path.

        Parents that are absent or null are created: a list for ``-``,
        mappings otherwise. In a list, an index replaces an item, the next
        free index and ``-`` append.

        :raises: :class:`.exceptions.OperationError` if the path leads
            through a plain value or beyond the end of a list.
        """
        if not path:
            return value
        token, rest = path[0], path[1:]
        if data is None or data is data_path.ABSENT:
            data = [] if data_path.appends(token) else {}
        if isinstance(data, dict):
            inner = self.assign(data.get(token), rest, value)
            data = self._owned(data)
            data[token if token.__class__ is str else str(token)] = inner
            return data
        if not isinstance(data, list):
            raise exceptions.OperationError(
                _('"%(token)s" cannot be set inside %(kind)s')
                % {'token': token, 'kind': suggestion.kind_of(data)})
        position = (len(data) if data_path.appends(token)
                    else data_path.index(token))
        if position is None or position > len(data):
            raise exceptions.OperationError(
                _('"%s" is no index of a list of this length') % token)
        item = data[position] if position < len(data) else None
        inner = self.assign(item, rest, value)
        data = self._owned(data)
        self._members.pop(id(data), None)
        data[position:position + 1] = [inner]
        return data

    def append(self, data: typing.Any, path: data_path.Path,
               value: typing.Any) -> typing.Any:
        """Append a value to the list at the path, which may be absent."""
        items = data_path.get(data, path)
        if id(items) not in self._own:
            items = self._owned([] if items is data_path.ABSENT else items
                                or [])
            data = self.assign(data, path, items)
        items.append(value)
        if id(items) in self._members:
            self._members[id(items)][1].add(data_path.identity(value))
        return data

    def has_member(self, data: typing.Any, path: data_path.Path,
                   value: typing.Any) -> bool:
        """Return whether the list at the path has the same item.

        The set of its items is kept for the next time.
        """
        items = data_path.get(data, path)
        if not isinstance(items, list):
            return False
        if id(items) not in self._members:
            self._members[id(items)] = (
                items, {data_path.identity(item) for item in items})
        return data_path.identity(value) in self._members[id(items)][1]

    def remove(self, data: typing.Any, path: data_path.Path) -> typing.Any:
        """Remove what is at the path, which has to be there."""
        token, rest = path[0], path[1:]
        key = token if isinstance(data, dict) else int(token)
        inner = self.remove(data[key], rest) if rest else None
        data = self._owned(data)
        self._members.pop(id(data), None)
        if rest:
            data[key] = inner
        else:
            del data[key]
        return data

    def release(self, value: Container) -> None:
        """Share a container: it is copied before it changes."""
        if not self._own:
            return
        ahead = [value]
        while ahead:
            container = ahead.pop()
            self._own.pop(id(container), None)
            items: typing.Iterable[typing.Any] = container
            if container.__class__ is dict:
                items = container.values()
            # Most items are plain, and are skipped without a step each: a
            # loop may write one large value to many places.
            ahead += [item for item in items if item.__class__ in CONTAINERS]

    def release_all(self) -> None:
        """Share all values: they are copied before they change."""
        self._own.clear()

    def _owned(self, data: typing.Any) -> typing.Any:
        if id(data) not in self._own:
            data = data.copy()
            self._own[id(data)] = data
        return data


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """The data of a machine, as plain JSON.

    ``node`` is None in the early phase. Its key ``traits`` lists the names
    of the node's traits. ``previous`` has the ``inventory`` and the
    ``plugin_data`` that the last successful inspection stored, if there are
    any. ``closed`` are the places of which nobody is told what is there.
    """

    inventory: dict[str, typing.Any]
    plugin_data: dict[str, typing.Any]
    node: dict[str, typing.Any] | None = None
    ports: tuple[dict[str, typing.Any], ...] = ()
    port_groups: tuple[dict[str, typing.Any], ...] = ()
    previous: dict[str, typing.Any] | None = None
    closed: frozenset[Place] = dataclasses.field(
        default=frozenset(), compare=False, repr=False)
    _made: dict[str, tuple[typing.Any, typing.Any]] = dataclasses.field(
        default_factory=dict, compare=False, repr=False)

    @property
    def scope(self) -> str | None:
        """The inspection scope of the node."""
        properties = (self.node or {}).get('properties')
        return properties.get(model.SCOPE_PROPERTY) if isinstance(
            properties, dict) else None

    def is_closed(self, name: str) -> bool:
        """Return whether an object has a place that nobody is told of."""
        return any(closed == name for closed, _path in self.closed)

    def made_once(self, root: str, data: typing.Any,
                  make: typing.Callable[[typing.Any], typing.Any]
                  ) -> typing.Any:
        """Make something of a root, once for all phases with the same data.

        :param data: the data of the root, which must not change any more.
        :param make: takes the data; always the same function.
        """
        known = self._made.get(root)
        if known is None or known[0] is not data:
            known = self._made[root] = data, make(data)
        return known[1]

    def roots(self) -> dict[str, typing.Any]:
        """Return the data by the names of replacement fields."""
        roots: dict[str, typing.Any] = {'inventory': self.inventory,
                                        'plugin_data': self.plugin_data}
        if self.node is not None:
            roots.update(node=self.node, ports=list(self.ports),
                         port_groups=list(self.port_groups))
            if self.previous is not None:
                roots['previous'] = self.previous
        return roots
