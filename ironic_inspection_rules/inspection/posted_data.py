# SPDX-License-Identifier: Apache-2.0

"""The data that a machine posted, while hooks and rules change them."""

from typing import Any

from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.runs import history

Data = dict[str, Any]

_ABSENT = object()

_NOT_KEPT = (history.LOGS, trace.KEY)
"""Plugin data that are no facts of the machine."""


class PostedData:
    """What a machine posted, and which of it rules have changed since.

    :ivar inventory: as posted, None before the machine has posted anything.
    :ivar plugin_data: as they are now; hooks and rules change them in place.
    """

    def __init__(self) -> None:
        self.inventory: Data | None = None
        self.plugin_data: Data = {}
        self._before_rules: Data = {}

    def take(self, inventory: Data, plugin_data: Data) -> None:
        """Take the data with which the inspection or a phase of it begins."""
        # Ironic replaces an empty mapping of plugin data by another one.
        self.inventory = inventory
        self.plugin_data = plugin_data

    def set_aside(self, before: Data, after: Data) -> None:
        """Keep the values of plugin data that rules have changed.

        :param before: as the rules of a phase found them.
        :param after: as they left them; a changed value is another object.
        """
        for name in before.keys() | after.keys():
            found = before.get(name, _ABSENT)
            if after.get(name, _ABSENT) is not found:
                self._before_rules.setdefault(name, found)

    def found_plugin_data(self) -> Data:
        """Return plugin data as rules found them, without the logs."""
        found = {}
        for name, value in {**self.plugin_data, **self._before_rules}.items():
            if value is not _ABSENT and name not in _NOT_KEPT:
                found[name] = value
        return found
