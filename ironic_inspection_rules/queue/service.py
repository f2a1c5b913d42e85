# SPDX-License-Identifier: Apache-2.0

"""Runs an inspection worker, which processes the requests of the queue.

The worker runs in a separate process, ``ironic-inspection-worker``, or in a
process of Ironic that has a conductor, which is called an embedded worker.
Every worker also takes part in the election of a leader: one worker of the
cluster runs periodic tasks, such as returning the requests of dead workers.
"""

from collections.abc import Callable, Sequence
import dataclasses
import functools
import threading
import typing

from ironic.common import driver_factory
from ironic.conf import CONF
from oslo_concurrency import processutils
from oslo_db.sqlalchemy import enginefacade
from oslo_log import log
import tenacity

from ironic_inspection_rules.coordination import coordinator
from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.inspection import rule_counter
from ironic_inspection_rules.patches import conductor
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import maintenance
from ironic_inspection_rules.queue import power_on
from ironic_inspection_rules.queue import wakeup
from ironic_inspection_rules.queue import worker
from ironic_inspection_rules.runs import metrics

LOG = log.getLogger(__name__)

ELECTION_NAME = 'inspection-upkeep'
"""Name of the election of the leader of all workers."""

_RESTART_DELAY = 1.0
"""Seconds until a thread that failed is started again."""


def make_queue(
    served: typing.Any = None,
    after_put: Sequence[Callable[[], None]] = (),
) -> database_queue.DatabaseQueue:
    """Return the queue, which all processes of the cluster share.

    This also limits how long this process and the database wait for each
    other, see :func:`.transaction.limit_waits`.

    :param served: an SQL condition on the requests that this process can
        process; None for all.
    :param after_put: functions to call after a request was stored, e.g. to
        wake the workers.
    """
    lease = CONF.inspection_queue.lease
    # A process that stalls in a transaction loses its lease after that time,
    # and must not keep the locks of its rows for longer.
    transaction.limit_waits(enginefacade.writer.get_engine(), lease)
    return database_queue.DatabaseQueue(
        lease, node_reservation.stop_timeout, served, after_put
    )


class WorkerService:
    """A worker with all its threads, as the options describe it.

    It starts three threads: one takes requests of machines and of operators,
    one takes power-on requests, and one takes part in the election and runs
    the periodic tasks of the leader. A listener receives wake-ups, i.e.
    messages that the queue has a new request.

    :param name: the name of the worker.
    :ivar wake: makes the worker poll the queue immediately.
    :raises: Invalid if an option of ``[coordination]`` cannot be used.
    """

    def __init__(self, name: str) -> None:
        coordinator.check(CONF)
        options = CONF.inspection_queue
        # The SQL condition of requests whose nodes have a driver and a
        # conductor group of this worker.
        served = node_reservation.served_by(
            sorted(driver_factory.hardware_types()), options.conductor_groups
        )
        requests = make_queue(served)
        self._stop = threading.Event()
        # Called with a request, this locks its node for an attempt.
        lock = functools.partial(
            attempt.locked, requests, options.inspection_timeout
        )
        settings = _read_settings()
        observe: Callable[[delivery.Outcome], None] | None = None
        # With "noop", the default backend of Ironic, metrics go nowhere.
        if CONF.metrics.backend != 'noop':
            observe = count_delivery
        self._worker = worker.Worker(name, requests, lock, settings, observe)
        self.wake = self._worker.wake
        # The power-on worker takes a request when the throttle allows it. The
        # throttle waits in a method of this worker, so that its watchdog does
        # not take the wait for a hang. The worker does not exist yet, so the
        # throttle gets a method of this class that calls it later.
        throttle = power_on.make_throttle(self._pause_power_on_worker)
        self._power_on_worker = worker.Worker(
            f'{name}:power-on',
            requests,
            lock,
            # The throttle lets one machine through at a time.
            dataclasses.replace(settings, threads=1),
            claim=functools.partial(power_on.claim, requests, throttle.turn),
        )
        queue_maintenance = maintenance.QueueMaintenance(
            requests,
            inspection_timeout=options.inspection_timeout,
            report_expiration=options.report_expiration,
            wake=self.wake,
            settle=functools.partial(attempt.settle, requests, lock),
        )
        unserved = maintenance.UnservedRequests(served, options.lease)
        leader_tasks = maintenance.LeaderTasks(
            functools.partial(election.make, CONF, ELECTION_NAME, name),
            (*queue_maintenance.tasks, unserved.check, report_backlog),
            period=options.clean_up_period,
            limit=options.processing_time_limit,
        )
        # Without a message broker, the workers only poll.
        self._listener: wakeup.Listener | None = None
        if wakeup.is_available():
            self._listener = wakeup.Listener(name, self.wake)
        self._worker_threads = [
            self._make_thread('worker', self._worker.run),
            self._make_thread('power-on', self._power_on_worker.run),
        ]
        self._threads = [
            *self._worker_threads,
            self._make_thread(
                'leader tasks',
                functools.partial(leader_tasks.run, self._stop),
            ),
        ]
        self._started: list[threading.Thread] = []

    def _make_thread(
        self, name: str, run: Callable[[], None]
    ) -> threading.Thread:
        return threading.Thread(
            target=self._supervise, args=(run,), name=name, daemon=True
        )

    def _pause_power_on_worker(self, seconds: float) -> bool:
        """Wait for the throttle; the watchdog does not count this as a hang.

        :returns: whether the worker must stop; in this case the wait ends
            immediately.
        """
        return self._power_on_worker.pause(seconds)

    def start(self) -> None:
        """Load drivers and hooks, and start the threads of the worker.

        If a thread cannot start, the threads that have started are stopped.

        :raises: RuntimeError if a thread cannot start; any error of a driver
            or hook that cannot be loaded.
        """
        # The result is not needed. The call loads drivers and hooks, so that a
        # broken one fails the start instead of the first request.
        driver_factory.all_interfaces()
        try:
            for thread in self._threads:
                thread.start()
                self._started.append(thread)
            # Start the listener last, because nothing can stop it. Earlier
            # wake-ups are not missed, because workers poll the queue when they
            # begin.
            if self._listener is not None:
                self._listener.start()
        except RuntimeError:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop claiming requests; deliveries in progress continue.

        :meth:`wait` returns when these are done.
        """
        self._stop.set()
        self._worker.stop()
        self._power_on_worker.stop()

    def is_working(self) -> bool:
        """Return whether a delivery may be in progress.

        The thread of a worker ends after its last delivery. The process of an
        embedded worker does not end before that.
        """
        return any(thread.is_alive() for thread in self._worker_threads)

    def wait(self) -> None:
        """Wait until all threads have ended, and write the counts of rules.

        The process of a separate worker calls this before it ends.
        """
        # A thread that has not started cannot be joined.
        for thread in self._started:
            thread.join()
        # Flush only now, because deliveries count rules until they end.
        rule_counter.get_counter().flush()

    def _supervise(self, run: Callable[[], None]) -> None:
        """Run a function until the service stops; restart it if it fails."""
        tenacity.Retrying(
            sleep=tenacity.sleep_using_event(self._stop),
            stop=tenacity.stop_when_event_set(self._stop),
            wait=tenacity.wait_fixed(_RESTART_DELAY),
            before_sleep=_log_restart,
        )(run)


def _read_settings() -> worker.WorkerSettings:
    """Return the settings of a worker, from the configuration."""
    options = CONF.inspection_queue
    return worker.WorkerSettings(
        threads=options.workers or processutils.get_worker_count(),
        get_timeout=options.get_timeout,
        lease=options.lease,
        max_attempts=options.max_attempts,
        connection_retries=options.connection_retries,
        retry_interval=options.connection_retry_interval,
        time_limit=options.processing_time_limit,
    )


def _log_restart(retry_state: tenacity.RetryCallState) -> None:
    """Log why a thread is started again."""
    assert retry_state.outcome is not None
    LOG.error(
        'A thread of the inspection worker broke off and starts again',
        exc_info=retry_state.outcome.exception(),
    )


def count_delivery(outcome: delivery.Outcome) -> None:
    """Count a delivery in the metrics, by its outcome."""
    metrics.MetricsGroup('InspectionWorker').count(outcome.value)


def report_backlog() -> None:
    """Send the backlog to the metrics; a task of the leader."""
    group = metrics.MetricsGroup('InspectionQueue')
    for name, value in backlog.read()._asdict().items():
        group.send(name, value)


def is_embedded_wanted() -> bool:
    """Return whether to run a worker in this process of Ironic.

    ``[inspection_queue]embedded`` decides this. Without this option, a worker
    is wanted if the API and the conductor share one process.

    In any case, the process must have a conductor: the worker stops with the
    conductor, and the process waits for both.
    """
    is_wanted = CONF.inspection_queue.embedded
    if is_wanted is None:
        # With these transports, the API and the conductor share one process.
        is_wanted = CONF.rpc_transport in ('none', 'local')
    return is_wanted and conductor.is_in_this_process()


def start_embedded() -> WorkerService:
    """Start a worker in this process, which stops with the conductor.

    An all-in-one Ironic then needs no separate worker process.

    :returns: the worker, which is running.
    """
    service = WorkerService(worker.make_name(CONF.host))
    service.start()
    # A stopping process waits for the deliveries that are in progress.
    conductor.keep_running_while(service.is_working)

    def stop_with_conductor() -> None:
        conductor.stop_event().wait()
        service.stop()

    threading.Thread(
        target=stop_with_conductor, name='embedded-worker', daemon=True
    ).start()
    return service
