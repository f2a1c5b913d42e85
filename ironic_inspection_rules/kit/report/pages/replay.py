# SPDX-License-Identifier: Apache-2.0

"""The page of replay: inspections that would have ended differently."""

from collections.abc import Mapping, Sequence
import typing

from ironic_inspection_rules.kit.report.pages import page
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.trial import machine_diff

JsonObject = Mapping[str, typing.Any]

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
_MAX_NAMES = 3


def render(
    title: str, replayed: JsonObject, names: Mapping[str, str | None]
) -> str:
    """Return the page of a replay as HTML.

    Differences by which inspections became worse come first.

    :param title: the rules that decided, and the inspections.
    :param replayed: the answer of ``POST /v1/inspection_rules/replay``, with
        the ``name`` of the node in every run: the numbers ``same``,
        ``different``, ``incomparable`` and ``error``; ``reasons`` with their
        numbers; and ``runs``, which end differently or could not be decided.
        Data that the answer withholds are not in the page.
    :param names: descriptions of rules by their UUIDs.
    """
    now = shell.format_now()
    runs = [_Replayed(run, names) for run in replayed['runs']]
    # Positions of runs that differ in the same way, e.g. [[0, 2], [1]].
    groups = page.group_equal([(run.tag, run.opened) for run in runs])

    def is_no_worse(group: Sequence[int]) -> bool:
        return not runs[group[0]].is_worse

    # Runs that became worse need attention, so they come first: False sorts
    # before True. Otherwise the most frequent group stays first.
    groups.sort(key=is_no_worse)
    description = page.HtmlPage(
        title=f'{title}, {now}',
        headline=_write_headline(replayed),
        about=f'{title}, {now}',
        parts=(
            _build_tiles(replayed, runs),
            _build_groups_card(runs, groups),
            _build_runs_card(runs, groups),
            _build_reasons_card(replayed['reasons']),
        ),
    )
    return page.render(description)


class _Replayed:
    """An inspection, as it was then and as the rules would decide now.

    :param run: an entry of the API's answer, with the ``name`` of the node.
    :param names: descriptions of rules by their UUIDs.
    :ivar before: the result then; None if it is not known.
    :ivar after: the result now; None if it is not known.
    :ivar opened: the parts that its row of the table opens to: the reason, a
        new error, the changes, and rules that match only then or only now.
    """

    def __init__(
        self, run: JsonObject, names: Mapping[str, str | None]
    ) -> None:
        """Read an entry, and build the parts that its row opens to."""
        # The answer does not contain a result that is not known.
        then = run.get('then') or {}
        now = run.get('now') or {}
        self.name: str = run['name'] or run['node']
        # A cell has no space for fractions of a second and the time zone.
        time = (run.get('created_at') or '').replace('T', ' ')
        self.when = time[: len('2026-01-31 10:00:00')]
        self.outcome: str = run['outcome']
        self.before = then.get('result')
        self.after = now.get('result')
        parts: list[page.Part] = []
        if run['reason']:
            parts.append(page.Note(run['reason'], 'warn'))
        if now.get('error') and now['error'] != then.get('error'):
            message = shell.with_rule_names(now['error'], names)
            parts.append(page.Note(message, 'warn'))
        lines = tuple(machine_diff.change_lines(now.get('changes') or ()))
        if lines:
            parts.append(page.Lines(lines))
        matched_then = then.get('matched') or ()
        matched_now = now.get('matched') or ()
        for heading, uuids, other_uuids in (
            ('Matched then, not now', matched_then, matched_now),
            ('Matches now, not then', matched_now, matched_then),
        ):
            rules = [
                names.get(uuid) or uuid
                for uuid in uuids
                if uuid not in other_uuids
            ]
            if rules:
                parts.append(page.Block(heading, (', '.join(rules),)))
        self.opened = tuple(parts)

    @property
    def is_worse(self) -> bool:
        """Whether the inspection succeeded then and would fail now."""
        return self.before == 'ok' and self.after != 'ok'

    @property
    def tag(self) -> page.Tag:
        """The results then and now, e.g. ``ok → failed``, in a color.

        It is bad if the inspection fails now or could not be decided. It is
        good if the result has changed to anything except a failure.
        """
        if self.outcome == 'error':
            return page.Tag('not decided', 'bad')
        text = str(self.after)
        look: page.Look = ''
        if self.before != self.after:
            text = f'{self.before} → {self.after}'
            look = 'good'
        if self.after == 'failed':
            look = 'bad'
        return page.Tag(text, look)

    @property
    def marks(self) -> list[str]:
        """The marks by which links of the page select the row."""
        marks = [f'show={self.outcome}']
        if self.is_worse:
            marks.append('show=worse')
        return marks


def _write_headline(replayed: JsonObject) -> str:
    """Return how many inspections would end differently, as a sentence.

    For example, ``3 of 120 inspections would have ended otherwise.``
    """
    outcomes = ('same', 'different', 'incomparable', 'error')
    whole = sum(replayed[outcome] for outcome in outcomes)
    number = page.format_number(replayed['different'], nothing='None')
    inspections = page.with_noun(whole, 'inspection', 'inspections')
    return f'{number} of {inspections} would have ended otherwise.'


def _build_tiles(
    replayed: JsonObject, runs: Sequence[_Replayed]
) -> page.Tiles:
    """Build the tiles at the top of the page: inspections by outcome.

    Tiles link to the rows of the table, or to the reasons.
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


def _build_groups_card(
    runs: Sequence[_Replayed], groups: Sequence[Sequence[int]]
) -> page.Card | None:
    """Build the card of differences; None if there are none.

    Equal differences are listed once, with the names of some machines and a
    link to the inspections.

    :param groups: positions in ``runs``; the runs of a group differ in the
        same way.
    """
    if not groups:
        return None
    items = []
    for number, group in enumerate(groups, 1):
        # All runs of a group have the same results and changes.
        first = runs[group[0]]
        # A machine may have been inspected more than once.
        names = list(dict.fromkeys(runs[position].name for position in group))
        text = ', '.join(names[:_MAX_NAMES])
        if len(names) > _MAX_NAMES:
            text += ' …'
        words = page.with_noun(len(group), 'inspection', 'inspections')
        # The link selects the rows of the group in the table of inspections.
        link = page.Link(words, key='difference', value=str(number))
        items.append(
            page.Item(
                heading=(link, first.tag),
                parts=(page.Words(text), *first.opened),
            )
        )
    return page.Card(
        id='differences',
        menu='Differences',
        title='What ends otherwise',
        about='Equal differences are one.',
        parts=(page.BulletList(tuple(items)),),
    )


def _build_runs_card(
    runs: Sequence[_Replayed], groups: Sequence[Sequence[int]]
) -> page.Card | None:
    """Build the card with the table of inspections; None if there are none.

    Links select rows by outcome or by the number of the difference.

    :param runs: inspections that end differently or could not be decided.
    :param groups: positions in ``runs``; the runs of a group differ in the
        same way.
    """
    if not runs:
        return None
    # The text above the selected rows, by the mark that a link selects.
    choices = dict(_CHOICES)
    # The number of the difference for every run, as in the card above.
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
        id='inspections',
        noun=('inspection', 'inspections'),
        columns=_COLUMNS,
        rows=tuple(rows),
        choices=choices,
    )
    return page.Card(
        id='inspections',
        menu='Inspections',
        title='Inspections',
        about='Those that end as they did are only counted.',
        parts=(table,),
    )


def _build_reasons_card(reasons: Mapping[str, int]) -> page.Card | None:
    """Build the card of reasons why inspections cannot be compared.

    :param reasons: the number of inspections by reason.
    :returns: None if there are no reasons.
    """
    if not reasons:
        return None
    lines = []
    for reason, number in reasons.items():
        lines.append(f'{number:,}: {reason}')
    return page.Card(
        id='reasons',
        menu='Not compared',
        title='Why some cannot be compared',
        about='',
        parts=tuple(lines),
    )
