# SPDX-License-Identifier: Apache-2.0

"""Removes rows without waiting for rows that others have locked.

Two steps are needed. A SELECT with SKIP LOCKED first finds and locks the rows
that nobody else has locked. Then they are deleted one by one, by their primary
key: if a DELETE names several keys, MySQL may scan the whole table, especially
a small one. It would then wait for every locked row, even for rows that are
not to be deleted.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_inspection_rules.db import transaction

CHUNK = 500
"""Maximum number of rows that one transaction removes."""


@transaction.retried_on_lock_conflict
def remove_unlocked(
    table: Any, ids: Sequence[int], *conditions: sa.ColumnElement[bool]
) -> int:
    """Remove rows in one transaction; skip rows that others have locked.

    :param table: a mapped class with the primary key ``id``.
    :param ids: the ids of at most :data:`CHUNK` rows.
    :param conditions: conditions that the rows must still meet. An id alone is
        not enough, because SQLite reuses the ids of deleted rows.
    :returns: the number of removed rows.
    """
    if not ids:
        return 0
    with transaction.writer_without_gaps() as session:
        lock_rows = sa.select(table.id).where(table.id.in_(ids), *conditions)
        lock_rows = lock_rows.with_for_update(skip_locked=True)
        locked_ids = session.execute(lock_rows).scalars().all()
        remove_by_id(session.connection(), table, locked_ids)
    return len(locked_ids)


def remove_by_id(
    connection: sa.Connection, table: Any, ids: Iterable[int]
) -> None:
    """Remove rows one by one; wait for rows that others have locked.

    :param connection: the connection of an open transaction.
    :param table: a mapped class with the primary key ``id``.
    """
    parameters = [{'id_': id_} for id_ in ids]
    if parameters:
        # With several sets of parameters, this is a DELETE per row.
        delete_row = sa.delete(table).where(table.id == sa.bindparam('id_'))
        connection.execute(delete_row, parameters)


def remove_with_nodes(
    tables: Iterable[Any], node_uuids: Collection[str]
) -> None:
    """Remove all rows of some nodes; skip rows that others have locked.

    :param tables: mapped classes with the columns ``id`` and ``node_uuid``.
    :param node_uuids: UUIDs of nodes that were removed from Ironic.
    """
    for some_nodes in transaction.chunks(sorted(node_uuids), CHUNK):
        for table in tables:
            is_of_nodes = table.node_uuid.in_(some_nodes)
            ids = transaction.read(sa.select(table.id).where(is_of_nodes))
            for some_ids in transaction.chunks(ids, CHUNK):
                remove_unlocked(table, some_ids, is_of_nodes)
