# SPDX-License-Identifier: Apache-2.0

"""The queue of inspection requests: what it promises.

A request is *put* once, *got* by one worker at a time under a lease, and
stays in the queue until it is *consumed*: it is delivered at least once
(spec 001 "HA worker"). Each delivery has a token that no other delivery of
the request has. Whoever changes a request proves with the token that the
delivery in question is still the last one.

The token is a number that each delivery raises by one, and not the worker's
name: one worker may hold two deliveries of a request, after it was stalled for
longer than a lease, and must not take its own later one for the earlier.
"""

from collections.abc import Iterable
import dataclasses
import datetime
import typing

from ironic_inspection_rules.queue import state

CONTINUE = 'continue'
REAPPLY = 'reapply'
TIMEOUT = 'timeout'

EVENTS = (CONTINUE, REAPPLY, TIMEOUT)
"""Events that a client can request (spec 002 "Client - inspector API")."""

POWER_ON = 'power-on'
"""Asks for a machine to be powered on when it is its turn."""

SUPERSEDED = 'superseded by a posted inventory'
"""The error of a request that a posted inventory took the place of."""

OVERTAKEN = 'superseded by a newer inspection of the node'
"""The error of a request whose inspection is over."""

DELIVERY_PREFIX = 'inspection-request:'
"""Prefix of the names of all deliveries."""

_TRANSITION_EVENTS = {
    CONTINUE: state.CONTINUE,
    REAPPLY: state.CONTINUE,
    TIMEOUT: state.TIMEOUT,
    POWER_ON: state.INSPECT,
}


@dataclasses.dataclass(frozen=True)
class Request:
    """A request as a worker sees it.

    ``attempts`` counts how often its processing has begun and was not broken
    off by the surroundings, ``token`` its deliveries, ``lock_failures`` how
    often in a row the surroundings were in the way, such as somebody else who
    had locked its node. ``worker`` is who holds it now, or held it last.
    ``sender`` is the address that its data came from, ``inspection_began_at``
    when the inspection did that it belongs to. ``checkpoints`` is what earlier
    attempts have done, by phase.
    """

    uuid: str
    node_uuid: str
    event: str
    state: str = state.WAITING
    attempts: int = 0
    token: int = 0
    lock_failures: int = 0
    worker: str | None = None
    sender: str | None = None
    inspection_began_at: datetime.datetime | None = None
    last_error: str | None = None
    inventory: dict = dataclasses.field(default_factory=dict, repr=False)
    plugin_data: dict = dataclasses.field(default_factory=dict, repr=False)
    checkpoints: dict = dataclasses.field(default_factory=dict, repr=False)

    @property
    def transition_event(self) -> str:
        """The event that processing this request means for its state."""
        return _TRANSITION_EVENTS[self.event]

    @property
    def delivery(self) -> str:
        """The name of this delivery, in which its node is locked.

        No other delivery of any request has or will have it.
        """
        return f'{DELIVERY_PREFIX}{self.uuid}:{self.token}'


class ExpiredLease(typing.NamedTuple):
    """A lease that ran out while ``worker`` held the request."""

    uuid: str
    node_uuid: str
    worker: str


class Queue(typing.Protocol):
    """A queue of requests, shared by all processes that use it."""

    def put(self, node_uuid: str, event: str, inventory: dict | None = None,
            plugin_data: dict | None = None,
            checkpoints: dict | None = None, *, sender: str | None = None,
            trusted: bool = True) -> Request:
        """Store a request; it survives from the moment this returns.

        A node has one open request at most. A posted inventory brings one
        that waits up to date, and displaces one that waits for anything
        else, or is of an earlier inspection; nobody's data are replaced by a
        reapplication.

        :param checkpoints: what has been reached before it is processed.
        :param sender: address that the data came from.
        :param trusted: whether the sender has proved to be the machine. Who
            has not cannot replace data that wait with other data.
        :raises: RequestPending if the open request is being processed or is
            for another event.
        :raises: AnotherSender if other data wait, and ``trusted`` is false.
        """

    def get(self, worker: str) -> Request | None:
        """Lease the request that has waited longest, if there is any."""

    def begin(self, request: Request, reached: str) -> Request:
        """Save the state that processing starts in and count the attempt.

        The lease runs anew.

        :returns: the request as it is now.
        :raises: LeaseLost if this delivery is not the last one.
        """

    def save_checkpoints(self, request: Request, checkpoints: dict,
                         transaction: typing.Any = None) -> Request:
        """Save what an attempt has done, for the attempts after it.

        The lease runs anew.

        :param transaction: one of the queue's own kind to be part of, None
            for one that ends here.
        :returns: the request as it is now.
        :raises: LeaseLost if this delivery is not the last one.
        """

    def heartbeat(self, requests: Iterable[Request]) -> set[str]:
        """Prolong leases by their full length from now.

        :returns: the deliveries that are not the last ones any more.
        """

    def consume(self, request: Request, error: str | None = None,
                transaction: typing.Any = None) -> Request:
        """Take a request out of the queue for good.

        What its attempts have done is forgotten.

        :param error: why it failed, None when it did not.
        :param transaction: one of the queue's own kind to be part of, which
            leaves the node unlocked and in a final state. None for one that
            ends here: the node is seen to later.
        :returns: the request as it ended.
        :raises: LeaseLost if this delivery is not the last one.
        """

    def retry(self, request: Request, delay: float,
              error: str | None = None, of_surroundings: bool = False
              ) -> None:
        """Give a request back, to be delivered again.

        :param request: with the attempts that are to count.
        :param delay: seconds before it may be.
        :param error: what went wrong, None to keep the last error.
        :param of_surroundings: whether that was none of the work's fault.
        :raises: LeaseLost if this delivery is not the last one.
        """

    def abort(self, uuid: str, reason: str) -> Request:
        """End a request that nobody has begun to process.

        :raises: RequestNotFound, RequestNotWaiting
        """

    def forgive(self, request: Request) -> None:
        """Undo the count of an attempt that the surroundings cut off.

        :param request: a delivery that is not the last one any more.
        """

    def expire(self) -> list[ExpiredLease]:
        """Take back what is leased to workers that gave no sign of life."""

    def unsettled(self) -> list[Request]:
        """Lease ended requests whose nodes have to be seen to.

        :returns: as these deliveries have them.
        """

    def settle(self, request: Request, transaction: typing.Any = None) -> None:
        """Note that the node of an ended request has been seen to."""

    def is_held(self, node_uuid: str, holder: str) -> bool:
        """Return whether the holder of a node's lock may still be at work.

        One whose request is done counts for as long as its lease lasts: it
        may not have unlocked the node yet. Where an open request is not
        delivered anew, its holder counts too.

        :param holder: name of a delivery, or of a worker of an earlier
            release.
        """

    def find(self, uuid: str) -> Request:
        """Show a request.

        :raises: RequestNotFound
        """

    def find_open(self, node_uuid: str) -> Request | None:
        """Show the open request of a node, if there is one."""


def displaces(event: str, present: Request) -> bool:
    """Return whether a new request may replace the node's open one."""
    return present.state in (state.WAITING, state.STARTING) and (
        event == CONTINUE or event == TIMEOUT == present.event)


def why_over(event: str, present: Request,
             began: datetime.datetime | None) -> str | None:
    """Return why a node's open request ends when another one is put.

    :param event: that of the other one.
    :param began: when the inspection did that the other one is the first of.
    :returns: the error of the request that ends, None if it does not.
    """
    if began is not None and present.inspection_began_at != began:
        return OVERTAKEN
    if present.event != event and displaces(event, present):
        return SUPERSEDED
    return None
