# SPDX-License-Identifier: Apache-2.0

"""The queue of inspection requests in Ironic's database.

Any number of processes on any number of hosts share it. Who may act on a
request, and when, is decided in the database, in short transactions and by
its own clock.
"""

from collections.abc import Callable, Iterable
import dataclasses
import datetime
import json
import typing

from oslo_log import log
from oslo_utils import timeutils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import fence
from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.db import request as db_request
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.objects import request as request_object
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state

LOG = log.getLogger(__name__)

Accept = Callable[[typing.Any, str, bool], datetime.datetime | None]


class DatabaseQueue:
    """The queue of requests in Ironic's database.

    :param lease: seconds without a heartbeat after which a worker counts as
        dead.
    :param accept: called in the transaction that stores a request of an
        inspection, with the UUID of the node and whether the machine is still
        to be powered on; see :func:`.node_reservation.stop_clock`.
    :param served: an SQL condition on the requests that a worker of this
        process can process, see :func:`.node_reservation.served_by`; None for
        all.
    :param wake: called when a request has been put; wakes the workers.
    """

    def __init__(self, lease: float,
                 accept: Accept = lambda session, node_uuid, starting: None,
                 served: typing.Any = None,
                 wake: Callable[[], None] = lambda: None) -> None:
        self._lease = lease
        self._accept = accept
        self._wake = wake
        self._posted = leases.Search(
            lease, (state.WAITING, state.PROCESSING), served)
        self._starting = leases.Search(lease, (state.STARTING,), served)

    def put(self, node_uuid: str, event: str, inventory: dict | None = None,
            plugin_data: dict | None = None,
            checkpoints: dict | None = None, *, sender: str | None = None,
            trusted: bool = True) -> queue_request.Request:
        """Store a request; it is committed when this returns.

        A node has at most one open request. An open one of an earlier
        inspection ends. A posted inventory ends one that waits for another
        event, and replaces the data of one that waits for the same event. A
        timeout renews a waiting timeout. A reapplication with the data that
        wait already is that request; one without an inventory gets what was
        posted last.

        :param checkpoints: outcomes of phases that have run already.
        :param sender: IP address that the data came from.
        :param trusted: whether the sender has proved to be the machine. If
            not, different data that wait are not replaced. Who gives data to
            a reapplication is not the machine.
        :raises: RequestPending if the node has any other open request.
        :raises: AnotherSender if different data wait, and the sender is not
            the machine.
        :raises: Conflict if the node waits for no data.
        """
        data: dict[str, typing.Any] | None = None
        if inventory is not None:
            data = {'inventory': inventory, 'plugin_data': plugin_data or {}}
        elif event == queue_request.REAPPLY:
            data = unprocessed.get_unprocessed(node_uuid)
        if data is not None:
            data['posted'] = event == queue_request.CONTINUE
        values = {'checkpoints': checkpoints or {}, 'sender': sender}
        # Such data are an operator's, who is not the machine, either.
        trusted = trusted and not (event == queue_request.REAPPLY
                                   and inventory is not None)
        stored = None
        while stored is None:
            # None: another process has changed the open request.
            stored = self._try_put(node_uuid, event, data, values, trusted)
        self._wake()
        return stored

    def _try_put(self, node_uuid: str, event: str,
                 data: dict[str, typing.Any] | None,
                 values: dict[str, typing.Any],
                 trusted: bool) -> queue_request.Request | None:
        starting = event == queue_request.POWER_ON

        def accept(session: typing.Any) -> datetime.datetime | None:
            if starting or event == queue_request.CONTINUE:
                return self._accept(session, node_uuid, starting)
            return None
        try:
            row, created = db_request.find_or_create_request({
                **values, 'uuid': uuidutils.generate_uuid(),
                'event': event, 'node_uuid': node_uuid,
                'version': request_object.InspectionRequest.VERSION,
                'state': state.STARTING if starting else state.WAITING},
                data, accept, lambda row, began: queue_request.why_over(
                    event, _request(row), began),
                state.ERROR,
                _precedence(event))
        except exceptions.RequestPending:
            return None
        present = _request(row)
        if created:
            return present
        displaces = queue_request.displaces(event, present)
        if not trusted and (displaces or present.state == state.WAITING):
            waiting = unprocessed.get(row.unprocessed_id)
            if waiting is None and row.unprocessed_id is not None:
                return None
            if waiting is not None and not _same(waiting, data):
                LOG.warning('Inspection data of node %(node)s from '
                            '%(sender)s are refused: other data wait to be '
                            'processed, which %(present)s posted',
                            {'node': node_uuid, 'sender': values['sender'],
                             'present': present.sender})
                raise exceptions.AnotherSender(node_uuid, present.sender)
            if waiting is not None and event == queue_request.REAPPLY:
                return present
        if not displaces:
            raise exceptions.RequestPending(node_uuid)
        renewed = db_request.renew_request(
            present.uuid, present.token, present.state,
            {**values, 'lock_failures': 0}, data)
        return _request(renewed) if renewed else None

    def get(self, worker: str) -> queue_request.Request | None:
        """Lease the request that is due longest, None if none is due."""
        return _claimed(self._posted.claim(worker))

    def get_starting(self, worker: str) -> queue_request.Request | None:
        """Lease the next power-on request, None if there is none."""
        return _claimed(self._starting.claim(worker))

    def is_any_starting(self) -> bool:
        """Return whether a power-on request is due."""
        return self._starting.is_any_due()

    def begin(self, request: queue_request.Request,
              reached: str) -> queue_request.Request:
        """Save the state in which processing begins; count the attempt.

        Renews the lease.

        :returns: the changed request.
        :raises: LeaseLost if this delivery is not the last one.
        """
        begun = dataclasses.replace(request, state=reached, lock_failures=0,
                                    attempts=request.attempts + 1)
        with fence.suspended():
            _require(request, db_request.change_request(
                request.uuid, request.token,
                {'state': begun.state, 'attempts': begun.attempts,
                 'lock_failures': begun.lock_failures,
                 'started_at': timeutils.utcnow()}, self._lease))
        return begun

    def save_checkpoints(self, request: queue_request.Request,
                         checkpoints: dict, transaction: typing.Any = None
                         ) -> queue_request.Request:
        """Save the checkpoints of an attempt, for later attempts.

        Renews the lease.

        :param transaction: the session of SQLAlchemy to save them in; None for
            a new one.
        :returns: the changed request.
        :raises: LeaseLost if this delivery is not the last one.
        """
        _require(request, db_request.change_request(
            request.uuid, request.token, {'checkpoints': checkpoints},
            self._lease, session=transaction))
        return dataclasses.replace(request, checkpoints=checkpoints)

    def heartbeat(self, requests: Iterable[queue_request.Request]) -> set[str]:
        """Renew leases.

        :returns: the names of deliveries that have lost their lease.
        """
        held = {(request.uuid, request.token): request.delivery
                for request in requests}
        if not held:
            return set()
        kept = leases.prolong_requests(held, self._lease)
        return {held[key] for key in held.keys() - kept}

    def consume(self, request: queue_request.Request,
                error: str | None = None, transaction: typing.Any = None
                ) -> queue_request.Request:
        """End a request, and remove its checkpoints.

        :param error: why it failed, None if it did not.
        :param transaction: the session of SQLAlchemy that ends it; it also
            unlocks the node, in a final state. None for a new one: the leader
            settles the node later.
        :returns: the ended request.
        :raises: LeaseLost if this delivery is not the last one.
        """
        reached = state.FINISHED if error is None else state.ERROR
        with fence.suspended():
            _require(request, db_request.finish_request(
                request.uuid, request.token, reached, error,
                session=transaction))
        return dataclasses.replace(request, state=reached, last_error=error)

    def retry(self, request: queue_request.Request, delay: float,
              error: str | None = None, of_surroundings: bool = False
              ) -> None:
        """Return a request to the queue, to be delivered again.

        :param request: its ``attempts`` are stored.
        :param delay: seconds before the next delivery.
        :param error: what went wrong, None to keep the last error.
        :param of_surroundings: whether the surroundings caused it.
        :raises: LeaseLost if this delivery is not the last one.
        """
        # It ends this delivery, which the fence would take for another's.
        with fence.suspended():
            _require(request, db_request.change_request(
                request.uuid, request.token,
                {'worker': None, 'token': request.token + 1,
                 'lock_failures': request.lock_failures + of_surroundings,
                 'attempts': request.attempts,
                 'last_error': error or request.last_error},
                due_in=delay + _precedence(request.event)))

    def abort(self, uuid: str, reason: str) -> queue_request.Request:
        """Abort a request that no worker has begun to process.

        :param reason: stored as the error of the request.
        :raises: RequestNotFound, RequestNotWaiting
        """
        row = db_request.get_request_by_uuid(uuid)
        step = state.advance(row.state, state.ABORT)
        # A claimed power-on request remains in the state "starting".
        is_begun = row.state == state.STARTING and row.worker is not None
        if (step.verdict is not state.Verdict.ALLOWED or is_begun
                or not db_request.finish_request(
                    uuid, row.token, step.target, reason, row.state)):
            raise exceptions.RequestNotWaiting(uuid)
        return dataclasses.replace(_request(row), state=step.target,
                                   last_error=reason)

    def supersede(self, node_uuid: str) -> None:
        """End the open request of a node's earlier inspection.

        Called when a newer inspection begins.
        """
        # Accepted data of the new one would end it too, but may never come. A
        # reapplication would replace the newer data by older ones.
        db_request.supersede_request(
            node_uuid, (queue_request.CONTINUE, queue_request.REAPPLY,
                        queue_request.POWER_ON),
            state.ERROR, queue_request.OVERTAKEN)

    def forgive(self, request: queue_request.Request) -> None:
        """Uncount an attempt that the surroundings cut off.

        :param request: a delivery that has lost its lease, with the
            ``attempts`` before it.
        """
        with fence.suspended():
            db_request.uncount_attempt(request.uuid, request.attempts)

    def expire(self) -> list[queue_request.ExpiredLease]:
        """Take requests from workers whose lease expired.

        :returns: those whose processing had begun; others become due by
            themselves.
        """
        # Claimed requests that were not begun become due by themselves.
        rows: typing.Any = leases.expire_leases(self._lease,
                                                (state.PROCESSING,))
        return [queue_request.ExpiredLease(row.uuid, row.node_uuid, row.worker)
                for row in rows]

    def unsettled(self) -> list[queue_request.Request]:
        """Lease ended requests whose nodes may not be in a final state."""
        return [_request(row) for row in leases.claim_unsettled(
            self._lease, sorted(state.TERMINAL))]

    def settle(self, request: queue_request.Request,
               transaction: typing.Any = None) -> None:
        """Store that the node of an ended request is in a final state.

        :param transaction: a session of SQLAlchemy, None for a new one.
        """
        with fence.suspended():
            db_request.settle_request(request.uuid, request.token, transaction)

    def is_held(self, node_uuid: str, holder: str) -> bool:
        """Return whether the holder of a node's lock may still work on it.

        It may while its delivery is the last one of an open request. After
        the end of the request it may until the lease expires: the node may
        not be unlocked yet.

        :param holder: name of a delivery.
        """
        return any(holder == _request(row).delivery
                   for row in leases.list_held_requests(node_uuid))

    def find(self, uuid: str) -> queue_request.Request:
        """Return a request, without its data.

        :raises: RequestNotFound
        """
        return _request(db_request.get_request_by_uuid(uuid))

    def forget(self, age: float, limit: int = 10000) -> int:
        """Remove requests that ended long ago.

        :param age: seconds since their end.
        :param limit: most requests to remove.
        :returns: the number of requests removed.
        """
        return db_request.destroy_done_requests(
            timeutils.utcnow() - datetime.timedelta(seconds=age), limit)

    def find_open(self, node_uuid: str) -> queue_request.Request | None:
        """Return the open request of a node, without its data.

        :returns: None if the node has none.
        """
        row = db_request.get_open_request(node_uuid)
        return _request(row) if row else None


_STORED = tuple(field.name for field in
                dataclasses.fields(queue_request.Request) if field.repr)
"""Fields of a request that are always read from its row."""


def _request(row: typing.Any) -> queue_request.Request:
    return queue_request.Request(**{name: getattr(row, name)
                                    for name in _STORED})


def _precedence(event: str) -> float:
    """Return for how many seconds other requests go before one."""
    if event == queue_request.REAPPLY:
        return leases.PRECEDENCE
    return 0.0


def _claimed(claimed: typing.Any) -> queue_request.Request | None:
    if claimed is None:
        return None
    row, data = claimed
    return dataclasses.replace(
        _request(row), checkpoints=row.checkpoints,
        inventory=data.inventory if data else {},
        plugin_data=data.plugin_data if data else {})


def _same(waiting: dict[str, typing.Any],
          data: dict[str, typing.Any] | None) -> bool:
    """Return whether inventory and plugin data are the same."""
    if data is None:
        return False
    # As text: NaN, which a ramdisk may post, does not equal itself.
    return all(json.dumps(waiting[name], sort_keys=True)
               == json.dumps(data[name], sort_keys=True)
               for name in ('inventory', 'plugin_data'))


def _require(request: queue_request.Request, held: bool) -> None:
    if not held:
        raise exceptions.LeaseLost(request.uuid)
