# SPDX-License-Identifier: Apache-2.0

"""Patches of Ironic's API controllers."""

from collections.abc import Callable, Iterable, Iterator
import contextlib
import contextvars
import inspect
import typing

from ironic import api
from ironic.api.controllers.v1 import collection
from ironic.api.controllers.v1 import ramdisk
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import name

Controller = typing.Any
_Method = Callable[..., typing.Any]

MAP = name.Name(
    'ironic.api.controllers.v1',
    'Controller._subcontroller_map',
    'there is no place for the API of rules and traits',
)
ROOT = name.Name(
    'ironic.api.controllers.v1',
    'VERSIONED_CONTROLLERS',
    'the root of the API does not show traits',
)
OF_CHASSIS = name.Name(
    'ironic.api.controllers.v1.chassis',
    'ChassisController.nodes',
    'the nodes of a chassis cannot be listed by trait',
)
OF_NODE = name.Name(
    'ironic.api.controllers.v1.node',
    'NodesController._subcontroller_map',
    "there is no place for the API of a node's traits",
)

BENEATH = tuple(
    name.Name(
        'ironic.api.controllers.v1.node',
        path,
        'what Ironic itself answers is out of reach',
        parameters,
    )
    for path, parameters in (
        ('NodesController.get_all', None),
        ('NodesController.detail', None),
        ('NodesController._lookup', ('self', 'ident', 'remainder')),
        ('NodeTraitsController.put', ('self', 'trait', 'body')),
        ('NodeTraitsController.delete', ('self', 'trait')),
        ('NodeInventoryController.get', ('self',)),
        ('NodeStatesController.provision', ('self', 'node_ident', 'target')),
    )
)
"""Methods that controllers of this project call, see :func:`undecorated`."""

POST = name.Name(
    'ironic.api.controllers.v1.ramdisk',
    'ContinueInspectionController.post',
    'inspection data cannot be taken from ramdisks',
    parameters=('self', 'data', 'node_uuid'),
)
VALIDATOR = name.Name(
    'ironic.api.controllers.v1.ramdisk',
    'DATA_VALIDATOR',
    'inspection data cannot be checked',
    parameters=('name', 'value'),
)
HAND_OVER = name.Name(
    'ironic.conductor.rpcapi',
    'ConductorAPI.continue_inspection',
    'inspection data cannot be put into the queue',
    parameters=('self', 'context', 'node_id', 'inventory', 'plugin_data'),
)
FILTERS = name.Name(
    'ironic.db.sqlalchemy.api',
    'Connection._add_nodes_filters',
    'nodes cannot be listed by trait',
    parameters=('self', 'query', 'filters'),
    required=False,
)

ANSWER = name.Name(
    'ironic.api.controllers.v1.node',
    'node_list_convert_with_links',
    'the nodes of a fleet are found more slowly',
    parameters=('nodes', 'limit', 'url'),
    required=False,
)

NAMES = (
    MAP,
    ROOT,
    OF_CHASSIS,
    OF_NODE,
    *BENEATH,
    POST,
    VALIDATOR,
    HAND_OVER,
    FILTERS,
    ANSWER,
)

# Use a context variable, because Ironic's code lies between the API that lists
# nodes and the query, and passes on only filters that it knows.
_CONDITIONS_ON_NODES: contextvars.ContextVar[
    tuple[sa.ColumnElement[bool], ...]
] = contextvars.ContextVar('node_query_conditions', default=())

_ONLY_UUIDS: contextvars.ContextVar[bool] = contextvars.ContextVar(
    'only_uuids', default=False
)

_stock_filters = FILTERS.find()
_stock_answer = ANSWER.find()
_stock_validator = VALIDATOR.find()
_stock_post = POST.find()


def serve(path: str, controller: Controller) -> None:
    """Route ``/v1/<path>`` to a controller.

    :param controller: the controller, which replaces Ironic's if there is one.
    """
    MAP.find()[path] = controller


def serve_of_chassis(controller: Controller) -> None:
    """Route ``/v1/chassis/<uuid>/nodes`` to a controller."""
    # Ironic's controller of nodes reads this mark. If it is set, it lists only
    # the nodes of a chassis.
    controller.from_chassis = True
    OF_CHASSIS.put(controller)


def serve_of_node(path: str, controller: Callable[..., Controller]) -> None:
    """Route ``/v1/nodes/<ident>/<path>`` to a controller.

    :param controller: its class, or a function; called with ``node_ident``.
    """
    OF_NODE.find()[path] = controller


def show_in_root(path: str, allowed: Callable[[], bool]) -> None:
    """List ``/v1/<path>`` among the resources that ``GET /v1`` shows.

    :param allowed: returns whether the microversion of the present request has
        it.
    """
    ROOT.find()[path] = allowed


def undecorated(method: _Method) -> _Method:
    """Return a method of an Ironic controller without its JSON decorators.

    The method itself answers with JSON and a status. The returned function
    also converts its arguments, but returns plain data and raises errors.
    """
    # Ironic sets arguments_transformed on a function that converts its
    # arguments, and functools.wraps copies it to the decorators around it. The
    # innermost function that has it is the one without JSON.
    undecorated_method = method
    while True:
        inner = getattr(undecorated_method, '__wrapped__', None)
        if not getattr(inner, 'arguments_transformed', False):
            return undecorated_method
        undecorated_method = typing.cast(_Method, inner)


def validated_inspection_data(data: typing.Any) -> dict[str, typing.Any]:
    """Return inspection data as Ironic's own check accepts them.

    :raises: InvalidParameterValue if Ironic refuses the data.
    """
    return _stock_validator('data', data)


def post_inspection_data(
    data: dict[str, typing.Any],
    node_uuid: str | None,
    hand_over: Callable[..., None] | None = None,
) -> typing.Any:
    """Find a node and hand its inspection data to a conductor, as Ironic does.

    :param node_uuid: the UUID that the ramdisk sends, if any.
    :param hand_over: called instead of ``ConductorAPI.continue_inspection``
        when the node is found, with the same arguments; None for Ironic's own.
    """
    if hand_over is not None:
        # Ironic creates a ConductorAPI per request, so this replaces the
        # method only for the current request.
        api.request.rpcapi.continue_inspection = hand_over
    # Unwrap the method, because its decorators would turn an error into an
    # answer, and the caller could not tell that the data were refused.
    post = inspect.unwrap(_stock_post)
    return post(ramdisk.ContinueInspectionController(), data, node_uuid)


def patch_node_lists() -> None:
    """Patch Ironic's lists of nodes for the two ``with`` blocks below.

    After this, their query applies :func:`node_conditions`, and their answer
    applies :func:`only_uuids`, if this Ironic has the patched functions.
    """
    if name.are_here([FILTERS]):
        FILTERS.put(_add_nodes_filters)
    if name.are_here([ANSWER]):
        ANSWER.put(_convert_nodes)


@contextlib.contextmanager
def only_uuids() -> Iterator[None]:
    """Make lists of nodes inside the ``with`` block return only UUIDs.

    Ironic builds the whole answer for every node, with links, before it
    removes the fields that were not asked for. For a fleet, this takes longer
    than the query.
    """
    token = _ONLY_UUIDS.set(True)
    try:
        yield
    finally:
        _ONLY_UUIDS.reset(token)


@contextlib.contextmanager
def node_conditions(
    conditions: Iterable[sa.ColumnElement[bool]],
) -> Iterator[None]:
    """Add conditions to the query with which Ironic lists nodes.

    They apply to all lists of nodes that Ironic makes inside the ``with``
    block, in addition to the filters of the request.

    :param conditions: conditions on the columns of Ironic's models.
    :raises: Invalid if the query of this Ironic could not be patched.
    """
    if FILTERS.find() is not _add_nodes_filters:
        raise exceptions.Invalid(
            _('Nodes cannot be listed by trait with Ironic %s')
            % name.release()
        )
    token = _CONDITIONS_ON_NODES.set(tuple(conditions))
    try:
        yield
    finally:
        _CONDITIONS_ON_NODES.reset(token)


def _convert_nodes(
    nodes: Iterable[typing.Any],
    limit: int | None,
    url: str,
    *args: typing.Any,
    **kwargs: typing.Any,
) -> typing.Any:
    """Build the answer of a list of nodes: Ironic's own, or only UUIDs.

    Ironic checks for every node which fields the client may see. Nothing is
    checked for UUIDs, because everybody may see them.
    """
    if not _ONLY_UUIDS.get():
        return _stock_answer(nodes, limit, url, *args, **kwargs)
    listed_nodes = [{'uuid': node.uuid} for node in nodes]
    # This also adds the link to the next page, which the caller needs.
    return collection.list_convert_with_links(
        listed_nodes, 'nodes', limit, url, *args, **kwargs
    )


def _add_nodes_filters(
    self: typing.Any, query: sa.Select, filters: dict[str, object] | None
) -> sa.Select:
    """Add Ironic's filters to a query of nodes, and our conditions."""
    stock_query = _stock_filters(self, query, filters)
    return stock_query.where(*_CONDITIONS_ON_NODES.get())
