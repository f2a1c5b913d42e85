# SPDX-License-Identifier: Apache-2.0

"""The queue of inspection requests in the database.

Any number of processes on any number of hosts share it. A request is *open*
until it ends; a node has at most one open request. A worker leases a request
for some seconds and renews the lease with heartbeats. Every time a request is
leased, i.e. delivered, it gets a new *token*. A worker changes the request
with the token of its delivery, and gets LeaseLost if the request has another
token or has ended, e.g. because another worker has got it, or because newer
data were posted.

All of this is decided in the database, in short transactions and by the clock
of the database. The *fence* is a check of the token at every commit of a
worker, see :mod:`.db.fence`.
"""

from collections.abc import Callable, Iterable, Sequence
import dataclasses
import datetime
import functools
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

_SECONDS_TO_YIELD = {queue_request.REAPPLY: leases.SECONDS_TO_YIELD}
"""For how long requests of an event let other requests go first, in seconds.

A reapplication lets other requests go first, because machines wait for these.
"""

StopTimeout = Callable[..., datetime.datetime | None]
"""The type of ``stop_timeout`` of :class:`DatabaseQueue`."""


@dataclasses.dataclass(frozen=True)
class _NewRequest:
    """A request that is put into the queue.

    ``data``
        The ``inventory`` and the ``plugin_data`` to store, and whether a
        ramdisk ``posted`` them; None for no data.
    ``checkpoints``
        Outcomes of phases that have already run.
    ``sender``
        IP address that the data came from.
    ``is_trusted``
        Whether the sender has proved to be the machine.
    """

    node_uuid: str
    event: str
    data: dict[str, typing.Any] | None
    checkpoints: dict
    sender: str | None
    is_trusted: bool


class DatabaseQueue:
    """The queue of requests in Ironic's database.

    :param lease: seconds without a heartbeat after which a worker counts as
        dead.
    :param stop_timeout: called in the transaction that stores a power-on or a
        posted inventory. It stops the timeout of the inspection and returns
        when the inspection began, see :func:`.node_reservation.stop_timeout`.
        None to store such a request without a change of its node.
    :param served: an SQL condition on the requests that a worker of this
        process can process, see :func:`.node_reservation.served_by`; None for
        all requests.
    :param after_put: functions to call after a request was stored, in this
        order, e.g. to wake the workers. Without any, workers find the request
        when they next look for work.
    """

    def __init__(
        self,
        lease: float,
        stop_timeout: StopTimeout | None = None,
        served: typing.Any = None,
        after_put: Sequence[Callable[[], None]] = (),
    ) -> None:
        self._lease = lease
        self._stop_timeout = stop_timeout
        self._after_put = after_put
        # A worker takes either the power-on requests, or all other requests.
        self._power_on_search = leases.Search(lease, (state.STARTING,), served)
        self._search = leases.Search(
            lease, (state.WAITING, state.PROCESSING), served
        )

    def put(
        self,
        node_uuid: str,
        event: str,
        inventory: dict | None = None,
        plugin_data: dict | None = None,
        checkpoints: dict | None = None,
        *,
        sender: str | None = None,
        trusted: bool = True,
    ) -> queue_request.Request:
        """Store a request, or renew the open request of the node.

        If the node has an open request, both requests decide what happens:

        * A request of an earlier inspection ends.
        * A posted inventory ends a request of another event that waits or
          powers the machine on, and replaces the data of a waiting posted
          inventory.
        * A timeout renews a waiting timeout.
        * For a reapplication with an inventory, a waiting request with the
          same data is returned.
        * In all other cases, the new request is refused.

        A reapplication without an inventory gets the data that were posted
        last, if the node has no open request.

        If another process changes the open request at the same time,
        everything is tried again. The request is committed when this returns.

        :param event: what is requested, e.g. ``continue`` to process a posted
            inventory.
        :param checkpoints: outcomes of phases that have already run.
        :param sender: IP address that the data came from.
        :param trusted: whether the sender has proved to be the machine. If
            not, it cannot replace waiting data with different data. The sender
            of an inventory to reapply never counts as the machine.
        :returns: the stored or renewed request.
        :raises: RequestPending if the node has any other open request.
        :raises: AnotherSender if different data wait, and the sender is not
            the machine.
        :raises: Conflict if the node does not wait for data.
        """
        # The data of a reapplication come from an operator, if they are given.
        is_from_operator = (
            event == queue_request.REAPPLY and inventory is not None
        )
        new = _NewRequest(
            node_uuid,
            event,
            data=_find_data(node_uuid, event, inventory, plugin_data),
            checkpoints=checkpoints or {},
            sender=sender,
            is_trusted=trusted and not is_from_operator,
        )
        request = None
        while request is None:
            # None means that another process changed the open request first.
            request = self._try_put(new)
        # Call them only after the commit, because the workers that they wake
        # could not find the request before.
        for function in self._after_put:
            function()
        return request

    def _try_put(self, new: _NewRequest) -> queue_request.Request | None:
        """Try once to store a request, or to renew the open one.

        :returns: the stored request; None if another process was faster.
        :raises: the errors of :meth:`put`.
        """
        is_power_on = new.event == queue_request.POWER_ON
        first_state = state.WAITING
        if is_power_on:
            first_state = state.STARTING
        # A power-on and a posted inventory are steps of an inspection: they
        # stop its timeout, and are refused in some states of the node. Other
        # requests are accepted for any node.
        is_step = is_power_on or new.event == queue_request.CONTINUE
        stop_timeout = None
        if is_step and self._stop_timeout is not None:
            stop_timeout = functools.partial(
                self._stop_timeout,
                node_uuid=new.node_uuid,
                is_power_on=is_power_on,
            )
        new_row = {
            'uuid': uuidutils.generate_uuid(),
            'node_uuid': new.node_uuid,
            'event': new.event,
            'state': first_state,
            'checkpoints': new.checkpoints,
            'sender': new.sender,
            'version': request_object.InspectionRequest.VERSION,
        }
        # Called with the open request, this decides whether it ends.
        reason_to_end = functools.partial(
            queue_request.reason_to_end, new.event
        )
        try:
            row, is_new = db_request.find_or_create_request(
                new_row,
                new.data,
                stop_timeout=stop_timeout,
                reason_to_end=reason_to_end,
                state_of_ended=state.ERROR,
                yields_for=_SECONDS_TO_YIELD.get(new.event, 0.0),
            )
        except exceptions.RequestPending:
            return None
        if is_new:
            return _read_request(row)
        return self._try_renew(new, row)

    def _try_renew(
        self, new: _NewRequest, row: typing.Any
    ) -> queue_request.Request | None:
        """Try once to renew an open request, which goes on.

        There are these cases:

        * If the sender is not trusted and other data wait, AnotherSender is
          raised.
        * If the sender is not trusted, the same data wait, and the new request
          is a reapplication, the open request is returned unchanged.
        * If the new request may replace the open one, the open one gets the
          new data.
        * Otherwise RequestPending is raised.

        :param row: the row of the open request.
        :returns: the open request; None if another process was faster.
        """
        open_request = _read_request(row)
        may_renew = queue_request.replaces(new.event, open_request)
        # Whether no worker has begun to process the open request.
        is_waiting = may_renew or open_request.state == state.WAITING
        if is_waiting and not new.is_trusted:
            # An unknown sender may only repeat the data that already wait.
            waiting_data = unprocessed.get(row.unprocessed_id)
            if waiting_data is None and row.unprocessed_id is not None:
                # The data were replaced between the two reads.
                return None
            if waiting_data is not None:
                # This raises AnotherSender if the data differ.
                _refuse_other_data(new, waiting_data, open_request)
                if new.event == queue_request.REAPPLY:
                    # The open request already does what this one asks for.
                    return open_request
        if not may_renew:
            raise exceptions.RequestPending(open_request.node_uuid)
        # Renew the request only if it still has the token that was read. If a
        # worker has claimed it since then, it has another token, and its
        # present data are already being processed.
        renewed = db_request.renew_request(
            open_request.uuid,
            token=open_request.token,
            present_state=open_request.state,
            values={
                'checkpoints': new.checkpoints,
                'sender': new.sender,
                'lock_failures': 0,
            },
            data=new.data,
        )
        if renewed is None:
            return None
        return _read_request(renewed)

    def get(self, worker: str) -> queue_request.Request | None:
        """Lease the request that has been due longest; None if none is due.

        Power-on requests are left to :meth:`get_power_on`.
        """
        return _read_claim(self._search.claim(worker))

    def get_power_on(self, worker: str) -> queue_request.Request | None:
        """Lease the next power-on request; None if there is none."""
        return _read_claim(self._power_on_search.claim(worker))

    def is_any_power_on_due(self) -> bool:
        """Return whether a power-on request is due."""
        return self._power_on_search.is_any_due()

    def begin(
        self, request: queue_request.Request, new_state: str
    ) -> queue_request.Request:
        """Record that an attempt at a request begins, and count it.

        The number of attempts is limited, because a request may kill every
        worker. The lease is renewed.

        :param request: the request as it was delivered.
        :param new_state: the new state of the request, e.g. ``processing``.
        :returns: the changed request.
        :raises: LeaseLost if the request has another token or has ended.
        """
        begun = dataclasses.replace(
            request,
            state=new_state,
            lock_failures=0,
            attempts=request.attempts + 1,
        )
        values = {
            'state': begun.state,
            'attempts': begun.attempts,
            'lock_failures': begun.lock_failures,
            'started_at': timeutils.utcnow(),
        }
        # change_request() compares the token itself. The fence would do so as
        # well, but would raise the error that is meant to pass through
        # Ironic's code.
        with fence.suspended():
            is_held = db_request.change_request(
                request.uuid, request.token, values, due_in=self._lease
            )
        if not is_held:
            raise exceptions.LeaseLost(request.uuid)
        return begun

    def save_checkpoints(
        self,
        request: queue_request.Request,
        checkpoints: dict,
        transaction: typing.Any = None,
    ) -> queue_request.Request:
        """Save the checkpoints of an attempt, for later attempts.

        The lease is renewed.

        :param checkpoints: the outcomes of all phases so far, by phase.
        :param transaction: the SQLAlchemy session to save them in; None for a
            new one.
        :returns: the changed request.
        :raises: LeaseLost if the request has another token or has ended.
        """
        is_held = db_request.change_request(
            request.uuid,
            request.token,
            {'checkpoints': checkpoints},
            due_in=self._lease,
            session=transaction,
        )
        if not is_held:
            raise exceptions.LeaseLost(request.uuid)
        return dataclasses.replace(request, checkpoints=checkpoints)

    def heartbeat(self, requests: Iterable[queue_request.Request]) -> set[str]:
        """Renew the leases of requests that a worker processes.

        :param requests: the requests, as they were delivered.
        :returns: the names of the deliveries that have lost their lease, see
            :attr:`.request.Request.delivery`.
        """
        # The database identifies a delivery by the UUID of its request and its
        # token.
        deliveries = {
            (request.uuid, request.token): request.delivery
            for request in requests
        }
        if not deliveries:
            return set()
        # The UUIDs and tokens of the deliveries that still had their lease.
        renewed = leases.prolong_requests(list(deliveries), self._lease)
        return {
            delivery
            for uuid_and_token, delivery in deliveries.items()
            if uuid_and_token not in renewed
        }

    def consume(
        self,
        request: queue_request.Request,
        error: str | None = None,
        transaction: typing.Any = None,
    ) -> queue_request.Request:
        """End a request, and remove its checkpoints.

        The node is not changed here. With ``transaction``, the caller has
        already taken the node out of inspection, and unlocks it in the same
        transaction. Without it, the leader of the workers takes care of the
        node later.

        :param error: why the request failed; None if it succeeded.
        :param transaction: the SQLAlchemy session in which the caller unlocks
            the node; None to end the request in its own transaction.
        :returns: the ended request.
        :raises: LeaseLost if the request has another token or has ended.
        """
        final_state = state.FINISHED
        if error is not None:
            final_state = state.ERROR
        # At the commit, the fence would look for the lock of the node, which
        # this transaction may have released. finish_request() compares the
        # token itself.
        with fence.suspended():
            is_held = db_request.finish_request(
                request.uuid,
                request.token,
                final_state,
                error,
                # The caller unlocks the node in its transaction.
                is_node_settled=transaction is not None,
                session=transaction,
            )
        if not is_held:
            raise exceptions.LeaseLost(request.uuid)
        return dataclasses.replace(
            request, state=final_state, last_error=error
        )

    def retry(
        self,
        request: queue_request.Request,
        delay: float,
        error: str | None = None,
        is_external: bool = False,
    ) -> None:
        """Return a request to the queue, to be delivered again.

        :param request: the request, whose number of attempts is stored.
        :param delay: minimum number of seconds before the next delivery.
        :param error: what went wrong; None to keep the last error.
        :param is_external: whether the failure came from outside of the
            request, e.g. from the database.
        :raises: LeaseLost if the request has another token or has ended.
        """
        lock_failures = request.lock_failures
        if is_external:
            lock_failures += 1
        values = {
            'worker': None,
            # Because of the new token, later writes of this delivery are
            # refused.
            'token': request.token + 1,
            'lock_failures': lock_failures,
            'attempts': request.attempts,
            'last_error': error or request.last_error,
        }
        # A reapplication waits longer, to let other requests go first. It does
        # so only once: if it was due when it was delivered, it has waited long
        # enough.
        yields_for = 0.0
        if not request.was_due:
            yields_for = _SECONDS_TO_YIELD.get(request.event, 0.0)
        # At the commit, the fence would take the new token for the token of
        # another delivery, and would refuse the change.
        with fence.suspended():
            is_held = db_request.change_request(
                request.uuid,
                request.token,
                values,
                due_in=delay + yields_for,
            )
        if not is_held:
            raise exceptions.LeaseLost(request.uuid)

    def abort(self, uuid: str, reason: str) -> queue_request.Request:
        """Abort a request that no worker has begun to process.

        The API calls this for an operator, and then asks a conductor to abort
        the inspection. If the conductor does not, the leader of the workers
        fails the node.

        :param reason: stored as the error of the request.
        :returns: the ended request.
        :raises: RequestNotFound if it does not exist; RequestNotWaiting if a
            worker processes it, or if it has ended.
        """
        row = db_request.get_request_by_uuid(uuid)
        change = state.CHANGES[row.state, state.ABORT]
        # The state of a power-on request stays "starting" while a worker
        # processes it.
        is_begun = row.state == state.STARTING and row.worker is not None
        if is_begun or change.verdict is not state.Verdict.ALLOWED:
            raise exceptions.RequestNotWaiting(uuid)
        # Change only a request with the token and the state that were read,
        # because a worker may have claimed it since then.
        has_ended = db_request.finish_request(
            uuid,
            row.token,
            change.target,
            reason,
            is_node_settled=False,
            present_state=row.state,
        )
        if not has_ended:
            raise exceptions.RequestNotWaiting(uuid)
        return dataclasses.replace(
            _read_request(row), state=change.target, last_error=reason
        )

    def supersede(self, node_uuid: str) -> None:
        """End the open request of a node when a newer inspection begins.

        A timeout is not ended: the worker that processes it checks how long
        the node has waited, and finds that the newer inspection has just
        begun.
        """
        # The posted data of the newer inspection would also end the request,
        # but they may never come, and a reapplication would replace newer data
        # with older data.
        db_request.supersede_request(
            node_uuid,
            (
                queue_request.CONTINUE,
                queue_request.REAPPLY,
                queue_request.POWER_ON,
            ),
            state.ERROR,
            queue_request.OVERTAKEN,
        )

    def uncount_attempt(self, request: queue_request.Request) -> None:
        """Uncount an attempt that an external error interrupted.

        For example, the attempt has lost its lease because the database was
        unavailable. The request itself is not the cause of this failure.

        :param request: the request as it was delivered, with the number of
            ``attempts`` before this one.
        """
        db_request.uncount_attempt(request.uuid, request.attempts)

    def expire(self) -> list[queue_request.ExpiredLease]:
        """Take requests that were being processed from dead workers.

        A worker is dead if its lease has expired. Other workers claim such a
        request even without this. But if no other worker serves the node, the
        request would seem to be held by the dead worker, and the node would
        stay locked in its name.

        :returns: the leases that had expired.
        """
        rows: typing.Any = leases.expire_leases(
            self._lease, (state.PROCESSING,)
        )
        return [
            queue_request.ExpiredLease(row.uuid, row.node_uuid, row.worker)
            for row in rows
        ]

    def claim_unsettled(self) -> list[queue_request.Request]:
        """Lease ended requests whose nodes may still be in inspection.

        :meth:`settle` must be called for every request. Otherwise a later call
        returns the request again, when its lease has expired.
        """
        rows = leases.claim_unsettled(self._lease, sorted(state.TERMINAL))
        return [_read_request(row) for row in rows]

    def settle(
        self, request: queue_request.Request, transaction: typing.Any = None
    ) -> None:
        """Record that nothing is left to do for the node of an ended request.

        The leader of the workers does not look at the request again.

        :param transaction: an SQLAlchemy session; None for a new one.
        """
        with fence.suspended():
            db_request.settle_request(request.uuid, request.token, transaction)

    def is_held(self, node_uuid: str, holder: str) -> bool:
        """Return whether the delivery that has locked a node may still work.

        The last delivery of an open request may work on the node. After the
        request has ended, it may do so until its lease expires, because it may
        not have unlocked the node yet.

        :param holder: the name of the delivery, e.g.
            ``inspection-request:<uuid>:3``.
        """
        rows = leases.list_held_requests(node_uuid)
        deliveries = [_read_request(row).delivery for row in rows]
        return holder in deliveries

    def find(self, uuid: str) -> queue_request.Request:
        """Return a request, without its data.

        :raises: RequestNotFound
        """
        return _read_request(db_request.get_request_by_uuid(uuid))

    def forget(self, age: float, limit: int = 10000) -> int:
        """Remove requests that ended long ago.

        :param age: seconds since the end of a request.
        :param limit: maximum number of requests to remove.
        :returns: the number of requests removed.
        """
        ended_before = timeutils.utcnow() - datetime.timedelta(seconds=age)
        return db_request.destroy_done_requests(ended_before, limit)

    def find_open(self, node_uuid: str) -> queue_request.Request | None:
        """Return the open request of a node, without its data.

        A node that has one is not failed by the leader of the workers, and its
        data are not reapplied.

        :returns: None if the node has none.
        """
        # A node has at most one open request.
        rows = db_request.list_requests({'open_node_uuid': node_uuid})
        if not rows:
            return None
        return _read_request(rows[0])


_STORED_FIELDS = tuple(
    field.name
    for field in dataclasses.fields(queue_request.Request)
    if field.repr
)
"""Fields of a request that are always read from its row.

Data and checkpoints are excluded because they are large and only workers need
them; for the same reason they are not in the ``repr`` of a request. Fields
that only a delivery has are excluded as well.
"""


def _read_request(
    row: typing.Any, **fields_of_delivery: typing.Any
) -> queue_request.Request:
    """Build a request from its row.

    :param fields_of_delivery: the fields that only a delivery has, e.g. the
        data; none for a request without its data.
    """
    fields = {name: getattr(row, name) for name in _STORED_FIELDS}
    return queue_request.Request(**fields, **fields_of_delivery)


def _read_claim(
    claimed: leases.Claimed | None,
) -> queue_request.Request | None:
    """Build a claimed request with its checkpoints and its data.

    :param claimed: the row of the request and the row of its data; None if no
        request was due.
    :returns: the request; None if no request was due.
    """
    if claimed is None:
        return None
    row: typing.Any = claimed.request
    data: typing.Any = claimed.data
    fields = {'checkpoints': row.checkpoints, 'was_due': claimed.was_due}
    # A timeout and a power-on have no data.
    if data is not None:
        fields['inventory'] = data.inventory
        fields['plugin_data'] = data.plugin_data
    return _read_request(row, **fields)


def _find_data(
    node_uuid: str,
    event: str,
    inventory: dict | None,
    plugin_data: dict | None,
) -> dict[str, typing.Any] | None:
    """Return the data to store with a new request; None for no data.

    A reapplication without an inventory gets the data that were posted last.

    :param inventory: the inventory that was given with the request, if any.
    """
    data: dict[str, typing.Any] | None = None
    if inventory is not None:
        data = {'inventory': inventory, 'plugin_data': plugin_data or {}}
    elif event == queue_request.REAPPLY:
        data = unprocessed.get_unprocessed(node_uuid)
    if data is not None:
        # The data of a reapplication do not replace the data that a ramdisk
        # posted last: both are kept.
        data['posted'] = event == queue_request.CONTINUE
    return data


def _refuse_other_data(
    new: _NewRequest,
    waiting_data: dict[str, typing.Any],
    open_request: queue_request.Request,
) -> None:
    """Raise an error if data of an unknown sender differ from waiting data.

    Otherwise anybody could replace the data that a machine has posted.

    :param waiting_data: the ``inventory`` and the ``plugin_data`` that wait.
    :param open_request: the request whose data wait.
    :raises: AnotherSender if the data differ, or the sender has sent none.
    """
    if new.data is not None and _as_text(new.data) == _as_text(waiting_data):
        return
    LOG.warning(
        'Inspection data of node %(node)s from %(sender)s are '
        'refused: other data wait to be processed, which '
        '%(present)s posted',
        {
            'node': open_request.node_uuid,
            'sender': new.sender,
            'present': open_request.sender,
        },
    )
    raise exceptions.AnotherSender(open_request.node_uuid, open_request.sender)


def _as_text(data: dict[str, typing.Any]) -> str:
    """Return the inventory and the plugin data of a request as one text.

    Data are compared as text, because a ramdisk may post NaN, which does not
    equal itself.
    """
    return json.dumps([data['inventory'], data['plugin_data']], sort_keys=True)
