# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_rules/evaluate: rules tried without changing anything."""

from collections.abc import Sequence
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
from ironic_inspection_rules.api import view
from ironic_inspection_rules.api.fleet import page as fleet_page
from ironic_inspection_rules.api.fleet import trial
from ironic_inspection_rules.engine import evaluation
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import limits
from ironic_inspection_rules.inspection import refusal
from ironic_inspection_rules.inspection import start

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
        'rules': {'type': ['array', 'null']},
        'phase': {'enum': [None, *model.PHASES]}}}
"""Body of a request to try rules."""

Answer = dict[str, Any]


def post(asked: Answer) -> Answer:
    """Return what rules would do to a machine, or to each of a fleet.

    Takes no lock: what it reads of a node may be changing.
    """
    _check_together(asked)
    plans = _plans(asked['rules'])
    refusals = refusal.Refusals(api.request.context)
    if asked['nodes'] is not None:
        tried = trial.Trial(plans, _phases(asked), limits.by_phase(), refusals,
                            _plans(None) if asked['compare'] else None,
                            _hidden_by_rules(plans))
        page = fleet_page.find(asked['nodes'], asked['limit'], asked['marker'])
        stream.send(stream.page(tried.all(api.request.context, page),
                                'nodes', page.next))
        # In the place of it stream sends the body, while it is made.
        return {}
    known, origin = _facts(api.request.context, asked, any(
        plan.reads_previous for each in plans.values() for plan in each))
    hidden = hiding.Hidden()
    if known.node:
        uuid = known.node['uuid']
        hidden = facts.hidden(
            facts.hidden_by_runs(api.request.context, [uuid])[uuid],
            _hidden_by_rules(plans), known)
    outcome = evaluation.evaluate(plans, known, _phases(asked),
                                  limits=limits.by_phase(), hidden=hidden,
                                  refuse=refusals.find)
    return {**view.represent_evaluation(outcome), **origin}


def _hidden_by_rules(plans: posted_rules.Plans) -> frozenset[hiding.Place]:
    """Return where rules in force, or those tried, may hide values.

    Who posts a rule by the UUID of a sensitive one could change when it
    runs, and so read what it has left.
    """
    return facts.hidden_by_rules(
        plan for some in (plans, _plans(None))
        for each in some.values() for plan in each)


def _plans(posted: list[Any] | None) -> posted_rules.Plans:
    if posted is not None:
        return posted_rules.plans(*posted_rules.filled(
            api.request.context, posted))
    rules = start.rules()
    rules.refresh(api.request.context)
    return {phase: rules.plans(phase) for phase in model.PHASES}


def _phases(asked: Answer) -> Sequence[str]:
    return [asked['phase']] if asked['phase'] else model.PHASES


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
    if asked['compare'] and asked['rules'] is None:
        raise exceptions.Invalid(
            _('"compare" needs "rules" to compare with those in force'))


def _visible(context: Any, ident: str) -> Any:
    """Find a node by the policies that those of a list obey.

    :raises: NotFound if the caller would not see it there.
    """
    if not uuidutils.is_uuid_like(ident) and not (
            api_utils.is_valid_node_name(ident)):
        raise ironic_exception.InvalidUuidOrName(name=ident)
    page = fleet_page.by_names([ident])
    uuids = [uuid for _asked, uuid in page.nodes if uuid]
    nodes = objects.Node.list(context, filters={
        **page.filters, 'uuid_in': uuids}) if uuids else []
    if not nodes:
        raise exceptions.NotFound(_('Node %s could not be found.') % ident)
    return nodes[0]


def _facts(context: Any, asked: dict[str, Any], reads_previous: bool
           ) -> tuple[working_copy.Facts, Answer]:
    """Gather the facts, as much of them as was posted from there.

    A posted inventory comes after what Ironic has stored of the node.

    :param reads_previous: whether a rule asks for what was stored before.
    :returns: the facts, and what the answer tells about their source.
    """
    inventory, plugin_data = asked['inventory'], asked['plugin_data']
    origin, previous = {'source': 'request'}, None
    if asked['node'] is None:
        return working_copy.Facts(inventory, plugin_data or {},
                                  node={}), origin
    node = _visible(context, asked['node'])
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
    return facts.read(context, node, inventory, plugin_data or {},
                      previous), origin
