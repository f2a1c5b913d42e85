# SPDX-License-Identifier: Apache-2.0

"""Removes rows without waiting for locked ones.

Rows are deleted one by one, by their primary key. For several keys MySQL may
scan the table as a whole, which it prefers for a small one, and then it waits
for each locked row that it meets, whatever row that is.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import transaction

CHUNK = 500
"""How many rows one transaction removes at most."""


@transaction.retried_on_lock_conflict
def remove_unlocked(
    table: Any, ids: Sequence[int], *conditions: sa.ColumnElement[bool]
) -> int:
    """Remove rows that nobody has locked, in a transaction of its own.

    :param table: a mapped class with the primary key ``id``.
    :param ids: of :data:`CHUNK` rows at most.
    :param conditions: conditions that the rows must still meet: SQLite reuses
        the id of a row that is gone.
    :returns: how many were removed.
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
    """Remove rows one by one, and wait for locked ones.

    One DELETE for all could wait for other rows as well, see the module.

    :param session: the session of a transaction, or its connection.
    :param table: a mapped class with the primary key ``id``.
    """
    if isinstance(session, sa.Connection):
        connection = session
    else:
        # A session takes no DELETE with many sets of parameters.
        connection = session.connection()
    parameters = [{'id_': id_} for id_ in ids]
    if parameters:
        connection.execute(
            sa.delete(table).where(table.id == sa.bindparam('id_')), parameters
        )


def remove_with_nodes(
    tables: Iterable[Any], node_uuids: Collection[str]
) -> None:
    """Remove all rows of nodes that are gone; what is locked stays.

    :param tables: mapped classes with ``id`` and ``node_uuid``.
    """
    for chunk in transaction.chunks(sorted(node_uuids), CHUNK):
        for table in tables:
            is_of_nodes = table.node_uuid.in_(chunk)
            ids = transaction.read(sa.select(table.id).where(is_of_nodes))
            for some_ids in transaction.chunks(ids, CHUNK):
                remove_unlocked(table, some_ids, is_of_nodes)
