# SPDX-License-Identifier: Apache-2.0

"""Inspection data from the ramdisk: early rules come first."""

import time
from typing import Any

from ironic import api
from ironic.api.controllers.v1 import ramdisk
from ironic.api.controllers.v1 import utils as api_utils
from ironic.api.controllers.v1 import versions
from ironic.common import args
from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from ironic.drivers.modules import inspect_utils
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import inspection_queue
from ironic_inspection_rules.api import request
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.inspection import effects
from ironic_inspection_rules.inspection import keeping
from ironic_inspection_rules.inspection import limits
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.patches import controllers as stock
from ironic_inspection_rules.runs import record
from ironic_inspection_rules.runs import recorded_rule

LOG = log.getLogger(__name__)

AGENT_TOKEN = 'agent_token'
"""Member by which a ramdisk proves which machine it is, as in heartbeats."""

_MOST_ADDRESSES = 8
"""Maximum number of addresses of a machine in one line of a log."""

_LONGEST_NAME = 64
"""Maximum length of a serial number or an address in a log."""


def post() -> Any:
    """Process inspection data from the ramdisk, after the early rules.

    Whom Ironic's controller would refuse is refused before anything is read.

    :raises: RuleError if an early rule fails; nothing is looked up,
        enrolled or changed then.
    """
    # Ironic 35 does not have this option yet.
    if not getattr(CONF.api, 'enable_ramdisk_endpoints', True):
        raise ironic_exception.HTTPForbidden(resource=api.request.path)
    if not (api_utils.new_continue_inspection_endpoint()
            or (api_utils.allow_continue_inspection_endpoint()
                and api.request.GET.get('node_uuid') is None)):
        raise ironic_exception.NotFound(
            _('API version 1.%d or newer is required')
            % versions.MINOR_84_CONTINUE_INSPECTION)
    api_utils.check_policy('baremetal:driver:ipa_continue_inspection')
    node_uuid = request.query({'node_uuid': args.uuid})['node_uuid']
    data = stock.validated_inspection_data(request.ramdisk_data())
    inventory = data.pop('inventory')
    if CONF.inspection_queue.enabled:
        # Nothing else may see the token, which is a secret.
        token = data.pop(AGENT_TOKEN, None)
        inspection_queue.take_over(data, token)
    plugin_data = without_reserved(data)
    run_early_rules(api.request.context, inventory, plugin_data)
    return stock.post_inspection_data(
        ramdisk.ContinueInspectionController(),
        {**plugin_data, 'inventory': inventory}, node_uuid)


_NOT_FOR_THE_RAMDISK = (inspect_utils.AUTO_DISCOVERED_FLAG, trace.KEY,
                        record.EARLY_KEY)
"""Plugin data that only Ironic itself may set."""


def without_reserved(plugin_data: dict) -> dict:
    """Copy plugin data, without what only Ironic may say there."""
    return {name: value for name, value in plugin_data.items()
            if name not in _NOT_FOR_THE_RAMDISK}


def run_early_rules(context, inventory: dict, plugin_data: dict) -> None:
    """Run the rules of the early phase (spec 003 "Phases").

    :param plugin_data: is changed in place.
    :raises: :class:`.exceptions.RuleError` where a rule fails.
    """
    rules = start.rules().refresh(context)
    found = dict(plugin_data)
    target = working_copy.WorkingCopy(
        working_copy.Facts(inventory, plugin_data), effects.ServiceEffects())
    started = time.perf_counter()
    outcome = runner.run(rules.plans(model.EARLY), target, keep=True,
                         limits=limits.of(model.EARLY))
    seconds = time.perf_counter() - started
    keeping.phase_ended(model.EARLY, outcome, seconds, None, outcome.error)
    if outcome.error:
        LOG.info('The machine with %(machine)s is refused: %(error)s',
                 {'machine': _machine(inventory), 'error': outcome.error})
        raise outcome.error
    saving.update_plugin_data(target, plugin_data)
    outcome.record(plugin_data, model.EARLY)
    keep = bool(CONF.inspection_rules.keep_history)
    if not (outcome.traces or outcome.audited or keep):
        return
    kept = record.of_phase(outcome, seconds)
    if keep:
        back = checkpoint.difference(plugin_data, found)
        kept[record.EARLY_FOUND] = {
            **back, 'revision': rules.revision,
            'unset': [*back['unset'], inspect_utils.AUTO_DISCOVERED_FLAG]}
    plugin_data[record.EARLY_KEY] = {
        model.EARLY: kept,
        recorded_rule.EARLY_PLACES: {
            model.EARLY: recorded_rule.places_of(outcome)}}


def _machine(inventory: dict) -> str:
    """Return what an operator knows a machine by, for one line of a log.

    :param inventory: as the machine sent it; any value may be of any type.
    :returns: its serial number and the first addresses of its interfaces.
    """
    vendor = inventory.get('system_vendor')
    serial = vendor.get('serial_number') if isinstance(vendor, dict) else None
    interfaces = inventory.get('interfaces')
    if not isinstance(interfaces, list):
        interfaces = []
    addresses = [_name(interface.get('mac_address'))
                 for interface in interfaces[:_MOST_ADDRESSES]
                 if isinstance(interface, dict)]
    if len(interfaces) > _MOST_ADDRESSES:
        addresses.append(f'{len(interfaces) - _MOST_ADDRESSES} more')
    return (f'serial number {_name(serial)}, '
            f'addresses {", ".join(addresses) or "unknown"}')


def _name(value: Any) -> str:
    if not isinstance(value, str | int):
        return 'unknown'
    return exceptions.one_line(str(value)[:_LONGEST_NAME])
