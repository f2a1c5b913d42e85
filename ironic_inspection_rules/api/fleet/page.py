# SPDX-License-Identifier: Apache-2.0

"""The nodes of one page of a fleet.

A request about many nodes, a *fleet*, selects them by a list of names and
UUIDs, e.g. ``['rack1-n7', UUID]``, or by filters, e.g. ``{'driver': 'ipmi'}``.
Its answer is divided into pages. A client gets the next page by sending the
*marker* that it found as ``next`` in the answer.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import inspect
from typing import Any

from ironic import api
from ironic.api.controllers.v1 import node as ironic_node
from ironic.api.controllers.v1 import utils as api_utils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import node_list
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import machine as machine_object
from ironic_inspection_rules.traits import filter as trait_filter

MAX_NODES = 1000
"""Maximum number of nodes of a page."""

_PARAMETERS_OF_LIST = (
    'self',
    'marker',
    'limit',
    'sort_key',
    'sort_dir',
    'fields',
    'detail',
)
"""Parameters of GET /v1/nodes that choose the form, not the nodes."""

# Filters that accept several values: {'shard': ['a', 'b']}.
_FILTERS_WITH_LISTS = (*trait_filter.PARAMETERS, 'shard')


def _filters_of_ironic() -> list[str]:
    """Return the names of Ironic's filters of nodes, e.g. ``driver``.

    They are the parameters of the method that lists nodes, and differ between
    releases of Ironic.
    """
    parameters = inspect.signature(
        ironic_node.NodesController.get_all
    ).parameters
    return [name for name in parameters if name not in _PARAMETERS_OF_LIST]


FILTERS = (*_filters_of_ironic(), *trait_filter.PARAMETERS)
"""The filters of ``GET /v1/nodes`` in this release of Ironic."""


RequestedNode = tuple[str, str | None]
"""A node as the request names it, and its UUID: ``('rack1-n7', UUID)``.

The UUID is None if no node has the name.
"""


@dataclasses.dataclass(frozen=True)
class Page:
    """Some nodes, in the order of the request or of Ironic's list.

    ``filters`` must be passed to Ironic's query of nodes, so that it leaves
    out nodes that the caller may not see: ``{'project': …}``. ``next`` is the
    marker of the next page; None for the last page.
    """

    nodes: Sequence[RequestedNode]
    filters: Mapping[str, Any]
    next: str | None = None


def find_nodes(nodes: Any, limit: int | None, marker: str | None) -> Page:
    """Find the nodes of one page of a request about many nodes.

    :param nodes: the nodes of the request: a list of names and UUIDs, or a
        mapping of filters, e.g. ``{'driver': 'ipmi'}``.
    :param limit: number of nodes in the page; None for :data:`MAX_NODES`.
    :param marker: ``next`` of the previous page; None for the first page.
    :raises: InvalidBody with the problems from :func:`find_problems`; errors
        of Ironic.
    """
    if isinstance(nodes, list):
        return find_by_names(nodes, limit, marker)
    return find_by_filters(nodes, limit, marker)


def find_problems(nodes: Any, marker: str | None) -> list[exceptions.Problem]:
    """Return the problems of the nodes and of the marker of a request.

    Only Ironic checks whether the value of a filter is meaningful, e.g. the
    name of a driver.

    :param nodes: a list of names and UUIDs, or a mapping of filters.
    :param marker: the marker of the request, if any.
    """
    if isinstance(nodes, list):
        return _problems_of_names(nodes, marker)
    return _problems_of_filters(nodes)


def _problems_of_filters(
    filters: Mapping[str, Any],
) -> list[exceptions.Problem]:
    """Return the problems of filters: unknown names and wrong types of values.

    A filter whose value is None counts as missing.
    """
    problems = []
    unknown = suggestion.all_unknown_message(
        _('filter of nodes'), filters, FILTERS
    )
    if unknown:
        problems.append(exceptions.Problem('/nodes', unknown))
    for name in FILTERS:
        value = filters.get(name)
        if value is None:
            continue
        try:
            # Only the error is of interest here, because find_by_filters()
            # formats the values again.
            _format_for_url(name, value)
        except exceptions.Invalid as exc:
            problems.append(exceptions.Problem(f'/nodes/{name}', str(exc)))
    return problems


def _problems_of_names(
    idents: Sequence[Any], marker: str | None
) -> list[exceptions.Problem]:
    """Return the problems of a list of names and UUIDs, and of its marker.

    :param idents: the list as the client sent it; its items may be of any
        type.
    :param marker: the number of names and UUIDs before the page, as text.
    """
    if len(idents) > MAX_NODES:
        text = _(
            '"nodes" lists %(count)d nodes, more than %(most)d; ask for '
            'them page by page'
        ) % {'count': len(idents), 'most': MAX_NODES}
        # The items of such a long list are not checked.
        return [exceptions.Problem('/nodes', text)]
    problems = []
    if not all(isinstance(ident, str) for ident in idents):
        text = _('"nodes" must list UUIDs and names of nodes')
        problems.append(exceptions.Problem('/nodes', text))
    # A marker is a position in the list. Compare it as text, because int()
    # also accepts "1_0" and " 1".
    allowed_markers = map(str, range(len(idents)))
    if marker is not None and marker not in allowed_markers:
        text = _('"marker" must be the "next" of a page of this list')
        problems.append(exceptions.Problem('/marker', text))
    return problems


def find_by_filters(
    filters: Mapping[str, Any], limit: int | None, marker: str | None
) -> Page:
    """Find the nodes of a page that ``GET /v1/nodes`` would show the caller.

    With a filter by conductor, a page may have fewer nodes than the limit, or
    none, even if more pages follow.

    :param filters: the filters of the request, not checked yet; None stands
        for a missing filter.
    :param limit: number of nodes in the page, unless Ironic's own limit is
        lower; None for :data:`MAX_NODES`.
    :param marker: UUID of the last node of the previous page.
    :raises: InvalidBody for invalid filters; errors of Ironic.
    """
    problems = _problems_of_filters(filters)
    if problems:
        raise exceptions.InvalidBody(problems)
    query = {
        name: _format_for_url(name, value)
        for name, value in filters.items()
        if value is not None
    }
    # List the page without the filter by conductor first, to find out whether
    # more nodes follow. With this filter, Ironic reads a page, removes the
    # nodes of other conductors, and takes a page that became shorter for the
    # last one.
    conductor = query.pop('conductor', None)
    limit = limit or MAX_NODES
    uuids, has_more = node_list.list_uuids(query, limit, marker)
    next_marker = None
    if has_more:
        next_marker = uuids[-1]
    if conductor is not None:
        # List the same page again, with this filter.
        query['conductor'] = conductor
        uuids, _has_more = node_list.list_uuids(query, limit, marker)
    nodes: list[RequestedNode] = [(uuid, uuid) for uuid in uuids]
    # Ironic's list has no nodes that the caller may not see, so the page needs
    # no filter by project.
    return Page(nodes, {'include_children': True}, next_marker)


def _format_for_url(name: str, value: Any) -> str:
    """Return the value of a filter as text for the URL of ``GET /v1/nodes``.

    For example, ``['HW_GPU', 'CUSTOM_A']`` becomes ``HW_GPU,CUSTOM_A``, and
    True becomes ``true``.

    :param name: the name of the filter. Only some filters accept lists.
    :raises: Invalid if the filter does not accept the value.
    """
    values = [value]
    if isinstance(value, list) and name in _FILTERS_WITH_LISTS:
        values = value
    texts = [_format_value(name, single_value) for single_value in values]
    return ','.join(texts)


def find_by_names(
    idents: Sequence[Any], limit: int | None = None, marker: str | None = None
) -> Page:
    """Find the nodes of a page of a list of names and UUIDs.

    A name that no node has is in the page, with None as its UUID. The page
    also has nodes that the client may not see: code that reads the nodes must
    use the filters of the page.

    :param idents: all names and UUIDs of the request, not yet checked.
    :param limit: number of nodes in the page; None for :data:`MAX_NODES`.
    :param marker: the number of names and UUIDs before this page, as text.
    :raises: InvalidBody if ``idents`` are not strings, or too many, or if the
        marker is not such a number; HTTPForbidden if the caller may not list
        nodes.
    """
    problems = _problems_of_names(idents, marker)
    if problems:
        raise exceptions.InvalidBody(problems)
    start = 0
    if marker is not None:
        start = int(marker)
    end = start + (limit or MAX_NODES)
    next_marker = None
    if end < len(idents):
        next_marker = str(end)
    idents_of_page = idents[start:end]
    filters: dict[str, Any] = {'include_children': True}
    # None if the client may list the nodes of all projects.
    project = api_utils.check_list_policy('node')
    if project:
        filters['project'] = project
    uuid_by_ident = _find_uuids(idents_of_page)
    nodes: list[RequestedNode] = [
        (ident, uuid_by_ident.get(ident)) for ident in idents_of_page
    ]
    return Page(nodes, filters, next_marker)


def _find_uuids(idents: Sequence[str]) -> dict[str, str]:
    """Find the UUIDs of nodes by the names and UUIDs of a request.

    One query looks up all names. UUIDs are not looked up. When the caller
    reads the nodes, it finds out whether they exist and whether the client may
    see them.

    :returns: the UUIDs by the texts of the request, e.g. ``{'rack1-n7': UUID,
        UUID: UUID}``. Names that no node has, and texts that cannot be names,
        are missing.
    """
    uuid_by_ident = {}
    names = set()
    for ident in idents:
        if uuidutils.is_uuid_like(ident):
            uuid_by_ident[ident] = ident.lower()
        elif api_utils.is_valid_node_name(ident):
            names.add(ident)
    if names:
        nodes = machine_object.InspectedMachine.identify(
            api.request.context, sorted(names)
        )
        for uuid, name in nodes:
            uuid_by_ident[name] = uuid
    return uuid_by_ident


def _format_value(name: str, value: Any) -> str:
    """Return one value of a filter as text for the URL of ``GET /v1/nodes``.

    :param name: the name of the filter, for the message.
    :raises: Invalid if the value is not text, an integer or a boolean, or if
        it is a text that the database cannot compare.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        if name in _FILTERS_WITH_LISTS:
            text = _('The filter "%s" takes a string or a list of strings')
        else:
            text = _('The filter "%s" takes one string, number or boolean')
        raise exceptions.Invalid(text % name)
    if '\0' in value or not _is_encodable(value):
        raise exceptions.Invalid(
            _('The filter "%s" has a character that no text has') % name
        )
    return value


def _is_encodable(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8.

    A text from JSON such as ``"\\ud83d"`` cannot, because it contains half of
    a UTF-16 pair.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
