# SPDX-License-Identifier: Apache-2.0

"""Storing requests in the queue, from Ironic's API."""

from collections.abc import Callable
import threading
import time
from typing import Any

from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.inspection import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request

LOG = log.getLogger(__name__)


class RequestSubmitter:
    """Stores requests in the queue and wakes the workers.

    :param requests: the queue.
    :param wake: wakes the workers.
    :param check_workers: called after each request; warns if no worker
        takes requests.
    """

    def __init__(self, requests: database_queue.DatabaseQueue,
                 wake: Callable[[], None],
                 check_workers: Callable[[], None] = lambda: None) -> None:
        self._queue = requests
        self._wake = wake
        self._check_workers = check_workers

    def put(self, node_uuid: str, event: str, inventory: dict | None,
            posted: dict, plugin_data: dict, sender: str | None = None,
            trusted: bool = True) -> queue_request.Request:
        """Store a request; it is committed when this returns.

        :param event: one of :data:`.request.EVENTS`.
        :param inventory: None for the one that the ramdisk posted last.
        :param posted: plugin data as the ramdisk posted them.
        :param plugin_data: plugin data after the early rules.
        :param sender: IP address that the data came from.
        :param trusted: see :meth:`.DatabaseQueue.put`.
        :raises: RequestPending, AnotherSender, Conflict
        """
        try:
            request = self._queue.put(
                node_uuid, event, inventory, posted,
                {model.EARLY: attempt.difference(posted, plugin_data)},
                sender=sender, trusted=trusted)
        except exceptions.AnotherSender as exc:
            LOG.warning('Inspection data of node %(node)s from %(sender)s '
                        'are refused: other data wait to be processed, '
                        'which %(present)s posted',
                        {'node': node_uuid, 'sender': sender,
                         'present': exc.sender})
            raise
        self._wake()
        self._check_workers()
        return request

    def find_open(self, node_uuid: str) -> queue_request.Request | None:
        """Return the open request of a node, None if it has none."""
        return self._queue.find_open(node_uuid)

    def abort(self, uuid: str, reason: str) -> queue_request.Request:
        """Abort a request that no worker has begun to process.

        :param reason: stored as the error of the request.
        :raises: RequestNotFound, RequestNotWaiting
        """
        return self._queue.abort(uuid, reason)


class QueueingConductorAPI:
    """Ironic's conductor API, except that inspection data go to the queue.

    :param rpcapi: the ``ConductorAPI`` of an API request.
    :param submitter: stores the data.
    :param posted: plugin data as the ramdisk posted them.
    :param sender: IP address of the ramdisk.
    :param is_machine: takes the UUID of a node; returns whether the sender
        has proved to be that machine, by its agent token.
    """

    def __init__(self, rpcapi: Any, submitter: RequestSubmitter,
                 posted: dict, sender: str | None = None,
                 is_machine: Callable[[str], bool] = lambda node_uuid: False
                 ) -> None:
        self._rpcapi = rpcapi
        self._submitter = submitter
        self._posted = posted
        self._sender = sender
        self._is_machine = is_machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rpcapi, name)

    def continue_inspection(self, context: Any, node_id: str,
                            inventory: dict, plugin_data: dict,
                            topic: str | None = None) -> None:
        """Store a request instead of calling a conductor."""
        self._submitter.put(node_id, queue_request.CONTINUE, inventory,
                            self._posted, plugin_data, self._sender,
                            self._is_machine(node_id))


class WorkerAbsence:
    """Warns when requests wait and no worker processes any.

    :param patience: seconds that a request may wait before the warning, and
        between two queries of the database.
    :param read: returns the backlog if a request has waited for so many
        seconds and none is being processed, else None.
    :param clock: a monotonic clock, in seconds.
    """

    def __init__(self, patience: float,
                 read: Callable[[float], backlog.Backlog | None] = (
                     backlog.read_neglected),
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._read = read
        self._clock = clock
        self._next = clock() + patience
        self._warned = False
        self._lock = threading.Lock()

    def check(self) -> None:
        """Query the database if ``patience`` has passed; log changes."""
        with self._lock:
            if self._clock() < self._next:
                return
            self._next = self._clock() + self._patience
        try:
            found = self._read(self._patience)
        except db_exc.DBError as exc:
            LOG.debug('The backlog cannot be read: %s', exc)
            return
        if found is not None and not self._warned:
            LOG.warning(
                '%(waiting)d inspection requests wait, the first for '
                '%(delay).0f seconds, and no worker takes them: is '
                'ironic-inspection-worker running?', found._asdict())
        elif self._warned and found is None:
            LOG.info('Workers take inspection requests again')
        self._warned = found is not None
