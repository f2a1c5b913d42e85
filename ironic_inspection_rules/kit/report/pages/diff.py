# SPDX-License-Identifier: Apache-2.0

"""The page of diff: rules that change, and machines that they affect."""

from collections.abc import Mapping, Sequence
import typing

from ironic_inspection_rules.kit.report.pages import page
from ironic_inspection_rules.kit.report.pages import shell

JsonObject = Mapping[str, typing.Any]

_CHANGES: dict[str, page.Tag] = {
    'added': page.Tag('Added', 'good'),
    'removed': page.Tag('Removed', 'warn'),
    'changed': page.Tag('Changed', 'warn'),
    'moved': page.Tag('Moved'),
    'renamed': page.Tag('Only renamed'),
    'rewritten': page.Tag('Written otherwise, same meaning'),
}
_SAME_MEANING = ('renamed', 'rewritten')
_COLUMNS = (
    page.PageColumn('Machine'),
    page.PageColumn('Result', width='9rem'),
    page.PageColumn('Treated', width='8rem', wide=True, descending=True),
)
_CHOICES = {
    'show=differing': 'treated differently',
    'show=worse': 'that succeeded and would not',
}
# Machines that are named in a heading.
_MAX_NAMES = 3


def render(difference: JsonObject) -> str:
    """Return the page of a change of rules as HTML.

    :param difference: ``old`` and ``new``, the paths of files; ``rules`` with
        ``title``, ``change`` (``added``, ``removed``, ``changed``, ``moved``,
        ``renamed`` or ``rewritten``) and ``lines`` of a unified diff; and
        ``machines`` with ``name``, ``differs``, ``lines`` and their results
        ``old`` and ``new``.
    """
    now = shell.format_now()
    old_files = shell.join_names(difference['old'])
    new_files = shell.join_names(difference['new'])
    files = f'{old_files} → {new_files}'
    rules = difference['rules']
    machines = list(difference['machines'])
    differing = [machine for machine in machines if machine['differs']]
    # Groups of machines that are treated alike, as positions in "differing",
    # e.g. [[0, 2], [1]].
    groups = page.group_equal(
        [_treatment_key(machine) for machine in differing]
    )
    description = page.HtmlPage(
        title=f'{files}, {now}',
        headline=_write_headline(rules, machines, differing),
        about=f'{files}, {now}',
        parts=(
            _build_tiles(rules, machines, differing),
            _build_rules_card(rules),
            _build_groups_card(differing, groups),
            _build_machines_card(machines, differing, groups),
        ),
    )
    return page.render(description)


def _treatment_key(machine: JsonObject) -> tuple[typing.Any, ...]:
    """Return the key by which machines that are treated alike are grouped."""
    return tuple(machine['lines']), machine['old'], machine['new']


def _is_worse(machine: JsonObject) -> bool:
    """Return whether an inspection succeeded and would fail now."""
    succeeded = machine['old'] == 'ok'
    would_succeed = machine['new'] == 'ok'
    return succeeded and not would_succeed


def _write_headline(
    rules: Sequence[JsonObject],
    machines: Sequence[JsonObject],
    differing: Sequence[JsonObject],
) -> str:
    """Return how many rules and machines differ, as a sentence.

    For example, ``2 rules differ; 1 of 40 machines is treated differently.``
    Rules that are only renamed, or written in another form with the same
    meaning, do not count. Without machines, the sentence is about rules only.
    """
    changed = len(_with_another_meaning(rules))
    about_rules = 'No rule differs'
    if changed:
        about_rules = page.with_noun(changed, 'rule differs', 'rules differ')
    if not machines:
        return f'{about_rules}.'
    verb = 'are'
    if len(differing) == 1:
        verb = 'is'
    number = page.format_number(len(differing), nothing='none')
    whole = page.with_noun(len(machines), 'machine', 'machines')
    return f'{about_rules}; {number} of {whole} {verb} treated differently.'


def _with_another_meaning(rules: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the changes that change the behavior of a rule."""
    return [rule for rule in rules if rule['change'] not in _SAME_MEANING]


def _build_tiles(
    rules: Sequence[JsonObject],
    machines: Sequence[JsonObject],
    differing: Sequence[JsonObject],
) -> page.Tiles:
    """Build the tiles at the top of the page, which link to its tables.

    The tiles show the numbers of rules by kind of change, of machines that are
    treated differently, and of inspections that no longer succeed.
    """
    kinds = [rule['change'] for rule in rules]
    tiles = []
    for kind in ('added', 'removed', 'changed', 'moved'):
        tiles.append(
            page.Tile(
                kinds.count(kind),
                words=(f'rule {kind}', f'rules {kind}'),
                look=_CHANGES[kind].look,
                link=('rules',),
            )
        )
    # This number includes renamed rules.
    only_rewritten = len(rules) - len(_with_another_meaning(rules))
    if only_rewritten:
        words = 'only written otherwise'
        tiles.append(
            page.Tile(
                only_rewritten,
                words=(words, words),
                link=('rules',),
            )
        )
    if machines:
        tiles.append(
            page.Tile(
                len(differing),
                words=('machine differs', 'machines differ'),
                look='accent',
                link=('show', 'differing'),
            )
        )
        tiles.append(
            page.Tile(
                sum(map(_is_worse, machines)),
                words=('no longer succeeds', 'no longer succeed'),
                look='bad',
                link=('show', 'worse'),
            )
        )
    return page.Tiles(tuple(tiles))


def _build_rules_card(rules: Sequence[JsonObject]) -> page.Card | None:
    """Build the card with the changes of rules; None if there are none.

    A change has its kind, the title of the rule and the lines of a diff.
    """
    if not rules:
        return None
    items = []
    for rule in rules:
        # Only a rule that has moved has no lines, because its text is equal.
        what_changes: page.Part = page.Words('Runs at another time.')
        if rule['lines']:
            what_changes = page.Lines(tuple(rule['lines']))
        heading = (_CHANGES[rule['change']], rule['title'])
        items.append(page.Item(heading, (what_changes,)))
    return page.Card(
        id='rules',
        menu='Rules',
        title='Rules',
        about='From old to new.',
        parts=(page.BulletList(tuple(items), first=50),),
    )


def _result_tag(machine: JsonObject) -> page.Tag:
    """Return the result of a machine as a tag, e.g. ``ok → failed``, in red.

    Any new result except ``ok`` is bad, and a change to ``ok`` is good. A
    machine that stays ``ok`` has no color.
    """
    old = machine['old']
    new = machine['new']
    text = str(new)
    look: page.Look = ''
    if old != new:
        text = f'{old} → {new}'
        look = 'good'
    if new != 'ok':
        look = 'bad'
    return page.Tag(text, look)


def _build_groups_card(
    machines: Sequence[JsonObject], groups: Sequence[Sequence[int]]
) -> page.Card | None:
    """Build the card of differences; None if there are none.

    Equal differences are listed once, with the names of the first machines and
    a link to all of them.

    :param machines: the machines that are treated differently.
    :param groups: positions in ``machines``; the machines of a group are
        treated alike.
    """
    if not groups:
        return None
    items = []
    for number, group in enumerate(groups, 1):
        # All machines of a group have the same results and lines.
        first = machines[group[0]]
        words = page.with_noun(len(group), 'machine', 'machines')
        # The link selects the rows of the group in the table of machines.
        link = page.Link(words, key='difference', value=str(number))
        first_names = [
            machines[position]['name'] for position in group[:_MAX_NAMES]
        ]
        names = ', '.join(first_names)
        if len(group) > _MAX_NAMES:
            names += ' …'
        items.append(
            page.Item(
                heading=(link, _result_tag(first)),
                parts=(page.Words(names), page.Lines(tuple(first['lines']))),
            )
        )
    return page.Card(
        id='differences',
        menu='Differences',
        title='What machines get otherwise',
        about='Equal differences are one.',
        parts=(page.BulletList(tuple(items)),),
    )


def _build_machines_card(
    machines: Sequence[JsonObject],
    differing: Sequence[JsonObject],
    groups: Sequence[Sequence[int]],
) -> page.Card | None:
    """Build the card with the table of machines; None if there are none.

    Links of the page select rows by marks: machines that differ, that became
    worse, or that have a certain difference.

    :param differing: the machines that are treated differently.
    :param groups: positions in ``differing``; the machines of a group are
        treated alike.
    """
    if not machines:
        return None
    # Differences are numbered from 1, as in the card of differences.
    number_by_treatment = {}
    # The text above the selected rows, by the mark that a link selects.
    choices = dict(_CHOICES)
    for number, group in enumerate(groups, 1):
        first = differing[group[0]]
        number_by_treatment[_treatment_key(first)] = number
        choices[f'difference={number}'] = f'with difference {number}'
    rows = []
    for machine in machines:
        number_of_difference = None
        if machine['differs']:
            number_of_difference = number_by_treatment[_treatment_key(machine)]
        rows.append(_build_machine_row(machine, number_of_difference))
    table = page.PageTable(
        id='machines',
        noun=('machine', 'machines'),
        columns=_COLUMNS,
        rows=tuple(rows),
        choices=choices,
    )
    return page.Card(
        id='machines',
        menu='Machines',
        title='Machines',
        about='',
        parts=(table,),
    )


def _build_machine_row(
    machine: JsonObject, number_of_difference: int | None
) -> page.PageRow:
    """Build the row of a machine: its name, its results, how it is treated.

    The row opens to the changes. Links select it by its marks.

    :param number_of_difference: None if the machine is treated as before.
    """
    marks = []
    treated: page.Part = page.Words('as before')
    if number_of_difference is not None:
        treated = page.Tag('differently', 'warn')
        marks = ['show=differing', f'difference={number_of_difference}']
    if _is_worse(machine):
        marks.append('show=worse')
    # The lines of a machine that cannot be read contain the reason.
    opened: page.Part = 'Treated as before.'
    if machine['lines']:
        opened = page.Lines(tuple(machine['lines']))
    cells = (machine['name'], _result_tag(machine), treated)
    return page.PageRow(cells, tuple(marks), (opened,))
