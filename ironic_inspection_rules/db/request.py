# SPDX-License-Identifier: Apache-2.0

"""Reading and writing inspection requests.

Whoever changes an open request names the token of a delivery; the change
happens only if that is still the last one.
"""

from collections.abc import Callable, Collection, Mapping
import datetime
from typing import Any

from oslo_db import exception as db_exc
from oslo_utils import timeutils
import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import removal
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.db import unprocessed

OPEN: sa.ColumnElement[bool] = models.Request.open_node_uuid.is_not(None)
"""Holds for a request that is not done."""


@transaction.retried
def find_or_create_request(
        values: Mapping[str, Any], data: Mapping[str, Any] | None,
        accept: Callable[[orm.Session], datetime.datetime | None],
        why_over: Callable[[models.Request, datetime.datetime | None],
                           str | None], over: str, precedence: float = 0.0
) -> tuple[models.Request, bool]:
    """Store a request of a node that has no open one; it may be delivered.

    :param values: column values; ``uuid``, ``node_uuid``, ``event``,
        ``state``, and ``version``, that of the versioned object which can
        show the row, are required.
    :param data: as for :func:`unprocessed.put`.
    :param accept: called within the transaction; returns when the node's
        inspection began, if this is the first of it that is accepted.
    :param why_over: called with the open request that there is, and what
        ``accept`` returned; returns why that one ends, None if it does not.
    :param precedence: seconds in which later requests of others, without a
        precedence, are delivered before it.
    :returns: the open request of the node, and whether it is the new one.
    :raises: RequestPending if somebody else stores one meanwhile.
    """
    node_uuid = values['node_uuid']
    try:
        with transaction.writer() as session:
            began = accept(session)
            # Any: SQLAlchemy 2.0 tells mypy that attributes are columns.
            present: Any = _open_request(session, node_uuid)
            if present is not None:
                reason = why_over(present, began)
                if reason is None:
                    return present, False
                _supersede(session, present.id, over, reason)
                began = began or present.inspection_began_at
            row = models.Request(
                **values, open_node_uuid=node_uuid,
                inspection_began_at=began, due_at=clock.now() + precedence,
                unprocessed_id=unprocessed.put(session, node_uuid, data))
            session.add(row)
            return row, True
    except db_exc.DBDuplicateEntry as exc:
        raise exceptions.RequestPending(node_uuid) from exc


def _supersede(session: orm.Session, id_: Any, state: str,
               reason: str) -> None:
    """End a request; whoever processes it commits nothing any more."""
    session.execute(
        sa.update(models.Request).where(models.Request.id == id_)
        .values(state=state, last_error=reason, open_node_uuid=None,
                checkpoints={}, due_at=None, finished_at=timeutils.utcnow(),
                token=models.Request.token + 1)
        .execution_options(synchronize_session=False))


@transaction.retried
def supersede_request(node_uuid: str, events: Collection[str], state: str,
                      reason: str) -> None:
    """End the open request of a node, if it is for one of some events."""
    with transaction.writer() as session:
        present = _open_request(session, node_uuid)
        if present is not None and present.event in events:
            _supersede(session, present.id, state, reason)


@transaction.retried
def uncount_attempt(uuid: str, attempts: int) -> None:
    """Count an attempt less of an open request.

    :param attempts: how many there were before; none of them is taken away.
    """
    with transaction.writer() as session:
        session.execute(
            sa.update(models.Request)
            .where(models.Request.uuid == uuid, OPEN,
                   models.Request.attempts > attempts)
            .values(attempts=models.Request.attempts - 1)
            .execution_options(synchronize_session=False))


@transaction.retried
def renew_request(uuid: str, token: int, present_state: str,
                  values: Mapping[str, Any], data: Mapping[str, Any] | None
                  ) -> models.Request | None:
    """Give an open request other data; it is due at once, to anybody.

    :param data: as for :func:`unprocessed.put`.
    :returns: the row, None if it is in another state or delivered anew.
    """
    with transaction.writer() as session:
        if not change(session, uuid, token, {
                **values, 'worker': None, 'token': token + 1,
                'due_at': clock.now()},
                models.Request.state == present_state):
            return None
        row: Any = session.execute(sa.select(models.Request).where(
            models.Request.uuid == uuid)).scalar_one()
        row.unprocessed_id = unprocessed.put(session, row.node_uuid, data)
        session.flush()
        return row


def change_request(uuid: str, token: int, values: Mapping[str, Any],
                   due_in: float | None = None,
                   present_state: str | None = None,
                   session: orm.Session | None = None) -> bool:
    """Change an open request.

    :param due_in: seconds from now to when the queue may act on it, None to
        leave that as it is.
    :param session: a transaction to be part of, None for one of its own.
    :returns: whether it was, and the delivery is the last one.
    """
    if due_in is not None:
        values = {**values, 'due_at': clock.now() + due_in}
    conditions = [] if present_state is None else [
        models.Request.state == present_state]
    return transaction.within(session, lambda connection: change(
        connection, uuid, token, values, *conditions))


def finish_request(uuid: str, token: int, state: str, error: str | None,
                   present_state: str | None = None,
                   session: orm.Session | None = None) -> bool:
    """End an open request, and forget what its attempts have done.

    :param session: a transaction to be part of, which leaves the node in a
        final state and unlocked. None for one of its own: the node is seen
        to later.
    :returns: whether it was, and the delivery is the last one.
    """
    return change_request(uuid, token, {
        'state': state, 'last_error': error, 'open_node_uuid': None,
        'checkpoints': {}, 'finished_at': timeutils.utcnow(),
        **({} if session is None else {'due_at': None})},
        present_state=present_state, session=session)


def settle_request(uuid: str, token: int,
                   session: orm.Session | None = None) -> None:
    """Note that the node of an ended request is in a final state.

    :param token: that of the delivery that has seen to it.
    :param session: a transaction to be part of, None for one of its own.
    """
    transaction.within(session, lambda connection: connection.execute(
        sa.update(models.Request)
        .where(models.Request.uuid == uuid, models.Request.token == token,
               models.Request.open_node_uuid.is_(None))
        .values(due_at=None)))


def get_request_by_uuid(uuid: str) -> Any:
    """Read one request.

    :raises: RequestNotFound if there is no such request.
    """
    for row in transaction.read(
            sa.select(models.Request).where(models.Request.uuid == uuid)):
        return row
    raise exceptions.RequestNotFound(uuid)


@transaction.retried
def get_open_request(node_uuid: str) -> models.Request | None:
    """Read the request of a node that is not done, if there is one."""
    with transaction.reader() as session:
        return _open_request(session, node_uuid)


def list_requests(filters: Mapping[str, Any], limit: int | None = None,
                  after: int | None = None) -> list[models.Request]:
    """Read requests in the order in which they were put.

    :param filters: column to the value it must have.
    :param after: ``id`` of the request before the first one.
    """
    query = sa.select(models.Request).filter_by(**filters)
    if after is not None:
        query = query.where(models.Request.id > after)
    return transaction.read(query.order_by(models.Request.id).limit(limit))


def destroy_done_requests(before: datetime.datetime, limit: int) -> int:
    """Remove requests that were done before a point in time, in UTC.

    Those whose nodes are still to be seen to stay.
    """
    row, destroyed = models.Request, 0
    condition = sa.and_(row.finished_at < before, row.due_at.is_(None))
    query = sa.select(row.id).where(condition).order_by(row.finished_at)
    while destroyed < limit:
        ids = transaction.read(
            query.limit(min(removal.CHUNK, limit - destroyed)))
        count = removal.remove_unlocked(row, ids, condition)
        if not count:
            break
        destroyed += count
    return destroyed


def change(session: orm.Session | sa.Connection, uuid: str, token: int,
           values: Mapping[str, Any],
           *conditions: sa.ColumnElement[bool]) -> bool:
    """Change an open request, within a transaction.

    :returns: whether it was, and the delivery is the last one.
    """
    return changed_one(session.execute(
        sa.update(models.Request)
        .where(models.Request.uuid == uuid, models.Request.token == token,
               OPEN, *conditions)
        .values(**values)
        .execution_options(synchronize_session=False)))


def _open_request(session: orm.Session,
                  node_uuid: str) -> models.Request | None:
    return session.execute(
        sa.select(models.Request)
        .where(models.Request.open_node_uuid == node_uuid)
    ).scalar_one_or_none()


def changed_one(result: Any) -> bool:
    """Check if a statement has changed a row."""
    return result.rowcount == 1
