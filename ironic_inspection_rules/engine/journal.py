# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What actions did to a machine, as far as it may be told."""

import dataclasses
import typing

from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import path as data_path

NODE = 'node'
TRAITS = 'traits'

# Loops over a machine's data may set one value again and again.
_MOST_CONFIRMED = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One change that an action made.

    ``object`` is ``node``, ``port <MAC>``, ``plugin_data`` or ``traits``;
    ``op`` is ``add``, ``replace`` or ``remove`` with ``path`` and ``value``
    as in RFC 6902. ``before`` is what was there, None if nothing was.
    Secrets and the values of sensitive rules are masked.
    """

    object: str
    op: str
    path: str
    value: typing.Any = None
    before: typing.Any = None

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data, as RFC 6902 has it."""
        return {'object': self.object, 'op': self.op, 'path': self.path,
                'value': self.value}


class Journal:
    """What a phase did so far.

    ``changes`` are those of the data, ``confirmed`` what was set to the value
    that was there already, ``notes`` the lines that were logged and the
    requests that were sent.

    :param port_names: what changes call the ports, by index.
    :param hidden: places that sensitive rules of earlier phases have
        written to.
    """

    def __init__(self, port_names: typing.Sequence[str],
                 hidden: typing.Iterable[hiding.Place] = ()) -> None:
        self.changes: list[Change] = []
        self.confirmed: list[Change] = []
        self.notes: list[str] = []
        self._port_names = port_names
        self._hidden: set[hiding.Place] = set(hidden)
        self._secretive = False
        self._sensitive = False

    def enter(self, masked: bool, sensitive: bool) -> None:
        """Take note of whose changes follow.

        :param masked: whether secrets are hidden from the rule.
        :param sensitive: whether the values it sets are to be hidden.
        """
        self._secretive, self._sensitive = masked, sensitive

    @property
    def hidden(self) -> frozenset[hiding.Place]:
        """The places that sensitive rules have written to."""
        return frozenset(self._hidden)

    def fork(self) -> 'Journal':
        """Return an empty journal of the same machine."""
        return Journal(self._port_names, self._hidden)

    def note(self, text: str) -> None:
        """Take note of a line that is logged or a request that is sent."""
        if not self._sensitive:
            self.notes.append(text)

    def confirm(self, root: str, path: data_path.Path,
                value: typing.Any) -> None:
        """Take note that a value was set which was there already.

        Not where a sensitive rule has set it: that would show the value.
        """
        if (len(self.confirmed) < _MOST_CONFIRMED and not self._sensitive
                and not hiding.is_hidden(self._hidden, root, path)):
            self.confirmed.append(
                self._change('replace', root, path, value, value))

    def confirm_traits(self, names: typing.Iterable[str]) -> None:
        """Take note that traits were set which the node has already."""
        if not self._sensitive and len(self.confirmed) < _MOST_CONFIRMED:
            self.confirmed += [
                Change(TRAITS, 'add', data_path.pointer([name]), name, name)
                for name in names
                if not hiding.is_hidden(self._hidden, NODE, (TRAITS, name))]

    def record(self, op: str, data: typing.Any, root: str,
               path: data_path.Path, value: typing.Any = None,
               before: typing.Any = None) -> None:
        """Take note of a change.

        :param op: ``add``, ``replace`` or ``remove``.
        :param data: the root as it is after the change.
        """
        if self._sensitive:
            self._hidden.add(hiding.of_change(data, root, path))
        self.changes.append(self._change(op, root, path, value, before))

    def record_traits(self, before: typing.Sequence[str],
                      after: typing.Sequence[str]) -> None:
        """Take note of the traits that went and those that came."""
        for op, some, others in (('remove', before, after),
                                 ('add', after, before)):
            affected = [name for name in some if name not in others]
            if self._sensitive:
                self._hidden.update((NODE, (TRAITS, name))
                                    for name in affected)
            shown = [masking.MASK if self._sensitive or (
                op == 'remove' and (NODE, (TRAITS, name)) in self._hidden)
                else name for name in affected]
            self.changes += [
                Change(TRAITS, op, data_path.pointer([name]),
                       value=None if op == 'remove' else name,
                       before=name if op == 'remove' else None)
                for name in shown]

    def _change(self, op: str, root: str, path: data_path.Path,
                value: typing.Any, before: typing.Any) -> Change:
        value = None if op == 'remove' else self._shown(path, value)
        before = None if op == 'add' else (
            masking.MASK if hiding.is_hidden(self._hidden, root, path)
            else self._shown(path, before))
        if root == hiding.PORTS:
            name, path = self._port_names[int(path[0])], path[1:]
        else:
            name = root
        return Change(name, op, data_path.pointer(path), value, before)

    def _shown(self, path: data_path.Path, value: typing.Any) -> typing.Any:
        if self._sensitive:
            return masking.MASK
        if self._secretive:
            return masking.mask_along(path, value)[1]
        return value
