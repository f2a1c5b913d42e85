# SPDX-License-Identifier: Apache-2.0

"""Takes the inspection data that a ramdisk posts.

The data are an inventory and plugin data. The rules of the *early* phase run
here, before it is known which node has sent the data. They may change the
plugin data. After that, Ironic finds the node and inspects it.
"""

from collections.abc import Callable
import functools
from typing import Any

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils
from ironic.api.controllers.v1 import versions
from ironic.common import args
from ironic.common import exception as ironic_exception
from ironic.conf import CONF

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import inspection_queue
from ironic_inspection_rules.api import request
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import early_phase
from ironic_inspection_rules.objects import early_phase as early_phase_object
from ironic_inspection_rules.patches import controllers as stock

AGENT_TOKEN = 'agent_token'
"""Member with which a ramdisk proves its identity, as in heartbeats."""

_PATH = '/v1/continue_inspection'


def bypass_middleware(guarded: Callable, layered: Callable) -> Callable:
    """Return an application that spares posted data most WSGI layers.

    Posted inspection data pass only the guard, which limits bodies. All other
    requests also pass the layers for ironic-inspector's calls and for long
    answers.

    :param guarded: Ironic's WSGI application within the guard only.
    :param layered: the same application within all layers.
    :returns: an application that chooses between them by the path.
    """

    def choose(environ: dict[str, Any], start_response: Callable) -> Any:
        if environ.get('PATH_INFO') == _PATH:
            return guarded(environ, start_response)
        return layered(environ, start_response)

    return choose


def post() -> Any:
    """Answer ``POST /v1/continue_inspection``: take data from a ramdisk.

    These are the steps:

    1. A caller that Ironic's controller would refuse is refused, before any
       data are read.
    2. The body is parsed and validated.
    3. The early rules run, and may change the plugin data.
    4. Ironic's controller finds the node, and hands the data to a conductor.
       With durable inspection, they are put into the queue instead.

    :returns: the answer of Ironic's controller.
    :raises: RuleError if an early rule fails. In this case no node is looked
        up, enrolled or changed.
    """
    _check_caller()
    node_uuid = request.parse_query({'node_uuid': args.uuid})['node_uuid']
    # A missing body is treated as an empty object, so the error is that it has
    # no inventory.
    document: Any = {}
    if api.request.body:
        document = request.parse(api.request.body, lenient=True)
    if not isinstance(document, dict):
        raise exceptions.InvalidBody(
            [exceptions.Problem('', request.NO_OBJECT)]
        )
    data = stock.validate_inspection_data(document)
    inventory = data.pop('inventory')
    token = None
    if CONF.inspection_queue.enabled:
        # The queue compares the token with that of the node. The token is a
        # secret, so it is removed from the data, which are stored and read by
        # rules.
        token = data.pop(AGENT_TOKEN, None)
    # Run the early rules. Their record is kept with the run of all rules; it
    # is None if there is nothing to keep.
    plugin_data, early_record = early_phase.run(
        api.request.context, inventory, data
    )
    # The function that Ironic's controller calls when it has found the node,
    # instead of ConductorAPI.continue_inspection(). None to call Ironic's own
    # method.
    hand_over: Callable[..., None] | None = None
    if CONF.inspection_queue.enabled:
        hand_over = functools.partial(
            inspection_queue.put_instead, data, early_record, token
        )
    elif early_record is not None:
        hand_over = functools.partial(
            _store_and_hand_over,
            early_record,
            api.request.rpcapi.continue_inspection,
        )
    return stock.post_inspection_data(
        {**plugin_data, 'inventory': inventory}, node_uuid, hand_over
    )


def _check_caller() -> None:
    """Check, as Ironic's controller does, that the caller may post data.

    :raises: HTTPForbidden if the call is disabled, or if the policy does not
        allow it; NotFound if the requested version of the API does not have
        the call.
    """
    # Ironic 35 does not have this option.
    if not getattr(CONF.api, 'enable_ramdisk_endpoints', True):
        raise ironic_exception.HTTPForbidden(resource=api.request.path)
    is_in_version = api_utils.new_continue_inspection_endpoint()
    if not is_in_version and api.request.GET.get('node_uuid') is None:
        # A ramdisk made for ironic-inspector requests no version, which means
        # 1.1, and does not name a node. The versions between 1.1 and 1.84 do
        # not have the call.
        is_in_version = api_utils.allow_continue_inspection_endpoint()
    if not is_in_version:
        raise ironic_exception.NotFound(
            _('API version 1.%d or newer is required')
            % versions.MINOR_84_CONTINUE_INSPECTION
        )
    api_utils.check_policy('baremetal:driver:ipa_continue_inspection')


def _store_and_hand_over(
    early_record: early_phase.Kept,
    hand_to_conductor: Callable[..., None],
    context: Any,
    node_id: str,
    *args: Any,
    **kwargs: Any,
) -> None:
    """Store what early rules did, then hand the data to the conductor.

    Ironic's controller calls this when it has found the node. The record of
    the early rules cannot be stored earlier, because it belongs to the node.

    :param early_record: the record of the early rules, see
        :mod:`.inspection.early_phase`.
    :param hand_to_conductor: ``ConductorAPI.continue_inspection``, called
        with all arguments that follow.
    """
    # Store it first, because the conductor begins the inspection immediately,
    # and then reads it.
    early_phase_object.EarlyPhase.put(context, node_id, early_record)
    hand_to_conductor(context, node_id, *args, **kwargs)
