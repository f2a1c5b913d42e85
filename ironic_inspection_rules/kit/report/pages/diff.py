# SPDX-License-Identifier: Apache-2.0

"""The page of diff: rules that change, and machines that they affect.

Old rules are compared with new rules. The page shows how each rule has changed
(see ``_CHANGES``). Both sets of rules were tried on machines. A machine that
they treat differently has *lines* of a diff, e.g. ``- /extra/rack: "b7"``.
Machines with the same lines and results form a group, which the page shows as
one *difference*. Differences are numbered from 1, the most frequent first.
"""

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
"""Changes after which a rule still does the same."""

_COLUMNS = (
    page.PageColumn('Machine'),
    page.PageColumn('Result', width='9rem'),
    page.PageColumn('Treated', width='8rem', wide=True, descending=True),
)
_CHOICES = {
    'show=differing': 'treated differently',
    'show=worse': 'that succeeded and would not',
}
_MAX_NAMES = 3
"""Maximum number of machines of a group that are named."""


def render(difference: JsonObject) -> str:
    """Return the page of a change of rules as HTML.

    :param difference: a mapping with

        - ``old`` and ``new``, the paths of the files of rules,
        - ``rules``, the changes of rules, with ``title``, ``change`` (a key of
          ``_CHANGES``), and ``lines`` of a unified diff,
        - ``machines`` with ``name``, ``differs``, ``lines``, and their results
          ``old`` and ``new``.
    """
    old_files = shell.join_names(difference['old'])
    new_files = shell.join_names(difference['new'])
    title = f'{old_files} → {new_files}, {shell.format_now()}'
    rules = difference['rules']
    machines = list(difference['machines'])
    differing = [machine for machine in machines if machine['differs']]
    # A group is a list of positions in "differing", e.g. [[0, 2], [1]].
    groups = page.group_equal(
        [_treatment_key(machine) for machine in differing]
    )
    description = page.HtmlPage(
        title=title,
        headline=_write_headline(rules, machines, differing),
        about=title,
        parts=(
            _build_tiles(rules, machines, differing),
            _build_rules_card(rules),
            _build_groups_card(differing, groups),
            _build_machines_card(machines, differing, groups),
        ),
    )
    return page.render(description)


def _treatment_key(machine: JsonObject) -> tuple[typing.Any, ...]:
    """Return the key of the group of a machine: its lines and results."""
    return tuple(machine['lines']), machine['old'], machine['new']


def _is_worse(machine: JsonObject) -> bool:
    """Return whether an inspection succeeds only with the old rules."""
    succeeds_with_old_rules = machine['old'] == 'ok'
    succeeds_with_new_rules = machine['new'] == 'ok'
    return succeeds_with_old_rules and not succeeds_with_new_rules


def _write_headline(
    rules: Sequence[JsonObject],
    machines: Sequence[JsonObject],
    differing: Sequence[JsonObject],
) -> str:
    """Return how many rules and machines differ, as a sentence.

    For example, ``2 rules differ; 1 of 40 machines is treated differently.``
    Without machines, the sentence is about rules only. Rules that still do the
    same do not count.

    :param differing: the machines that are treated differently.
    """
    differing_rules = _count_differing_rules(rules)
    about_rules = 'No rule differs'
    if differing_rules:
        about_rules = page.with_noun(
            differing_rules, 'rule differs', 'rules differ'
        )
    if not machines:
        return f'{about_rules}.'
    verb = 'are'
    if len(differing) == 1:
        verb = 'is'
    number = page.format_number(len(differing), nothing='none')
    of_machines = page.with_noun(len(machines), 'machine', 'machines')
    return (
        f'{about_rules}; {number} of {of_machines} {verb} treated differently.'
    )


def _count_differing_rules(rules: Sequence[JsonObject]) -> int:
    """Return the number of changes after which a rule does something else."""
    return sum(rule['change'] not in _SAME_MEANING for rule in rules)


def _build_tiles(
    rules: Sequence[JsonObject],
    machines: Sequence[JsonObject],
    differing: Sequence[JsonObject],
) -> page.Tiles:
    """Build the tiles at the top of the page, which link to its tables.

    - Four tiles have the numbers of rules by kind of change.
    - A tile has the number of rules that still do the same, if there are any.
    - If machines were tried, two tiles have the numbers of machines that are
      treated differently, and of inspections that no longer succeed.

    :param differing: the machines that are treated differently.
    """
    changes = [rule['change'] for rule in rules]
    tiles = []
    for change in ('added', 'removed', 'changed', 'moved'):
        tiles.append(
            page.Tile(
                changes.count(change),
                words=(f'rule {change}', f'rules {change}'),
                look=_CHANGES[change].look,
                link=('rules',),
            )
        )
    with_same_meaning = len(rules) - _count_differing_rules(rules)
    if with_same_meaning:
        words = 'only written otherwise'
        tiles.append(
            page.Tile(
                with_same_meaning,
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

    A change has its kind, the title of the rule, and the lines of a diff.
    """
    if not rules:
        return None
    items = []
    for rule in rules:
        change_tag = _CHANGES[rule['change']]
        # A rule without lines has only moved, so its text is the same.
        body: page.Part = page.Words('Runs at another time.')
        if rule['lines']:
            body = page.Lines(tuple(rule['lines']))
        items.append(page.Item((change_tag, rule['title']), (body,)))
    return page.Card(
        id='rules',
        menu='Rules',
        title='Rules',
        about='From old to new.',
        parts=(page.BulletList(tuple(items), first=50),),
    )


def _result_tag(machine: JsonObject) -> page.Tag:
    """Return the old and the new result of a machine as a tag.

    - ``ok`` without a color, if it stays ``ok``,
    - e.g. ``failed → ok`` in the color of a good result,
    - e.g. ``ok → failed``, or only ``failed`` if it stays so, in the color of
      a bad result.
    """
    old = machine['old']
    new = machine['new']
    text = str(new)
    if old != new:
        text = f'{old} → {new}'
    look: page.Look = ''
    if new != 'ok':
        look = 'bad'
    elif old != 'ok':
        look = 'good'
    return page.Tag(text, look)


def _build_groups_card(
    differing: Sequence[JsonObject], groups: Sequence[Sequence[int]]
) -> page.Card | None:
    """Build the card of differences; None if there are none.

    A difference has a link to its machines, their results, the names of the
    first machines, and the lines of a diff.

    :param differing: the machines that are treated differently.
    :param groups: for every difference, the positions of its machines in
        ``differing``, e.g. ``[[0, 2], [1]]``.
    """
    if not groups:
        return None
    items = []
    for number, group in enumerate(groups, 1):
        words = page.with_noun(len(group), 'machine', 'machines')
        # The link selects the rows of the group in the table of machines.
        link = page.Link(words, key='difference', value=str(number))
        first_names = [
            differing[position]['name'] for position in group[:_MAX_NAMES]
        ]
        names = ', '.join(first_names)
        if len(group) > _MAX_NAMES:
            names += ' …'
        # All machines of a group have the same results and lines.
        first_machine = differing[group[0]]
        lines = page.Lines(tuple(first_machine['lines']))
        items.append(
            page.Item(
                heading=(link, _result_tag(first_machine)),
                parts=(page.Words(names), lines),
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

    :param differing: the machines that are treated differently.
    :param groups: for every difference, the positions of its machines in
        ``differing``, e.g. ``[[0, 2], [1]]``.
    """
    if not machines:
        return None
    # The words for the rows that a link selects, by the mark of the rows.
    choices = dict(_CHOICES)
    # The numbers are the same as in the card of differences.
    number_by_comparison = {}
    for number, group in enumerate(groups, 1):
        choices[f'difference={number}'] = f'with difference {number}'
        first_machine = differing[group[0]]
        number_by_comparison[_treatment_key(first_machine)] = number
    rows = []
    for machine in machines:
        number_of_difference = None
        if machine['differs']:
            number_of_difference = number_by_comparison[
                _treatment_key(machine)
            ]
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

    A click on the row shows the lines of the diff. Links of the page select
    the row by its marks.

    :param number_of_difference: None if the machine is treated as before.
    """
    marks = []
    treated: page.Part = page.Words('as before')
    if number_of_difference is not None:
        treated = page.Tag('differently', 'warn')
        marks = ['show=differing', f'difference={number_of_difference}']
    if _is_worse(machine):
        marks.append('show=worse')
    # A machine may have lines although it is treated as before: if its files
    # cannot be read, the lines say why.
    opened: page.Part = 'Treated as before.'
    if machine['lines']:
        opened = page.Lines(tuple(machine['lines']))
    cells = (machine['name'], _result_tag(machine), treated)
    return page.PageRow(cells, tuple(marks), (opened,))
