# SPDX-License-Identifier: Apache-2.0

"""Powering machines on for inspection, one at a time in the whole cluster.

The conductor puts a request and is done with it. Workers take the turns: a
machine that waits for its own holds no thread of a conductor, no lock, and
its timeout stands still.
"""

from collections.abc import Callable
import functools
from typing import Any

from ironic.conf import CONF
from oslo_db.sqlalchemy import enginefacade

from ironic_inspection_rules.coordination import coordinator
from ironic_inspection_rules.coordination import throttle
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.patches import inspection
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request

LOCK = 'inspection-power-on'


def install() -> None:
    """Prepare the conductor, which begins inspections, for the queue.

    What is open of an earlier inspection of a node ends when a newer one
    begins, and ``[inspection_queue]reboot_throttle`` is kept if it is set.

    :raises: Invalid when ``[coordination]`` cannot be used.
    """
    options = CONF.inspection_queue
    if not options.enabled:
        return
    transaction.bound(enginefacade.writer.get_engine(), options.lease)
    requests = database_queue.DatabaseQueue(
        options.lease, node_reservation.stop_clock)
    inspection.before_inspection(
        lambda task: requests.supersede(task.node.uuid))
    if options.reboot_throttle:
        coordinator.check(CONF)
        inspection.replace_power_on(functools.partial(
            requests.put, event=queue_request.POWER_ON))


class PacedQueue:
    """A queue that gives machines to be powered on, each in its turn.

    :param requests: the queue of all requests.
    :param make_turn: makes a context that is the turn of a machine.
    """

    def __init__(self, requests: database_queue.DatabaseQueue,
                 make_turn: Callable[[], Any]) -> None:
        self._queue = requests
        self._make_turn = make_turn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def get(self, worker: str) -> queue_request.Request | None:
        """Lease the request that is next, when it is its turn.

        :raises: Stopping, TemporaryFailure
        """
        if not self._queue.is_any_starting():
            return None
        with self._make_turn():
            return self._queue.get_starting(worker)


def make_throttle(wait: Callable[[float], bool]) -> throttle.Throttle:
    """Make what gives out the turns of the cluster.

    :param wait: see :class:`.throttle.Throttle`.
    """
    return throttle.Throttle(
        lambda: coordinator.make_lock(CONF, LOCK, CONF.host),
        CONF.inspection_queue.reboot_throttle, wait,
        CONF.coordination.connection_retries,
        CONF.coordination.connection_retry_interval)
