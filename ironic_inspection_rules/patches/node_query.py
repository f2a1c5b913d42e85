# SPDX-License-Identifier: Apache-2.0

"""The query with which Ironic lists nodes."""

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import contextvars
import typing

from ironic.conf import CONF
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import name

# Between the API that lists nodes and the query lie Ironic's own calls, which
# hand on the filters that they know, and no others.
_CONDITIONS: contextvars.ContextVar[tuple[sa.ColumnElement[bool], ...]] = (
    contextvars.ContextVar('node_query_conditions', default=()))

FILTERS = name.Name(
    'ironic.db.sqlalchemy.api', 'Connection._add_nodes_filters',
    'nodes cannot be listed by trait',
    parameters=('self', 'query', 'filters'), required=False)

NAMES = (FILTERS,)

_stock = FILTERS.find()


def install() -> None:
    """Patch the query of nodes to apply :func:`narrowed`, where possible."""
    if name.are_here(NAMES):
        FILTERS.put(_add_nodes_filters)


@contextlib.contextmanager
def narrowed(conditions: Iterable[sa.ColumnElement[bool]]) -> Iterator[None]:
    """Narrow the lists of nodes that are made inside the ``with`` block.

    The conditions become part of Ironic's own query, so they hold together
    with its filters, its sorting and its pages.

    :param conditions: over the columns of Ironic's models.
    :raises: Invalid where a conductor reads the database for this process,
        and would know nothing of the conditions, and where Ironic makes its
        query in another way.
    """
    if CONF.use_rpc_for_database:
        raise exceptions.Invalid(
            _('Nodes cannot be listed by trait: this API has '
              '[DEFAULT]use_rpc_for_database'))
    if FILTERS.find() is not _add_nodes_filters:
        raise exceptions.Invalid(
            _('Nodes cannot be listed by trait with Ironic %s')
            % name.release())
    token = _CONDITIONS.set(tuple(conditions))
    try:
        yield
    finally:
        _CONDITIONS.reset(token)


def _add_nodes_filters(self: typing.Any, query: sa.Select,
                       filters: dict[str, object] | None) -> sa.Select:
    return _stock(self, query, filters).where(*_CONDITIONS.get())
