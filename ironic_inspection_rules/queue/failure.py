# SPDX-License-Identifier: Apache-2.0

"""Records on a node that its inspection request has failed.

A node in inspection goes to "inspect failed", its ``last_error`` gets the
reason, and Ironic removes the boot and network settings of the inspection; see
:func:`fail_node` for other nodes. An
*external error* comes e.g. from the database or the message broker, see
:mod:`.external_error`: if one of them is out of order, nothing is wrong with
the request, which is tried again.
"""

from typing import Any

from ironic.common import exception as ironic_exception
from ironic.common import states
from ironic.conductor import utils as conductor_utils
from oslo_db import exception as db_exc
from oslo_log import log
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.queue import external_error
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request

LOG = log.getLogger(__name__)

_ERRORS_OF_STORING = (
    db_exc.DBError,
    db_exc.DBInvalidUnicodeParameter,
    sa.exc.SQLAlchemyError,
    UnicodeError,
)
"""Errors of storing a text: of oslo.db, SQLAlchemy and the driver."""


def fail_node(task: Any, request: queue_request.Request, reason: str) -> None:
    """Record on a node that its request has failed, and why.

    * A node in inspection goes to "inspect failed", and its last error has the
      reason.
    * A node keeps its state and only gets the reason if data were reapplied to
      it, if auto-discovery has just enrolled it, or if it has failed without a
      reason.
    * Any other node is not changed, because its inspection has already ended.

    :param task: a task of Ironic that has locked the node.
    :param reason: why the request has failed.
    :raises: external errors, e.g. of the database. In this case a node
        in inspection has not failed yet.
    """
    node = task.node
    message = _('Inspection request %(request)s failed: %(reason)s') % {
        'request': request.uuid,
        'reason': reason,
    }
    provision_state = node.provision_state
    if provision_state in queue_node.IN_INSPECTION:
        _fail_inspection(task, message)
        return
    if request.event == queue_request.REAPPLY or (
        provision_state == states.ENROLL
    ):
        conductor_utils.node_history_record(
            node, event=message, event_type=states.INTROSPECTION, error=True
        )
        node.save()
        return
    if provision_state == states.INSPECTFAIL and node.last_error is None:
        # The reason was removed when the machine was powered off.
        prepend_to_last_error(node, message)


def _fail_inspection(task: Any, message: str) -> None:
    """Bring a node in inspection to "inspect failed".

    :param message: why the inspection failed.
    :raises: external errors, e.g. of the database. In this case the
        node has not failed yet.
    """
    _clean_up(task, message)
    if task.node.provision_state in queue_node.IN_INSPECTION:
        task.process_event('fail', last_error=message)
    else:
        # Ironic could not clean up, and has therefore failed the node itself,
        # with the error of the clean-up.
        prepend_to_last_error(task.node, message)


def prepend_to_last_error(node: Any, reason: str) -> None:
    """Store why an inspection failed in the last error of a node.

    * If the last error already has this reason, nothing is changed.
    * If the node has no last error, the reason becomes its last error.
    * Otherwise the last error is a later one: the clean-up after the failure
      has failed as well, and Ironic keeps only that error. Both are kept, as
      ``<reason>. Also: <last error>``.
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


def find_reason(exc: Exception) -> str:
    """Return why an attempt failed, as text that can be stored.

    The reason is the text of the error, or the name of its type if it has no
    text.

    An error of storing is only a follow-up: Ironic could not store the text of
    an earlier error, e.g. because the text has an invalid character. In this
    case the earlier error, which is among the causes, is the reason.

    :param exc: the error that ended the attempt.
    """
    # The error itself comes first, then its causes.
    reasons = (
        error
        for error in external_error.walk_causes(exc)
        if not isinstance(error, _ERRORS_OF_STORING)
    )
    reason = next(reasons, exc)
    text = str(reason) or type(reason).__name__
    return exceptions.make_storable(text)


def _clean_up(task: Any, message: str) -> None:
    """Remove the boot and network settings of the inspection of a node.

    The reason of the failure is also recorded in the history of the node.
    Ironic's error handler does both. It may also fail the node, if it cannot
    remove the settings.

    :param message: why the inspection failed.
    :raises: external errors, e.g. of the database. Other errors are
        only logged, because the caller must fail the node nevertheless.
    """
    try:
        task.load_driver()
    except ironic_exception.IronicException:
        LOG.exception(
            'Cannot clean up after the inspection of node %s', task.node.uuid
        )
        # Only record the reason: without a driver, nothing can be removed.
        conductor_utils.node_history_record(
            task.node,
            event=message,
            event_type=states.INTROSPECTION,
            error=True,
        )
        return
    try:
        conductor_utils.inspecting_error_handler(task, message, errmsg=message)
    # Catch everything, because a driver may raise any error.
    except Exception as exc:
        if external_error.is_external(exc):
            raise
        LOG.exception(
            'Cannot clean up after the inspection of node %s', task.node.uuid
        )
