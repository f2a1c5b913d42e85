# SPDX-License-Identifier: Apache-2.0

"""Queries of the queue on Ironic's table of nodes, one statement each.

The lock of a node is the column that Ironic's own tasks lock nodes by. Its
objects read the node before and after, and need a transaction each time.
"""

from collections.abc import Collection
import datetime

from ironic.common import states
from ironic.db.sqlalchemy import models
import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models as own_models
from ironic_inspection_rules.db import request as db_request
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _


@transaction.retried
def reserve(node_uuid: str, holder: str) -> bool:
    """Lock a node that nobody has locked.

    A node whose row another transaction holds counts as locked: who stalls
    with it keeps neither workers nor the leader waiting.

    :returns: whether there is such a node.
    """
    with transaction.writer() as session:
        return (_hold_row(session, node_uuid)
                and _replace(session, node_uuid, None, holder))


@transaction.retried
def unlock(node_uuid: str, holder: str) -> bool:
    """Unlock a node, unless another transaction holds its row.

    :returns: whether it was locked by this holder, and is not any more.
    """
    with transaction.writer() as session:
        return (_hold_row(session, node_uuid)
                and release(session, node_uuid, holder))


def release(session: orm.Session, node_uuid: str, holder: str) -> bool:
    """Unlock a node, within a transaction.

    :returns: whether it was locked by this holder.
    """
    return _replace(session, node_uuid, holder, None)


def list_reserved(prefix: str, limit: int) -> list[tuple[str, str]]:
    """List nodes that are locked in a name with this beginning.

    :returns: their UUIDs, and in which name.
    """
    column = models.Node.reservation
    # A range of the index; the last character is one that no name has.
    return [tuple(row.values()) for row in transaction.read_rows(
        sa.select(models.Node.uuid, column)
        .where(column >= prefix, column < prefix + '~').limit(limit))]


@transaction.retried
def without_held(node_uuids: Collection[str]) -> list[str]:
    """Leave out the nodes whose rows other transactions hold."""
    column = models.Node.uuid
    with transaction.writer_without_gaps() as session:
        return list(session.execute(
            sa.select(column).where(column.in_(node_uuids))
            .with_for_update(skip_locked=True)).scalars())


def stop_clock(session: orm.Session, node_uuid: str,
               starting: bool = False) -> datetime.datetime | None:
    """Stop the timeout of an inspection whose data are accepted.

    It is counted from a time in the node's row, by conductors too, and that
    is removed. Ironic sets it anew when the data are processed. The node is
    the first row that the transaction locks, as in all that lock both.

    :param starting: whether its machine is still to be powered on.
    :returns: when the inspection began; None if the node has been here
        before, or is new.
    :raises: Conflict if the node waits for no data any more: to accept
        them would be a promise that nobody can keep.
    """
    column = models.Node.inspection_started_at
    began: datetime.datetime | None = session.execute(
        sa.select(column)
        .where(models.Node.uuid == node_uuid, column.is_not(None),
               models.Node.provision_state == (
                   states.INSPECTING if starting else states.INSPECTWAIT))
        .with_for_update()).scalar_one_or_none()
    if began is not None:
        session.execute(
            sa.update(models.Node)
            .where(models.Node.uuid == node_uuid)
            .values(inspection_started_at=None)
            .execution_options(synchronize_session=False))
    elif not starting:
        present = session.execute(
            sa.select(models.Node.provision_state)
            .where(models.Node.uuid == node_uuid)).scalar_one_or_none()
        if present not in (None, states.INSPECTWAIT, states.ENROLL):
            raise exceptions.Conflict(
                _('Node %(node)s waits for no inspection data, it is in state '
                  '"%(state)s".') % {'node': node_uuid, 'state': present})
    return began


def served_by(drivers: Collection[str], conductor_groups: Collection[str]
              ) -> sa.ColumnElement[bool]:
    """Describe the requests whose nodes a worker can reach.

    :param conductor_groups: empty for all.
    :returns: a condition on requests; one of a deleted node meets it too.
    """
    node = models.Node
    of_others = [node.driver.not_in(drivers)]
    if conductor_groups:
        of_others.append(node.conductor_group.not_in(
            [group.lower() for group in conductor_groups]))
    return ~sa.exists().where(
        node.uuid == own_models.Request.node_uuid, sa.or_(*of_others))


def _hold_row(session: orm.Session, node_uuid: str) -> bool:
    return session.execute(
        sa.select(models.Node.id).where(models.Node.uuid == node_uuid)
        .with_for_update(skip_locked=True)).first() is not None


def _replace(session: orm.Session, node_uuid: str, present: str | None,
             holder: str | None) -> bool:
    return db_request.changed_one(session.execute(
        sa.update(models.Node)
        .where(models.Node.uuid == node_uuid,
               models.Node.reservation.is_not_distinct_from(present))
        .values(reservation=holder)
        .execution_options(synchronize_session=False)))
