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


# Not frozen: that takes four times as long to make, and there is one for each
# value that is set.
@dataclasses.dataclass(slots=True)
class Change:
    """One change that an action made.

    ``object`` is ``node``, ``port <MAC>``, ``plugin_data`` or ``traits``; a
    port has its UUID there where the address must not show. ``op`` is
    ``add``, ``replace`` or ``remove`` with ``path`` and ``value`` as in RFC
    6902. ``before`` is what was there, None if nothing was. Secrets, and the
    places and values of sensitive rules, are masked. ``place`` is
    where the change was, for those who show it to nobody.
    """

    object: str
    op: str
    path: str
    value: typing.Any = None
    before: typing.Any = None
    place: data_path.Path = dataclasses.field(default=(), compare=False,
                                              repr=False)

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data, as RFC 6902 has it."""
        return {'object': self.object, 'op': self.op, 'path': self.path,
                'value': self.value}

    def with_before(self) -> dict[str, typing.Any]:
        """Return the same with what was there before."""
        return {**self.as_dict(), 'before': self.before}


_HIDDEN = data_path.pointer([masking.MASK])


class Journal:
    """Changes, notes and hidden places of a phase.

    ``changes`` are those of the data, ``confirmed`` what was set to the value
    that was there already, ``notes`` the lines that were logged and the
    requests that were sent. ``hidden`` are the places that hold values of
    sensitive rules now, ``found`` those of them where such a value was before
    a sensitive rule set it.

    ``hides`` tells whether what is written now must not show.

    :param port_names: what changes call the ports, by index.
    :param hidden: places that sensitive rules of earlier phases have
        written to.
    """

    def __init__(self, port_names: typing.Sequence[str],
                 hidden: typing.Iterable[hiding.Place] = ()) -> None:
        self.changes: list[Change] = []
        self.confirmed: list[Change] = []
        self.notes: list[str] = []
        self.hidden = hiding.Hidden(hidden)
        self.found = hiding.Hidden()
        self.port_names = port_names
        self._secretive = False
        self._sensitive = False
        self.hides = self._hides_path = False

    def enter(self, masked: bool, sensitive: bool, copies: bool = False,
              hides_path: bool = False) -> None:
        """Set whose changes follow.

        :param masked: whether secrets are hidden from the rule.
        :param sensitive: whether the values it sets are to be hidden.
        :param copies: whether they may be made of values that are hidden.
        :param hides_path: whether the places may be.
        """
        self._secretive, self._sensitive = masked, sensitive
        self.hides = sensitive or copies
        self._hides_path = sensitive or hides_path

    def read(self, root: str, path: data_path.Path) -> None:
        """Record that what follows may be made of the value at a place."""
        if not self.hides and self.hidden.covers(root, path):
            self.hides = True

    @property
    def copies(self) -> bool:
        """Return whether what follows may copy values of sensitive rules."""
        return self.hides and not self._sensitive

    def fork(self) -> 'Journal':
        """Return an empty journal of the same machine."""
        return Journal(self.port_names, self.hidden)

    def note(self, text: str) -> None:
        """Record a line that is logged or a request that is sent."""
        if not self._sensitive:
            self.notes.append(text)

    def confirm(self, root: str, path: data_path.Path,
                value: typing.Any) -> None:
        """Record that a value was set which was there already.

        :param root: a root, or :data:`TRAITS` with a name as its path.
        """
        place = _place(root, path)
        self.find(*place)
        if self._sensitive or len(self.confirmed) < _MOST_CONFIRMED and (
                not self.hidden.covers(*place)):
            op = 'add' if root == TRAITS else 'replace'
            self.confirmed.append(self._change(op, root, path, value, value))

    def find(self, root: str, path: data_path.Path) -> None:
        """Record that a value was found which was there already."""
        if self.hides:
            self.hidden.add(root, path)
            self.found.add(root, path)

    def find_copies(self, changes: typing.Iterable[Change]) -> None:
        """Hide what may be made of a value that a sensitive rule found."""
        for change in changes:
            root, path = self._where(change)
            for depth, token in enumerate(path):
                # Items of a list move when others go; ports stay.
                if (root, depth) != (hiding.PORTS, 0) and (
                        token == data_path.APPEND
                        or data_path.index(token) is not None):
                    path = path[:depth]
                    break
            self.hidden.add(root, path)
            self.found.add(root, path)

    def hide_found(self, change: Change, copied: bool = False,
                   in_path: bool = False) -> None:
        """Hide a value in a change that a sensitive rule found later.

        :param copied: whether it may be a copy of one.
        :param in_path: whether its place may be.
        """
        if not copied and not self.found.covers(*self._where(change)):
            return
        if change.value is not None:
            change.value = masking.MASK
        if change.before is not None:
            change.before = masking.MASK
        if change.object == TRAITS or in_path:
            change.path = _HIDDEN

    @functools.cached_property
    def _ports(self) -> dict[str, str]:
        return {name: str(index)
                for index, name in enumerate(self.port_names)}

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
        :param part: the part of the value that the rule has set, by a path
            of its own.
        """
        if self.hides:
            self.hidden.add(*hiding.of_change(data, root, (*path, *part)))
        change = self._change(op, root, path, value, before, part)
        self.changes.append(change)
        if not self.hides and not part:
            # Nothing of what was hidden is left there.
            self.hidden.remove(root, path)

    def record_traits(self, before: typing.Sequence[str],
                      after: typing.Sequence[str]) -> None:
        """Record the traits that went and those that came."""
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
        """Build a change of what it may tell; None stands for nothing."""
        covered = self.hidden.covers(*_place(root, path))
        name, told = root, path
        if root == TRAITS:
            # The place of a trait and its value are its name.
            told = (masking.MASK,) if self.hides or covered else path
            value = value and told[0]
            before = before and told[0]
        else:
            value = None if op == 'remove' else self._shown(path, value)
            before = None if op == 'add' else (
                masking.MASK if covered else self._shown(path, before))
            if root == hiding.PORTS:
                name, told = self.port_names[int(path[0])], path[1:]
            path = told
            if self._hides_path:
                told = (masking.MASK,)
        return Change(name, op, data_path.pointer(told), value, before,
                      (*path, *part))

    def _shown(self, path: data_path.Path, value: typing.Any) -> typing.Any:
        if self.hides:
            return masking.MASK
        if self._secretive:
            return masking.mask_along(path, value)[1]
        return value


def _place(root: str, path: data_path.Path) -> hiding.Place:
    """Return where a change is in the data; traits are those of the node."""
    return (NODE, (TRAITS, *path)) if root == TRAITS else (root, path)
