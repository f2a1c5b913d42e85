# SPDX-License-Identifier: Apache-2.0

"""Requests for tables and their rows, and the export of tables to rule files.

A table in a rule file is ``{'key': 'serial', 'rows': [{'serial': 'A1', 'rack':
'r1'}]}``. The API returns its definition and its rows separately, and a row as
``{'key': 'A1', 'row': {'serial': 'A1', 'rack': 'r1'}}``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib import parse as urlparse

from ironic_inspection_rules.kit.client import http

_TABLES = '/inspection_tables'
_DEFINITION = ('key', 'of', 'types', 'secret', 'expect')
"""The members of a table in a rule file, except for its rows."""


def inspection_tables(baremetal) -> list[dict[str, Any]]:
    """Return the tables, without their rows."""
    answer = http.call(
        baremetal, 'GET', _TABLES, required_member='tables', is_list=True
    )
    return answer['tables']


def get_inspection_table(baremetal, name: str, **query: Any) -> dict[str, Any]:
    """Return a table with a page of its rows.

    :param query: ``key``, or ``limit`` and ``marker``; None means not given.
    """
    return http.call(
        baremetal,
        'GET',
        _path_of_table(name),
        required_member='rows',
        is_list=True,
        params=http.without_none(**query),
    )


def inspection_table_rows(baremetal, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table with their ``key``, page by page."""
    return http.list_items(
        baremetal, _path_of_table(name), name='rows', query={}
    )


def inspection_table_machines(
    baremetal, name: str, state: str | None = None
) -> list[dict[str, Any]]:
    """Compare a table with the stored inventories of the nodes.

    :param state: the state of the machines and rows to return; None for all.
    """
    answer = http.call(
        baremetal,
        'GET',
        f'{_path_of_table(name)}/machines',
        required_member='machines',
        is_list=True,
        params=http.without_none(state=state),
    )
    return answer['machines']


def export_tables(baremetal) -> dict[str, Any]:
    """Read the stored tables, in the form of a rule file.

    The API does not return secret columns. If the file is applied, their
    stored values are kept.

    :returns: the tables by name, see :func:`convert_to_file_form`. Built-in
        tables are left out, because they are in a file of the server.
    """
    tables = {}
    for definition in inspection_tables(baremetal):
        if definition['built_in']:
            continue
        name = definition['name']
        rows = [
            keyed_row['row']
            for keyed_row in inspection_table_rows(baremetal, name)
        ]
        tables[name] = convert_to_file_form(definition, rows)
    return tables


def convert_to_file_form(
    definition: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Convert a table of the API to the form of a rule file.

    An example is ``{'key': 'serial', 'rows': [{'serial': 'A1', 'rack':
    'r1'}]}``. Empty members of the definition are omitted.

    :param definition: the table as the API returns it, e.g. with ``key`` and
        ``types``.
    :param rows: the rows without secret columns.
    """
    file_form: dict[str, Any] = {}
    for member in _DEFINITION:
        if definition[member]:
            file_form[member] = definition[member]
    file_form['rows'] = list(rows)
    return file_form


def _path_of_table(name: str) -> str:
    """Return the path of a table, below ``/v1``."""
    return f'{_TABLES}/{urlparse.quote(name, safe="")}'
