# SPDX-License-Identifier: Apache-2.0

"""Locks of nodes in Ironic's database.

A node is locked if its column ``reservation`` has the name of a *holder*, e.g.
the host of a conductor, or ``inspection-request:<uuid>:3`` for a worker. It is
unlocked if the column is NULL. Ironic's own tasks lock nodes in the same way.

This lock lasts for many transactions. A *row* of the database, in contrast, is
locked until the end of a transaction.

Ironic's objects are not used here: they read the node before and after a
change, in further transactions.
"""

from collections.abc import Collection
import datetime
from typing import Any

from ironic.common import states
from ironic.db.sqlalchemy import models
import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models as own_models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _


@transaction.retried_on_lock_conflict
def reserve(node_uuid: str, holder: str) -> bool:
    """Lock a node that nobody has locked.

    If another transaction has locked the row of the node, the node is not
    locked: waiting for the row could take long if the other process stalls.

    :param holder: the new value of the column ``reservation``.
    :returns: whether this call has locked the node.
    """
    with transaction.writer() as session:
        is_row_locked = _lock_row(session, node_uuid)
        if not is_row_locked:
            return False
        result: Any = session.execute(
            sa.update(models.Node)
            .where(
                models.Node.uuid == node_uuid,
                models.Node.reservation.is_(None),
            )
            .values(reservation=holder)
            .execution_options(synchronize_session=False)
        )
        return bool(result.rowcount == 1)


@transaction.retried_on_lock_conflict
def unlock(node_uuid: str, holder: str) -> bool:
    """Unlock a node, unless another transaction has locked its row.

    :param holder: the holder that must have locked the node. If the node has
        another holder, nothing is changed.
    :returns: whether this call has unlocked the node.
    """
    with transaction.writer() as session:
        is_row_locked = _lock_row(session, node_uuid)
        if not is_row_locked:
            return False
        return release(session, node_uuid, holder)


def release(session: orm.Session, node_uuid: str, holder: str) -> bool:
    """Unlock a node, within a transaction.

    If another holder has locked the node, nothing is changed.

    :returns: whether the node was locked by this holder.
    """
    result: Any = session.execute(
        sa.update(models.Node)
        .where(
            models.Node.uuid == node_uuid, models.Node.reservation == holder
        )
        .values(reservation=None)
        .execution_options(synchronize_session=False)
    )
    return bool(result.rowcount == 1)


def list_reserved(prefix: str, limit: int) -> list[tuple[str, str]]:
    """List locked nodes whose holder's name begins with a prefix.

    The leader of the workers lists all nodes that deliveries have locked, and
    unlocks those whose delivery has ended.

    :param prefix: the prefix, e.g. ``inspection-request:``.
    :param limit: maximum number of nodes.
    :returns: pairs of the UUID of a node and the name of its holder.
    """
    holder = models.Node.reservation
    # Use LIKE instead of a range of names, because the order of characters
    # depends on the collation of the database.
    query = sa.select(models.Node.uuid, holder)
    query = query.where(holder.startswith(prefix, autoescape=True))
    rows = transaction.read_rows(query.limit(limit))
    return [(row['uuid'], row['reservation']) for row in rows]


@transaction.retried_on_lock_conflict
def find_unlocked_rows(node_uuids: Collection[str]) -> list[str]:
    """Return the UUIDs of nodes whose rows no other transaction has locked.

    The caller skips the other nodes, because it would have to wait for the
    transactions that have locked them. The rows do not stay locked.
    """
    column = models.Node.uuid
    with transaction.writer_without_gaps() as session:
        return list(
            session.execute(
                sa.select(column)
                .where(column.in_(node_uuids))
                .with_for_update(skip_locked=True)
            ).scalars()
        )


def stop_timeout(
    session: orm.Session, node_uuid: str, is_power_on: bool = False
) -> datetime.datetime | None:
    """Stop the timeout of an inspection while its request waits in the queue.

    Conductors count the timeout from ``inspection_started_at`` of the node,
    which is removed here. When the request is processed, it is set again: by
    Ironic if the request has data, or by the worker that powers the machine on
    if it is a power-on request.

    :param session: the session of the transaction that stores the request.
    :param is_power_on: whether the request is to power the machine on. If not,
        it has data that the machine has posted.
    :returns: when the inspection began; None if the timeout was already
        stopped, or if the node is new or does not exist. For a power-on, it is
        also None for any node that is not in state "inspecting".
    :raises: Conflict if the request has data, but the node does not wait for
        data.
    """
    started_at = models.Node.inspection_started_at
    # A machine is powered on in the state "inspecting". Then the node waits
    # for its data in the state "inspect wait".
    state = states.INSPECTWAIT
    if is_power_on:
        state = states.INSPECTING
    # All transactions lock the row of a node before the row of its request.
    # Different orders would cause deadlocks.
    began: datetime.datetime | None = session.execute(
        sa.select(started_at)
        .where(
            models.Node.uuid == node_uuid,
            started_at.is_not(None),
            models.Node.provision_state == state,
        )
        .with_for_update()
    ).scalar_one_or_none()
    if began is None:
        # There is no timeout to stop.
        if not is_power_on:
            _check_may_get_data(session, node_uuid)
        return None
    session.execute(
        sa.update(models.Node)
        .where(models.Node.uuid == node_uuid)
        .values(inspection_started_at=None)
        .execution_options(synchronize_session=False)
    )
    return began


def _check_may_get_data(session: orm.Session, node_uuid: str) -> None:
    """Check that a node may get data in its state.

    It may get them if it waits for the data of an inspection, or if it was
    just discovered. A node that does not exist passes the check.

    :raises: Conflict if the node is in another state.
    """
    query = sa.select(models.Node.provision_state)
    query = query.where(models.Node.uuid == node_uuid)
    state = session.execute(query).scalar_one_or_none()
    # A node that auto-discovery has just created is in the state "enroll".
    if state not in (None, states.INSPECTWAIT, states.ENROLL):
        raise exceptions.Conflict(
            _(
                'Node %(node)s waits for no inspection data, it is in '
                'state "%(state)s".'
            )
            % {'node': node_uuid, 'state': state}
        )


def served_by(
    drivers: Collection[str], conductor_groups: Collection[str]
) -> sa.ColumnElement[bool]:
    """Return the SQL condition of requests that a worker can process.

    The worker must have the driver of the node, and must take nodes of its
    conductor group. A request of a deleted node also meets the condition,
    because any worker may end it.

    :param drivers: the names of the drivers of the worker.
    :param conductor_groups: the groups whose nodes the worker takes; empty for
        all groups.
    """
    node = models.Node
    # Each of these conditions excludes a node.
    reasons_to_exclude = [node.driver.not_in(drivers)]
    if conductor_groups:
        # Ironic stores the groups of nodes in lower case.
        groups = [group.lower() for group in conductor_groups]
        reasons_to_exclude.append(node.conductor_group.not_in(groups))
    # "There is no excluded node of this request" also holds if the node was
    # deleted. "There is a node that the worker takes" would not.
    return ~sa.exists().where(
        node.uuid == own_models.RequestRow.node_uuid,
        sa.or_(*reasons_to_exclude),
    )


def _lock_row(session: orm.Session, node_uuid: str) -> bool:
    """Lock the row of a node until the commit, without waiting.

    :returns: False if another transaction has locked it, or if it does not
        exist.
    """
    row = session.execute(
        sa.select(models.Node.id)
        .where(models.Node.uuid == node_uuid)
        .with_for_update(skip_locked=True)
    ).first()
    return row is not None
