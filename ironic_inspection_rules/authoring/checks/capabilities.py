# SPDX-License-Identifier: Apache-2.0

"""Capabilities that are written as if they were attributes."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import writes
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _

_CAPABILITIES = ('properties', 'capabilities')


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find paths into the text that holds all capabilities."""
    for action in rule.actions:
        for each in writes.writes(action):
            if each.kind != 'node' or not isinstance(each.name, str):
                continue
            try:
                steps = data_path.parse(each.name)
            except exceptions.OperationError:
                continue
            if steps[:2] == _CAPABILITIES and len(steps) > 2:
                yield action.pointer_to(each.argument), _(
                    '"%(path)s" leads into the capabilities, which are one '
                    'text; use %(op)s with the name "%(name)s"') % {
                        'path': each.name, 'name': steps[2],
                        'op': 'unset-capability' if (
                            each.value is data_path.ABSENT)
                        else 'set-capability'}
