# SPDX-License-Identifier: Apache-2.0

"""Mistyped names in a node's ``driver_info`` and ``properties``."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import reach
from ironic_inspection_rules.authoring.checks import writes
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import node_fields

_SHORTEST = 5
"""Shorter names are near to too many others."""


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find names that differ by one letter from one that Ironic knows.

    Others are a site's own, and may be anything.
    """
    for use in reach.uses(rule):
        if use.steps[0] == 'node' and len(use.steps) > 2:
            problem = _problem(f'{{{use.text}}}', *use.steps[1:3])
            if problem:
                yield use.pointer, problem
    for action in rule.actions:
        for each in writes.writes(action):
            said = _of_path(each.name) if each.kind == 'node' and isinstance(
                each.name, str) else None
            if said:
                yield action.pointer_to(each.argument), said


def _of_path(path: str) -> str | None:
    try:
        steps = data_path.parse(path)
    except exceptions.OperationError:
        return None
    return _problem(f'"{path}"', *steps[:2]) if len(steps) > 1 else None


def _problem(shown: str, field: str, name: str) -> str | None:
    known = node_fields.known().get(field)
    if not known or name in known or len(name) < _SHORTEST:
        return None
    near = suggestion.slip(name, known)
    if near is None:
        return None
    return _('%(shown)s: Ironic has no "%(name)s" in %(field)s; did you mean '
             '"%(near)s"?') % {'shown': shown, 'name': name, 'field': field,
                               'near': near}
