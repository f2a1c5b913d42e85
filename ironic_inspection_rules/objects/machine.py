# SPDX-License-Identifier: Apache-2.0

"""Data of many machines, read with one query for each kind."""

from ironic.db.sqlalchemy import models
from ironic.objects import base
from oslo_utils import timeutils
import sqlalchemy as sa

from ironic_inspection_rules.db import models as own_models
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.objects import remotable


@base.IronicObjectRegistry.register
class InspectedMachine(base.IronicObject):
    """Machines, as plain data; there is never an instance of one."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    @remotable.class_method
    def identify(cls, context, uuids, names):
        """Find nodes by UUID or by name.

        :returns: pairs of UUID and name of those that there are.
        """
        node = models.Node
        return _pairs(sa.select(node.uuid, node.name).where(
            sa.or_(node.uuid.in_(uuids), node.name.in_(names))))

    @remotable.class_method
    def list_ports(cls, context, node_ids):
        """Read the ports of nodes.

        :returns: a list of the fields of each port, times as ISO 8601 text.
        """
        return _plain(_of_nodes(models.Port, node_ids))

    @remotable.class_method
    def list_port_groups(cls, context, node_ids):
        """Read the port groups of nodes."""
        return _plain(_of_nodes(models.Portgroup, node_ids))

    @remotable.class_method
    def measure(cls, context, node_ids, node_uuids):
        """Return the size of the data that the next two methods read.

        :returns: two lists, of pairs of the ``id`` or the UUID of a node and
            the characters of its data as JSON.
        """
        stored = models.NodeInventory.__table__.c
        runs = own_models.Run.__table__
        contents = own_models.Content.__table__
        return [list(map(list, _pairs(query))) for query in (
            sa.select(stored.node_id, _length(
                stored.inventory_data, stored.plugin_data))
            .where(stored.node_id.in_(node_ids)),
            sa.select(runs.c.node_uuid, contents.c.size)
            .join(contents, contents.c.digest == runs.c.content)
            .where(run.are_last(node_uuids)))]

    @remotable.class_method
    def list_inventories(cls, context, node_ids):
        """Read the data of inspections that passed, from the database.

        :returns: a list of dicts with ``node_id``, ``stored_at`` (ISO 8601),
            ``inventory`` and ``plugin_data``.
        """
        return [{'node_id': row['node_id'],
                 'stored_at': _iso(row['updated_at'] or row['created_at']),
                 'inventory': row['inventory_data'],
                 'plugin_data': row['plugin_data']}
                for row in _of_nodes(models.NodeInventory, node_ids)]

    @remotable.class_method
    def list_failed(cls, context, node_uuids):
        """Read the data of machines whose last runs failed.

        :returns: a list of dicts with ``node_uuid``, ``uuid`` (of the run),
            ``created_at`` (ISO 8601), ``inventory`` and ``plugin_data``.
        """
        return [{**row, 'created_at': _iso(row['created_at'])}
                for row in run.list_failed(node_uuids)]


def _length(*columns):
    """Add up the lengths of columns that may be null."""
    lengths = [sa.func.coalesce(sa.func.length(
        column, type_=sa.Integer), 0) for column in columns]
    return sum(lengths[1:], lengths[0]).label('length')


def _pairs(query):
    return [tuple(row.values()) for row in transaction.read_rows(query)]


def _of_nodes(model, node_ids):
    columns = model.__table__.c
    return transaction.read_rows(sa.select(*columns).where(
        columns.node_id.in_(list(node_ids))).order_by(columns.id))


def _plain(rows):
    return [{**row, 'created_at': _iso(row['created_at']),
             'updated_at': _iso(row['updated_at'])} for row in rows]


def _iso(time):
    return time and timeutils.normalize_time(time).isoformat()
