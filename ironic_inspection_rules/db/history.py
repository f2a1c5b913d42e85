# SPDX-License-Identifier: Apache-2.0

"""Stored inventories, and the places where parts have been."""

from collections.abc import Collection, Mapping, Sequence
import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import removal
from ironic_inspection_rules.db import transaction

_MOST_PER_TRANSACTION = 200
"""Maximum number of rows that one transaction removes."""

_ENOUGH = 500
"""Number of removed inventories after which the next call does the rest."""

_KEPT: Any = models.KeptInventoryRow.__table__
_STAYS: Any = models.PartStayRow.__table__
_LAST = (
    sa.select(_KEPT.c.created_at, _KEPT.c.content, _KEPT.c.parts)
    .where(_KEPT.c.node_uuid == sa.bindparam('node_uuid'))
    .order_by(_KEPT.c.id.desc())
    .limit(1)
)


def record(
    connection: sa.Connection,
    values: Mapping[str, Any],
    new_stays: Sequence[Mapping[str, Any]],
    end_times: Mapping[tuple[str, str], datetime.datetime],
) -> None:
    """Store the inventory of an inspection, and the parts that came or went.

    If the inspection is tried again, it has the same UUID, and the rows of its
    first attempt are kept.

    The caller has locked the node, so no other inspection of it interferes.

    :param values: column values of :class:`.models.KeptInventoryRow`.
    :param new_stays: column values of a :class:`.models.PartStayRow` for
        every part that has come into the machine.
    :param end_times: when every part that is gone was last reported, by its
        kind and identity: ``('dimm', 's3z8')``.
    """
    first_attempt = sa.select(_KEPT.c.id).where(_KEPT.c.uuid == values['uuid'])
    if connection.execute(first_attempt).first() is not None:
        return
    connection.execute(sa.insert(_KEPT), [values])
    if end_times:
        present_stays = sa.select(
            _STAYS.c.id, _STAYS.c.kind, _STAYS.c.identity
        )
        present_stays = present_stays.where(
            _STAYS.c.node_uuid == values['node_uuid'],
            _STAYS.c.ended_at.is_(None),
        )
        for stay in connection.execute(present_stays).all():
            ended_at = end_times.get((stay.kind, stay.identity))
            if ended_at is None:
                # The part is still there.
                continue
            # Update rows one by one by primary key. By node, MySQL would lock
            # the gap of an index into which other transactions insert rows.
            end_of_stay = sa.update(_STAYS).where(_STAYS.c.id == stay.id)
            connection.execute(end_of_stay.values(ended_at=ended_at))
    if new_stays:
        connection.execute(sa.insert(_STAYS), list(new_stays))


def list_inventories(
    node_uuid: str,
    limit: int | None = None,
    before: int | None = None,
    since: datetime.datetime | None = None,
    changed: bool = False,
    patches: bool = False,
) -> list[Any]:
    """Read the kept inventories of a node, newest first.

    :param limit: maximum number of inventories; None for all.
    :param before: an ``id``; only older inventories are read.
    :param since: a time in UTC; only inventories made since then are read.
    :param changed: whether to read only inventories whose parts differ from
        the previous inventory.
    :param patches: whether to also read the column ``patch``.
    """
    row: Any = models.KeptInventoryRow
    query = sa.select(row).where(row.node_uuid == node_uuid)
    if before is not None:
        query = query.where(row.id < before)
    if since is not None:
        query = query.where(row.created_at >= since)
    if changed:
        query = query.where(row.changed)
    if patches:
        query = query.options(orm.undefer(row.patch))
    return transaction.read(query.order_by(row.id.desc()).limit(limit))


@transaction.retried_on_lock_conflict
def read_last(node_uuid: str) -> tuple[Any, dict[str, content.Document]]:
    """Read the last inspection of a node, with the documents that it names.

    If the caller stores an inspection that names the same documents, it must
    do so within :data:`.content.FRESH` seconds.

    :returns: a row with ``created_at`` of the inspection and the digests of
        two documents, ``content`` and ``parts``; and the documents by digest.
        None and an empty mapping if no inspection is kept.
    """
    with transaction.writer_without_session() as connection:
        last = connection.execute(_LAST, {'node_uuid': node_uuid}).first()
        if last is None:
            return None, {}
        # The last inspection may expire before the caller has stored the next
        # one. Then no row names the documents, and only this mark keeps them.
        stored_digests = content.renew(connection, [last.content, last.parts])
        return last, content.get(connection, stored_digests)


def get_inventory(node_uuid: str, uuid: str) -> Any:
    """Read the kept data of one inspection of a node.

    :raises: KeptInventoryNotFound if the node has no such inspection.
    """
    row: Any = models.KeptInventoryRow
    # The model reads the large column "patch" only if it is asked for.
    query = sa.select(row).options(orm.undefer(row.patch))
    query = query.where(row.uuid == uuid, row.node_uuid == node_uuid)
    inventories = transaction.read(query)
    if not inventories:
        raise exceptions.KeptInventoryNotFound(uuid)
    return inventories[0]


def list_stays(identity: str, limit: int) -> list[dict[str, Any]]:
    """Read the nodes that a part has been in, the newest stay first.

    :param identity: the identity of the part, e.g. ``s3z8nb0k``.
    :param limit: maximum number of stays.
    :returns: rows of :class:`.models.PartStayRow`, as mappings.
    """
    query = sa.select(*_STAYS.c).where(_STAYS.c.identity == identity)
    query = query.order_by(_STAYS.c.began_at.desc(), _STAYS.c.id.desc())
    return transaction.read_rows(query.limit(limit))


def destroy(node_uuids: Collection[str]) -> None:
    """Remove the history of nodes, and the stays of their parts.

    Locked rows are kept.
    """
    removal.remove_with_nodes(
        [models.KeptInventoryRow, models.PartStayRow], node_uuids
    )


def expire(before: datetime.datetime) -> int:
    """Remove inspections and stays of parts that are too old.

    A stay is the time in which a part, e.g. a disk, was in one node. It is too
    old if it ended before the given time, or if it began before that time and
    no inspection of its node is left. Locked rows are kept.

    :returns: number of removed rows; the next call may remove more.
    """
    kept: Any = models.KeptInventoryRow
    stay: Any = models.PartStayRow
    count = 0
    while count < _ENOUGH:
        removed = _remove_some(kept, kept.created_at < before)
        count += removed
        if removed < _MOST_PER_TRANSACTION:
            # Nothing is left, or the rest is locked.
            break
    # A stay ends when an inspection does not find the part. In a node that is
    # no longer inspected, no stay ever ends.
    has_history = sa.exists().where(kept.node_uuid == stay.node_uuid)
    is_over = sa.or_(stay.ended_at < before, sa.not_(has_history))
    count += _remove_some(stay, stay.began_at < before, is_over)
    return count


def _remove_some(table: Any, *conditions: sa.ColumnElement[bool]) -> int:
    """Remove the oldest rows that meet conditions, in one transaction.

    :returns: how many were removed, at most :data:`_MOST_PER_TRANSACTION`.
    """
    query = sa.select(table.id).where(*conditions)
    # This locks nothing, so the conditions are checked again under the lock,
    # and rows that somebody else has locked are passed over.
    ids = transaction.read(
        query.order_by(table.id).limit(_MOST_PER_TRANSACTION)
    )
    return removal.remove_unlocked(table, ids, *conditions)
