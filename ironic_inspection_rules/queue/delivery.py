# SPDX-License-Identifier: Apache-2.0

"""The delivery of a request to a worker, from lock to outcome.

A delivery is a single time that a worker has leased a request from the queue.
Its steps are those of spec 001 ("HA worker"): lock the node, check its state,
run an attempt, end the request, unlock the node. An :class:`.Attempt` does the
work on the node; only attempts that have begun count towards
``[inspection_queue]max_attempts``. If the worker dies, the lease expires, and
the request is delivered again. What the next delivery finds depends on when
the worker died:

Before the attempt begins
    The node is locked in the name of an old delivery. The next delivery
    removes this lock, and no attempt has been counted.
After the attempt has begun
    The request is ``processing``, and the attempt counts. The rules of a saved
    phase do not run again, because its checkpoint was saved with it.
After the node's last transition
    The state of the node shows this (:func:`.node.check`). Only the run is
    stored, and the request ends.
After the end of the request
    The node is unlocked in the same transaction. If this delivery had not
    locked it, the leader brings it into a final state.
"""

from collections.abc import Callable
import dataclasses
import enum
import typing

from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.queue import attempt as attempts
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import external_error
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state

LOG = log.getLogger(__name__)

_TRANSITION_EVENTS = {
    queue_request.CONTINUE: state.CONTINUE,
    queue_request.REAPPLY: state.CONTINUE,
    queue_request.TIMEOUT: state.TIMEOUT,
    queue_request.POWER_ON: state.INSPECT,
}
"""Events of the table of states, by the event of the request."""

_FAILURES_FOR_MAX_DELAY = 16
"""Failures in a row after which the delay no longer grows."""


class RunDecision(typing.NamedTuple):
    """Decision whether to run a request.

    ``state`` is the state of the request while it runs. ``refusal`` is the
    reason why the request is not run; None if it is run. The state of a
    request that is not run has no effect.
    """

    state: str
    refusal: str | None = None


def decide(request: queue_request.Request, max_attempts: int) -> RunDecision:
    """Decide whether to run a request, and in which state it runs.

    * A request that has used up its attempts is refused.
    * A request that is already ``processing`` is run again, because its worker
      died or failed (spec 001 "At least once"), although
      :data:`.state.CHANGES` forbids its event in this state.
    * Any other request is refused if its event is forbidden in its state.
    * A request whose event leads to a terminal state, e.g. a timeout, is run
      in its present state.
    * Any other request is run in the state that its event leads to.

    :param max_attempts: number of attempts before a request is given up.
    """
    if request.attempts >= max_attempts:
        cause = 'none of the workers lived to finish it'
        if request.last_error:
            cause = f'the last one failed: {request.last_error}'
        refusal = f'given up after {request.attempts} attempts; {cause}'
        return RunDecision(state.ERROR, refusal)
    if request.state == state.PROCESSING:
        return RunDecision(state.PROCESSING)
    event = _TRANSITION_EVENTS[request.event]
    # The verdict of the table of states, and the state after the event.
    change = state.CHANGES[request.state, event]
    if change.verdict is state.Verdict.FORBIDDEN:
        refusal = (
            f'the event {event} is not allowed in the state {request.state}'
        )
        return RunDecision(change.target, refusal)
    if change.target in state.TERMINAL:
        # The request must not have a terminal state before it has ended.
        return RunDecision(request.state)
    return RunDecision(change.target)


def retry_delay(failures: int, interval: float) -> float:
    """Return the delay before a request is delivered again, in seconds.

    With an interval of one second, the delays after failures in a row are 1,
    2, 4, 8 and 16 seconds, and then always :data:`.lease.MAX_DELAY`.

    :param failures: failures in a row before this one.
    :param interval: delay after the first failure, in seconds.
    """
    # Without a limit, the power of two would overflow after many failures.
    doublings = min(failures, _FAILURES_FOR_MAX_DELAY)
    return min(interval * 2**doublings, leases.MAX_DELAY)


class Outcome(enum.Enum):
    """How a delivery ended.

    ``FINISHED``
        The request has ended without an error.
    ``FAILED``
        The request has ended with an error.
    ``RETRIED``
        The request is in the queue again, for another delivery.
    ``LOST``
        The request has another token or has ended, or another worker gets it
        when its lease expires.
    """

    FINISHED = 'finished'
    FAILED = 'failed'
    RETRIED = 'retried'
    LOST = 'lost'


@dataclasses.dataclass(frozen=True)
class Delivery:
    """One delivery of a request, from the lock of its node to the end.

    ``queue``
        The queue that the request comes from.
    ``request``
        The request from :meth:`.DatabaseQueue.get`.
    ``lock``
        Locks the node of a request for an attempt.
    ``max_attempts``
        Number of attempts at a request before its node fails.
    ``retry_interval``
        Seconds before a request is tried again after its first failure.
    ``pause``
        Waits for a number of seconds; returns True as soon as the worker
        stops.
    """

    queue: database_queue.DatabaseQueue
    request: queue_request.Request
    lock: attempts.Lock
    max_attempts: int
    retry_interval: float
    pause: Callable[[float], bool]

    def carry_out(self) -> Outcome:
        """Lock the node and process the request.

        * If the node does not exist, the request ends with an error.
        * If the request has another token or has ended, nothing more is done.
        * After any other error, e.g. if the node cannot be locked, the request
          is returned to the queue or ends, see :meth:`_give_back`.

        :returns: how the delivery ended.
        """
        request = self.request
        # There are two blocks, because the handlers of the inner one may find
        # out as well that the delivery has lost the request.
        try:
            try:
                with self.lock(request) as attempt:
                    return self._process(attempt)
            except exceptions.NodeGone as exc:
                return self._end(request, str(exc))
            except exceptions.LeaseLost:
                # The outer block handles this.
                raise
            # Catch everything: after any error, the request is tried again or
            # ends.
            except Exception as exc:
                # If the attempt has begun, the database has already counted
                # it. If not, _give_back() decides whether it counts.
                with_this_attempt = dataclasses.replace(
                    request, attempts=request.attempts + 1
                )
                return self._give_back(with_this_attempt, exc)
        except exceptions.LeaseLost as exc:
            log_request(LOG.warning, request, str(exc))
            return Outcome.LOST

    def _process(self, attempt: attempts.Attempt) -> Outcome:
        """Process the request, or end it without an attempt.

        It ends without an attempt if an earlier attempt has done the work, if
        the node is in a newer inspection, or if the state of the node or of
        the request does not allow the attempt.

        :param attempt: the attempt, which has locked the node but not begun.
        :raises: LeaseLost if the request has another token or has ended; any
            error that is raised before the attempt is counted.
        """
        node_check = queue_node.check(attempt.task.node, self.request)
        if node_check.done:
            # _end() stores this run if the earlier attempt has not stored it.
            attempt.prepare_earlier_run()
            log_request(
                LOG.info, self.request, 'an earlier attempt has finished it'
            )
            return self._end(self.request, None, attempt)
        if node_check.superseded:
            return self._end(self.request, queue_request.OVERTAKEN, attempt)
        decision = decide(self.request, self.max_attempts)
        refusal = node_check.obstacle or decision.refusal
        if refusal:
            return self._refuse(attempt, refusal)
        # Count the attempt before it begins, because a request that kills
        # every worker must be given up eventually.
        begun = self.queue.begin(self.request, decision.state)
        attempt.request = begun
        log_request(LOG.info, begun, 'processing begins')
        try:
            error = attempt.process()
            return self._end(begun, error, attempt)
        except exceptions.LeaseLost:
            # The request is lost; carry_out() handles this.
            raise
        # Catch everything: after any error, the request is tried again or
        # ends.
        except Exception as exc:
            return self._give_back(begun, exc)

    def _refuse(self, attempt: attempts.Attempt, refusal: str) -> Outcome:
        """Fail the node of a request that cannot be carried out, and end it.

        If the node cannot be failed, the request ends nevertheless, and the
        leader of the workers fails the node later.

        :param refusal: why the request cannot be carried out.
        :raises: LeaseLost if the request has another token or has ended; an
            external error, e.g. of the database, if the node could not be
            failed because of it. In this case the request does not end.
        """
        request = self.request
        # Failing the node changes the boot and network settings of the
        # machine. Another worker may be using them if it has got the request,
        # so check this first. The check renews the lease.
        lost_deliveries = self.queue.heartbeat([request])
        if lost_deliveries:
            raise exceptions.LeaseLost(request.uuid)
        try:
            attempt.fail(refusal)
        # Catch everything: the request ends even if the node cannot be failed.
        except Exception as exc:
            if external_error.is_external(exc):
                raise
            log_request(
                LOG.exception, request, 'its node is left to the leader'
            )
            return self._end(request, refusal)
        return self._end(request, refusal, attempt)

    def _end(
        self,
        request: queue_request.Request,
        error: str | None,
        attempt: attempts.Attempt | None = None,
    ) -> Outcome:
        """End the request, store its run and unlock its node.

        :param request: the request to end.
        :param error: why the request failed; None if it succeeded.
        :param attempt: the attempt that has locked the node. With None, only
            the request ends: no run is stored, and the leader of the workers
            takes the node out of inspection later.
        :returns: FINISHED, or FAILED if there is an error.
        :raises: LeaseLost if the request has another token or has ended.
        """
        if attempt is None:
            ended = self.queue.consume(request, error)
        else:
            ended = attempt.end(error)
        if error is None:
            log_request(LOG.info, ended, 'done')
            return Outcome.FINISHED
        log_request(LOG.error, ended, error)
        return Outcome.FAILED

    def _give_back(
        self, begun: queue_request.Request, exc: Exception
    ) -> Outcome:
        """Return the request to the queue after an error, or end it.

        * If the error is external, e.g. an unreachable database, the
          request is returned, and the attempt does not count.
        * If it may be external, which is a DoubtfulFailure, the attempt
          counts, and the request is returned with the longest delay.
        * After any other error, the attempt counts, and the request is
          returned with the shortest delay.
        * If the attempts are used up, the request ends instead.

        :param begun: the request, with this attempt counted.
        :param exc: the error that ended the attempt.
        :raises: LeaseLost if the request has another token or has ended.
        """
        # Doubtful failures count, because a hook that handles an error of the
        # database and raises an error of its own may do so every time.
        is_doubtful = isinstance(exc, exceptions.DoubtfulFailure)
        if external_error.is_external(exc) and not is_doubtful:
            # Return self.request, in which the attempt is not counted.
            delay = retry_delay(
                self.request.lock_failures, self.retry_interval
            )
            return self._retry(
                self.request, delay, reason=str(exc), is_external=True
            )
        log_request(LOG.exception, begun, 'processing broke off')
        # After the last attempt, the request is delivered once more. decide()
        # then refuses it, and its node fails. If this delivery breaks off as
        # well, the request ends here, and the leader fails the node later.
        if begun.attempts > self.max_attempts:
            return self._end(begun, f'given up, as it broke off: {exc}')
        delay = retry_delay(0, self.retry_interval)
        if is_doubtful:
            # An outage may end in the longest delay.
            delay = retry_delay(_FAILURES_FOR_MAX_DELAY, self.retry_interval)
        return self._retry(begun, delay, reason=str(exc), is_external=False)

    def _retry(
        self,
        request: queue_request.Request,
        delay: float,
        reason: str,
        is_external: bool,
    ) -> Outcome:
        """Return a request to the queue, so that it is delivered again.

        While the database is unreachable, this is repeated until the worker
        stops. If the request cannot be returned, another worker gets it when
        its lease expires.

        :param request: the request, whose number of attempts is stored.
        :param delay: minimum number of seconds before the next delivery.
        :param reason: why the request is tried again.
        :param is_external: whether the error is external, e.g. of the
            database.
        :returns: RETRIED; LOST if the request could not be returned.
        :raises: LeaseLost if the request has another token or has ended.
        """
        log_method = LOG.warning
        if is_external:
            log_method = LOG.info
        while True:
            try:
                self.queue.retry(request, delay, reason, is_external)
            except exceptions.LeaseLost:
                # The request is lost; carry_out() handles this.
                raise
            # Catch everything: in the worst case, another worker gets the
            # request when its lease expires.
            except Exception as exc:
                text = f'left to the end of its lease: {exc}'
                if not external_error.is_external(exc):
                    # Another try would probably fail in the same way.
                    log_request(LOG.exception, request, text)
                    return Outcome.LOST
                is_stopping = self.pause(self.retry_interval)
                if is_stopping:
                    log_request(LOG.warning, request, text)
                    return Outcome.LOST
            else:
                log_request(
                    log_method,
                    request,
                    f'will be tried again in {delay:.0f} seconds: {reason}',
                )
                return Outcome.RETRIED


def log_request(
    method: Callable[..., None], request: queue_request.Request, what: str
) -> None:
    """Log a message about a request, with its state.

    :param method: a method of a logger, e.g. ``LOG.info``.
    :param what: the message.
    """
    method(
        'Request %(request)s (%(event)s) of node %(node)s, state '
        '%(state)s, attempt %(attempt)d: %(what)s',
        {
            'request': request.uuid,
            'event': request.event,
            'node': request.node_uuid,
            'state': request.state,
            'attempt': request.attempts,
            'what': what,
        },
    )
