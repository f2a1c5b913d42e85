# SPDX-License-Identifier: Apache-2.0

"""The data of a machine by root; changes leave the original.

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
    """Changes data, and copies every container before its first change.

    The data themselves are kept by the caller: each method that changes them
    takes them and returns them, or a copy if they were not the tree's own.
    """

    __slots__ = ('_item_identities', '_own')

    def __init__(self) -> None:
        # The copies that may be changed, and of some lists the identities of
        # their items. Both are by id(), and refer to the container as well:
        # the id of one that is gone could be given to another.
        self._own: dict[int, Container] = {}
        self._item_identities: dict[
            int, tuple[Container, set[typing.Any]]
        ] = {}

    def assign(
        self, data: typing.Any, path: data_path.Path, value: typing.Any
    ) -> typing.Any:
        """Set the value at a path.

        Parents that are absent or null are created: a list for ``-``,
        mappings otherwise. In a list, an index replaces an item, the next
        free index and ``-`` append.

        :returns: the data; a copy of them if this tree has not copied them.
        :raises: :class:`.exceptions.OperationError` if the path leads
            through a plain value or beyond the end of a list.
        """
        if not path:
            return value
        token = path[0]
        rest = path[1:]
        if data is None or data is data_path.ABSENT:
            if data_path.is_append(token):
                data = []
            else:
                data = {}
        if isinstance(data, dict):
            inner = value
            if rest:
                inner = self.assign(data.get(token), rest, value)
            # Mostly it is the tree's own, and a call is spared.
            if id(data) not in self._own:
                data = self._owned(data)
            # Keys of data are plain texts; a token may be a Key.
            data[str(token)] = inner
            return data
        if not isinstance(data, list):
            raise exceptions.OperationError(
                _('"%(token)s" cannot be set inside %(kind)s')
                % {'token': token, 'kind': suggestion.kind_of(data)}
            )
        position = data_path.index(token)
        if data_path.is_append(token):
            position = len(data)
        if position is None or position > len(data):
            raise exceptions.OperationError(
                _('"%s" is no index of a list of this length') % token
            )
        item = None
        if position < len(data):
            item = data[position]
        inner = self.assign(item, rest, value)
        data = self._owned(data)
        self._item_identities.pop(id(data), None)
        # The position after the last item is an empty slice: this appends.
        data[position : position + 1] = [inner]
        return data

    def append(
        self, data: typing.Any, path: data_path.Path, value: typing.Any
    ) -> typing.Any:
        """Append a value to the list at the path, which may be absent or null.

        Whether anything else is there, the caller has checked.

        :returns: the data, or a copy, as :meth:`assign`.
        """
        items = data_path.get(data, path)
        # Once it is the tree's own, to append takes no copy of its parents.
        if id(items) not in self._own:
            if items is data_path.ABSENT or items is None:
                items = []
            items = self._owned(items)
            data = self.assign(data, path, items)
        items.append(value)
        # has_member() keeps the identities of the items of some lists.
        if id(items) in self._item_identities:
            _items, identities = self._item_identities[id(items)]
            identities.add(data_path.identity(value))
        return data

    def has_member(
        self, data: typing.Any, path: data_path.Path, value: typing.Any
    ) -> bool:
        """Return whether the list at the path has the same item.

        The set of its items is kept for the next time: a loop that appends
        what is not there yet takes linear time.
        """
        items = data_path.get(data, path)
        if not isinstance(items, list):
            return False
        if id(items) not in self._item_identities:
            identities = {data_path.identity(item) for item in items}
            self._item_identities[id(items)] = (items, identities)
        _items, identities = self._item_identities[id(items)]
        return data_path.identity(value) in identities

    def remove(self, data: typing.Any, path: data_path.Path) -> typing.Any:
        """Remove what is at the path, which has to be there.

        :returns: the data, or a copy, as :meth:`assign`.
        """
        key: str | int = path[0]
        rest = path[1:]
        if isinstance(data, list):
            key = int(key)
        if not rest:
            data = self._owned(data)
            self._item_identities.pop(id(data), None)
            del data[key]
            return data
        inner = self.remove(data[key], rest)
        data = self._owned(data)
        self._item_identities.pop(id(data), None)
        data[key] = inner
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
        """Return a container that may be changed: itself, or a copy."""
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
    any. ``closed`` are the places whose values nobody may see: sensitive
    rules set them.
    """

    inventory: dict[str, typing.Any]
    plugin_data: dict[str, typing.Any]
    node: dict[str, typing.Any] | None = None
    ports: tuple[dict[str, typing.Any], ...] = ()
    port_groups: tuple[dict[str, typing.Any], ...] = ()
    previous: dict[str, typing.Any] | None = None
    closed: frozenset[Place] = dataclasses.field(
        default=frozenset(), compare=False, repr=False
    )
    # By root, the data that were masked last, and what was made of them.
    _masked: dict[str, tuple[typing.Any, typing.Any]] = dataclasses.field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def scope(self) -> str | None:
        """The inspection scope of the node."""
        if self.node is None:
            return None
        properties = self.node.get('properties')
        if not isinstance(properties, dict):
            return None
        scope: str | None = properties.get(model.SCOPE_PROPERTY)
        return scope

    def is_closed(self, name: str) -> bool:
        """Return whether an object has a place whose value is withheld."""
        for closed_object, _path in self.closed:
            if closed_object == name:
                return True
        return False

    def mask_once(
        self,
        root: str,
        data: typing.Any,
        mask: typing.Callable[[typing.Any], typing.Any],
    ) -> typing.Any:
        """Return the masked data of a root; the same data are masked once.

        So a root that no rule changes, such as the inventory, is masked by the
        first phase of a dry run only.

        :param data: the data of the root now. They must not change any more.
        :param mask: returns data without their secrets.
        """
        if root in self._masked:
            data_before, masked = self._masked[root]
            if data_before is data:
                return masked
        masked = mask(data)
        self._masked[root] = (data, masked)
        return masked

    def roots(self) -> dict[str, typing.Any]:
        """Return the data by the names of replacement fields."""
        roots: dict[str, typing.Any] = {
            'inventory': self.inventory,
            'plugin_data': self.plugin_data,
        }
        if self.node is None:
            # In the early phase neither the node nor its ports are known.
            return roots
        roots['node'] = self.node
        roots['ports'] = list(self.ports)
        roots['port_groups'] = list(self.port_groups)
        if self.previous is not None:
            roots['previous'] = self.previous
        return roots
