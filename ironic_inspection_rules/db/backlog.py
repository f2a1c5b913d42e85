# SPDX-License-Identifier: Apache-2.0

"""How many inspection requests wait, and for how long."""

import typing

import sqlalchemy as sa

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction


class Backlog(typing.NamedTuple):
    """The open requests of the whole cluster.

    ``waiting`` is the number of requests that no worker holds, ``processing``
    the number of requests that a worker holds. ``delay`` is the number of
    seconds for which the longest waiting request has been due.
    """

    waiting: int
    processing: int
    delay: float


class Unserved(typing.NamedTuple):
    """The node that has waited longest for a worker that can process it.

    It stands for all nodes of its driver and conductor group. ``delay`` is the
    number of seconds for which its request has been due.
    """

    driver: str
    conductor_group: str
    node: str
    delay: float


_MOST_READ = 500
"""Maximum number of the longest waiting requests that are read."""

_OPEN_STATES = ('starting', 'waiting', 'processing')
"""States of open requests; together with ``due_at``, ranges of the index."""


@transaction.retried_on_lock_conflict
def read_unserved(
    served: sa.ColumnElement[bool], patience: float
) -> list[Unserved]:
    """Read the drivers and conductor groups that no worker serves.

    Requests of their nodes have waited too long, and no worker of this process
    can process them. Only the :data:`_MOST_READ` longest waiting requests are
    looked at.

    :param served: the condition of requests that the workers can process, see
        :func:`.node_reservation.served_by`.
    :param patience: seconds that a request may wait.
    :returns: the longest waiting node of every such driver and group.
    """
    request: typing.Any = models.RequestRow
    node = sa.table(
        'nodes',
        sa.column('uuid'),
        sa.column('driver'),
        sa.column('conductor_group'),
    )
    waits_too_long = request.due_at <= clock.now() - patience
    ranges = [
        sa.and_(request.state == state, waits_too_long)
        for state in _OPEN_STATES
    ]
    # There may be many requests, so only these are joined with their nodes.
    oldest = leases.limited(
        [request.id, request.due_at], ranges, [request.due_at], _MOST_READ
    )
    oldest = oldest.order_by('due_at').subquery()
    query = sa.select(
        node.c.driver,
        node.c.conductor_group,
        request.node_uuid,
        clock.now() - request.due_at,
    )
    query = query.join(oldest, oldest.c.id == request.id)
    query = query.join(node, node.c.uuid == request.node_uuid)
    query = query.where(~served).order_by(request.due_at)
    with transaction.reader() as session:
        rows = session.execute(query).all()
    longest_waiting: dict[tuple[str, str], Unserved] = {}
    for row in rows:
        unserved = Unserved(*row)
        driver_and_group = (unserved.driver, unserved.conductor_group)
        # The rows are sorted, so the first row of a driver and group has been
        # due longest.
        longest_waiting.setdefault(driver_and_group, unserved)
    return list(longest_waiting.values())


def _is_held() -> sa.ColumnElement[bool]:
    """Return the condition of requests that a worker is processing.

    While a worker holds a request, its due time is the end of the lease. A
    worker whose lease has expired counts as dead.
    """
    row: typing.Any = models.RequestRow
    return sa.and_(
        row.state.in_(_OPEN_STATES),
        row.due_at > clock.now(),
        row.worker.is_not(None),
    )


def _columns_of_first_due() -> list[typing.Any]:
    """Return a column per open state: the due time of its first request.

    Each minimum is the first entry of a range of the index. A single minimum
    for all open states would make the database read all of their entries.
    """
    row: typing.Any = models.RequestRow
    columns: list[typing.Any] = []
    for state in _OPEN_STATES:
        first_due = sa.select(sa.func.min(row.due_at))
        first_due = first_due.where(row.state == state)
        columns.append(first_due.scalar_subquery())
    return columns


def _longest_delay(
    now: float, first_due: typing.Iterable[float | None]
) -> float:
    """Return the longest delay in seconds; 0 if nothing is due.

    :param now: the time by the clock of the database, in seconds.
    :param first_due: the due time of the first request of every open state;
        None if no request in that state has a due time.
    """
    # A request that is due later, e.g. at the end of a lease, would have a
    # negative delay, which does not count.
    longest = 0.0
    for due_at in first_due:
        if due_at is not None:
            longest = max(longest, now - due_at)
    return longest


@transaction.retried_on_lock_conflict
def read() -> Backlog:
    """Read the backlog; the delay is measured by the clock of the database.

    Open requests are counted by entries of an index. There are at most as many
    as nodes.
    """
    count = sa.select(sa.func.count())
    is_open = models.RequestRow.state.in_(_OPEN_STATES)
    # Use one statement, so that all numbers belong to the same moment.
    query = sa.select(
        count.where(is_open).scalar_subquery(),
        count.where(_is_held()).scalar_subquery(),
        clock.now(),
        *_columns_of_first_due(),
    )
    with transaction.reader() as session:
        count_open, count_held, now, *first_due = session.execute(query).one()
    return Backlog(
        waiting=count_open - count_held,
        processing=count_held,
        delay=_longest_delay(now, first_due),
    )


@transaction.retried_on_lock_conflict
def read_neglected(patience: float) -> Backlog | None:
    """Read the backlog if a request waits too long and none is processed.

    :param patience: seconds that a request may wait.
    :returns: the backlog; None if workers keep up.
    """
    # Run this quick query first. Workers usually keep up, so that the requests
    # need not be counted, which takes longer.
    query = sa.select(
        sa.exists().where(_is_held()), clock.now(), *_columns_of_first_due()
    )
    with transaction.reader() as session:
        is_any_held, now, *first_due = session.execute(query).one()
    if is_any_held or _longest_delay(now, first_due) <= patience:
        return None
    return read()
