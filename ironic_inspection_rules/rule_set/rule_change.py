# SPDX-License-Identifier: Apache-2.0

"""Changes of rules as lines of a diff."""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import difflib
from typing import Any

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import yaml_text

_HIDDEN = '(hidden)'
_SIGNS = {'created': '+', 'updated': '~', 'moved': '>', 'deleted': '-'}


def plan_lines(steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Show a plan, and at its end how much there is to do.

    :param steps: as for :func:`lines`, with the ``outcome`` of each.
    """
    count = {outcome: sum(step['outcome'] == outcome for step in steps)
             for outcome in _SIGNS}
    for step in steps:
        if step['outcome'] in _SIGNS:
            name = step['description'] or _('(no description)')
            by = _(', found by %s') % step['matched_by'] if (
                step['matched_by']) else ''
            yield f'{_SIGNS[step["outcome"]]} {name} ({step["uuid"]}{by})'
            if step['outcome'] != 'moved':
                yield from lines(step)
            yield ''
    if any(count.values()):
        yield _('%(created)d to create, %(updated)d to update, '
                '%(moved)d to move, %(deleted)d to delete') % count
    else:
        yield _('Nothing to do: the rules are as they should be')


def lines(step: Mapping[str, Any]) -> list[str]:
    """Return the hunks of a unified diff.

    :param step: the rule ``before`` and ``after`` the change, None where
        there is none, and the names of the ``fields`` that differ.
    """
    before, after = (_document(shown(step, side))
                     for side in ('before', 'after'))
    return list(difflib.unified_diff(before, after, n=3, lineterm=''))[2:]


def _document(rule: Mapping[str, Any] | None) -> list[str]:
    if rule is None:
        return []
    return yaml_text.dump(dict(rule)).splitlines()


def shown(step: Mapping[str, Any], side: str) -> dict[str, Any] | None:
    """Return a rule without the secrets of a sensitive one.

    :param step: as for :func:`lines`.
    :param side: ``before`` or ``after``.
    """
    rule = step[side]
    if rule is None:
        return None
    fields = {name: rule[name] for name in model.WRITABLE}
    either = (step['before'] or {}, step['after'] or {})
    if any(each.get('sensitive') for each in either):
        for name in model.HIDDEN:
            fields[name] = _('(hidden, new)') if (
                side == 'after' and name in step['fields']) else _HIDDEN
    return fields
