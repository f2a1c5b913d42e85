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

"""The inspection hook: rules of the preprocess and main phases."""

import re

from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from ironic.drivers.modules.inspector.hooks import base
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.adapters import delivery
from ironic_inspection_rules.adapters import deploy
from ironic_inspection_rules.adapters import effects
from ironic_inspection_rules.adapters import facts
from ironic_inspection_rules.adapters import start
from ironic_inspection_rules.adapters import target as adapters_target
from ironic_inspection_rules.adapters.seams import redfish
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import target as engine_target

LOG = log.getLogger(__name__)


class InspectionRulesHook(base.InspectionHook):
    """Runs inspection rules; belongs last in the list of hooks.

    So its preprocess comes after that of all hooks, and its main part after
    all hooks (spec 003 "Phases").
    """

    def __init__(self) -> None:
        self._rules = start.rules()
        redfish.install()
        deploy.install()
        if CONF.inspection_queue.enabled:
            # What is switched off is not even loaded.
            from ironic_inspection_rules.adapters import throttle
            throttle.install()

    def preprocess(self, task, inventory, plugin_data) -> None:
        """Run the rules of the preprocess phase."""
        with delivery.current().guard():
            if facts.is_auto_discovered(task.node, plugin_data):
                _set_scope(task.node)
            self._rules.refresh(task.context)
        self._run(task, inventory, plugin_data, 'preprocess')

    def __call__(self, task, inventory, plugin_data) -> None:
        """Run the rules of the main phase."""
        self._run(task, inventory, plugin_data, 'main')

    def _run(self, task, inventory, plugin_data, phase: str) -> None:
        plans = self._rules.plans(phase)
        attempt = delivery.current()
        if not attempt.has_note(phase) and not (
                plans and _is_supported(task.node)):
            return
        target = engine_target.Target(
            facts.of_task(task, inventory, plugin_data),
            effects.ServiceEffects())
        with attempt.guard():
            if attempt.has_note(phase):
                attempt.replay(phase, task, target, plugin_data)
            else:
                self._apply(plans, phase, task, target, plugin_data)

    def _apply(self, plans, phase: str, task, target: engine_target.Target,
               plugin_data) -> None:
        outcome = runner.run(
            plans, target, task.node.properties.get(model.SCOPE_PROPERTY))
        LOG.debug('%(count)d inspection rules of phase %(phase)s matched '
                  'node %(node)s', {'count': len(outcome.traces),
                                    'phase': phase, 'node': task.node.uuid})
        try:
            if outcome.keeps_changes:
                _save(outcome, phase, task, target, plugin_data)
            if outcome.error:
                raise outcome.error
        except exceptions.RuleError as exc:
            raise ironic_exception.HardwareInspectionFailure(
                error=str(exc)) from exc


def _is_supported(node) -> bool:
    return re.search(CONF.inspection_rules.supported_interfaces,
                     node.inspect_interface or '') is not None


def _save(outcome: runner.Outcome, phase: str, task,
          target: engine_target.Target, plugin_data) -> None:
    before, maintenance = dict(plugin_data), _maintenance(outcome.error)
    adapters_target.update_plugin_data(target, plugin_data)
    outcome.record(plugin_data, phase)
    note = delivery.current().note(
        phase, target, delivery.difference(before, plugin_data), maintenance,
        outcome.error) if outcome.traces else None
    adapters_target.save(task, target, outcome.traces, maintenance, note)


def _maintenance(error: exceptions.RuleError | None) -> dict:
    """Return what the node gets if a rule wants it in maintenance."""
    if isinstance(error, exceptions.RuleFailed) and error.maintenance:
        return {'maintenance': True,
                'maintenance_reason': error.reason or str(error)}
    return {}


def _set_scope(node) -> None:
    """Give a node that was just discovered its inspection scope."""
    scope = CONF.auto_discovery.inspection_scope
    if scope and model.SCOPE_PROPERTY not in node.properties:
        node.properties = {**node.properties, model.SCOPE_PROPERTY: scope}
        node.save()
