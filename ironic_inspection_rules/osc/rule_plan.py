# SPDX-License-Identifier: Apache-2.0

"""How a plan looks: a diff for people, or JSON."""

from collections.abc import Iterator
from collections.abc import Sequence
import json
from typing import Any

from rich import console
from rich import text

from ironic_inspection_rules.client import rule_set
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_set import rule_change

_SIGNS = {'created': '+', 'updated': '~', 'moved': '>', 'deleted': '-'}
_STYLES = {'+': 'green', '-': 'red', '~': 'yellow', '>': 'cyan', '@': 'cyan'}


def as_json(plan: rule_set.Plan,
            capacity: Sequence[dict[str, Any]] | None = None) -> str:
    """Return a plan for programs.

    :param capacity: of flavors, where that was asked for.
    """
    return json.dumps({'revision': plan.revision, 'rules': [
        {**step, **{side: rule_change.shown(step, side)
                    for side in ('before', 'after')}}
        for step in plan.steps],
        **({} if capacity is None else {'capacity': capacity})}, indent=2)


def print_diff(plan: rule_set.Plan, stream: Any) -> None:
    """Print a plan for people; in colour where that is a terminal."""
    out = console.Console(file=stream, highlight=False, soft_wrap=True)
    for line in _lines(plan):
        out.print(text.Text(line, style=_STYLES.get(line[:1], '')))
    count = {outcome: sum(step['outcome'] == outcome for step in plan.steps)
             for outcome in _SIGNS}
    if any(count.values()):
        out.print(_('%(created)d to create, %(updated)d to update, '
                    '%(moved)d to move, %(deleted)d to delete') % count)
    else:
        out.print(_('Nothing to do: the rules are as they should be'))


def _lines(plan: rule_set.Plan) -> Iterator[str]:
    for step in plan.changes:
        name = step['description'] or _('(no description)')
        by = _(', found by %s') % step['matched_by'] if (
            step['matched_by']) else ''
        yield f'{_SIGNS[step["outcome"]]} {name} ({step["uuid"]}{by})'
        if step['outcome'] != 'moved':
            yield from rule_change.lines(step)
        yield ''
