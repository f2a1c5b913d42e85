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

"""The queue of inspection requests in memory, as tests and trials use it."""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import itertools
import threading
import time
import typing

from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import queue
from ironic_inspection_rules.ha import state


@dataclasses.dataclass
class _Row:
    """A request in memory.

    ``due_at`` is when the queue may act on it: deliver it, or find its
    worker dead. ``lapsed`` says of a done one that this has happened.
    """

    number: int
    request: queue.Request
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
            progress: dict | None = None) -> queue.Request:
        """See :meth:`.Queue.put`."""
        request = queue.Request(uuidutils.generate_uuid(), node_uuid, event,
                                inventory=inventory or {},
                                plugin_data=plugin_data or {},
                                progress=progress or {})
        with self._lock:
            present = self._open_row(node_uuid)
            if present is not None:
                if not queue.displaces(event, present.request):
                    raise exceptions.RequestPending(node_uuid)
                if present.request.event == event:
                    return self._renew(present, request)
                self._finish(present, state.ERROR, queue.SUPERSEDED)
            self._rows[request.uuid] = _Row(next(self._numbers), request,
                                            due_at=self._clock())
        return request

    def get(self, worker: str) -> queue.Request | None:
        """See :meth:`.Queue.get`."""
        with self._lock:
            due = [row for row in self._rows.values()
                   if row.open and row.due_at <= self._clock()]
            if not due:
                return None
            row = min(due, key=lambda row: (row.due_at, row.number))
            row.due_at = self._clock() + self._lease
            return _change(row, worker=worker, token=row.request.token + 1)

    def begin(self, request: queue.Request, reached: str) -> queue.Request:
        """See :meth:`.Queue.begin`."""
        with self._lock:
            return _change(self._prolonged(request), state=reached,
                           attempts=request.attempts + 1)

    def note(self, request: queue.Request, progress: dict,
             transaction: typing.Any = None) -> queue.Request:
        """See :meth:`.Queue.note`."""
        with self._lock:
            return _change(self._prolonged(request), progress=progress)

    def heartbeat(self, requests: Iterable[queue.Request]) -> set[str]:
        """See :meth:`.Queue.heartbeat`."""
        lost = set()
        with self._lock:
            for request in requests:
                try:
                    self._prolonged(request)
                except exceptions.LeaseLost:
                    lost.add(request.uuid)
        return lost

    def consume(self, request: queue.Request,
                error: str | None = None) -> queue.Request:
        """See :meth:`.Queue.consume`."""
        reached = state.FINISHED if error is None else state.ERROR
        with self._lock:
            return self._finish(self._held(request), reached, error)

    def retry(self, request: queue.Request, delay: float,
              error: str | None = None) -> None:
        """See :meth:`.Queue.retry`."""
        with self._lock:
            row = self._held(request)
            row.due_at = self._clock() + delay
            _change(row, worker=None, token=request.token + 1,
                    last_error=error or request.last_error)

    def abort(self, uuid: str, reason: str) -> queue.Request:
        """See :meth:`.Queue.abort`."""
        with self._lock:
            row = self._rows.get(uuid)
            if row is None:
                raise exceptions.RequestNotFound(uuid)
            if not row.open or row.request.state != state.WAITING:
                raise exceptions.RequestNotWaiting(uuid)
            _change(row, token=row.request.token + 1)
            return self._finish(row, state.ERROR, reason)

    def expire(self) -> list[queue.Lapse]:
        """See :meth:`.Queue.expire`."""
        lapses = []
        with self._lock:
            for row in self._rows.values():
                worker = row.request.worker
                if (worker is None or row.lapsed
                        or row.due_at > self._clock()):
                    continue
                lapses.append(queue.Lapse(
                    row.request.uuid, row.request.node_uuid, worker,
                    not row.open))
                if row.open:
                    _change(row, worker=None, token=row.request.token + 1)
                else:
                    row.lapsed = True
        return lapses

    def is_held(self, node_uuid: str, worker: str,
                besides: str | None = None) -> bool:
        """See :meth:`.Queue.is_held`."""
        with self._lock:
            return any(row.request.node_uuid == node_uuid
                       and row.request.worker == worker
                       and row.request.uuid != besides
                       and row.due_at > self._clock()
                       for row in self._rows.values())

    def find(self, uuid: str) -> queue.Request:
        """See :meth:`.Queue.find`."""
        with self._lock:
            try:
                return self._rows[uuid].request
            except KeyError as exc:
                raise exceptions.RequestNotFound(uuid) from exc

    def find_open(self, node_uuid: str) -> queue.Request | None:
        """See :meth:`.Queue.find_open`."""
        with self._lock:
            row = self._open_row(node_uuid)
            return row.request if row else None

    def _open_row(self, node_uuid: str) -> _Row | None:
        for row in self._rows.values():
            if row.open and row.request.node_uuid == node_uuid:
                return row
        return None

    def _held(self, request: queue.Request) -> _Row:
        row = self._rows.get(request.uuid)
        if row is None or not row.open or row.request.token != request.token:
            raise exceptions.LeaseLost(request.uuid)
        return row

    def _prolonged(self, request: queue.Request) -> _Row:
        row = self._held(request)
        row.due_at = self._clock() + self._lease
        return row

    def _renew(self, row: _Row, request: queue.Request) -> queue.Request:
        row.due_at = self._clock()
        return _change(row, worker=None, token=row.request.token + 1,
                       inventory=request.inventory,
                       plugin_data=request.plugin_data,
                       progress=request.progress)

    def _finish(self, row: _Row, reached: str,
                error: str | None) -> queue.Request:
        row.open = False
        return _change(row, state=reached, last_error=error)


def _change(row: _Row, **values: typing.Any) -> queue.Request:
    row.request = dataclasses.replace(row.request, **values)
    return row.request
