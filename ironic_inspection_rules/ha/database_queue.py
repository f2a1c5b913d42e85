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

"""The queue of inspection requests in Ironic's database.

Any number of processes on any number of hosts share it. Who may act on a
request, and when, is decided by single statements that the database carries
out, by its own clock.
"""

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import datetime
import typing

from oslo_utils import timeutils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import request as db_request
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.ha import queue
from ironic_inspection_rules.ha import state


class DatabaseQueue:
    """A :class:`queue.Queue` that survives whoever uses it.

    :param lease: seconds without a sign of life after which a worker counts
        as dead.
    """

    def __init__(self, lease: float) -> None:
        self._lease = lease

    def put(self, node_uuid: str, event: str, inventory: dict | None = None,
            plugin_data: dict | None = None,
            progress: dict | None = None) -> queue.Request:
        """See :meth:`queue.Queue.put`.

        Without an inventory the request is for what the ramdisk posted last.
        """
        data = None if inventory is None else {
            'inventory': inventory, 'plugin_data': plugin_data or {},
            'posted': event == queue.CONTINUE}
        stored = None
        while stored is None:
            # None means that somebody else has changed what was decided on.
            stored = self._try_put(node_uuid, event, data, progress or {})
        return stored

    def _try_put(self, node_uuid: str, event: str,
                 data: dict[str, typing.Any] | None,
                 progress: dict) -> queue.Request | None:
        present = self.find_open(node_uuid)
        if present is None:
            try:
                return _request(db_request.create_request({
                    'uuid': uuidutils.generate_uuid(), 'event': event,
                    'node_uuid': node_uuid, 'state': state.WAITING,
                    'progress': progress}, data))
            except exceptions.RequestPending:
                return None
        if not queue.displaces(event, present):
            raise exceptions.RequestPending(node_uuid)
        if present.event == event:
            row = db_request.renew_request(
                present.uuid, present.token, state.WAITING,
                {'progress': progress}, data)
            return _request(row) if row else None
        db_request.finish_request(present.uuid, present.token, state.ERROR,
                                  queue.SUPERSEDED, state.WAITING)
        return None

    def get(self, worker: str) -> queue.Request | None:
        """See :meth:`queue.Queue.get`."""
        claimed: typing.Any = db_request.claim_request(worker, self._lease)
        if claimed is None:
            return None
        row, data = claimed
        return dataclasses.replace(
            _request(row), progress=row.progress,
            inventory=data.inventory if data else {},
            plugin_data=data.plugin_data if data else {})

    def begin(self, request: queue.Request, reached: str) -> queue.Request:
        """See :meth:`queue.Queue.begin`."""
        begun = dataclasses.replace(request, state=reached,
                                    attempts=request.attempts + 1)
        _require(request, db_request.change_request(
            request.uuid, request.token,
            {'state': begun.state, 'attempts': begun.attempts,
             'started_at': timeutils.utcnow()}, self._lease))
        return begun

    def note(self, request: queue.Request, progress: dict,
             transaction: typing.Any = None) -> queue.Request:
        """See :meth:`queue.Queue.note`.

        :param transaction: a session of SQLAlchemy.
        """
        _require(request, db_request.change_request(
            request.uuid, request.token, {'progress': progress}, self._lease,
            session=transaction))
        return dataclasses.replace(request, progress=progress)

    def heartbeat(self, requests: Iterable[queue.Request]) -> set[str]:
        """See :meth:`queue.Queue.heartbeat`."""
        held = {request.uuid: request.token for request in requests}
        if not held:
            return set()
        return set(held) - db_request.prolong_requests(held.items(),
                                                       self._lease)

    def consume(self, request: queue.Request,
                error: str | None = None) -> queue.Request:
        """See :meth:`queue.Queue.consume`."""
        reached = state.FINISHED if error is None else state.ERROR
        _require(request, db_request.finish_request(
            request.uuid, request.token, reached, error))
        return dataclasses.replace(request, state=reached, last_error=error)

    def retry(self, request: queue.Request, delay: float,
              error: str | None = None) -> None:
        """See :meth:`queue.Queue.retry`."""
        _require(request, db_request.change_request(
            request.uuid, request.token,
            {'worker': None, 'token': request.token + 1,
             'last_error': error or request.last_error}, due_in=delay))

    def abort(self, uuid: str, reason: str) -> queue.Request:
        """See :meth:`queue.Queue.abort`."""
        row = db_request.get_request_by_uuid(uuid)
        if not db_request.finish_request(uuid, row.token, state.ERROR, reason,
                                         state.WAITING):
            raise exceptions.RequestNotWaiting(uuid)
        return dataclasses.replace(_request(row), state=state.ERROR,
                                   last_error=reason)

    def expire(self) -> list[queue.Lapse]:
        """See :meth:`queue.Queue.expire`."""
        return [queue.Lapse(row.uuid, row.node_uuid, row.worker,
                            done=row.open_node_uuid is None)
                for row in db_request.expire_leases()]

    def is_held(self, node_uuid: str, worker: str,
                besides: str | None = None) -> bool:
        """See :meth:`queue.Queue.is_held`."""
        return db_request.is_leased(node_uuid, worker, besides)

    def find(self, uuid: str) -> queue.Request:
        """Show a request, without its data.

        :raises: RequestNotFound
        """
        return _request(db_request.get_request_by_uuid(uuid))

    def forget(self, age: float) -> int:
        """Remove requests that were done long ago.

        :param age: seconds since then.
        :returns: how many there were.
        """
        return db_request.destroy_done_requests(
            timeutils.utcnow() - datetime.timedelta(seconds=age))

    def nodes(self) -> set[str]:
        """Tell the UUIDs of all nodes with requests or inspection data."""
        return unprocessed.list_nodes()

    def remove(self, node_uuids: Collection[str]) -> None:
        """Remove all requests and inspection data of nodes."""
        unprocessed.destroy_nodes(node_uuids)

    def find_open(self, node_uuid: str) -> queue.Request | None:
        """Show the open request of a node, without its data, if any."""
        row = db_request.get_open_request(node_uuid)
        return _request(row) if row else None


def _request(row: typing.Any) -> queue.Request:
    return queue.Request(
        uuid=row.uuid, node_uuid=row.node_uuid, event=row.event,
        state=row.state, attempts=row.attempts, token=row.token,
        worker=row.worker, last_error=row.last_error)


def _require(request: queue.Request, held: bool) -> None:
    if not held:
        raise exceptions.LeaseLost(request.uuid)
