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

    ``waiting`` is the number of requests that no worker holds,
    ``processing`` of those that one holds. ``delay`` is for how many seconds
    the request that waits longest has been due.
    """

    waiting: int
    processing: int
    delay: float


class Unserved(typing.NamedTuple):
    """The node that waits longest for a worker which can reach it.

    It stands for all nodes of its driver and conductor group. ``delay`` is
    for how many seconds its request has been due.
    """

    driver: str
    conductor_group: str
    node: str
    delay: float


_MOST_READ = 500
"""How many of the requests that wait longest are read."""

_OPEN_STATES = ('starting', 'waiting', 'processing')
"""States of open requests; by ``due_at``, each is a range of the index."""


@transaction.retried_on_lock_conflict
def read_unserved(
    served: sa.ColumnElement[bool], patience: float
) -> list[Unserved]:
    """Read the drivers and conductor groups that no worker serves.

    Requests of their nodes have waited too long, and none of the workers of
    this process can process them. Only the :data:`_MOST_READ` requests that
    wait longest are looked at.

    :param served: the condition of requests that the workers can process, see
        :func:`.node_reservation.served_by`.
    :param patience: seconds that a request may wait.
    :returns: for every such driver and group, the node that waits longest.
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
    # There may be many requests, and only these are joined with their nodes.
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
        # The rows are sorted: the first of a driver and group is due longest.
        longest_waiting.setdefault(driver_and_group, unserved)
    return list(longest_waiting.values())


def _is_held() -> sa.ColumnElement[bool]:
    """Return the condition of requests that a worker is processing.

    While a worker holds a request, this is due at the end of the lease. A
    worker whose lease has run out counts as dead.
    """
    row: typing.Any = models.RequestRow
    return sa.and_(
        row.state.in_(_OPEN_STATES),
        row.due_at > clock.now(),
        row.worker.is_not(None),
    )


def _columns_of_first_due() -> list[typing.Any]:
    """Return a column for every open state: when its first request is due.

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
    """Return the longest delay in seconds, 0 if nothing is due.

    :param now: the time by the clock of the database, in seconds.
    :param first_due: when the first request is due, for every open state;
        None where no request in that state has such a time.
    """
    # A request that is due later, such as at the end of a lease, would have a
    # negative delay, which does not count.
    longest = 0.0
    for due_at in first_due:
        if due_at is not None:
            longest = max(longest, now - due_at)
    return longest


@transaction.retried_on_lock_conflict
def read() -> Backlog:
    """Read the backlog; the delay is by the clock of the database.

    Open requests are counted by entries of an index; there are no more of
    them than there are nodes.
    """
    count = sa.select(sa.func.count())
    is_open = models.RequestRow.state.in_(_OPEN_STATES)
    # One statement, so that its numbers are those of one moment.
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
    :returns: the backlog, None if workers keep up.
    """
    # This query is quick. Workers mostly keep up, so that the requests need
    # not be counted, which takes longer.
    query = sa.select(
        sa.exists().where(_is_held()), clock.now(), *_columns_of_first_due()
    )
    with transaction.reader() as session:
        is_any_held, now, *first_due = session.execute(query).one()
    if is_any_held or _longest_delay(now, first_due) <= patience:
        return None
    return read()
