# SPDX-License-Identifier: Apache-2.0

"""A warning about inspection requests that wait and are not processed.

The API stores requests in the queue, and worker processes take them from it.
If no worker is running, requests only pile up, and the API logs a warning.
"""

from collections.abc import Callable
import threading
import time

from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules.db import backlog

LOG = log.getLogger(__name__)


class WorkerAbsence:
    """Warns when requests wait and no worker processes any.

    :param patience: seconds that a request may wait before the warning. It is
        also the shortest time between two queries of the database.
    :param read: reads the neglected requests from the database. It is called
        with ``patience``, and returns how many requests wait and for how long
        the first has waited. It returns None if no request has waited for
        ``patience`` seconds, or if a worker is processing a request.
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
        # Whether the last message was the warning, and not that it is over.
        self._warned = False
        # Protects the time of the next query, so that only one of several
        # threads of the API makes the query.
        self._lock = threading.Lock()

    def check(self) -> None:
        """Log a warning when requests begin to be neglected.

        The warning is logged once. When workers take requests again, this is
        logged once as well.

        The API calls this after every request that it has stored. To spare
        the database, most calls return immediately: the database is asked
        again only when ``patience`` seconds have passed.
        """
        with self._lock:
            if self._clock() < self._next_query_at:
                return
            self._next_query_at = self._clock() + self._patience
        try:
            neglected = self._read(self._patience)
        except db_exc.DBError as exc:
            # The request itself was stored, so the caller must not fail.
            LOG.debug('The backlog cannot be read: %s', exc)
            return
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
