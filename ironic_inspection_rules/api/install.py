# SPDX-License-Identifier: Apache-2.0

"""Installs the calls of this project in Ironic's API.

Named in ``[api]middleware``, it puts its calls beside Ironic's own, so that
authentication, policies, limits and errors are Ironic's.
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
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.inspection import switches
from ironic_inspection_rules.patches import body_limit
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.patches import name

NAMES = (*controllers.NAMES, *body_limit.NAMES)
"""Names of Ironic without which its API does not start."""

_STREAMED = (
    'inspection_rules/evaluate',
    'inspection_rules/replay',
    '/machines',
)
"""How the paths of calls end whose answers may be long."""


def install(app: Callable) -> Callable:
    """Extend Ironic's API by all calls of this project.

    Ironic calls this while it makes its application, where
    ``[api]middleware`` names the entry point.

    Ironic's map of controllers, its policies and its limits of bodies change
    in place.

    :param app: Ironic's WSGI application.
    :returns: the application, with three layers around it: one that limits
        bodies, one for clients of ironic-inspector, and one that sends long
        answers while they are made. What ramdisks post passes the first only.
    :raises: :class:`.exceptions.InspectionRulesError` where rules cannot be
        run; Ironic does not start then.
    """
    # First of all, as what follows uses these names. An error in here keeps
    # Ironic from starting.
    with start.required():
        name.check(NAMES)
    rules = start.rules()
    announcement.announce(announcement.API, rules)
    if start.is_all_in_one():
        # The conductor is in this process, and the setup of conductors is in
        # the module of the inspection hook. It may be that no inspect
        # interface has loaded the hook. An API in a process of its own does
        # not load this module.
        from ironic_inspection_rules import hook

        hook.prepare_conductor()
    policies.register(policy.get_enforcer())
    for path in request.LARGE:
        body_limit.as_inspection_data(path)
    body_limit.count_depth_fast()
    _serve_routes()
    controllers.patch_node_lists()
    controllers.serve('nodes', node.NodesController())
    controllers.serve_of_chassis(node.NodesController())
    controllers.show_in_root('traits', api_utils.allow_traits)
    if CONF.inspection_queue.enabled:
        with start.required():
            inspection_queue.install()
    # The first layer is the innermost. Refusals of the guard must get the
    # form of ironic-inspector, too. The layer that streams is the outermost,
    # as another one around it could read a long answer whole.
    guarded = request.guard(app)
    in_inspector_form = inspector_forms.layer(guarded)
    streamed = stream.layer(in_inspector_form, endings=_STREAMED)
    return continue_inspection.pass_layers(guarded, streamed)


def _serve_routes() -> None:
    """Put the calls of this project into Ironic's map of controllers.

    Ironic looks up the first part of a path, such as ``inspection_rules``, in
    one map, and what follows a node, such as ``traits``, in another one.
    """
    for route in routes.TABLE:
        first_part = route.parts[0]
        if first_part == 'nodes':
            # The route is nodes/{node}/traits or below it.
            name_below = route.parts[2]
            controllers.serve_of_node(
                name_below, functools.partial(_controller_of_node, name_below)
            )
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
    """Stop the service, as ``[api]middleware`` has a misspelt name.

    This is the entry point of names that are close to the right one, such as
    ``inspection_rules``. Without it, Ironic would end with a traceback before
    it loads this plugin.

    :raises: Invalid that says which name was meant.
    """
    start.refuse(switches.near_middleware())
    return app
