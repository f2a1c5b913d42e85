# SPDX-License-Identifier: Apache-2.0

"""The node of a request: its lock and its state.

A node is locked by a name in its field ``reservation``. Ironic's own tasks use
the name of their host. A delivery, i.e. a single time that a worker has taken
a request, uses its unique name, e.g. ``inspection-request:<uuid>:3``, because
several deliveries run on one host. If a delivery ends without unlocking its
node, e.g. because its worker dies, the name shows that the lock may be
removed.
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

When a conductor starts, it moves nodes from "inspecting" to "inspect failed".
In this case the failed inspection is not a newer one, because a newer one
would have ended the request, see :meth:`.DatabaseQueue.supersede`.
"""

_TIMED_OUT = 'timeout reached while inspecting the node'
"""Part of ``last_error`` after a timeout by a conductor, in lower case."""

_MOST_OVERDUE = 500
"""Maximum number of overdue nodes that one round lists."""


class NodeCheck(NamedTuple):
    """What the state of a node means for a request.

    ``done``
        An earlier attempt has done the work, so the request only has to end.
    ``obstacle``
        Why the request cannot be processed and must fail.
    ``superseded``
        The node is in a newer inspection, so the request must end without a
        change of the node.

    At most one of them is set. If none is, the request can be processed.
    """

    done: bool = False
    obstacle: str | None = None
    superseded: bool = False


class DeliveryTask(task_manager.TaskManager):
    """Ironic's task, with an exclusive lock in the name of a delivery.

    Ironic's code takes the task for one of its own. ``shared`` is Ironic's
    attribute of tasks: True means that the task does not hold the lock of the
    node, so that there is nothing to unlock.

    :param context: Ironic's context.
    :param request: the request as it was delivered; its node is locked.
    :raises: NodeNotFound, NodeLocked
    """

    def __init__(self, context, request: queue_request.Request) -> None:
        self._holder = request.delivery
        # Lock the node before Ironic reads it, because another holder may
        # change its fields until then.
        is_locked = node_reservation.reserve(request.node_uuid, self._holder)
        # "shared" keeps Ironic's task from locking the node again. The task
        # reads the node even if another holder has locked it; the error below
        # names this holder.
        super().__init__(
            context,
            request.node_uuid,
            shared=True,
            load_driver=False,
            purpose='inspection request',
        )
        if not is_locked:
            raise ironic_exception.NodeLocked(
                node=request.node_uuid, host=self.node.reservation
            )
        # Ironic's functions that need an exclusive lock refuse a shared task.
        self.shared = False

    @transaction.retried_on_lock_conflict
    def end(
        self,
        consume: Callable[[Any], queue_request.Request],
        store: recorder.Store | None = None,
    ) -> queue_request.Request:
        """Unlock the node, end its request and store its run, atomically.

        If the database reports a conflict of locks, all of it is done again.

        :param consume: ends the request in the transaction of the session that
            it gets, and returns the ended request.
        :param store: stores the run of rules through the connection that it
            gets; None if there is no run to store.
        :returns: the ended request.
        :raises: any error of the two functions; then nothing is changed.
        """
        # The fence checks before a commit that this delivery has locked the
        # node. This transaction unlocks the node, so the check would fail.
        with fence.suspended(), transaction.writer() as session:
            # All transactions change the node first, then the request. Another
            # order would cause deadlocks.
            was_locked = node_reservation.release(
                session, self.node.uuid, self._holder
            )
            if store is not None:
                store(session.connection())
            ended = consume(session)
        # The lock is released, so release_resources() has nothing to unlock.
        # But if this delivery had lost the lock before, release_resources()
        # tries to unlock the node, and raises an error.
        self.shared = was_locked
        return ended

    @transaction.retried_on_lock_conflict
    def settle(self, note: Callable[..., None]) -> None:
        """Unlock the node, and record that nothing is left to do for it.

        One transaction does both.

        :param note: records this in the queue; called with the SQLAlchemy
            session as ``transaction``, see :meth:`.DatabaseQueue.settle`.
        """
        # The fence would refuse to commit the released lock, see end().
        with fence.suspended(), transaction.writer() as session:
            was_locked = node_reservation.release(
                session, self.node.uuid, self._holder
            )
            note(transaction=session)
        # See end().
        self.shared = was_locked

    def release_resources(self) -> None:
        """Unlock the node, unless :meth:`end` or :meth:`settle` has done so.

        :raises: NodeLocked, NodeNotLocked if another holder or nobody has the
            lock.
        """
        if not self.shared:
            # Set this first, because release() may fail. If the task were not
            # shared, Ironic's own method below would unlock the node in the
            # name of the host.
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
    """Lock the node of a request; remove the lock of an ended delivery.

    There is a second try if the first one has found the lock of an ended
    delivery, or if the node was unlocked after the first one.

    :param requests: the queue, which knows the deliveries that have ended.
    :returns: Ironic's task, whose ``release_resources`` unlocks the node.
    :raises: NodeBusy if another holder has locked the node; NodeGone if the
        node does not exist.
    """
    context = ironic_context.get_admin_context()
    # There are two blocks, because the node may be deleted or locked by
    # another holder at either try.
    try:
        try:
            return DeliveryTask(context, request)
        except ironic_exception.NodeLocked:
            may_try_again = _unlock_ended_holder(context, requests, request)
            if not may_try_again:
                raise
        # There is no third try: if another holder was faster this time, it is
        # probably working.
        return DeliveryTask(context, request)
    except ironic_exception.NodeNotFound as exc:
        raise exceptions.NodeGone(str(exc)) from exc
    except ironic_exception.NodeLocked as exc:
        raise exceptions.NodeBusy(str(exc)) from exc


def _unlock_ended_holder(
    context,
    requests: database_queue.DatabaseQueue,
    request: queue_request.Request,
) -> bool:
    """Unlock the node of a request if an ended delivery has locked it.

    :returns: whether to try again to lock the node: True if nobody has locked
        it, or if its holder was a delivery that has ended. False if its holder
        may be working.
    :raises: NodeNotFound if the node was deleted.
    """
    node = objects.Node.get_by_uuid(context, request.node_uuid)
    if node.reservation is None:
        # The node was unlocked after the attempt to lock it.
        return True
    return unlock_ended_delivery(requests, node.uuid, node.reservation)


def unlock_ended_delivery(
    requests: database_queue.DatabaseQueue, node_uuid: str, holder: str
) -> bool:
    """Unlock a node if its lock belongs to a delivery that has ended.

    Usually a delivery unlocks its node when it ends. It does not if its worker
    died, if the worker gave it up, or if unlocking the node failed.

    :param holder: the ``reservation`` of the node, e.g.
        ``inspection-request:<uuid>:3`` for a delivery, or the name of a
        conductor.
    :returns: whether the holder is a delivery that has ended. Even then the
        node may be locked when this returns, e.g. by another holder.
    """
    if not holder.startswith(queue_request.DELIVERY_PREFIX):
        # The holder is a conductor, whose lock does not concern the queue.
        return False
    if requests.is_held(node_uuid, holder):
        # A worker may still be working on the node.
        return False
    # This unlocks the node only if it still has this holder.
    if node_reservation.unlock(node_uuid, holder):
        LOG.warning(
            'Node %(node)s is unlocked, because the delivery that had locked '
            'it has ended: %(holder)s',
            {'node': node_uuid, 'holder': holder},
        )
    return True


def check(node, request: queue_request.Request) -> NodeCheck:
    """Check whether a request can be processed in the state of its node.

    The states that a request allows depend on its event:

    * A timeout needs "inspect wait". In other states, the node no longer waits
      for data, so there is nothing to do.
    * A reapplication needs one of :data:`REAPPLICABLE`. If an inspection has
      begun since the request was stored, it brings its own data.
    * A power-on needs "inspect wait".
    * The first attempt at posted data needs "inspect wait", because the node
      waits for the data, or "enroll", because it was just discovered. It also
      allows "inspect failed" if a conductor has failed the node by a timeout
      although the data had been accepted. Later attempts also allow the states
      that an interrupted attempt leaves behind. If the node is "manageable",
      an earlier attempt has finished.

    A node that waits in a newer inspection is not changed by a power-on, nor
    by posted data of an earlier inspection.
    """
    present = node.provision_state
    is_waiting = present == states.INSPECTWAIT
    if request.event == queue_request.TIMEOUT:
        return NodeCheck(done=not is_waiting)
    if request.event == queue_request.REAPPLY:
        if present in IN_INSPECTION:
            return NodeCheck(superseded=True)
        allowed = REAPPLICABLE
    elif is_waiting and not _is_in_inspection_of(request, node):
        return NodeCheck(superseded=True)
    elif request.event == queue_request.POWER_ON:
        allowed = frozenset({states.INSPECTWAIT})
    elif request.state == state.PROCESSING:
        # An earlier attempt at posted data has begun.
        if present == states.MANAGEABLE:
            # Only a finished inspection leads to this state from "inspecting".
            return NodeCheck(done=True)
        allowed = _BEGUN
    else:
        # The first attempt at posted data.
        allowed = _FRESH
        is_accepted = request.inspection_began_at is not None
        has_failed = present == states.INSPECTFAIL
        if is_accepted and has_failed and has_timed_out(node):
            # The data were accepted after a conductor had listed the node as
            # overdue, but before it failed the node.
            return NodeCheck()
    if present in allowed:
        return NodeCheck()
    return NodeCheck(obstacle=_('the node is in state "%s"') % present)


def has_timed_out(node) -> bool:
    """Return whether the last error of a node is that of a timeout."""
    return _TIMED_OUT in (node.last_error or '').lower()


def _is_in_inspection_of(request: queue_request.Request, node) -> bool:
    """Return whether a node is in the inspection that a request belongs to.

    When the request was accepted, ``inspection_started_at`` of the node was
    moved to the request. If the node has another time, a newer inspection has
    begun. If the node or the request has no time, no newer one is known.

    :param node: a node in the state "inspect wait".
    """
    started = node.inspection_started_at
    began = request.inspection_began_at
    if started is None or began is None:
        return True
    return bool(timeutils.normalize_time(started) == began)


def is_left_in_inspection(node, request: queue_request.Request) -> bool:
    """Return whether an ended request has left its node in inspection.

    This is the case in the state "inspecting", and in the state "inspect wait"
    unless the node waits for the data of a newer inspection.

    :param request: the ended request.
    """
    if node.provision_state == states.INSPECTING:
        return True
    if node.provision_state != states.INSPECTWAIT:
        return False
    if node.inspection_started_at is None:
        # The time was removed when the request was accepted, and no newer
        # inspection has set it.
        return True
    if request.inspection_began_at is None:
        # The time may belong to a newer inspection.
        return False
    return _is_in_inspection_of(request, node)


def list_overdue(context, timeout: float) -> list[str]:
    """List the UUIDs of nodes that have been in "inspect wait" for too long.

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

    The worker asks before it fails the node, because the data may have come
    since the request for the timeout was stored.

    :param timeout: seconds that a node may wait.
    """
    started = node.inspection_started_at
    if started is None:
        # The time was removed when a request with the node's data was
        # accepted.
        return False
    longest_wait = datetime.timedelta(seconds=timeout)
    deadline = timeutils.normalize_time(started) + longest_wait
    return bool(deadline < timeutils.utcnow())
