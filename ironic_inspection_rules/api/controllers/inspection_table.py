# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_tables: the tables of the rule set, without secrets."""

import itertools
from typing import Any

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.rule_set import repository

RESOURCE = 'inspection_tables'

Answer = dict[str, Any]


def _text(_name: str, value: str) -> str:
    return value


SHOW = {'key': _text, 'limit': request.integer, 'marker': _text}


def get_all() -> Answer:
    """List the tables, by name."""
    in_force = start.rules().refresh(api.request.context)
    return {RESOURCE.removeprefix('inspection_'): [
        _described(in_force.tables[name], in_force)
        for name in sorted(in_force.tables)]}


def get_one(name: str, query: Answer) -> Answer:
    """Show a table, with a page of its rows, or with the row of a key."""
    in_force = start.rules().refresh(api.request.context)
    found = in_force.tables.get(name)
    if found is None:
        hint = suggestion.hint(name, in_force.tables)
        raise exceptions.NotFound(
            _('There is no inspection table "%(name)s"; %(hint)s')
            % {'name': suggestion.shown(name), 'hint': hint or _(
                'there are none')})
    answer = _described(found, in_force)
    if query['key'] is not None:
        for other in ('limit', 'marker'):
            if query[other] is not None:
                raise exceptions.Invalid(
                    _('"key" asks for one row, without "%s"') % other)
        row = found.row(query['key'])
        keys = [] if row is data_path.ABSENT else [query['key']]
        return {**answer, 'rows': [_shown(found, key) for key in keys]}
    limit = api_utils.validate_limit(query['limit'])
    keys = _page(found, query['marker'], limit + 1)
    page = view.page(f'{RESOURCE}/{name}', [{'key': key} for key in keys],
                     limit, lambda entry: _shown(found, entry['key']),
                     marker='key', name='rows')
    return {**answer, **page}


def _page(found: table.Table, marker: str | None, most: int) -> list[str]:
    """Return the keys after a marker.

    :raises: Invalid if there is no row of that key.
    """
    keys = iter(found.keys)
    if marker is not None:
        if found.row(marker) is data_path.ABSENT:
            raise exceptions.Invalid(
                _('There is no row with the key "%s", which a page could '
                  'begin after') % suggestion.shown(marker))
        for key in keys:
            if key == marker:
                break
    return list(itertools.islice(keys, most))


def _described(found: table.Table, in_force: repository.Snapshot) -> Answer:
    """Return a table without its rows; built-in ones have no revision."""
    name = found.definition.name
    stored = in_force.stored_tables.get(name)
    is_built_in = stored is None or stored.table is not found
    return {
        'name': name, **found.definition.as_dict(),
        'columns': [column for column in found.columns
                    if column not in found.definition.secret],
        'size': len(found), 'built_in': is_built_in,
        'revision': None if stored is None or is_built_in else (
            stored.revision),
        'links': view.links(RESOURCE, name)}


def _shown(found: table.Table, key: str) -> Answer:
    return {'key': key, 'row': table.shown_row(
        found.row(key), found.definition.secret)}
