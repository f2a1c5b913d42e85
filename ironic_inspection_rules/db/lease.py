# SPDX-License-Identifier: Apache-2.0

"""Leases: how workers claim requests, and for how long they hold them.

All times come from the clock of the database. Any worker may claim a request
whose lease has expired. Until it is claimed or taken back, its row keeps the
name of the worker that held it, and the delivery of this worker may still end
the request.

No function here waits for a row that another transaction has locked: a process
that stalls in the middle of a transaction delays only its own request. Rows
are locked by primary key, because otherwise MySQL would also lock the gaps
beside them.
"""

from collections.abc import Collection, Iterable, Mapping
import math
import time
import typing

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import request as db_request
from ironic_inspection_rules.db import transaction

_MOST_CANDIDATES = 8
"""Maximum number of requests that a search for one request reads at once."""

MAX_DELAY = 30.0
"""Longest delay before a request is delivered again, in seconds."""

SECONDS_TO_YIELD = 600.0
"""For how long a reapplication lets posted inventories go first."""

_REAPPLY = 'reapply'
"""The event of reapplications; ``queue.request`` defines the same value."""

_MOST_PER_ROUND = 500
"""Maximum number of requests that the leader looks at in one round."""


class Claimed(typing.NamedTuple):
    """A claimed request, as a delivery gets it.

    ``data`` are the data to process, if any. ``was_due`` tells whether the due
    time of the request had come. It is False for a reapplication that was
    delivered early, before it had let other requests go first for the full
    time.
    """

    request: models.RequestRow
    data: models.InspectionDataRow | None
    was_due: bool


class _Candidate(typing.NamedTuple):
    """A request that may be claimed, as it was at the time ``looked_at``.

    ``token`` is the token of its last delivery. ``worker`` is the name of the
    worker that held it last; None if no worker has held it since it was stored
    or given back. ``due_at`` and ``looked_at`` are times in seconds, by the
    clock of the database.
    """

    id: int
    token: int
    due_at: float
    worker: str | None
    looked_at: float


def read_clock() -> float:
    """Read the clock by which requests are due."""
    query = sa.select(clock.now().label('now'))
    [row] = transaction.read_rows(query)
    return float(row['now'])


class Search:
    """Finds requests that are due, for one thread of workers.

    Requests that only other workers can serve are skipped row by row, which
    takes seconds if a hundred thousand of them wait. A thread therefore reads
    them only once per lease. Until then, a search skips all requests that were
    due before the first request that the previous search read. It still goes
    back one lease further than that, to find requests whose transaction
    commits late.

    :param lease: seconds that a worker holds a request before it must prolong
        its lease.
    :param states: states of the requests to find.
    :param served: the condition of requests that the workers can serve; None
        if they serve all requests.
    """

    def __init__(
        self,
        lease: float,
        states: Collection[str],
        served: sa.ColumnElement[bool] | None,
    ) -> None:
        self._lease = lease
        self._serves_all = served is None
        deliverable = _deliverable(lease)
        self._is_deliverable = sa.or_(*deliverable)
        # Every request to find is in one of these ranges of the index.
        self._ranges: list[sa.ColumnElement[bool]] = []
        for state in states:
            for condition in deliverable:
                in_range = sa.and_(
                    models.RequestRow.state == state,
                    condition,
                    db_request.OPEN,
                )
                if served is not None:
                    in_range = sa.and_(in_range, served)
                self._ranges.append(in_range)
        # Requests that were due up to this time are skipped; 0 for none.
        self._looked_until = 0.0
        # When to look at all requests again, on the monotonic clock.
        self._look_again_at = -math.inf

    def claim(self, worker: str) -> Claimed | None:
        """Claim the request that has been due longest, for a worker.

        :param worker: the name of the worker that gets the lease.
        :returns: the request with its data; None if no request is due, or if
            all due requests are locked or claimed by other workers.
        """
        candidates = self._look()
        while candidates:
            for candidate in candidates:
                claimed = _claim(
                    candidate, worker, self._lease, self._is_deliverable
                )
                if claimed is not None:
                    return claimed
            # Other workers have claimed or locked all of these. Try the next
            # ones, because a process may hold its locks for a long time.
            candidates = self._look(after=candidates[-1])
        return None

    def is_any_due(self) -> bool:
        """Return whether any request is due, even if it is locked."""
        return bool(self._look())

    def _look(self, after: _Candidate | None = None) -> list[_Candidate]:
        """Read the next due requests, sorted by their due time.

        If the workers serve only some of the nodes, the first look also
        records the time before which no request is for them. Later looks start
        at this time until a lease has passed.

        :param after: the last request of the previous look; None to start with
            the first one.
        """
        if time.monotonic() >= self._look_again_at:
            # Look at all requests again once per lease.
            self._looked_until = 0.0
            self._look_again_at = time.monotonic() + self._lease
        candidates = _due_requests(
            self._ranges, due_after=self._looked_until, last_read=after
        )
        if after is None and not self._serves_all:
            # All requests due before the first candidate are for other
            # workers.
            if candidates:
                first = candidates[0]
                # The first candidate may be due in the future, see
                # _deliverable(). MySQL returns the time as a Decimal, but the
                # column as a float.
                nothing_until = min(first.due_at, float(first.looked_at))
            else:
                nothing_until = read_clock()
            # Go back by one lease, because a transaction may commit a request
            # after its due time. It cannot be later than that, because the
            # database ends transactions that stall, see
            # transaction.limit_waits().
            self._looked_until = nothing_until - self._lease
        return candidates


def due(lease: float) -> tuple[sa.ColumnElement[bool], ...]:
    """Return two conditions; a request is due if it meets one of them.

    The first condition holds if the due time has come. The second holds if the
    due time is later than any lease or delay can end. In this case either the
    clock was set back, or the request is a reapplication, which lets posted
    inventories go first for a while and is delivered when there are none.

    Each condition is a range of the index, see :func:`limited`.

    :param lease: seconds that a worker holds a request.
    """
    row = models.RequestRow
    is_past = row.due_at <= clock.now()
    # Use twice the longest time, because the clock may be corrected a little,
    # and a lease that has just begun must not look like one from before the
    # clock was set back.
    is_far_off = row.due_at > clock.now() + 2 * max(lease, MAX_DELAY)
    return is_past, is_far_off


def _deliverable(lease: float) -> tuple[sa.ColumnElement[bool], ...]:
    """Return three conditions; a request may be claimed if it meets any.

    ``due_at`` is the end of a lease, the end of a delay after a failed
    attempt, or the time of storing. A request may be claimed if

    1. that time has come;
    2. that time is later than any lease or delay ends, see :func:`due`;
    3. that time is between these two, no worker holds the request, and the
       request does not wait for a delay: either it was never put off, or it is
       due later than any delay ends. Then the clock was set back, or it lets
       other requests go first.

    The due time of a reapplication is :data:`SECONDS_TO_YIELD` later than the
    time of storing, so that posted inventories are due earlier and come first.
    If there are none, the reapplication may be claimed immediately. After a
    failed attempt, its due time is the end of the delay plus
    :data:`SECONDS_TO_YIELD`, and it may be claimed when the delay is over. If
    it had been due already, it is put off like any other request.

    The three conditions are not combined, because every condition is read with
    its own range of the index, see :func:`limited`.
    """
    row = models.RequestRow
    is_past, is_far_off = due(lease)
    was_put_off = sa.or_(row.attempts != 0, row.lock_failures != 0)
    end_of_yielding = clock.now() + SECONDS_TO_YIELD
    has_delay_left = sa.and_(
        row.event == _REAPPLY,
        was_put_off,
        row.worker.is_(None),
        row.due_at > end_of_yielding,
        row.due_at <= end_of_yielding + MAX_DELAY,
    )
    is_due_too_late = row.due_at > clock.now() + MAX_DELAY
    is_in_between = sa.and_(
        sa.not_(is_past),
        sa.not_(is_far_off),
        row.worker.is_(None),
        sa.or_(sa.not_(was_put_off), is_due_too_late),
    )
    is_delay_over = sa.not_(has_delay_left)
    return (
        is_past,
        sa.and_(is_far_off, is_delay_over),
        sa.and_(is_in_between, is_delay_over),
    )


def _due_requests(
    ranges: Iterable[sa.ColumnElement[bool]],
    due_after: float,
    last_read: _Candidate | None = None,
) -> list[_Candidate]:
    """Read a few requests that may be claimed, sorted by their due time.

    No row is locked, so another worker may claim the requests meanwhile.

    :param ranges: conditions; a request that meets one of them may be claimed.
    :param due_after: skip requests that are due at this time or earlier,
        because they are for other workers; in seconds since 1970. 0 to skip
        none.
    :param last_read: the last request that the previous call returned; only
        the requests after it are read. None to start with the first request.
    :returns: at most :data:`_MOST_CANDIDATES` requests.
    """
    row: typing.Any = models.RequestRow
    further_conditions = []
    if last_read is not None:
        is_later = row.due_at > last_read.due_at
        # Requests that are due at the same time are sorted by id.
        is_next = sa.and_(
            row.due_at == last_read.due_at, row.id > last_read.id
        )
        further_conditions.append(sa.or_(is_later, is_next))
    if due_after:
        further_conditions.append(row.due_at > due_after)
    branches = [sa.and_(in_range, *further_conditions) for in_range in ranges]
    # Use the clock of the database, as due_at does; the clock of this host may
    # differ.
    looked_at = clock.now().label('looked_at')
    columns = [row.id, row.token, row.due_at, row.worker, looked_at]
    query = limited(
        columns, branches, order=[row.due_at, row.id], limit=_MOST_CANDIDATES
    )
    rows = transaction.read_rows(query.order_by('due_at', 'id'))
    return [_Candidate(**values) for values in rows]


def limited(
    columns: list[typing.Any],
    branches: list[sa.ColumnElement[bool]],
    order: list[typing.Any],
    limit: int,
) -> typing.Any:
    """Build a query for the first rows that meet one of several conditions.

    The query is a union of one query per condition. Its rows are not sorted.

    :param columns: the columns to read.
    :param branches: the conditions, each of which is a range of an index.
    :param order: the columns that decide which rows of a range come first.
    :param limit: maximum number of rows of a range, and in total.
    """
    # Every query reads only the beginning of its range. With a single query
    # and an OR of all conditions, the database would read and sort all rows.
    # The subquery is needed because SQLite accepts the order and the limit of
    # a part of a union only in a subquery.
    queries = []
    for branch in branches:
        first_rows = sa.select(*columns).where(branch)
        first_rows = first_rows.order_by(*order).limit(limit)
        queries.append(sa.select(first_rows.subquery()))
    return sa.union_all(*queries).limit(limit)


@transaction.retried_on_lock_conflict
def _claim(
    candidate: _Candidate,
    worker: str,
    lease: float,
    is_deliverable: sa.ColumnElement[bool],
) -> Claimed | None:
    """Claim a request for a worker, and read it in the same transaction.

    The worker gets a new token and a lease that starts now. The row must not
    be read after the commit: if the worker stalled before reading it, it might
    read the token of another worker that has claimed the request since then,
    and the fence would let both workers write.

    The row is locked by primary key and with SKIP LOCKED, so that a worker
    that stalls with the lock does not block others, and MySQL locks no gap.
    SQLite has no row locks, but refuses a write of a transaction whose
    snapshot is outdated.

    :param is_deliverable: the condition of requests that may be claimed.
    :returns: the request and the data to process; None if the request is
        locked, or was claimed or changed since it was read.
    """
    row = models.RequestRow
    data = models.InspectionDataRow
    query = sa.select(row, data).options(orm.undefer(row.checkpoints))
    query = query.outerjoin(data, data.id == row.unprocessed_id)
    query = query.where(row.id == candidate.id)
    with transaction.writer() as session:
        is_locked = lock(
            session,
            candidate.id,
            # Every worker that claims the request changes its token.
            row.token == candidate.token,
            db_request.OPEN,
            is_deliverable,
        )
        if not is_locked:
            return None
        _change(
            session,
            candidate.id,
            worker=worker,
            token=candidate.token + 1,
            due_at=clock.now() + lease,
        )
        request, data_of_request = session.execute(query).one()
        # If a worker has held the request, due_at was only the end of its
        # lease.
        was_due = (
            candidate.worker is None
            and candidate.due_at <= candidate.looked_at
        )
        return Claimed(request, data=data_of_request, was_due=was_due)


def _change(session: orm.Session, id_: int, **values: typing.Any) -> None:
    """Change columns of a request that this transaction has locked."""
    row = models.RequestRow
    # The session has no object of this row that must be synchronized.
    session.execute(
        sa.update(row)
        .where(row.id == id_)
        .values(**values)
        .execution_options(synchronize_session=False)
    )


def lock(
    session: orm.Session, id_: int, *conditions: sa.ColumnElement[bool]
) -> bool:
    """Lock a request until the end of the transaction, without waiting.

    :param conditions: conditions that the request must still meet.
    :returns: False if another transaction has locked the request, or if it is
        gone or does not meet the conditions.
    """
    query = sa.select(models.RequestRow.id)
    query = query.where(models.RequestRow.id == id_, *conditions)
    query = query.with_for_update(skip_locked=True)
    return session.execute(query).first() is not None


@transaction.retried_on_lock_conflict
def prolong_requests(
    deliveries: Iterable[tuple[str, int]], lease: float
) -> set[tuple[str, int]]:
    """Prolong the leases of the requests that a worker processes.

    This is the heartbeat of the worker. Every lease is prolonged in its own
    transaction, so that one lease neither waits for another nor fails with it.
    The lease of a locked request is not prolonged: another transaction is
    about to change the request, and no worker can claim it meanwhile.

    :param deliveries: pairs of the UUID of a request and the token of its
        delivery.
    :param lease: the new duration of the leases, in seconds from now.
    :returns: the pairs whose request is open and still has this token,
        including locked requests. The worker has lost all other requests.
    """
    row = models.RequestRow
    prolonged = set()
    passed_over = []
    for id_, (uuid, token) in _open_deliveries(deliveries).items():
        with transaction.writer() as session:
            is_locked_by_us = lock(
                session,
                id_,
                # SQLite may have reused the id of a deleted row.
                row.uuid == uuid,
                row.token == token,
                db_request.OPEN,
            )
            if is_locked_by_us:
                _change(session, id_, due_at=clock.now() + lease)
                prolonged.add((uuid, token))
            else:
                passed_over.append((uuid, token))
    if not passed_over:
        return prolonged
    # Other transactions have locked these requests, or they have ended since
    # they were read. The requests that are still open are not lost.
    return prolonged.union(_open_deliveries(passed_over).values())


def _open_deliveries(
    deliveries: Iterable[tuple[str, int]],
) -> dict[int, tuple[str, int]]:
    """Read which of these deliveries are the last one of an open request.

    :param deliveries: pairs of the UUID of a request and the token of its
        delivery.
    :returns: these pairs by the ``id`` of the request, e.g. ``{17: (UUID,
        3)}``.
    """
    row = models.RequestRow
    uuid_and_token = sa.tuple_(row.uuid, row.token)
    query = sa.select(row.id, row.uuid, row.token)
    query = query.where(db_request.OPEN, uuid_and_token.in_(list(deliveries)))
    delivery_by_id: dict[int, tuple[str, int]] = {}
    with transaction.writer() as session:
        rows: typing.Any = session.execute(query)
        for id_, uuid, token in rows:
            delivery_by_id[id_] = (uuid, token)
    return delivery_by_id


def expire_leases(
    lease: float, states: Iterable[str]
) -> list[models.RequestRow]:
    """Take back requests from workers whose lease has expired.

    The requests then have no worker, and stay due.

    :param states: states of the requests to take back.
    :returns: the requests as they were before, but with their new token.
    """
    return _take_lapsed(
        lease,
        states,
        {'worker': None},
        db_request.OPEN,
        models.RequestRow.worker.is_not(None),
    )


def claim_unsettled(
    lease: float, states: Iterable[str]
) -> list[models.RequestRow]:
    """Lease the ended requests whose nodes may not be in a final state.

    Other calls do not return them again until this lease has expired.

    :param states: states of the requests to lease.
    :returns: the requests as they were before, but with their new token.
    """
    return _take_lapsed(
        lease,
        states,
        {'due_at': clock.now() + lease},
        models.RequestRow.open_node_uuid.is_(None),
    )


def _take_lapsed(
    lease: float,
    states: Iterable[str],
    values: Mapping[str, typing.Any],
    *conditions: sa.ColumnElement[bool],
) -> list[models.RequestRow]:
    """Give requests whose lease has expired a new token and other values.

    Because of the new token, the delivery that has held the request until now
    can no longer change it. Locked requests are left for the next round.

    :param values: column values to change.
    :param conditions: further conditions that the requests must meet.
    :returns: the requests as they were before the change, but with the new
        token; at most :data:`_MOST_PER_ROUND`.
    """
    ranges = []
    for state in states:
        for is_due in due(lease):
            ranges.append(
                sa.and_(models.RequestRow.state == state, is_due, *conditions)
            )
    query = limited(
        [models.RequestRow.id],
        ranges,
        order=[models.RequestRow.due_at],
        limit=_MOST_PER_ROUND,
    )
    requests = []
    for id_ in transaction.read(query):
        # Check the conditions again, because the lease may have been prolonged
        # since the request was read.
        request = _take(id_, values, sa.or_(*due(lease)), *conditions)
        if request is not None:
            requests.append(request)
    return requests


@transaction.retried_on_lock_conflict
def _take(
    id_: int,
    values: Mapping[str, typing.Any],
    *conditions: sa.ColumnElement[bool],
) -> models.RequestRow | None:
    """Give a request a new token and other values, in one transaction.

    :param conditions: conditions that it must meet when it is locked.
    :returns: the request as it was before, but with the new token; None if
        another transaction has locked it, or it does not meet the conditions.
    """
    row = models.RequestRow
    with transaction.writer() as session:
        if not lock(session, id_, *conditions):
            return None
        request: typing.Any = session.get_one(row, id_)
        # Without this, the session would also store the token that is set on
        # the object below for the caller.
        session.expunge(request)
        _change(session, id_, token=row.token + 1, **values)
        request.token += 1
        return request


def list_held_requests(node_uuid: str) -> list[models.RequestRow]:
    """Read the requests of a node that a worker or the leader holds.

    The lock of the node must not be taken from the holder. A worker holds an
    open request until it is claimed again or taken back, even after its lease
    has expired. The leader holds an ended request while it settles the node,
    until its lease expires.
    """
    row = models.RequestRow
    is_open_and_held = sa.and_(db_request.OPEN, row.worker.is_not(None))
    is_done_and_leased = sa.and_(
        row.open_node_uuid.is_(None), row.due_at > clock.now()
    )
    query = sa.select(row).where(
        row.node_uuid == node_uuid,
        sa.or_(is_open_and_held, is_done_and_leased),
    )
    return transaction.read(query)


def list_workers() -> list[str]:
    """Read the names of the workers that currently process a request.

    These workers hold a lease that has not expired; idle workers are not
    stored.
    """
    row = models.RequestRow
    query = sa.select(row.worker).distinct()
    query = query.where(
        db_request.OPEN, row.worker.is_not(None), row.due_at > clock.now()
    )
    return transaction.read(query)
