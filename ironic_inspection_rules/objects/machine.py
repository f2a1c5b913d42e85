# SPDX-License-Identifier: Apache-2.0

"""Reads the nodes, ports and inventories of many machines at once."""

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

        :returns: pairs of UUID and name of the nodes that exist.
        """
        node = models.Node
        return _read_pairs(
            sa.select(node.uuid, node.name).where(node.name.in_(names))
        )

    @remotable.class_method
    def list_nodes(cls, context, filters):
        """Read nodes as dicts: Ironic's objects would take longer to make.

        :param filters: filters of Ironic's list of nodes.
        :returns: a dict of columns for every node, with times as ISO 8601
            text, and the names of its ``traits``.
        """
        columns = models.Node.__table__.columns.keys()
        nodes = {}
        for row in db_api.get_instance().get_nodeinfo_list(columns, filters):
            node = dict(zip(columns, row, strict=True))
            node['traits'] = []
            nodes[node['id']] = node
        of_node = models.NodeTrait.__table__.c
        query = sa.select(of_node.node_id, of_node.trait).where(
            of_node.node_id.in_(list(nodes))
        )
        for node_id, name in _read_pairs(query):
            nodes[node_id]['traits'].append(name)
        return _convert_like_objects(models.Node, list(nodes.values()))

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
        """Return the lengths of the data of machines, without the data.

        With the lengths, the caller can read as many data together as fit into
        its memory.

        :returns: two lists of pairs: a node and the number of characters of
            its data as JSON. The first list is for :meth:`list_inventories`
            and names nodes by ``id``; the second list is for
            :meth:`list_failed` and names nodes by UUID.
        """
        stored = models.NodeInventory.__table__.c
        runs = own_models.RunRow.__table__
        contents = own_models.ContentRow.__table__
        length = _sum_lengths(stored.inventory_data, stored.plugin_data)
        sizes_of_passed = sa.select(stored.node_id, length).where(
            stored.node_id.in_(node_ids)
        )
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
        """Read the data of inspections that passed, from the database.

        They are not decoded: the caller decodes the data of one machine at a
        time. Objects take several times the memory of text, and Python's
        garbage collector walks through all of them.

        :returns: a list of dicts with ``node_id``, ``stored_at`` (ISO 8601),
            and as JSON or None, ``inventory`` and ``plugin_data``.
        """
        stored = models.NodeInventory.__table__.c
        query = _select_of_nodes(
            stored,
            node_ids,
            stored.node_id,
            stored.created_at,
            stored.updated_at,
            # Read them as text: the type of the columns would decode them.
            sa.type_coerce(stored.inventory_data, sa.Text).label('inventory'),
            sa.type_coerce(stored.plugin_data, sa.Text).label('plugin_data'),
        )
        inventories = []
        for row in transaction.read_rows(query):
            inventories.append(
                {
                    'node_id': row['node_id'],
                    'stored_at': _as_iso_text(
                        row['updated_at'] or row['created_at']
                    ),
                    'inventory': row['inventory'],
                    'plugin_data': row['plugin_data'],
                }
            )
        return inventories

    @remotable.class_method
    def list_failed(cls, context, node_uuids):
        """Read the data of machines whose last runs failed.

        Runs without stored data are left out.

        :returns: a list of dicts with ``node_uuid``, ``uuid`` (of the run),
            ``created_at`` (ISO 8601), ``inventory`` and ``plugin_data``.
        """
        failed = []
        for row in run.list_failed(node_uuids):
            failed.append(
                {**row, 'created_at': _as_iso_text(row['created_at'])}
            )
        return failed


def _sum_lengths(*columns):
    """Build the SQL sum of the lengths of columns that may be null.

    MySQL counts bytes and other databases count characters. Both numbers are
    equal here, because Ironic writes JSON in ASCII.
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
    """Convert the values of rows to JSON data, as Ironic's objects do.

    Times become text, e.g. ``2026-05-17T10:00:00+00:00``, and a mapping that
    is null in the database becomes empty. The rows are changed in place.
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
                row[name] = f'{_as_iso_text(row[name])}+00:00'
        for name in names_of_mappings:
            # If a release of Ironic adds a column, it is null in old rows.
            if row[name] is None:
                row[name] = {}
    return rows


def _as_iso_text(time):
    """Return a time as ISO 8601 text, in UTC and without a zone.

    :returns: None for None.
    """
    if time is None:
        return None
    return timeutils.normalize_time(time).isoformat()
