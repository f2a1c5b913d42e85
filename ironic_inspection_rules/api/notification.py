# SPDX-License-Identifier: Apache-2.0

"""Notifications of changed rules."""

from collections.abc import Iterator
import contextlib
from typing import Any

from ironic import objects
from ironic.api.controllers.v1 import notification_utils
from ironic.conf import CONF

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.objects import rule as rule_object


def enabled() -> bool:
    """Check if notifications are switched on."""
    return bool(CONF.notification_level)


@contextlib.contextmanager
def emitted(
    context: Any, rule: rule_object.StoredRule, action: str
) -> Iterator[None]:
    """Emit notifications before and after a stored rule is changed.

    The first one is ``baremetal.inspectionrule.<action>.start``. The second
    one has ``end`` at that place, or ``error`` if the change raises an error.
    They have the same payload as notifications of Ironic's own rules.

    :param action: ``create``, ``update`` or ``delete``.
    """
    if not enabled():
        yield
        return
    notification_utils.emit_start_notification(context, _convert(rule), action)
    with notification_utils.handle_error_notification(
        context, _convert(rule), action
    ):
        yield
    notification_utils.emit_end_notification(context, _convert(rule), action)


def _convert(rule: rule_object.StoredRule) -> Any:
    """Return a rule as the object of Ironic that notifications take.

    The conditions and actions of a sensitive rule are left empty.
    """
    fields = {}
    for name, value in rule.as_dict().items():
        # Rules of this project have fields, such as mode and vars, that
        # Ironic's rules have not.
        if name in objects.InspectionRule.fields:
            fields[name] = value
    # Ironic leaves out conditions and actions of a sensitive rule itself, but
    # only since release 38.
    operations = {name: fields[name] for name in model.OPERATIONS}
    fields.update(stored_rule.content(rule, operations, instead=[]))
    return objects.InspectionRule(**fields)
