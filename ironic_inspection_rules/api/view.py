# SPDX-License-Identifier: Apache-2.0

"""Rules and lists as clients see them: fields, times, links, pages.

``FIELDS`` are all fields of a rule. ``READ_ONLY`` are fields that a client
cannot set. ``BRIEF_FIELDS`` are the fields that a list shows by default, which
leaves out the content of the rules: conditions, actions and vars.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
import datetime
from typing import Any
from urllib import parse

from ironic import api
from ironic.api.controllers import link

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _

RESOURCE = 'inspection_rules'

FIELDS = (*model.FIELDS, 'created_at', 'updated_at')
READ_ONLY = ('uuid', *model.SHOWN)
BRIEF_FIELDS = tuple(name for name in FIELDS if name not in model.CONTENT)


def build_links(resource: str, ident: str) -> list[dict[str, Any]]:
    """Return the links ``self`` and ``bookmark`` of a resource, as Ironic.

    :param resource: path of the collection, e.g. ``inspection_rules``.
    :param ident: the rest of the path, e.g. the UUID of a rule.
    """
    return [
        link.make_link('self', api.request.public_url, resource, ident),
        link.make_link(
            'bookmark', api.request.public_url, resource, ident, bookmark=True
        ),
    ]


def build_page(
    resource: str,
    items: Sequence[Any],
    limit: int,
    represent: Callable[[Any], dict[str, Any]],
    marker: str = 'uuid',
    name: str | None = None,
) -> dict[str, Any]:
    """Return the answer for one page of a list, with a link to the next one.

    For example, ``{'inspection_rules': [{…}, {…}], 'next':
    'http://…/v1/inspection_rules?limit=2&marker=<uuid>'}``.

    :param resource: the path of the list, e.g. ``inspection_rules``.
    :param items: the items of the page, mappings or objects. If another page
        follows, they are one more than ``limit``.
    :param limit: number of items in a page.
    :param represent: returns an item as clients see it.
    :param marker: the field of an item whose value is its marker. The next
        page begins after the item with the marker.
    :param name: the member of the answer that has the list; None for the last
        part of the path.
    """
    name = name or resource.rpartition('/')[2]
    answer: dict[str, Any] = {
        name: [represent(item) for item in items[:limit]]
    }
    has_next_page = len(items) > limit
    if has_next_page:
        last_on_page = items[limit - 1]
        if isinstance(last_on_page, dict):
            marker_of_next = last_on_page[marker]
        else:
            marker_of_next = getattr(last_on_page, marker)
        answer['next'] = build_next_link(resource, limit, marker_of_next)
    return answer


def build_next_link(resource: str, limit: int, marker: Any) -> str:
    """Return the link to the next page, with the filters of this request.

    For example, ``http://…/v1/inspection_rules?phase=main&limit=2&marker=…``.

    :param resource: path of the list, e.g. ``inspection_rules``.
    :param marker: the marker of the next page, e.g. the UUID of the last item
        on this page.
    """
    # Use pairs instead of a mapping, because a URL may repeat a parameter.
    parameters = []
    for name, value in api.request.GET.items():
        if name not in ('limit', 'marker'):
            parameters.append((name, value))
    parameters += [('limit', limit), ('marker', marker)]
    query = parse.urlencode(parameters)
    return str(link.build_url(resource, f'?{query}'))


def choose_fields(
    query: Mapping[str, Any], brief: Sequence[str], all_of_them: Sequence[str]
) -> Sequence[str]:
    """Return the names of the fields that a request for a list asks for.

    :param query: the parameters ``fields`` (a list of names, or None) and
        ``detail`` (true, false or None).
    :param brief: the names for a request with neither parameter.
    :param all_of_them: the names for a request with ``detail``.
    :raises: Invalid if the request has both parameters.
    """
    if query['detail'] and query['fields'] is not None:
        raise exceptions.Invalid(_('Cannot take both "detail" and "fields"'))
    if query['fields'] is not None:
        return query['fields']
    if query['detail']:
        return all_of_them
    return brief


def format_time(value: datetime.datetime | None) -> str | None:
    """Return a time as ISO 8601 text, or None; without a zone it is in UTC."""
    if value is None:
        return None
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    return value.isoformat()


def represent(rule: Any, fields: Iterable[str] = FIELDS) -> dict[str, Any]:
    """Return a rule as clients see it.

    For example, ``{'uuid': UUID, 'description': 'Rack', 'phase': 'main',
    'conditions': […], …, 'links': […]}``. The conditions, actions and vars of
    a sensitive rule are null.

    :param rule: a stored rule (:class:`.StoredRule`) or a built-in one
        (:class:`.model.Rule`).
    :param fields: names of the fields to show in addition to ``links``.
    """
    represented = {name: _represent_field(rule, name) for name in fields}
    content = {
        name: represented[name]
        for name in model.CONTENT
        if name in represented
    }
    # For a sensitive rule, content() returns the same members with null.
    disclosed_content = stored_rule.content(rule, content)
    return {
        **represented,
        **disclosed_content,
        'links': build_links(RESOURCE, rule.uuid),
    }


def _represent_field(rule: Any, name: str) -> Any:
    """Return the value of a field of a rule, as plain JSON data."""
    if name == 'built_in':
        # Stored rules have no such attribute.
        return getattr(rule, name, False)
    # Built-in rules have no created_at and updated_at; these are null.
    value: Any = getattr(rule, name, None)
    if name == model.VARS:
        return dict(value)
    if name in model.OPERATIONS:
        return list(value)
    if name.endswith('_at') and value:
        return value.isoformat()
    return value
