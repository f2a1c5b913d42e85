# SPDX-License-Identifier: Apache-2.0

"""The data of a machine by root name; changes do not affect the original.

A container is a list or a mapping. A *tree* copies a container when something
in it is first changed. After that, the copy belongs to the tree and is changed
in place. So a loop that fills a list takes linear instead of quadratic time.

*Facts* are the data of a machine before or after a phase.
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
    """Changes data, and copies each container before its first change.

    The caller keeps the data. Each method that changes data takes them and
    returns them, or a copy if they did not belong to the tree.
    """

    __slots__ = ('_item_identities', '_copies')

    def __init__(self) -> None:
        # The copies that may be changed in place; and for some lists, the
        # identities of their items. The keys are id(container). The values
        # also refer to the container, because the id of a deleted container
        # could be assigned to another one.
        self._copies: dict[int, Container] = {}
        self._item_identities: dict[
            int, tuple[Container, set[typing.Any]]
        ] = {}

    def assign(
        self, data: typing.Any, path: data_path.Path, value: typing.Any
    ) -> typing.Any:
        """Set the value at a path.

        Parents that are absent or null are created: a list for ``-``,
        otherwise mappings. In a list, an index replaces an item, and the next
        free index and ``-`` append an item.

        For example, setting 2 in ``{'a': [1]}`` gives ``{'a': [1, 2]}`` at
        ``('a', '-')``, and ``{'a': [1], 'b': {'c': 2}}`` at ``('b', 'c')``.

        :returns: the changed data. This is the same object if it is a copy
            that this tree has made, otherwise a new copy.
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
            # Usually the data belong to the tree, so this saves a call.
            if id(data) not in self._copies:
                data = self._copy_if_shared(data)
            # Convert the token, which may be a Key, to plain text.
            data[str(token)] = inner
            return data
        if not isinstance(data, list):
            raise exceptions.OperationError(
                _('"%(token)s" cannot be set inside %(kind)s')
                % {'token': token, 'kind': suggestion.describe_type(data)}
            )
        return self._assign_in_list(data, token, rest, value)

    def _assign_in_list(
        self,
        items: list[typing.Any],
        token: str,
        rest: data_path.Path,
        value: typing.Any,
    ) -> list[typing.Any]:
        """Set a value in an item of a list, or append an item.

        :param token: the index of the item, or ``-``.
        :param rest: the path of the value in the item.
        :returns: the changed list, like :meth:`assign`.
        """
        length = len(items)
        position = data_path.index(token)
        if data_path.is_append(token):
            position = length
        if position is None or position > length:
            raise exceptions.OperationError(
                _('"%s" is no index of a list of this length') % token
            )
        item = None
        if position < length:
            item = items[position]
        new_item = self.assign(item, rest, value)
        items = self._copy_if_shared(items)
        # An item changes, so has_member() must collect the identities again.
        self._item_identities.pop(id(items), None)
        if position == length:
            items.append(new_item)
        else:
            items[position] = new_item
        return items

    def append(
        self, data: typing.Any, path: data_path.Path, value: typing.Any
    ) -> typing.Any:
        """Append a value to the list at a path.

        The list is created if there is nothing or null. The caller must ensure
        that there is no other value.

        :returns: the changed data, like :meth:`assign`.
        """
        items = data_path.get(data, path)
        # If this tree has copied the list, it has also copied the data that
        # contain the list. So appending to the list changes the data in place.
        if id(items) not in self._copies:
            if items is data_path.ABSENT or items is None:
                items = []
            items = self._copy_if_shared(items)
            data = self.assign(data, path, items)
        items.append(value)
        # Update the identities that has_member() keeps for some lists.
        if id(items) in self._item_identities:
            _items, identities = self._item_identities[id(items)]
            identities.add(data_path.hashable_key(value))
        return data

    def has_member(
        self, data: typing.Any, path: data_path.Path, value: typing.Any
    ) -> bool:
        """Return whether the list at a path has an item equal to a value.

        Return False if there is no list. The items of the list are kept as a
        set for the next call, so that a loop that appends only missing items
        takes linear time.
        """
        items = data_path.get(data, path)
        if not isinstance(items, list):
            return False
        if id(items) not in self._item_identities:
            identities = {data_path.hashable_key(item) for item in items}
            self._item_identities[id(items)] = (items, identities)
        _items, identities = self._item_identities[id(items)]
        return data_path.hashable_key(value) in identities

    def remove(self, data: typing.Any, path: data_path.Path) -> typing.Any:
        """Remove the value at a path; the caller must ensure that it exists.

        :returns: the changed data, like :meth:`assign`.
        """
        key: str | int = path[0]
        rest = path[1:]
        if isinstance(data, list):
            key = int(key)
        if not rest:
            data = self._copy_if_shared(data)
            # The items change, so has_member() must collect the identities
            # again.
            self._item_identities.pop(id(data), None)
            del data[key]
            return data
        inner = self.remove(data[key], rest)
        data = self._copy_if_shared(data)
        self._item_identities.pop(id(data), None)
        data[key] = inner
        return data

    def release(self, value: Container) -> None:
        """Note that a container is now also in a second place.

        The tree will copy it, and all containers in it, before their next
        change. Otherwise the change would be visible in the second place too.
        """
        if not self._copies:
            # Nothing has been copied yet, so the first change copies anyway.
            return
        ahead = [value]
        while ahead:
            container = ahead.pop()
            self._copies.pop(id(container), None)
            items: typing.Iterable[typing.Any] = container
            if container.__class__ is dict:
                items = container.values()
            # Filter plain items here instead of visiting each of them, because
            # a loop may write one large value to many places.
            ahead += [item for item in items if item.__class__ in CONTAINERS]

    def release_all(self) -> None:
        """Note that all containers are now also in a second place.

        They will be copied before their next change, see :meth:`release`.
        """
        self._copies.clear()

    def _copy_if_shared(self, data: typing.Any) -> typing.Any:
        """Return a container that this tree may change in place.

        :param data: a container of the data.
        :returns: the container itself if it is a copy that this tree has made,
            otherwise a new copy.
        """
        if id(data) not in self._copies:
            data = data.copy()
            self._copies[id(data)] = data
        return data


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """The data of a machine, as plain JSON.

    :ivar node: the node, whose key ``traits`` lists the names of its traits.
        None in the early phase.
    :ivar previous: ``inventory`` and ``plugin_data`` from the last successful
        inspection; None if there was none.
    :ivar withheld_places: the places whose values nobody may see, because
        sensitive rules have set them.
    """

    inventory: dict[str, typing.Any]
    plugin_data: dict[str, typing.Any]
    node: dict[str, typing.Any] | None = None
    ports: tuple[dict[str, typing.Any], ...] = ()
    port_groups: tuple[dict[str, typing.Any], ...] = ()
    previous: dict[str, typing.Any] | None = None
    withheld_places: frozenset[Place] = dataclasses.field(
        default=frozenset(), compare=False, repr=False
    )
    # For each root, the data that were masked last, and the result.
    _masked: dict[str, tuple[typing.Any, typing.Any]] = dataclasses.field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def scope(self) -> str | None:
        """The inspection scope of the node, or None if it has none."""
        if self.node is None:
            return None
        properties = self.node.get('properties')
        if not isinstance(properties, dict):
            return None
        scope: str | None = properties.get(model.SCOPE_PROPERTY)
        return scope

    def has_withheld_place(self, name: str) -> bool:
        """Return whether any value in an object, e.g. ``node``, is withheld.

        A value is withheld if a sensitive rule has set it.
        """
        for name_of_object, _path in self.withheld_places:
            if name_of_object == name:
                return True
        return False

    def mask_once(
        self,
        root: str,
        data: typing.Any,
        mask: typing.Callable[[typing.Any], typing.Any],
    ) -> typing.Any:
        """Return the masked data of a root, and cache the result.

        In a dry run, a root that no rule changes, e.g. the inventory, is only
        masked in the first phase.

        :param root: the name of the root, e.g. ``inventory``.
        :param data: the current data of the root. They must not change later.
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
        """Return the data by root name, as replacement fields use them.

        In the early phase the names are ``inventory`` and ``plugin_data``.
        Later there are also ``node``, ``ports``, ``port_groups`` and, if there
        was an earlier inspection, ``previous``.
        """
        roots: dict[str, typing.Any] = {
            'inventory': self.inventory,
            'plugin_data': self.plugin_data,
        }
        if self.node is None:
            # In the early phase, the node and its ports are not known yet.
            return roots
        roots['node'] = self.node
        roots['ports'] = list(self.ports)
        roots['port_groups'] = list(self.port_groups)
        if self.previous is not None:
            roots['previous'] = self.previous
        return roots
