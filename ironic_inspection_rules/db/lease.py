# SPDX-License-Identifier: Apache-2.0

"""Leases: how workers claim inspection requests, and how long they hold them.

A worker *claims* a request that is due. It then holds the request by a *lease*
of some seconds, and prolongs the lease until it has processed the request.
This is one *delivery* of the request, and it has a number, the *token*. The
row of the request has

- ``worker``, the name of the worker that holds the request;
- ``token``, a number that grows with every delivery, and whenever the request
  is taken away from a delivery. A delivery may change the request only while
  the row has its token;
- ``due_at``, the end of the lease while a worker holds the request, and
  otherwise the time from which a worker should claim it. It is in seconds by
  the clock of the database, like all times here.

After the end of the lease, any worker may claim the request. Until a worker
claims it or the leader takes it back, the row keeps the name of the previous
worker, and the delivery of this worker may still end the request.

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
"""Longest delay after a failed delivery before the next one, in seconds."""

SECONDS_TO_YIELD = 600.0
"""For how long a reapplication lets posted inventories go first."""

_REAPPLY = 'reapply'
"""The event of reapplications; ``queue.request`` defines the same value."""

_MOST_PER_ROUND = 500
"""Maximum number of requests that the leader looks at in one round."""


class Claimed(typing.NamedTuple):
    """A claimed request, as a delivery gets it.

    ``data`` are the data to process, if any. ``was_due`` is whether the due
    time of the request had come. It is False for a reapplication that was
    claimed before its due time, because no other request was waiting. It is
    also False if another worker held the request before, because its due time
    was then only the end of the lease.
    """

    request: models.RequestRow
    data: models.InspectionDataRow | None
    was_due: bool


class _Candidate(typing.NamedTuple):
    """A request that may be claimed, as it was at the time ``looked_at``.

    ``worker`` is the name of the worker that held it last; None if no worker
    has held it since it was stored or given back. ``due_at`` and ``looked_at``
    are times in seconds, by the clock of the database.
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

    Some workers can serve only the requests of some nodes. If a hundred
    thousand requests for other workers wait, it takes seconds to skip them,
    because the database skips them row by row. A thread therefore begins a
    search with the oldest request only once per lease. Its other searches
    begin with the due time of the first request that the previous search
    found, minus one lease. Requests whose transaction commits late may be due
    within this lease.

    :param lease: seconds that a worker holds a request before it must prolong
        its lease.
    :param states: states of the requests to find.
    :param served: the SQL condition of requests that the workers can serve;
        None if they serve all requests.
    """

    def __init__(
        self,
        lease: float,
        states: Collection[str],
        served: sa.ColumnElement[bool] | None,
    ) -> None:
        self._lease = lease
        self._serves_all = served is None
        conditions = _deliverable_conditions(lease)
        self._is_deliverable = sa.or_(*conditions)
        # One condition per range of the index. Every request to find meets
        # exactly one of them.
        self._ranges: list[sa.ColumnElement[bool]] = []
        for state in states:
            for condition in conditions:
                in_range = sa.and_(
                    models.RequestRow.state == state,
                    condition,
                    db_request.OPEN,
                )
                if served is not None:
                    in_range = sa.and_(in_range, served)
                self._ranges.append(in_range)
        # A search skips requests that were due up to this time, in seconds by
        # the clock of the database; 0 to skip none.
        self._skip_until = 0.0
        # The time of the next search that skips none, on the monotonic clock
        # of this host.
        self._read_all_at = -math.inf

    def claim(self, worker: str) -> Claimed | None:
        """Claim the request that has been due longest, for a worker.

        :param worker: the name of the worker that gets the lease.
        :returns: the request with its data; None if no request is due, or if
            all due requests are locked or claimed by other workers.
        """
        candidates = self._begin_search()
        while candidates:
            for candidate in candidates:
                claimed = _claim(
                    candidate, worker, self._lease, self._is_deliverable
                )
                if claimed is not None:
                    return claimed
            # Other workers have claimed or locked all of these requests. Try
            # the next ones, because a process may hold its locks for a long
            # time.
            candidates = _read_due_requests(
                self._ranges,
                due_after=self._skip_until,
                last_read=candidates[-1],
            )
        return None

    def is_any_due(self) -> bool:
        """Return whether any request is due, even if it is locked."""
        return bool(self._begin_search())

    def _begin_search(self) -> list[_Candidate]:
        """Read the first few requests that may be claimed, by their due time.

        If the workers serve only some of the nodes, the next search skips the
        requests for other workers that were due before these.
        """
        if time.monotonic() >= self._read_all_at:
            self._skip_until = 0.0
            self._read_all_at = time.monotonic() + self._lease
        candidates = _read_due_requests(
            self._ranges, due_after=self._skip_until
        )
        if not self._serves_all:
            # Go back by one lease, because a transaction may commit a request
            # after its due time. It cannot be later than that, because the
            # database ends transactions that stall, see
            # transaction.limit_waits().
            first_due_at = _find_first_due_time(candidates)
            self._skip_until = first_due_at - self._lease
        return candidates


def _find_first_due_time(candidates: list[_Candidate]) -> float:
    """Return a time before which no request is due that the workers serve.

    This is the due time of the first candidate, or the present time by the
    clock of the database.

    :param candidates: all or the first such requests, sorted by due time.
    """
    if not candidates:
        return read_clock()
    first = candidates[0]
    # The first candidate may be due in the future, see
    # _deliverable_conditions(). MySQL returns the time as a Decimal, but the
    # column as a float.
    return min(first.due_at, float(first.looked_at))


def _due_or_far_off_conditions(
    lease: float,
) -> tuple[sa.ColumnElement[bool], ...]:
    """Return two SQL conditions, of requests that are due or far off.

    The leader takes back expired leases, and claims ended requests, that meet
    either of them, see :func:`_change_due_requests`. Workers claim requests by
    :func:`_deliverable_conditions`, which adds a third condition.

    1. The due time has come.
    2. The due time is later than any lease or delay can end. Then either the
       clock of the database was set back, or the request is a reapplication
       that lets posted inventories go first, see
       :func:`_deliverable_conditions`.

    The conditions are separate, because each of them is one range of the
    index, see :func:`select_first_rows`.

    :param lease: seconds that a worker holds a request.
    """
    row = models.RequestRow
    is_past = row.due_at <= clock.now()
    # Use twice the longest time, because the clock may be corrected a little,
    # and a lease that has just begun must not look like one from before the
    # clock was set back.
    is_far_off = row.due_at > clock.now() + 2 * max(lease, MAX_DELAY)
    return is_past, is_far_off


def _deliverable_conditions(
    lease: float,
) -> tuple[sa.ColumnElement[bool], ...]:
    """Return three SQL conditions; a request may be claimed if it meets any.

    The due time of most requests is the time when they were stored, the end
    of a lease, or the end of a delay after a failed delivery. These requests
    may be claimed when this time has come.

    A reapplication is due :data:`SECONDS_TO_YIELD` later than that, so that
    posted inventories are due earlier and are claimed first. If there are
    none, it may be claimed before its due time, but not before the end of a
    delay. If a delivery fails after the due time, the reapplication is then
    treated like any other request.

    The conditions are:

    1. The due time has come.
    2. The due time is later than any lease or delay can end, see
       :func:`_due_or_far_off_conditions`.
    3. The due time is between these two, but the request waits neither for
       the end of a lease nor for the end of a delay. Either no delivery of it
       has failed, or its due time is later than any delay can end.

    A reapplication that waits for the end of a delay meets neither the second
    nor the third condition.

    The conditions are separate, because each of them is one range of the
    index, see :func:`select_first_rows`.
    """
    row = models.RequestRow
    is_past, is_far_off = _due_or_far_off_conditions(lease)
    has_failed = sa.or_(row.attempts != 0, row.lock_failures != 0)
    # A reapplication is due SECONDS_TO_YIELD after the end of its delay. The
    # delay is not over yet if it is due later than if the delay ended now.
    due_if_delay_ended_now = clock.now() + SECONDS_TO_YIELD
    is_reapplication_in_delay = sa.and_(
        row.event == _REAPPLY,
        has_failed,
        row.worker.is_(None),
        row.due_at > due_if_delay_ended_now,
        row.due_at <= due_if_delay_ended_now + MAX_DELAY,
    )
    is_later_than_delays = row.due_at > clock.now() + MAX_DELAY
    waits_for_nothing = sa.and_(
        sa.not_(is_past),
        sa.not_(is_far_off),
        row.worker.is_(None),
        sa.or_(sa.not_(has_failed), is_later_than_delays),
    )
    is_delay_over = sa.not_(is_reapplication_in_delay)
    return (
        is_past,
        sa.and_(is_far_off, is_delay_over),
        sa.and_(waits_for_nothing, is_delay_over),
    )


def _read_due_requests(
    ranges: Iterable[sa.ColumnElement[bool]],
    due_after: float,
    last_read: _Candidate | None = None,
) -> list[_Candidate]:
    """Read a few requests that may be claimed, sorted by their due time.

    The rows are not locked, so another worker may claim the requests before
    the caller does.

    :param ranges: SQL conditions; a request that meets one of them may be
        claimed.
    :param due_after: skip requests that are due at this time or earlier; in
        seconds since 1970. 0 to skip none.
    :param last_read: the last request that the previous call returned; only
        the requests after it are read. None to start with the first request.
    :returns: at most :data:`_MOST_CANDIDATES` requests.
    """
    row: typing.Any = models.RequestRow
    further_conditions = []
    if last_read is not None:
        is_later = row.due_at > last_read.due_at
        # Requests that are due at the same time are sorted by id.
        has_higher_id = sa.and_(
            row.due_at == last_read.due_at, row.id > last_read.id
        )
        further_conditions.append(sa.or_(is_later, has_higher_id))
    if due_after:
        further_conditions.append(row.due_at > due_after)
    conditions = []
    for in_range in ranges:
        conditions.append(sa.and_(in_range, *further_conditions))
    # Use the clock of the database, as due_at does; the clock of this host may
    # differ.
    looked_at = clock.now().label('looked_at')
    query = select_first_rows(
        [row.id, row.token, row.due_at, row.worker, looked_at],
        conditions,
        order=[row.due_at, row.id],
        limit=_MOST_CANDIDATES,
    )
    rows = transaction.read_rows(query.order_by('due_at', 'id'))
    return [_Candidate(**values) for values in rows]


def select_first_rows(
    columns: list[typing.Any],
    conditions: list[sa.ColumnElement[bool]],
    order: list[typing.Any],
    limit: int,
) -> typing.Any:
    """Build a query for the first rows that meet any of several conditions.

    A row should meet at most one of the conditions, because the query returns
    it once per condition. The query is not sorted. If the caller sorts it, the
    limit then keeps the first rows of all.

    :param columns: the columns to read.
    :param conditions: the conditions. The rows that meet one of them are one
        range of an index, e.g. all rows with a state and a due time in the
        past.
    :param order: the columns by which the first rows of a range are chosen.
    :param limit: maximum number of rows of a range, and in total.
    """
    # Build one query per range, which reads only the beginning of the range.
    # With a single query and an OR of all conditions, the database would read
    # and sort all rows.
    queries = []
    for condition in conditions:
        first_rows = sa.select(*columns).where(condition)
        first_rows = first_rows.order_by(*order).limit(limit)
        # SQLite accepts the order and the limit of a part of a union only in
        # a subquery.
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

    The request gets a new token, and a lease that starts now.

    SQLite has no row locks. Two workers still cannot claim the same request,
    because SQLite refuses a write of a transaction whose snapshot is outdated.

    :param candidate: the request to claim, as it was read without a lock.
    :param worker: the name of the worker.
    :param lease: duration of the lease, in seconds.
    :param is_deliverable: the SQL condition of requests that may be claimed.
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
        # Read the row before the commit. If this worker read it later and
        # stalled before that, another worker might have claimed the request,
        # and both would have the same token.
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

    :param id_: the primary key of the request.
    :param conditions: SQL conditions that the request must meet.
    :returns: whether the request is locked now. False if another transaction
        has locked it, or if it is gone or does not meet the conditions.
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

    This is the heartbeat of the worker. The lease of a locked request is not
    prolonged: another transaction is about to change the request, and no
    worker can claim it meanwhile.

    :param deliveries: pairs of the UUID of a request and the token of its
        delivery.
    :param lease: the new duration of the leases, in seconds from now.
    :returns: the pairs whose request is open and still has this token,
        including locked requests. The worker has lost all other requests.
    """
    row = models.RequestRow
    prolonged = set()
    skipped = []
    for id_, (uuid, token) in _read_open_deliveries(deliveries).items():
        # Use a transaction per lease, so that a lease neither waits for
        # another one nor fails with it.
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
                skipped.append((uuid, token))
    if not skipped:
        return prolonged
    # Another transaction has locked a skipped request, or has changed it since
    # it was read. The worker still holds it if it is open with this token.
    still_held = _read_open_deliveries(skipped).values()
    return prolonged.union(still_held)


def _read_open_deliveries(
    deliveries: Iterable[tuple[str, int]],
) -> dict[int, tuple[str, int]]:
    """Read which deliveries are the last delivery of an open request.

    :param deliveries: pairs of the UUID of a request and the token of a
        delivery of it.
    :returns: the pairs whose request is open and has this token, by the ``id``
        of the request: ``{17: (UUID, 3)}``.
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
    """Take back open requests from workers whose lease has expired.

    The requests then have no worker, and stay due.

    :param lease: seconds that a worker holds a request.
    :param states: states of the requests to take back.
    :returns: the requests as they were before, but with their new token.
    """
    return _change_due_requests(
        lease,
        states,
        {'worker': None},
        db_request.OPEN,
        models.RequestRow.worker.is_not(None),
    )


def claim_unsettled(
    lease: float, states: Iterable[str]
) -> list[models.RequestRow]:
    """Lease the ended requests whose nodes may not be in a final state yet.

    Other calls do not return them again until this lease has expired.

    :param lease: duration of the lease, in seconds.
    :param states: states of the requests to lease.
    :returns: the requests as they were before, but with their new token.
    """
    return _change_due_requests(
        lease,
        states,
        {'due_at': clock.now() + lease},
        models.RequestRow.open_node_uuid.is_(None),
    )


def _change_due_requests(
    lease: float,
    states: Iterable[str],
    values: Mapping[str, typing.Any],
    *conditions: sa.ColumnElement[bool],
) -> list[models.RequestRow]:
    """Change requests that are due, and give them a new token.

    Because of the new token, the delivery that has held a request until now
    can no longer change it. Locked requests are left for the next round.

    :param lease: seconds that a worker holds a request.
    :param states: states of the requests to change.
    :param values: column values to set.
    :param conditions: further SQL conditions that the requests must meet.
    :returns: the requests as they were before the change, but with the new
        token; at most :data:`_MOST_PER_ROUND`.
    """
    ranges = []
    for state in states:
        for condition in _due_or_far_off_conditions(lease):
            ranges.append(
                sa.and_(
                    models.RequestRow.state == state, condition, *conditions
                )
            )
    query = select_first_rows(
        [models.RequestRow.id],
        ranges,
        order=[models.RequestRow.due_at],
        limit=_MOST_PER_ROUND,
    )
    is_still_met = sa.or_(*_due_or_far_off_conditions(lease))
    requests = []
    for id_ in transaction.read(query):
        # Check the conditions again, because the lease may have been prolonged
        # since the request was read.
        request = _lock_and_change(id_, values, is_still_met, *conditions)
        if request is not None:
            requests.append(request)
    return requests


@transaction.retried_on_lock_conflict
def _lock_and_change(
    id_: int,
    values: Mapping[str, typing.Any],
    *conditions: sa.ColumnElement[bool],
) -> models.RequestRow | None:
    """Change a request and give it a new token, in one transaction.

    :param id_: the primary key of the request.
    :param values: column values to set.
    :param conditions: SQL conditions that the request must meet.
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

    The holder may have locked the node in Ironic, and this lock must not be
    taken from it. A worker holds an open request until the request is claimed
    again or taken back, even if the lease has expired before. An ended request
    is held until its lease expires: by a worker that has ended it without
    unlocking the node, or by the leader, which takes the node out of
    inspection.
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

    The command that removes the tables refuses to do so while there are any.
    These workers hold a lease that has not expired; idle workers are not
    stored.
    """
    row = models.RequestRow
    query = sa.select(row.worker).distinct()
    query = query.where(
        db_request.OPEN, row.worker.is_not(None), row.due_at > clock.now()
    )
    return transaction.read(query)
