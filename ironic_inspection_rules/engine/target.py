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

"""What the rules of a phase see, and where their actions write.

All rules of a phase share one target: later rules see what earlier ones
changed, and nothing outside has changed until someone applies it. A dry run
just never does.
"""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.i18n import _

NODE = 'node'
PORTS = 'ports'
PLUGIN_DATA = 'plugin_data'
TRAITS = 'traits'


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a machine, as plain JSON data.

    ``node`` is None in the early phase. Its key ``traits`` lists the names
    of the node's traits.
    """

    inventory: dict[str, typing.Any]
    plugin_data: dict[str, typing.Any]
    node: dict[str, typing.Any] | None = None
    ports: tuple[dict[str, typing.Any], ...] = ()
    port_groups: tuple[dict[str, typing.Any], ...] = ()

    def roots(self) -> dict[str, typing.Any]:
        """Return the data by the name it has in replacement fields."""
        roots: dict[str, typing.Any] = {'inventory': self.inventory,
                                        'plugin_data': self.plugin_data}
        if self.node is not None:
            roots.update(node=self.node, ports=list(self.ports),
                         port_groups=list(self.port_groups))
        return roots


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One change that an action made.

    ``object`` is ``node``, ``port <MAC>``, ``plugin_data`` or ``traits``;
    ``op`` is ``add``, ``replace`` or ``remove`` with ``path`` and ``value``
    as in RFC 6902. Secrets and the values of sensitive rules are masked.
    """

    object: str
    op: str
    path: str
    value: typing.Any = None

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data."""
        return dataclasses.asdict(self)


class Effects(typing.Protocol):
    """What an action does to the world outside while rules run."""

    def log(self, level: str, message: str) -> None:
        """Write a line to the log of the service."""

    def call(self, request: 'Request') -> None:
        """Send a GET request.

        :raises: :class:`.exceptions.OperationError` where it fails.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """A GET request; ``timeout`` and ``backoff_factor`` are seconds."""

    url: str
    headers: dict[str, str] | None = None
    proxies: dict[str, str] | None = None
    timeout: float = 5.0
    retries: int = 3
    backoff_factor: float = 0.3


class NoEffects:
    """Effects of a dry run: there are none."""

    def log(self, level: str, message: str) -> None:
        """Write nothing."""

    def call(self, request: Request) -> None:
        """Send nothing."""


class _MaskedRoots(dict[str, typing.Any]):
    """The data by root name, masked when it is first looked at."""

    def __init__(self, roots: dict[str, typing.Any]) -> None:
        super().__init__()
        self._roots = roots

    def __missing__(self, root: str) -> typing.Any:
        masked = self[root] = masking.mask(self._roots[root])
        return masked


class Target:
    """The data of one machine during one phase, and what became of it.

    :param facts: the data as the phase finds it; it is never changed.
    :param effects: carries out what reaches beyond the data.
    """

    def __init__(self, facts: Facts, effects: Effects | None = None) -> None:
        self.roots = facts.roots()
        self.changes: list[Change] = []
        self.notes: list[str] = []
        self._port_names = [f'port {port.get("address")}'
                            for port in facts.ports]
        self._touched: set[tuple[str, data_path.Path]] = set()
        self._effects: Effects = effects or NoEffects()
        self._masked = _MaskedRoots(self.roots)
        self._own: data_path.Own = {}
        self._own_masked: data_path.Own = {}
        self._secretive = False
        self._sensitive = False

    def view(self, masked: bool) -> dict[str, typing.Any]:
        """Return the data by root name, with or without its secrets."""
        return self._masked if masked else self.roots

    def enter(self, masked: bool, sensitive: bool) -> None:
        """Take note of whose changes follow.

        :param masked: whether secrets are hidden from the rule.
        :param sensitive: whether the values it sets are to be hidden.
        """
        self._secretive, self._sensitive = masked, sensitive

    def get(self, root: str, path: data_path.Path) -> typing.Any:
        """Return what is there, unmasked, or :data:`.path.ABSENT`."""
        return data_path.get(self.roots[root], path)

    def set(self, root: str, path: data_path.Path,
            value: typing.Any) -> None:
        """Set a value; missing parents are created.

        :raises: :class:`.exceptions.OperationError` where the path leads
            through a plain value.
        """
        before = self.get(root, path)
        if data_path.same(before, value):
            return
        op = 'add' if before is data_path.ABSENT else 'replace'
        self._write(root, path, value)
        self._record(op, root, path, value)

    def extend(self, root: str, path: data_path.Path, value: typing.Any,
               unique: bool = False) -> None:
        """Append to a list, which is created where there is none.

        :param unique: do nothing if the list has such an item.
        :raises: :class:`.exceptions.OperationError` where something else
            than a list is there.
        """
        items = self.get(root, path)
        if items is data_path.ABSENT or items is None:
            items = []
        if not isinstance(items, list):
            raise exceptions.OperationError(
                _('%s is not a list') % data_path.pointer(path))
        if unique and any(data_path.same(item, value) for item in items):
            return
        self._write(root, path, [*items, value])
        self._record('add', root, (*path, data_path.APPEND), value)

    def unset(self, root: str, path: data_path.Path) -> None:
        """Remove what is there; nothing is fine too."""
        if self.get(root, path) is data_path.ABSENT:
            return
        self.roots[root] = data_path.remove(self.roots[root], path)
        if any(map(masking.is_secret, path)):
            self._masked.pop(root, None)
        elif root in self._masked:
            self._masked[root] = data_path.remove(self._masked[root], path)
        self._touch(root, path)
        self._record('remove', root, path)

    def discard(self, root: str, path: data_path.Path,
                value: typing.Any) -> None:
        """Remove the last such item of a list, if it has one."""
        items = self.get(root, path)
        if not isinstance(items, list):
            return
        for index in range(len(items) - 1, -1, -1):
            if data_path.same(items[index], value):
                self.unset(root, (*path, str(index)))
                return

    def port(self, port_id: str) -> data_path.Path:
        """Find a port by MAC address in any case, or by UUID.

        :returns: the path of the port below :data:`PORTS`.
        :raises: :class:`.exceptions.OperationError` where there is none.
        """
        index = self._port_index(port_id)
        if index is None:
            raise exceptions.OperationError(
                _('the node has no port %s') % port_id)
        return (str(index),)

    def has_port(self, port_id: str) -> bool:
        """Tell whether the node has a port with this MAC address or UUID."""
        return self._port_index(port_id) is not None

    def _port_index(self, port_id: str) -> int | None:
        if data_path.index(port_id) is not None:
            return None
        return template.find_port(self.roots[PORTS], port_id)

    @property
    def traits(self) -> list[str]:
        """Names of the node's traits as they are now."""
        return list(self.roots[NODE].get(TRAITS) or ())

    def set_traits(self, names: typing.Iterable[str]) -> None:
        """Make these the node's traits."""
        before, after = self.traits, list(dict.fromkeys(names))
        for op, some, others in (('remove', before, after),
                                 ('add', after, before)):
            shown = [masking.MASK if self._sensitive else name
                     for name in some if name not in others]
            self.changes += [Change(TRAITS, op, data_path.pointer([name]),
                                    None if op == 'remove' else name)
                             for name in shown]
        if set(before) != set(after):
            self._write(NODE, (TRAITS,), after)

    def changed(self, root: str, *parents: str) -> dict[str, typing.Any]:
        """Return what was changed directly below a place, by name.

        :param parents: path of the place: nothing or one token.
        :returns: values as they are now, :data:`.path.ABSENT` if removed.
        """
        depth = len(parents)
        names: set[str] = set()
        for where, path in self._touched:
            if where == root and path == parents:
                names.update(self.get(root, path))
            elif where == root and path[:depth] == parents:
                names.add(path[depth])
        return {name: self.get(root, (*parents, name))
                for name in sorted(names)}

    def final_values(self
                     ) -> list[tuple[str, data_path.Path, typing.Any]]:
        """Return every place that was changed, and what is there now.

        :returns: root, path of one or two tokens, and the value,
            :data:`.path.ABSENT` if removed. Setting them all gives a target
            over the same facts the same data.
        """
        return [(root, path, self.get(root, path))
                for root, path in sorted(self._touched)]

    def log(self, level: str, message: str) -> None:
        """Write a line to the log of the service."""
        self._note(f'{level}: {message}')
        self._effects.log(level, message)

    def call(self, request: Request) -> None:
        """Send a GET request; see :meth:`Effects.call`."""
        self._note(f'GET {masking.mask_url(request.url)}')
        self._effects.call(request)

    def _note(self, text: str) -> None:
        if not self._sensitive:
            self.notes.append(text)

    def _write(self, root: str, path: data_path.Path,
               value: typing.Any) -> None:
        if isinstance(value, dict | list):
            # It may be part of the data already, and then is in two places.
            self._own.clear()
            self._own_masked.clear()
        self.roots[root] = data_path.assign(self.roots[root], path, value,
                                            self._own)
        if root in self._masked:
            self._masked[root] = data_path.assign(
                self._masked[root], *masking.mask_along(path, value),
                self._own_masked)
        self._touch(root, path)

    def _touch(self, root: str, path: data_path.Path) -> None:
        self._touched.add((root, path[:2]))

    def _record(self, op: str, root: str, path: data_path.Path,
                value: typing.Any = None) -> None:
        if root == PORTS:
            name, path = self._port_names[int(path[0])], path[1:]
        else:
            name = root
        if op != 'remove':
            if self._sensitive:
                value = masking.MASK
            elif self._secretive:
                value = masking.mask_along(path, value)[1]
        self.changes.append(
            Change(name, op, data_path.pointer(path), value))

