# SPDX-License-Identifier: Apache-2.0

"""/v1/nodes/<ident>/inspection_runs: what rules did, and who set a value."""

from typing import Any

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import rule_outcome
from ironic_inspection_rules.api import value_origin
from ironic_inspection_rules.api import view
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import run as run_object
from ironic_inspection_rules.runs import record

RESOURCE = 'inspection_runs'

Answer = dict[str, Any]

_TIMES = ('created_at', 'started_at')
BRIEF_FIELDS = ('uuid', 'node_uuid', 'event', 'inspect_interface', 'result',
                'error', 'revision', *_TIMES)
FIELDS = (*BRIEF_FIELDS, 'phases')
DATA_FIELDS = ('inventory', 'plugin_data')
"""Fields with what the machine sent, only of one run and where asked for."""


def _fields(_name: str, value: str,
            allowed: tuple[str, ...] = FIELDS) -> list[str]:
    fields = args.string_list('fields', value)
    # Links are there in any case.
    api_utils.check_for_invalid_fields(fields, (*allowed, 'links'))
    return [field for field in fields if field != 'links']


LIST = {'limit': args.integer, 'marker': args.uuid, 'fields': _fields,
        'detail': args.boolean}
SHOW = {'fields': lambda name, value: _fields(
    name, value, (*FIELDS, *DATA_FIELDS))}
EXPLAIN = {'path': args.string, 'trait': args.string, 'port': args.string,
           'rule': args.uuid}


def get_all(node: Any, query: Answer) -> Answer:
    """List runs, newest first."""
    if query['detail'] and query['fields'] is not None:
        raise exceptions.Invalid(
            _('Cannot take both "detail" and "fields"'))
    fields = query['fields']
    if fields is None:
        fields = FIELDS if query['detail'] else BRIEF_FIELDS
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
        context, node.uuid, args.uuid('uuid', run_uuid))
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
        raise exceptions.Invalid(
            _('Ask for "rule" alone, or for a value'))
    runs = run_object.InspectionRun.list(
        api.request.context, node.uuid, None if rule is None else 1,
        whole=True)
    if rule is None:
        answer = value_origin.find(value_origin.Question(node, **query), runs)
    else:
        answer = rule_outcome.find(node, rule, runs, start.rules())
    answer['run'] = _represent(answer['run'], BRIEF_FIELDS)
    return answer


def _represent(run: Any, fields: Any) -> dict[str, Any]:
    shown = {name: getattr(run, name) for name in fields}
    if 'phases' in shown:
        shown['phases'] = record.shown(shown['phases'])
    for name in _TIMES:
        if shown.get(name):
            shown[name] = shown[name].isoformat()
    return {**shown, 'links': view.links('nodes', '/'.join(
        (run.node_uuid, RESOURCE, run.uuid)))}
