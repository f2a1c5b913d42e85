# SPDX-License-Identifier: Apache-2.0

"""What a node shows after its request failed, and the clean-up."""

from typing import Any

from ironic.common import exception as ironic_exception
from ironic.common import states
from ironic.conductor import utils as conductor_utils
from oslo_db import exception as db_exc
from oslo_log import log
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import surroundings

LOG = log.getLogger(__name__)

_OF_STORING = (
    db_exc.DBError,
    db_exc.DBInvalidUnicodeParameter,
    sa.exc.SQLAlchemyError,
    UnicodeError,
)
"""Errors of storing a text: of oslo.db, SQLAlchemy and the driver."""


def fail_node(task: Any, request: queue_request.Request, reason: str) -> None:
    """Record on a node that its request has failed, and why.

    A node in inspection goes to "inspect failed", and its last error says
    why. A node keeps its state and only gets the reason if data were
    reapplied to it, if auto-discovery has just enrolled it, or if it has
    failed without a reason. Any other node stays as it is: its inspection has
    ended before.

    :raises: errors of the surroundings, after which a node in inspection is
        not failed yet.
    """
    node = task.node
    message = _('Inspection request %(request)s failed: %(reason)s') % {
        'request': request.uuid,
        'reason': reason,
    }
    if node.provision_state in queue_node.IN_INSPECTION:
        _clean_up(task, message)
        # Ironic fails a node itself where it cannot clean up.
        if node.provision_state in queue_node.IN_INSPECTION:
            task.process_event('fail', last_error=message)
        else:
            put_first(node, message)
    elif (
        request.event == queue_request.REAPPLY
        or node.provision_state == states.ENROLL
    ):
        conductor_utils.node_history_record(
            node, event=message, event_type=states.INTROSPECTION, error=True
        )
        node.save()
    elif (
        node.provision_state == states.INSPECTFAIL and node.last_error is None
    ):
        # Powering off has removed the reason.
        put_first(node, message)


def put_first(node: Any, reason: str) -> None:
    """Put the first cause of a failure before the last error of a node.

    Where cleaning up fails as well, Ironic leaves only the reason of that in
    ``last_error``.
    """
    later_error = node.last_error
    if later_error is not None and reason in later_error:
        return
    if later_error is None:
        node.last_error = reason
    else:
        node.last_error = _('%(reason)s. Also: %(other)s') % {
            'reason': reason.rstrip('.'),
            'other': later_error,
        }
    node.save()


def reason_of(exc: Exception) -> str:
    """Return why an attempt failed, as text that can be stored.

    Where Ironic could not store the text of an error, an error of storing
    follows. It says nothing of the first one, which is among its causes.
    """
    reason: BaseException = exc
    if isinstance(exc, _OF_STORING):
        for earlier in surroundings.chain(exc):
            if not isinstance(earlier, _OF_STORING):
                reason = earlier
                break
    # Some have no text of their own.
    return exceptions.storable(str(reason) or type(reason).__name__)


def _clean_up(task: Any, message: str) -> None:
    """Remove boot and network settings of inspection; record the reason.

    :raises: errors of the surroundings; others are logged.
    """
    try:
        task.load_driver()
    except ironic_exception.IronicException:
        LOG.exception(
            'Cannot clean up after the inspection of node %s', task.node.uuid
        )
        # What cleans up would have recorded it, but needs the driver.
        conductor_utils.node_history_record(
            task.node,
            event=message,
            event_type=states.INTROSPECTION,
            error=True,
        )
        return
    try:
        conductor_utils.inspecting_error_handler(task, message, errmsg=message)
    # The node fails nevertheless.
    except Exception as exc:
        if surroundings.are_to_blame(exc):
            raise
        LOG.exception(
            'Cannot clean up after the inspection of node %s', task.node.uuid
        )
