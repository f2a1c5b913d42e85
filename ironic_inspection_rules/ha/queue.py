# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The queue of inspection requests: what it promises, and one in memory.

A request is *put* once, *got* by one worker at a time under a lease, and
stays in the queue until it is *consumed*: it is delivered at least once
(spec 001 "HA worker"). Whoever holds a request proves it with the token of
its delivery, which every delivery replaces.
"""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import itertools
import threading
import time
import typing

from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import state

CONTINUE = 'continue'
REAPPLY = 'reapply'
TIMEOUT = 'timeout'

EVENTS = (CONTINUE, REAPPLY, TIMEOUT)
"""What a request can ask for (spec 002 "Client - inspector API")."""

SUPERSEDED = 'superseded by a posted inventory'
"""The error of a request that a posted inventory took the place of."""

_TRANSITION_EVENTS = {
    CONTINUE: state.CONTINUE,
    REAPPLY: state.CONTINUE,
    TIMEOUT: state.TIMEOUT,
}


@dataclasses.dataclass(frozen=True)
class Request:
    """A request as a worker sees it.

    ``attempts`` counts how often its processing has begun, ``token`` its
    deliveries. ``worker`` is who holds it now, or held it last.
    ``progress`` is what earlier attempts noted, by phase.
    """

    uuid: str
    node_uuid: str
    event: str
    state: str = state.WAITING
    attempts: int = 0
    token: int = 0
    worker: str | None = None
    last_error: str | None = None
    inventory: dict = dataclasses.field(default_factory=dict, repr=False)
    plugin_data: dict = dataclasses.field(default_factory=dict, repr=False)
    progress: dict = dataclasses.field(default_factory=dict, repr=False)

    @property
    def transition_event(self) -> str:
        """The event that processing this request means for its state."""
        return _TRANSITION_EVENTS[self.event]


class Lapse(typing.NamedTuple):
    """A lease that ran out while ``worker`` held the request.

    ``done``: it had been consumed, so the worker may be fine.
    """

    uuid: str
    node_uuid: str
    worker: str
    done: bool


class Queue(typing.Protocol):
    """What all queues do; those that span processes do it across them."""

    def put(self, node_uuid: str, event: str, inventory: dict | None = None,
            plugin_data: dict | None = None,
            progress: dict | None = None) -> Request:
        """Store a request; it survives from the moment this returns.

        A node has one open request at most. One that waits is brought up to
        date by a new one for the same event; a posted inventory displaces
        one that waits for anything else.

        :param progress: what has been reached before it is processed.
        :raises: RequestPending if the open request is being processed or is
            for another event.
        """

    def get(self, worker: str) -> Request | None:
        """Lease the request that has waited longest, if there is any."""

    def begin(self, request: Request, reached: str) -> Request:
        """Save the state that processing starts in and count the attempt.

        The lease runs anew.

        :returns: the request as it is now.
        :raises: LeaseLost if it is not the caller's any more.
        """

    def note(self, request: Request, progress: dict,
             transaction: typing.Any = None) -> Request:
        """Save what an attempt has reached, for the attempts after it.

        The lease runs anew.

        :param transaction: one of the queue's own kind to be part of, None
            for one that ends here.
        :raises: LeaseLost if it is not the caller's any more.
        """

    def heartbeat(self, requests: Iterable[Request]) -> set[str]:
        """Prolong leases by their full length from now.

        :returns: the UUIDs of those that were lost.
        """

    def consume(self, request: Request, error: str | None = None) -> Request:
        """Take a request out of the queue for good.

        :param error: why it failed, None when it did not.
        :returns: the request as it ended.
        :raises: LeaseLost if it is not the caller's any more.
        """

    def retry(self, request: Request, delay: float,
              error: str | None = None) -> None:
        """Give a request back, to be delivered again.

        :param delay: seconds before it may be.
        :raises: LeaseLost if it is not the caller's any more.
        """

    def abort(self, uuid: str, reason: str) -> Request:
        """End a request that nobody has begun to process.

        :raises: RequestNotFound, RequestNotWaiting
        """

    def expire(self) -> list[Lapse]:
        """Take back what is leased to workers that gave no sign of life."""

    def is_held(self, node_uuid: str, worker: str,
                besides: str | None = None) -> bool:
        """Whether a worker has a lease on a request of the node.

        A done one counts too as long as its lease lasts: the worker may not
        have unlocked the node yet.

        :param besides: UUID of a request that does not count.
        """

    def find(self, uuid: str) -> Request:
        """Show a request.

        :raises: RequestNotFound
        """

    def find_open(self, node_uuid: str) -> Request | None:
        """Show the open request of a node, if there is one."""


@dataclasses.dataclass
class _Row:
    """A request in memory.

    ``due_at`` is when the queue may act on it: deliver it, or find its
    worker dead. ``lapsed`` says of a done one that this has happened.
    """

    number: int
    request: Request
    due_at: float
    open: bool = True
    lapsed: bool = False


class MemoryQueue:
    """A queue inside one process, which it does not survive.

    :param lease: seconds without a sign of life after which a worker counts
        as dead.
    :param clock: tells the time in seconds.
    """

    def __init__(self, lease: float,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._lease = lease
        self._clock = clock
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._rows: dict[str, _Row] = {}

    def put(self, node_uuid: str, event: str, inventory: dict | None = None,
            plugin_data: dict | None = None,
            progress: dict | None = None) -> Request:
        """See :meth:`Queue.put`."""
        request = Request(uuidutils.generate_uuid(), node_uuid, event,
                          inventory=inventory or {},
                          plugin_data=plugin_data or {},
                          progress=progress or {})
        with self._lock:
            present = self._open_row(node_uuid)
            if present is not None:
                if not displaces(event, present.request):
                    raise exceptions.RequestPending(node_uuid)
                if present.request.event == event:
                    return self._renew(present, request)
                self._finish(present, state.ERROR, SUPERSEDED)
            self._rows[request.uuid] = _Row(next(self._numbers), request,
                                            due_at=self._clock())
        return request

    def get(self, worker: str) -> Request | None:
        """See :meth:`Queue.get`."""
        with self._lock:
            due = [row for row in self._rows.values()
                   if row.open and row.due_at <= self._clock()]
            if not due:
                return None
            row = min(due, key=lambda row: (row.due_at, row.number))
            row.due_at = self._clock() + self._lease
            return _change(row, worker=worker, token=row.request.token + 1)

    def begin(self, request: Request, reached: str) -> Request:
        """See :meth:`Queue.begin`."""
        with self._lock:
            return _change(self._prolonged(request), state=reached,
                           attempts=request.attempts + 1)

    def note(self, request: Request, progress: dict,
             transaction: typing.Any = None) -> Request:
        """See :meth:`Queue.note`."""
        with self._lock:
            return _change(self._prolonged(request), progress=progress)

    def heartbeat(self, requests: Iterable[Request]) -> set[str]:
        """See :meth:`Queue.heartbeat`."""
        lost = set()
        with self._lock:
            for request in requests:
                try:
                    self._prolonged(request)
                except exceptions.LeaseLost:
                    lost.add(request.uuid)
        return lost

    def consume(self, request: Request, error: str | None = None) -> Request:
        """See :meth:`Queue.consume`."""
        reached = state.FINISHED if error is None else state.ERROR
        with self._lock:
            return self._finish(self._held(request), reached, error)

    def retry(self, request: Request, delay: float,
              error: str | None = None) -> None:
        """See :meth:`Queue.retry`."""
        with self._lock:
            row = self._held(request)
            row.due_at = self._clock() + delay
            _change(row, worker=None, token=request.token + 1,
                    last_error=error or request.last_error)

    def abort(self, uuid: str, reason: str) -> Request:
        """See :meth:`Queue.abort`."""
        with self._lock:
            row = self._rows.get(uuid)
            if row is None:
                raise exceptions.RequestNotFound(uuid)
            if not row.open or row.request.state != state.WAITING:
                raise exceptions.RequestNotWaiting(uuid)
            _change(row, token=row.request.token + 1)
            return self._finish(row, state.ERROR, reason)

    def expire(self) -> list[Lapse]:
        """See :meth:`Queue.expire`."""
        lapses = []
        with self._lock:
            for row in self._rows.values():
                worker = row.request.worker
                if (worker is None or row.lapsed
                        or row.due_at > self._clock()):
                    continue
                lapses.append(Lapse(row.request.uuid, row.request.node_uuid,
                                    worker, not row.open))
                if row.open:
                    _change(row, worker=None, token=row.request.token + 1)
                else:
                    row.lapsed = True
        return lapses

    def is_held(self, node_uuid: str, worker: str,
                besides: str | None = None) -> bool:
        """See :meth:`Queue.is_held`."""
        with self._lock:
            return any(row.request.node_uuid == node_uuid
                       and row.request.worker == worker
                       and row.request.uuid != besides
                       and row.due_at > self._clock()
                       for row in self._rows.values())

    def find(self, uuid: str) -> Request:
        """See :meth:`Queue.find`."""
        with self._lock:
            try:
                return self._rows[uuid].request
            except KeyError as exc:
                raise exceptions.RequestNotFound(uuid) from exc

    def find_open(self, node_uuid: str) -> Request | None:
        """See :meth:`Queue.find_open`."""
        with self._lock:
            row = self._open_row(node_uuid)
            return row.request if row else None

    def _open_row(self, node_uuid: str) -> _Row | None:
        for row in self._rows.values():
            if row.open and row.request.node_uuid == node_uuid:
                return row
        return None

    def _held(self, request: Request) -> _Row:
        row = self._rows.get(request.uuid)
        if row is None or not row.open or row.request.token != request.token:
            raise exceptions.LeaseLost(request.uuid)
        return row

    def _prolonged(self, request: Request) -> _Row:
        row = self._held(request)
        row.due_at = self._clock() + self._lease
        return row

    def _renew(self, row: _Row, request: Request) -> Request:
        row.due_at = self._clock()
        return _change(row, worker=None, token=row.request.token + 1,
                       inventory=request.inventory,
                       plugin_data=request.plugin_data,
                       progress=request.progress)

    def _finish(self, row: _Row, reached: str, error: str | None) -> Request:
        row.open = False
        return _change(row, state=reached, last_error=error)


def displaces(event: str, present: Request) -> bool:
    """Whether a new request may take the place of the node's open one."""
    return (present.state == state.WAITING
            and event in (present.event, CONTINUE))


def _change(row: _Row, **values: typing.Any) -> Request:
    row.request = dataclasses.replace(row.request, **values)
    return row.request
