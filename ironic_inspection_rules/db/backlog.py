# SPDX-License-Identifier: Apache-2.0

"""How many inspection requests wait, and for how long.

An *open* request is not done yet. It is *due* when a worker may process it:
from its ``due_at``, in seconds by the clock of the database. A worker that
processes a request *holds* it by a lease, and ``due_at`` is then the end of
the lease. If the worker does not prolong the lease in time, it counts as dead,
and the request waits again.
"""

import typing

import sqlalchemy as sa

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction


class Backlog(typing.NamedTuple):
    """The open requests of the whole cluster.

    ``processing`` is the number of requests that a worker holds, ``waiting``
    the number of all others. ``delay`` is the number of seconds for which the
    longest waiting request has been due.
    """

    waiting: int
    processing: int
    delay: float


class Unserved(typing.NamedTuple):
    """A driver and conductor group whose requests wait for a worker.

    ``node`` is the UUID of the node in it that has waited longest. ``delay``
    is the number of seconds for which the request of this node has been due.
    """

    driver: str
    conductor_group: str
    node: str
    delay: float


_MOST_READ = 500
"""Maximum number of the longest waiting requests that are read."""

_OPEN_STATES = ('starting', 'waiting', 'processing')
"""States of open requests.

An index of the table is sorted by state, and within a state by ``due_at``.
Queries here therefore ask for every state separately.
"""


@transaction.retried_on_lock_conflict
def read_unserved(
    served: sa.ColumnElement[bool], patience: float
) -> list[Unserved]:
    """Read the drivers and conductor groups that no worker seems to serve.

    These are the drivers and groups of nodes whose requests have waited too
    long and cannot be processed by the workers of this process. The leader of
    the workers warns of them. Only the :data:`_MOST_READ` longest waiting
    requests are looked at.

    :param served: the SQL condition of requests that the workers of this
        process can process, see :func:`.node_reservation.served_by`.
    :param patience: seconds that a request may wait.
    :returns: one item per driver and group, with its longest waiting node.
    """
    request: typing.Any = models.RequestRow
    # Ironic's table, with the columns that are needed here.
    node = sa.table(
        'nodes',
        sa.column('uuid'),
        sa.column('driver'),
        sa.column('conductor_group'),
    )
    # First select the longest waiting requests. There may be many requests, so
    # only these are joined with their nodes.
    waits_too_long = request.due_at <= clock.now() - patience
    conditions_by_state = [
        sa.and_(request.state == state, waits_too_long)
        for state in _OPEN_STATES
    ]
    longest_waiting = leases.select_first_rows(
        [request.id, request.due_at],
        conditions_by_state,
        order=[request.due_at],
        limit=_MOST_READ,
    )
    longest_waiting = longest_waiting.order_by('due_at').subquery()
    # Then read their nodes, except nodes that the workers can serve.
    query = sa.select(
        node.c.driver,
        node.c.conductor_group,
        request.node_uuid,
        clock.now() - request.due_at,
    )
    query = query.join(longest_waiting, longest_waiting.c.id == request.id)
    query = query.join(node, node.c.uuid == request.node_uuid)
    query = query.where(~served).order_by(request.due_at)
    with transaction.reader() as session:
        rows = session.execute(query).all()
    # The rows are sorted, so the first row of a driver and group has been due
    # longest.
    first_by_group: dict[tuple[str, str], Unserved] = {}
    for row in rows:
        unserved = Unserved(*row)
        driver_and_group = (unserved.driver, unserved.conductor_group)
        first_by_group.setdefault(driver_and_group, unserved)
    return list(first_by_group.values())


def _is_held() -> sa.ColumnElement[bool]:
    """Return the SQL condition of requests that a worker holds.

    Their lease has not expired yet, so their due time is still to come.
    """
    row: typing.Any = models.RequestRow
    return sa.and_(
        row.state.in_(_OPEN_STATES),
        row.due_at > clock.now(),
        row.worker.is_not(None),
    )


def _select_first_due_times() -> list[typing.Any]:
    """Return one SQL expression per open state: the first due time in it.

    The database finds the minimum of a state at the beginning of a range of
    the index. For a single minimum of all open states, it would read all of
    their entries.
    """
    row: typing.Any = models.RequestRow
    expressions: list[typing.Any] = []
    for state in _OPEN_STATES:
        first_due = sa.select(sa.func.min(row.due_at))
        first_due = first_due.where(row.state == state)
        expressions.append(first_due.scalar_subquery())
    return expressions


def _compute_delay(
    now: float, first_due_times: typing.Iterable[float | None]
) -> float:
    """Return for how many seconds a request has been due; 0 if none is due.

    ``_compute_delay(100.0, [None, 90.0, 130.0])`` is 10: a request has been
    due since 90, and the request at 130 is due later.

    :param now: the time by the clock of the database, in seconds.
    :param first_due_times: the due time of the first request of every open
        state; None if no request in that state has a due time.
    """
    # A request that is due later, e.g. at the end of a lease, would have a
    # negative delay, which does not count.
    longest = 0.0
    for due_at in first_due_times:
        if due_at is not None:
            longest = max(longest, now - due_at)
    return longest


@transaction.retried_on_lock_conflict
def read() -> Backlog:
    """Count the open requests of the cluster, and measure the longest delay.

    The leader of the workers sends the numbers to the metrics. A node has at
    most one open request, so there are at most as many open requests as nodes.
    """
    count = sa.select(sa.func.count())
    is_open = models.RequestRow.state.in_(_OPEN_STATES)
    # Use one statement, so that all numbers belong to the same moment.
    query = sa.select(
        count.where(is_open).scalar_subquery(),
        count.where(_is_held()).scalar_subquery(),
        clock.now(),
        *_select_first_due_times(),
    )
    with transaction.reader() as session:
        row = session.execute(query).one()
    count_open, count_held, now, *first_due_times = row
    return Backlog(
        waiting=count_open - count_held,
        processing=count_held,
        delay=_compute_delay(now, first_due_times),
    )


@transaction.retried_on_lock_conflict
def read_neglected(patience: float) -> Backlog | None:
    """Read the backlog if a request waits too long and none is processed.

    The API then warns that no worker seems to run.

    :param patience: seconds that a request may wait.
    :returns: the backlog; None if a worker processes a request, or if no
        request waits too long.
    """
    # Run this quick query first. Workers usually keep up, so that the requests
    # need not be counted, which takes longer.
    query = sa.select(
        sa.exists().where(_is_held()), clock.now(), *_select_first_due_times()
    )
    with transaction.reader() as session:
        row = session.execute(query).one()
    is_any_held, now, *first_due_times = row
    if is_any_held:
        return None
    if _compute_delay(now, first_due_times) <= patience:
        return None
    return read()
