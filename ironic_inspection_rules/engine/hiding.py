# SPDX-License-Identifier: Apache-2.0

"""Places in a machine's data whose values must not show.

They are those that sensitive rules have written to or found written, and
those that other rules copied such values to.
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
"""Most places below another that last on their own; else all of it is hidden
later."""

_MOST_IN_ALL = 10_000
"""Most places that last; else their roots are hidden whole, since what cannot
be stored would hide nothing."""

_Node = dict[str, typing.Any]
"""Tokens below a place, each with a node or, where all is hidden, None."""


class Hidden:
    """A set of places, in which a place is found by the length of its path.

    What is below a place that is hidden is hidden with it.

    :param places: the places. Where they are such a set, both share it: each
        rule in mode audit has its own, and most of these change nothing.
    """

    __slots__ = ('_own', '_roots')

    def __init__(self, places: typing.Iterable[Place] = ()) -> None:
        self._roots: _Node = {}
        # By identity: the nodes that no other set has, to be changed in
        # place. One that is gone may leave its number to a new one, which is
        # of this set too: nodes of others are only seen when they are shared,
        # and then nothing is of this set alone.
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
        """Check whether a value is one that must not show, or part of one."""
        return self._find(*place) is None

    def __iter__(self) -> typing.Iterator[Place]:
        return self._places()

    def add(self, root: str, path: data_path.Path) -> None:
        """Hide what is at a place."""
        *parents, last = (root, *path)
        node = self._roots = self._owned(self._roots)
        for token in parents:
            below: _Node | None = node.get(token, _NOTHING)
            if below is None:
                return
            node[token] = node = self._owned(below)
        node[last] = None

    def remove(self, root: str, path: data_path.Path) -> None:
        """Show what is at a place, unless it is part of a hidden value."""
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
        """Hide those values of a rule that are made of what is hidden."""
        if not self._roots:
            return
        for name, value in values.items():
            # It may be made of one before it.
            if self.shows_any(reads(value)):
                self.add(VARS, (name,))

    @contextlib.contextmanager
    def with_vars(self, values: typing.Mapping[str, typing.Any]
                  ) -> typing.Iterator[None]:
        """Hide them while the context lasts."""
        if not values:
            yield
            return
        self.add_vars(values)
        try:
            yield
        finally:
            self.remove(VARS, ())

    def covers(self, root: str, path: data_path.Path) -> bool:
        """Return whether a value is, has, or is part of one not to show."""
        return bool(self._roots) and (self._find(root, path) is not _NOTHING)

    def shows_any(self, reads: typing.Iterable[Place]) -> bool:
        """Return whether some of the places must not show."""
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
        """Return the places; one in the place of more than some below it."""
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
        """Return the places in a form that holds when ports come and go."""
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
    """Return the places of :meth:`Hidden.lasting`, among these ports."""
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
    """Return what changes call the ports: by address, if that may show."""
    return ['port {}'.format(
        port.get('uuid') or number
        if hidden.covers(PORTS, (str(number), 'address'))
        else port.get('address')) for number, port in enumerate(ports)]


def of_change(data: typing.Any, root: str, path: data_path.Path) -> Place:
    """Return the place to hide after a change.

    Of a list that is the whole list: its items move when others go.

    :param data: the root as it is after the change.
    """
    for depth, token in enumerate(path):
        # The ports themselves stay where they are.
        if isinstance(data, list) and (root, depth) != (PORTS, 0):
            return root, path[:depth]
        data = data_path.get(data, (token,))
    return root, path


EVERYTHING = '*'  # A root that stands for all of them.


def fields(written: typing.Any) -> list[interpolation.Field]:
    """Return all fields anywhere in a value, and those in their filters.

    :param written: an operation, or part of one, as its rule has it.
    """
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
    """Return the places that are read by fields anywhere in a value."""
    places: dict[Place, None] = {}
    for each in fields(written):
        if each.root == PORTS and each.steps and (
                data_path.index(each.steps[0]) is None):
            # A port by its address, which may be any.
            places[PORTS, ()] = None
        elif each.root:
            places[each.root, each.steps] = None
    return tuple(places)


def shown(view: budget.View, places: typing.Iterable[Place],
          hidden: Hidden) -> budget.View:
    """Return the data by root name as they may be told of.

    :param places: those of them that are looked at.
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
