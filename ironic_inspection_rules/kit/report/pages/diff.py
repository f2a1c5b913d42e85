# SPDX-License-Identifier: Apache-2.0

"""The page of a change of rules: the rules, and machines it affects."""

from collections.abc import Mapping, Sequence
import typing

from ironic_inspection_rules.kit.report.pages import page
from ironic_inspection_rules.kit.report.pages import shell

Plain = Mapping[str, typing.Any]

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
_NAMES = 3


def render(difference: Plain) -> str:
    """Return the page.

    :param difference: ``old`` and ``new``, paths of files; ``rules`` with
        ``title``, ``change`` (``added``, ``removed``, ``changed``, ``moved``,
        ``renamed`` or ``rewritten``) and ``lines``, those of a unified diff;
        ``machines`` with ``name``, ``differs``, ``lines`` and their results
        ``old`` and ``new``.
    """
    made = shell.now()
    old_files = shell.names(difference['old'])
    new_files = shell.names(difference['new'])
    files = f'{old_files} → {new_files}'
    rules = difference['rules']
    machines = list(difference['machines'])
    differing = [machine for machine in machines if machine['differs']]
    groups = page.alike([_result(machine) for machine in differing])
    description = page.HtmlPage(
        title=f'{files}, {made}',
        headline=_headline(rules, machines, differing),
        about=f'{files}, {made}',
        parts=(
            _tiles(rules, machines, differing),
            _rules_card(rules),
            _groups_card(differing, groups),
            _machines_card(machines, differing, groups),
        ),
    )
    return page.render(description)


def _result(machine: Plain) -> tuple[typing.Any, ...]:
    """Return what machines that are treated in the same way share."""
    return tuple(machine['lines']), machine['old'], machine['new']


def _is_worse(machine: Plain) -> bool:
    """Return whether an inspection succeeded and would not any more."""
    return bool(machine['old'] == 'ok' and machine['new'] != 'ok')


def _headline(
    rules: Sequence[Plain],
    machines: Sequence[Plain],
    differing: Sequence[Plain],
) -> str:
    """Return how many rules and machines differ, as a sentence."""
    changed = len(_with_another_meaning(rules))
    sentence = 'No rule differs'
    if changed:
        sentence = page.count(changed, 'rule differs', 'rules differ')
    if not machines:
        return f'{sentence}.'
    verb = 'are'
    if len(differing) == 1:
        verb = 'is'
    number = page.number(len(differing), 'none')
    whole = page.count(len(machines), 'machine', 'machines')
    return f'{sentence}; {number} of {whole} {verb} treated differently.'


def _with_another_meaning(rules: Sequence[Plain]) -> list[Plain]:
    """Return the changes after which a rule does something else."""
    return [rule for rule in rules if rule['change'] not in _SAME_MEANING]


def _tiles(
    rules: Sequence[Plain],
    machines: Sequence[Plain],
    differing: Sequence[Plain],
) -> page.Tiles:
    """Return how many rules changed in each way, and how many machines."""
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
    unchanged = len(rules) - len(_with_another_meaning(rules))
    if unchanged:
        words = 'only written otherwise'
        tiles.append(
            page.Tile(
                unchanged,
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


def _rules_card(rules: Sequence[Plain]) -> page.Card | None:
    """Return the changes of rules, None where there are none."""
    if not rules:
        return None
    items = []
    for rule in rules:
        part: page.Part = page.Words('Runs at another time.')
        if rule['lines']:
            part = page.Lines(tuple(rule['lines']))
        heading = (_CHANGES[rule['change']], rule['title'])
        items.append(page.Item(heading, (part,)))
    return page.Card(
        'rules',
        'Rules',
        'Rules',
        'From old to new.',
        (page.BulletList(tuple(items), first=50),),
    )


def _result_tag(machine: Plain) -> page.Tag:
    """Return the results of a machine; only a change to ``ok`` is good."""
    old = machine['old']
    new = machine['new']
    text = str(new)
    if old != new:
        text = f'{old} → {new}'
    if new != 'ok':
        return page.Tag(text, 'bad')
    if old != new:
        return page.Tag(text, 'good')
    return page.Tag(text)


def _groups_card(
    machines: Sequence[Plain], groups: Sequence[Sequence[int]]
) -> page.Card | None:
    """Return what differs, each difference once.

    :param machines: those that are treated differently.
    :param groups: the places of machines that are treated alike.
    """
    if not groups:
        return None
    items = []
    for number, group in enumerate(groups, 1):
        first = machines[group[0]]
        words = page.count(len(group), 'machine', 'machines')
        link = page.Link(words, 'difference', str(number))
        first_names = [
            machines[position]['name'] for position in group[:_NAMES]
        ]
        names = ', '.join(first_names)
        if len(group) > _NAMES:
            names += ' …'
        items.append(
            page.Item(
                heading=(link, _result_tag(first)),
                parts=(page.Words(names), page.Lines(tuple(first['lines']))),
            )
        )
    return page.Card(
        'differences',
        'Differences',
        'What machines get otherwise',
        'Equal differences are one.',
        (page.BulletList(tuple(items)),),
    )


def _machines_card(
    machines: Sequence[Plain],
    differing: Sequence[Plain],
    groups: Sequence[Sequence[int]],
) -> page.Card | None:
    """Return a table of all machines.

    :param differing: those of them that the groups are of.
    """
    if not machines:
        return None
    number_of = {}
    for number, group in enumerate(groups, 1):
        number_of[_result(differing[group[0]])] = number
    choices = dict(_CHOICES)
    for number in number_of.values():
        choices[f'difference={number}'] = f'with difference {number}'
    rows = []
    for machine in machines:
        marks = []
        treated: page.Part = page.Words('as before')
        opened: page.Part = 'Treated as before.'
        if machine['lines']:
            opened = page.Lines(tuple(machine['lines']))
        if machine['differs']:
            treated = page.Tag('differently', 'warn')
            number = number_of[_result(machine)]
            marks = ['show=differing', f'difference={number}']
        if _is_worse(machine):
            marks.append('show=worse')
        cells = (machine['name'], _result_tag(machine), treated)
        rows.append(page.PageRow(cells, tuple(marks), (opened,)))
    table = page.PageTable(
        'machines', ('machine', 'machines'), _COLUMNS, tuple(rows), choices
    )
    return page.Card('machines', 'Machines', 'Machines', '', (table,))
