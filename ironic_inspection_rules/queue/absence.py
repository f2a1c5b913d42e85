# SPDX-License-Identifier: Apache-2.0

"""A queue that nobody works on, as the API sees it."""

from collections.abc import Callable
import threading
import time

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
