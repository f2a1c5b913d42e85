# SPDX-License-Identifier: Apache-2.0

"""The state of a node, as far as it decides about inspection requests."""

import datetime

from ironic import objects
from ironic.common import states
from oslo_utils import timeutils

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state

REAPPLICABLE = frozenset({states.MANAGEABLE, states.INSPECTFAIL,
                          states.AVAILABLE, states.ACTIVE})
"""Provision states of nodes that hooks and rules may be run for again."""

IN_INSPECTION = frozenset({states.INSPECTING, states.INSPECTWAIT})

_FRESH = frozenset({states.INSPECTWAIT, states.ENROLL})
"""States of a node whose data have just been posted."""

_BEGUN = _FRESH | {states.INSPECTING, states.INSPECTFAIL}
"""States of a node that a worker may have left behind.

A conductor that starts moves nodes from "inspecting" to "inspect failed". It
cannot be that a newer inspection has failed: when that began, the request was
ended, see :meth:`.DatabaseQueue.supersede`.
"""

_TIMED_OUT = 'timeout reached while inspecting the node'
"""How the reason begins for which a conductor fails nodes, in lower case."""

_MOST_OVERDUE = 500
"""How many overdue nodes one round looks at."""


def check(node, request: queue_request.Request) -> delivery.NodeCheck:
    """Check whether a request can be processed in the state of its node."""
    present = node.provision_state
    if request.event == queue_request.TIMEOUT:
        return delivery.NodeCheck(done=present != states.INSPECTWAIT)
    begun = request.state == state.PROCESSING
    if request.event == queue_request.REAPPLY:
        allowed = REAPPLICABLE
    elif present == states.INSPECTWAIT and not _is_of_inspection(node,
                                                                 request):
        return delivery.NodeCheck(superseded=True)
    elif request.event == queue_request.POWER_ON:
        allowed = frozenset({states.INSPECTWAIT})
    elif begun:
        # Only a finished inspection leads from inspecting to manageable.
        if present == states.MANAGEABLE:
            return delivery.NodeCheck(done=True)
        allowed = _BEGUN
    elif _has_timed_out(node, request):
        allowed = _BEGUN
    else:
        allowed = _FRESH
    if present in allowed:
        return delivery.NodeCheck()
    return delivery.NodeCheck(obstacle=_('the node is in state "%s"')
                              % present)


def _is_of_inspection(node, request: queue_request.Request) -> bool:
    """Return whether a node waits for data in the inspection of a request.

    Its clock was stopped when they came; that of a newer inspection runs.
    """
    started, began = node.inspection_started_at, request.inspection_began_at
    return (started is None or began is None
            or timeutils.normalize_time(started) == began)


def _has_timed_out(node, request: queue_request.Request) -> bool:
    """Return whether a conductor has failed a node with accepted data.

    It looks for such nodes first, and fails them then: meanwhile they may
    have been accepted.
    """
    return (node.provision_state == states.INSPECTFAIL
            and request.inspection_began_at is not None
            and _TIMED_OUT in (node.last_error or '').lower())


def is_left_over(node, request: queue_request.Request) -> bool:
    """Return whether only an ended request keeps a node in inspection."""
    if node.provision_state == states.INSPECTWAIT:
        return node.inspection_started_at is None or (
            request.inspection_began_at is not None
            and _is_of_inspection(node, request))
    return node.provision_state == states.INSPECTING


def list_overdue(context, timeout: float) -> list[str]:
    """List the UUIDs of nodes that are in "inspect wait" for too long.

    :param timeout: seconds that are not too long.
    """
    return [node.uuid for node in objects.Node.list(
        context, fields=['uuid'],
        filters={'provision_state': states.INSPECTWAIT,
                 'inspection_started_before': timeout,
                 'include_children': True},
        limit=_MOST_OVERDUE, sort_key='inspection_started_at')]


def is_overdue(node, timeout: float) -> bool:
    """Return whether a node has waited for its data for too long.

    :param timeout: seconds that are not too long.
    """
    started = node.inspection_started_at
    if started is None:
        return False
    return (timeutils.normalize_time(started)
            + datetime.timedelta(seconds=timeout) < timeutils.utcnow())
