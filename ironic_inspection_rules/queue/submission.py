# SPDX-License-Identifier: Apache-2.0

"""Putting requests into the queue, from Ironic's API."""

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
from ironic_inspection_rules.queue import request as queue_request

LOG = log.getLogger(__name__)


class RequestSubmitter:
    """Where the API hands over what workers are to process.

    :param requests: the queue.
    :param wake: has the workers look for work.
    :param check_workers: called for each request, so that missing workers
        are noticed.
    """

    def __init__(self, requests: queue_request.Queue,
                 wake: Callable[[], None],
                 check_workers: Callable[[], None] = lambda: None) -> None:
        self._queue = requests
        self._wake = wake
        self._check_workers = check_workers

    def put(self, node_uuid: str, event: str, inventory: dict | None,
            posted: dict, plugin_data: dict, sender: str | None = None,
            trusted: bool = True) -> queue_request.Request:
        """Store a request; when this returns it is on disk.

        :param inventory: None for what the ramdisk posted last.
        :param posted: plugin data as they came.
        :param plugin_data: the same after the early rules.
        :param sender: address that the data came from.
        :param trusted: whether it may replace other data that wait.
        :raises: RequestPending
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
        """Show the open request of a node, if there is one."""
        return self._queue.find_open(node_uuid)

    def abort(self, uuid: str, reason: str) -> queue_request.Request:
        """End a request that nobody has begun to process.

        :raises: RequestNotFound, RequestNotWaiting
        """
        return self._queue.abort(uuid, reason)


class QueueingConductorAPI:
    """Ironic's conductor API, but that inspection data go to the queue.

    :param rpcapi: the ``ConductorAPI`` of an API request.
    :param submitter: takes the data.
    :param posted: plugin data as the ramdisk posted them.
    :param sender: address of the ramdisk.
    :param is_machine: told the UUID of a node, whether the sender has proved
        to be that machine.
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
        """Put a request in the place of calling a conductor."""
        self._submitter.put(node_id, queue_request.CONTINUE, inventory,
                            self._posted, plugin_data, self._sender,
                            self._is_machine(node_id))


class WorkerAbsence:
    """Warns when requests wait although no worker has any.

    :param patience: seconds; what waits longer is due to a worker missing,
        and the database is not asked more often.
    :param read: reads the backlog, if it is neglected for so long.
    :param clock: tells seconds that never go back.
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
        """Ask the database if it is time to; log what has changed."""
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
