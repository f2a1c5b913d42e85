# SPDX-License-Identifier: Apache-2.0

"""The journal of a phase: its changes, with hidden values masked."""

import dataclasses
import functools
import typing

from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import path as data_path

NODE = hiding.NODE
TRAITS = 'traits'

# Loops over a machine's data may set one value again and again.
_MOST_CONFIRMED = 1000


# Not frozen: it is made for each value that is set, and frozen ones take four
# times as long to make.
@dataclasses.dataclass(slots=True)
class Change:
    """One change that an action made.

    ``object`` is ``node``, ``port <MAC>``, ``plugin_data`` or ``traits``; a
    port with a hidden address has its UUID there. ``op`` is ``add``,
    ``replace`` or ``remove`` with ``path`` and ``value`` as in RFC 6902, but
    ``add`` also creates missing parents. ``before`` is the previous value,
    None if there was none. Secrets, and the places and values of sensitive
    rules, are masked. ``place`` is the path without masks, which must not be
    shown, with an index in place of ``-``.
    ``left`` is the number of items that are left in the list, if an item was
    removed from one. ``earlier`` is the number of changes of the phase before
    a value was set that was already there. ``port`` is the UUID of the port.
    """

    object: str
    op: str
    path: str
    value: typing.Any = None
    before: typing.Any = None
    place: data_path.Path = dataclasses.field(default=(), compare=False,
                                              repr=False)
    left: int | None = dataclasses.field(default=None, compare=False)
    earlier: int = dataclasses.field(default=0, compare=False, repr=False)
    port: str | None = dataclasses.field(default=None, compare=False,
                                         repr=False)

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data, an operation of RFC 6902 and its object."""
        return {'object': self.object, 'op': self.op, 'path': self.path,
                'value': self.value}

    @property
    def is_withheld(self) -> bool:
        """Whether a sensitive rule made it: place and value are hidden."""
        return self.path == _HIDDEN and self.value in (None, masking.MASK)

    def with_before(self) -> dict[str, typing.Any]:
        """Return the same with the previous value."""
        return {**self.as_dict(), 'before': self.before}


_HIDDEN = data_path.pointer([masking.MASK])


class Journal:
    """Changes, notes and hidden places of a phase.

    ``changes`` are those of the data, ``confirmed`` values that were set but
    already there, ``notes`` the lines that were logged and the requests that
    were sent. ``hidden`` are the places that hold values of sensitive rules,
    ``found`` those of them that had the value before a sensitive rule set it.
    ``hides``: what is written now is hidden.

    :param ports: the ports as they are before the phase.
    :param hidden: places that sensitive rules of earlier phases have
        written to.
    """

    def __init__(self, ports: hiding.Ports,
                 hidden: typing.Iterable[hiding.Place] = ()) -> None:
        self.changes: list[Change] = []
        self.confirmed: list[Change] = []
        self.notes: list[str] = []
        self.hidden = hiding.Hidden(hidden)
        self.found = hiding.Hidden()
        self._given = ports
        self._names = hiding.port_names(ports, self.hidden)
        self._secretive = False
        self._sensitive = False
        self.hides = self._hides_path = False

    def enter(self, masked: bool, sensitive: bool, copies: bool = False,
              hides_path: bool = False) -> None:
        """Begin an action, whose changes follow.

        :param masked: whether secrets are hidden from the rule.
        :param sensitive: whether the rule is.
        :param copies: whether the action may copy hidden values.
        :param hides_path: whether its paths may be made of hidden values.
        """
        self._secretive, self._sensitive = masked, sensitive
        self.hides = sensitive or copies
        self._hides_path = sensitive or hides_path

    def read(self, root: str, path: data_path.Path) -> None:
        """Record that the action reads a place, and may copy its value."""
        if not self.hides and self.hidden.covers(root, path):
            self.hides = True

    @property
    def copies(self) -> bool:
        """Return whether the action may copy values of sensitive rules."""
        return self.hides and not self._sensitive

    def fork(self) -> 'Journal':
        """Return an empty journal with the same ports and hidden places."""
        return Journal(self._given, self.hidden)

    @property
    def port_names(self) -> list[str]:
        """The names of ports in changes, by index."""
        return list(map(self._port_name, range(len(self._names))))

    def _port_name(self, index: int) -> str:
        # Its address is a value like others, which may have been found.
        return self._uuids[index] if self.found.covers(
            hiding.PORTS, (str(index), 'address')) else self._names[index]

    def note(self, text: str) -> None:
        """Record a line that is logged or a request that is sent."""
        if not self._sensitive:
            self.notes.append(text)

    def confirm(self, root: str, path: data_path.Path,
                value: typing.Any) -> None:
        """Record that a value was set but already there.

        :param root: a root, or :data:`TRAITS` with a name as its path.
        """
        place = _place(root, path)
        self.find(*place)
        if self._sensitive or len(self.confirmed) < _MOST_CONFIRMED and (
                not self.hidden.covers(*place)):
            op = 'add' if root == TRAITS else 'replace'
            change = self._change(op, root, path, value, value)
            change.earlier = len(self.changes)
            self.confirmed.append(change)

    def find(self, root: str, path: data_path.Path) -> None:
        """Hide a place if the action would have hidden it by writing."""
        if self.hides:
            self.hidden.add(root, path)
            self.found.add(root, path)

    def find_copies(self, changes: typing.Iterable[Change]) -> None:
        """Hide the places of changes that may copy a found value."""
        for change in changes:
            root, path = self._where(change)
            for depth, token in enumerate(path):
                # Items of a list move when others are removed; ports stay.
                if (root, depth) != (hiding.PORTS, 0) and (
                        token == data_path.APPEND
                        or data_path.index(token) is not None):
                    path = path[:depth]
                    break
            self.hidden.add(root, path)
            self.found.add(root, path)

    def hide_found(self, change: Change, copied: bool = False,
                   in_path: bool = False) -> None:
        """Mask a change if a sensitive rule later found its value.

        :param copied: whether the change may copy a found value.
        :param in_path: whether its path may be made of one.
        """
        if not copied and not self.found.covers(*self._where(change)):
            return
        if change.value is not None:
            change.value = masking.MASK
        if change.before is not None:
            change.before = masking.MASK
        if change.object == TRAITS or in_path:
            change.path = _HIDDEN

    def rename(self, change: Change) -> None:
        """Name the port of a change by its UUID if its address was found."""
        if change.object in self._ports:
            change.object = self._port_name(int(self._ports[change.object]))

    @functools.cached_property
    def _uuids(self) -> list[str]:
        return hiding.port_names(self._given,
                                 hiding.Hidden([(hiding.PORTS, ())]))

    @functools.cached_property
    def _ports(self) -> dict[str, str]:
        return {name: str(index) for names in (self._uuids, self._names)
                for index, name in enumerate(names)}

    def _where(self, change: Change) -> hiding.Place:
        if change.object in (NODE, TRAITS, hiding.PLUGIN_DATA):
            return _place(change.object, change.place)
        if change.object not in self._ports:
            return hiding.PORTS, ()
        return hiding.PORTS, (self._ports[change.object], *change.place)

    def record(self, op: str, data: typing.Any, root: str,
               path: data_path.Path, value: typing.Any = None,
               before: typing.Any = None, part: data_path.Path = ()) -> None:
        """Record a change.

        :param op: ``add``, ``replace`` or ``remove``.
        :param data: the root as it is after the change.
        :param part: the part of the value that the rule has set, as a path
            below it.
        """
        if self.hides:
            self.hidden.add(*hiding.of_change(data, root, (*path, *part)))
        change = self._change(op, root, path, value, before, part)
        if data_path.APPEND in path:
            # The path of a port is below that of the port.
            above = len(path) - len(change.place)
            change.place = data_path.resolve(data, path)[above:]
        if op == 'remove':
            items = data_path.get(data, path[:-1])
            change.left = len(items) if isinstance(items, list) else None
        self.changes.append(change)
        if not self.hides and not part:
            # The hidden value was replaced.
            self.hidden.remove(root, path)

    def record_traits(self, before: typing.Sequence[str],
                      after: typing.Sequence[str]) -> None:
        """Record the traits that were removed and those that were added."""
        for op, some, others in (('remove', before, after),
                                 ('add', after, before)):
            gone = set(others)
            for name in some:
                if name in gone:
                    continue
                if self.hides:
                    self.hidden.add(*_place(TRAITS, (name,)))
                elif op == 'add':
                    self.hidden.remove(*_place(TRAITS, (name,)))
                self.changes.append(self._change(
                    op, TRAITS, (name,),
                    *((name, None) if op == 'add' else (None, name))))

    def _change(self, op: str, root: str, path: data_path.Path,
                value: typing.Any, before: typing.Any,
                part: data_path.Path = ()) -> Change:
        """Build a change in which all that is hidden is masked."""
        covered = self.hidden.covers(*_place(root, path))
        name, shown, port = root, path, None
        if root == TRAITS:
            # The name of a trait is its path and its value.
            shown = (masking.MASK,) if self.hides or covered else path
            value = value and shown[0]
            before = before and shown[0]
        else:
            value = None if op == 'remove' else self._shown(path, value)
            before = None if op == 'add' else (
                masking.MASK if covered else self._shown(path, before))
            if root == hiding.PORTS:
                number = int(path[0])
                port = self._given[number].get('uuid')
                name, shown = self._port_name(number), path[1:]
            path = shown
            if self._hides_path:
                shown = (masking.MASK,)
        return Change(name, op, data_path.pointer(shown), value, before,
                      (*path, *part), port=port)

    def _shown(self, path: data_path.Path, value: typing.Any) -> typing.Any:
        if self.hides:
            return masking.MASK
        if self._secretive:
            return masking.mask_along(path, value)[1]
        return value


def _place(root: str, path: data_path.Path) -> hiding.Place:
    """Return the place of a change in the data; traits are of the node."""
    return (NODE, (TRAITS, *path)) if root == TRAITS else (root, path)
