# SPDX-License-Identifier: Apache-2.0

"""The history of nodes: their inspections, and which parts they contained.

``ir_inventories`` has a row per inspection of a node. It names two documents
of the content store, see :mod:`.content`: the data of the inspection, and the
list of the parts of the machine, e.g. its disks and memory modules.

``ir_parts`` has a row per *stay*, the time in which a part was in one node::

    {'kind': 'dimm', 'identity': 's3z8', 'node_uuid': '…',
     'began_at': 2026-01-01, 'ended_at': None}

``ended_at`` is None while the part is there.
"""

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
_SELECT_LAST = (
    sa.select(_KEPT.c.created_at, _KEPT.c.content, _KEPT.c.parts)
    .where(_KEPT.c.node_uuid == sa.bindparam('node_uuid'))
    .order_by(_KEPT.c.id.desc())
    .limit(1)
)
"""The query for the last inspection of a node."""


def record(
    connection: sa.Connection,
    values: Mapping[str, Any],
    new_stays: Sequence[Mapping[str, Any]],
    end_times: Mapping[tuple[str, str], datetime.datetime],
) -> None:
    """Store an inspection, end the stays of gone parts, and begin new stays.

    If an inspection is tried again, it has the same UUID. The rows of its
    first attempt are then kept, and nothing is stored.

    The caller has locked the node, so no other inspection of it interferes.

    :param values: column values of :class:`.models.KeptInventoryRow`.
    :param new_stays: column values of a :class:`.models.PartStayRow` for
        every part that is new in the machine.
    :param end_times: the end of the stay of every part that is gone, by its
        kind and identity: ``{('dimm', 's3z8'): 2026-01-01}``. The stay ends
        when the part was last reported.
    """
    first_attempt = sa.select(_KEPT.c.id).where(_KEPT.c.uuid == values['uuid'])
    if connection.execute(first_attempt).first() is not None:
        return
    connection.execute(sa.insert(_KEPT), [values])
    if end_times:
        open_stays = sa.select(_STAYS.c.id, _STAYS.c.kind, _STAYS.c.identity)
        open_stays = open_stays.where(
            _STAYS.c.node_uuid == values['node_uuid'],
            _STAYS.c.ended_at.is_(None),
        )
        for stay in connection.execute(open_stays).all():
            ended_at = end_times.get((stay.kind, stay.identity))
            if ended_at is None:
                # The part is still there.
                continue
            # Update rows one by one by primary key. By node, MySQL would lock
            # the gap of an index into which other transactions insert rows.
            end_stay = sa.update(_STAYS).where(_STAYS.c.id == stay.id)
            connection.execute(end_stay.values(ended_at=ended_at))
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
    """Read the stored inspections of a node, newest first.

    :param limit: maximum number of inspections; None for all.
    :param before: if given, read only inspections with a lower ``id``.
    :param since: if given, read only inspections since this time, in UTC.
    :param changed: whether to read only inspections whose parts differ from
        the previous inspection.
    :param patches: whether to read the column ``patch`` as well.
    :returns: a list of :class:`.models.KeptInventoryRow`.
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
    """Read the last inspection of a node, and the documents that it names.

    The documents are also marked as used. The caller may therefore store a new
    inspection that names them, within :data:`.content.FRESH` seconds.

    :returns: a row with ``created_at`` of the inspection and the digests of
        two documents, ``content`` and ``parts``; and the documents by digest.
        None and an empty mapping if no inspection is stored.
    """
    with transaction.writer_without_session() as connection:
        parameters = {'node_uuid': node_uuid}
        last = connection.execute(_SELECT_LAST, parameters).first()
        if last is None:
            return None, {}
        # The last inspection may expire before the caller has stored the next
        # one. Then no row names the documents, and only this mark keeps them.
        stored_digests = content.renew(connection, [last.content, last.parts])
        documents = content.get(connection, stored_digests)
        return last, documents


def get_inventory(node_uuid: str, uuid: str) -> Any:
    """Read one stored inspection of a node, as a KeptInventoryRow.

    :param uuid: the UUID of the inspection.
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

    An inspection is too old if it was made before the given time. A stay is
    too old if it ended before that time, or if it began before that time and
    no inspection of its node is left. Locked rows are kept.

    :param before: a time in UTC.
    :returns: number of removed rows; the next call may remove more.
    """
    inspection: Any = models.KeptInventoryRow
    stay: Any = models.PartStayRow
    count = 0
    while count < _ENOUGH:
        removed = _remove_some(inspection, inspection.created_at < before)
        count += removed
        if removed < _MOST_PER_TRANSACTION:
            # Nothing is left, or the rest is locked.
            break
    # A stay ends when an inspection does not find the part. A stay in a node
    # that is no longer inspected would therefore never end.
    has_inspection = sa.exists().where(inspection.node_uuid == stay.node_uuid)
    is_over = sa.or_(stay.ended_at < before, sa.not_(has_inspection))
    count += _remove_some(stay, stay.began_at < before, is_over)
    return count


def _remove_some(table: Any, *conditions: sa.ColumnElement[bool]) -> int:
    """Remove the oldest rows that meet all conditions; skip locked rows.

    :param table: a mapped class with the primary key ``id``.
    :returns: number of removed rows, at most :data:`_MOST_PER_TRANSACTION`.
    """
    query = sa.select(table.id).where(*conditions)
    query = query.order_by(table.id).limit(_MOST_PER_TRANSACTION)
    ids = transaction.read(query)
    # This query has locked nothing, so the conditions are checked again when
    # the rows are locked.
    return removal.remove_unlocked(table, ids, *conditions)
