# SPDX-License-Identifier: Apache-2.0

"""The API of dry runs of rules, on one machine or on a fleet.

A dry run, also called a trial, evaluates rules on an inventory and shows what
they would change. Nothing is stored. A *fleet* is many nodes; they are tried
page by page. The *facts* of a machine are the data that rules read: its
inventory, its plugin data, its node and its ports.
"""

from collections.abc import Iterable, Sequence
import itertools
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
from ironic_inspection_rules.inspection import disabling_options
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import refusal
from ironic_inspection_rules.inspection import start

_OF_MACHINE = {
    'node': {'type': ['string', 'null']},
    'inventory': {'type': ['object', 'null']},
    'plugin_data': {'type': ['object', 'null']},
}
PAGE = {
    'nodes': {'type': ['object', 'array', 'null']},
    'limit': {
        'type': ['integer', 'null'],
        'minimum': 1,
        'maximum': fleet_page.MAX_NODES,
        'description': f'1 to {fleet_page.MAX_NODES}',
    },
    'marker': {'type': ['string', 'null']},
}
_OF_FLEET = {**PAGE, 'compare': {'type': ['boolean', 'null']}}
SCHEMA = {
    'type': 'object',
    'additionalProperties': False,
    'properties': {
        **_OF_MACHINE,
        **_OF_FLEET,
        **posted_rules.MEMBERS,
        'phase': {'enum': [None, *model.PHASES]},
    },
}
"""Body of a request to try rules."""

Answer = dict[str, Any]


def post(body: Answer) -> Answer:
    """Return what rules would do to a machine, or to a page of a fleet.

    Without posted rules and tables, the rules in force are tried. Otherwise
    they are combined with the posted ones, see
    :func:`.posted_rules.compile_plans`. Nothing is changed or locked.

    :param body: selects one machine by ``node`` or ``inventory``, or a fleet
        by ``nodes``.
    :returns: the evaluation of one machine. For a fleet, an empty mapping,
        because the answer is sent as a stream, node by node: at most
        :data:`.page.MAX_NODES` nodes, and where the next page begins.
    :raises: InvalidBody if members are invalid, e.g. if the body selects
        neither or both; InvalidRuleSet if its rules or tables are invalid as
        well.
    :raises: InvalidRules if only the rules are invalid, and other errors of
        :func:`.posted_rules.compile_plans`.
    :raises: NotFound if the machine or its inventory is not found.
    """
    problems = _find_problems_of_choice(body)
    if problems:
        # This never returns. It checks the rules as well, and raises one error
        # with all problems.
        posted_rules.refuse(body, problems)
    context = api.request.context
    rules = start.rules()
    in_force = rules.refresh(context)
    plans = posted_rules.compile_plans(body, in_force.revision)
    if plans is None:
        plans = in_force.plans
    phases: Sequence[str] = model.PHASES
    if body['phase']:
        phases = [body['phase']]
    if body['nodes'] is None:
        return _try_on_machine(context, body, plans, phases)
    compared_with = None
    if body['compare']:
        compared_with = in_force.plans
    fleet_trial = trial.Trial(
        plans,
        phases,
        rules.limits,
        refusal.Refusals(context),
        in_force=compared_with,
    )
    page = fleet_page.find_nodes(body['nodes'], body['limit'], body['marker'])
    entries = fleet_trial.try_nodes(context, page)
    # The entries become the body of the answer, instead of the mapping that is
    # returned here.
    stream.send(stream.generate_page(entries, 'nodes', page.next))
    return {}


def _try_on_machine(
    context: Any,
    body: Answer,
    plans: posted_rules.Plans,
    phases: Sequence[str],
) -> Answer:
    """Evaluate rules on one machine, and return the answer.

    :param body: selects the machine by ``node`` or ``inventory``.
    :param plans: the rules to try.
    :param phases: the phases to evaluate.
    """
    # A rule may read the data of the inspection before, e.g.
    # {previous.inventory.cpu}.
    of_all_phases = itertools.chain.from_iterable(plans.values())
    reads_previous = any(plan.reads_previous for plan in of_all_phases)
    facts_of_machine, source_and_warnings = _gather_facts(
        context, body, reads_previous
    )
    outcome = evaluation.evaluate(
        plans,
        facts_of_machine,
        phases,
        limits=start.rules().limits,
        refuse=refusal.Refusals(context).find,
    )
    return {**outcome.as_dict(), **source_and_warnings}


def _find_problems_of_choice(body: Answer) -> list[exceptions.Problem]:
    """Return the problems of the members that select what rules are tried on.

    A body selects one machine or a fleet:

    * One machine is selected by ``node`` or ``inventory`` or both, optionally
      with ``plugin_data``. It is a problem if the body has neither of the two,
      or if it has members for a fleet.
    * A fleet is selected by ``nodes``, optionally with ``limit``, ``marker``
      and ``compare``. It is a problem if the body has members for one machine.
      ``compare`` needs rules or tables.
    """
    problems = []
    members_for_machine = _members_in_use(body, _OF_MACHINE)
    members_for_fleet = _members_in_use(body, _OF_FLEET)
    selects_fleet = body['nodes'] is not None
    if not selects_fleet:
        for name in members_for_fleet:
            text = _('"%s" is only for many nodes, which "nodes" tells')
            problems.append(exceptions.Problem(f'/{name}', text % name))
        if body['node'] is None and body['inventory'] is None:
            text = _(
                'At least one of "node", "inventory" and "nodes" is required'
            )
            problems.append(exceptions.Problem('', text))
        return problems
    for name in members_for_machine:
        text = _('"%s" is only for one machine, and "nodes" is for many')
        problems.append(exceptions.Problem(f'/{name}', text % name))
    posts_rules = body['rules'] is not None or body['tables'] is not None
    if body['compare'] and not posts_rules:
        text = _(
            '"compare" needs "rules" or "tables" to compare with those in '
            'force'
        )
        problems.append(exceptions.Problem('/compare', text))
    return problems + fleet_page.find_problems(body['nodes'], body['marker'])


def _members_in_use(body: Answer, names: Iterable[str]) -> list[str]:
    """Return the names of members of a body that are neither null nor false.

    A member that the client has not sent is None in the body.
    """
    return [name for name in names if body[name] not in (None, False)]


def _gather_facts(
    context: Any, body: Answer, reads_previous: bool
) -> tuple[working_copy.Facts, Answer]:
    """Return the facts of one machine: the data that rules are tried on.

    There are three cases:

    * Only an inventory is posted: the rules are tried without a node.
    * Only a node is named: its newest stored inventory is used.
    * Both: the posted inventory is used, with the fields of the node. The
      stored inventory counts as the inventory of the inspection before.

    Posted plugin data are used in any case.

    :param reads_previous: whether a rule reads the data of the inspection
        before. If not, they need not be read.
    :returns: the facts, and members of the answer: the ``source`` of the
        inventory; the ``run`` that has it, if any; and ``warnings`` with the
        reasons if no rules would run on the node.
    :raises: NotFound if the caller may not see the node, or if no inventory
        is posted or stored.
    """
    inventory = body['inventory']
    plugin_data = body['plugin_data']
    source_and_warnings: Answer = {'source': 'request'}
    if body['node'] is None:
        facts_without_node = working_copy.Facts(
            inventory, plugin_data or {}, node={}
        )
        return facts_without_node, source_and_warnings
    node = _find_node(context, body['node'])
    previous = None
    if inventory is None:
        stored = _find_stored_data(context, node)
        inventory = stored.inventory
        if plugin_data is None:
            plugin_data = stored.plugin_data
        source_and_warnings['source'] = stored.source
        if stored.run:
            source_and_warnings['run'] = stored.run
    elif reads_previous:
        previous = facts.stored_before(node, context)
    warnings = list(
        disabling_options.list_reasons_for_node(node.inspect_interface)
    )
    if warnings:
        source_and_warnings['warnings'] = warnings
    # A posted inventory without plugin data has no plugin data: the stored
    # plugin data belong to another inventory.
    facts_of_node = facts.read_and_build(
        context, node, inventory, plugin_data or {}, previous
    )
    return facts_of_node, source_and_warnings


def _find_stored_data(context: Any, node: Any) -> inspection_data.MachineData:
    """Return the newest inspection data that are stored for a node.

    :raises: NotFound if there are none, with the hint that the client can post
        an inventory.
    """
    try:
        return inspection_data.find(context, node)
    except exceptions.NotFound as exc:
        raise exceptions.NotFound(
            _('%s; give one as "inventory"') % exc
        ) from exc


def _find_node(context: Any, ident: str) -> Any:
    """Find a node by its name or UUID, if the caller may list it.

    :raises: NotFound if there is no such node, or if the caller may not list
        it; InvalidUuidOrName if the text is neither a name nor a UUID.
    """
    is_uuid = uuidutils.is_uuid_like(ident)
    if not is_uuid and not api_utils.is_valid_node_name(ident):
        raise ironic_exception.InvalidUuidOrName(name=ident)
    # A page of a fleet with this node only.
    page = fleet_page.find_by_names([ident])
    [(_ident, uuid)] = page.nodes
    nodes = []
    # The UUID is None if no node has the name.
    if uuid is not None:
        # List the node instead of reading it by its UUID, because the filters
        # of a list leave out nodes of other projects.
        nodes = objects.Node.list(
            context, filters={**page.filters, 'uuid_in': [uuid]}
        )
    if not nodes:
        raise exceptions.NotFound(_('Node %s could not be found.') % ident)
    return nodes[0]
