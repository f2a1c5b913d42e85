# SPDX-License-Identifier: Apache-2.0

"""Leases: whom a request is given to, and until when.

The clock is that of the database. A lease that has run out is no longer
anybody's, but its delivery is the last one until the request is delivered anew
or taken back.

Nobody waits here for a row that somebody else has locked: a process that
stalls in the middle of a transaction holds up its own request only. A row is
locked by its primary key, else MySQL locks the gaps beside it as well.
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

_CANDIDATES = 8
"""How many requests somebody who asks for one looks at in one go."""

_MOST_DELAY = 30.0
"""Seconds that requests are put off for at most, see ``queue.delivery``."""

PRECEDENCE = 600.0
"""Seconds after a reapplication in which posted inventories go before it."""

_REAPPLY = 'reapply'
"""The event of reapplications, as ``queue.request`` has it."""

_LIMIT = 500
"""How many rows a round of the leader looks at."""

Claimed = tuple[models.Request, models.InspectionData | None]


class _Candidate(typing.NamedTuple):

    id: int
    token: int
    due_at: float
    looked_at: float


def read_clock() -> float:
    """Read the clock by which requests are due."""
    return float(transaction.read(sa.select(clock.now()))[0])


class Search:
    """Finds what is due of one kind, for one thread of workers.

    What others have to serve is passed over row by row, which takes seconds
    where a hundred thousand of them wait. So nobody looks at them twice in a
    lease: what was due before the first that was found is left out, but for
    what may have been on its way then.
    """

    def __init__(self, lease: float, states: Collection[str],
                 served: sa.ColumnElement[bool] | None) -> None:
        self._lease = lease
        self._states = states
        self._served = () if served is None else (served,)
        self._looked_until = 0.0
        self._look_again_at = -math.inf

    def claim(self, worker: str) -> Claimed | None:
        """Give the request that is due longest to a worker.

        :returns: the request as this delivery has it, and its data; None if
            none is due, or those that are were locked.
        """
        after: _Candidate | None = None
        while candidates := self._look(after):
            for candidate in candidates:
                if claimed := _claim(candidate, worker, self._lease):
                    return claimed
            # Claimed by others, or locked: whoever did that may have stalled.
            after = candidates[-1]
        return None

    def is_any_due(self) -> bool:
        """Check if a claim would find anything."""
        return bool(self._look())

    def _look(self, after: _Candidate | None = None) -> list[_Candidate]:
        if time.monotonic() >= self._look_again_at:
            self._looked_until = 0.0
            self._look_again_at = time.monotonic() + self._lease
        found: list[_Candidate] = _due_requests(
            self._lease, self._states, self._served, self._looked_until, after)
        if self._served and after is None:
            # What was due before the first of those is for others to serve.
            self._looked_until = (
                min(found[0].due_at, float(found[0].looked_at)) if found
                else read_clock()) - self._lease
        return found


def due(lease: float) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the condition of what is due; each part is a range of the index.

    No request is put off for long, so the clock was set back since one was
    that seems to be, or others go before it.
    """
    row = models.Request
    return (row.due_at <= clock.now(),
            row.due_at > clock.now() + 2 * max(lease, _MOST_DELAY))


def _deliverable(lease: float) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the condition of what may be delivered, likewise.

    A request that nobody holds is due later only if it was put off, by
    ``_MOST_DELAY`` at most. If not, others go before it until then, or the
    clock was set back since.

    A reapplication is due later by ``PRECEDENCE``, so that all others come
    first, and may be delivered all that time. One that was put off waits for
    the end of its delay before.
    """
    row = models.Request
    past, far_off = due(lease)
    is_tried = sa.or_(row.attempts != 0, row.lock_failures != 0)
    is_yielding = row.event == _REAPPLY
    is_put_off = sa.and_(
        is_tried, is_yielding, row.worker.is_(None),
        row.due_at > clock.now() + PRECEDENCE,
        row.due_at <= clock.now() + PRECEDENCE + _MOST_DELAY)
    return (past, sa.and_(far_off, sa.not_(is_put_off)), sa.and_(
        sa.not_(past), sa.not_(far_off), sa.not_(is_put_off),
        row.worker.is_(None),
        sa.or_(sa.not_(is_tried), is_yielding,
               row.due_at > clock.now() + _MOST_DELAY)))


def _due_requests(lease: float, states: Collection[str],
                  conditions: Collection[sa.ColumnElement[bool]],
                  since: float, after: _Candidate | None = None
                  ) -> list[_Candidate]:
    row: typing.Any = models.Request
    beyond = [] if after is None else [sa.or_(
        row.due_at > after.due_at,
        sa.and_(row.due_at == after.due_at, row.id > after.id))]
    if since:
        beyond.append(row.due_at > since)
    return [_Candidate(**found) for found in transaction.read_rows(limited(
        [row.id, row.token, row.due_at, clock.now().label('looked_at')],
        [sa.and_(row.state == state, when, db_request.OPEN, *conditions,
                 *beyond) for state in states for when in _deliverable(lease)],
        [row.due_at, row.id], _CANDIDATES
    ).order_by('due_at', 'id'))]


def limited(columns: list[typing.Any], branches: list[sa.ColumnElement[bool]],
            order: list[typing.Any], limit: int) -> typing.Any:
    """Return a query for the first rows of several ranges of an index."""
    return sa.union_all(*(
        sa.select(sa.select(*columns).where(branch).order_by(*order)
                  .limit(limit).subquery())
        for branch in branches)).limit(limit)


@transaction.retried
def _claim(candidate: _Candidate, worker: str, lease: float) -> Claimed | None:
    """Claim a request and read it, before anybody else can claim it.

    One transaction locks, changes and reads the row. Were it read after the
    commit, a worker that stalls in between would get the token of whoever
    claims the request after it, and both would pass the fence. The lock is
    asked for with SKIP LOCKED and by primary key: who stalls with it keeps
    nobody waiting, and MySQL locks no gap. SQLite has no row locks; there a
    transaction whose snapshot is old is refused when it writes.
    """
    row = models.Request
    with transaction.writer() as session:
        if not lock(session, candidate.id, row.token == candidate.token,
                    db_request.OPEN, sa.or_(*_deliverable(lease))):
            return None
        session.execute(
            sa.update(row).where(row.id == candidate.id)
            .values(worker=worker, token=candidate.token + 1,
                    due_at=clock.now() + lease)
            .execution_options(synchronize_session=False))
        found, data = session.execute(
            sa.select(row, models.InspectionData)
            .options(orm.undefer(row.checkpoints))
            .outerjoin(models.InspectionData,
                       models.InspectionData.id == row.unprocessed_id)
            .where(row.id == candidate.id)).one()
        return found, data


def lock(session: orm.Session, id_: int,
         *conditions: sa.ColumnElement[bool]) -> bool:
    """Lock a request, unless somebody else has locked it.

    :returns: whether it is locked now.
    """
    return session.execute(
        sa.select(models.Request.id)
        .where(models.Request.id == id_, *conditions)
        .with_for_update(skip_locked=True)).first() is not None


@transaction.retried
def prolong_requests(held: Iterable[tuple[str, int]],
                     lease: float) -> set[tuple[str, int]]:
    """Prolong the leases of open requests.

    Each in a transaction of its own: a heartbeat for many must not fail, or
    wait, for one of them. One that is locked keeps the lease that it has:
    somebody is about to change it, and nobody can take it meanwhile.

    :param held: pairs of UUID and token.
    :returns: those of the pairs that are last deliveries.
    """
    row = models.Request
    key = sa.tuple_(row.uuid, row.token)
    with transaction.writer() as session:
        rows: typing.Any = session.execute(
            sa.select(row.id, row.uuid, row.token)
            .where(db_request.OPEN, key.in_(list(held))))
        found: dict[int, tuple[str, int]] = {
            id_: (uuid, token) for id_, uuid, token in rows}
    for id_, (uuid, token) in found.items():
        with transaction.writer() as session:
            if lock(session, id_, row.uuid == uuid, row.token == token,
                    db_request.OPEN):
                session.execute(
                    sa.update(row).where(row.id == id_)
                    .values(due_at=clock.now() + lease)
                    .execution_options(synchronize_session=False))
    return set(found.values())


def expire_leases(lease: float, states: Iterable[str]) -> list[models.Request]:
    """Take back what workers held beyond the end of their lease.

    :returns: those requests as they were.
    """
    return _take_lapsed(lease, states, {'worker': None},
                        db_request.OPEN, models.Request.worker.is_not(None))


def claim_unsettled(lease: float, states: Iterable[str]
                    ) -> list[models.Request]:
    """Lease the ended requests whose nodes may not be in a final state.

    :returns: as they were, but for the token.
    """
    return _take_lapsed(lease, states, {'due_at': clock.now() + lease},
                        models.Request.open_node_uuid.is_(None))


def _take_lapsed(lease: float, states: Iterable[str],
                 values: Mapping[str, typing.Any],
                 *conditions: sa.ColumnElement[bool]) -> list[models.Request]:
    query = limited(
        [models.Request.id],
        [sa.and_(models.Request.state == state, when, *conditions)
         for state in states for when in due(lease)],
        [models.Request.due_at], _LIMIT)
    taken = [_take(id_, values, sa.or_(*due(lease)), *conditions)
             for id_ in transaction.read(query)]
    return [row for row in taken if row is not None]


@transaction.retried
def _take(id_: int, values: Mapping[str, typing.Any],
          *conditions: sa.ColumnElement[bool]) -> models.Request | None:
    row = models.Request
    with transaction.writer() as session:
        if not lock(session, id_, *conditions):
            return None
        taken: typing.Any = session.get_one(row, id_)
        session.expunge(taken)
        session.execute(sa.update(row).where(row.id == id_)
                        .values(token=row.token + 1, **values)
                        .execution_options(synchronize_session=False))
        taken.token += 1
        return taken


def list_held_requests(node_uuid: str) -> list[models.Request]:
    """Read the requests of a node that somebody holds.

    That is an open one until it is delivered anew, and done ones until
    their leases end.
    """
    return transaction.read(
        sa.select(models.Request)
        .where(models.Request.node_uuid == node_uuid, sa.or_(
            sa.and_(db_request.OPEN, models.Request.worker.is_not(None)),
            sa.and_(models.Request.open_node_uuid.is_(None),
                    models.Request.due_at > clock.now()))))


def list_workers() -> list[str]:
    """Read the names of the workers that hold a lease."""
    row = models.Request
    return transaction.read(
        sa.select(row.worker).distinct()
        .where(db_request.OPEN, row.worker.is_not(None),
               row.due_at > clock.now()))
