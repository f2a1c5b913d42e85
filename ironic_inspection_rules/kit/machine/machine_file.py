# SPDX-License-Identifier: Apache-2.0

"""Read files with an inventory and plugin data, in all common forms.

The inventory describes the hardware of a machine. Plugin data are what hooks
of Ironic and collectors of the ramdisk add to it.
"""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document


def load(path: str) -> views.Facts:
    """Read a YAML or JSON file with an inventory.

    The file must have one of three forms: ``inventory`` and ``plugin_data``,
    as Ironic's API returns them; ``inventory`` and other keys, as the ramdisk
    posts them and ironic-inspector stored them; or only the inventory. In the
    first two forms there may also be ``previous``, which has the ``inventory``
    and the ``plugin_data`` of the previous inspection.

    :returns: the inventory, the plugin data and the previous inspection.
    :raises: :class:`.exceptions.InvalidDocument` for any other form.
    """
    data = dict(document.load_mapping(path))
    inventory = data.pop('inventory', None)
    is_inventory_alone = inventory is None and 'interfaces' in data
    if is_inventory_alone:
        return views.Facts(data, {})
    # In the other two forms, "inventory" is one of several keys.
    previous = data.pop('previous', None)
    if previous is not None and not isinstance(previous, dict):
        raise exceptions.InvalidDocument(
            path, _('"previous" must be a mapping')
        )
    # The remaining keys are plugin data, as the ramdisk posts it. If
    # "plugin_data" is the only one, the file comes from Ironic's API, and the
    # plugin data is below that key.
    plugin_data = data
    if set(data) == {'plugin_data'}:
        plugin_data = data['plugin_data'] or {}
    if not isinstance(inventory, dict) or not isinstance(plugin_data, dict):
        raise exceptions.InvalidDocument(path, _('there is no inventory'))
    return views.Facts(inventory, plugin_data, previous=previous)
