# SPDX-License-Identifier: Apache-2.0

"""Actions whose writes a later action of the same rule undoes."""

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import conflicts
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import reads
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import file_rule

_ROOTS = {'node': 'node', 'capability': 'node', 'trait': 'node',
          'traits': 'node', 'port': 'ports', 'plugin_data': 'plugin_data'}
"""By the kind of a write, the root of the fields that read it."""


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find actions of which a later one leaves nothing, unread."""
    if rule.written.is_old:
        return
    for place, action in enumerate(rule.actions):
        if action.loops:
            continue
        written = list(conflicts.placed_writes(action))
        for later in rule.actions[place + 1:]:
            if later.op.plugin.FAILS or not written or any(
                    _reads(later, each) for each in written):
                break
            if not later.loops and not later.inner and all(
                    _undoes(later, each) for each in written):
                yield action.pointer, _(
                    'this action has no effect: %(later)s writes %(place)s '
                    'too') % {
                        'later': file_rule.place_name(later.pointer),
                        'place': written[0]}
                break


def _reads(action: file_rule.Operation, write: conflicts.Write) -> bool:
    """Return whether an action, or its conditions, may read a place."""
    for each in action.all:
        for field in reads.fields([*each.arguments.values(),
                                    each.written.get('loop')]):
            if field.root != _ROOTS[write.kind]:
                continue
            if write.kind not in ('node', 'plugin_data'):
                return True
            length = min(len(field.steps), len(write.place))
            if field.steps[:length] == write.place[:length]:
                return True
    return False


def _undoes(action: file_rule.Operation, write: conflicts.Write) -> bool:
    """Return whether an action leaves nothing of what was written."""
    if interpolation.fields(list(write.place)) or write.extends:
        return False
    return any(other.kind == write.kind and not other.extends
               and other.place == write.place[:len(other.place)]
               for other in conflicts.placed_writes(action))
