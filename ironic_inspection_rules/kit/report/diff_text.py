# SPDX-License-Identifier: Apache-2.0

"""Output of diff for two sets of rules, as text or Markdown.

The output lists changes of rules, changes of the tables that rules read, and
groups of machines which the new rules treat differently. Every change has a
title and the lines of a diff, e.g.::

    ~ Note the rack
    -priority: 100
    +priority: 200

Machines form a group if they have the same difference.
"""

from collections.abc import Iterator, Mapping, Sequence
import re
import typing

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.trial import machine_diff
from ironic_inspection_rules.kit.trial import rule_diff
from ironic_inspection_rules.rule_set import table_change

Groups = Mapping[machine_diff.ComparisonResult, list[str]]
"""Groups of machines: the paths of the machines, by their difference."""

Tables = Sequence[Mapping[str, typing.Any]]
"""Changes of tables, in the form of :meth:`.table_change.Step.as_dict`. Tables
that do not change are left out."""

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

    A change has a title, e.g. ``~ Note the rack``, the lines of a diff, and an
    empty line. The last lines have the numbers of changed rules and machines.

    :param groups: the machines that are treated differently.
    :param count: the number of machines that were tried.
    """
    for title, lines_of_rows in _table_titles_and_lines(tables):
        yield title
        yield from lines_of_rows
        yield ''
    for change in changes:
        sign, word = _SIGNS_AND_WORDS[change.change]
        title = f'{sign} {change.title}'
        if not change.differs:
            # The rule is only renamed or rewritten. Both have the sign "=", so
            # say which.
            title += f' ({word})'
        yield title
        yield from change.lines
        yield ''
    for comparison, paths in groups.items():
        yield ', '.join(_shorten_names(paths))
        yield from comparison.lines
        yield ''
    yield from _total_lines(changes, groups, count)


def as_markdown(
    changes: Sequence[rule_diff.RuleChange],
    groups: Groups,
    count: int,
    tables: Tables = (),
) -> str:
    """Return the changes as Markdown, e.g. to comment on a pull request.

    The Markdown has the numbers of changed rules and machines, and a block for
    every change. If the comment becomes too long, the last blocks are left
    out, and a line says how many.

    Texts of machines and authors are formatted as code, so that they cannot
    become a link, a mention or a picture.

    :param groups: the machines that are treated differently.
    :param count: the number of machines that were tried.
    """
    blocks = []
    for change in changes:
        _sign, word = _SIGNS_AND_WORDS[change.change]
        title = f'{word}: {_as_code(change.title)}'
        blocks.append(_diff_block(title, change.lines))
    for title, lines_of_rows in _table_titles_and_lines(tables):
        blocks.append(_diff_block(_as_code(title), lines_of_rows))
    for comparison, paths in groups.items():
        names = ', '.join(map(_as_code, _shorten_names(paths)))
        blocks.append(_diff_block(names, comparison.lines))
    # Put the numbers first, so that they are never left out.
    texts = [*_total_lines(changes, groups, count)]
    length = sum(map(len, texts))
    for position, block in enumerate(blocks):
        length += len(block) + len(_BLOCK_SEPARATOR)
        if length > _MAX_CHARACTERS:
            left_out = len(blocks) - position
            texts.append(
                _P('%d more is left out', '%d more are left out', left_out)
                % left_out
            )
            break
        texts.append(block)
    return _BLOCK_SEPARATOR.join(texts) + '\n'


def rules_of_tables(tables: Tables) -> list[dict[str, typing.Any]]:
    """Return changes of tables in the form of changes of rules.

    The page of ``diff`` shows both in one list.

    :returns: e.g. ``[{'title': 'table racks: 1 row new', 'change': 'changed',
        'lines': ['+SN3: {"rack": "B8"}']}]``.
    """
    change_by_outcome = {
        table_change.CREATED: rule_diff.ADDED,
        table_change.DELETED: rule_diff.REMOVED,
        table_change.UPDATED: rule_diff.CHANGED,
    }
    changes = []
    titles_and_lines = _table_titles_and_lines(tables)
    for table, (title, lines_of_rows) in zip(
        tables, titles_and_lines, strict=True
    ):
        changes.append(
            {
                # Cut off the sign and the space at the beginning, e.g. "~ ",
                # because the page has a word for the change.
                'title': title[2:],
                'change': change_by_outcome[table['outcome']],
                'lines': lines_of_rows,
            }
        )
    return changes


def _table_titles_and_lines(tables: Tables) -> list[tuple[str, list[str]]]:
    """Return the title of every table, with its rows as lines of a diff.

    For example, ``[('~ table racks: 1 row new', ['+SN3: {"rack": "B8"}'])]``.
    """
    titles_and_lines = []
    for table in tables:
        # The lines of a table begin with its title, and end with an empty
        # line.
        title, *lines_of_rows = table_change.plan_lines([table])
        lines_of_rows = [line for line in lines_of_rows if line]
        titles_and_lines.append((title, lines_of_rows))
    return titles_and_lines


def _total_lines(
    changes: Sequence[rule_diff.RuleChange], groups: Groups, count: int
) -> Iterator[str]:
    """Yield how many rules changed, and how many machines are affected.

    For example::

        Rules: 1 added, 0 removed, 2 changed, 0 moved
        Inventories: 3 of 40 are treated differently

    :param count: the number of machines that were tried. If it is zero, there
        is no line about machines.
    """
    # The keys are the kinds of changes, e.g. {"added": 1, "removed": 0, …}.
    number_by_change = dict.fromkeys(_SIGNS_AND_WORDS, 0)
    for change in changes:
        number_by_change[change.change] += 1
    text = (
        _(
            'Rules: %(added)d added, %(removed)d removed, %(changed)d '
            'changed, %(moved)d moved'
        )
        % number_by_change
    )
    # Rules that are only renamed or rewritten do not differ.
    all_differ = all(change.differs for change in changes)
    if not all_differ:
        text += (
            _(
                '; no difference: %(renamed)d renamed, %(rewritten)d '
                'written otherwise'
            )
            % number_by_change
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
    """Return a text as code in Markdown, between backticks, on one line.

    The text of a machine cannot end the code, see :func:`_choose_ticks`.
    """
    line = ' '.join(text.split())
    ticks = _choose_ticks(line, least=1)
    if '`' in line:
        # Without the spaces, a backtick at an end of the text would look like
        # one of the backticks around it.
        return f'{ticks} {line} {ticks}'
    return f'{ticks}{line}{ticks}'


def _diff_block(title: str, lines: Sequence[str]) -> str:
    """Return a title, and below it the lines of a diff as a code block.

    :param title: Markdown.
    :param lines: without lines, e.g. for a rule that has only moved, there is
        no code block.
    """
    if not lines:
        return title
    text = '\n'.join(lines)
    ticks = _choose_ticks(text, least=3)
    return f'{title}\n\n{ticks}diff\n{text}\n{ticks}'


def _choose_ticks(text: str, least: int) -> str:
    """Return the backticks that must stand around code in Markdown.

    They must be more than the text of the code has in a row.

    :param least: the least number of backticks.
    """
    longest_in_text = max(map(len, re.findall('`+', text)), default=0)
    return '`' * max(least, longest_in_text + 1)
