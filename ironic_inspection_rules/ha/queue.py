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

"""The queue of inspection requests: what it promises.

A request is *put* once, *got* by one worker at a time under a lease, and
stays in the queue until it is *consumed*: it is delivered at least once
(spec 001 "HA worker"). Whoever holds a request proves it with the token of
its delivery, which every delivery replaces.
"""

from collections.abc import Iterable
import dataclasses
import typing

from ironic_inspection_rules.ha import state

CONTINUE = 'continue'
REAPPLY = 'reapply'
TIMEOUT = 'timeout'

EVENTS = (CONTINUE, REAPPLY, TIMEOUT)
"""What a request can ask for (spec 002 "Client - inspector API")."""

SUPERSEDED = 'superseded by a posted inventory'
"""The error of a request that a posted inventory took the place of."""

_TRANSITION_EVENTS = {
    CONTINUE: state.CONTINUE,
    REAPPLY: state.CONTINUE,
    TIMEOUT: state.TIMEOUT,
}


@dataclasses.dataclass(frozen=True)
class Request:
    """A request as a worker sees it.

    ``attempts`` counts how often its processing has begun, ``token`` its
    deliveries. ``worker`` is who holds it now, or held it last.
    ``progress`` is what earlier attempts noted, by phase.
    """

    uuid: str
    node_uuid: str
    event: str
    state: str = state.WAITING
    attempts: int = 0
    token: int = 0
    worker: str | None = None
    last_error: str | None = None
    inventory: dict = dataclasses.field(default_factory=dict, repr=False)
    plugin_data: dict = dataclasses.field(default_factory=dict, repr=False)
    progress: dict = dataclasses.field(default_factory=dict, repr=False)

    @property
    def transition_event(self) -> str:
        """The event that processing this request means for its state."""
        return _TRANSITION_EVENTS[self.event]


class Lapse(typing.NamedTuple):
    """A lease that ran out while ``worker`` held the request.

    ``done``: it had been consumed, so the worker may be fine.
    """

    uuid: str
    node_uuid: str
    worker: str
    done: bool


class Queue(typing.Protocol):
    """What all queues do; those that span processes do it across them."""

    def put(self, node_uuid: str, event: str, inventory: dict | None = None,
            plugin_data: dict | None = None,
            progress: dict | None = None) -> Request:
        """Store a request; it survives from the moment this returns.

        A node has one open request at most. One that waits is brought up to
        date by a new one for the same event; a posted inventory displaces
        one that waits for anything else.

        :param progress: what has been reached before it is processed.
        :raises: RequestPending if the open request is being processed or is
            for another event.
        """

    def get(self, worker: str) -> Request | None:
        """Lease the request that has waited longest, if there is any."""

    def begin(self, request: Request, reached: str) -> Request:
        """Save the state that processing starts in and count the attempt.

        The lease runs anew.

        :returns: the request as it is now.
        :raises: LeaseLost if it is not the caller's any more.
        """

    def note(self, request: Request, progress: dict,
             transaction: typing.Any = None) -> Request:
        """Save what an attempt has reached, for the attempts after it.

        The lease runs anew.

        :param transaction: one of the queue's own kind to be part of, None
            for one that ends here.
        :raises: LeaseLost if it is not the caller's any more.
        """

    def heartbeat(self, requests: Iterable[Request]) -> set[str]:
        """Prolong leases by their full length from now.

        :returns: the UUIDs of those that were lost.
        """

    def consume(self, request: Request, error: str | None = None) -> Request:
        """Take a request out of the queue for good.

        :param error: why it failed, None when it did not.
        :returns: the request as it ended.
        :raises: LeaseLost if it is not the caller's any more.
        """

    def retry(self, request: Request, delay: float,
              error: str | None = None) -> None:
        """Give a request back, to be delivered again.

        :param delay: seconds before it may be.
        :raises: LeaseLost if it is not the caller's any more.
        """

    def abort(self, uuid: str, reason: str) -> Request:
        """End a request that nobody has begun to process.

        :raises: RequestNotFound, RequestNotWaiting
        """

    def expire(self) -> list[Lapse]:
        """Take back what is leased to workers that gave no sign of life."""

    def is_held(self, node_uuid: str, worker: str,
                besides: str | None = None) -> bool:
        """Whether a worker has a lease on a request of the node.

        A done one counts too as long as its lease lasts: the worker may not
        have unlocked the node yet.

        :param besides: UUID of a request that does not count.
        """

    def find(self, uuid: str) -> Request:
        """Show a request.

        :raises: RequestNotFound
        """

    def find_open(self, node_uuid: str) -> Request | None:
        """Show the open request of a node, if there is one."""


def displaces(event: str, present: Request) -> bool:
    """Whether a new request may take the place of the node's open one."""
    return (present.state == state.WAITING
            and event in (present.event, CONTINUE))
