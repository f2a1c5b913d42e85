# SPDX-License-Identifier: Apache-2.0

"""Stored inspection requests: the queue of durable inspection.

A request is *open* until it has ended, i.e. finished or failed. A node has at
most one open request, so the column ``open_node_uuid`` is unique: it is the
UUID of the node while the request is open, and NULL afterwards.

A worker leases an open request. The column ``due_at`` is the time, in seconds
by the clock of the database, from which the request may be delivered to a
worker; during a lease it is the end of the lease. The ``token`` is a number
that grows with every delivery, and whenever the request is taken away from a
delivery. A worker changes the request only if the request still has the token
of its delivery.
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

OPEN: sa.ColumnElement[bool] = models.RequestRow.open_node_uuid.is_not(None)
"""Condition of a request that is not done."""


@transaction.retried_on_lock_conflict
def find_or_create_request(
    values: Mapping[str, Any],
    data: Mapping[str, Any] | None,
    stop_timeout: Callable[[orm.Session], datetime.datetime | None] | None,
    reason_to_end: Callable[
        [models.RequestRow, datetime.datetime | None], str | None
    ],
    state_of_ended: str,
    yields_for: float = 0.0,
) -> tuple[models.RequestRow, bool]:
    """Store a request of a node, unless the node's open request continues.

    All of this is one transaction. If the open request does not continue, it
    ends: a worker that processes it can no longer save anything.

    :param values: column values of the new request. Required are ``uuid``,
        ``node_uuid``, ``event``, ``state`` and ``version``.
    :param data: the ``inventory`` and the ``plugin_data`` to process, and
        ``posted``, whether a ramdisk posted them; None for no data.
    :param stop_timeout: called first. It stops the timeout of the inspection
        and returns when the inspection began, see
        :func:`.node_reservation.stop_timeout`. It may raise an error to refuse
        the request. None to store a request that is no step of an inspection.
    :param reason_to_end: called with the open request and the result of
        ``stop_timeout``; returns why that request ends; None if it continues.
    :param state_of_ended: the state of a request that the new one replaces.
    :param yields_for: seconds by which the request is due later: requests
        that are stored in this time without a delay are delivered before it.
    :returns: the open request of the node, and whether it is the new one.
    :raises: RequestPending if another process stores a request, or changes the
        open one that should end, meanwhile. The caller tries again.
    """
    node_uuid = values['node_uuid']
    try:
        with transaction.writer() as session:
            # When the inspection began, if this is its first request.
            began = None
            if stop_timeout is not None:
                began = stop_timeout(session)
            open_request = _find_open(session, node_uuid)
            if open_request is not None:
                reason = reason_to_end(open_request, began)
                if reason is None:
                    return open_request, False
                is_ended = _supersede(
                    session,
                    open_request.id,
                    state_of_ended,
                    reason,
                    present_state=open_request.state,
                )
                if not is_ended:
                    # Since it was read, it has ended, or a worker has begun to
                    # process it. The caller must decide again.
                    raise exceptions.RequestPending(node_uuid)
                # Only the first request of an inspection gets this time from
                # the node. A later one takes it from the earlier request.
                began = began or open_request.inspection_began_at
            row = models.RequestRow(
                **values,
                open_node_uuid=node_uuid,
                inspection_began_at=began,
                due_at=clock.now() + yields_for,
                unprocessed_id=_replace_data(session, node_uuid, data),
            )
            session.add(row)
            return row, True
    except db_exc.DBDuplicateEntry as exc:
        # Another process has stored a request since the query.
        raise exceptions.RequestPending(node_uuid) from exc


def _find_open(session: orm.Session, node_uuid: str) -> Any:
    """Read the open request of a node; None if the node has none."""
    return session.execute(
        sa.select(models.RequestRow).where(
            models.RequestRow.open_node_uuid == node_uuid
        )
    ).scalar_one_or_none()


def _replace_data(
    session: orm.Session, node_uuid: str, data: Mapping[str, Any] | None
) -> Any:
    """Store the data that a request will process, in place of older data.

    A node can have both data that its ramdisk posted and data of a
    reapplication. The new data replace only data of the same kind.

    :param data: the ``inventory``, the ``plugin_data``, and ``posted``,
        whether a ramdisk posted them; None if the request needs no data.
    :returns: the ``id`` of the stored data; None if the request needs none.
    """
    if data is None:
        return None
    # Delete the older row by its primary key. If it were deleted by the UUID
    # of the node, MySQL would also lock a part of the index where other
    # transactions insert the data of other nodes.
    query = sa.select(models.InspectionDataRow.id).where(
        models.InspectionDataRow.node_uuid == node_uuid,
        models.InspectionDataRow.posted == data['posted'],
    )
    for old_id in session.execute(query).scalars().all():
        session.execute(
            sa.delete(models.InspectionDataRow)
            .where(models.InspectionDataRow.id == old_id)
            .execution_options(synchronize_session=False)
        )
    row = models.InspectionDataRow(node_uuid=node_uuid, **data)
    session.add(row)
    # The database creates the id when the row is inserted.
    session.flush()
    return row.id


def _supersede(
    session: orm.Session,
    id_: Any,
    state: str,
    reason: str,
    present_state: str | None = None,
) -> bool:
    """End an open request, even if a worker processes it.

    The request gets a new token, so the database refuses further commits of
    this worker, which has the old token. If the request has already ended, it
    is not changed.

    :param id_: the ``id`` of the row of the request.
    :param state: the state that the request ends in.
    :param reason: stored as its last error.
    :param present_state: the state that the request must be in; None for any.
    :returns: whether this call has ended the request.
    """
    statement = (
        sa.update(models.RequestRow)
        .where(models.RequestRow.id == id_, OPEN)
        .values(
            state=state,
            last_error=reason,
            open_node_uuid=None,
            checkpoints={},
            due_at=None,
            finished_at=timeutils.utcnow(),
            token=models.RequestRow.token + 1,
        )
    )
    if present_state is not None:
        statement = statement.where(models.RequestRow.state == present_state)
    return session.connection().execute(statement).rowcount == 1


@transaction.retried_on_lock_conflict
def supersede_request(
    node_uuid: str, events: Collection[str], state: str, reason: str
) -> None:
    """End the open request of a node, if it has one of the given events.

    A worker that processes the request can no longer save anything. If the
    node has no open request, nothing is changed.

    :param events: the events of requests that end, e.g. ``continue``.
    :param state: the state that the request ends in.
    :param reason: stored as its last error.
    """
    with transaction.writer() as session:
        open_request = _find_open(session, node_uuid)
        if open_request is not None and open_request.event in events:
            _supersede(session, open_request.id, state, reason)


@transaction.retried_on_lock_conflict
def uncount_attempt(uuid: str, attempts: int) -> None:
    """Decrement the number of attempts of an open request.

    The last attempt failed only because the database was unavailable, so it
    must not count towards ``[inspection_queue]max_attempts``.

    :param attempts: the number of attempts before the failed one. If the
        stored number is not larger, the failed attempt was never counted, and
        nothing changes.
    """
    with transaction.writer() as session:
        session.execute(
            sa.update(models.RequestRow)
            .where(
                models.RequestRow.uuid == uuid,
                OPEN,
                models.RequestRow.attempts > attempts,
            )
            .values(attempts=models.RequestRow.attempts - 1)
            .execution_options(synchronize_session=False)
        )


@transaction.retried_on_lock_conflict
def renew_request(
    uuid: str,
    token: int,
    present_state: str,
    values: Mapping[str, Any],
    data: Mapping[str, Any] | None,
) -> models.RequestRow | None:
    """Replace the data of an open request, and make it due immediately.

    The queue calls this when a ramdisk posts data again, or a timeout is
    stored again, while the request of the node for the same event still waits.
    A request for another event is ended instead.

    The request also gets a new token. If a worker has already claimed the
    request with the token in ``token``, it can no longer save anything.

    :param token: the token that the request must have.
    :param present_state: the state that the request must be in.
    :param values: further column values to change.
    :param data: the ``inventory`` and the ``plugin_data`` to process, and
        ``posted``, whether a ramdisk posted them; None if the request needs
        no data.
    :returns: the changed row; None if the request has ended, is in another
        state, or has another token, and so was not changed.
    """
    new_values = {
        **values,
        'worker': None,
        'token': token + 1,
        'due_at': clock.now(),
    }
    with transaction.writer() as session:
        is_changed = change_request(
            uuid,
            token,
            new_values,
            present_state=present_state,
            session=session,
        )
        if not is_changed:
            return None
        row: Any = session.execute(
            sa.select(models.RequestRow).where(models.RequestRow.uuid == uuid)
        ).scalar_one()
        row.unprocessed_id = _replace_data(session, row.node_uuid, data)
        session.flush()
        return row


def change_request(
    uuid: str,
    token: int,
    values: Mapping[str, Any],
    due_in: float | None = None,
    present_state: str | None = None,
    session: orm.Session | None = None,
) -> bool:
    """Change an open request if it still has the given token.

    A delivery that was too slow, or from which the request was taken away, has
    an old token, and changes nothing.

    :param token: the token of the delivery that changes the request.
    :param values: the column values to change.
    :param due_in: seconds until the request is due; None for no change.
    :param present_state: the state that the request must be in; None for any.
    :param session: the session of an open transaction to use; None for a new
        transaction.
    :returns: whether the request was changed. It was not if it has ended, has
        another token, or is in another state.
    """
    changes = dict(values)
    if due_in is not None:
        changes['due_at'] = clock.now() + due_in
    statement = (
        sa.update(models.RequestRow)
        .where(
            models.RequestRow.uuid == uuid,
            models.RequestRow.token == token,
            OPEN,
        )
        .values(**changes)
    )
    if present_state is not None:
        statement = statement.where(models.RequestRow.state == present_state)
    if session is None:
        changed_rows = transaction.update(statement)
    else:
        changed_rows = session.connection().execute(statement).rowcount
    return changed_rows == 1


def finish_request(
    uuid: str,
    token: int,
    state: str,
    error: str | None,
    *,
    is_node_settled: bool,
    present_state: str | None = None,
    session: orm.Session | None = None,
) -> bool:
    """End an open request, and remove its checkpoints.

    :param token: the token of the delivery that ends the request.
    :param state: the state that the request ends in.
    :param error: why the request failed; None if it succeeded.
    :param present_state: the state that the request must be in; None for any.
    :param is_node_settled: whether the node is out of inspection and unlocked
        at the end of the transaction. If not, the queue takes care of the node
        later.
    :param session: the session of an open transaction to use; None for a new
        transaction.
    :returns: whether the request was ended. It was not if it had ended before,
        has another token, or is in another state.
    """
    values: dict[str, Any] = {
        'state': state,
        'last_error': error,
        'open_node_uuid': None,
        'checkpoints': {},
        'finished_at': timeutils.utcnow(),
    }
    if is_node_settled:
        # Otherwise the due time, which is the end of the lease, is kept: by
        # it, the queue finds the request again.
        values['due_at'] = None
    return change_request(
        uuid, token, values, present_state=present_state, session=session
    )


def settle_request(
    uuid: str, token: int, session: orm.Session | None = None
) -> None:
    """Record that nothing is left to do for the node of an ended request.

    The queue does not look at the request again, and may remove it.

    :param token: the token of the delivery that has taken care of the node. If
        the request has another token, nothing is recorded.
    :param session: the session of an open transaction to use; None for a new
        transaction.
    """
    statement = (
        sa.update(models.RequestRow)
        .where(
            models.RequestRow.uuid == uuid,
            models.RequestRow.token == token,
            models.RequestRow.open_node_uuid.is_(None),
        )
        .values(due_at=None)
    )
    if session is None:
        transaction.update(statement)
    else:
        session.connection().execute(statement)


def get_request_by_uuid(uuid: str) -> Any:
    """Read one request.

    :raises: RequestNotFound if there is no such request.
    """
    requests = transaction.read(
        sa.select(models.RequestRow).where(models.RequestRow.uuid == uuid)
    )
    if not requests:
        raise exceptions.RequestNotFound(uuid)
    return requests[0]


def list_requests(
    filters: Mapping[str, Any],
    limit: int | None = None,
    after: int | None = None,
) -> list[models.RequestRow]:
    """Read a page of requests in the order in which they were stored.

    :param filters: values that columns must have, e.g. ``{'state':
        'waiting'}``; empty for all requests.
    :param limit: maximum number of requests; None for all.
    :param after: ``id`` of the last request of the previous page.
    """
    query = sa.select(models.RequestRow).filter_by(**filters)
    if after is not None:
        query = query.where(models.RequestRow.id > after)
    return transaction.read(query.order_by(models.RequestRow.id).limit(limit))


def destroy_done_requests(before: datetime.datetime, limit: int) -> int:
    """Remove requests that ended before a point in time, the oldest first.

    A request is kept while its node may still be in inspection, or while
    another transaction has locked the request.

    :param before: the point in time, in UTC.
    :param limit: maximum number of requests to remove.
    :returns: the number of removed requests.
    """
    row = models.RequestRow
    # An ended request has a due time until its node is taken care of.
    is_removable = sa.and_(row.finished_at < before, row.due_at.is_(None))
    query = sa.select(row.id).where(is_removable).order_by(row.finished_at)
    removed = 0
    # Remove a limited number of requests per transaction.
    while removed < limit:
        most = min(removal.CHUNK, limit - removed)
        ids = transaction.read(query.limit(most))
        removed_now = removal.remove_unlocked(row, ids, is_removable)
        if removed_now == 0:
            # No requests are left, or all requests that were read are locked.
            # The next call tries the locked ones again.
            break
        removed += removed_now
    return removed
