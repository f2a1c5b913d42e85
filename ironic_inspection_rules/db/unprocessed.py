# SPDX-License-Identifier: Apache-2.0

"""Inspection data as they came, stored for requests of durable inspection.

A claim reads the row of an open request with its data in it. After a request
has ended, the data that the ramdisk posted are stored by content, so that
inspections of the same machine share them, and the row only names them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import removal
from ironic_inspection_rules.db import transaction

CHUNK = 500
"""How many rows a round of the leader looks at with one query."""

_CHUNKS = 10
"""How many chunks a round of the leader looks at to find rows to move."""

_ENDED = sa.not_(
    sa.exists().where(
        models.RequestRow.open_node_uuid == models.InspectionDataRow.node_uuid
    )
)
"""Holds where the node of the data has no open request."""

_TABLES = (models.RequestRow, models.InspectionDataRow)
"""Tables whose rows are removed with their node."""


def put(
    session: orm.Session, node_uuid: str, data: Mapping[str, Any] | None
) -> Any:
    """Replace the data of a node that an inspection request will process.

    Data that its ramdisk posted and those of a reapplication are kept beside
    one another: only the last ones of the same kind are removed.

    :param data: ``inventory``, ``plugin_data`` and ``posted``; None if a
        request needs none.
    :returns: the ``id`` of the data, None if there are none.
    """
    if data is None:
        return None
    # Read first, and deleted by primary key: in MySQL, deleting by node locks
    # the gap in the index that data of other nodes are inserted into.
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
    # The database makes the id when the row is inserted.
    session.flush()
    return row.id


def get(id_: int | None) -> dict[str, Any] | None:
    """Read the data of a request.

    :param id_: ``unprocessed_id`` of the request.
    :returns: ``inventory`` and ``plugin_data``, None if there are none.
    """
    # Of None, SQLAlchemy makes IS NULL, which is true of no row.
    return _read(models.InspectionDataRow.id == id_)


def get_unprocessed(node_uuid: str) -> dict[str, Any] | None:
    """Read what the ramdisk of a node posted last.

    :returns: ``inventory`` and ``plugin_data``, None if there are none.
    """
    row: Any = models.InspectionDataRow
    return _read(row.node_uuid == node_uuid, row.posted)


@transaction.retried_on_lock_conflict
def _read(*conditions: sa.ColumnElement[bool]) -> dict[str, Any] | None:
    """Read the newest data that meet the conditions, in the row or by content.

    :returns: ``inventory`` and ``plugin_data``, None if there are none.
    """
    row: Any = models.InspectionDataRow
    with transaction.reader() as session:
        last = session.execute(
            sa.select(row).where(*conditions).order_by(row.id.desc()).limit(1)
        ).scalar_one_or_none()
        if last is None:
            return None
        if last.content is not None:
            documents = content.get(session.connection(), [last.content])
            return documents.get(last.content)
        return {'inventory': last.inventory, 'plugin_data': last.plugin_data}


def store_by_content(limit: int, after: int = 0) -> int:
    """Move what ramdisks posted out of rows of nodes without open request.

    The data are stored by their content, which inspections of one machine
    share. Data of a single reapplication are removed: nobody reads them again.
    The leader of the workers does so in rounds.

    :param limit: how many data to store or to remove at most.
    :param after: the ``id`` before the first one to look at, 0 to begin.
    :returns: the ``id`` to go on after, 0 when all were looked at.
    """
    ended, last_id = _find_ended(limit, after)
    removal.remove_unlocked(
        models.InspectionDataRow,
        [row.id for row in ended if not row.posted],
        _ENDED,
        sa.not_(models.InspectionDataRow.posted),
    )
    for row in ended:
        if row.posted:
            _store_by_content(row.id)
    return last_id


def _find_ended(limit: int, after: int) -> tuple[list[Any], int]:
    """Find data of nodes without an open request, in a few chunks of rows.

    :param limit: how many rows to return at most.
    :param after: the ``id`` before the first row to look at, 0 to begin.
    :returns: rows with ``id``, ``posted`` and ``ended``, by rising ``id``; and
        the ``id`` to go on after, 0 when all were looked at.
    """
    ended: list[Any] = []
    for _chunk in range(_CHUNKS):
        rows = _list_in_place(after)
        ended += [row for row in rows if row.ended]
        if len(ended) >= limit:
            ended = ended[:limit]
            return ended, ended[-1].id
        if len(rows) < CHUNK:
            # There are no more.
            return ended, 0
        after = rows[-1].id
    return ended, after


@transaction.retried_on_lock_conflict
def _list_in_place(after: int) -> Sequence[Any]:
    """Read which rows still have their data, and whether they are needed.

    :param after: the ``id`` before the first one; at most :data:`CHUNK` rows
        after it are read.
    :returns: rows with ``id``, ``posted`` and ``ended``, by rising ``id``.
    """
    row: Any = models.InspectionDataRow
    request: Any = models.RequestRow
    # A subquery has the limit: no more rows than these are to be joined.
    data = (
        sa.select(row.id, row.node_uuid, row.posted)
        .where(row.content.is_(None), row.id > after)
        .order_by(row.id)
        .limit(CHUNK)
        .subquery()
    )
    # An outer join: of data whose node has no open request, the column is
    # null, and the request has ended.
    has_ended = request.open_node_uuid.is_(None).label('ended')
    query = sa.select(data.c.id, data.c.posted, has_ended)
    query = query.outerjoin_from(
        data, request, request.open_node_uuid == data.c.node_uuid
    )
    with transaction.reader() as session:
        return session.execute(query.order_by(data.c.id)).all()


@transaction.retried_on_lock_conflict
def _store_by_content(id_: int) -> None:
    """Move the data of a row to where they are stored by their content.

    A row that is gone, locked or needed by now is left as it is: a new request
    of its node needs the data in the row, see the module.
    SQLite reuses the id of a row that is gone, so the row is compared with
    what was read before its data are removed.
    """
    row: Any = models.InspectionDataRow
    with transaction.reader() as session:
        data = session.get(row, id_)
    if data is None or data.content is not None:
        return
    digest = content.store(
        {'inventory': data.inventory, 'plugin_data': data.plugin_data}
    )
    with transaction.writer_without_gaps() as session:
        present = session.execute(
            sa.select(row)
            .where(row.id == id_, _ENDED, row.posted)
            .with_for_update(skip_locked=True)
        ).scalar_one_or_none()
        if present is None or not _is_same(present, data):
            # The document that no row names is swept some time later.
            return
        present.content = digest
        present.inventory = {}
        present.plugin_data = {}


def _is_same(present: Any, data: Any) -> bool:
    """Return whether a row has the node and the data that it had before."""
    return (
        present.node_uuid == data.node_uuid
        and present.inventory == data.inventory
        and present.plugin_data == data.plugin_data
    )


def list_nodes(after: str, limit: int) -> list[str]:
    """List nodes with requests or data, see :func:`transaction.list_nodes`."""
    return transaction.list_nodes(_TABLES, after, limit)


def destroy_nodes(node_uuids: Collection[str]) -> None:
    """Remove all requests and data of nodes; what is locked stays."""
    removal.remove_with_nodes(_TABLES, node_uuids)
