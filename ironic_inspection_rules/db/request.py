# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Reading and writing inspection requests.

Whoever changes an open request names the token that it was delivered with;
the change happens only if that is still the present one.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import datetime
import random
import re
from typing import Any

from oslo_db import exception as db_exc
from oslo_utils import timeutils
import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.db import unprocessed

VERSION = '1.0'
"""That of the versioned object which can show the rows written here."""

_CANDIDATES = 8
"""How many requests somebody who asks for one looks at."""

_UNSTORABLE = re.compile('[\0\ud800-\udfff\U00010000-\U0010ffff]')
"""What the text columns of some databases refuse."""

_OPEN: sa.ColumnElement[bool] = models.Request.open_node_uuid.is_not(None)


@transaction.retried
def create_request(values: Mapping[str, Any],
                   data: Mapping[str, Any] | None) -> models.Request:
    """Store a request, due at once.

    :param values: column values; ``uuid``, ``node_uuid``, ``event`` and
        ``state`` are required.
    :param data: as for :func:`unprocessed.put`.
    :returns: the stored row.
    :raises: RequestPending if the node has an open request.
    """
    node_uuid = values['node_uuid']
    try:
        with transaction.writer() as session:
            row = models.Request(
                **values, version=VERSION, open_node_uuid=node_uuid,
                due_at=clock.now(),
                unprocessed_id=unprocessed.put(session, node_uuid, data))
            session.add(row)
            session.flush()
            session.refresh(row)
            return row
    except db_exc.DBDuplicateEntry as exc:
        raise exceptions.RequestPending(node_uuid) from exc


@transaction.retried
def renew_request(uuid: str, token: int, present_state: str,
                  values: Mapping[str, Any], data: Mapping[str, Any] | None
                  ) -> models.Request | None:
    """Give an open request other data; it is due at once, to anybody.

    :param present_state: the state that it has to be in.
    :param values: the column values to change.
    :param data: as for :func:`unprocessed.put`.
    :returns: the row, None if it is in another state or not delivered with
        the token any more.
    """
    with transaction.writer() as session:
        if not _change(session, uuid, token, {
                **values, 'worker': None, 'token': token + 1,
                'due_at': clock.now()}, present_state):
            return None
        row = session.execute(sa.select(models.Request).where(
            models.Request.uuid == uuid)).scalar_one()
        row.unprocessed_id = unprocessed.put(session, row.node_uuid, data)
        session.flush()
        return row


def claim_request(worker: str, lease: float
                  ) -> tuple[models.Request, models.Unprocessed | None] | None:
    """Give the request that is due longest to a worker.

    :param lease: seconds that it is given for.
    :returns: the request and its data, or None if none is due.
    """
    candidates = _due_requests()
    while candidates:
        uuid, token = candidates.pop(0)
        if change_request(uuid, token, {'worker': worker, 'token': token + 1},
                          due_in=lease):
            return _read_with_data(uuid)
        # Here those part company who asked at the same time.
        random.shuffle(candidates)
    return None


@transaction.retried
def _due_requests() -> list[tuple[str, int]]:
    with transaction.reader() as session:
        return [(uuid, token) for uuid, token in session.execute(
            sa.select(models.Request.uuid, models.Request.token)
            .where(models.Request.due_at <= clock.now(), _OPEN)
            .order_by(models.Request.due_at, models.Request.id)
            .limit(_CANDIDATES))]


@transaction.retried
def _read_with_data(uuid: str
                    ) -> tuple[models.Request, models.Unprocessed | None]:
    with transaction.reader() as session:
        row, data = session.execute(
            sa.select(models.Request, models.Unprocessed)
            .options(orm.undefer(models.Request.progress))
            .outerjoin(models.Unprocessed, models.Unprocessed.id
                       == models.Request.unprocessed_id)
            .where(models.Request.uuid == uuid)).one()
        return row, data


def change_request(uuid: str, token: int, values: Mapping[str, Any],
                   due_in: float | None = None,
                   present_state: str | None = None,
                   session: orm.Session | None = None) -> bool:
    """Change an open request.

    :param values: the column values to change.
    :param due_in: seconds from now to when the queue may act on it, None to
        leave that as it is.
    :param present_state: the state that it has to be in, None for any.
    :param session: a transaction to be part of, None for one of its own.
    :returns: whether it was, and was delivered with the token.
    """
    if due_in is not None:
        values = {**values, 'due_at': clock.now() + due_in}
    if values.get('last_error'):
        values = {**values, 'last_error': _UNSTORABLE.sub(
            '\N{REPLACEMENT CHARACTER}', values['last_error'])}
    if session is not None:
        return _change(session, uuid, token, values, present_state)
    return _change_alone(uuid, token, values, present_state)


@transaction.retried
def _change_alone(uuid: str, token: int, values: Mapping[str, Any],
                  present_state: str | None) -> bool:
    with transaction.writer() as session:
        return _change(session, uuid, token, values, present_state)


def finish_request(uuid: str, token: int, state: str, error: str | None,
                   present_state: str | None = None) -> bool:
    """End an open request.

    :param state: the state that it is in from now on.
    :param present_state: the state that it has to be in, None for any.
    :returns: whether it was, and was delivered with the token.
    """
    return change_request(uuid, token, {
        'state': state, 'last_error': error, 'open_node_uuid': None,
        'finished_at': timeutils.utcnow()}, present_state=present_state)


@transaction.retried
def prolong_requests(held: Iterable[tuple[str, int]],
                     lease: float) -> set[str]:
    """Prolong the leases of open requests.

    :param held: pairs of UUID and token.
    :param lease: seconds from now to their new end.
    :returns: the UUIDs of those that are delivered with the token.
    """
    condition = sa.and_(_OPEN, sa.tuple_(
        models.Request.uuid, models.Request.token).in_(list(held)))
    with transaction.writer() as session:
        session.execute(sa.update(models.Request).where(condition)
                        .values(due_at=clock.now() + lease)
                        .execution_options(synchronize_session=False))
        return set(session.execute(
            sa.select(models.Request.uuid).where(condition)).scalars())


@transaction.retried
def expire_leases() -> list[models.Request]:
    """Take back what workers hold beyond the end of their lease.

    An open request becomes free, a done one is not looked at again.

    :returns: those requests as they were.
    """
    with transaction.reader() as session:
        lapsed = session.execute(
            sa.select(models.Request)
            .where(models.Request.due_at <= clock.now(),
                   models.Request.worker.is_not(None))).scalars().all()
    return [row for row in lapsed if _expire(row)]


@transaction.retried
def _expire(row: models.Request) -> bool:
    if row.open_node_uuid is not None:
        return change_request(row.uuid, row.token,
                              {'worker': None, 'token': row.token + 1})
    with transaction.writer() as session:
        return _changed_one(session.execute(
            sa.update(models.Request)
            .where(models.Request.id == row.id,
                   models.Request.due_at.is_not(None))
            .values(due_at=None)
            .execution_options(synchronize_session=False)))


@transaction.retried
def is_leased(node_uuid: str, worker: str, besides: str | None) -> bool:
    """Whether a worker has a lease on a request of a node, done or not.

    :param besides: UUID of a request that does not count.
    """
    query = sa.select(models.Request.uuid).where(
        models.Request.node_uuid == node_uuid,
        models.Request.worker == worker,
        models.Request.due_at > clock.now())
    with transaction.reader() as session:
        return bool(set(session.execute(query).scalars()) - {besides})


@transaction.retried
def get_request_by_uuid(uuid: str) -> models.Request:
    """Read one request.

    :raises: RequestNotFound if there is no such request.
    """
    with transaction.reader() as session:
        row = session.execute(
            sa.select(models.Request).where(models.Request.uuid == uuid)
        ).scalar_one_or_none()
    if row is None:
        raise exceptions.RequestNotFound(uuid)
    return row


@transaction.retried
def get_open_request(node_uuid: str) -> models.Request | None:
    """Read the request of a node that is not done, if there is one."""
    with transaction.reader() as session:
        return session.execute(
            sa.select(models.Request)
            .where(models.Request.open_node_uuid == node_uuid)
        ).scalar_one_or_none()


@transaction.retried
def list_requests(filters: Mapping[str, Any], limit: int | None = None,
                  after: int | None = None) -> list[models.Request]:
    """Read requests in the order in which they were put.

    :param filters: column to the value it must have.
    :param limit: the most that are read.
    :param after: ``id`` of the request before the first one.
    """
    query = sa.select(models.Request).filter_by(**filters)
    if after is not None:
        query = query.where(models.Request.id > after)
    with transaction.reader() as session:
        return list(session.execute(
            query.order_by(models.Request.id).limit(limit)).scalars())


@transaction.retried
def destroy_done_requests(before: datetime.datetime) -> int:
    """Remove requests that were done before a point in time, in UTC.

    :returns: how many there were.
    """
    with transaction.writer() as session:
        return session.execute(
            sa.delete(models.Request)
            .where(models.Request.finished_at < before)
            .execution_options(synchronize_session=False)).rowcount


def _change(session: orm.Session, uuid: str, token: int,
            values: Mapping[str, Any],
            present_state: str | None = None) -> bool:
    statement = sa.update(models.Request).where(
        models.Request.uuid == uuid, models.Request.token == token, _OPEN)
    if present_state is not None:
        statement = statement.where(models.Request.state == present_state)
    return _changed_one(session.execute(
        statement.values(**values)
        .execution_options(synchronize_session=False)))


def _changed_one(result: Any) -> bool:
    return result.rowcount == 1
