# SPDX-License-Identifier: Apache-2.0

"""Files with an inventory and plugin data, in each form that people keep."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document


def load(path: str) -> views.Facts:
    """Read a YAML or JSON file with an inventory.

    The file has one of three forms: ``inventory`` and ``plugin_data`` as
    Ironic's API gives them; ``inventory`` and other keys as the ramdisk posts
    them and ironic-inspector kept them; or the inventory alone. Beside the
    inventory there may be ``previous``: the ``inventory`` and the
    ``plugin_data`` of the inspection before.

    :raises: :class:`.exceptions.InvalidDocument` for any other form.
    """
    data = dict(document.load_mapping(path))
    inventory = data.pop('inventory', None)
    is_inventory_alone = inventory is None and 'interfaces' in data
    if is_inventory_alone:
        return views.Facts(data, {})
    previous = data.pop('previous', None)
    if previous is not None and not isinstance(previous, dict):
        raise exceptions.InvalidDocument(
            path, _('"previous" must be a mapping')
        )
    # What is left is plugin data, as the ramdisk posts it. If there is nothing
    # but "plugin_data", Ironic's API has given the file: then the plugin data
    # are below that key.
    plugin_data = data
    if set(data) == {'plugin_data'}:
        plugin_data = data['plugin_data'] or {}
    if not isinstance(inventory, dict) or not isinstance(plugin_data, dict):
        raise exceptions.InvalidDocument(path, _('there is no inventory'))
    return views.Facts(inventory, plugin_data, previous=previous)
