# SPDX-License-Identifier: Apache-2.0

"""/v1/nodes/<ident>/inspection_runs: what rules did, and who set a value."""

from typing import Any
from urllib import parse

from ironic import api
from ironic.api.controllers import link
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import explanation
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import rule_explanation
from ironic_inspection_rules.api import version
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import run as run_object
from ironic_inspection_rules.policies import inspection_run as policies
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.runs import record

RESOURCE = 'inspection_runs'

_TIMES = ('created_at', 'started_at')
BRIEF_FIELDS = ('uuid', 'node_uuid', 'event', 'inspect_interface', 'result',
                'error', 'revision', *_TIMES)
FIELDS = (*BRIEF_FIELDS, 'phases')
DATA_FIELDS = ('inventory', 'plugin_data')
"""What the machine sent, of one run and where somebody asks for it."""


class InspectionRunController(base.RestController):
    """The runs of rules that are kept of one node.

    :param rules: the rules in force.
    :param node_ident: UUID or name of the node.
    """

    def __init__(self, rules: repository.Repository, node_ident: str) -> None:
        self._node_ident = node_ident
        self.explain = ExplainController(rules, node_ident)

    @base.expose()
    @version.since_inspection_rules_get
    def get_all(self) -> dict[str, Any]:
        """List runs, newest first."""
        node = _readable_node(self._node_ident)
        query = request.query({
            'limit': args.integer, 'marker': args.uuid, 'fields': _fields,
            'detail': args.boolean})
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
        answer: dict[str, Any] = {
            RESOURCE: [_represent(each, fields) for each in found[:limit]]}
        if len(found) > limit:
            answer['next'] = _next_link(node.uuid, limit,
                                        found[limit - 1].uuid)
        return answer

    @base.expose()
    @version.since_inspection_rules_get
    def get_one(self, run_uuid: str) -> dict[str, Any]:
        """Show a run, whole.

        With what the machine sent, which only the newest run has, if it
        failed, and only where it is asked for.
        """
        node = _readable_node(self._node_ident)
        fields = request.query({'fields': _fields_and_data})['fields']
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
                'baremetal:node:inventory:get', self._node_ident)
            data = run_object.InspectionRun.get_data(context, node.uuid)
            kept = data if data and data['uuid'] == run.uuid else {}
            shown.update({name: kept.get(name) for name in asked})
        return shown


class ExplainController(base.RestController):
    """Who set a value, or what became of a rule.

    :param rules: the rules in force.
    :param node_ident: UUID or name of the node.
    """

    def __init__(self, rules: repository.Repository, node_ident: str) -> None:
        self._rules = rules
        self._node_ident = node_ident

    @base.expose()
    @version.since_inspection_rules_get
    def get(self) -> dict[str, Any]:
        """Tell the rule that last set a value, and why it did.

        Or what a rule did in the newest run, also where that is nothing.
        """
        node = _readable_node(self._node_ident)
        query = request.query({'path': args.string, 'trait': args.string,
                               'port': args.string, 'rule': args.uuid})
        rule = query.pop('rule')
        if rule is not None and any(query.values()):
            raise exceptions.Invalid(
                _('Ask for "rule" alone, or for a value'))
        runs = run_object.InspectionRun.list(
            api.request.context, node.uuid, None if rule is None else 1,
            whole=True)
        if rule is None:
            answer = explanation.explain(
                explanation.Question(node, **query), runs)
        else:
            answer = rule_explanation.explain(node, rule, runs, self._rules)
        answer['run'] = _represent(answer['run'], BRIEF_FIELDS)
        return answer


def _readable_node(ident: str) -> Any:
    return api_utils.check_node_policy_and_retrieve(policies.GET, ident)


def _fields_and_data(name: str, value: str) -> list[str]:
    return _fields(name, value, (*FIELDS, *DATA_FIELDS))


def _fields(_name: str, value: str,
            allowed: tuple[str, ...] = FIELDS) -> list[str]:
    fields = args.string_list('fields', value)
    # Links are there in any case.
    api_utils.check_for_invalid_fields(fields, (*allowed, 'links'))
    return [field for field in fields if field != 'links']


def _represent(run: Any, fields: Any) -> dict[str, Any]:
    shown = {name: getattr(run, name) for name in fields}
    if 'phases' in shown:
        shown['phases'] = record.shown(shown['phases'])
    for name in _TIMES:
        if shown.get(name):
            shown[name] = shown[name].isoformat()
    path = f'{run.node_uuid}/{RESOURCE}/{run.uuid}'
    shown['links'] = [
        link.make_link('self', api.request.public_url, 'nodes', path),
        link.make_link('bookmark', api.request.public_url, 'nodes', path,
                       bookmark=True),
    ]
    return shown


def _next_link(node_uuid: str, limit: int, marker: str) -> str:
    parameters = [(name, value) for name, value in api.request.GET.items()
                  if name not in ('limit', 'marker')]
    parameters += [('limit', str(limit)), ('marker', marker)]
    return link.make_link(
        'next', api.request.public_url, 'nodes',
        f'{node_uuid}/{RESOURCE}?{parse.urlencode(parameters)}')['href']
