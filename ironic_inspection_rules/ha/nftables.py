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

"""The nftables table that guards DHCP and TFTP on one interface.

Only commands are made here, in the form that ``nft -j`` reads (see
libnftables-json(5)); :mod:`.firewall` has the kernel carry them out.

.. code-block:: none

    input   what comes in on the interface for a guarded port → guard
    guard   not from an interface in @leader      drop
            source in @whitelist                  accept
            source in @blacklist                  drop
            from an interface in @unknown         accept
            anything else                         drop

``@leader`` holds the interface while this host leads, with a timeout: unless
the living leader puts it back again and again, the kernel closes the door.

Source: spec 001 "HA Firewall decomposition".
"""

from collections.abc import Iterable
from collections.abc import Iterator
import re
from typing import Any

from ironic_inspection_rules.ha import admission

Command = dict[str, Any]

FAMILY = 'inet'

MARK = 'ironic-inspection-pxe-filter'
"""Comment of a rule by which a table is known as one of ours."""

_PRIORITY = -10
"""Before the ``filter`` chains of others, so that they can only add."""


class Table:
    """The table of one interface.

    :param interface: name of the network interface.
    :param ports: what to guard, as ``67/udp``.
    """

    def __init__(self, interface: str, ports: Iterable[str]) -> None:
        self.interface = interface
        self.name = 'ironic_inspection_pxe_filter_' + re.sub(
            r'[^\w.-]', '_', interface, flags=re.ASCII)
        self.fallback_name = self.name + '_closed'
        self._ports = [port.split('/') for port in ports]

    def create(self) -> list[Command]:
        """Make the table afresh, with the door closed."""
        return [
            *self._drop(self.name),
            *self._drop(self.fallback_name),
            *self._frame(self.name),
        ]

    def create_fallback(self) -> list[Command]:
        """Close the door in a table of another name."""
        return [*self._drop(self.fallback_name),
                *self._frame(self.fallback_name)]

    def change(self, before: admission.Admission,
               after: admission.Admission) -> list[Command]:
        """Let others pass.

        :param before: who passes an open door now.
        :param after: who shall.
        """
        commands = []
        for name in ('whitelist', 'blacklist'):
            old, new = getattr(before, name), getattr(after, name)
            commands += self._elements('delete', name, sorted(old - new))
            commands += self._elements('add', name, sorted(new - old))
        if before.unknown != after.unknown:
            action = 'add' if after.unknown else 'delete'
            commands += self._elements(action, 'unknown', [self.interface])
        return commands

    def hold_open(self, seconds: int) -> list[Command]:
        """Keep the door open for some time; 0 closes it.

        This also is an error, and so a probe, when the table is gone.
        """
        commands = [{'flush': {'set': self._part('leader')}}]
        if seconds > 0:
            commands += self._elements('add', 'leader', [
                {'elem': {'val': self.interface, 'timeout': seconds}}])
        return commands

    def is_foreign(self, listing: dict[str, Any]) -> bool:
        """Whether ``nft -j list table`` shows a table that is not ours."""
        items = listing.get('nftables', [])
        return bool(items) and not any(
            item.get('rule', {}).get('comment') == MARK for item in items)

    def _drop(self, name: str) -> list[Command]:
        """Remove a table, whether it exists or not."""
        table = {'table': {'family': FAMILY, 'name': name}}
        return [{'add': table}, {'delete': table}]

    def _frame(self, table: str) -> Iterator[Command]:
        yield {'add': {'table': {'family': FAMILY, 'name': table}}}
        for name in ('leader', 'unknown', 'whitelist', 'blacklist'):
            kind = 'ether_addr' if name.endswith('list') else 'ifname'
            flags = {'flags': ['timeout']} if name == 'leader' else {}
            yield {'add': {'set': {
                **self._part(name, table), 'type': kind, **flags}}}
        yield {'add': {'chain': self._part('guard', table)}}
        yield {'add': {'chain': {
            **self._part('input', table), 'type': 'filter', 'hook': 'input',
            'prio': _PRIORITY, 'policy': 'accept'}}}
        for chain, comment, expression in self._rules():
            yield {'add': {'rule': {
                'family': FAMILY, 'table': table, 'chain': chain,
                'expr': expression, 'comment': comment}}}

    def _rules(self) -> Iterator[tuple[str, str, list[Any]]]:
        source = {'payload': {'protocol': 'ether', 'field': 'saddr'}}
        interface = {'meta': {'key': 'iifname'}}
        count: dict[str, Any] = {'counter': None}
        for number, protocol in self._ports:
            port = {'payload': {'protocol': protocol, 'field': 'dport'}}
            yield 'input', MARK, [
                _match('==', interface, self.interface),
                _match('==', port, int(number)),
                {'goto': {'target': 'guard'}}]
        yield 'guard', 'not the leader', [
            _match('!=', interface, '@leader'), count, {'drop': None}]
        yield 'guard', 'in inspection', [
            _match('==', source, '@whitelist'), count, {'accept': None}]
        yield 'guard', 'not in inspection', [
            _match('==', source, '@blacklist'), count, {'drop': None}]
        yield 'guard', 'unknown, and discovery is on', [
            _match('==', interface, '@unknown'), count, {'accept': None}]
        yield 'guard', 'unknown', [count, {'drop': None}]

    def _elements(self, action: str, name: str,
                  elements: list[Any]) -> list[Command]:
        if not elements:
            return []
        return [{action: {'element': {
            **self._part(name), 'elem': elements}}}]

    def _part(self, name: str, table: str | None = None) -> dict[str, Any]:
        return {'family': FAMILY, 'table': table or self.name, 'name': name}


def _match(operator: str, left: Any, right: Any) -> dict[str, Any]:
    return {'match': {'op': operator, 'left': left, 'right': right}}


def render(commands: Iterable[Command]) -> str:
    """Write commands as the script that ``nft --file`` reads."""
    return ''.join(f'{_render_command(command)}\n' for command in commands)


def _render_command(command: Command) -> str:
    [(action, what)] = command.items()
    [(kind, spec)] = what.items()
    if kind == 'table':
        return f'{action} table {spec["family"]} {spec["name"]}'
    owner = f'{spec["family"]} {spec["table"]}'
    if kind == 'rule':
        expression = ' '.join(map(_render_statement, spec['expr']))
        return (f'{action} rule {owner} {spec["chain"]} {expression} '
                f'comment "{spec["comment"]}"')
    text = f'{action} {kind} {owner} {spec["name"]}'
    if kind == 'element':
        text += f' {{ {", ".join(map(_render_element, spec["elem"]))} }}'
    elif 'hook' in spec:
        text += (f' {{ type {spec["type"]} hook {spec["hook"]} priority '
                 f'{spec["prio"]}; policy {spec["policy"]}; }}')
    elif kind == 'set' and action == 'add':
        flags = ''.join(f' flags {flag};' for flag in spec.get('flags', ()))
        text += f' {{ type {spec["type"]};{flags} }}'
    return text


def _render_element(element: Any) -> str:
    if isinstance(element, dict):
        inner = element['elem']
        return f'{_render_value(inner["val"])} timeout {inner["timeout"]}s'
    return _render_value(element)


def _render_statement(statement: dict[str, Any]) -> str:
    [(name, spec)] = statement.items()
    if name == 'match':
        operator = '' if spec['op'] == '==' else f'{spec["op"]} '
        return (f'{_render_field(spec["left"])} {operator}'
                f'{_render_value(spec["right"])}')
    return f'{name} {spec["target"]}' if spec else name


def _render_field(field: dict[str, Any]) -> str:
    [spec] = field.values()
    return spec.get('key') or f'{spec["protocol"]} {spec["field"]}'


def _render_value(value: str | int) -> str:
    """A set, a number or a MAC address as it is; a name in quotes."""
    if isinstance(value, int) or value[0] == '@' or ':' in value:
        return str(value)
    return f'"{value}"'
