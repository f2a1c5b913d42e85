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

"""One delivery of a request, from the node's lock to the end.

The steps are those of spec 001 ("HA worker"): lock, check the state, run,
consume, unlock. What locking and running mean is handed in.
"""

from collections.abc import Callable
import contextlib
import enum
import functools
import typing

from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.queue import checkpoints
from ironic_inspection_rules.queue import decision
from ironic_inspection_rules.queue import request as queue_request

LOG = log.getLogger(__name__)


class NodeCheck(typing.NamedTuple):
    """What the state of a node means for a request.

    ``done``: an earlier attempt has finished it. ``obstacle``: why it must
    not be processed.
    """

    done: bool = False
    obstacle: str | None = None


class Processor(typing.Protocol):
    """What a worker does with the requests; ``node`` is a locked node."""

    def lock(self, request: queue_request.Request
             ) -> contextlib.AbstractContextManager[typing.Any]:
        """Lock the node of a request, for as long as the context lasts.

        :raises: NodeBusy, NodeGone
        """

    def check(self, node: typing.Any,
              request: queue_request.Request) -> NodeCheck:
        """Tell whether the node is in a state to go on from."""

    def run(self, node: typing.Any, request: queue_request.Request,
            saved: checkpoints.Checkpoints) -> str | None:
        """Do what is requested.

        :returns: why the request has failed for good, which the node tells
            too by then; None if it has not.
        :raises: TemporaryFailure if another attempt may do better.
        """

    def fail(self, node: typing.Any, request: queue_request.Request,
             reason: str) -> None:
        """Record on the node that the request cannot be carried out."""

    def end(self, node: typing.Any,
            consume: Callable[[typing.Any], queue_request.Request]
            ) -> queue_request.Request:
        """Unlock the node, and end its request in the same transaction.

        :param consume: ends it, given the transaction; called again where
            that has lost against another one.
        :returns: what it returns.
        :raises: what it raises; then nothing has happened.
        """


class Outcome(enum.Enum):
    """How a delivery ended."""

    FINISHED = 'finished'
    FAILED = 'failed'
    RETRIED = 'retried'
    LOST = 'lost'


class Deliverer:
    """Sees deliveries through, any number at once.

    :param requests: the queue that they come from.
    :param processor: what to do with a request.
    :param max_attempts: how often the processing of a request is begun.
    :param retry_interval: seconds before a request is tried again.
    :param lock_timeout: seconds to wait for a node that others have locked.
    """

    def __init__(self, requests: queue_request.Queue, processor: Processor,
                 max_attempts: int, retry_interval: float,
                 lock_timeout: float) -> None:
        self._queue = requests
        self._processor = processor
        self._max_attempts = max_attempts
        self._retry_interval = retry_interval
        self._lock_timeout = lock_timeout

    def deliver(self, request: queue_request.Request) -> Outcome:
        """See one delivery of a request through.

        :param request: a request that was got from the queue.
        """
        try:
            return self._try_to_deliver(request)
        except exceptions.LeaseLost as exc:
            log_request(LOG.warning, request, str(exc))
        except db_exc.DBConnectionError as exc:
            log_request(LOG.warning, request,
                        f'left to the end of its lease: {exc}')
        return Outcome.LOST

    def _try_to_deliver(self, request: queue_request.Request) -> Outcome:
        try:
            with self._processor.lock(request) as node:
                return self._settle(node, request)
        except exceptions.NodeBusy as exc:
            return self._wait_for_lock(request, str(exc))
        except exceptions.NodeGone as exc:
            return self._end(request, str(exc))
        except (exceptions.LeaseLost, db_exc.DBConnectionError):
            raise
        except Exception as exc:
            log_request(LOG.exception, request, 'processing broke off')
            return self._give_back(request, str(exc))

    def _settle(self, node: typing.Any,
                request: queue_request.Request) -> Outcome:
        """Decide what to do with a request whose node is locked; do it."""
        check = self._processor.check(node, request)
        if check.done:
            log_request(LOG.info, request,
                        'an earlier attempt has finished it')
            return self._end(request, None, node)
        decided = decision.decide(request, self._max_attempts)
        refusal = check.obstacle or decided.refusal
        if refusal:
            if self._queue.heartbeat([request]):
                raise exceptions.LeaseLost(request.uuid)
            self._processor.fail(node, request, refusal)
            return self._end(request, refusal, node)
        begun = self._queue.begin(request, decided.state)
        log_request(LOG.info, begun, 'processing begins')
        try:
            error = self._processor.run(
                node, begun, checkpoints.Checkpoints(self._queue, begun))
        except exceptions.TemporaryFailure as exc:
            return self._give_back(begun, str(exc))
        return self._end(begun, error, node)

    def _end(self, request: queue_request.Request, error: str | None,
             node: typing.Any = None) -> Outcome:
        """End a request, and with it the lock of its node, if it has one."""
        consume = functools.partial(self._queue.consume, request, error)
        ended = (consume() if node is None
                 else self._processor.end(node, consume))
        if error is None:
            log_request(LOG.info, ended, 'done')
            return Outcome.FINISHED
        log_request(LOG.error, ended, error)
        return Outcome.FAILED

    def _give_back(self, request: queue_request.Request,
                   reason: str) -> Outcome:
        self._queue.retry(request, self._retry_interval, reason)
        log_request(LOG.warning, request, f'will be tried again: {reason}')
        return Outcome.RETRIED

    def _wait_for_lock(self, request: queue_request.Request,
                       reason: str) -> Outcome:
        delay = decision.lock_delay(
            request.lock_failures, self._retry_interval, self._lock_timeout)
        if delay is None:
            return self._end(request, f'given up as its node stays locked: '
                                      f'{reason}')
        self._queue.retry(request, delay, node_locked=True)
        log_request(LOG.info, request,
                    f'will be tried again in {delay:.0f} seconds: {reason}')
        return Outcome.RETRIED


def log_request(method: Callable[..., None], request: queue_request.Request,
                what: str) -> None:
    """Log something of a request, with all that tells where it is.

    :param method: of a logger.
    """
    method('Request %(request)s (%(event)s) of node %(node)s, state '
           '%(state)s, attempt %(attempt)d: %(what)s',
           {'request': request.uuid, 'event': request.event,
            'node': request.node_uuid, 'state': request.state,
            'attempt': request.attempts, 'what': what})
