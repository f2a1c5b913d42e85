# SPDX-License-Identifier: Apache-2.0

"""lint: plugins that fail when they are asked what they state and write.

Other checks leave out a plugin that fails to, so this one reports it.
"""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule


def check(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find ops of plugins that fail when asked for their facts or writes.

    All other checks pass over such an op without a word.
    """
    if rule.problems:
        # A plugin may expect arguments without problems.
        return
    for condition in rule.all_conditions:
        try:
            effects.declared_facts(condition)
        except exceptions.PluginFailed as exc:
            yield condition.pointer, _message(exc)
        except exceptions.OperationError:
            # It says that it cannot know before there is a machine.
            continue
    for action in rule.actions:
        try:
            effects.declared_writes(action)
        except exceptions.PluginFailed as exc:
            yield action.pointer, _message(exc)
        except exceptions.OperationError:
            continue


def _message(exc: exceptions.PluginFailed) -> str:
    return _('"%(op)s": %(error)s') % {'op': exc.op, 'error': exc}
