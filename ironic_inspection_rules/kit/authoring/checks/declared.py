# SPDX-License-Identifier: Apache-2.0

"""Find plugins that fail when they declare facts or writes.

A condition may declare facts, i.e. how it compares fields with values. An
action may declare writes, i.e. what it changes. The checks of ``lint`` use
both to compare rules. Other checks skip a plugin that fails to declare them,
so this check reports it.
"""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule


def check(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find ops of plugins that fail when they declare facts or writes.

    All other checks skip such an op silently.
    """
    if rule.problems:
        # A plugin may rely on valid arguments.
        return
    for condition in rule.all_conditions:
        try:
            effects.declared_facts(condition)
        except exceptions.PluginFailed as exc:
            yield condition.pointer, _message(exc)
        except exceptions.OperationError:
            # The plugin says that this depends on the machine.
            continue
    for action in rule.actions:
        try:
            effects.declared_writes(action)
        except exceptions.PluginFailed as exc:
            yield action.pointer, _message(exc)
        except exceptions.OperationError:
            # Likewise, the writes depend on the machine.
            continue


def _message(exc: exceptions.PluginFailed) -> str:
    """Return the message that an op failed, with its error."""
    return _('"%(op)s": %(error)s') % {'op': exc.op, 'error': exc}
