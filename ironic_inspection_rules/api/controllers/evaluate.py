# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_rules/evaluate: rules tried without changing anything."""

from typing import Any

from ironic import api
from ironic import objects
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import exception as ironic_exception
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import inspection_data
from ironic_inspection_rules.api import posted_rules
from ironic_inspection_rules.api import stream
from ironic_inspection_rules.api.fleet import page as fleet_page
from ironic_inspection_rules.api.fleet import trial
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import limits
from ironic_inspection_rules.inspection import refusal
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.inspection import switches

_OF_MACHINE = {'node': {'type': ['string', 'null']},
               'inventory': {'type': ['object', 'null']},
               'plugin_data': {'type': ['object', 'null']}}
PAGE = {
    'nodes': {'type': ['object', 'array', 'null']},
    'limit': {'type': ['integer', 'null'], 'minimum': 1,
              'maximum': fleet_page.MOST,
              'description': f'1 to {fleet_page.MOST}'},
    'marker': {'type': ['string', 'null']}}
_OF_FLEET = {**PAGE, 'compare': {'type': ['boolean', 'null']}}
SCHEMA = {
    'type': 'object', 'additionalProperties': False, 'properties': {
        **_OF_MACHINE, **_OF_FLEET,
        **posted_rules.MEMBERS,
        'phase': {'enum': [None, *model.PHASES]}}}
"""Body of a request to try rules."""

Answer = dict[str, Any]


def post(asked: Answer) -> Answer:
    """Return what rules would do to a machine, or to each of a fleet.

    Takes no lock: what it reads of a node may be changing.
    """
    _check_together(asked)
    context = api.request.context
    rules = start.rules().refresh(context)
    in_force = {phase: rules.plans(phase) for phase in model.PHASES}
    given = posted_rules.plans(asked, rules.revision)
    plans = in_force if given is None else given
    phases = [asked['phase']] if asked['phase'] else model.PHASES
    refusals = refusal.Refusals(context)
    if asked['nodes'] is not None:
        tried = trial.Trial(plans, phases, limits.by_phase(), refusals,
                            in_force if asked['compare'] else None)
        page = fleet_page.find(asked['nodes'], asked['limit'], asked['marker'])
        stream.send(stream.page(tried.all(context, page), 'nodes', page.next))
        return {}
    known, origin = _facts(context, asked, any(
        plan.reads_previous for each in plans.values() for plan in each))
    outcome = evaluation.evaluate(plans, known, phases,
                                  limits=limits.by_phase(),
                                  refuse=refusals.find)
    return {**outcome.as_dict(), **origin}


def _check_together(asked: dict[str, Any]) -> None:
    """Refuse what has no meaning beside other members, or without them."""
    of_machine, of_fleet = (
        [name for name in names if asked[name] not in (None, False)]
        for names in (_OF_MACHINE, _OF_FLEET))
    if asked['nodes'] is None:
        if of_fleet:
            raise exceptions.Invalid(
                _('"%s" is only for many nodes, which "nodes" tells')
                % of_fleet[0])
        if asked['node'] is None and asked['inventory'] is None:
            raise exceptions.Invalid(
                _('At least one of "node", "inventory" and "nodes" is '
                  'required'))
        return
    if of_machine:
        raise exceptions.Invalid(
            _('"%s" is only for one machine, and "nodes" is for many')
            % of_machine[0])
    if asked['compare'] and asked['rules'] is None and (
            asked['tables'] is None):
        raise exceptions.Invalid(
            _('"compare" needs "rules" or "tables" to compare with those in '
              'force'))


def _facts(context: Any, asked: dict[str, Any], reads_previous: bool
           ) -> tuple[working_copy.Facts, Answer]:
    """Gather the facts of one machine, those posted before those stored.

    :param reads_previous: whether a rule asks for what was stored before; a
        posted inventory comes after that.
    :returns: the facts, and what the answer says about their source and
        about why no rules would run on the node.
    :raises: NotFound if the caller would not see the node in a list.
    """
    inventory, plugin_data = asked['inventory'], asked['plugin_data']
    ident = asked['node']
    origin: Answer = {'source': 'request'}
    previous = None
    if ident is None:
        return working_copy.Facts(inventory, plugin_data or {},
                                  node={}), origin
    if not uuidutils.is_uuid_like(ident) and not (
            api_utils.is_valid_node_name(ident)):
        raise ironic_exception.InvalidUuidOrName(name=ident)
    page = fleet_page.by_names([ident])
    uuids = [uuid for _asked, uuid in page.nodes if uuid]
    nodes = objects.Node.list(context, filters={
        **page.filters, 'uuid_in': uuids}) if uuids else []
    if not nodes:
        raise exceptions.NotFound(_('Node %s could not be found.') % ident)
    node = nodes[0]
    if inventory is None:
        try:
            found = inspection_data.find(context, node)
        except exceptions.NotFound as exc:
            raise exceptions.NotFound(
                _('%s; give one as "inventory"') % exc) from exc
        inventory = found.inventory
        if plugin_data is None:
            plugin_data = found.plugin_data
        origin = {'source': found.source}
        if found.run:
            origin['run'] = found.run
    elif reads_previous:
        previous = facts.stored_before(node, context)
    if warnings := [*switches.of_node(node.inspect_interface)]:
        origin = {**origin, 'warnings': warnings}
    return facts.read(context, node, inventory, plugin_data or {},
                      previous), origin
