# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_rules, in the place of Ironic's own."""

from collections.abc import Callable
from collections.abc import Iterable
import contextlib
from http import client as http_client
from typing import Any
from urllib import parse

from ironic import api
from ironic.api.controllers import link
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import contention
from ironic_inspection_rules.api import listing
from ironic_inspection_rules.api import notification
from ironic_inspection_rules.api import patch
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import rule_set
from ironic_inspection_rules.api import version
from ironic_inspection_rules.api import view
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.api.controllers import evaluate
from ironic_inspection_rules.api.controllers import inspection_rule_revision
from ironic_inspection_rules.api.controllers import replay
from ironic_inspection_rules.api.controllers import rule_statistics
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import announcement
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.rule_set import repository

_MAX_MESSAGE = 1000


class InspectionRuleController(base.RestController):
    """Stored and built-in rules (spec 003 "REST API impact").

    :param rules: the rules in force, of which the built-in ones show too.
    """

    def __init__(self, rules: repository.Repository) -> None:
        self._built_in = {rule.uuid: rule for rule in rules.built_in}
        self._ops = rules.ops
        self._rule_set = rule_set.RuleSet(rules.ops,
                                          frozenset(self._built_in))
        self.evaluate = evaluate.EvaluateController(rules)
        self.replay = replay.ReplayController(rules)
        self.revisions = inspection_rule_revision.RevisionController(
            self._rule_set)
        self.statistics = rule_statistics.RuleStatisticsController(rules)

    @base.expose()
    @version.since_inspection_rules_get
    def get_all(self) -> dict[str, Any]:
        """List rules."""
        api_utils.check_policy('baremetal:inspection_rule:get')
        query = request.query({
            'detail': args.boolean, 'fields': _fields,
            'scope': _scope, 'phase': _phase, 'limit': args.integer,
            'marker': _marker, 'sort_key': _sort_key,
            'sort_dir': _sort_direction})
        if query['detail'] and query['fields'] is not None:
            raise exceptions.Invalid(
                _('Cannot take both "detail" and "fields"'))
        fields = query['fields']
        if fields is None:
            fields = view.FIELDS if query['detail'] else view.BRIEF_FIELDS
        limit = api_utils.validate_limit(query['limit'])
        rules, more = listing.page(
            api.request.context, self._built_in.values(),
            filters={name: query[name] for name in ('scope', 'phase')
                     if query[name] is not None},
            sort_key=query['sort_key'],
            descending=query['sort_dir'] == 'desc',
            limit=limit, marker=query['marker'])
        answer: dict[str, Any] = {view.RESOURCE: [
            view.represent(rule, fields) for rule in rules]}
        if more:
            answer['next'] = _next_link(limit, rules[-1].uuid)
        warnings = [*announcement.missing()]
        if warnings:
            answer['warnings'] = warnings
        return answer

    @base.expose()
    @version.since_inspection_rules_get
    def get_one(self, rule_uuid: str) -> dict[str, Any]:
        """Show one rule."""
        api_utils.check_policy('baremetal:inspection_rule:get')
        query = request.query({'fields': _fields})
        uuid = request.rule_uuid(rule_uuid)
        rule = self._built_in.get(uuid) or _stored(uuid)
        fields = query['fields']
        return view.represent(rule, view.FIELDS if fields is None else fields)

    @base.expose(status_code=http_client.CREATED)
    @version.since_inspection_rules
    def post(self) -> dict[str, Any]:
        """Make a rule."""
        api_utils.check_policy('baremetal:inspection_rule:create')
        request.query({})
        body = request.body()
        if isinstance(body, dict):
            _check_writable(set(body) - {'uuid'})
            if body.get('uuid') is None:
                body = {**body, 'uuid': uuidutils.generate_uuid()}
        parsed = validation.parse(body, self._ops)
        uuid = request.rule_uuid(parsed.uuid)
        if uuid in self._built_in:
            raise exceptions.RuleAlreadyExists(uuid)
        rule = rule_object.Rule(api.request.context,
                                **{**parsed.to_mapping(), 'uuid': uuid})
        with notification.emitted(api.request.context, rule, 'create'):
            rule.create()
        api.response.location = link.build_url(view.RESOURCE, uuid)
        return view.represent(rule)

    @base.expose()
    @version.since_inspection_rules
    def patch(self, rule_uuid: str) -> dict[str, Any]:
        """Change some fields of a rule."""
        api_utils.check_policy('baremetal:inspection_rule:update')
        request.query({})
        operations = request.body()

        def decide(rule: rule_object.Rule) -> model.Rule:
            fields = patch.apply(
                {name: rule[name] for name in model.WRITABLE}, operations)
            try:
                return validation.parse(fields, self._ops)
            except exceptions.InvalidRule as exc:
                if not rule.sensitive:
                    raise
                # No cause: it would say what was left out.
                raise exceptions.InvalidRule(
                    view.without_secrets(exc.problems)) from None

        return self._change(rule_uuid, decide)

    @base.expose()
    @version.since_inspection_rules
    def put(self, rule_uuid: str | None = None) -> dict[str, Any]:
        """Replace a rule whole, or the whole rule set."""
        api_utils.check_policy('baremetal:inspection_rule:update')
        if rule_uuid is None:
            return self._replace_all()
        request.query({})
        body = request.body()

        def decide(rule: rule_object.Rule) -> model.Rule:
            if not isinstance(body, dict):
                return validation.parse(body, self._ops)
            # What a client has just read may come back with its changes.
            shown = view.represent(rule)
            fields = {name: value for name, value in body.items()
                      if name not in view.READ_ONLY or value != shown[name]}
            _check_writable(fields)
            return validation.parse({**fields, 'uuid': rule.uuid},
                                    self._ops)

        return self._change(rule_uuid, decide)

    @base.expose(status_code=http_client.NO_CONTENT)
    @version.since_inspection_rules
    def delete(self, rule_uuid: str | None = None) -> None:
        """Remove one rule, or all but the built-in ones."""
        api_utils.check_policy('baremetal:inspection_rule:delete')
        request.query({})
        context = api.request.context
        if rule_uuid is not None:
            rule = self._changeable(rule_uuid)
            with notification.emitted(context, rule, 'delete'):
                rule.destroy()
            return
        with contextlib.ExitStack() as stack:
            if notification.enabled():
                for rule in rule_object.Rule.list(context):
                    stack.enter_context(
                        notification.emitted(context, rule, 'delete'))
            rule_object.Rule.destroy_all(context)

    def _replace_all(self) -> dict[str, Any]:
        query = request.query(dict.fromkeys(('dry_run', 'prune'),
                                            args.boolean))
        asked = _checked(request.body())
        return self._rule_set.replace(
            asked['rules'], asked.get('revision'), asked.get('message'),
            bool(query['dry_run']), query['prune'] is not False)

    def _changeable(self, rule_uuid: str) -> rule_object.Rule:
        uuid = request.rule_uuid(rule_uuid)
        if uuid in self._built_in:
            raise exceptions.Invalid(
                _('Inspection rule %s is built-in and cannot be changed')
                % uuid)
        return _stored(uuid)

    def _change(self, rule_uuid: str,
                decide: Callable[[rule_object.Rule], model.Rule]
                ) -> dict[str, Any]:
        def change() -> dict[str, Any]:
            rule = self._changeable(rule_uuid)
            fields = decide(rule).to_mapping()
            if rule.sensitive and not fields['sensitive']:
                raise exceptions.Invalid(
                    _('A sensitive inspection rule stays sensitive'))
            rule.update({name: value for name, value in fields.items()
                         if rule[name] != value})
            with notification.emitted(api.request.context, rule, 'update'):
                rule.save()
            return view.represent(rule)

        return contention.decided_anew(change)


def _check_writable(names: Iterable[str]) -> None:
    for name in names:
        if name in view.READ_ONLY:
            raise exceptions.Invalid(_('/%s is read only') % name)


def _checked(asked: Any) -> dict[str, Any]:
    """Return what a client posts for the whole rule set."""
    if not isinstance(asked, dict):
        raise exceptions.Invalid(_('The request must be a JSON object'))
    unknown = suggestion.all_unknown(_('member of the request'), asked,
                                     ('rules', 'revision', 'message'))
    if unknown:
        raise exceptions.Invalid(unknown)
    if not isinstance(asked.get('rules'), list):
        raise exceptions.Invalid(_('"rules" must be a list'))
    revision, message = asked.get('revision'), asked.get('message')
    if revision is not None and (
            not isinstance(revision, int) or isinstance(revision, bool)):
        raise exceptions.Invalid(_('"revision" must be an integer'))
    if message is not None and not (
            isinstance(message, str) and len(message) <= _MAX_MESSAGE
            and validation.is_storable(message)):
        raise exceptions.Invalid(
            _('"message" must be text of at most %d characters')
            % _MAX_MESSAGE)
    return asked


def _stored(uuid: str) -> rule_object.Rule:
    return rule_object.Rule.get_by_uuid(api.request.context, uuid)


def _next_link(limit: int, marker: str) -> str:
    query = {**api.request.GET, 'limit': limit, 'marker': marker}
    return link.build_url(view.RESOURCE, '?' + parse.urlencode(query))


def _fields(name: str, value: str) -> list[str]:
    fields = args.string_list(name, value)
    # Links are there in any case.
    for field in fields:
        if field not in (*view.FIELDS, 'links'):
            raise exceptions.Invalid(
                suggestion.unknown(_('field'), field, view.FIELDS))
    return [field for field in fields if field != 'links']


def _marker(_name: str, value: str) -> str:
    return request.rule_uuid(value)


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
    if value not in listing.SORT_KEYS:
        raise exceptions.Invalid(_('The sort key %s')
                                 % suggestion.not_one_of(value,
                                                         listing.SORT_KEYS))
    return value


def _sort_direction(_name: str, value: str) -> str:
    return api_utils.validate_sort_dir(value)
