# SPDX-License-Identifier: Apache-2.0

"""How this project gets into Ironic's API.

Named in ``[api]middleware``, it puts its controllers beside Ironic's own,
so that authentication, policies, limits and errors are Ironic's.
"""

from collections.abc import Callable
import functools

from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import policy
from ironic.conf import CONF

from ironic_inspection_rules import policies
from ironic_inspection_rules.api import body_guard
from ironic_inspection_rules.api import inspector_forms
from ironic_inspection_rules.api import stream
from ironic_inspection_rules.api.controllers import continue_inspection
from ironic_inspection_rules.api.controllers import inspection_part
from ironic_inspection_rules.api.controllers import inspection_rule
from ironic_inspection_rules.api.controllers import inspection_run
from ironic_inspection_rules.api.controllers import inspector_rule
from ironic_inspection_rules.api.controllers import introspection
from ironic_inspection_rules.api.controllers import node
from ironic_inspection_rules.api.controllers import node_trait
from ironic_inspection_rules.api.controllers import switched_off
from ironic_inspection_rules.api.controllers import trait
from ironic_inspection_rules.inspection import announcement
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.patches import body_limit
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.patches import name
from ironic_inspection_rules.patches import names
from ironic_inspection_rules.patches import node_query

_STREAMED = ('inspection_rules/evaluate', 'inspection_rules/replay')


def install(app: Callable) -> Callable:
    """Extend Ironic's API.

    :param app: Ironic's WSGI application.
    :returns: the same one, as what it routes to has changed; around it a
        layer that limits bodies, one for clients of ironic-inspector, and
        one that sends long answers while they are made.
    :raises: :class:`.exceptions.InspectionRulesError` where rules cannot be
        run; Ironic does not start then.
    """
    with start.required():
        name.check(names.OF_API)
    rules = start.rules()
    announcement.announce('API', rules)
    if start.is_all_in_one():
        # Its conductor may have no interface that loads the hook. An API of
        # its own loads nothing of what conductors need.
        from ironic_inspection_rules.inspection import hook
        hook.prepare_conductor()
    policies.register(policy.get_enforcer())
    controllers.serve('inspection_rules',
                      inspection_rule.InspectionRuleController(rules))
    for path in _STREAMED:
        body_limit.as_inspection_data(path)
    body_limit.as_inspection_data('inspection_rules')
    controllers.serve('rules', inspector_rule.InspectorRuleController(rules))
    controllers.serve(
        'continue_inspection',
        continue_inspection.ContinueInspectionController())
    controllers.serve_of_node('inspection_runs', functools.partial(
        inspection_run.InspectionRunController, rules))
    controllers.serve('inspection_parts',
                      inspection_part.InspectionPartController())
    _install_traits()
    if CONF.inspection_queue.enabled:
        # What is switched off is not even loaded.
        from ironic_inspection_rules.api import inspection_queue
        with start.required():
            inspection_queue.install()
    else:
        _install_switched_off()
    return stream.Streams(
        inspector_forms.InspectorForms(body_guard.BodyGuard(app)), _STREAMED)


def _install_switched_off() -> None:
    off = switched_off.SwitchedOffController()
    controllers.serve('inspection_requests', off)
    controllers.serve('introspection', introspection.IntrospectionController())
    controllers.serve_of_node('inventory',
                              switched_off.NodeInventoryController)


def _install_traits() -> None:
    node_query.install()
    controllers.serve('nodes', node.NodesController())
    controllers.serve_of_chassis(node.NodesController())
    controllers.serve_of_node('traits', node_trait.NodeTraitsController)
    controllers.serve('traits', trait.TraitsController())
    controllers.show_in_root('traits', api_utils.allow_traits)
