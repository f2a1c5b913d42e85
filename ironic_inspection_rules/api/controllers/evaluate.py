# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""/v1/inspection_rules/evaluate: rules tried without changing anything."""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from ironic import api
from ironic import objects
from ironic.api.controllers.v1 import utils as api_utils
from ironic.drivers.modules import inspect_utils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.adapters import facts
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import version
from ironic_inspection_rules.api import view
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import rehearsal
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.policies import inspection_rule as policies
from ironic_inspection_rules.ruleset import repository

_Plans = Mapping[str, Iterable[compiler.Plan]]

_MEMBERS = {'node': str, 'inventory': dict, 'plugin_data': dict,
            'rules': list, 'phase': str}
_TYPE_NAMES = {str: 'string', dict: 'object', list: 'list'}


class EvaluateController(base.RestController):
    """A dry run of an inspection, explained condition by condition.

    Takes no lock: what it reads of a node may be changing.

    :param rules: the rules in force.
    """

    def __init__(self, rules: repository.Repository) -> None:
        self._rules = rules

    @base.expose()
    @version.since_inspection_rules
    def post(self) -> dict[str, Any]:
        """Tell what rules would do to a machine."""
        api_utils.check_policy(policies.EVALUATE)
        request.query({})
        asked = _checked(request.body())
        phases = [asked['phase']] if asked['phase'] else model.PHASES
        plans = self._plans(asked['rules'])
        outcome = rehearsal.rehearse(
            plans, _facts(api.request.context, asked), phases)
        return view.represent_rehearsal(outcome)

    def _plans(self, posted: list[Any] | None) -> _Plans:
        if posted is None:
            self._rules.refresh(api.request.context)
            return {phase: self._rules.plans(phase)
                    for phase in model.PHASES}
        return self._rules.compile(
            [self._parse(position, rule)
             for position, rule in enumerate(posted)])

    def _parse(self, position: int, rule: Any) -> model.Rule:
        if isinstance(rule, dict) and rule.get('uuid') is None:
            rule = {**rule, 'uuid': uuidutils.generate_uuid()}
        try:
            return validation.parse(rule, self._rules.ops)
        except exceptions.InvalidRule as exc:
            raise exceptions.InvalidRule(exc.problems,
                                         f'/rules/{position}') from exc


def _checked(asked: Any) -> dict[str, Any]:
    """Return the members of the request, None for what is not there."""
    if not isinstance(asked, dict):
        raise exceptions.Invalid(_('The request must be a JSON object'))
    unknown = ', '.join(sorted(set(asked).difference(_MEMBERS)))
    if unknown:
        raise exceptions.Invalid(_('Unknown in the request: %s') % unknown)
    for name, kind in _MEMBERS.items():
        if asked.get(name) is not None and not isinstance(asked[name], kind):
            raise exceptions.Invalid(
                _('"%(name)s" must be of the type %(type)s')
                % {'name': name, 'type': _TYPE_NAMES[kind]})
    if asked.get('phase') not in (None, *model.PHASES):
        raise exceptions.Invalid(
            _('The phase must be one of %s') % ', '.join(model.PHASES))
    if asked.get('node') is None and asked.get('inventory') is None:
        raise exceptions.Invalid(
            _('At least one of "node" and "inventory" is required'))
    return {name: asked.get(name) for name in _MEMBERS}


def _facts(context: Any, asked: dict[str, Any]) -> engine_target.Facts:
    """Gather the facts, as much of them as was posted from there."""
    inventory, plugin_data = asked['inventory'], asked['plugin_data']
    if asked['node'] is None:
        return engine_target.Facts(inventory, plugin_data or {}, node={})
    node = api_utils.get_rpc_node(asked['node'])
    if inventory is None:
        stored = inspect_utils.get_inspection_data(node, context)
        inventory = stored['inventory']
        if plugin_data is None:
            # What rules did the last time is no fact of the machine.
            plugin_data = {name: value for name, value
                           in (stored['plugin_data'] or {}).items()
                           if name != trace.KEY}
    return facts.of_node(
        node, objects.Port.list_by_node_id(context, node.id),
        objects.Portgroup.list_by_node_id(context, node.id),
        inventory, plugin_data or {})
