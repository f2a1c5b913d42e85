# SPDX-License-Identifier: Apache-2.0

"""Serves the rules API of ironic-inspector, ``/v1/rules``.

Clients of ironic-inspector write rules in its older language. Rules are stored
in the language of this project. A rule is *expressible* if it can be shown in
the older language; other rules cannot be seen or changed in this API. The *old
form* of a rule is its conditions and actions in the older language.
"""

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

# The first version of ironic-inspector's API that answers 201 instead of 200
# when a rule is created.
_CREATED_SINCE = (1, 6)

Answer = dict[str, Any]


def get_all() -> Answer:
    """List the rules that ironic-inspector's language can express.

    The list does not include conditions and actions.
    """
    return {
        'rules': [_represent(rule) for rule, _old_form in _list_expressible()]
    }


def get_one(uuid: str) -> Answer:
    """Show one rule."""
    return _represent(*_find(uuid))


def create(body: Any) -> Answer:
    """Store a new rule in ironic-inspector's language, and return it.

    The status of the answer is 201, or 200 if the client asks for an old
    version of ironic-inspector's API.
    """
    rule = inspection_rule.store(_parse(body))
    # The default status is 200.
    if inspector_forms.requested_version() >= _CREATED_SINCE:
        api.response.status_int = http_client.CREATED
    return _represent(rule, _express(rule))


def replace(uuid: str, body: Any) -> Answer:
    """Replace a stored rule with a rule in ironic-inspector's language.

    Fields that this language does not have, e.g. the priority, the phase and
    the mode, are not changed.

    :raises: RuleNotFound if there is no such rule, or if this language cannot
        express it.
    """
    if isinstance(body, dict) and body.get('uuid') not in (None, uuid):
        raise exceptions.Invalid(_('The UUID of a rule cannot be changed'))

    def change() -> Answer:
        """Read the stored rule, update it from the body, and save it."""
        rule, _old_form = _find(uuid)
        document = body
        if isinstance(body, dict):
            # The UUID is taken from the path, because the body may omit it.
            document = {**body, 'uuid': rule.uuid}
        new_rule = _parse(document)
        rule.update(
            {
                'description': new_rule.description,
                'scope': new_rule.scope,
                'conditions': list(new_rule.conditions),
                'actions': list(new_rule.actions),
            }
        )
        with notification.emit_around(api.request.context, rule, 'update'):
            rule.save()
        return _represent(rule, _express(rule))

    # Another client may change the rule between reading and saving it.
    return rule_set.retry_on_conflict(change)


def delete(uuid: str) -> None:
    """Remove a rule that ironic-inspector's language can express."""
    rule, _old_form = _find(uuid)
    with notification.emit_around(api.request.context, rule, 'delete'):
        rule.destroy()


def delete_all() -> None:
    """Remove all rules that ironic-inspector's language can express.

    Clients of ironic-inspector's API cannot see the other rules, which are
    kept. If another request changes rules at the same time, the rules are
    listed and removed again.
    """
    context = api.request.context

    def remove() -> None:
        """List the rules and remove them, unless the rule set has changed."""
        revision = rule_object.StoredRule.get_revision(context)
        rules = [rule for rule, _old_form in _list_expressible()]
        with contextlib.ExitStack() as notifications:
            for rule in rules:
                # This sends the notification "start" now. When the stack is
                # left, it sends "end", or "error" if the removal fails. In
                # between, all rules are removed in one transaction.
                notifications.enter_context(
                    notification.emit_around(context, rule, 'delete')
                )
            rule_object.StoredRule.change(
                context,
                revision,
                created=[],
                updated={},
                deleted=[rule.uuid for rule in rules],
            )

    rule_set.retry_on_conflict(remove)


def _parse(body: Any) -> model.Rule:
    """Convert a rule from ironic-inspector's language.

    :param body: the body sent by the client, of any type. A rule without a
        UUID gets a new one.
    :raises: InvalidRule with the problems of the rule; Invalid if its UUID is
        not a UUID.
    """
    if isinstance(body, dict):
        uuid = body.get('uuid')
        if uuid:
            uuid = request.convert_rule_uuid(uuid)
        else:
            uuid = uuidutils.generate_uuid()
        body = {**body, 'uuid': uuid}
    return translate.parse(body, start.rules().ops)


def _express(rule: rule_object.StoredRule) -> dict[str, Any] | None:
    """Return conditions and actions of a rule in ironic-inspector's language.

    :returns: ``{'conditions': […], 'actions': […]}``; None if this language
        cannot express them.
    """
    return translate.restore(rule, start.rules().ops)


def _list_expressible() -> Iterator[
    tuple[rule_object.StoredRule, dict[str, Any]]
]:
    """Yield the stored rules that ironic-inspector's language can express.

    Every rule is paired with its conditions and actions in that language.
    """
    for rule in rule_object.StoredRule.list(api.request.context):
        old_form = _express(rule)
        if old_form is not None:
            yield rule, old_form


def _find(uuid: str) -> tuple[rule_object.StoredRule, dict[str, Any]]:
    """Find a stored rule that ironic-inspector's language can express.

    :returns: the rule, and its conditions and actions in that language.
    :raises: RuleNotFound if there is no such rule, or if this language cannot
        express it.
    """
    if uuidutils.is_uuid_like(uuid):
        rule = rule_object.StoredRule.get_by_uuid(
            api.request.context, request.convert_rule_uuid(uuid)
        )
        old_form = _express(rule)
        if old_form is not None:
            return rule, old_form
    raise exceptions.RuleNotFound(uuid)


def _represent(
    rule: rule_object.StoredRule, old_form: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a rule as clients of ironic-inspector see it.

    :param old_form: the conditions and actions of the rule in
        ironic-inspector's language; None to omit them. For a sensitive rule,
        null is shown instead of them.
    """
    represented = {
        name: rule[name] for name in ('uuid', 'description', 'scope')
    }
    if old_form is not None:
        represented.update(stored_rule.content(rule, old_form))
    link = {'rel': 'self', 'href': f'/v1/rules/{rule.uuid}'}
    return {**represented, 'links': [link]}
