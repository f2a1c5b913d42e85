# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_rules, in the place of Ironic's own."""

from collections.abc import Callable
from collections.abc import Iterable
import contextlib
from typing import Any

from ironic import api
from ironic.api.controllers import link
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import notification
from ironic_inspection_rules.api import patch
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import rule_set
from ironic_inspection_rules.api import view
from ironic_inspection_rules.api.controllers import inspection_rule_list
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import announcement
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object

Answer = dict[str, Any]

_MAX_MESSAGE = 1000

REPLACE_SET = {'dry_run': args.boolean, 'prune': args.boolean}
RULE_SET = {
    'type': 'object', 'required': ['rules'], 'additionalProperties': False,
    'properties': {
        'rules': {'type': ['array']},
        'revision': {'type': ['integer', 'null']},
        'message': {'type': ['string', 'null'], 'maxLength': _MAX_MESSAGE,
                    'pattern': '^[^\0\ud800-\udfff]*$', 'description':
                        f'text of at most {_MAX_MESSAGE} characters'}}}
"""Body of a request to replace the rule set."""


def _fields(name: str, value: str) -> list[str]:
    fields = args.string_list(name, value)
    # Links are there in any case.
    for field in fields:
        if field not in (*view.FIELDS, 'links'):
            raise exceptions.Invalid(
                suggestion.unknown(_('field'), field, view.FIELDS))
    return [field for field in fields if field != 'links']


def _scope(_name: str, value: str) -> str:
    if '\0' in value:
        raise exceptions.Invalid(_('There is no such scope'))
    return value


def _phase(_name: str, value: str) -> str:
    if value not in model.PHASES:
        raise exceptions.Invalid(
            _('The phase %s') % suggestion.not_one_of(value, model.PHASES))
    return value


def _sort_key(_name: str, value: str) -> str:
    if value not in inspection_rule_list.SORT_KEYS:
        raise exceptions.Invalid(_('The sort key %s') % suggestion.not_one_of(
                value, inspection_rule_list.SORT_KEYS))
    return value


LIST = {'detail': args.boolean, 'fields': _fields, 'scope': _scope,
        'phase': _phase, 'limit': args.integer,
        'marker': lambda _name, value: request.rule_uuid(value),
        'sort_key': _sort_key,
        'sort_dir': lambda _name, value: api_utils.validate_sort_dir(value)}
SHOW = {'fields': _fields}


def get_all(query: Answer) -> Answer:
    """List rules."""
    if query['detail'] and query['fields'] is not None:
        raise exceptions.Invalid(
            _('Cannot take both "detail" and "fields"'))
    fields = query['fields']
    if fields is None:
        fields = view.FIELDS if query['detail'] else view.BRIEF_FIELDS
    limit = api_utils.validate_limit(query['limit'])
    rules, more = inspection_rule_list.page(
        api.request.context, start.rules().built_in,
        filters={name: query[name] for name in ('scope', 'phase')
                 if query[name] is not None},
        sort_key=query['sort_key'], descending=query['sort_dir'] == 'desc',
        limit=limit, marker=query['marker'])
    answer: Answer = {view.RESOURCE: [
        view.represent(rule, fields) for rule in rules]}
    if more:
        answer['next'] = view.next_link(view.RESOURCE, limit, rules[-1].uuid)
    warnings = [*announcement.missing()]
    if warnings:
        answer['warnings'] = warnings
    return answer


def get_one(rule_uuid: str, query: Answer) -> Answer:
    """Show one rule."""
    uuid = request.rule_uuid(rule_uuid)
    built_in = (rule for rule in start.rules().built_in if rule.uuid == uuid)
    rule = next(built_in, None) or _stored(uuid)
    fields = query['fields']
    return view.represent(rule, view.FIELDS if fields is None else fields)


def create(body: Any) -> Answer:
    """Make a rule."""
    if isinstance(body, dict):
        _check_writable(set(body) - {'uuid'})
        if body.get('uuid') is None:
            body = {**body, 'uuid': uuidutils.generate_uuid()}
    parsed = validation.parse(body, start.rules().ops)
    uuid = request.rule_uuid(parsed.uuid)
    if uuid in start.rules().built_in_uuids:
        raise exceptions.RuleAlreadyExists(uuid)
    rule = rule_object.Rule(api.request.context,
                            **{**parsed.to_mapping(), 'uuid': uuid})
    with notification.emitted(api.request.context, rule, 'create'):
        rule.create()
    api.response.location = link.build_url(view.RESOURCE, uuid)
    return view.represent(rule)


def update(rule_uuid: str, operations: Any) -> Answer:
    """Change some fields of a rule."""
    def decide(rule: rule_object.Rule) -> model.Rule:
        fields = patch.apply(
            {name: rule[name] for name in model.WRITABLE}, operations)
        try:
            return validation.parse(fields, start.rules().ops)
        except exceptions.InvalidRule as exc:
            if not rule.sensitive:
                raise
            # No cause: it would say what was left out.
            raise exceptions.InvalidRule(
                view.without_secrets(exc.problems)) from None

    return _change(rule_uuid, decide)


def replace(rule_uuid: str, body: Any) -> Answer:
    """Replace a rule whole."""
    def decide(rule: rule_object.Rule) -> model.Rule:
        ops = start.rules().ops
        if not isinstance(body, dict):
            return validation.parse(body, ops)
        # What a client has just read may come back with its changes.
        shown = view.represent(rule)
        fields = {name: value for name, value in body.items()
                  if name not in view.READ_ONLY or value != shown[name]}
        _check_writable(fields)
        return validation.parse({**fields, 'uuid': rule.uuid}, ops)

    return _change(rule_uuid, decide)


def replace_all(query: Answer, asked: Answer) -> Answer:
    """Replace the whole rule set."""
    return rule_set.replace(
        asked['rules'], asked['revision'], asked['message'],
        bool(query['dry_run']), query['prune'] is not False)


def delete(rule_uuid: str) -> None:
    """Remove one rule."""
    rule = _changeable(rule_uuid)
    with notification.emitted(api.request.context, rule, 'delete'):
        rule.destroy()


def delete_all() -> None:
    """Remove all rules but the built-in ones."""
    context = api.request.context
    with contextlib.ExitStack() as stack:
        if notification.enabled():
            for rule in rule_object.Rule.list(context):
                stack.enter_context(
                    notification.emitted(context, rule, 'delete'))
        rule_object.Rule.destroy_all(context)


def _changeable(rule_uuid: str) -> rule_object.Rule:
    uuid = request.rule_uuid(rule_uuid)
    if uuid in start.rules().built_in_uuids:
        raise exceptions.Invalid(
            _('Inspection rule %s is built-in and cannot be changed') % uuid)
    return _stored(uuid)


def _change(rule_uuid: str,
            decide: Callable[[rule_object.Rule], model.Rule]) -> Answer:
    def change() -> Answer:
        rule = _changeable(rule_uuid)
        fields = decide(rule).to_mapping()
        if rule.sensitive and not fields['sensitive']:
            raise exceptions.Invalid(
                _('A sensitive inspection rule stays sensitive'))
        rule.update({name: value for name, value in fields.items()
                     if rule[name] != value})
        with notification.emitted(api.request.context, rule, 'update'):
            rule.save()
        return view.represent(rule)

    changed: Answer = rule_set.decided_anew(change)
    return changed


def _check_writable(names: Iterable[str]) -> None:
    for name in names:
        if name in view.READ_ONLY:
            raise exceptions.Invalid(_('/%s is read only') % name)


def _stored(uuid: str) -> rule_object.Rule:
    return rule_object.Rule.get_by_uuid(api.request.context, uuid)
