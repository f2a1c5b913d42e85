# SPDX-License-Identifier: Apache-2.0

"""Files with an inventory and plugin data, in each form that people keep."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document


def load(path: str) -> views.Facts:
    """Read a YAML or JSON file with an inventory.

    It has ``inventory`` and ``plugin_data``, as Ironic's API gives them;
    ``inventory`` and other keys, as the ramdisk posts them; or the inventory
    alone. ``previous`` may have both of the inspection before.

    :raises: :class:`.exceptions.InvalidDocument` where it has none of them.
    """
    data = dict(document.load_mapping(path))
    inventory = data.pop('inventory', None)
    if inventory is None and 'interfaces' in data:
        return views.Facts(data, {})
    previous = data.pop('previous', None)
    if previous is not None and not isinstance(previous, dict):
        raise exceptions.InvalidDocument(
            path, _('"previous" must be a mapping')
        )
    plugin_data = data
    if set(data) == {'plugin_data'}:
        plugin_data = data['plugin_data'] or {}
    if not isinstance(inventory, dict) or not isinstance(plugin_data, dict):
        raise exceptions.InvalidDocument(path, _('there is no inventory'))
    return views.Facts(inventory, plugin_data, previous=previous)
