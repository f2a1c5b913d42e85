# SPDX-License-Identifier: Apache-2.0

"""Output of diff for two sets of rules, as text or Markdown."""

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
"""Changes of tables as in a plan, without tables that do not change."""

_MAX_NAMES = 5
"""Maximum number of machines of a group that are named."""

_MAX_CHARACTERS = 60_000
"""Maximum number of characters of a comment; GitHub accepts 65,536."""

_BLOCK_SEPARATOR = '\n\n'
"""The text between two blocks of Markdown."""

_SIGNS_AND_WORDS = {
    rule_diff.ADDED: ('+', _('added')),
    rule_diff.REMOVED: ('-', _('removed')),
    rule_diff.CHANGED: ('~', _('changed')),
    rule_diff.MOVED: ('>', _('moved')),
    rule_diff.RENAMED: ('=', _('only renamed')),
    rule_diff.REWRITTEN: ('=', _('written otherwise, same meaning')),
}
"""The character at the beginning of a change of a rule, and its word."""


def terminal_lines(
    changes: Sequence[rule_diff.RuleChange],
    groups: Groups,
    count: int,
    tables: Tables = (),
) -> Iterator[str]:
    """Yield the changes of tables, rules and machines, as lines of text.

    A change is e.g. ``~ Note the rack``, followed by the lines of a diff. The
    last lines have the numbers of changed rules and machines.

    :param groups: the machines that are treated differently.
    :param count: the number of machines that were tried.
    """
    for title, lines_of_rows in _titled_lines(tables):
        yield title
        yield from lines_of_rows
        yield ''
    for change in changes:
        sign, word = _SIGNS_AND_WORDS[change.change]
        title = f'{sign} {change.title}'
        if not change.differs:
            # Renamed and rewritten rules have the same sign.
            title += f' ({word})'
        yield title
        yield from change.lines
        yield ''
    for treatment, paths in groups.items():
        yield ', '.join(_shorten_names(paths))
        yield from treatment.lines
        yield ''
    yield from _total_lines(changes, groups, count)


def as_markdown(
    changes: Sequence[rule_diff.RuleChange],
    groups: Groups,
    count: int,
    tables: Tables = (),
) -> str:
    """Return the changes as Markdown, e.g. to comment on a pull request.

    Texts of machines and authors are formatted as code, so that they cannot
    become a link, a mention or a picture. Blocks that do not fit into a
    comment are skipped.

    :param groups: the machines that are treated differently.
    :param count: the number of machines that were tried.
    """
    # Put the numbers first, so that the limit never removes them.
    parts = [*_total_lines(changes, groups, count)]
    blocks = []
    for change in changes:
        _sign, word = _SIGNS_AND_WORDS[change.change]
        title = f'{word}: {_as_code(change.title)}'
        blocks.append(_diff_block(title, change.lines))
    for title, lines_of_rows in _titled_lines(tables):
        blocks.append(_diff_block(_as_code(title), lines_of_rows))
    for treatment, paths in groups.items():
        names = ', '.join(map(_as_code, _shorten_names(paths)))
        blocks.append(_diff_block(names, treatment.lines))
    length = sum(map(len, parts))
    for number, block in enumerate(blocks):
        length += len(block) + len(_BLOCK_SEPARATOR)
        if length > _MAX_CHARACTERS:
            left_out = len(blocks) - number
            parts.append(
                _P('%d more is left out', '%d more are left out', left_out)
                % left_out
            )
            break
        parts.append(block)
    return _BLOCK_SEPARATOR.join(parts) + '\n'


def rules_of_tables(tables: Tables) -> list[dict[str, typing.Any]]:
    """Convert changes of tables to changes of rules, which the page shows.

    :returns: mappings with ``title``, ``change`` and ``lines``.
    """
    change_by_outcome = {
        table_change.CREATED: rule_diff.ADDED,
        table_change.DELETED: rule_diff.REMOVED,
        table_change.UPDATED: rule_diff.CHANGED,
    }
    changes = []
    titled = _titled_lines(tables)
    for step, (title, lines_of_rows) in zip(tables, titled, strict=True):
        changes.append(
            {
                # Cut off the sign and a space, e.g. "~ ", because the page has
                # a word for the sign.
                'title': title[2:],
                'change': change_by_outcome[step['outcome']],
                'lines': lines_of_rows,
            }
        )
    return changes


def _titled_lines(tables: Tables) -> list[tuple[str, list[str]]]:
    """Return the title of every table, with its rows as lines of a diff.

    For example, ``[('~ table racks: 1 row new', ['+SN3: {"rack": "B8"}'])]``.
    """
    titled = []
    for step in tables:
        # The plan of a table begins with its title, and ends with an empty
        # line.
        title, *lines_of_rows = table_change.plan_lines([step])
        titled.append((title, [line for line in lines_of_rows if line]))
    return titled


def _total_lines(
    changes: Sequence[rule_diff.RuleChange], groups: Groups, count: int
) -> Iterator[str]:
    """Yield how many rules changed, and how many machines are affected.

    :param count: the number of machines that were tried. If it is zero, there
        is no line about machines.
    """
    # Numbers by kind of change, e.g. {"added": 1, "removed": 0, …}.
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


def _shorten_names(paths: list[str]) -> list[str]:
    """Return the first paths, followed by the number of remaining paths.

    For example, ``['1.json', …, '5.json', '7 more']``.
    """
    left_out = len(paths) - _MAX_NAMES
    if left_out <= 0:
        return paths
    return [*paths[:_MAX_NAMES], _('%d more') % left_out]


def _as_code(text: str) -> str:
    """Return a text as code in Markdown, between ticks, on one line."""
    line = ' '.join(text.split())
    ticks = _choose_ticks(line, least=1)
    if '`' in line:
        # A tick at an end of the text would count as one of those around it.
        return f'{ticks} {line} {ticks}'
    return f'{ticks}{line}{ticks}'


def _diff_block(title: str, lines: Sequence[str]) -> str:
    """Return a title, and below it the lines of a diff as a code block."""
    if not lines:
        return title
    text = '\n'.join(lines)
    ticks = _choose_ticks(text, least=3)
    return f'{title}\n\n{ticks}diff\n{text}\n{ticks}'


def _choose_ticks(text: str, least: int) -> str:
    """Return the ticks around code: more than its text has in a row.

    :param least: the number of ticks around a text without ticks.
    """
    longest = max(map(len, re.findall('`+', text)), default=0)
    return '`' * max(least, longest + 1)
