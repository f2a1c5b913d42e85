# SPDX-License-Identifier: Apache-2.0

"""A warning of requests that wait although no worker takes any."""

from collections.abc import Callable
import threading
import time

from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules.db import backlog

LOG = log.getLogger(__name__)


class WorkerAbsence:
    """Warns when requests wait and no worker processes any.

    :param patience: seconds that a request may wait before the warning, and
        between two queries of the database.
    :param read: returns the backlog if a request has waited for so many
        seconds and none is being processed, else None.
    :param clock: a monotonic clock, in seconds.
    """

    def __init__(
        self,
        patience: float,
        read: Callable[[float], backlog.Backlog | None] = (
            backlog.read_neglected
        ),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._patience = patience
        self._read = read
        self._clock = clock
        self._next_query_at = clock() + patience
        # Whether the warning was logged, and not yet that it is over.
        self._warned = False
        # Guards the time of the next query: of several threads of the API, one
        # makes it.
        self._lock = threading.Lock()

    def check(self) -> None:
        """Warn if requests wait and no worker takes them, once.

        When workers take them again, that is logged as well. The API calls
        this after every request that it has stored: to spare the database, a
        query is made only if ``patience`` seconds have passed since the last.
        """
        with self._lock:
            if self._clock() < self._next_query_at:
                return
            self._next_query_at = self._clock() + self._patience
        try:
            neglected = self._read(self._patience)
        except db_exc.DBError as exc:
            LOG.debug('The backlog cannot be read: %s', exc)
            return
        # None means that no request waits for too long, or that a worker
        # processes one.
        if neglected is not None and not self._warned:
            LOG.warning(
                '%(waiting)d inspection requests wait, the first for '
                '%(delay).0f seconds, and no worker takes them: is '
                'ironic-inspection-worker running?',
                neglected._asdict(),
            )
        elif neglected is None and self._warned:
            LOG.info('Workers take inspection requests again')
        self._warned = neglected is not None
