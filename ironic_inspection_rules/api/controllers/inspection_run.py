# SPDX-License-Identifier: Apache-2.0

"""/v1/nodes/<ident>/inspection_runs: what rules did, and who set a value."""

import functools
from typing import Any

from ironic import api
from ironic import objects
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from ironic.drivers.modules import inspect_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import rule_outcome
from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import run as run_object
from ironic_inspection_rules.runs import explain as run_explain
from ironic_inspection_rules.runs import record
from ironic_inspection_rules.runs import recorded_change

RESOURCE = 'inspection_runs'

Answer = dict[str, Any]

_TIMES = ('created_at', 'started_at')
BRIEF_FIELDS = ('uuid', 'node_uuid', 'event', 'inspect_interface', 'result',
                'error', 'revision', *_TIMES)
FIELDS = (*BRIEF_FIELDS, 'phases')
DATA_FIELDS = ('inventory', 'plugin_data')
"""Fields with what the machine sent, only of one run and where asked for."""


_REFERENCES = ('chassis_uuid', 'portgroup_uuid')
"""Attributes of which Ironic's objects have another one, the ``id``."""

LIST = {'limit': request.integer, 'marker': args.uuid,
        'detail': args.boolean, 'fields': request.fields((*FIELDS, 'links'))}
SHOW = {'fields': request.fields((*FIELDS, *DATA_FIELDS, 'links'))}
EXPLAIN = {'path': args.string, 'trait': args.string, 'port': args.string,
           'rule': request.RULE_UUID}

_RUN_UUID = request.uuid_of(_('a run'))


def get_all(node: Any, query: Answer) -> Answer:
    """List runs, newest first."""
    fields = view.chosen_fields(query, BRIEF_FIELDS, FIELDS)
    limit = api_utils.validate_limit(query['limit'])
    found = run_object.InspectionRun.list(
        api.request.context, node.uuid, limit + 1, query['marker'],
        'phases' in fields)
    return view.page(f'nodes/{node.uuid}/{RESOURCE}', found, limit,
                     lambda each: _represent(each, fields))


def get_one(node: Any, run_uuid: str, query: Answer) -> Answer:
    """Show a run, whole.

    With what the machine sent, which only the newest run has, if it failed,
    and only where it is asked for.
    """
    fields = query['fields']
    if fields is None:
        fields = FIELDS
    context = api.request.context
    run = run_object.InspectionRun.get_by_uuid(
        context, node.uuid, _RUN_UUID('uuid', run_uuid))
    shown = _represent(run, [name for name in fields
                             if name not in DATA_FIELDS])
    asked = [name for name in fields if name in DATA_FIELDS]
    if asked:
        api_utils.check_node_policy_and_retrieve(
            'baremetal:node:inventory:get', node.uuid)
        data = run_object.InspectionRun.get_data(context, node.uuid)
        kept = data if data and data['uuid'] == run.uuid else {}
        shown.update({name: kept.get(name) for name in asked})
    return shown


def explain(node: Any, query: Answer) -> Answer:
    """Return the rule that last set a value, and why it did.

    Or what a rule did in the newest run, also where that is nothing.
    """
    rule = query.pop('rule')
    if rule is not None and any(query.values()):
        raise exceptions.Invalid(_('Ask for "rule" alone, or for a value'))
    runs = run_object.InspectionRun.list(
        api.request.context, node.uuid, None if rule is None else 1,
        whole=True)
    answer = (_origin(node, runs, **query) if rule is None else
              rule_outcome.find(node, rule, runs, start.rules()))
    if 'run' in answer:
        answer['run'] = _represent(answer['run'], BRIEF_FIELDS)
    return answer


_OF_CHANGE = ('object', 'path', 'op', 'before', 'after', 'action')


def _origin(node: Any, runs: list[Any], path: str | None, trait: str | None,
            port: str | None) -> Answer:
    """Return the rule that last set a value, and why it did.

    :param runs: the runs kept of the node, whole, newest first.
    :param path: of the value, in any of the forms that rules take.
    :param port: MAC address or UUID of the port that ``path`` belongs to.
    :returns: the answer; its ``run`` is one of these.
    :raises: Invalid if the question makes no sense.
    :raises: NotFound if no kept run has set the value.
    """
    place, present = _place(node, path, trait, port)
    found = run_explain.find(
        ((run, run.phases, run.places) for run in runs), place)
    if not isinstance(found, run_explain.Finding):
        raise _not_found(node, len(runs), trait or path, port, found)
    return found.described(functools.partial(_described, found, place,
                                             present))


def _described(found: run_explain.Finding, place: recorded_change.Place,
               present: Any, rule: record.Record) -> Answer:
    """Return what is told of the change that set a value.

    :param place: where the value is now.
    """
    change = found.change
    assert change is not None
    current = recorded_change.still_holds(change, found.place, present)
    current_value = None
    if current is False and present is not data_path.ABSENT:
        current_value = disclosure.value_at(place.path, present)
    answer = {
        **{name: change[name] for name in _OF_CHANGE},
        'rule': {name: rule[name]
                 for name in ('uuid', 'description', 'revision')},
        'revision': rule['revision'], 'phase': found.phase,
        'conditions': rule['conditions'], 'run': found.run,
        'current': current, 'current_value': current_value,
        'sensitive_rules': list(found.uncertain)}
    when = [each for each in rule.get('when', ())
            if each['action'] == change['action'] and each['ran']]
    return {**answer, 'when': when} if when else answer


def _not_found(node: Any, count: int, what: str | None, port: str | None,
               uncertain: tuple[str, ...]) -> exceptions.NotFound:
    """Build the error for a value that no kept run has set.

    :param count: how many runs are kept.
    :param uncertain: UUIDs of rules of which is not told what they set.
    """
    found_port = _port(node, port)
    if port is not None:
        what = _('%(path)s of port %(port)s') % {
            'path': what, 'port': found_port.address if found_port else port}
    if not CONF.inspection_rules.keep_runs:
        return exceptions.NotFound(
            _('Nobody knows what set %s: no runs are kept, '
              '[inspection_rules]keep_runs is 0.') % what)
    sentences = [_('No rule has set %(what)s of node %(node)s in the '
                   '%(count)d inspections that are kept.') % {
                       'what': what, 'node': node.uuid, 'count': count}]
    if port is not None and found_port is None:
        sentences.append(_('It has no port %s: a port is named by its MAC '
                           'address or UUID.') % port)
    if uncertain:
        sentences.append(
            _('Of the sensitive rules that ran then, it is not told what '
              'they changed: %s.') % ', '.join(uncertain))
    return exceptions.NotFound(' '.join(sentences))


def _place(node: Any, path_text: str | None, trait: str | None,
           port_ident: str | None) -> tuple[recorded_change.Place, Any]:
    """Return where a value is, and what is there now."""
    if (trait is None) is (path_text is None) or trait == '' or (
            port_ident is not None and path_text is None):
        raise exceptions.Invalid(
            _('Ask for "path", for "trait", for "port" and "path", or for '
              '"rule"'))
    if trait is not None:
        return recorded_change.Place(working_copy.TRAITS, (trait,)), (
            trait if trait in node.traits.get_trait_names()
            else data_path.ABSENT)
    try:
        path = data_path.parse(path_text or '')
    except exceptions.OperationError as exc:
        raise exceptions.Invalid(str(exc)) from exc
    name, owner, alias = working_copy.NODE, node, None
    if port_ident is not None:
        owner = _port(node, port_ident)
        name = f'port {owner.address if owner else port_ident.lower()}'
        alias = owner and f'port {owner.uuid}'
    elif path[0] == working_copy.PLUGIN_DATA and len(path) > 1:
        try:
            data = inspect_utils.get_inspection_data(node, api.request.context)
            present = data_path.get(data['plugin_data'] or {}, path[1:])
        except ironic_exception.IronicException:
            present = recorded_change.UNKNOWN
        return recorded_change.Place(
            working_copy.PLUGIN_DATA, path[1:]), present
    place = recorded_change.Place(name, path, alias)
    if owner is None:
        return place, data_path.ABSENT
    if path[0] in _REFERENCES:
        return place, recorded_change.UNKNOWN
    return place, recorded_change.look_up(facts.as_dict(owner), (), path)


def _port(node: Any, ident: str | None) -> Any:
    """Return the port that was asked for, None where there is none."""
    return None if ident is None else next(
        (port for port in objects.Port.list_by_node_id(
            api.request.context, node.id)
         if ident == port.uuid or ident.lower() == port.address), None)


def _represent(run: Any, fields: Any) -> dict[str, Any]:
    shown = {name: getattr(run, name) for name in fields}
    for name in _TIMES:
        if shown.get(name):
            shown[name] = shown[name].isoformat()
    return {**shown, 'links': view.links('nodes', '/'.join(
        (run.node_uuid, RESOURCE, run.uuid)))}
