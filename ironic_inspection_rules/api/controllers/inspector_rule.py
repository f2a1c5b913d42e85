# SPDX-License-Identifier: Apache-2.0

"""The rules API of ironic-inspector, /v1/rules."""

from collections.abc import Iterator
import contextlib
from http import client as http_client
from typing import Any

from ironic import api
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import inspector_forms
from ironic_inspection_rules.api import notification
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import rule_set
from ironic_inspection_rules.api.controllers import inspection_rule
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.plugins.legacy import translate

# The version of the API of ironic-inspector in which a new rule is answered
# with 201.
_CREATED_SINCE = (1, 6)

Answer = dict[str, Any]


def get_all() -> Answer:
    """List rules, without conditions and actions."""
    return {'rules': [_represent(rule) for rule, _form in _list_expressible()]}


def get_one(uuid: str) -> Answer:
    """Show one rule."""
    return _represent(*_find(uuid))


def create(body: Any) -> Answer:
    """Store a new rule in ironic-inspector's language, and return it.

    The answer has the status 201, or 200 if the client asks for a version of
    ironic-inspector's API in which creation was answered so.
    """
    rule = inspection_rule.store(_parse(body))
    if inspector_forms.requested_version() >= _CREATED_SINCE:
        # The response to this request, whose status is 200 otherwise.
        api.response.status_int = http_client.CREATED
    return _represent(rule, _form(rule))


def replace(uuid: str, body: Any) -> Answer:
    """Replace a stored rule by one in ironic-inspector's language.

    Fields that this language does not have stay.

    :raises: RuleNotFound also for a stored rule that this language cannot
        express.
    """
    if isinstance(body, dict) and body.get('uuid') not in (None, uuid):
        raise exceptions.Invalid(_('The UUID of a rule cannot be changed'))

    def change() -> Answer:
        """Read the stored rule, and save it with what the body has."""
        rule, _form_before = _find(uuid)
        document = body
        if isinstance(body, dict):
            # The path of the request has the UUID, the body need not.
            document = {**body, 'uuid': rule.uuid}
        new_rule = _parse(document)
        # Priority, phase, mode and the like are no part of this language.
        rule.update(
            {
                'description': new_rule.description,
                'scope': new_rule.scope,
                'conditions': list(new_rule.conditions),
                'actions': list(new_rule.actions),
            }
        )
        with notification.emitted(api.request.context, rule, 'update'):
            rule.save()
        return _represent(rule, _form(rule))

    # Another client may change the rule between reading and saving it.
    return rule_set.retry_on_conflict(change)


def delete(uuid: str) -> None:
    """Remove a rule that ironic-inspector's language can express."""
    rule, _form_before = _find(uuid)
    with notification.emitted(api.request.context, rule, 'delete'):
        rule.destroy()


def delete_all() -> None:
    """Remove all rules that ironic-inspector's language can express.

    Clients of its API see no others. Rules that were changed meanwhile make
    it begin again.
    """
    context = api.request.context

    def change() -> None:
        revision = rule_object.StoredRule.get_revision(context)
        rules = [rule for rule, _form in _list_expressible()]
        with contextlib.ExitStack() as notifications:
            for rule in rules:
                # Sends "start" of a rule now; "end", or "error" if the change
                # raises, is sent when the stack is left. So all rules can go
                # in one transaction in between.
                notifications.enter_context(
                    notification.emitted(context, rule, 'delete')
                )
            rule_object.StoredRule.change(
                context,
                revision,
                created=[],
                updated={},
                deleted=[rule.uuid for rule in rules],
            )

    rule_set.retry_on_conflict(change)


def _parse(body: Any) -> model.Rule:
    """Parse a rule in ironic-inspector's language.

    One without a UUID gets a new one.
    """
    if isinstance(body, dict):
        uuid = body.get('uuid')
        if uuid:
            uuid = request.rule_uuid(uuid)
        else:
            uuid = uuidutils.generate_uuid()
        body = {**body, 'uuid': uuid}
    return translate.parse(body, start.rules().ops)


def _form(rule: rule_object.StoredRule) -> dict[str, Any] | None:
    """Return conditions and actions of a rule as ironic-inspector has them.

    :returns: None if its language cannot express them.
    """
    return translate.restore(rule, start.rules().ops)


def _list_expressible() -> Iterator[
    tuple[rule_object.StoredRule, dict[str, Any]]
]:
    """Yield stored rules with their form in ironic-inspector's language.

    Rules that it cannot express are left out.
    """
    for rule in rule_object.StoredRule.list(api.request.context):
        form = _form(rule)
        if form is not None:
            yield rule, form


def _find(uuid: str) -> tuple[rule_object.StoredRule, dict[str, Any]]:
    """Return a stored rule with its form in ironic-inspector's language.

    :raises: RuleNotFound also for one that this language cannot express.
    """
    if uuidutils.is_uuid_like(uuid):
        rule = rule_object.StoredRule.get_by_uuid(
            api.request.context, request.rule_uuid(uuid)
        )
        form = _form(rule)
        if form is not None:
            return rule, form
    raise exceptions.RuleNotFound(uuid)


def _represent(
    rule: rule_object.StoredRule, form: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a rule as clients see it.

    :param form: its conditions and actions in ironic-inspector's language,
        or None to leave them out.
    """
    represented = {
        name: rule[name] for name in ('uuid', 'description', 'scope')
    }
    if form is not None:
        represented.update(stored_rule.content(rule, form))
    link = {'rel': 'self', 'href': f'/v1/rules/{rule.uuid}'}
    return {**represented, 'links': [link]}
