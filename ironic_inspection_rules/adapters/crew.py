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

"""The inspection worker of a process, with all that belongs to it."""

from collections.abc import Callable
import functools
import threading
import typing

from ironic.common import driver_factory
from ironic.common import metrics_utils
from ironic.conf import CONF
from oslo_concurrency import processutils
from oslo_log import log

from ironic_inspection_rules.adapters import inspection
from ironic_inspection_rules.adapters import upkeep
from ironic_inspection_rules.adapters import wakeup
from ironic_inspection_rules.ha import database_queue
from ironic_inspection_rules.ha import election
from ironic_inspection_rules.ha import singleton
from ironic_inspection_rules.ha import worker

LOG = log.getLogger(__name__)

OFFICE = 'inspection-upkeep'
"""What the workers of a cluster elect a leader for."""


def make_queue() -> database_queue.DatabaseQueue:
    """Make the queue that all processes of the cluster share."""
    return database_queue.DatabaseQueue(CONF.inspection_queue.lease)


class Crew:
    """A worker, its ear for wake-ups, and a candidate for the upkeep.

    :param name: of the worker.
    """

    def __init__(self, name: str) -> None:
        options = CONF.inspection_queue
        requests = make_queue()
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._worker = worker.Worker(
            name, requests,
            inspection.Inspector(requests, options.inspection_timeout),
            _settings(), _count)
        self._singletons = singleton.Singletons(
            functools.partial(_make_election, name),
            upkeep.Upkeep(requests, options.inspection_timeout,
                          options.report_expiration, self.wake).tasks,
            options.clean_up_period, options.connection_retry_interval)
        self._listener = (wakeup.Listener(name, self.wake)
                          if wakeup.is_available() else None)
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for target, name in ((self._work, 'worker'),
                                 (self._keep_up, 'upkeep'))]

    def start(self) -> None:
        """Start to work; returns at once.

        :raises: whatever Ironic or a hook raises that cannot be loaded.
        """
        # Loads drivers and hooks, so that it is now that they fail.
        driver_factory.all_interfaces()
        if self._listener is not None:
            self._listener.start()
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look for work at once."""
        self._worker.wake()

    def stop(self) -> None:
        """Take no more work; see :meth:`wait`."""
        self._stop.set()
        self._worker.stop()

    def wait(self) -> None:
        """Wait until all that was begun is done.

        :raises: what made the worker give up.
        """
        for thread in self._threads:
            thread.join()
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        try:
            self._worker.run()
        except Exception as exc:
            LOG.critical('The inspection worker gives up: %s', exc)
            self._failure = exc
        finally:
            self._stop.set()

    def _keep_up(self) -> None:
        self._singletons.run(self._stop)


def _settings() -> worker.Settings:
    options = CONF.inspection_queue
    return worker.Settings(
        threads=options.workers or processutils.get_worker_count(),
        get_timeout=options.get_timeout,
        lease=options.lease,
        max_attempts=options.max_attempts,
        connection_retries=options.connection_retries,
        retry_interval=options.connection_retry_interval)


def _make_election(name: str, **callbacks: Callable[[], None]
                   ) -> election.Election:
    options = CONF.inspection_queue
    return election.Election(
        OFFICE, CONF.coordination.backend_url, name,
        connection_retries=options.connection_retries,
        connection_retry_interval=options.connection_retry_interval,
        **typing.cast(dict[str, typing.Any], callbacks))


def _count(outcome: worker.Outcome) -> None:
    """Count deliveries by how they ended, in Ironic's metrics."""
    metrics_utils.get_metrics_logger('InspectionWorker').send_counter(
        outcome.value, 1)
