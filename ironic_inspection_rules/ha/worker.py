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

"""The worker: takes requests from the queue and sees each through.

The loop is that of spec 001 ("HA worker"): get, lock, check the state, run,
consume, unlock. What locking and running mean is handed in.
"""

from collections.abc import Callable
from concurrent import futures
import contextlib
import dataclasses
import enum
import threading
import typing

from oslo_db import exception as db_exc
from oslo_log import log
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import journal
from ironic_inspection_rules.ha import queue
from ironic_inspection_rules.ha import state

LOG = log.getLogger(__name__)


_PREFIX = 'inspection-worker:'


def make_name(host: str) -> str:
    """Make a name that no other worker has, or will ever have.

    :param host: where the worker runs.
    """
    return f'{_PREFIX}{host}:{uuidutils.generate_uuid()}'


def is_name(text: str) -> bool:
    """Whether something is the name of a worker."""
    return text.startswith(_PREFIX)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a worker works; times in seconds.

    ``threads`` requests are processed at once. An idle worker asks the queue
    every ``get_timeout``. ``retry_interval`` passes between two tries of
    anything, and a queue out of reach is tried ``connection_retries`` times.
    """

    threads: int
    get_timeout: float
    lease: float
    max_attempts: int
    connection_retries: int
    retry_interval: float


class Finding(typing.NamedTuple):
    """What the state of a node means for a request.

    ``done``: an earlier attempt has finished it. ``obstacle``: why it must
    not be processed.
    """

    done: bool = False
    obstacle: str | None = None


class Processor(typing.Protocol):
    """What a worker does with the requests; ``node`` is a locked node."""

    def lock(self, request: queue.Request
             ) -> contextlib.AbstractContextManager[typing.Any]:
        """Lock the node of a request, for as long as the context lasts.

        :raises: NodeBusy, NodeGone
        """

    def check(self, node: typing.Any, request: queue.Request) -> Finding:
        """Tell whether the node is in a state to go on from."""

    def run(self, node: typing.Any, request: queue.Request,
            notes: journal.Journal) -> str | None:
        """Do what is requested.

        :returns: why the request has failed for good, which the node tells
            too by then; None if it has not.
        :raises: TemporaryFailure if another attempt may do better.
        """

    def fail(self, node: typing.Any, request: queue.Request,
             reason: str) -> None:
        """Record on the node that the request cannot be carried out."""


class Outcome(enum.Enum):
    """How a delivery ended."""

    FINISHED = 'finished'
    FAILED = 'failed'
    RETRIED = 'retried'
    LOST = 'lost'


class Decision(typing.NamedTuple):
    """Whether to run a request, and the state it is in while it runs."""

    state: str
    refusal: str | None = None


def decide(request: queue.Request, max_attempts: int) -> Decision:
    """Decide from the state of a request whether it may be run.

    A request met in the middle of processing is one whose worker has died or
    failed: the transition is a strict one, but its repetition is forgiven
    until the attempts are used up (spec 001 "At least once").
    """
    if request.attempts >= max_attempts:
        return Decision(state.ERROR, _used_up(request))
    step = state.advance(request.state, request.transition_event)
    if step.verdict is state.Verdict.FORBIDDEN:
        if request.state == state.PROCESSING:
            return Decision(request.state)
        return Decision(step.target, (
            f'the event {request.transition_event} is not allowed in the '
            f'state {request.state}'))
    return Decision(request.state if step.target in state.TERMINAL
                    else step.target)


def _used_up(request: queue.Request) -> str:
    reason = f'given up after {request.attempts} attempts'
    if request.last_error:
        return f'{reason}; the last one failed: {request.last_error}'
    return f'{reason}; none of the workers lived to finish it'


class Worker:
    """Processes requests until it is stopped.

    :param name: see :func:`make_name`.
    :param requests: the queue.
    :param processor: what to do with a request.
    :param settings: how to go about it.
    :param observe: told how each delivery ended.
    """

    def __init__(self, name: str, requests: queue.Queue,
                 processor: Processor, settings: Settings,
                 observe: Callable[[Outcome], None] = lambda outcome: None
                 ) -> None:
        self.name = name
        self._queue = requests
        self._processor = processor
        self._settings = settings
        self._observe = observe
        self._stop = threading.Event()
        self._bell = threading.Event()
        self._drained = threading.Event()
        self._in_hand: dict[str, queue.Request] = {}
        self._free = threading.Semaphore(settings.threads)

    def wake(self) -> None:
        """Look for work at once."""
        self._bell.set()

    def stop(self) -> None:
        """Take no more requests; :meth:`run` returns when all are done."""
        self._stop.set()
        self._bell.set()

    def run(self) -> None:
        """Work until stopped, then finish what was begun.

        :raises: DBError when the queue stays out of reach.
        """
        LOG.info('Inspection worker %(worker)s starts with %(threads)d '
                 'threads', {'worker': self.name,
                             'threads': self._settings.threads})
        heart = threading.Thread(target=self._beat, daemon=True)
        heart.start()
        try:
            with futures.ThreadPoolExecutor(self._settings.threads) as pool:
                while not self._stop.is_set():
                    self._dispatch(pool)
        finally:
            self._drained.set()
            heart.join()
            LOG.info('Inspection worker %s has stopped', self.name)

    def _dispatch(self, pool: futures.Executor) -> None:
        """Hand one request to a free thread, or wait."""
        if not self._free.acquire(timeout=self._settings.get_timeout):
            return
        self._bell.clear()
        request = None if self._stop.is_set() else self._get()
        if request is None:
            self._free.release()
            if not self._stop.is_set():
                self._bell.wait(self._settings.get_timeout)
            return
        self._in_hand[request.uuid] = request
        pool.submit(self._take, request)

    def _get(self) -> queue.Request | None:
        failures = 0
        while not self._stop.is_set():
            try:
                return self._queue.get(self.name)
            except db_exc.DBError as exc:
                failures += 1
                if failures > self._settings.connection_retries:
                    raise
                LOG.warning('Inspection worker %(worker)s cannot reach the '
                            'queue (%(failures)d): %(error)s',
                            {'worker': self.name, 'failures': failures,
                             'error': exc})
                self._stop.wait(self._settings.retry_interval)
        return None

    def _take(self, request: queue.Request) -> None:
        try:
            self._observe(self.deliver(request))
        except Exception:
            LOG.exception('Request %(request)s of node %(node)s is left to '
                          'the end of its lease',
                          {'request': request.uuid,
                           'node': request.node_uuid})
        finally:
            del self._in_hand[request.uuid]
            self._free.release()

    def deliver(self, request: queue.Request) -> Outcome:
        """See one delivery of a request through.

        :param request: a request that this worker was given.
        """
        try:
            with self._processor.lock(request) as node:
                return self._settle(node, request)
        except exceptions.NodeBusy as exc:
            return self._give_back(request, str(exc), counted=False)
        except exceptions.NodeGone as exc:
            return self._end(request, str(exc))
        except exceptions.LeaseLost as exc:
            _log(LOG.warning, request, str(exc))
            return Outcome.LOST
        except db_exc.DBConnectionError as exc:
            _log(LOG.warning, request, f'left to the end of its lease: {exc}')
            return Outcome.LOST
        except Exception as exc:
            _log(LOG.exception, request, 'processing broke off')
            return self._give_back(request, str(exc))

    def _settle(self, node: typing.Any, request: queue.Request) -> Outcome:
        """Decide what to do with a request whose node is locked; do it."""
        finding = self._processor.check(node, request)
        if finding.done:
            _log(LOG.info, request, 'an earlier attempt has finished it')
            return self._end(request, None)
        decision = decide(request, self._settings.max_attempts)
        refusal = finding.obstacle or decision.refusal
        if refusal:
            self._processor.fail(node, request, refusal)
            return self._end(request, refusal)
        begun = self._queue.begin(request, decision.state)
        _log(LOG.info, begun, 'processing begins')
        try:
            error = self._processor.run(node, begun,
                                        journal.Journal(self._queue, begun))
        except exceptions.TemporaryFailure as exc:
            return self._give_back(begun, str(exc))
        return self._end(begun, error)

    def _end(self, request: queue.Request, error: str | None) -> Outcome:
        ended = self._queue.consume(request, error)
        if error is None:
            _log(LOG.info, ended, 'done')
            return Outcome.FINISHED
        _log(LOG.error, ended, error)
        return Outcome.FAILED

    def _give_back(self, request: queue.Request, reason: str,
                   counted: bool = True) -> Outcome:
        self._queue.retry(request, self._settings.retry_interval,
                          reason if counted else None)
        _log(LOG.warning if counted else LOG.info, request,
             f'will be tried again: {reason}')
        return Outcome.RETRIED

    def _beat(self) -> None:
        """Give signs of life for what is in hand, also while stopping."""
        while not self._drained.wait(self._settings.lease / 3):
            held = tuple(self._in_hand.values())
            if not held:
                continue
            try:
                lost = self._queue.heartbeat(held)
            except db_exc.DBError as exc:
                LOG.warning('Inspection worker %(worker)s cannot give a sign '
                            'of life: %(error)s',
                            {'worker': self.name, 'error': exc})
                continue
            for request in held:
                if request.uuid in lost and request.uuid in self._in_hand:
                    _log(LOG.warning, request, 'the lease was lost')


def _log(method: Callable[..., None], request: queue.Request,
         what: str) -> None:
    method('Request %(request)s (%(event)s) of node %(node)s, state '
           '%(state)s, attempt %(attempt)d: %(what)s',
           {'request': request.uuid, 'event': request.event,
            'node': request.node_uuid, 'state': request.state,
            'attempt': request.attempts, 'what': what})
