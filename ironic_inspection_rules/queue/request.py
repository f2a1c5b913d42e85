# SPDX-License-Identifier: Apache-2.0

"""Inspection requests, and which of them replaces another.

A request asks for one step of the inspection of a node: its event says which.
A node has at most one *open* request, i.e. one that has not ended.

The queue leases a request to one worker at a time, which is a *delivery* of
the request. If the worker dies, the lease expires, and the request is
delivered to another worker, until a worker has ended it. So it is delivered at
least once (spec 001 "HA worker").

The *token* of a request is a number that grows with every delivery, and
whenever the request is taken away from a delivery. A worker must present the
token of its delivery when it changes the request. The change is refused if the
request has another token by then, or has ended. The name of the worker could
not replace the token: a worker that stalled for longer than a lease may have a
second delivery of the same request.
"""

import dataclasses
import datetime
import typing

from ironic_inspection_rules.queue import state

CONTINUE = 'continue'
"""Event of a request to inspect a machine with the data it has posted."""

REAPPLY = 'reapply'
"""Event of a request to run hooks and rules again, without an inspection."""

TIMEOUT = 'timeout'
"""Event of a request to fail a node whose machine has posted nothing."""

POWER_ON = 'power-on'
"""Event of a request to power a machine on for its inspection."""

SUPERSEDED = 'superseded by a posted inventory'
"""Error of a request that a posted inventory has replaced."""

OVERTAKEN = 'superseded by a newer inspection of the node'
"""Error of a request of an earlier inspection."""

DELIVERY_PREFIX = 'inspection-request:'
"""Prefix of the names of deliveries."""


@dataclasses.dataclass(frozen=True)
class Request:
    """A request as a worker sees it.

    ``attempts``
        How often processing began. Attempts that an external error
        interrupted do not count.
    ``token``
        A number that grows with every delivery, and whenever the request is
        taken away from a delivery.
    ``lock_failures``
        Number of deliveries in a row that external errors ended, e.g.
        because the node was locked.
    ``worker``
        Name of the worker that holds the request, or held it last.
    ``sender``
        IP address that the data came from.
    ``inspection_began_at``
        When the inspection of the request began, in UTC; None if unknown.
    ``checkpoints``
        Outcomes of phases in earlier attempts, by phase, including the early
        phase.
    ``was_due``
        Whether its due time had come when it was delivered. For a
        reapplication this means that it had let other requests go first for
        long enough.
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
    was_due: bool = dataclasses.field(default=False, repr=False)

    @property
    def delivery(self) -> str:
        """The unique name of this delivery, with which it locks the node.

        It consists of the UUID of the request and the token, e.g. ``…:3``.
        """
        return f'{DELIVERY_PREFIX}{self.uuid}:{self.token}'


class ExpiredLease(typing.NamedTuple):
    """A lease that expired while ``worker`` held the request."""

    uuid: str
    node_uuid: str
    worker: str


def replaces(event: str, open_request: typing.Any) -> bool:
    """Return whether a new request replaces the open request of its node.

    * Only a request in the state "waiting" or "starting" is replaced.
    * Posted data, whose event is "continue", replace any such request.
    * A timeout replaces another timeout.
    * All other requests replace none.

    :func:`reason_to_end` has a further reason for which an open request ends.

    :param event: the event of the new request.
    :param open_request: a :class:`Request`, or its database row.
    """
    has_begun = open_request.state not in (state.WAITING, state.STARTING)
    if has_begun:
        return False
    if event == CONTINUE:
        return True
    return event == TIMEOUT and open_request.event == TIMEOUT


def reason_to_end(
    event: str, open_request: typing.Any, began: datetime.datetime | None
) -> str | None:
    """Return why the open request of a node ends when a new one is stored.

    * It ends if it belongs to an earlier inspection of the node.
    * It ends if the new request replaces it and has another event. With the
      same event, it does not end, but gets the data of the new request.
    * Otherwise it does not end.

    :param event: the event of the new request.
    :param open_request: a :class:`Request`, or its database row.
    :param began: when the inspection of the node began, in UTC, if the new
        request is the first one of this inspection; otherwise None.
    :returns: the text to store as the error of the open request; None if it
        does not end.
    """
    if began is not None and open_request.inspection_began_at != began:
        return OVERTAKEN
    if open_request.event != event and replaces(event, open_request):
        return SUPERSEDED
    return None
