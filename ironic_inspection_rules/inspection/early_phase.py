# SPDX-License-Identifier: Apache-2.0

"""The early phase, in which rules run before the node is known.

The API runs the early phase, and a conductor or a worker runs the rest of the
inspection and stores the run. Therefore the API stores what the early rules
did, and the conductor reads it. These *kept* data are JSON:

``record``
    What the rules did, see :mod:`.runs.phase_record`.
``places``
    Where sensitive rules set values, see :func:`.recorded_rule.places_of`.
``found``
    How to get from the plugin data after the phase back to the plugin data
    before it: values to ``set``, names to ``unset``, and the ``revision`` of
    the rules. The history of inspections needs the data before the phase. None
    if no history is kept.
"""

from collections.abc import Mapping
import time
from typing import Any

from ironic.conf import CONF
from ironic.drivers.modules import inspect_utils
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.inspection import rule_counter
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.inspection import side_effects
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import metrics
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_rule

LOG = log.getLogger(__name__)

Kept = Mapping[str, Any]
"""What the early rules did, with the three keys above."""

_RESERVED = (inspect_utils.AUTO_DISCOVERED_FLAG, trace.KEY)
"""Names in plugin data that only Ironic and this project may set.

They tell that the node was auto-discovered, and what rules did.
"""

_MOST_ADDRESSES = 8
"""Maximum number of addresses of a machine in one line of a log."""

_LONGEST_NAME = 64
"""Maximum length of a serial number or an address in a log."""


def run(
    context: Any, inventory: dict, posted: dict
) -> tuple[dict, Kept | None]:
    """Run the rules of the early phase (spec 003 "Phases").

    :param posted: the plugin data that the machine posted; not changed.
    :returns: two values. The first is a copy of the plugin data, with the
        changes of the rules and the list of those that matched. Reserved names
        that the machine sent are left out. The second is the data to keep for
        the conductor; None if there are none.
    :raises: :class:`.exceptions.RuleError` if a rule fails, or if the action
        ``fail`` runs. The machine is then refused.
    """
    rules = start.rules()
    in_force = rules.refresh(context)
    plugin_data_before = {
        name: value for name, value in posted.items() if name not in _RESERVED
    }
    # A shallow copy suffices, because rules replace values and never change
    # them in place.
    plugin_data = dict(plugin_data_before)
    target = working_copy.WorkingCopy(
        working_copy.Facts(inventory, plugin_data),
        side_effects.ServiceEffects(),
    )
    started = time.perf_counter()
    outcome = runner.run(
        in_force.plans[model.EARLY],
        target,
        keep=True,
        limits=rules.limits[model.EARLY],
    )
    seconds = time.perf_counter() - started
    # None, because the node is not known yet.
    rule_counter.get_counter().count(outcome, None, outcome.error)
    metrics.send_phase(model.EARLY, outcome.error is None, seconds)
    if outcome.error:
        LOG.info(
            'The machine with %(machine)s is refused: %(error)s',
            {
                'machine': _describe_machine(inventory),
                'error': outcome.error,
            },
        )
        raise outcome.error
    # Make the changes of the rules, and add which rules matched.
    saving.update_plugin_data(target, plugin_data)
    outcome.record(plugin_data, model.EARLY)
    # Keep for the conductor what the rules did.
    keep_history = bool(CONF.inspection_rules.keep_history)
    is_any_rule_recorded = bool(outcome.traces or outcome.audited)
    if not is_any_rule_recorded and not keep_history:
        return plugin_data, None
    difference = None
    if keep_history:
        difference = _difference_to_before(
            plugin_data, plugin_data_before, in_force.revision
        )
    kept = {
        'record': phase_record.build(outcome, seconds),
        'places': recorded_rule.places_of(outcome),
        'found': difference,
    }
    return plugin_data, kept


def rebuild_facts_before(
    difference: Mapping[str, Any], inventory: dict, plugin_data: dict
) -> dict[str, str]:
    """Return the facts before the early phase, for the history.

    This undoes the changes of the early rules in a copy of the plugin data.

    :param difference: the kept ``found``: the values to ``set`` and the names
        to ``unset`` in the plugin data, and the ``revision`` of the rules.
    :param plugin_data: the plugin data after the early phase.
    :returns: the facts as JSON texts, see :func:`.history.facts_of`.
    """
    plugin_data_before = {
        name: value
        for name, value in plugin_data.items()
        if name not in difference['unset']
    }
    plugin_data_before.update(difference['set'])
    return history.facts_of(
        working_copy.Facts(inventory, plugin_data_before),
        revision=difference['revision'],
    )


def _difference_to_before(
    after: dict, before: dict, revision: int | None
) -> dict[str, Any]:
    """Return how to undo the changes of early rules in the plugin data.

    The conductor gets the plugin data after the phase, but the history needs
    the plugin data before it. Only the difference is kept, because it is
    smaller. For example, if rules have added ``rack`` and changed ``row`` from
    1 to 2, the difference is ``{'set': {'row': 1}, 'unset': ['rack', …],
    'revision': 3}``.

    :param after: the plugin data after the phase.
    :param before: the plugin data before the phase.
    :param revision: the revision of the rules that ran.
    :returns: the difference, which :func:`rebuild_facts_before` applies.
    """
    to_before = checkpoint.difference(after, before)
    values = to_before['set']
    # If the history masks secrets, do not store them here either.
    is_kept_masked = disclosure.is_kept_masked(
        CONF.inspection_rules.mask_secrets
    )
    if is_kept_masked:
        values = disclosure.mask_data(values)
    # Ironic adds this flag after the phase and before the conductor reads the
    # data. It was not there before the phase, so it must be removed, too.
    unset = [*to_before['unset'], inspect_utils.AUTO_DISCOVERED_FLAG]
    return {'set': values, 'unset': unset, 'revision': revision}


def _describe_machine(inventory: dict) -> str:
    """Return the serial number and some MAC addresses of a machine, for a log.

    For example, ``serial number C7X, addresses 52:54:00:00:00:01, 3 more``.

    :param inventory: the inventory that the machine sent. It is not validated,
        so any value may be of any type.
    """
    vendor = inventory.get('system_vendor')
    serial = None
    if isinstance(vendor, dict):
        serial = vendor.get('serial_number')
    interfaces = inventory.get('interfaces')
    if not isinstance(interfaces, list):
        interfaces = []
    # Limit the number, because an unknown machine chooses how many it sends.
    addresses = []
    for interface in interfaces[:_MOST_ADDRESSES]:
        if isinstance(interface, dict):
            addresses.append(_shorten_name(interface.get('mac_address')))
    if len(interfaces) > _MOST_ADDRESSES:
        addresses.append(f'{len(interfaces) - _MOST_ADDRESSES} more')
    return (
        f'serial number {_shorten_name(serial)}, '
        f'addresses {", ".join(addresses) or "unknown"}'
    )


def _shorten_name(value: Any) -> str:
    """Return a serial number or an address, in one line and shortened.

    :returns: ``unknown`` if the value is neither text nor a number, or if the
        text is blank.
    """
    if not isinstance(value, str | int):
        return 'unknown'
    name = str(value).strip()[:_LONGEST_NAME]
    return exceptions.to_one_line(name) or 'unknown'
