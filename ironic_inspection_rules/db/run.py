# SPDX-License-Identifier: Apache-2.0

"""Stored runs: what the rules did in every inspection of a node.

A *run* has an *event*, e.g. the inspection of a node or the reapplication of
rules to its stored data. Its *phases* are the record of what every rule did.

If a run fails, Ironic stores no inventory and no plugin data of the machine.
Both are then kept here, as one document of the content store, see
:mod:`.content`: the column ``content`` of the run is its digest.
"""

import collections
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import removal
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _

VERSION = '1.0'
"""The version of the versioned object that can read the rows written here."""

_RUNS: Any = models.RunRow.__table__
_SELECT_RUNS_OF_NODE = (
    sa.select(_RUNS.c.id, _RUNS.c.uuid, _RUNS.c.event, _RUNS.c.content)
    .where(_RUNS.c.node_uuid == sa.bindparam('node_uuid'))
    .order_by(_RUNS.c.id.desc())
)
"""The query for all runs of a node, newest first."""

_LARGE_COLUMNS = (
    orm.undefer(models.RunRow.phases),
    orm.undefer(models.RunRow.places),
)
"""Options of a query that reads the large columns as well."""

_DROP_DATA = (
    sa.update(_RUNS)
    .where(_RUNS.c.id == sa.bindparam('id_'))
    .values(content=None)
)
"""Makes a run no longer name its inventory and plugin data."""


def record_run(
    connection: sa.Connection, values: Mapping[str, Any], keep_runs: int
) -> None:
    """Store a run, and remove the oldest runs of the node.

    The other runs of the node change as follows:

    - The run of an earlier attempt of the same inspection is removed. It has
      the same UUID.
    - The oldest runs are removed if the node has more than ``keep_runs`` runs
      of their event. Every event is counted separately, so that many
      reapplications do not remove the last inspection.
    - The remaining runs lose their inventory and plugin data, because only the
      data of the newest run are ever read.

    :param values: column values; ``uuid``, ``node_uuid``, ``event``,
        ``result`` and ``phases`` are required.
    :param keep_runs: maximum number of runs that the node keeps per event,
        including the new run. 0 stores nothing and removes all runs of the
        node.
    """
    # The newest runs come first, so the oldest are removed.
    runs_of_node = connection.execute(
        _SELECT_RUNS_OF_NODE, {'node_uuid': values['node_uuid']}
    ).all()
    # Number of kept runs by event. The new run counts as well.
    kept_counts = collections.Counter([values['event']])
    ids_to_remove = []
    parameters_to_drop_data = []
    for run in runs_of_node:
        is_earlier_attempt = run.uuid == values['uuid']
        if is_earlier_attempt or kept_counts[run.event] >= keep_runs:
            ids_to_remove.append(run.id)
            continue
        kept_counts[run.event] += 1
        if run.content:
            parameters_to_drop_data.append({'id_': run.id})
    # Rows are removed by primary key, because a DELETE by node would make
    # MySQL lock the gap of the index where runs of other nodes are inserted.
    if ids_to_remove:
        removal.remove_by_id(connection, models.RunRow, ids_to_remove)
    if parameters_to_drop_data:
        connection.execute(_DROP_DATA, parameters_to_drop_data)
    if keep_runs == 0:
        return
    error = values.get('error')
    if error is not None:
        # The error may quote the machine, with characters that a database
        # refuses.
        error = exceptions.make_storable(error)
    connection.execute(
        sa.insert(_RUNS), {**values, 'error': error, 'version': VERSION}
    )


def list_runs(
    node_uuid: str,
    limit: int | None = None,
    before: int | None = None,
    whole: bool = False,
) -> list[models.RunRow]:
    """Read runs of a node, newest first.

    The inventory and plugin data are never read here, because they are large.

    :param limit: maximum number of runs; None for all.
    :param before: if given, read only older runs, whose ``id`` is lower.
    :param whole: whether to read ``phases`` and ``places`` as well.
    """
    query = sa.select(models.RunRow)
    query = query.where(models.RunRow.node_uuid == node_uuid)
    if before is not None:
        is_older: Any = models.RunRow.id < before
        query = query.where(is_older)
    if whole:
        query = query.options(*_LARGE_COLUMNS)
    query = query.order_by(models.RunRow.id.desc()).limit(limit)
    return transaction.read(query)


def get_run(node_uuid: str, uuid: str) -> models.RunRow:
    """Read one run of a node, with its phases and places.

    The inventory and plugin data are not read.

    :raises: NotFound if the node has no such run.
    """
    query = sa.select(models.RunRow).options(*_LARGE_COLUMNS)
    query = query.where(
        models.RunRow.uuid == uuid, models.RunRow.node_uuid == node_uuid
    )
    runs = transaction.read(query)
    if not runs:
        raise exceptions.NotFound(
            _('Inspection run %s could not be found.') % uuid
        )
    return runs[0]


def get_data(node_uuid: str) -> dict[str, Any] | None:
    """Read inventory and plugin data of the last run of a node, if it failed.

    :returns: ``node_uuid``, ``uuid`` and ``created_at`` of the run,
        ``inventory`` and ``plugin_data``. None if the last run did not fail or
        has no stored data.
    """
    rows = list_failed([node_uuid])
    if not rows:
        return None
    return rows[0]


@transaction.retried_on_lock_conflict
def list_failed(node_uuids: Collection[str]) -> list[dict[str, Any]]:
    """Read inventory and plugin data of nodes whose last run failed.

    Rules are tried on these data, because Ironic stores none after a failure.
    Nodes whose last run did not fail, or has no stored data, are left out.

    :returns: a mapping per node: ``node_uuid``, ``uuid`` and ``created_at`` of
        its last run, ``inventory`` and ``plugin_data``.
    """
    query = sa.select(
        _RUNS.c.node_uuid, _RUNS.c.uuid, _RUNS.c.created_at, _RUNS.c.content
    )
    # Only failed runs have content, because Ironic stores the data of others.
    query = query.where(are_last(node_uuids), _RUNS.c.content.is_not(None))
    # The runs and their data are read in one transaction, because the data
    # may be removed together with the run at any time.
    with transaction.reader() as session:
        rows = session.execute(query).all()
        digests = [row.content for row in rows]
        documents = content.get(session.connection(), digests)
    failed = []
    for row in rows:
        if row.content in documents:
            failed.append(
                {
                    'node_uuid': row.node_uuid,
                    'uuid': row.uuid,
                    'created_at': row.created_at,
                    # The document has "inventory" and "plugin_data".
                    **documents[row.content],
                }
            )
    return failed


def are_last(node_uuids: Collection[str]) -> sa.ColumnElement[bool]:
    """Return the SQL condition of runs that are the last run of their node.

    :param node_uuids: nodes; the runs of other nodes do not meet it.
    """
    last_ids = sa.select(sa.func.max(_RUNS.c.id))
    last_ids = last_ids.where(_RUNS.c.node_uuid.in_(node_uuids))
    last_ids = last_ids.group_by(_RUNS.c.node_uuid)
    return _RUNS.c.id.in_(last_ids)


def list_nodes(after: str, limit: int) -> list[str]:
    """List nodes that have stored runs, early phases or inventories.

    See :func:`transaction.list_nodes` for the parameters.
    """
    tables = (models.RunRow, models.EarlyPhaseRow, models.KeptInventoryRow)
    return transaction.list_nodes(tables, after, limit)


def destroy_runs(node_uuids: Collection[str]) -> None:
    """Remove all runs and early phases of nodes; locked rows are skipped."""
    removal.remove_with_nodes(
        [models.RunRow, models.EarlyPhaseRow], node_uuids
    )
