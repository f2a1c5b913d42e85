# SPDX-License-Identifier: Apache-2.0

"""The inspection data of requests, before any hook or rule has changed them.

A request for an inspection names a row of ``ir_unprocessed`` with its data.
The data were *posted* by a ramdisk, or given for a single reapplication of the
rules. While the request is open, the row contains them in ``inventory`` and
``plugin_data``.

After the request has ended, data for a reapplication are removed. Posted data
are moved to the content store, where inspections of the same machine share
equal data. Then ``inventory`` and ``plugin_data`` of the row are empty, and
``content`` is the digest of a document that has both, see :mod:`.content`.
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
    """Read the data of a request, to compare them with data that come later.

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

    Posted data are moved. Data for a single reapplication are removed, because
    nobody reads them again. The leader of the workers calls this repeatedly.

    :param limit: maximum number of rows to move or to remove.
    :param after: look only at rows with a higher ``id``; 0 to start.
    :returns: ``after`` for the next call; 0 when all rows were looked at.
    """
    ended, next_after = _find_without_open_request(limit, after)
    ids_to_move = []
    ids_to_remove = []
    for row in ended:
        if row.posted:
            ids_to_move.append(row.id)
        else:
            ids_to_remove.append(row.id)
    # Since these rows were read, a new request of a node may have begun, and
    # SQLite may have reused the id of a deleted row. The deletion therefore
    # checks again that the node has no open request and that the row has no
    # posted data, and the move makes similar checks.
    removal.remove_unlocked(
        models.InspectionDataRow,
        ids_to_remove,
        _NO_OPEN_REQUEST,
        sa.not_(models.InspectionDataRow.posted),
    )
    for id_ in ids_to_move:
        _move_to_content(id_)
    return next_after


def _find_without_open_request(
    limit: int, after: int
) -> tuple[list[Any], int]:
    """Find rows whose node has no open request.

    At most :data:`_MOST_CHUNKS` chunks of rows are read. Reading stops when

    - enough rows were found: the next call continues after the last of them;
    - all rows were read: the next call starts again with the first row;
    - enough chunks were read: the next call continues after the last chunk.

    :param limit: maximum number of rows to return.
    :param after: look only at rows with a higher ``id``; 0 to start.
    :returns: rows with ``id``, ``posted`` and ``ended``, by rising ``id``; and
        ``after`` for the next call, 0 to start again.
    """
    ended: list[Any] = []
    for _chunk in range(_MOST_CHUNKS):
        rows = _list_not_yet_moved(after)
        ended += [row for row in rows if row.ended]
        if len(ended) >= limit:
            first_ended = ended[:limit]
            return first_ended, first_ended[-1].id
        if len(rows) < CHUNK:
            # All rows were read.
            return ended, 0
        after = rows[-1].id
    # Enough chunks were read.
    return ended, after


@transaction.retried_on_lock_conflict
def _list_not_yet_moved(after: int) -> Sequence[Any]:
    """List the rows whose data are not in the content store yet.

    :param after: read only rows with a higher ``id``.
    :returns: at most :data:`CHUNK` rows with ``id``, ``posted`` and ``ended``,
        by rising ``id``; ``ended`` is true if the node has no open request.
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
    """Move the posted data of a row to the content store.

    The row then has only the digest of the data. It is not changed if it is
    gone or locked, or if its node has a new open request, because the data of
    an open request must be in the row.

    :param id_: the ``id`` of the row.
    """
    table: Any = models.InspectionDataRow
    with transaction.reader() as session:
        row_as_read = session.get(table, id_)
    if row_as_read is None or row_as_read.content is not None:
        # The row is gone, or its data were moved already.
        return
    digest = content.store(
        {
            'inventory': row_as_read.inventory,
            'plugin_data': row_as_read.plugin_data,
        }
    )
    with transaction.writer_without_gaps() as session:
        locked_row = session.execute(
            sa.select(table)
            .where(table.id == id_, _NO_OPEN_REQUEST, table.posted)
            .with_for_update(skip_locked=True)
        ).scalar_one_or_none()
        if locked_row is None:
            # content.sweep() will remove the document, because no row names
            # it.
            return
        # Compare the data, because SQLite may have reused the id of a deleted
        # row.
        is_same_row = (
            locked_row.node_uuid == row_as_read.node_uuid
            and locked_row.inventory == row_as_read.inventory
            and locked_row.plugin_data == row_as_read.plugin_data
        )
        if is_same_row:
            locked_row.content = digest
            locked_row.inventory = {}
            locked_row.plugin_data = {}


def list_nodes(after: str, limit: int) -> list[str]:
    """List nodes with requests or data, see :func:`transaction.list_nodes`."""
    return transaction.list_nodes(_TABLES, after, limit)


def destroy_nodes(node_uuids: Collection[str]) -> None:
    """Remove all requests and data of nodes, except locked rows."""
    removal.remove_with_nodes(_TABLES, node_uuids)
