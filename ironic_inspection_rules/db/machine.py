# SPDX-License-Identifier: Apache-2.0

"""Reading what Ironic knows of many machines, with one query for each kind."""

from collections.abc import Collection
from collections.abc import Iterable
from typing import Any

from ironic.db.sqlalchemy import models
import sqlalchemy as sa

from ironic_inspection_rules.db import models as own_models
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import transaction

Row = dict[str, Any]


def identify(uuids: Collection[str], names: Collection[str]
             ) -> list[tuple[str, str | None]]:
    """Find nodes by UUID or by name."""
    node = models.Node
    return [(row['uuid'], row['name']) for row in transaction.read_rows(
        sa.select(node.uuid, node.name).where(
            sa.or_(node.uuid.in_(uuids), node.name.in_(names))))]


def list_ports(node_ids: Iterable[int]) -> list[Row]:
    """Read the ports of nodes, each with its columns."""
    return _of_nodes(models.Port, node_ids)


def list_port_groups(node_ids: Iterable[int]) -> list[Row]:
    """Read the port groups of nodes, each with its columns."""
    return _of_nodes(models.Portgroup, node_ids)


def list_inventories(node_ids: Iterable[int]) -> list[Row]:
    """Read what is stored of inspections that passed.

    :returns: rows with ``node_id``, ``inventory_data``, ``plugin_data``,
        ``created_at`` and ``updated_at``.
    """
    return _of_nodes(models.NodeInventory, node_ids)


def measure_inventories(node_ids: Collection[int]) -> list[tuple[int, int]]:
    """Return how large the data are that inspections stored which passed.

    :returns: pairs of the ``id`` of a node and the characters of its data as
        JSON.
    """
    columns = models.NodeInventory.__table__.c
    return _pairs(sa.select(columns.node_id, _length(
        columns.inventory_data, columns.plugin_data)).where(
            columns.node_id.in_(node_ids)))


def measure_failed(node_uuids: Collection[str]) -> list[tuple[str, int]]:
    """Return how large what :func:`list_failed` would read is.

    :returns: pairs of the UUID of a node and the characters of what its
        machine sent, as JSON.
    """
    runs = own_models.Run.__table__.c
    contents = own_models.Content.__table__.c
    return _pairs(sa.select(runs.node_uuid, sa.func.coalesce(
        contents.size, _length(runs.inventory, runs.plugin_data)))
        .select_from(own_models.Run.__table__.outerjoin(
            own_models.Content.__table__, contents.digest == runs.content))
        .where(_last_of(node_uuids), run.HAS_DATA))


def _length(*columns: Any) -> Any:
    """Add up how long some columns are that may be null."""
    lengths = [sa.func.coalesce(sa.func.length(
        column, type_=sa.Integer), 0) for column in columns]
    return sum(lengths[1:], lengths[0]).label('length')


@transaction.retried
def list_failed(node_uuids: Collection[str]) -> list[Row]:
    """Read what machines sent in the last runs of nodes, where these failed.

    :returns: rows with ``node_uuid``, ``uuid``, ``created_at``,
        ``inventory`` and ``plugin_data``.
    """
    with transaction.reader() as session:
        return run.with_data(session, _last_of(node_uuids))


def _last_of(node_uuids: Collection[str]) -> sa.ColumnElement[bool]:
    """Return what holds of the last runs of nodes."""
    runs = own_models.Run.__table__.c
    last = sa.select(sa.func.max(runs.id)).where(
        runs.node_uuid.in_(node_uuids)).group_by(runs.node_uuid)
    return runs.id.in_(last)


def _of_nodes(model: Any, node_ids: Iterable[int]) -> list[Row]:
    columns = model.__table__.c
    return transaction.read_rows(sa.select(*columns).where(
        columns.node_id.in_(list(node_ids))).order_by(columns.id))


def _pairs(query: sa.Select[Any]) -> list[tuple[Any, int]]:
    return [tuple(row.values()) for row in transaction.read_rows(query)]
