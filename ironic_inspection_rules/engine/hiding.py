# SPDX-License-Identifier: Apache-2.0

"""Hidden places: parts of a machine's data whose values must not be shown.

They are those that sensitive rules have written to, or would have if the value
had not been there already, and those that other rules copied such values to.
"""

import contextlib
import typing

from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import filter_syntax
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import views

NODE = 'node'
PORTS = 'ports'
PLUGIN_DATA = 'plugin_data'
PREVIOUS = 'previous'
VARS = model.VARS

Place = tuple[str, data_path.Path]  # Name of a root, and where in it.

Ports = typing.Sequence[typing.Mapping[str, typing.Any]]
Lasting = list[typing.Any]
"""A place as JSON data, in which a port is known by its UUID."""

_MOST_LASTING = 1000
"""Maximum number of stored places directly below another; with more of them
the other one is stored."""

_MOST_IN_ALL = 10_000
"""Maximum number of stored places; with more of them whole roots are stored,
since a list that is too large to store would hide nothing."""

_Node = dict[str, typing.Any]
"""The tokens below a place, each with a node, or None if all is hidden."""


class Hidden:
    """A set of places, as a tree of tokens.

    A lookup takes as long as its path. All that is below a hidden place is
    hidden too.

    :param places: the places. The nodes of another such set are shared until
        one of the two changes: each rule in mode audit has a set of its own,
        and most of them change nothing.
    """

    __slots__ = ('_own', '_roots')

    def __init__(self, places: typing.Iterable[Place] = ()) -> None:
        self._roots: _Node = {}
        # The ids of nodes that no other set shares, which are changed in
        # place. An id may be used again after its node is gone, but only for
        # a new node of this set: nodes of other sets come in by sharing
        # alone, and then this is empty.
        self._own: set[int] = set()
        if isinstance(places, Hidden):
            self._roots = places._roots
            places._own.clear()
            return
        for root, path in places:
            self.add(root, path)

    def __bool__(self) -> bool:
        return bool(self._roots)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hidden) and self._roots == other._roots

    def __or__(self, other: 'Hidden') -> 'Hidden':
        return Hidden([*self, *other])

    def __contains__(self, place: Place) -> bool:
        """Check whether a place is hidden, or part of a hidden one."""
        return self._find(*place) is None

    def __iter__(self) -> typing.Iterator[Place]:
        return self._places()

    def add(self, root: str, path: data_path.Path) -> None:
        """Hide a place."""
        *parents, last = (root, *path)
        node = self._roots = self._owned(self._roots)
        for token in parents:
            below: _Node | None = node.get(token, _NOTHING)
            if below is None:
                return
            node[token] = node = self._owned(below)
        node[last] = None

    def remove(self, root: str, path: data_path.Path) -> None:
        """Show a place again, unless it is part of a hidden one."""
        if not self.covers(root, path):
            return
        *parents, last = (root, *path)
        node = self._roots = self._owned(self._roots)
        above = []
        for token in parents:
            above.append((node, token))
            below: _Node | None = node[token]
            if below is None:
                return
            node[token] = node = self._owned(below)
        node.pop(last, None)
        for parent, token in reversed(above):
            if parent[token]:
                return
            del parent[token]

    def _owned(self, node: _Node) -> _Node:
        if id(node) not in self._own:
            node = node.copy()
            self._own.add(id(node))
        return node

    def add_vars(self, values: typing.Mapping[str, typing.Any]) -> None:
        """Hide those vars of a rule that are made of hidden values."""
        if not self._roots:
            return
        for name, value in values.items():
            # It may be made of an earlier one.
            if self.shows_any(reads(value)):
                self.add(VARS, (name,))

    @contextlib.contextmanager
    def with_vars(self, values: typing.Mapping[str, typing.Any]
                  ) -> typing.Iterator[None]:
        """Hide the same while the context lasts."""
        if not values:
            yield
            return
        self.add_vars(values)
        try:
            yield
        finally:
            self.remove(VARS, ())

    def covers(self, root: str, path: data_path.Path) -> bool:
        """Return whether a place is hidden, has or is part of a hidden one."""
        return bool(self._roots) and (self._find(root, path) is not _NOTHING)

    def shows_any(self, reads: typing.Iterable[Place]) -> bool:
        """Return whether any of the places is covered."""
        return bool(self._roots) and any(
            root == EVERYTHING or self.covers(root, path)
            for root, path in reads)

    def _find(self, root: str, path: data_path.Path) -> _Node | None:
        node = self._roots
        for token in (root, *path):
            below: _Node | None = node.get(token, _NOTHING)
            if not below:
                return below
            node = below
        return node

    def _places(self, most: float = float('inf')) -> typing.Iterator[Place]:
        """Yield the places.

        :param most: yield a place itself if it has more hidden ones below it.
        """
        ahead: list[tuple[tuple[str, ...], _Node | None]] = [
            ((root,), node) for root, node in self._roots.items()]
        while ahead:
            tokens, node = ahead.pop()
            if node is None or (len(node) > most and tokens != (PORTS,)):
                yield tokens[0], tokens[1:]
            else:
                ahead += [((*tokens, token), below)
                          for token, below in node.items()]

    def lasting(self, ports: Ports) -> list[Lasting]:
        """Return the places to be stored; they name ports by UUID."""
        places = sorted(self._places(_MOST_LASTING))
        if len(places) > _MOST_IN_ALL:
            places = [(root, ()) for root in sorted(self._roots)]
        return [[root, [ports[int(path[0])].get('uuid'), *path[1:]]
                 if root == PORTS and path else list(path)]
                for root, path in places]


_NOTHING: _Node = {}


ANYWHERE: tuple[Place, ...] = ((NODE, ()), (PORTS, ()), (PLUGIN_DATA, ()))
"""Places of values that may be anywhere."""


def located(places: typing.Iterable[Lasting], ports: Ports) -> Hidden:
    """Return the places that :meth:`Hidden.lasting` returned.

    :param ports: the ports of the node now.
    """
    numbers = {port['uuid']: str(number)
               for number, port in enumerate(ports) if port.get('uuid')}
    found = Hidden()
    for root, path in places:
        if root != PORTS or not path:
            found.add(root, tuple(path))
        elif path[0] in numbers:
            found.add(root, (numbers[path[0]], *path[1:]))
    return found


def port_names(ports: Ports, hidden: Hidden) -> list[str]:
    """Return the names of ports in changes: the address, if not hidden."""
    return ['port {}'.format(
        port.get('uuid') or number
        if hidden.covers(PORTS, (str(number), 'address'))
        else port.get('address')) for number, port in enumerate(ports)]


def of_change(data: typing.Any, root: str, path: data_path.Path) -> Place:
    """Return the place to hide after a change.

    In a list it is the whole list: items move when others are removed.

    :param data: the root as it is after the change.
    """
    for depth, token in enumerate(path):
        # Ports are never removed.
        if isinstance(data, list) and (root, depth) != (PORTS, 0):
            return root, path[:depth]
        data = data_path.get(data, (token,))
    return root, path


EVERYTHING = '*'  # A root that stands for all of them.


def fields(written: typing.Any) -> list[interpolation.Field]:
    """Return all fields anywhere in a value, and those in their filters."""
    found = []
    ahead: list[typing.Any] = list(interpolation.fields(written))
    while ahead:
        each = ahead.pop()
        if isinstance(each, interpolation.Field):
            found.append(each)
            ahead += each.filters
        elif isinstance(each, filter_syntax.Call):
            ahead += [value for _name, value in each.arguments]
        elif isinstance(each, list | dict):
            ahead += each.values() if isinstance(each, dict) else each
    return found


def reads(written: typing.Any) -> tuple[Place, ...]:
    """Return the places that fields anywhere in a value read."""
    places: dict[Place, None] = {}
    for each in fields(written):
        if each.root == PORTS and each.steps and (
                data_path.index(each.steps[0]) is None):
            # By an address: any of the ports.
            places[PORTS, ()] = None
        elif each.root:
            places[each.root, each.steps] = None
    return tuple(places)


def shown(view: budget.View, places: typing.Iterable[Place],
          hidden: Hidden) -> budget.View:
    """Return the data by root name, with hidden places masked.

    :param places: the places that are read.
    """
    roots = budget.View(budget=view.budget)
    for root, path in places:
        if root not in roots:
            try:
                roots[root] = view[root]
            except KeyError:
                if root == VARS:
                    raise
                continue
        if hidden.covers(root, path) and data_path.get(
                roots[root], path) is not data_path.ABSENT:
            roots[root] = views.Tree().assign(roots[root], path, masking.MASK)
    return roots
