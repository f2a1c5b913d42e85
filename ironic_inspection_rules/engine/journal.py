# SPDX-License-Identifier: Apache-2.0

"""The journal of a phase: what its rules changed, with secrets masked."""

import dataclasses
import typing

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import views
from ironic_inspection_rules.engine.secrecy import masking

TRAITS = 'traits'

# Loops over a machine's data may set one value again and again.
_MOST_CONFIRMED = 1000


# Not frozen: it is made for each value that is set, and frozen ones take four
# times as long to make.
@dataclasses.dataclass(slots=True)
class Change:
    """One change that an action made.

    ``object`` is ``node``, ``port <MAC>``, ``plugin_data`` or ``traits``.
    ``op`` is ``add``, ``replace`` or ``remove`` with ``path`` and ``value`` as
    in RFC 6902, but ``add`` also creates missing parents. ``before`` is the
    previous value, None if there was none. Secrets are masked. ``place`` is
    the path as tokens, with an index in place of ``-``.
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
    place: data_path.Path = dataclasses.field(default=(), compare=False,
                                              repr=False)
    left: int | None = dataclasses.field(default=None, compare=False)
    earlier: int = dataclasses.field(default=0, compare=False, repr=False)
    port: str | None = dataclasses.field(default=None, compare=False,
                                         repr=False)
    rule: model.Rule | None = dataclasses.field(default=None, compare=False,
                                                repr=False)
    action: str = dataclasses.field(default='', compare=False, repr=False)

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data, an operation of RFC 6902 and its object."""
        return {'object': self.object, 'op': self.op, 'path': self.path,
                'value': self.value}

    def with_before(self) -> dict[str, typing.Any]:
        """Return the same with the previous value."""
        return {**self.as_dict(), 'before': self.before}


class Journal:
    """Changes and notes of a phase.

    ``changes`` are those of the data, ``confirmed`` values that were set but
    already there, ``notes`` the lines that were logged and the requests that
    were sent. What sensitive rules set is in ``withheld`` instead, and what
    they note is nowhere: nobody who shows the rest has to think of it.

    :param ports: the ports as they are before the phase.
    :ivar withholds: whether the action is of a sensitive rule.
    """

    def __init__(self, ports: typing.Sequence[typing.Mapping[
            str, typing.Any]]) -> None:
        self.changes: list[Change] = []
        self.confirmed: list[Change] = []
        self.notes: list[str] = []
        self.withheld: list[Change] = []
        self._ports = ports
        # Changes of all rules, in the order in which they were made.
        self._made: list[Change] = []
        self._rule: model.Rule | None = None
        self._action = ''
        self._masked = False
        self.withholds = False

    def enter(self, rule: model.Rule, action: str, masked: bool) -> None:
        """Begin an action, whose changes follow.

        :param action: its op.
        :param masked: whether secrets are hidden from the rule.
        """
        self._rule, self._action, self._masked = rule, action, masked
        self.withholds = rule.sensitive

    def fork(self) -> 'Journal':
        """Return an empty journal with the same ports."""
        return Journal(self._ports)

    @property
    def length(self) -> int:
        """The number of changes, those of sensitive rules among them."""
        return len(self._made)

    @property
    def port_names(self) -> list[str]:
        """The names of ports in changes, by index."""
        return [port_name(port) for port in self._ports]

    def changes_of(self, name: str, attributes: typing.Collection[str]
                   ) -> list[Change]:
        """Return what rules changed in some attributes of an object.

        If they changed none of them, it is all that they changed in it. Those
        of sensitive rules are among them: nobody may be shown these.

        :param name: of the object, as in a change.
        """
        made = [change for change in self._made if change.object == name]
        return [change for change in made
                if change.place[0] in attributes] or made

    def note(self, text: str) -> None:
        """Record a line that is logged or a request that is sent."""
        if not self.withholds:
            self.notes.append(text)

    def confirm(self, root: str, path: data_path.Path,
                value: typing.Any) -> None:
        """Record that a value was set but already there.

        :param root: a root, or :data:`TRAITS` with a name as its path.
        """
        confirmed = self.withheld if self.withholds else self.confirmed
        if len(confirmed) < _MOST_CONFIRMED or self.withholds:
            op = 'add' if root == TRAITS else 'replace'
            change = self._change(op, root, path, value, value)
            change.earlier = len(self.changes)
            confirmed.append(change)

    def record(self, op: str, data: typing.Any, root: str,
               path: data_path.Path, value: typing.Any = None,
               before: typing.Any = None, part: data_path.Path = ()) -> None:
        """Record a change.

        :param op: ``add``, ``replace`` or ``remove``.
        :param data: the root as it is after the change.
        :param part: the part of the value that the rule has set, as a path
            below it.
        """
        change = self._change(op, root, path, value, before, part)
        if data_path.APPEND in path:
            # The path of a port is below that of the port.
            above = len(path) - len(change.place)
            change.place = data_path.resolve(data, path)[above:]
        if op == 'remove':
            items = data_path.get(data, path[:-1])
            change.left = len(items) if isinstance(items, list) else None
        self._add(change)

    def record_traits(self, before: typing.Sequence[str],
                      after: typing.Sequence[str]) -> None:
        """Record the traits that were removed and those that were added."""
        had, has = set(before), set(after)
        for name in before:
            if name not in has:
                self._add(self._change('remove', TRAITS, (name,), None, name))
        for name in after:
            if name not in had:
                self._add(self._change('add', TRAITS, (name,), name, None))

    def _add(self, change: Change) -> None:
        self._made.append(change)
        if self.withholds:
            self.withheld.append(change)
        else:
            self.changes.append(change)

    def _change(self, op: str, root: str, path: data_path.Path,
                value: typing.Any, before: typing.Any,
                part: data_path.Path = ()) -> Change:
        """Build a change in which secrets are masked."""
        name, port = root, None
        if root != TRAITS:
            value = None if op == 'remove' else self._shown(path, value)
            before = None if op == 'add' else self._shown(path, before)
        if root == views.PORTS:
            given = self._ports[int(path[0])]
            name, port, path = port_name(given), given.get('uuid'), path[1:]
        return Change(name, op, data_path.pointer(path), value, before,
                      (*path, *part), port=port, rule=self._rule,
                      action=self._action)

    def _shown(self, path: data_path.Path, value: typing.Any) -> typing.Any:
        if self._masked:
            return masking.mask_along(path, value)[1]
        return value


def port_name(port: typing.Mapping[str, typing.Any]) -> str:
    """Return the name of a port in changes."""
    return f'port {port.get("address")}'
