# SPDX-License-Identifier: Apache-2.0

"""A queue that nobody works on, as the API sees it."""

from collections.abc import Callable
import threading
import time
import typing

from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules.db import backlog

LOG = log.getLogger(__name__)


class WorkerAbsence:
    """Warns when requests wait although no worker has any.

    :param patience: seconds; what waits longer is due to a worker missing,
        and the database is not asked more often.
    :param read: reads the backlog.
    :param clock: tells seconds that never go back.
    """

    def __init__(self, patience: float,
                 read: Callable[[], backlog.Backlog] = backlog.read,
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
            found = self._read()
        except db_exc.DBError as exc:
            LOG.debug('The backlog cannot be read: %s', exc)
            return
        absent = found.delay > self._patience and not found.processing
        if absent and not self._warned:
            LOG.warning(
                '%(waiting)d inspection requests wait, the first for '
                '%(delay).0f seconds, and no worker takes them: is '
                'ironic-inspection-worker running?', found._asdict())
        elif self._warned and not absent:
            LOG.info('Workers take inspection requests again')
        self._warned = absent


class UnservedRequests:
    """Warns of what waits for a worker of another kind than this one.

    :param served: see :class:`.DatabaseQueue`.
    :param patience: seconds; what waits longer is noticed.
    """

    def __init__(self, served: typing.Any, patience: float) -> None:
        self._served = served
        self._patience = patience
        self._known: set[tuple[str, str]] = set()

    def check(self) -> None:
        """Look at what waits longest; log each kind of node once."""
        found = {(kind.driver, kind.conductor_group): kind for kind in
                 backlog.read_unserved(self._served, self._patience)}
        for key, kind in found.items():
            if key not in self._known:
                LOG.warning(
                    'Inspection requests of nodes with the driver %(driver)s '
                    'and the conductor group "%(conductor_group)s" wait for '
                    '%(delay).0f seconds, the first is that of node %(node)s '
                    ': is there an ironic-inspection-worker with this driver '
                    'in [DEFAULT]enabled_hardware_types and this group in '
                    '[inspection_queue]conductor_groups?', kind._asdict())
        self._known = set(found)
