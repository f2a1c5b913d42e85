# SPDX-License-Identifier: Apache-2.0

"""Inspection data for requests to process, in rows of their own.

The data were posted by a ramdisk, or given for a single reapplication. The row
of an open request's data contains them, and a claim reads it with the request.
After a request has ended, data that a ramdisk posted are stored by content, so
that inspections of the same machine share them, and the row only names them.
"""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import removal
from ironic_inspection_rules.db import transaction

CHUNK = 500
"""Number of rows that a round of the leader looks at with one query."""

_MOST_CHUNKS = 10
"""Maximum number of chunks that a round looks at to find rows to move."""

_NO_OPEN_REQUEST = sa.not_(
    sa.exists().where(
        models.RequestRow.open_node_uuid == models.InspectionDataRow.node_uuid
    )
)
"""Condition of data whose node has no open request."""

_TABLES = (models.RequestRow, models.InspectionDataRow)
"""Tables whose rows are removed together with their node."""


def get(id_: int | None) -> dict[str, Any] | None:
    """Read the data of a request.

    :param id_: ``unprocessed_id`` of the request.
    :returns: ``inventory`` and ``plugin_data``; None if there are none.
    """
    # For None, the condition becomes "id IS NULL", which matches no row.
    return _read_newest(models.InspectionDataRow.id == id_)


def get_unprocessed(node_uuid: str) -> dict[str, Any] | None:
    """Read the data that the ramdisk of a node posted last.

    :returns: ``inventory`` and ``plugin_data``; None if there are none.
    """
    table: Any = models.InspectionDataRow
    return _read_newest(table.node_uuid == node_uuid, table.posted)


@transaction.retried_on_lock_conflict
def _read_newest(*conditions: sa.ColumnElement[bool]) -> dict[str, Any] | None:
    """Read the newest data that meet the conditions.

    :returns: ``inventory`` and ``plugin_data``; None if there are none.
    """
    table: Any = models.InspectionDataRow
    query = sa.select(table).where(*conditions)
    query = query.order_by(table.id.desc()).limit(1)
    with transaction.reader() as session:
        newest = session.execute(query).scalar_one_or_none()
        if newest is None:
            return None
        digest = newest.content
        if digest is not None:
            # The data were moved from this row to the content store.
            documents = content.get(session.connection(), [digest])
            return documents.get(digest)
        return {
            'inventory': newest.inventory,
            'plugin_data': newest.plugin_data,
        }


def store_by_content(limit: int, after: int = 0) -> int:
    """Move the data of ended requests to the content store, or remove them.

    A row has the data of one request. Data that a ramdisk posted are moved to
    the content store, where inspections of one machine share equal data. Data
    that were given for a single reapplication are removed, because nobody
    reads them again. The leader of the workers calls this in rounds.

    :param limit: maximum number of rows to move or to remove.
    :param after: the ``id`` before the first row to look at; 0 to start.
    :returns: the ``after`` of the next call; 0 when all rows were looked at.
    """
    ended, last_id = _find_without_open_request(limit, after)
    posted_ids = []
    reapplied_ids = []
    for row in ended:
        if row.posted:
            posted_ids.append(row.id)
        else:
            reapplied_ids.append(row.id)
    # Since these rows were read, a new request of a node may have begun, and
    # SQLite may have reused the id of a deleted row. The deletion therefore
    # checks again that the node has no open request and that the row has no
    # posted data, and the move makes similar checks.
    removal.remove_unlocked(
        models.InspectionDataRow,
        reapplied_ids,
        _NO_OPEN_REQUEST,
        sa.not_(models.InspectionDataRow.posted),
    )
    for id_ in posted_ids:
        _move_to_content(id_)
    return last_id


def _find_without_open_request(
    limit: int, after: int
) -> tuple[list[Any], int]:
    """Find the rows of nodes without an open request, in a few chunks.

    :param limit: maximum number of rows to return.
    :param after: the last ``id`` of the previous call; 0 to start.
    :returns: rows with ``id``, ``posted`` and ``ended``, by rising ``id``; and
        the ``after`` of the next call, 0 when all rows were read.
    """
    ended: list[Any] = []
    for _chunk in range(_MOST_CHUNKS):
        rows = _list_not_yet_moved(after)
        ended += [row for row in rows if row.ended]
        if len(ended) >= limit:
            # The next call continues after the last row that is returned here.
            first_ended = ended[:limit]
            return first_ended, first_ended[-1].id
        if len(rows) < CHUNK:
            # All rows were read.
            return ended, 0
        after = rows[-1].id
    return ended, after


@transaction.retried_on_lock_conflict
def _list_not_yet_moved(after: int) -> Sequence[Any]:
    """List the rows whose data are not in the content store yet.

    :param after: the ``id`` before the first row; at most :data:`CHUNK` rows
        after it are read.
    :returns: rows with ``id``, ``posted`` and ``ended``, by rising ``id``;
        ``ended`` is true if the node has no open request.
    """
    table: Any = models.InspectionDataRow
    requests: Any = models.RequestRow
    # The column "content" is null until the data of a row are moved. The limit
    # is in a subquery, so that only this number of rows is joined with
    # requests.
    rows = (
        sa.select(table.id, table.node_uuid, table.posted)
        .where(table.content.is_(None), table.id > after)
        .order_by(table.id)
        .limit(CHUNK)
        .subquery()
    )
    # The outer join yields null for a node without an open request.
    has_ended = requests.open_node_uuid.is_(None).label('ended')
    query = sa.select(rows.c.id, rows.c.posted, has_ended)
    query = query.outerjoin_from(
        rows, requests, requests.open_node_uuid == rows.c.node_uuid
    )
    with transaction.reader() as session:
        return session.execute(query.order_by(rows.c.id)).all()


@transaction.retried_on_lock_conflict
def _move_to_content(id_: int) -> None:
    """Move the data of a row to the content store.

    The row is not changed if it is gone or locked, or if a new request of its
    node needs the data in the row, see the module.
    """
    table: Any = models.InspectionDataRow
    with transaction.reader() as session:
        before = session.get(table, id_)
    if before is None or before.content is not None:
        return
    digest = content.store(
        {'inventory': before.inventory, 'plugin_data': before.plugin_data}
    )
    with transaction.writer_without_gaps() as session:
        now = session.execute(
            sa.select(table)
            .where(table.id == id_, _NO_OPEN_REQUEST, table.posted)
            .with_for_update(skip_locked=True)
        ).scalar_one_or_none()
        if now is None:
            # The next sweep() removes the document, because no row names it.
            return
        # Compare the data, because SQLite may have reused the id of a deleted
        # row.
        is_same_row = (
            now.node_uuid == before.node_uuid
            and now.inventory == before.inventory
            and now.plugin_data == before.plugin_data
        )
        if is_same_row:
            now.content = digest
            now.inventory = {}
            now.plugin_data = {}


def list_nodes(after: str, limit: int) -> list[str]:
    """List nodes with requests or data, see :func:`transaction.list_nodes`."""
    return transaction.list_nodes(_TABLES, after, limit)


def destroy_nodes(node_uuids: Collection[str]) -> None:
    """Remove all requests and data of nodes, except locked rows."""
    removal.remove_with_nodes(_TABLES, node_uuids)
