# SPDX-License-Identifier: Apache-2.0

"""The page of replay: inspections that would end otherwise."""

from collections.abc import Mapping, Sequence
import typing

from ironic_inspection_rules.kit.report.pages import page
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.trial import machine_diff

Plain = Mapping[str, typing.Any]

_COLUMNS = (
    page.PageColumn('Machine'),
    page.PageColumn('Inspected', width='14rem', wide=True),
    page.PageColumn('Then → now', width='9rem'),
)
_CHOICES = {
    'show=different': 'that would have ended otherwise',
    'show=error': 'that could not be decided',
    'show=worse': 'that succeeded and would not',
}
# Machines that are named in a heading.
_NAMES = 3


def render(
    title: str, replayed: Plain, names: Mapping[str, str | None]
) -> str:
    """Return the page of a replay as HTML.

    Differences by which inspections became worse come first.

    :param title: which rules decided, and on what.
    :param replayed: the numbers ``same``, ``different``, ``incomparable`` and
        ``error``; ``reasons`` with how often each was one; ``runs``, those
        that end otherwise or could not be decided, as ``POST
        /v1/inspection_rules/replay`` answers, each with the ``name`` of its
        node. What the answer withholds is not in the page.
    :param names: descriptions of rules by their UUIDs.
    """
    now = shell.now()
    runs = [_Replayed(run, names) for run in replayed['runs']]
    # Groups of runs that differ in the same way, by their positions.
    groups = page.alike([(run.tag, run.opened) for run in runs])

    def is_no_worse(group: Sequence[int]) -> bool:
        return not runs[group[0]].is_worse

    # What has become worse is what somebody has to look at: it comes first.
    # The others stay in their order, the most frequent first.
    groups.sort(key=is_no_worse)
    description = page.HtmlPage(
        title=f'{title}, {now}',
        headline=_headline(replayed),
        about=f'{title}, {now}',
        parts=(
            _tiles(replayed, runs),
            _groups_card(runs, groups),
            _runs_card(runs, groups),
            _reasons_card(replayed['reasons']),
        ),
    )
    return page.render(description)


class _Replayed:
    """An inspection, as it was then and as the rules would decide now.

    :param run: an entry of the API's answer, with the ``name`` of the node.
    :param names: descriptions of rules by their UUIDs.
    :ivar opened: what its row of the table opens to: the reason, a new error,
        the changes, and rules that match only then or only now.
    """

    def __init__(self, run: Plain, names: Mapping[str, str | None]) -> None:
        then = run.get('then') or {}
        now = run.get('now') or {}
        self.name: str = run['name'] or run['node']
        # To the second, without the time zone: that is what fits.
        self.when = (run.get('created_at') or '').replace('T', ' ')[:19]
        self.outcome: str = run['outcome']
        self.before = then.get('result')
        self.after = now.get('result')
        parts: list[page.Part] = []
        if run['reason']:
            parts.append(page.Note(run['reason'], 'warn'))
        if now.get('error') and now['error'] != then.get('error'):
            message = shell.named(now['error'], names)
            parts.append(page.Note(message, 'warn'))
        lines = tuple(machine_diff.change_lines(now.get('changes', ())))
        if lines:
            parts.append(page.Lines(lines))
        parts += _only(names, 'Matched then, not now', then, now)
        parts += _only(names, 'Matches now, not then', now, then)
        self.opened = tuple(parts)

    @property
    def is_worse(self) -> bool:
        """Whether it succeeded then and does not now."""
        return self.before == 'ok' and self.after != 'ok'

    @property
    def tag(self) -> page.Tag:
        """The results then and now, in a colour.

        It is bad if the inspection fails now or could not be decided, and good
        if its result is another one that is no failure.
        """
        if self.outcome == 'error':
            return page.Tag('not decided', 'bad')
        text = str(self.after)
        if self.before != self.after:
            text = f'{self.before} → {self.after}'
        if self.after == 'failed':
            return page.Tag(text, 'bad')
        if self.before != self.after:
            return page.Tag(text, 'good')
        return page.Tag(text)

    @property
    def marks(self) -> list[str]:
        """The marks by which links of the page choose its row."""
        marks = [f'show={self.outcome}']
        if self.is_worse:
            marks.append('show=worse')
        return marks


def _only(
    names: Mapping[str, str | None], title: str, run: Plain, other: Plain
) -> list[page.Block]:
    """Build a block with the rules that match in one outcome only.

    :param names: descriptions of rules by their UUIDs.
    :param title: of the block.
    :param run: the outcome in which they match, ``then`` or ``now``.
    :param other: the outcome in which they do not.
    :returns: a list with the block; an empty list if there is no such rule.
    """
    uuids_of_other = other.get('matched', ())
    rules = []
    for uuid in run.get('matched', ()):
        if uuid not in uuids_of_other:
            rules.append(names.get(uuid) or uuid)
    if not rules:
        return []
    return [page.Block(title, (', '.join(rules),))]


def _headline(replayed: Plain) -> str:
    """Return how many inspections would end otherwise, as a sentence."""
    outcomes = ('same', 'different', 'incomparable', 'error')
    whole = sum(replayed[outcome] for outcome in outcomes)
    number = page.number(replayed['different'], nothing='None')
    inspections = page.count(whole, 'inspection', 'inspections')
    return f'{number} of {inspections} would have ended otherwise.'


def _tiles(replayed: Plain, runs: Sequence[_Replayed]) -> page.Tiles:
    """Build the tiles at the top of the page: inspections by outcome.

    They link to the rows of the table, or to the reasons.
    """
    worse = sum(run.is_worse for run in runs)
    incomparable = 'cannot be compared'
    undecided = 'could not be decided'
    return page.Tiles(
        (
            page.Tile(
                replayed['same'],
                words=('ends as it did', 'end as they did'),
                look='good',
            ),
            page.Tile(
                replayed['different'],
                words=('ends otherwise', 'end otherwise'),
                look='warn',
                link=('show', 'different'),
            ),
            page.Tile(
                worse,
                words=('no longer succeeds', 'no longer succeed'),
                look='bad',
                link=('show', 'worse'),
            ),
            page.Tile(
                replayed['incomparable'],
                words=(incomparable, incomparable),
                link=('reasons',),
            ),
            page.Tile(
                replayed['error'],
                words=(undecided, undecided),
                look='bad',
                link=('show', 'error'),
            ),
        )
    )


def _groups_card(
    runs: Sequence[_Replayed], groups: Sequence[Sequence[int]]
) -> page.Card | None:
    """Build the card of differences, equal ones once; None without any.

    A difference names some of its machines, and links to its inspections.

    :param groups: positions in ``runs``; those of a group differ in the same
        way.
    """
    if not groups:
        return None
    items = []
    for number, group in enumerate(groups, 1):
        first = runs[group[0]]
        # A machine may have been inspected more than once.
        names = list(dict.fromkeys(runs[position].name for position in group))
        text = ', '.join(names[:_NAMES])
        if len(names) > _NAMES:
            text += ' …'
        words = page.count(len(group), 'inspection', 'inspections')
        link = page.Link(words, 'difference', str(number))
        items.append(
            page.Item(
                heading=(link, first.tag),
                parts=(page.Words(text), *first.opened),
            )
        )
    return page.Card(
        'differences',
        'Differences',
        'What ends otherwise',
        'Equal differences are one.',
        (page.BulletList(tuple(items)),),
    )


def _runs_card(
    runs: Sequence[_Replayed], groups: Sequence[Sequence[int]]
) -> page.Card | None:
    """Build the card with the table of inspections; None without any.

    They end otherwise or could not be decided. Links choose rows by their
    outcome or the number of their difference.

    :param groups: positions in ``runs``, by difference.
    """
    if not runs:
        return None
    choices = dict(_CHOICES)
    number_by_position = {}
    for number, group in enumerate(groups, 1):
        choices[f'difference={number}'] = f'with difference {number}'
        for position in group:
            number_by_position[position] = number
    rows = []
    for position, run in enumerate(runs):
        cells = (run.name, run.when, run.tag)
        number = number_by_position[position]
        marks = (*run.marks, f'difference={number}')
        rows.append(page.PageRow(cells, marks, run.opened))
    table = page.PageTable(
        'inspections',
        ('inspection', 'inspections'),
        _COLUMNS,
        tuple(rows),
        choices,
    )
    return page.Card(
        'inspections',
        'Inspections',
        'Inspections',
        'Those that end as they did are only counted.',
        (table,),
    )


def _reasons_card(reasons: Mapping[str, int]) -> page.Card | None:
    """Build the card of reasons why inspections cannot be compared.

    :param reasons: how many inspections have a reason.
    :returns: None without any reason.
    """
    if not reasons:
        return None
    lines = []
    for reason, number in reasons.items():
        lines.append(f'{number:,}: {reason}')
    return page.Card(
        'reasons',
        'Not compared',
        'Why some cannot be compared',
        '',
        tuple(lines),
    )
