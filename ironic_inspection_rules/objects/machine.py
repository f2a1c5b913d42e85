# SPDX-License-Identifier: Apache-2.0

"""Reads the nodes, ports and inventories of many machines at once.

Rules can be tried on a whole fleet. For this, rows are read as dicts, because
it would take longer to make Ironic's objects. A value has the same form as in
a field of Ironic's object: times are text, and a mapping is never None.
"""

from ironic.db import api as db_api
from ironic.db.sqlalchemy import models
from ironic.objects import base
from oslo_db.sqlalchemy import types
from oslo_utils import timeutils
import sqlalchemy as sa

from ironic_inspection_rules.db import models as own_models
from ironic_inspection_rules.db import run
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.objects import remotable


@base.IronicObjectRegistry.register
class InspectedMachine(base.IronicObject):
    """Reads data of machines as plain data; it is never instantiated."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    @remotable.class_method
    def identify(cls, context, names):
        """Find nodes by name.

        A dry run checks with this whether the new name of a node is free.

        :returns: pairs of UUID and name of the nodes that exist.
        """
        node = models.Node
        return _read_pairs(
            sa.select(node.uuid, node.name).where(node.name.in_(names))
        )

    @remotable.class_method
    def list_nodes(cls, context, filters):
        """Read all columns of nodes, and their traits.

        :param filters: filters of Ironic's list of nodes.
        :returns: a dict for every node, e.g. ``{'id': 1, 'uuid': UUID,
            'driver': 'ipmi', …, 'traits': ['CUSTOM_GOLD']}``.
        """
        # Read the nodes.
        columns = models.Node.__table__.columns.keys()
        nodes_by_id = {}
        for row in db_api.get_instance().get_nodeinfo_list(columns, filters):
            node = dict(zip(columns, row, strict=True))
            node['traits'] = []
            nodes_by_id[node['id']] = node
        # Read the traits of all these nodes in one query.
        trait_table = models.NodeTrait.__table__.c
        query = sa.select(trait_table.node_id, trait_table.trait).where(
            trait_table.node_id.in_(list(nodes_by_id))
        )
        for node_id, trait_name in _read_pairs(query):
            nodes_by_id[node_id]['traits'].append(trait_name)
        return _convert_like_objects(models.Node, list(nodes_by_id.values()))

    @remotable.class_method
    def list_ports(cls, context, node_ids):
        """Read the ports of nodes.

        :returns: a dict of columns for every port, times as ISO 8601 text.
        """
        return _convert_like_objects(
            models.Port, _read_rows(models.Port, node_ids)
        )

    @remotable.class_method
    def list_port_groups(cls, context, node_ids):
        """Read the port groups of nodes, in the form of :meth:`list_ports`."""
        return _convert_like_objects(
            models.Portgroup, _read_rows(models.Portgroup, node_ids)
        )

    @remotable.class_method
    def measure(cls, context, node_ids, node_uuids):
        """Return how large the data of machines are, without reading them.

        With the sizes, the caller can read the data of as many machines at
        once as fit into its memory.

        :param node_ids: nodes whose inventories will be read.
        :param node_uuids: nodes whose failed runs will be read.
        :returns: two lists of pairs, e.g. ``[[[1, 40960]], [[UUID, 512]]]``.
            The first list has the ``id`` of a node and the size of the data
            that :meth:`list_inventories` returns. The second list has the UUID
            of a node and the size of the data that :meth:`list_failed`
            returns. Sizes are numbers of characters of JSON.
        """
        inventories = models.NodeInventory.__table__.c
        size_of_inventory = _sum_lengths(
            inventories.inventory_data, inventories.plugin_data
        )
        sizes_of_passed = sa.select(
            inventories.node_id, size_of_inventory
        ).where(inventories.node_id.in_(node_ids))
        runs = own_models.RunRow.__table__
        contents = own_models.ContentRow.__table__
        sizes_of_failed = (
            sa.select(runs.c.node_uuid, contents.c.size)
            .join(contents, contents.c.digest == runs.c.content)
            .where(run.are_last(node_uuids))
        )
        # Return lists, because JSON-RPC has no tuples.
        return [
            [list(pair) for pair in _read_pairs(sizes_of_passed)],
            [list(pair) for pair in _read_pairs(sizes_of_failed)],
        ]

    @remotable.class_method
    def list_inventories(cls, context, node_ids):
        """Read the data that successful inspections stored, as JSON text.

        The caller decodes the data of one machine at a time, because decoded
        data take several times the memory of the text.

        :returns: a list of dicts with ``node_id``, ``stored_at`` (ISO 8601),
            ``inventory`` and ``plugin_data``. The last two are JSON text or
            None.
        """
        table = models.NodeInventory.__table__.c
        query = _select_of_nodes(
            table,
            node_ids,
            table.node_id,
            table.created_at,
            table.updated_at,
            # Without this type, SQLAlchemy would decode the JSON.
            sa.type_coerce(table.inventory_data, sa.Text).label('inventory'),
            sa.type_coerce(table.plugin_data, sa.Text).label('plugin_data'),
        )
        inventories = []
        for row in transaction.read_rows(query):
            stored_at = row['updated_at'] or row['created_at']
            inventories.append(
                {
                    'node_id': row['node_id'],
                    'stored_at': _format_time(stored_at),
                    'inventory': row['inventory'],
                    'plugin_data': row['plugin_data'],
                }
            )
        return inventories

    @remotable.class_method
    def list_failed(cls, context, node_uuids):
        """Read the data of machines whose last runs failed.

        Ironic stores no data of these runs. Runs that have no data are left
        out.

        :returns: a list of dicts with ``node_uuid``, ``uuid`` (of the run),
            ``created_at`` (ISO 8601), ``inventory`` and ``plugin_data``.
        """
        failed = []
        for row in run.list_failed(node_uuids):
            failed.append(
                {**row, 'created_at': _format_time(row['created_at'])}
            )
        return failed


def _sum_lengths(*columns):
    """Build the SQL sum of the lengths of columns; the length of null is 0.

    MySQL counts bytes and other databases count characters. Both numbers are
    equal here, because Ironic writes JSON in ASCII.

    :param columns: columns with JSON.
    """
    total: sa.ColumnElement[int] = sa.literal(0)
    for column in columns:
        # Without the type, SQLAlchemy would assume that the length is JSON,
        # like the column, and would decode it.
        length = sa.func.length(column, type_=sa.Integer)
        total += sa.func.coalesce(length, 0)
    return total.label('length')


def _read_pairs(query):
    """Execute a query for two columns, and return the rows as tuples."""
    return [tuple(row.values()) for row in transaction.read_rows(query)]


def _read_rows(model, node_ids):
    """Read all columns of the rows of nodes."""
    columns = model.__table__.c
    return transaction.read_rows(_select_of_nodes(columns, node_ids, *columns))


def _select_of_nodes(table, node_ids, *columns):
    """Build the query for rows of nodes, in the order of their creation.

    :param table: the column collection of the table.
    :param node_ids: the ``id`` of every node whose rows are read.
    :param columns: the columns to read.
    """
    return (
        sa.select(*columns)
        .where(table.node_id.in_(list(node_ids)))
        .order_by(table.id)
    )


def _convert_like_objects(model, rows):
    """Convert the values of rows to JSON data, in place, and return the rows.

    The result is the same as with Ironic's objects: times become text, e.g.
    ``2026-05-17T10:00:00+00:00``, and a mapping that is null in the database
    becomes empty.

    :param model: the model of the table.
    :param rows: the rows as dicts of columns.
    """
    names_of_times = []
    names_of_mappings = []
    for column in model.__table__.columns:
        if isinstance(column.type, sa.DateTime):
            names_of_times.append(column.name)
        elif isinstance(column.type, types.JsonEncodedDict):
            names_of_mappings.append(column.name)
    for row in rows:
        for name in names_of_times:
            if row[name] is not None:
                row[name] = f'{_format_time(row[name])}+00:00'
        for name in names_of_mappings:
            # A column that a release of Ironic has added is null in old rows.
            if row[name] is None:
                row[name] = {}
    return rows


def _format_time(time):
    """Return a time as ISO 8601 text, in UTC and without a zone.

    :returns: None for None.
    """
    if time is None:
        return None
    return timeutils.normalize_time(time).isoformat()
