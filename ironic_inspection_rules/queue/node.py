# SPDX-License-Identifier: Apache-2.0

"""The node of a request: its lock and its state.

Ironic's tasks lock a node with the name of their host. Deliveries use their
own names, as several run on one host.
"""

from collections.abc import Callable
import datetime
from typing import Any, NamedTuple

from ironic import objects
from ironic.common import context as ironic_context
from ironic.common import exception as ironic_exception
from ironic.common import states
from ironic.conductor import task_manager
from oslo_log import log
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import fence
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.runs import recorder

LOG = log.getLogger(__name__)

REAPPLICABLE = frozenset(
    {states.MANAGEABLE, states.INSPECTFAIL, states.AVAILABLE, states.ACTIVE}
)
"""Provision states in which hooks and rules may be reapplied."""

IN_INSPECTION = frozenset({states.INSPECTING, states.INSPECTWAIT})

_FRESH = frozenset({states.INSPECTWAIT, states.ENROLL})
"""States of a node whose data have been posted."""

_BEGUN = _FRESH | {states.INSPECTING, states.INSPECTFAIL}
"""States of a node after an attempt that did not finish.

A conductor that starts moves nodes from "inspecting" to "inspect failed". The
failed inspection is not a newer one: that would have ended the request, see
:meth:`.DatabaseQueue.supersede`.
"""

_TIMED_OUT = 'timeout reached while inspecting the node'
"""Part of ``last_error`` after a timeout by a conductor, in lower case."""

_MOST_OVERDUE = 500
"""Most overdue nodes that one round lists."""


class NodeCheck(NamedTuple):
    """Result of checking the state of a node for a request.

    ``done``: an earlier attempt has finished it, and only its end is left.
    ``obstacle``: why it must not be processed; the request fails for that.
    ``superseded``: the node is in a newer inspection, and stays as it is.
    None of them: it can be processed.
    """

    done: bool = False
    obstacle: str | None = None
    superseded: bool = False


class DeliveryTask(task_manager.TaskManager):
    """Ironic's task, with an exclusive lock in the name of a delivery.

    :param context: of Ironic.
    :param request: the delivery whose node to lock.
    :raises: NodeNotFound, NodeLocked
    """

    def __init__(self, context, request: queue_request.Request) -> None:
        self._holder = request.delivery
        # In this order: Ironic reads the node next, and what it reads must not
        # change any more.
        reserved = node_reservation.reserve(request.node_uuid, self._holder)
        # "shared", so that Ironic's task does not lock the node again. It
        # reads the node of another holder too, whom the error names.
        super().__init__(
            context,
            request.node_uuid,
            shared=True,
            load_driver=False,
            purpose='inspection request',
        )
        if not reserved:
            raise ironic_exception.NodeLocked(
                node=request.node_uuid, host=self.node.reservation
            )
        # Ironic's functions that need an exclusive lock look at this.
        self.shared = False

    @transaction.retried_on_lock_conflict
    def end(
        self,
        consume: Callable[[Any], queue_request.Request],
        store: recorder.Store | None = None,
    ) -> queue_request.Request:
        """Unlock the node, end its request and store its run, atomically.

        :param consume: ends the request in the given transaction; called
            again if the transaction is retried.
        :param store: stores the run of rules in the given transaction.
        :returns: the result of ``consume``.
        :raises: any error of the two; then nothing is changed.
        """
        # All transactions lock the node first, then the request. Another
        # order would cause deadlocks. The fence is suspended, as it would ask
        # at the commit for the lock that is released here.
        with fence.suspended(), transaction.writer() as session:
            unlocked = node_reservation.release(
                session, self.node.uuid, self._holder
            )
            if store is not None:
                store(session.connection())
            ended = consume(session)
        # A task that is not "shared" unlocks its node once more when it ends.
        # So release_resources raises an error if the lock was lost before.
        self.shared = unlocked
        return ended

    @transaction.retried_on_lock_conflict
    def settle(self, note: Callable[..., None]) -> None:
        """Unlock the node, and store that it is in a final state.

        :param note: called with the transaction; see
            :meth:`.DatabaseQueue.settle`.
        """
        with fence.suspended(), transaction.writer() as session:
            self.shared = node_reservation.release(
                session, self.node.uuid, self._holder
            )
            note(transaction=session)

    def release_resources(self) -> None:
        """Unlock the node, unless :meth:`end` or :meth:`settle` has.

        :raises: NodeLocked, NodeNotLocked if another holder has the lock, or
            nobody.
        """
        if not self.shared:
            # First: Ironic's method below would unlock a node that is not
            # shared, in the name of the host.
            self.shared = True
            try:
                objects.Node.release(self.context, self._holder, self.node.id)
            except ironic_exception.NodeNotFound:
                LOG.debug(
                    'Node %s was deleted while it was locked', self.node_id
                )
        super().release_resources()


def lock(
    requests: database_queue.DatabaseQueue, request: queue_request.Request
) -> DeliveryTask:
    """Lock the node of a request; a lock of a dead worker is taken away.

    :param requests: the queue of the request, which knows whose worker died.
    :returns: Ironic's task, whose ``release_resources`` unlocks the node.
    :raises: NodeBusy if somebody else has locked it, NodeGone
    """
    context = ironic_context.get_admin_context()
    is_again = False
    while True:
        try:
            return DeliveryTask(context, request)
        except ironic_exception.NodeNotFound as exc:
            raise exceptions.NodeGone(str(exc)) from exc
        except ironic_exception.NodeLocked as exc:
            # Unlocked once at most: whoever was faster then is at work.
            if is_again or not _unlock_dead_holder(context, requests, request):
                raise exceptions.NodeBusy(str(exc)) from exc
        is_again = True


def _unlock_dead_holder(
    context,
    requests: database_queue.DatabaseQueue,
    request: queue_request.Request,
) -> bool:
    """Unlock the node of a request if a dead worker has locked it.

    Every time a worker takes a request is a delivery, in whose name it locks
    the node. A delivery has ended if its worker died or was given up: then the
    worker will not unlock the node itself.

    :returns: false if the holder of the lock may be at work. True if nobody
        held the lock, or a dead worker did: it is worth while to try to lock
        the node, though another worker may be faster.
    """
    node = objects.Node.get_by_uuid(context, request.node_uuid)
    if node.reservation is None:
        # Unlocked since the attempt to lock it.
        return True
    return unlock_if_over(requests, node.uuid, holder=node.reservation)


def unlock_if_over(
    requests: database_queue.DatabaseQueue, node_uuid: str, holder: str
) -> bool:
    """Unlock a node if its lock is that of a delivery which has ended.

    :param holder: the ``reservation`` of the node.
    :returns: whether it is that of a delivery which has ended. The node may
        still be locked, for instance by another holder who was faster.
    """
    if not holder.startswith(queue_request.DELIVERY_PREFIX):
        return False
    if requests.is_held(node_uuid, holder):
        return False
    if node_reservation.unlock(node_uuid, holder):
        LOG.warning(
            'Node %(node)s is unlocked, its worker died or was given '
            'up: %(holder)s',
            {'node': node_uuid, 'holder': holder},
        )
    return True


def check(node, request: queue_request.Request) -> NodeCheck:
    """Check whether a request can be processed in the state of its node.

    Each event has its states. At the first attempt at posted data, the node
    waits for them, in "inspect wait", or was just discovered, in "enroll".
    """
    present = node.provision_state
    if request.event == queue_request.TIMEOUT:
        # A node that waits no longer was failed already, or its data came.
        return NodeCheck(done=present != states.INSPECTWAIT)
    is_waiting = present == states.INSPECTWAIT
    if request.event == queue_request.REAPPLY:
        if present in IN_INSPECTION:
            # An inspection that has begun since brings data of its own.
            return NodeCheck(superseded=True)
        allowed = REAPPLICABLE
    elif is_waiting and not _is_of_inspection(node, request):
        return NodeCheck(superseded=True)
    elif request.event == queue_request.POWER_ON:
        allowed = frozenset({states.INSPECTWAIT})
    elif request.state == state.PROCESSING:
        # Posted data, of which an earlier attempt has begun.
        if present == states.MANAGEABLE:
            # Only a finished inspection leads there from "inspecting".
            return NodeCheck(done=True)
        allowed = _BEGUN
    else:
        # The first attempt at posted data.
        allowed = _FRESH
        is_accepted = request.inspection_began_at is not None
        has_failed = present == states.INSPECTFAIL
        if is_accepted and has_failed and has_timed_out(node):
            # The data were accepted after a conductor had listed the node as
            # overdue, and before it failed the node.
            return NodeCheck()
    if present in allowed:
        return NodeCheck()
    return NodeCheck(obstacle=_('the node is in state "%s"') % present)


def has_timed_out(node) -> bool:
    """Return whether the last error of a node is that of a timeout."""
    return _TIMED_OUT in (node.last_error or '').lower()


def _is_of_inspection(node, request: queue_request.Request) -> bool:
    """Return whether a node in "inspect wait" is in a request's inspection.

    Accepting the request has removed ``inspection_started_at``. If there is
    another time, it is that of a newer inspection.
    """
    started = node.inspection_started_at
    began = request.inspection_began_at
    if started is None or began is None:
        return True
    return bool(timeutils.normalize_time(started) == began)


def is_left_over(node, request: queue_request.Request) -> bool:
    """Return whether an ended request has left its node in inspection."""
    if node.provision_state != states.INSPECTWAIT:
        return node.provision_state == states.INSPECTING
    if node.inspection_started_at is None:
        # Accepting the request has stopped the clock of the node.
        return True
    if request.inspection_began_at is None:
        # The clock runs, and may be that of a newer inspection.
        return False
    return _is_of_inspection(node, request)


def list_overdue(context, timeout: float) -> list[str]:
    """List the UUIDs of nodes that are in "inspect wait" for too long.

    :param timeout: seconds that a node may wait.
    """
    filters = {
        'provision_state': states.INSPECTWAIT,
        'inspection_started_before': timeout,
        'include_children': True,
    }
    nodes = objects.Node.list(
        context,
        fields=['uuid'],
        filters=filters,
        limit=_MOST_OVERDUE,
        sort_key='inspection_started_at',
    )
    return [node.uuid for node in nodes]


def is_overdue(node, timeout: float) -> bool:
    """Return whether a node has waited for its data for too long.

    :param timeout: seconds that a node may wait.
    """
    started = node.inspection_started_at
    if started is None:
        return False
    end = timeutils.normalize_time(started) + datetime.timedelta(
        seconds=timeout
    )
    return bool(end < timeutils.utcnow())
