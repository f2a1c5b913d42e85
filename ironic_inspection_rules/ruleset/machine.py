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

"""Machines as people keep them: files with an inventory."""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.ruleset import document


@dataclasses.dataclass(frozen=True)
class Machine:
    """What one file tells of a machine."""

    path: str
    inventory: dict[str, typing.Any]
    plugin_data: dict[str, typing.Any]


def load(path: str) -> Machine:
    """Read a YAML or JSON file with an inventory.

    It has one of three forms: ``inventory`` and ``plugin_data`` as Ironic's
    API gives them, ``inventory`` and other keys as the ramdisk posts them
    and ironic-inspector kept them, or the inventory alone.

    :raises: :class:`.exceptions.InvalidDocument` where it has none of them.
    """
    data = dict(document.load_mapping(path))
    inventory = data.pop('inventory', None)
    if inventory is None and 'interfaces' in data:
        return Machine(path, data, {})
    plugin_data = data
    if set(data) == {'plugin_data'}:
        plugin_data = data['plugin_data'] or {}
    if not isinstance(inventory, dict) or not isinstance(plugin_data, dict):
        raise exceptions.InvalidDocument(path, _('there is no inventory'))
    return Machine(path, inventory, plugin_data)


def seen_plugin_data(inventory: dict[str, typing.Any],
                     plugin_data: dict[str, typing.Any]
                     ) -> dict[str, typing.Any]:
    """Return plugin data as rules see them: with ``bmc_address``.

    ironic-inspector's hook ``validate_interfaces`` put it there, and spec 003
    "Rules examples" relies on it; Ironic's hook does not. It is the address
    that the ramdisk found, by IPv4 if there is one.
    """
    found = [inventory[name] for name in ('bmc_address', 'bmc_v6address')
             if inventory.get(name)]
    if not found or 'bmc_address' in plugin_data:
        return plugin_data
    return {**plugin_data, 'bmc_address': found[0]}
