# SPDX-License-Identifier: Apache-2.0

"""Notifications that a stored rule is created, changed or deleted.

They are sent over Ironic's message bus, in the form of Ironic's own
notifications, if ``[DEFAULT]notification_level`` is set.
"""

from collections.abc import Iterator
import contextlib
from typing import Any

from ironic import objects
from ironic.api.controllers.v1 import notification_utils
from ironic.conf import CONF

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.objects import rule as rule_object


def is_enabled() -> bool:
    """Check if notifications are switched on."""
    return bool(CONF.notification_level)


@contextlib.contextmanager
def emit_around(
    context: Any, rule: rule_object.StoredRule, action: str
) -> Iterator[None]:
    """Emit notifications before and after a stored rule is changed.

    The body of the ``with`` statement changes the rule. Before it, the
    notification ``baremetal.inspectionrule.<action>.start`` is sent. After it,
    the same name with ``end`` is sent, or with ``error`` if the body raises an
    error. They have the same payload as notifications of Ironic's own rules.

    :param rule: the rule, as it is or will be stored.
    :param action: ``create``, ``update`` or ``delete``.
    """
    if not is_enabled():
        yield
        return
    notification_utils.emit_start_notification(context, _convert(rule), action)
    with notification_utils.handle_error_notification(
        context, _convert(rule), action
    ):
        yield
    notification_utils.emit_end_notification(context, _convert(rule), action)


def _convert(rule: rule_object.StoredRule) -> Any:
    """Return a rule as an object of Ironic, which notifications take.

    The conditions and actions of a sensitive rule are left empty.
    """
    fields = {}
    for name, value in rule.as_dict().items():
        # Rules of this project have fields, such as mode and vars, that
        # Ironic's rules have not.
        if name in objects.InspectionRule.fields:
            fields[name] = value
    # Replace conditions and actions by empty lists if the rule is sensitive.
    # Ironic does so itself, but only since release 38.
    operations = {name: fields[name] for name in model.OPERATIONS}
    fields.update(stored_rule.content(rule, operations, instead=[]))
    return objects.InspectionRule(**fields)
