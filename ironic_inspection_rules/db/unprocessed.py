# SPDX-License-Identifier: Apache-2.0

"""Reading and writing inspection data as they came."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction

CHUNK = 500
"""How many values a statement is given at most."""


def put(session: orm.Session, node_uuid: str,
        data: Mapping[str, Any] | None) -> Any:
    """Store data in the place of the node's last ones of the kind.

    :param data: ``inventory``, ``plugin_data`` and ``posted``; None to go by
        what the ramdisk posted last.
    :returns: the ``id`` of the data, None if there are none.
    """
    if data is None:
        last = _last(session, node_uuid)
        return None if last is None else last.id
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
def get_unprocessed(node_uuid: str) -> models.InspectionData | None:
    """Read what the ramdisk of a node posted last, if there is any."""
    with transaction.reader() as session:
        return _last(session, node_uuid)


@transaction.retried
def list_nodes(after: str, limit: int) -> list[str]:
    """Read the UUIDs of nodes that have requests or data, in order.

    :param after: the UUID before the first one, '' to begin.
    :param limit: how many to read at most.
    """
    # Each branch reads its index from where it begins, and no further.
    branches = [
        sa.select(sa.select(table.node_uuid).where(table.node_uuid > after)
                  .distinct().order_by(table.node_uuid).limit(limit)
                  .subquery())
        for table in (models.Request.__table__.c,
                      models.InspectionData.__table__.c)]
    with transaction.reader() as session:
        return list(session.execute(
            sa.union(*branches).order_by('node_uuid').limit(limit)).scalars())


def destroy_nodes(node_uuids: Collection[str]) -> None:
    """Remove all requests and data of nodes.

    What somebody has locked stays until the next time.
    """
    remaining = sorted(node_uuids)
    while remaining:
        chunk, remaining = remaining[:CHUNK], remaining[CHUNK:]
        for table in (models.Request, models.InspectionData):
            _destroy_of_nodes(table, chunk)


@transaction.retried
def _destroy_of_nodes(table: Any, node_uuids: Sequence[str]) -> None:
    with transaction.reader() as session:
        ids = list(session.execute(
            sa.select(table.id).where(table.node_uuid.in_(node_uuids))
        ).scalars())
    while ids:
        chunk, ids = ids[:CHUNK], ids[CHUNK:]
        destroy(table, chunk)


def destroy(table: Any, ids: Sequence[int]) -> int:
    """Remove rows that nobody has locked.

    :returns: how many there were.
    """
    if not ids:
        return 0
    with transaction.writer_without_gaps() as session:
        unlocked = list(session.execute(
            sa.select(table.id).where(table.id.in_(ids))
            .with_for_update(skip_locked=True)).scalars())
        if len(unlocked) < len(ids):
            # One by one: MySQL looks at all rows of a small table if it is
            # asked for several, and waits for each.
            for id_ in unlocked:
                session.execute(sa.delete(table).where(table.id == id_)
                                .execution_options(synchronize_session=False))
        elif unlocked:
            session.execute(sa.delete(table).where(table.id.in_(unlocked))
                            .execution_options(synchronize_session=False))
        return len(unlocked)


def _last(session: orm.Session,
          node_uuid: str) -> models.InspectionData | None:
    return session.execute(
        sa.select(models.InspectionData)
        .where(models.InspectionData.node_uuid == node_uuid,
               models.InspectionData.posted)
        .order_by(models.InspectionData.id.desc()).limit(1)).scalar_one_or_none()
