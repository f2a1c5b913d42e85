# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_rules, in the place of Ironic's own."""

from collections.abc import Callable, Iterable, Sequence
import contextlib
from typing import Any

from ironic import api
from ironic.api.controllers import link
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import exception as ironic_exception
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import notification
from ironic_inspection_rules.api import patch
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import rule_set
from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import announcement
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object

Answer = dict[str, Any]

CREATION_ORDER = 'id'
SORT_KEYS = (CREATION_ORDER, *(name for name in view.BRIEF_FIELDS
                               if name != 'built_in'))

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


LIST = {'detail': args.boolean, 'fields': _fields, 'scope': _scope,
        'phase': request.one_of(_('The phase %s'), model.PHASES),
        'limit': args.integer,
        'marker': lambda _name, value: request.rule_uuid(value),
        'sort_key': request.one_of(_('The sort key %s'), SORT_KEYS),
        'sort_dir': lambda _name, value: api_utils.validate_sort_dir(value)}
SHOW = {'fields': _fields}


def get_all(query: Answer) -> Answer:
    """List rules."""
    fields = view.chosen_fields(query, view.BRIEF_FIELDS, view.FIELDS)
    limit = api_utils.validate_limit(query['limit'])
    rules, more = page(
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


def page(context: Any, built_in: Iterable[model.Rule],
         filters: dict[str, Any], sort_key: str | None, descending: bool,
         limit: int, marker: str | None
         ) -> tuple[Sequence[Any], bool]:
    """Read the rules of one page.

    Rules that the key does not tell apart are in the order in which they
    run: built-in ones first, then by creation. Text is compared by code
    point, whatever the database would do.

    :param sort_key: one of :data:`SORT_KEYS`; None for the order in which
        the rules run.
    :param marker: UUID of the last rule of the page before.
    :returns: the rules, and whether more follow; there is a rule then.
    :raises: InspectionRuleNotFound if there is no such marker.
    """
    own = {rule.uuid: rule for rule in built_in
           if all(getattr(rule, name) == value
                  for name, value in filters.items())}
    uuids = _sorted_uuids(context, own, filters, sort_key, descending)
    start = 0
    if marker is not None:
        try:
            start = uuids.index(marker) + 1
        except ValueError as exc:
            raise ironic_exception.InspectionRuleNotFound(rule=marker) from exc
    wanted = uuids[start:start + limit]
    stored = {rule.uuid: rule for rule in rule_object.Rule.list(
        context, {'uuid': [uuid for uuid in wanted if uuid not in own]})}
    # A rule can go between one query and the next.
    rules = [found for uuid in wanted
             if (found := own.get(uuid) or stored.get(uuid))]
    more = len(uuids) > start + limit
    if more and not rules:
        return page(context, built_in, filters, sort_key, descending, limit,
                    marker)
    return rules, more


def _sorted_uuids(context: Any, own: dict[str, model.Rule],
                  filters: dict[str, Any], sort_key: str | None,
                  descending: bool) -> list[str]:
    def values(field: str) -> dict[str, Any]:
        return {
            **{uuid: getattr(rule, field, None)
               for uuid, rule in own.items()},
            **dict(rule_object.Rule.list_values(context, field, filters))}

    if sort_key == CREATION_ORDER:
        uuids = [*values('uuid')]
        return uuids[::-1] if descending else uuids
    if sort_key is None:
        # A rule can go between one query and the next.
        phases, priorities = values('phase'), values('priority')
        uuids = sorted(
            (uuid for uuid in phases if uuid in priorities),
            key=lambda uuid: (model.PHASES.index(phases[uuid]),
                              -priorities[uuid]))
        return uuids[::-1] if descending else uuids
    found = values(sort_key)
    return sorted(found, key=lambda uuid: (found[uuid] is not None,
                                           found[uuid]), reverse=descending)


def get_one(rule_uuid: str, query: Answer) -> Answer:
    """Show one rule."""
    uuid = request.rule_uuid(rule_uuid)
    built_in = (rule for rule in start.rules().built_in if rule.uuid == uuid)
    rule = next(built_in, None) or _stored(uuid)
    fields = query['fields']
    return view.represent(rule, view.FIELDS if fields is None else fields)


def create(body: Any) -> Answer:
    """Make a rule."""
    if isinstance(body, dict) and body.get('uuid') is None:
        body = {**body, 'uuid': uuidutils.generate_uuid()}
    rule = store(validation.parse(body, start.rules().ops))
    api.response.location = link.build_url(view.RESOURCE, rule.uuid)
    return view.represent(rule)


def store(parsed: model.Rule) -> rule_object.Rule:
    """Store a new rule.

    :raises: RuleAlreadyExists if its UUID is taken.
    """
    uuid = request.rule_uuid(parsed.uuid)
    if uuid in start.rules().built_in_uuids:
        raise exceptions.RuleAlreadyExists(uuid)
    rule = rule_object.Rule(api.request.context,
                            **{**parsed.to_mapping(), 'uuid': uuid})
    with notification.emitted(api.request.context, rule, 'create'):
        rule.create()
    return rule


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
        replacing = {**fields, 'uuid': rule.uuid}
        if 'uuid' in fields:
            raise exceptions.InvalidRule(exceptions.first_of([
                exceptions.Problem('/uuid', validation.READ_ONLY),
                *validation.validate(replacing, ops)]))
        return validation.parse(replacing, ops)

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

    return rule_set.decided_anew(change)


def _stored(uuid: str) -> rule_object.Rule:
    return rule_object.Rule.get_by_uuid(api.request.context, uuid)
