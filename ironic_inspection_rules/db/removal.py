# SPDX-License-Identifier: Apache-2.0

"""Removes rows without waiting for locked ones.

Rows are deleted one by one, by their primary key. If a DELETE names several
keys, MySQL may scan the whole table, especially a small one. It would then
wait for every locked row, even for rows that are not to be deleted.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import transaction

CHUNK = 500
"""Maximum number of rows that one transaction removes."""


@transaction.retried_on_lock_conflict
def remove_unlocked(
    table: Any, ids: Sequence[int], *conditions: sa.ColumnElement[bool]
) -> int:
    """Remove rows that nobody has locked, in a transaction of its own.

    :param table: a mapped class with the primary key ``id``.
    :param ids: the ids of at most :data:`CHUNK` rows.
    :param conditions: conditions that the rows must still meet, because SQLite
        reuses the ids of deleted rows.
    :returns: the number of removed rows.
    """
    if not ids:
        return 0
    with transaction.writer_without_gaps() as session:
        unlocked = (
            session.execute(
                sa.select(table.id)
                .where(table.id.in_(ids), *conditions)
                .with_for_update(skip_locked=True)
            )
            .scalars()
            .all()
        )
        remove_by_id(session, table, unlocked)
    return len(unlocked)


def remove_by_id(
    session: orm.Session | sa.Connection, table: Any, ids: Iterable[int]
) -> None:
    """Remove rows one by one, and wait for rows that are locked.

    A single DELETE could also wait for other rows, see the module docstring.

    :param session: the session of a transaction, or its connection.
    :param table: a mapped class with the primary key ``id``.
    """
    if isinstance(session, sa.Connection):
        connection = session
    else:
        # A session cannot execute a DELETE with many sets of parameters.
        connection = session.connection()
    parameters = [{'id_': id_} for id_ in ids]
    if parameters:
        connection.execute(
            sa.delete(table).where(table.id == sa.bindparam('id_')), parameters
        )


def remove_with_nodes(
    tables: Iterable[Any], node_uuids: Collection[str]
) -> None:
    """Remove all rows of nodes that were removed; skip locked rows.

    :param tables: mapped classes with ``id`` and ``node_uuid``.
    """
    for chunk in transaction.chunks(sorted(node_uuids), CHUNK):
        for table in tables:
            is_of_nodes = table.node_uuid.in_(chunk)
            ids = transaction.read(sa.select(table.id).where(is_of_nodes))
            for some_ids in transaction.chunks(ids, CHUNK):
                remove_unlocked(table, some_ids, is_of_nodes)
