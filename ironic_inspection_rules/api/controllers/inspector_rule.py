# SPDX-License-Identifier: Apache-2.0

"""/v1/rules: the API of ironic-inspector over rules in its language."""

from collections.abc import Iterator
import contextlib
from http import client as http_client
from typing import Any

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import contention
from ironic_inspection_rules.api import inspector_forms
from ironic_inspection_rules.api import notification
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.legacy import translate
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.rule_set import repository

_CREATED_SINCE = (1, 6)


class InspectorRuleController(base.RestController):
    """Stored rules that the old language has words for.

    Others are not there (blueprint 000 "Introduce rules API").

    :param rules: the rules in force.
    """

    def __init__(self, rules: repository.Repository) -> None:
        self._built_in = {rule.uuid for rule in rules.built_in}
        self._ops = rules.ops

    @base.expose()
    def get_all(self) -> dict[str, Any]:
        """List rules, without conditions and actions."""
        self._admit('get')
        return {'rules': [_represent(rule) for rule, _form in self._all()]}

    @base.expose()
    def get_one(self, uuid: str) -> dict[str, Any]:
        """Show one rule."""
        self._admit('get')
        rule, form = self._find(uuid)
        return _represent(rule, form)

    @base.expose()
    def post(self) -> dict[str, Any]:
        """Make a rule."""
        version = self._admit('create')
        parsed = self._parse(request.body())
        if parsed.uuid in self._built_in:
            raise exceptions.RuleAlreadyExists(parsed.uuid)
        rule = rule_object.Rule(api.request.context, **parsed.to_mapping())
        with notification.emitted(api.request.context, rule, 'create'):
            rule.create()
        if version >= _CREATED_SINCE:
            api.response.status_int = http_client.CREATED
        return _represent(rule, self._form(rule))

    @base.expose()
    def put(self, uuid: str) -> dict[str, Any]:
        """Replace a rule whole, but for what the old language has not."""
        self._admit('update')
        body = request.body()
        if isinstance(body, dict) and body.get('uuid') not in (None, uuid):
            raise exceptions.Invalid(
                _('The UUID of a rule cannot be changed'))

        def change() -> dict[str, Any]:
            rule, _form = self._find(uuid)
            parsed = self._parse({**body, 'uuid': rule.uuid} if isinstance(
                body, dict) else body)
            rule.update({name: getattr(parsed, name)
                         for name in ('description', 'scope')})
            rule.update({name: list(getattr(parsed, name))
                         for name in model.OPERATIONS})
            rule.update({model.VARS: {}})
            with notification.emitted(api.request.context, rule, 'update'):
                rule.save()
            return _represent(rule, self._form(rule))

        return contention.decided_anew(change)

    @base.expose(status_code=http_client.NO_CONTENT)
    def delete(self, uuid: str | None = None) -> None:
        """Remove one rule, or all of them."""
        self._admit('delete')
        if uuid is not None:
            rule, _form = self._find(uuid)
            _destroy(rule)
            return
        contention.decided_anew(self._destroy_all)

    def _destroy_all(self) -> None:
        context = api.request.context
        revision = rule_object.Rule.get_revision(context)
        rules = [rule for rule, _form in self._all()]
        with contextlib.ExitStack() as stack:
            for rule in rules:
                stack.enter_context(
                    notification.emitted(context, rule, 'delete'))
            rule_object.Rule.change(context, revision, [], {},
                                    [rule.uuid for rule in rules])

    @staticmethod
    def _admit(action: str) -> tuple[int, int]:
        """Check what every request has to have.

        :returns: the version of ironic-inspector's API it is for.
        """
        version = inspector_forms.requested_version()
        api_utils.check_policy(f'baremetal:inspection_rule:{action}')
        return version

    def _parse(self, body: Any) -> model.Rule:
        if isinstance(body, dict) and not body.get('uuid'):
            body = {**body, 'uuid': uuidutils.generate_uuid()}
        elif isinstance(body, dict):
            body = {**body, 'uuid': request.rule_uuid(body['uuid'])}
        return translate.parse(body, self._ops)

    def _form(self, rule: rule_object.Rule) -> dict[str, Any] | None:
        return translate.restore(rule, self._ops)

    def _all(self) -> Iterator[tuple[rule_object.Rule, dict[str, Any]]]:
        for rule in rule_object.Rule.list(api.request.context):
            form = self._form(rule)
            if form is not None:
                yield rule, form

    def _find(self, uuid: str
              ) -> tuple[rule_object.Rule, dict[str, Any]]:
        if uuidutils.is_uuid_like(uuid):
            rule = rule_object.Rule.get_by_uuid(api.request.context,
                                                request.rule_uuid(uuid))
            form = self._form(rule)
            if form is not None:
                return rule, form
        raise exceptions.RuleNotFound(uuid)


def _represent(rule: rule_object.Rule,
               form: dict[str, Any] | None = None) -> dict[str, Any]:
    """Tell a client about a rule.

    :param form: its conditions and actions in the old language, or None to
        leave them out.
    """
    shown = {name: rule[name] for name in ('uuid', 'description', 'scope')}
    if form is not None:
        shown.update(dict.fromkeys(form) if rule.sensitive else form)
    return {**shown, 'links': [{'rel': 'self',
                                'href': f'/v1/rules/{rule.uuid}'}]}


def _destroy(rule: rule_object.Rule) -> None:
    with notification.emitted(api.request.context, rule, 'delete'):
        rule.destroy()
