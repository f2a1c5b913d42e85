# SPDX-License-Identifier: Apache-2.0

"""Inspection data that go to the queue, from Ironic's API."""

from collections.abc import Callable
import threading
import time
from typing import Any

from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.inspection import early_phase
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request

LOG = log.getLogger(__name__)


def _has_proved_nothing(_node_uuid: str) -> bool:
    return False


class QueueingConductorAPI:
    """Ironic's conductor API, except that inspection data go to the queue.

    :param rpcapi: the ``ConductorAPI`` of an API request.
    :param requests: the queue.
    :param posted: plugin data as the ramdisk posted them.
    :param kept: see :mod:`.inspection.early_phase`.
    :param sender: IP address of the ramdisk.
    :param is_machine: takes the UUID of a node; returns whether the sender
        has proved to be that machine, by its agent token.
    """

    def __init__(self, rpcapi: Any, requests: database_queue.DatabaseQueue,
                 posted: dict, kept: early_phase.Kept | None = None,
                 sender: str | None = None,
                 is_machine: Callable[[str], bool] = _has_proved_nothing
                 ) -> None:
        self._rpcapi = rpcapi
        self._queue = requests
        self._posted = posted
        self._kept = kept
        self._sender = sender
        self._is_machine = is_machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rpcapi, name)

    def continue_inspection(self, context: Any, node_id: str,
                            inventory: dict, plugin_data: dict,
                            topic: str | None = None) -> None:
        """Store a request instead of calling a conductor."""
        # The data are stored as they came. What early rules made of them is
        # a checkpoint, so that each attempt begins with the same.
        checkpoints = checkpoint.of_early_phase(self._posted, plugin_data,
                                                self._kept)
        self._queue.put(
            node_id, queue_request.CONTINUE, inventory, self._posted,
            checkpoints, sender=self._sender,
            trusted=self._is_machine(node_id))


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
            neglected = self._read(self._patience)
        except db_exc.DBError as exc:
            LOG.debug('The backlog cannot be read: %s', exc)
            return
        if neglected is not None and not self._warned:
            LOG.warning(
                '%(waiting)d inspection requests wait, the first for '
                '%(delay).0f seconds, and no worker takes them: is '
                'ironic-inspection-worker running?', neglected._asdict())
        elif neglected is None and self._warned:
            LOG.info('Workers take inspection requests again')
        self._warned = neglected is not None
