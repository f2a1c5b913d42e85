# SPDX-License-Identifier: Apache-2.0

"""Patches of Ironic's API controllers.

A *controller* handles the requests to one path of the API. The functions here

- route paths to controllers of this project;
- call methods of Ironic's controllers as plain functions;
- change how Ironic lists nodes: which nodes are listed, and whether only their
  UUIDs are returned.

A variable ``_stock_…`` is Ironic's own function, which a replacement calls.
"""

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

CALLED_METHODS = tuple(
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
"""Methods that controllers of this project call, see :func:`undecorate`."""

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
    *CALLED_METHODS,
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

_stock_add_nodes_filters = FILTERS.find()
_stock_convert_nodes = ANSWER.find()
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
    OF_CHASSIS.replace_with(controller)


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


def undecorate(method: _Method) -> _Method:
    """Return a method of an Ironic controller without its JSON decorators.

    Ironic decorates its methods. An inner decorator checks and converts the
    arguments. An outer decorator turns the result into JSON, and an error into
    an answer with a status. The returned function has no outer decorator, so
    it returns plain data and raises errors.

    :param method: a method of an Ironic controller, e.g.
        ``NodesController.get_all``.
    """
    # The inner decorator marks its function with arguments_transformed, and
    # functools.wraps copies the mark to the functions of the outer decorators.
    # Therefore the innermost function with the mark is the right one.
    function = method
    while True:
        inner = getattr(function, '__wrapped__', None)
        if not getattr(inner, 'arguments_transformed', False):
            return function
        function = typing.cast(_Method, inner)


def validate_inspection_data(data: typing.Any) -> dict[str, typing.Any]:
    """Return inspection data as Ironic's own check accepts them.

    A ramdisk posts such data, or an operator for a reapplication.

    :raises: InvalidParameterValue if Ironic refuses the data.
    """
    return _stock_validator('data', data)


def post_inspection_data(
    data: dict[str, typing.Any],
    node_uuid: str | None,
    hand_over: Callable[..., None] | None = None,
) -> typing.Any:
    """Find a node and hand its inspection data to a conductor, as Ironic does.

    The API of this project calls this after its early rules have run.

    :param data: the data that the ramdisk has posted.
    :param node_uuid: the UUID of the node, if the ramdisk sends it.
    :param hand_over: called with the data when the node is found, instead of
        ``ConductorAPI.continue_inspection`` and with the same arguments. None
        to call Ironic's own method.
    :returns: the answer of Ironic to the ramdisk, as plain data.
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
    """Patch the two functions with which Ironic lists nodes.

    The first one queries the nodes, and is patched for
    :func:`node_conditions`, by which nodes are listed by trait. The second one
    builds the answer, and is patched for :func:`only_uuids`. A function is not
    patched if this Ironic lacks it or has it with other parameters.
    """
    if name.are_available([FILTERS]):
        FILTERS.replace_with(_add_nodes_filters)
    if name.are_available([ANSWER]):
        ANSWER.replace_with(_convert_nodes)


@contextlib.contextmanager
def only_uuids() -> Iterator[None]:
    """Make lists of nodes inside the ``with`` block return only UUIDs.

    Otherwise, Ironic builds the whole answer for every node, with links, and
    then removes the fields that were not asked for. For many nodes, this takes
    longer than the query.
    """
    # _convert_nodes() reads the variable.
    token = _ONLY_UUIDS.set(True)
    try:
        yield
    finally:
        _ONLY_UUIDS.reset(token)


@contextlib.contextmanager
def node_conditions(
    conditions: Iterable[sa.ColumnElement[bool]],
) -> Iterator[None]:
    """Restrict the lists of nodes inside the ``with`` block by SQL conditions.

    They apply in addition to the filters of the request.

    :param conditions: conditions on the columns of Ironic's models.
    :raises: Invalid if the query of this Ironic could not be patched.
    """
    is_patched = FILTERS.find() is _add_nodes_filters
    if not is_patched:
        raise exceptions.Invalid(
            _('Nodes cannot be listed by trait with Ironic %s')
            % name.release()
        )
    # _add_nodes_filters() reads the variable.
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
    """Build the answer for a list of nodes.

    Inside ``with only_uuids():`` it is ``{'nodes': [{'uuid': …}, …], 'next':
    …}`` with the link to the next page. Otherwise it is Ironic's own answer.

    The parameters are the parameters of Ironic's own function.
    """
    if not _ONLY_UUIDS.get():
        return _stock_convert_nodes(nodes, limit, url, *args, **kwargs)
    # Ironic checks for every node which fields the client may see. This is not
    # needed here, because everybody may see UUIDs.
    listed_nodes = [{'uuid': node.uuid} for node in nodes]
    return collection.list_convert_with_links(
        listed_nodes, 'nodes', limit, url, *args, **kwargs
    )


def _add_nodes_filters(
    self: typing.Any, query: sa.Select, filters: dict[str, object] | None
) -> sa.Select:
    """Add Ironic's filters to a query of nodes, and then our conditions."""
    filtered_query = _stock_add_nodes_filters(self, query, filters)
    return filtered_query.where(*_CONDITIONS_ON_NODES.get())
