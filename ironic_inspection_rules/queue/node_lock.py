# SPDX-License-Identifier: Apache-2.0

"""Ironic's lock of a node, held by one delivery of a request.

Ironic's own tasks lock nodes in the name of their host. Deliveries in one
process must not take the locks of one another for their own.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
from typing import Any

from ironic import objects
from ironic.common import context as ironic_context
from ironic.common import exception as ironic_exception
from ironic.conductor import task_manager
from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import fence
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.inspection import attempt
from ironic_inspection_rules.inspection import keeping
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import surroundings
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.runs import recorder

LOG = log.getLogger(__name__)


class DeliveryTask(task_manager.TaskManager):
    """Ironic's task, with an exclusive lock in the name of a delivery.

    ``run`` stores the run of rules with the end of the delivery.

    :param context: of Ironic.
    :param request: the delivery; its node is locked.
    :raises: NodeNotFound, NodeLocked
    """

    def __init__(self, context, request: queue_request.Request) -> None:
        self.run: recorder.Store | None = None
        self._holder = request.delivery
        reserved = node_reservation.reserve(request.node_uuid, self._holder)
        # As Ironic sees it, the task itself locks nothing.
        super().__init__(context, request.node_uuid, shared=True,
                         load_driver=False, purpose='inspection request')
        if not reserved:
            raise ironic_exception.NodeLocked(node=request.node_uuid,
                                              host=self.node.reservation)
        self.shared = False

    def end(self, consume: Callable[[Any], queue_request.Request]
            ) -> queue_request.Request:
        """Unlock the node, and end its request in the same transaction.

        The run is stored with them, unless that is what goes wrong.

        :param consume: see :meth:`.delivery.Processor.end`.
        """
        ended = self._try_to_end(consume)
        # The node is not locked any more: the fence would refuse it.
        with fence.suspended():
            keeping.clean()
        return ended

    def _try_to_end(self, consume: Callable[[Any], queue_request.Request]
                    ) -> queue_request.Request:
        if self.run is not None:
            try:
                return self._end(consume, self.run)
            except db_exc.DBError as exc:
                if surroundings.are_to_blame(exc):
                    raise
                recorder.warn_of_loss(self.node, exc)
        return self._end(consume)

    @transaction.retried
    def _end(self, consume: Callable[[Any], queue_request.Request],
             *others: Callable[[Any], None]) -> queue_request.Request:
        # The node comes first, as in all that a fence lets pass: who waits
        # for each other's rows would not get them.
        with fence.suspended(), transaction.writer() as session:
            unlocked = node_reservation.release(session, self.node.uuid,
                                                self._holder)
            for each in others:
                each(session)
            ended = consume(session)
        # A lock that was taken away is for release_resources to tell of.
        self.shared = unlocked
        return ended

    @transaction.retried
    def settle(self, note: Callable[..., None]) -> None:
        """Unlock the node, and note that it is as it has to be.

        :param note: given the transaction.
        """
        with fence.suspended(), transaction.writer() as session:
            self.shared = node_reservation.release(session, self.node.uuid,
                                                   self._holder)
            note(transaction=session)

    def release_resources(self) -> None:
        """Unlock the node, if it is still locked by this delivery."""
        if not self.shared:
            self.shared = True
            try:
                objects.Node.release(self.context, self._holder, self.node.id)
            except ironic_exception.NodeNotFound:
                LOG.debug('Node %s was deleted while it was locked',
                          self.node_id)
        super().release_resources()


@contextlib.contextmanager
def locked(requests: queue_request.Queue,
           request: queue_request.Request) -> Iterator[Any]:
    """Lock the node of a request, for as long as the context lasts.

    Nothing that this thread writes meanwhile is committed once the node is
    locked by somebody else, or the request delivered anew.

    :param requests: the queue of the request.
    :returns: the :class:`DeliveryTask`.
    :raises: NodeBusy, NodeGone
    """
    task = _acquire(requests, request)
    try:
        with fence.while_locked(
                request.node_uuid, request.delivery, request.uuid,
                request.token, lambda: _abandon(request)):
            yield task
    except attempt.Abandoned as exc:
        raise exceptions.LeaseLost(request.uuid) from exc
    finally:
        try:
            task.release_resources()
        except (ironic_exception.NodeLocked,
                ironic_exception.NodeNotLocked) as exc:
            LOG.warning('The lock of node %(node)s was taken away: %(error)s',
                        {'node': request.node_uuid, 'error': exc})


def _abandon(request: queue_request.Request) -> BaseException:
    abandoned = attempt.Abandoned()
    abandoned.__cause__ = exceptions.LeaseLost(request.uuid)
    return abandoned


def _acquire(requests: queue_request.Queue,
             request: queue_request.Request) -> DeliveryTask:
    context = ironic_context.get_admin_context()
    try:
        return DeliveryTask(context, request)
    except ironic_exception.NodeNotFound as exc:
        raise exceptions.NodeGone(str(exc)) from exc
    except ironic_exception.NodeLocked as exc:
        if not _unlock_for_the_dead(context, requests, request):
            raise exceptions.NodeBusy(str(exc)) from exc
    try:
        return DeliveryTask(context, request)
    except ironic_exception.NodeNotFound as exc:
        raise exceptions.NodeGone(str(exc)) from exc
    except ironic_exception.NodeLocked as exc:
        raise exceptions.NodeBusy(str(exc)) from exc


def _unlock_for_the_dead(context, requests: queue_request.Queue,
                         request: queue_request.Request) -> bool:
    """Free a node that a worker has not lived to unlock.

    :returns: whether it is worth while to try and lock it again.
    """
    node = objects.Node.get_by_uuid(context, request.node_uuid)
    return (node.reservation is None
            or unlock_if_over(context, requests, node.uuid, node.reservation))


def unlock_if_over(context, requests: queue_request.Queue, node_uuid: str,
                   holder: str) -> bool:
    """Free a node of the lock of a delivery that is over.

    :param holder: who has locked it.
    :returns: whether it was one.
    """
    if not worker.is_holder(holder) or requests.is_held(node_uuid, holder):
        return False
    try:
        objects.Node.release(context, holder, node_uuid)
    except (ironic_exception.NodeLocked, ironic_exception.NodeNotFound,
            ironic_exception.NodeNotLocked):
        return True
    LOG.warning('Node %(node)s is unlocked, its worker died or was given up: '
                '%(holder)s', {'node': node_uuid, 'holder': holder})
    return True
