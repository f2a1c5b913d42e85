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

"""Inspection data from the ramdisk: early rules come first."""

from http import client as http_client
import inspect

from ironic import api
from ironic.api.controllers.v1 import ramdisk
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from ironic.drivers.modules import inspect_utils

from ironic_inspection_rules.adapters import effects
from ironic_inspection_rules.adapters import intake
from ironic_inspection_rules.adapters import start
from ironic_inspection_rules.adapters import target as adapters_target
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.engine import trace

_stock_post = inspect.unwrap(ramdisk.ContinueInspectionController.post)


class ContinueInspectionController(base.RestController):
    """Ironic's own controller, after the early rules.

    :param requests: where data go that are not for a conductor, None if
        they all are.
    """

    def __init__(self, requests: intake.Intake | None = None) -> None:
        super().__init__()
        self._stock = ramdisk.ContinueInspectionController()
        self._requests = requests

    @base.expose(status_code=http_client.ACCEPTED)
    def post(self):
        """Process inspection data from the ramdisk.

        :raises: RuleError if an early rule fails; nothing is looked up,
            enrolled or changed then.
        """
        node_uuid = request.query({'node_uuid': args.uuid})['node_uuid']
        data = ramdisk.DATA_VALIDATOR('data', request.ramdisk_data())
        _check_access()
        inventory = data.pop('inventory')
        plugin_data = without_reserved(data)
        run_early_rules(api.request.context, inventory, plugin_data)
        if self._requests is not None:
            api.request.rpcapi = intake.Reception(
                api.request.rpcapi, self._requests, posted=data)
        return _stock_post(
            self._stock, {**plugin_data, 'inventory': inventory}, node_uuid)


_NOT_FOR_THE_RAMDISK = (inspect_utils.AUTO_DISCOVERED_FLAG, trace.KEY)
"""What plugin data may say of the machine only on Ironic's own authority."""


def without_reserved(plugin_data: dict) -> dict:
    """Copy plugin data, without what only Ironic may say there."""
    return {name: value for name, value in plugin_data.items()
            if name not in _NOT_FOR_THE_RAMDISK}


def run_early_rules(context, inventory: dict, plugin_data: dict) -> None:
    """Run the rules of the early phase (spec 003 "Phases").

    :param plugin_data: is changed in place.
    :raises: :class:`.exceptions.RuleError` where a rule fails.
    """
    rules = start.rules()
    rules.refresh(context)
    target = engine_target.Target(
        engine_target.Facts(inventory, plugin_data),
        effects.ServiceEffects())
    outcome = runner.run(rules.plans(model.EARLY), target)
    if outcome.error:
        raise outcome.error
    adapters_target.update_plugin_data(target, plugin_data)
    outcome.record(plugin_data, model.EARLY)


def _check_access() -> None:
    """Refuse whom Ironic's controller would, before any rule runs."""
    # Ironic 35 does not have this option yet.
    if not getattr(CONF.api, 'enable_ramdisk_endpoints', True):
        raise ironic_exception.HTTPForbidden(resource=api.request.path)
    if not api_utils.allow_continue_inspection_endpoint():
        raise ironic_exception.NotFound()
    api_utils.check_policy('baremetal:driver:ipa_continue_inspection')
