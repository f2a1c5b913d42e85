# SPDX-License-Identifier: Apache-2.0

"""The API of tables: definitions, rows, machines compared with rows.

A table has rows that rules look up by a key, e.g. the rack of every serial
number: ``{'SN1': {'rack': 'r1'}, …}``. If its definition has ``of``, which
computes the key of a machine from its inventory, every row describes a
machine, and the rows can be compared with the inventories of all machines. A
*finding* is a result of this comparison, e.g. that no machine has the key of a
row.
"""

from collections.abc import Iterable, Iterator
import dataclasses
import itertools
import json
from typing import Any

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import stream
from ironic_inspection_rules.api import view
from ironic_inspection_rules.api.controllers import inventory_history
from ironic_inspection_rules.api.fleet import page as fleet_page
from ironic_inspection_rules.api.fleet import trial
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.machine import table_comparison
from ironic_inspection_rules.rule_set import repository

RESOURCE = 'inspection_tables'

Answer = dict[str, Any]
Query = dict[str, Any]
"""The parameters of a request by name, checked; None for a missing one."""


def _text(_name: str, value: str) -> str:
    return value


def _number(_name: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or len(value) > 9:
        raise exceptions.Invalid(
            _('"marker" must be that of the "next" of a page')
        )
    return int(value)


MACHINES = {
    'state': request.make_word_converter(table_comparison.STATES),
    'limit': request.convert_integer,
    'marker': _number,
}
SHOW = {'key': _text, 'limit': request.convert_integer, 'marker': _text}


def get_all() -> Answer:
    """List the tables in force without their rows, sorted by name."""
    in_force = start.rules().refresh(api.request.context)
    tables = []
    for name in sorted(in_force.tables):
        tables.append(_describe(in_force.tables[name], in_force))
    return {'tables': tables}


def get_one(name: str, query: Query) -> Answer:
    """Show a table, with a page of its rows, or with the row of ``key``.

    Secret columns are left out. The list of rows is empty if no row has the
    key.

    :param query: ``key``; or ``limit`` and ``marker``, the key of the last row
        of the previous page.
    :raises: NotFound if there is no such table.
    :raises: Invalid if ``key`` is used with ``limit`` or ``marker``, and if no
        row has the marker as its key.
    """
    in_force = start.rules().refresh(api.request.context)
    inspection_table = _find(name, in_force)
    answer = _describe(inspection_table, in_force)
    if query['key'] is not None:
        _refuse_paging_of_one_row(query)
        rows = []
        if inspection_table.row(query['key']) is not data_path.ABSENT:
            rows.append(_show_row(inspection_table, query['key']))
        return {**answer, 'rows': rows}
    limit = api_utils.validate_limit(query['limit'])
    # One more row than the page has shows whether another page follows.
    keys = _list_keys(inspection_table, query['marker'], most=limit + 1)
    entries = [{'key': key} for key in keys]

    def show(entry: Answer) -> Answer:
        # This is called only for the rows on the page.
        return _show_row(inspection_table, entry['key'])

    page = view.build_page(
        f'{RESOURCE}/{name}', entries, limit, show, marker='key', name='rows'
    )
    return {**answer, **page}


def _refuse_paging_of_one_row(query: Query) -> None:
    """Check that a request with ``key`` has no ``limit`` and no ``marker``.

    :raises: Invalid if it has one of them.
    """
    for parameter in ('limit', 'marker'):
        if query[parameter] is not None:
            raise exceptions.Invalid(
                _('"key" asks for one row, without "%s"') % parameter
            )


def _find(name: str, in_force: repository.Snapshot) -> table.Table:
    """Return the table in force with a name.

    :raises: NotFound if there is none, with a similar name as a hint.
    """
    inspection_table = in_force.tables.get(name)
    if inspection_table is None:
        hint = suggestion.make_hint(name, in_force.tables)
        raise exceptions.NotFound(
            _('There is no inspection table "%(name)s"; %(hint)s')
            % {
                'name': suggestion.shorten(name),
                'hint': hint or _('there are none'),
            }
        )
    return inspection_table


def machines(name: str, query: Query) -> Answer:
    """Compare the rows of a table with the inventories of the machines.

    The answer has the machines whose inventory is stored and may be read by
    the caller, and the rows that match no such machine. It is sent as a
    stream. Without ``limit``, sending begins while machines are still read.

    :param query: the ``state`` of the findings to show, e.g. ``missing``; the
        ``limit``; and the ``marker``, which is the number of findings on the
        previous pages.
    :returns: an empty mapping, because the stream is the answer.
    :raises: NotFound if there is no such table.
    :raises: Invalid if the table does not define which row belongs to a
        machine.
    """
    # Every page compares all machines again, and skips the findings of the
    # previous pages. All machines are needed, because any of them may have the
    # key of a row. The key of a machine is computed from its inventory, so the
    # database has no index of it. Keys that were kept between two pages would
    # be outdated, and could belong to nodes that only another caller may see.
    in_force = start.rules().refresh(api.request.context)
    inspection_table = _find(name, in_force)
    if not inspection_table.has_of:
        raise exceptions.Invalid(
            _(
                'Table "%s" has no "of", which says which row is that of a '
                'machine'
            )
            % name
        )
    limit = query['limit']
    if limit is not None and limit <= 0:
        raise exceptions.Invalid(_('"limit" must be positive'))
    count_before = query['marker'] or 0
    pages = _list_readable_pages()
    findings = _yield_findings(
        api.request.context, inspection_table, pages, query['state']
    )
    # Skip the findings of the previous pages.
    remaining = itertools.islice(findings, count_before, None)
    if limit is None:
        stream.send(stream.generate_page(remaining, 'machines', None))
        return {}
    # One more entry than the page has shows whether another page follows.
    entries = list(itertools.islice(remaining, limit + 1))
    answer: Answer = {'machines': entries[:limit], 'next': None}
    if len(entries) > limit:
        answer['next'] = view.build_next_link(
            f'{RESOURCE}/{name}/machines', limit, count_before + limit
        )
    stream.send([json.dumps(answer).encode()])
    return {}


def _list_readable_pages() -> list[fleet_page.Page]:
    """List the nodes whose inventory the caller may read, page by page.

    All pages are read before the first part of the answer is sent, because an
    error could not change the status of the answer after that.
    """
    pages = []
    marker = None
    while True:
        # Without filters and a limit, this is a page of all nodes.
        page = fleet_page.find_nodes({}, None, marker)
        uuids = {uuid for _ident, uuid in page.nodes if uuid}
        readable_uuids = inventory_history.find_readable(
            uuids, page.filters, 'baremetal:node:inventory:get'
        )
        readable_nodes = [
            (ident, uuid)
            for ident, uuid in page.nodes
            if uuid in readable_uuids
        ]
        pages.append(dataclasses.replace(page, nodes=readable_nodes))
        marker = page.next
        if marker is None:
            return pages


def _yield_findings(
    context: Any,
    inspection_table: table.Table,
    pages: Iterable[fleet_page.Page],
    state: str | None,
) -> Iterator[Answer]:
    """Yield the findings of the comparison of rows and machines, for clients.

    :param pages: the nodes to compare.
    :param state: the state of the findings to show; None for all states.
    """
    machines = _compare_machines(context, inspection_table, pages)
    for finding in table_comparison.find_states(inspection_table, machines):
        if state in (None, finding.state):
            yield finding.as_dict()


def _compare_machines(
    context: Any,
    inspection_table: table.Table,
    pages: Iterable[fleet_page.Page],
) -> Iterator[table_comparison.ComparedMachine]:
    """Yield the machines with a stored inventory, compared with their rows.

    The comparison of a machine may take the same time and number of operations
    as rules in an inspection. If it needs more, the machine is yielded without
    a key, because the comparison is given up.
    """
    for uuid, facts in _read_facts(context, pages):
        machine = working_copy.WorkingCopy(facts)
        # Mask the data, because findings must not show secrets of the machine.
        masked_view = machine.view(masked=True)
        try:
            # The budget limits the time and the operations.
            with machine.paid_by(budget.Budget(budget.MAIN)):
                compared = table_comparison.compare(
                    inspection_table, uuid, masked_view
                )
        except exceptions.BudgetExceeded:
            compared = table_comparison.ComparedMachine(uuid, key=None)
        yield compared


def _read_facts(
    context: Any, pages: Iterable[fleet_page.Page]
) -> Iterator[tuple[str, working_copy.Facts]]:
    """Yield the UUIDs and the facts of machines with a stored inventory.

    Facts are the data that rules read: inventory, plugin data, node and ports.
    The machines are read in batches, because the inventories of all of them
    would take too much memory.
    """
    for page in pages:
        for batch in trial.read_machines(context, page):
            for machine in batch:
                # A machine without facts has no inventory.
                if machine.facts is not None:
                    yield machine.node.uuid, machine.facts


def _list_keys(
    inspection_table: table.Table, marker: str | None, most: int
) -> list[str]:
    """Return the keys of a page of rows.

    :param marker: the last key of the previous page; None for the first page.
    :param most: maximum number of keys.
    :raises: Invalid if no row has the marker as its key.
    """
    keys = iter(inspection_table.keys)
    if marker is not None:
        if inspection_table.row(marker) is data_path.ABSENT:
            raise exceptions.Invalid(
                _(
                    'There is no row with the key "%s", which a page could '
                    'begin after'
                )
                % suggestion.shorten(marker)
            )
        # The page begins after the marker, so skip all keys up to it.
        for key in keys:
            if key == marker:
                break
    return list(itertools.islice(keys, most))


def _describe(
    inspection_table: table.Table, in_force: repository.Snapshot
) -> Answer:
    """Return a table as clients see it, without rows and secret columns.

    A table is either stored, and then has a revision, or built-in: it comes
    from the file that ``[inspection_rules]built_in`` names.
    """
    name = inspection_table.definition.name
    stored = in_force.stored_tables.get(name)
    is_built_in = True
    revision = None
    # There may be a stored table of the same name, which the built-in table
    # hides. Compare by identity, because both may be equal.
    if stored is not None and stored.table is inspection_table:
        is_built_in = False
        revision = stored.revision
    columns = [
        column
        for column in inspection_table.columns
        if column not in inspection_table.definition.secret
    ]
    return {
        'name': name,
        **inspection_table.definition.as_dict(),
        'columns': columns,
        'size': len(inspection_table),
        'built_in': is_built_in,
        'revision': revision,
        'links': view.build_links(RESOURCE, name),
    }


def _show_row(inspection_table: table.Table, key: str) -> Answer:
    """Return a row without its secret columns."""
    row = table.without_secret_columns(
        inspection_table.row(key), inspection_table.definition.secret
    )
    return {'key': key, 'row': row}
