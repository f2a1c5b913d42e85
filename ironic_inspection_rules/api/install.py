# SPDX-License-Identifier: Apache-2.0

"""Installs the calls of this project in Ironic's API.

``[api]middleware`` names this plugin. Ironic then calls :func:`install` with
its WSGI application. The calls of this project are added to Ironic's own
controllers, so that Ironic's authentication, policies, limits and errors apply
to them. A few WSGI layers around the application change requests and answers.
"""

from collections.abc import Callable
import functools

from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import policy
from ironic.conf import CONF

from ironic_inspection_rules import policies
from ironic_inspection_rules.api import inspection_queue
from ironic_inspection_rules.api import inspector_forms
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import routes
from ironic_inspection_rules.api import routing
from ironic_inspection_rules.api import stream
from ironic_inspection_rules.api.controllers import continue_inspection
from ironic_inspection_rules.api.controllers import node
from ironic_inspection_rules.inspection import announcement
from ironic_inspection_rules.inspection import disabling_options
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.patches import body_limit
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.patches import name

NAMES = (*controllers.NAMES, *body_limit.NAMES)
"""Names of Ironic that the API needs to start."""

_STREAMED = (
    'inspection_rules/evaluate',
    'inspection_rules/replay',
    '/machines',
)
"""Endings of the paths of calls that may have long answers."""


def install(app: Callable) -> Callable:
    """Add all calls of this project to Ironic's API.

    Ironic calls this while it builds its application, if ``[api]middleware``
    names the entry point. The function changes Ironic's map of controllers,
    its policies and its limits on bodies in place.

    :param app: Ironic's WSGI application.
    :returns: the application, wrapped in three layers. The first limits
        bodies, the second supports clients of ironic-inspector, and the third
        sends long answers while they are generated. Data posted by ramdisks
        pass only the first layer.
    :raises: :class:`.exceptions.InspectionRulesError` if rules cannot be run;
        Ironic does not start then.
    """
    # The names are checked first, because the code below uses them. An error
    # in this block keeps Ironic from starting.
    with start.stop_service_on_error():
        name.check(NAMES)
    rules = start.rules()
    announcement.announce(announcement.API, rules)
    if start.is_all_in_one():
        # The conductor runs in this process, and the module of the inspection
        # hook sets up conductors. It is imported here because maybe no inspect
        # interface has loaded the hook. An API in a separate process does not
        # load this module.
        from ironic_inspection_rules import hook

        hook.prepare_conductor()
    policies.register(policy.get_enforcer())
    for path in request.LARGE:
        body_limit.allow_size_of_inspection_data(path)
    body_limit.count_depth_fast()
    _serve_routes()
    controllers.patch_node_lists()
    controllers.serve('nodes', node.NodesController())
    controllers.serve_of_chassis(node.NodesController())
    controllers.show_in_root('traits', api_utils.allow_traits)
    if CONF.inspection_queue.enabled:
        with start.stop_service_on_error():
            inspection_queue.install()
    # The guard is the innermost layer, because its errors must also get the
    # form of ironic-inspector. The streaming layer is the outermost, because
    # a layer around it could read a whole long answer into memory.
    guarded = request.check_body(app)
    in_inspector_form = inspector_forms.layer(guarded)
    streamed = stream.layer(in_inspector_form, endings=_STREAMED)
    return continue_inspection.bypass_middleware(guarded, streamed)


def _serve_routes() -> None:
    """Add the calls of this project to Ironic's maps of controllers.

    Ironic has two maps. One has the controller of the first part of a path,
    e.g. ``inspection_rules``. The other one has the controller of the part
    that follows a node, e.g. ``traits`` in ``nodes/<node>/traits``.
    """
    for route in routes.TABLE:
        first_part = route.parts[0]
        if first_part == 'nodes':
            # The route is e.g. nodes/{node}/traits or below it.
            name_below = route.parts[2]
            # Called with the name or the UUID of a node.
            make_controller = functools.partial(
                _controller_of_node, name_below
            )
            controllers.serve_of_node(name_below, make_controller)
        else:
            controllers.serve(
                first_part, routing.RoutesBelow(routes.TABLE, first_part)
            )


def _controller_of_node(
    name_below: str, node_ident: str
) -> routing.RoutesBelow:
    """Return the controller of ``/v1/nodes/<node_ident>/<name_below>``."""
    return routing.RoutesBelow(routes.TABLE, 'nodes', node_ident, name_below)


def refuse(app: Callable) -> Callable:
    """Stop the service because ``[api]middleware`` has a misspelled name.

    This is the entry point for names that are similar to the right name, e.g.
    ``inspection_rules``. Without it, Ironic would exit with a traceback before
    it loads this plugin.

    :raises: Invalid with the name that was probably meant.
    """
    start.stop_service_if(disabling_options.find_misspelled_middleware())
    return app
