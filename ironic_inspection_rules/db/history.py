# SPDX-License-Identifier: Apache-2.0

"""Reading and writing what the inspections of nodes have found."""

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

_CHUNK = 200
"""Rows that one transaction removes."""

_MOST_REMOVED = 500
"""Inventories after which the rest is left to the next time."""

_KEPT: Any = models.KeptInventory.__table__
_STAYS: Any = models.PartStay.__table__
_LAST = (sa.select(_KEPT.c.created_at, _KEPT.c.content, _KEPT.c.parts)
         .where(_KEPT.c.node_uuid == sa.bindparam('node_uuid'))
         .order_by(_KEPT.c.id.desc()).limit(1))


def record(connection: sa.Connection, values: Mapping[str, Any],
           began: Sequence[Mapping[str, Any]],
           ended: Mapping[str, datetime.datetime]) -> None:
    """Store what an inspection found; the node is locked.

    Of an inspection that is tried again, the first attempt that ended counts:
    one that is stored already stays.

    :param ended: when parts that are gone were last found, by ``kind`` and
        identity with a space between.
    """
    if connection.execute(sa.select(_KEPT.c.id).where(
            _KEPT.c.uuid == values['uuid'])).first():
        return
    connection.execute(sa.insert(_KEPT), [values])
    for row in connection.execute(
            sa.select(_STAYS.c.id, _STAYS.c.kind, _STAYS.c.identity)
            .where(_STAYS.c.node_uuid == values['node_uuid'],
                   _STAYS.c.ended_at.is_(None))).all() if ended else ():
        end = ended.get(f'{row.kind} {row.identity}')
        if end is not None:
            connection.execute(
                sa.update(_STAYS).where(_STAYS.c.id == row.id)
                .values(ended_at=end))
    if began:
        connection.execute(sa.insert(_STAYS), list(began))


def list_inventories(node_uuid: str, limit: int | None = None,
                     before: int | None = None,
                     since: datetime.datetime | None = None,
                     changed: bool = False, patches: bool = False
                     ) -> list[Any]:
    """Read what is kept of the inspections of a node, newest first.

    :param before: the ``id`` that they are all older than.
    :param since: when the oldest was made, at the earliest, in UTC.
    :param changed: only those that found other parts.
    """
    row: Any = models.KeptInventory
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


@transaction.retried
def read_last(node_uuid: str) -> tuple[Any, dict[str, content.Document]]:
    """Read the last inspection of a node, with what it names.

    :returns: ``created_at``, ``content`` and ``parts``, and the documents;
        None and nothing where there is none.
    """
    with transaction.plain_reader() as connection:
        last = connection.execute(_LAST, {'node_uuid': node_uuid}).first()
        return last, content.get(
            connection, [last.content, last.parts]) if last else {}


def get_inventory(node_uuid: str, uuid: str) -> Any:
    """Read what is kept of one inspection of a node.

    :raises: NotFound if there is no such one.
    """
    row: Any = models.KeptInventory
    for found in transaction.read(
            sa.select(row).options(orm.undefer(row.patch)).where(
                row.uuid == uuid, row.node_uuid == node_uuid)):
        return found
    raise exceptions.KeptInventoryNotFound(uuid)


def list_stays(identity: str, limit: int) -> list[dict[str, Any]]:
    """Read where a part has been, newest first."""
    return transaction.read_rows(
        sa.select(*_STAYS.c)
        .where(_STAYS.c.identity == identity)
        .order_by(_STAYS.c.began_at.desc(), _STAYS.c.id.desc())
        .limit(limit))


def destroy(node_uuids: Collection[str]) -> None:
    """Remove the history of nodes, and where their parts have been.

    What is locked stays.
    """
    removal.remove_with_nodes([models.KeptInventory, models.PartStay],
                              node_uuids)


def expire(before: datetime.datetime) -> int:
    """Remove inspections that are too old, and stays of their parts.

    What is locked stays.

    :returns: how many rows were removed.
    """
    kept: Any = models.KeptInventory
    stay: Any = models.PartStay
    count = 0
    while count < _MOST_REMOVED:
        removed = _remove_some(kept, kept.created_at < before)
        count += removed
        if removed < _CHUNK:
            break
    has_history = sa.exists().where(kept.node_uuid == stay.node_uuid)
    return count + _remove_some(stay, stay.began_at < before, sa.or_(
        stay.ended_at < before, sa.not_(has_history)))


def _remove_some(table: Any, *conditions: sa.ColumnElement[bool]) -> int:
    ids = transaction.read(sa.select(table.id).where(*conditions)
                           .order_by(table.id).limit(_CHUNK))
    return removal.remove_unlocked(table, ids, *conditions)
