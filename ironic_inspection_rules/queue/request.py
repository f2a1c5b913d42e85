# SPDX-License-Identifier: Apache-2.0

"""The interface of the queue of inspection requests.

A request is *put* once and leased to one worker at a time. It stays in the
queue until it is *consumed*, so it is delivered at least once (spec 001 "HA
worker"). A change of a request names the token of a delivery, and is refused
unless that is still the last one.

The token is a number that each delivery raises by one. The name of the worker
would not do: a worker that stalled for longer than a lease may have a second
delivery of the same request.
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
"""Event of a request to power a machine on at the pace of the throttle."""

SUPERSEDED = 'superseded by a posted inventory'
"""Error of a request that a posted inventory has replaced."""

OVERTAKEN = 'superseded by a newer inspection of the node'
"""Error of a request of an earlier inspection."""

DELIVERY_PREFIX = 'inspection-request:'
"""Prefix of the names of deliveries."""

_TRANSITION_EVENTS = {
    CONTINUE: state.CONTINUE,
    REAPPLY: state.CONTINUE,
    TIMEOUT: state.TIMEOUT,
    POWER_ON: state.INSPECT,
}


@dataclasses.dataclass(frozen=True)
class Request:
    """A request as a worker sees it.

    ``attempts``
        How often processing began. Attempts that the surroundings cut off do
        not count.
    ``token``
        Number of the last delivery.
    ``lock_failures``
        Failures in a row because of the surroundings, such as a locked node.
    ``worker``
        Name of the worker that holds the request, or held it last.
    ``sender``
        IP address that the data came from.
    ``inspection_began_at``
        When the inspection began that the request belongs to, in UTC; None
        if unknown.
    ``checkpoints``
        Outcomes of phases in earlier attempts, by phase; of the early phase
        too.
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
        """The event of :mod:`.state` that processing this request fires."""
        return _TRANSITION_EVENTS[self.event]

    @property
    def delivery(self) -> str:
        """The unique name of this delivery, with which it locks the node."""
        return f'{DELIVERY_PREFIX}{self.uuid}:{self.token}'


class ExpiredLease(typing.NamedTuple):
    """A lease that expired while ``worker`` held the request."""

    uuid: str
    node_uuid: str
    worker: str


class Queue(typing.Protocol):
    """A queue of requests, shared by all processes that use it."""

    def put(self, node_uuid: str, event: str, inventory: dict | None = None,
            plugin_data: dict | None = None,
            checkpoints: dict | None = None, *, sender: str | None = None,
            trusted: bool = True) -> Request:
        """Store a request; it is committed when this returns.

        A node has at most one open request. An open one of an earlier
        inspection ends. A posted inventory ends one that waits for another
        event, and replaces the data of one that waits for the same event. A
        timeout renews a waiting timeout. A reapplication with the data that
        wait already is that request.

        :param checkpoints: outcomes of phases that have run already.
        :param sender: IP address that the data came from.
        :param trusted: whether the sender has proved to be the machine. If
            not, different data that wait are not replaced. Who gives data to
            a reapplication is not the machine.
        :raises: RequestPending if the node has any other open request.
        :raises: AnotherSender if different data wait, and the sender is not
            the machine.
        """

    def get(self, worker: str) -> Request | None:
        """Lease the request that is due longest, None if none is due."""

    def begin(self, request: Request, reached: str) -> Request:
        """Save the state in which processing begins; count the attempt.

        Renews the lease.

        :returns: the changed request.
        :raises: LeaseLost if this delivery is not the last one.
        """

    def save_checkpoints(self, request: Request, checkpoints: dict,
                         transaction: typing.Any = None) -> Request:
        """Save the checkpoints of an attempt, for later attempts.

        Renews the lease.

        :param transaction: to be part of, of the queue's own kind; None for
            a new one.
        :returns: the changed request.
        :raises: LeaseLost if this delivery is not the last one.
        """

    def heartbeat(self, requests: Iterable[Request]) -> set[str]:
        """Renew leases.

        :returns: the names of deliveries that have lost their lease.
        """

    def consume(self, request: Request, error: str | None = None,
                transaction: typing.Any = None) -> Request:
        """End a request, and remove its checkpoints.

        :param error: why it failed, None if it did not.
        :param transaction: to be part of, of the queue's own kind; it also
            unlocks the node, in a final state. None for a new one: the leader
            settles the node later.
        :returns: the ended request.
        :raises: LeaseLost if this delivery is not the last one.
        """

    def retry(self, request: Request, delay: float,
              error: str | None = None, of_surroundings: bool = False
              ) -> None:
        """Return a request to the queue, to be delivered again.

        :param request: its ``attempts`` are stored.
        :param delay: seconds before the next delivery.
        :param error: what went wrong, None to keep the last error.
        :param of_surroundings: whether the surroundings caused it.
        :raises: LeaseLost if this delivery is not the last one.
        """

    def abort(self, uuid: str, reason: str) -> Request:
        """Abort a request that no worker has begun to process.

        :param reason: stored as the error of the request.
        :raises: RequestNotFound, RequestNotWaiting
        """

    def forgive(self, request: Request) -> None:
        """Uncount an attempt that the surroundings cut off.

        :param request: a delivery that has lost its lease, with the
            ``attempts`` before it.
        """

    def expire(self) -> list[ExpiredLease]:
        """Take requests from workers whose lease expired.

        :returns: those whose processing had begun; others become due by
            themselves.
        """

    def unsettled(self) -> list[Request]:
        """Lease ended requests whose nodes may not be in a final state."""

    def settle(self, request: Request, transaction: typing.Any = None) -> None:
        """Store that the node of an ended request is in a final state."""

    def is_held(self, node_uuid: str, holder: str) -> bool:
        """Return whether the holder of a node's lock may still work on it.

        It may while its delivery is the last one of an open request. After
        the end of the request it may until the lease expires: the node may
        not be unlocked yet.

        :param holder: name of a delivery.
        """

    def find(self, uuid: str) -> Request:
        """Return a request.

        :raises: RequestNotFound
        """

    def find_open(self, node_uuid: str) -> Request | None:
        """Return the open request of a node, None if it has none."""


def displaces(event: str, present: Request) -> bool:
    """Return whether a new request ends or renews the node's open one."""
    return present.state in (state.WAITING, state.STARTING) and (
        event == CONTINUE or event == TIMEOUT == present.event)


def why_over(event: str, present: Request,
             began: datetime.datetime | None) -> str | None:
    """Return why a node's open request ends when another one is put.

    :param event: event of the other request.
    :param began: when the node's inspection began, if the other request is
        its first one, in UTC.
    :returns: the error of the open request, None if it does not end.
    """
    if began is not None and present.inspection_began_at != began:
        return OVERTAKEN
    if present.event != event and displaces(event, present):
        return SUPERSEDED
    return None
