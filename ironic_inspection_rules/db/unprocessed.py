# SPDX-License-Identifier: Apache-2.0

"""Reading and writing inspection data as they came.

Those of open requests are rows of their own, which a claim reads with the
request. After a request has ended, the data that the ramdisk posted are
stored by content, so that inspections of the same machine share it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction

CHUNK = 500
"""How many values a statement is given at most."""

_CHUNKS = 10
"""How many chunks a round of the leader looks at to find some to archive."""

_ENDED = sa.not_(sa.exists().where(
    models.Request.open_node_uuid == models.InspectionData.node_uuid))
"""Holds where the node of the data has no open request."""

_TABLES = (models.Request, models.InspectionData, models.ArchivedData)
"""Tables whose rows are removed with their node."""


def put(session: orm.Session, node_uuid: str,
        data: Mapping[str, Any] | None) -> Any:
    """Store data in the place of the node's last ones of their kind.

    :param data: ``inventory``, ``plugin_data`` and ``posted``; None if a
        request needs none.
    :returns: the ``id`` of the data, None if there are none.
    """
    if data is None:
        return None
    # By primary key, and only if there are any: deleting by node would lock
    # the gap in the index that data of other nodes are inserted into.
    old: Sequence[int] = session.execute(
        sa.select(models.InspectionData.id)
        .where(models.InspectionData.node_uuid == node_uuid,
               models.InspectionData.posted == data['posted'])).scalars().all()
    if old:
        session.execute(sa.delete(models.InspectionData).where(
            models.InspectionData.id.in_(old)))
    row = models.InspectionData(node_uuid=node_uuid, **data)
    session.add(row)
    session.flush()
    return row.id


@transaction.retried
def get_unprocessed(node_uuid: str) -> dict[str, Any] | None:
    """Read what the ramdisk of a node posted last.

    :returns: ``inventory`` and ``plugin_data``, None if there are none.
    """
    row, archived = models.InspectionData, models.ArchivedData
    with transaction.reader() as session:
        last = session.execute(
            sa.select(row).where(row.node_uuid == node_uuid, row.posted)
            .order_by(row.id.desc()).limit(1)).scalar_one_or_none()
        if last is not None:
            return {'inventory': last.inventory,
                    'plugin_data': last.plugin_data}
        digest = session.execute(
            sa.select(archived.content)
            .where(archived.node_uuid == node_uuid)
            .order_by(archived.id.desc()).limit(1)).scalar_one_or_none()
        if digest is None:
            return None
        return content.get(session.connection(), [digest]).get(digest)


def archive(limit: int, after: int = 0) -> int:
    """Store by content what ramdisks posted, where no request is open.

    Data of a single reapplication are removed, as nobody reads them again.

    :param limit: how many data to store at most.
    :param after: the ``id`` before the first one to look at, 0 to begin.
    :returns: the ``id`` to go on after, 0 when all were looked at.
    """
    ended: list[Any] = []
    for _chunk in range(_CHUNKS):
        looked_at = _look_at(after)
        ended += [row for row in looked_at if row.ended]
        after = looked_at[-1].id if len(looked_at) == CHUNK else 0
        if len(ended) >= limit:
            ended = ended[:limit]
            after = ended[-1].id
        if len(ended) == limit or not after:
            break
    destroy(models.InspectionData, [row.id for row in ended
                                    if not row.posted],
            _ENDED, sa.not_(models.InspectionData.posted))
    for row in ended:
        if row.posted:
            _archive(row.id)
    return after


@transaction.retried
def _look_at(after: int) -> Sequence[Any]:
    row: Any = models.InspectionData
    request: Any = models.Request
    data = (sa.select(row.id, row.node_uuid, row.posted)
            .where(row.id > after).order_by(row.id).limit(CHUNK).subquery())
    with transaction.reader() as session:
        return session.execute(
            sa.select(data.c.id, data.c.posted,
                      request.open_node_uuid.is_(None).label('ended'))
            .outerjoin_from(data, request,
                            request.open_node_uuid == data.c.node_uuid)
            .order_by(data.c.id)).all()


@transaction.retried
def _archive(id_: int) -> None:
    """Move a row, unless it is gone by now, or just about to be.

    SQLite reuses the id of a row that is gone, so the row is compared with
    what was read before it is removed.
    """
    row: Any = models.InspectionData
    kept: Any = models.ArchivedData
    with transaction.reader() as session:
        data = session.get(row, id_)
    if data is None:
        return
    digest = content.store({'inventory': data.inventory,
                            'plugin_data': data.plugin_data})
    with transaction.writer_without_gaps() as session:
        present = session.execute(
            sa.select(row).where(row.id == id_, _ENDED, row.posted)
            .with_for_update(skip_locked=True)).scalar_one_or_none()
        if present is None or any(
                getattr(present, name) != getattr(data, name)
                for name in ('node_uuid', 'inventory', 'plugin_data')):
            return
        # By primary key, as in put().
        for old in session.execute(sa.select(kept.id).where(
                kept.node_uuid == data.node_uuid)).scalars().all():
            session.execute(sa.delete(kept).where(kept.id == old))
        session.execute(sa.insert(kept).values(
            node_uuid=data.node_uuid, content=digest))
        session.execute(sa.delete(row).where(row.id == id_))


def list_nodes(after: str, limit: int) -> list[str]:
    """List nodes with requests or data, see :func:`transaction.list_nodes`."""
    return transaction.list_nodes(_TABLES, after, limit)


def destroy_nodes(node_uuids: Collection[str]) -> None:
    """Remove all requests and data of nodes; what is locked stays."""
    for chunk in transaction.chunks(sorted(node_uuids), CHUNK):
        for table in _TABLES:
            is_theirs: Any = table.node_uuid.in_(chunk)
            for ids in transaction.chunks(transaction.read(
                    sa.select(table.id).where(is_theirs)), CHUNK):
                destroy(table, ids, is_theirs)


@transaction.retried
def destroy(table: Any, ids: Sequence[int],
            *conditions: sa.ColumnElement[bool]) -> int:
    """Remove rows that nobody has locked.

    :param conditions: which must still hold: SQLite reuses the id of a row
        that is gone.
    :returns: how many were removed.
    """
    if not ids:
        return 0
    with transaction.writer_without_gaps() as session:
        unlocked = list(session.execute(
            sa.select(table.id).where(table.id.in_(ids), *conditions)
            .with_for_update(skip_locked=True)).scalars())
        # One by one where some are locked: for several, MySQL scans a small
        # table as a whole, and waits for each row that is.
        for part in transaction.chunks(
                unlocked, len(ids) if len(unlocked) == len(ids) else 1):
            session.execute(sa.delete(table).where(table.id.in_(part))
                            .execution_options(synchronize_session=False))
        return len(unlocked)
