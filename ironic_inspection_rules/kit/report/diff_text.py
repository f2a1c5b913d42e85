# SPDX-License-Identifier: Apache-2.0

"""What diff prints of two sets of rules, as text or Markdown."""

from collections.abc import Iterator, Mapping, Sequence
import re
import typing

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.trial import machine_diff
from ironic_inspection_rules.kit.trial import rule_diff
from ironic_inspection_rules.rule_set import table_change

Groups = Mapping[machine_diff.SameTreatment, list[str]]
"""Paths of machines that are treated alike, by what they have in common."""

Tables = Sequence[Mapping[str, typing.Any]]
"""Changes of tables as in a plan."""

_MOST_NAMES = 5
"""Machines of a group that are named at most."""

_LONGEST = 60_000
"""Characters of a comment at most; GitHub takes 65,536."""

_BETWEEN = '\n\n'
"""Between two blocks of Markdown."""

_SIGNS_AND_WORDS = {
    rule_diff.ADDED: ('+', _('added')),
    rule_diff.REMOVED: ('-', _('removed')),
    rule_diff.CHANGED: ('~', _('changed')),
    rule_diff.MOVED: ('>', _('moved')),
    rule_diff.RENAMED: ('=', _('only renamed')),
    rule_diff.REWRITTEN: ('=', _('written otherwise, same meaning')),
}
"""The character that a change of a rule begins with, and its word."""


def lines(
    changes: Sequence[rule_diff.RuleChange],
    groups: Groups,
    count: int,
    tables: Tables = (),
) -> Iterator[str]:
    """Yield all that changes, as lines for a terminal.

    First come the tables, then the rules, then the machines that are treated
    otherwise, and last the numbers of these.
    """
    for title, rows in _of_tables(tables):
        yield title
        yield from rows
        yield ''
    for change in changes:
        sign, word = _SIGNS_AND_WORDS[change.change]
        title = f'{sign} {change.title}'
        if not change.differs:
            title += f' ({word})'
        yield title
        yield from change.lines
        yield ''
    for treatment, paths in groups.items():
        yield ', '.join(_shortened(paths))
        yield from treatment.lines
        yield ''
    yield from _totals(changes, groups, count)


def markdown(
    changes: Sequence[rule_diff.RuleChange],
    groups: Groups,
    count: int,
    tables: Tables = (),
) -> str:
    """Return all that changes, as a comment on a change of the rules.

    What machines and authors have written is code, so that nothing of it is
    a link, a name or a picture. What is too much for a comment is left out.
    """
    parts = [*_totals(changes, groups, count)]
    blocks = []
    for change in changes:
        _sign, word = _SIGNS_AND_WORDS[change.change]
        blocks.append(_block(f'{word}: {_code(change.title)}', change.lines))
    for title, differing in _of_tables(tables):
        blocks.append(_block(_code(title), differing))
    for treatment, paths in groups.items():
        names = ', '.join(map(_code, _shortened(paths)))
        blocks.append(_block(names, treatment.lines))
    length = sum(map(len, parts))
    for number, block in enumerate(blocks):
        length += len(block) + len(_BETWEEN)
        if length > _LONGEST:
            rest = len(blocks) - number
            parts.append(
                _P('%d more is left out', '%d more are left out', rest) % rest
            )
            break
        parts.append(block)
    return _BETWEEN.join(parts) + '\n'


def table_changes(tables: Tables) -> list[dict[str, typing.Any]]:
    """Return changes of tables as the page shows those of rules."""
    words = {
        table_change.CREATED: rule_diff.ADDED,
        table_change.DELETED: rule_diff.REMOVED,
        table_change.UPDATED: rule_diff.CHANGED,
    }
    changes = []
    for step, (title, differing) in zip(
        tables, _of_tables(tables), strict=True
    ):
        changes.append(
            {
                # Without its sign and a space: the page has a word for
                # the sign.
                'title': title[2:],
                'change': words[step['outcome']],
                'lines': differing,
            }
        )
    return changes


def _of_tables(tables: Tables) -> list[tuple[str, list[str]]]:
    """Return a title for each table, and its rows as lines of a diff."""
    titled = []
    for step in tables:
        title, *differing = table_change.plan_lines([step])
        titled.append((title, [line for line in differing if line]))
    return titled


def _totals(
    changes: Sequence[rule_diff.RuleChange], groups: Groups, count: int
) -> Iterator[str]:
    """Yield how many rules changed, and how many machines are affected.

    :param count: the number of machines that were tried; for zero there is no
        line about machines.
    """
    # By kind of change: "added", "removed" …
    numbers = dict.fromkeys(_SIGNS_AND_WORDS, 0)
    for change in changes:
        numbers[change.change] += 1
    text = (
        _(
            'Rules: %(added)d added, %(removed)d removed, %(changed)d '
            'changed, %(moved)d moved'
        )
        % numbers
    )
    are_some_alike = not all(change.differs for change in changes)
    if are_some_alike:
        text += (
            _(
                '; no difference: %(renamed)d renamed, %(rewritten)d '
                'written otherwise'
            )
            % numbers
        )
    yield text
    if count:
        different = sum(map(len, groups.values()))
        yield _P(
            'Inventories: %(different)d of %(all)d is treated differently',
            'Inventories: %(different)d of %(all)d are treated differently',
            different,
        ) % {'different': different, 'all': count}


def _shortened(paths: list[str]) -> list[str]:
    """Return the first paths, and how many more there are."""
    if len(paths) <= _MOST_NAMES:
        return paths
    return [*paths[:_MOST_NAMES], _('%d more') % (len(paths) - _MOST_NAMES)]


def _code(text: str) -> str:
    """Return a text as code in Markdown, whatever characters it has."""
    text = ' '.join(text.split())
    ticks = _fence(text, 1)
    if '`' in text:
        # A tick beside the text would be taken for one around it.
        return f'{ticks} {text} {ticks}'
    return f'{ticks}{text}{ticks}'


def _block(title: str, differing: Sequence[str]) -> str:
    """Return a title and the lines of a diff below it, if there are any."""
    if not differing:
        return title
    text = '\n'.join(differing)
    ticks = _fence(text, 3)
    return f'{title}\n\n{ticks}diff\n{text}\n{ticks}'


def _fence(text: str, least: int) -> str:
    """Return the ticks around code: more than stand in a row in its text.

    :param least: how many there are if the text has none.
    """
    longest = max(map(len, re.findall('`+', text)), default=0)
    return '`' * max(least, longest + 1)
