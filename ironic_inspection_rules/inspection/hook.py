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
