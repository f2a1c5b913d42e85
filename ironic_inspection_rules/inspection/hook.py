# SPDX-License-Identifier: Apache-2.0

"""The inspection hook: rules of the preprocess phase."""

from ironic.drivers.modules.inspector.hooks import base

from ironic_inspection_rules.inspection import announcement
from ironic_inspection_rules.inspection import start


class InspectionRulesHook(base.InspectionHook):
    """Runs the rules of the preprocess phase; belongs last in the list.

    So they come after the preprocess of all hooks (spec 003 "Phases"). Rules
    of the main phase run where Ironic applies its own, wherever in the list
    the hook is.
    """

    def __init__(self) -> None:
        self._runner = start.conductor()
        announcement.announce(announcement.HOOK, start.rules())

    def preprocess(self, task, inventory, plugin_data) -> None:
        """Run the rules of the preprocess phase."""
        self._runner.preprocess(task, inventory, plugin_data)

    def __call__(self, task, inventory, plugin_data) -> None:
        """Do nothing; the main phase comes after all hooks."""
