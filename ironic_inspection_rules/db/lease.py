# SPDX-License-Identifier: Apache-2.0

"""Leases: how workers claim requests, and for how long they hold them.

The clock is that of the database. A request whose lease has run out may be
claimed by any worker. Until it is claimed or taken back, its row has the name
of the worker that held it, and the delivery of that worker may still end it.

Nothing here waits for a row that another transaction has locked: a process
that stalls in the middle of a transaction holds up its own request only. A row
is locked by its primary key, else MySQL locks the gaps beside it as well.
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
"""How many requests a search for a single one reads with one query."""

_MOST_DELAY = 30.0
"""Longest time that ``queue.delivery`` puts a request off, in seconds."""

SECONDS_TO_YIELD = 600.0
"""For how long a reapplication lets posted inventories go before it."""

_REAPPLY = 'reapply'
"""The event of reapplications, as ``queue.request`` has it."""

_MOST_PER_ROUND = 500
"""How many requests the leader looks at in one round."""


class Claimed(typing.NamedTuple):
    """A request as a delivery has it.

    ``data`` are those that it needs, if any. ``was_due`` is whether its time
    had come: not so for a reapplication that was delivered before it had let
    others go first for as long as it has to.
    """

    request: models.RequestRow
    data: models.InspectionDataRow | None
    was_due: bool


class _Candidate(typing.NamedTuple):
    """A request that may be claimed, as it was at the time ``looked_at``.

    ``token`` is that of its last delivery. ``worker`` is the name of the
    worker that held it last, None if none did since it was stored or given
    back. ``due_at`` and ``looked_at`` are times of the clock of the database,
    in seconds.
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

    Requests that other workers have to serve are passed over row by row,
    which takes seconds where a hundred thousand of them wait. So a thread
    reads them once in a lease. Until then, a search leaves out what was due
    before the first request that the search before it has read. It reads a
    lease further back than that, for requests whose transaction commits late.

    :param lease: seconds that a worker holds a request before it has to
        prolong its lease.
    :param states: states of the requests to find.
    :param served: the condition of requests that the workers can serve, None
        if they serve all.
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
        # A request to be found is in one of these ranges of the index.
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
        # Requests that were due up to this time are left out; 0 for none.
        self._looked_until = 0.0
        # When all are looked at again, on the monotonic clock.
        self._look_again_at = -math.inf

    def claim(self, worker: str) -> Claimed | None:
        """Claim the request that has been due longest, for a worker.

        :param worker: the name of the worker, which then holds the lease.
        :returns: the request with its data; None if no request is due, or all
            that are due are locked or claimed by others.
        """
        candidates = self._look()
        while candidates:
            for candidate in candidates:
                claimed = _claim(
                    candidate, worker, self._lease, self._is_deliverable
                )
                if claimed is not None:
                    return claimed
            # Other workers have claimed or locked all of them. Go on with the
            # next ones: a process may hold its locks for long.
            candidates = self._look(after=candidates[-1])
        return None

    def is_any_due(self) -> bool:
        """Check if a request is due, be it locked or not."""
        return bool(self._look())

    def _look(self, after: _Candidate | None = None) -> list[_Candidate]:
        """Read the next requests that are due, the longest due first.

        A first look for workers that serve a part of the nodes also notes the
        time up to which there is nothing for them: later looks begin there,
        until a lease has passed.

        :param after: the last request of the look before; None to begin.
        """
        if time.monotonic() >= self._look_again_at:
            # Once in a lease, all requests are looked at again.
            self._looked_until = 0.0
            self._look_again_at = time.monotonic() + self._lease
        candidates = _due_requests(
            self._ranges, due_after=self._looked_until, last_read=after
        )
        if after is None and not self._serves_all:
            # All that was due before the first candidate is for other workers.
            if candidates:
                first = candidates[0]
                # The first candidate may be due later than now, see
                # _deliverable(). MySQL returns the time as a Decimal, but the
                # column as a float.
                nothing_until = min(first.due_at, float(first.looked_at))
            else:
                nothing_until = read_clock()
            # A lease is left for transactions that commit a request after it
            # is due. They are not later, as the database ends transactions
            # that stall, see transaction.limit_waits().
            self._looked_until = nothing_until - self._lease
        return candidates


def due(lease: float) -> tuple[sa.ColumnElement[bool], ...]:
    """Return two conditions: a request that is due meets one of them.

    The first holds if its time has come. The second holds if it is due later
    than any lease or delay can end. Then the clock was set back since, or it
    is a reapplication, which lets posted inventories go first for a while and
    is delivered when there are none.

    Every condition is a range of the index, see :func:`limited`.

    :param lease: seconds that a worker holds a request.
    """
    row = models.RequestRow
    is_past = row.due_at <= clock.now()
    # Twice the longest time: the clock may be corrected a little. A lease that
    # has just begun must not be taken for one of a clock that was set back.
    is_far_off = row.due_at > clock.now() + 2 * max(lease, _MOST_DELAY)
    return is_past, is_far_off


def _deliverable(lease: float) -> tuple[sa.ColumnElement[bool], ...]:
    """Return three conditions: a request may be claimed if it meets any.

    ``due_at`` is the end of a lease, the end of a delay after a failed
    attempt, or the time of storing. A request may be claimed if

    1. that time has come;
    2. that time is later than any lease or delay ends, see :func:`due`;
    3. it is between these two, but no worker holds the request and it waits
       for no delay: it was never put off, or it is due later than any delay
       ends. Then the clock was set back, or others go before it.

    A reapplication is stored with a due time that is
    :data:`SECONDS_TO_YIELD` later: posted inventories are due earlier, and
    come first. Where there are none it may be claimed all the same. If it was
    put off, its due time is that of its delay and :data:`SECONDS_TO_YIELD`,
    and it may be claimed once the delay is over. Where it had been due, it was
    put off like any other request.

    The conditions stay three, as every one is read by its own range of the
    index, see :func:`limited`.
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
        row.due_at <= end_of_yielding + _MOST_DELAY,
    )
    is_due_too_late = row.due_at > clock.now() + _MOST_DELAY
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
    """Read a few requests that may be claimed, the longest due first.

    Nothing is locked: another worker may claim them meanwhile.

    :param ranges: conditions; a request that meets one of them may be claimed.
    :param due_after: requests due at this time or before are left out, as they
        are for other workers; in seconds since 1970, 0 leaves out none.
    :param last_read: the last request that the call before returned: the
        requests behind it are read. None to begin with the first.
    :returns: at most :data:`_MOST_CANDIDATES`.
    """
    row: typing.Any = models.RequestRow
    further_conditions = []
    if last_read is not None:
        is_later = row.due_at > last_read.due_at
        # Requests that are due at the same time are read in the order of their
        # ids.
        is_next = sa.and_(
            row.due_at == last_read.due_at, row.id > last_read.id
        )
        further_conditions.append(sa.or_(is_later, is_next))
    if due_after:
        further_conditions.append(row.due_at > due_after)
    branches = [sa.and_(in_range, *further_conditions) for in_range in ranges]
    # By the clock of the database, as due_at is; that of this host may differ.
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

    It is a union of one query for every condition. Its rows are in no order.

    :param columns: the columns to read.
    :param branches: the conditions, each a range of an index.
    :param order: the columns that say which rows of a range are the first.
    :param limit: maximum number of rows of a range, and in all.
    """
    # Every query reads only the beginning of its range. For one query with an
    # OR of all conditions, the database would read and sort all rows. SQLite
    # accepts the order and the limit in a subquery only.
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

    The worker gets a new token and a lease from now on. Were the row read
    after the commit, a worker that stalls in between might read the token of
    another worker that claims the request after it: the fence would then let
    the writes of both pass.

    The lock is asked for with SKIP LOCKED and by primary key: a worker that
    stalls with it keeps nobody waiting, and MySQL locks no gap. SQLite has no
    row locks; there a transaction whose snapshot is old is refused when it
    writes.

    :param is_deliverable: the condition of requests that may be claimed.
    :returns: the request and the data to process; None if it is locked, or
        has been claimed or changed since it was read.
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
            # Every worker that claims the request changes the token.
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
    # The session has no object of this row, so there is none to synchronize.
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
    :returns: False if another transaction has it locked, or it is gone or
        does not meet the conditions.
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

    This is its heartbeat. Every lease is prolonged in a transaction of its
    own, so that none waits for another or fails with it. A locked request
    keeps its lease: another transaction is about to change it, and no worker
    can claim it meanwhile.

    :param deliveries: pairs of the UUID of a request and the token of its
        delivery.
    :param lease: seconds from now on.
    :returns: the pairs whose request is open and has this token, locked
        requests among them. The worker has lost the other requests.
    """
    row = models.RequestRow
    prolonged = set()
    passed_over = []
    for id_, (uuid, token) in _open_deliveries(deliveries).items():
        with transaction.writer() as session:
            is_locked_by_us = lock(
                session,
                id_,
                # SQLite may have given the id of a gone row to another one.
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
    # Others have locked these, or they have ended since they were read. Those
    # that are still open are not lost.
    return prolonged.union(_open_deliveries(passed_over).values())


def _open_deliveries(
    deliveries: Iterable[tuple[str, int]],
) -> dict[int, tuple[str, int]]:
    """Read which of these deliveries are the last one of an open request.

    :param deliveries: pairs of the UUID of a request and the token of its
        delivery.
    :returns: these pairs by the ``id`` of the request: ``{17: (UUID, 3)}``.
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
    """Take back requests from workers whose lease has run out.

    The requests have no worker then, and stay due.

    :param states: states of the requests to take back.
    :returns: the requests as they were before, but with a new token.
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

    Until the lease has run out, no other call returns them once more.

    :param states: states of the requests to lease.
    :returns: the requests as they were before, but with a new token.
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
    """Give requests whose lease has run out a new token and other values.

    The new token shuts out the delivery that has held the request until now.
    Locked requests are left for the next round.

    :param values: column values to change.
    :param conditions: conditions that the requests must meet as well.
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
        # The conditions are asked again, as the lease may have been prolonged
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
        another transaction has it locked, or it does not meet the conditions.
    """
    row = models.RequestRow
    with transaction.writer() as session:
        if not lock(session, id_, *conditions):
            return None
        request: typing.Any = session.get_one(row, id_)
        # Without this, the session would store the token once more that is set
        # on the object below, for the caller.
        session.expunge(request)
        _change(session, id_, token=row.token + 1, **values)
        request.token += 1
        return request


def list_held_requests(node_uuid: str) -> list[models.RequestRow]:
    """Read the requests of a node that a worker or the leader holds.

    The lock of the node must not be taken from its holder. A worker holds an
    open request until it is claimed anew or taken back, even after its lease.
    The leader holds an ended request while it settles the node, for its lease.
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
    """Read the names of the workers that process a request at the moment.

    They hold a lease that has not run out; idle workers are not known.
    """
    row = models.RequestRow
    query = sa.select(row.worker).distinct()
    query = query.where(
        db_request.OPEN, row.worker.is_not(None), row.due_at > clock.now()
    )
    return transaction.read(query)
