# SPDX-License-Identifier: Apache-2.0

"""The page of replay: inspections that would have ended differently.

A replay decides stored inspections again, with other rules. A *run* is such an
inspection, with its result *then* and its result *now*, e.g. ``ok`` and
``failed``. Its *outcome* is ``same``, ``different``, ``incomparable`` (the two
results cannot be compared), or ``error`` (it could not be decided).

Runs that differ in the same way form a group, which the page shows as one
*difference*. Differences are numbered from 1.
"""

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
_MAX_NAMES = 3
"""Maximum number of machines of a group that are named."""


def render(
    title: str, replayed: JsonObject, names: Mapping[str, str | None]
) -> str:
    """Return the page of a replay as HTML.

    Differences by which inspections became worse come first.

    :param title: the rules that decided, and the inspections.
    :param replayed: the answer of ``POST /v1/inspection_rules/replay``:

        - ``same``, ``different``, ``incomparable`` and ``error``, which are
          the numbers of inspections by outcome,
        - ``reasons`` why inspections cannot be compared, with their numbers,
        - ``runs`` that end differently or could not be decided. The caller has
          added the ``name`` of the node.

    :param names: descriptions of rules by their UUIDs.
    """
    heading = f'{title}, {shell.format_now()}'
    runs = [_Run(run, names) for run in replayed['runs']]
    # A group is a list of positions in "runs", e.g. [[0, 2], [1]].
    groups = page.group_equal([(run.tag, run.opened) for run in runs])

    def is_not_worse(group: Sequence[int]) -> bool:
        # All runs of a group have the same results.
        return not runs[group[0]].is_worse

    # Groups that became worse come first, because False sorts before True.
    # Otherwise the order does not change: the largest group comes first.
    groups.sort(key=is_not_worse)
    description = page.HtmlPage(
        title=heading,
        headline=_write_headline(replayed),
        about=heading,
        parts=(
            _build_tiles(replayed, runs),
            _build_groups_card(runs, groups),
            _build_runs_card(runs, groups),
            _build_reasons_card(replayed['reasons']),
        ),
    )
    return page.render(description)


class _Run:
    """An inspection, as it was then and as the rules would decide now.

    :param run: an item of ``runs``, see :func:`render`.
    :param names: descriptions of rules by their UUIDs.
    :ivar when: the time of the inspection, e.g. ``2026-01-31 10:00:00``.
    :ivar result_then: None if it is not known.
    :ivar result_now: None if it is not known.
    :ivar opened: the parts of the page that a click on the run shows: the
        reason, a new error, the changes, and rules that matched only then or
        match only now.
    """

    def __init__(
        self, run: JsonObject, names: Mapping[str, str | None]
    ) -> None:
        """Read a run, and build the parts that a click on it shows."""
        self.name: str = run['name'] or run['node']
        time = (run.get('created_at') or '').replace('T', ' ')
        # Cut off fractions of a second and the time zone, because the cell of
        # a table is small.
        self.when = time[: len('2026-01-31 10:00:00')]
        self.outcome: str = run['outcome']
        # The answer leaves out "then" or "now" if it is not known.
        then = run.get('then') or {}
        now = run.get('now') or {}
        self.result_then = then.get('result')
        self.result_now = now.get('result')
        parts: list[page.Part] = []
        if run['reason']:
            parts.append(page.Note(run['reason'], 'warn'))
        has_new_error = now.get('error') and now['error'] != then.get('error')
        if has_new_error:
            message = shell.with_rule_names(now['error'], names)
            parts.append(page.Note(message, 'warn'))
        lines = tuple(machine_diff.change_lines(now.get('changes') or ()))
        if lines:
            parts.append(page.Lines(lines))
        # The UUIDs of the rules that matched.
        matched_then = then.get('matched') or ()
        matched_now = now.get('matched') or ()
        only_then = [uuid for uuid in matched_then if uuid not in matched_now]
        only_now = [uuid for uuid in matched_now if uuid not in matched_then]
        if only_then:
            text = _join_rule_names(only_then, names)
            parts.append(page.Block('Matched then, not now', (text,)))
        if only_now:
            text = _join_rule_names(only_now, names)
            parts.append(page.Block('Matches now, not then', (text,)))
        self.opened = tuple(parts)

    @property
    def is_worse(self) -> bool:
        """Whether the inspection succeeded then and would not succeed now."""
        return self.result_then == 'ok' and self.result_now != 'ok'

    @property
    def tag(self) -> page.Tag:
        """The results then and now, in a color.

        - ``not decided``, bad, if the inspection could not be decided,
        - e.g. ``ok → failed``, bad, or only ``failed`` if it failed before,
        - e.g. ``failed → ok`` or ``failed → unknown``, good,
        - e.g. ``ok``, without a color, if the result is the same.
        """
        if self.outcome == 'error':
            return page.Tag('not decided', 'bad')
        has_changed = self.result_then != self.result_now
        text = str(self.result_now)
        if has_changed:
            text = f'{self.result_then} → {self.result_now}'
        look: page.Look = ''
        if self.result_now == 'failed':
            look = 'bad'
        elif has_changed:
            look = 'good'
        return page.Tag(text, look)

    @property
    def marks(self) -> list[str]:
        """The marks by which links of the page select the row of the run."""
        marks = [f'show={self.outcome}']
        if self.is_worse:
            marks.append('show=worse')
        return marks


def _join_rule_names(
    uuids: Sequence[str], names: Mapping[str, str | None]
) -> str:
    """Return the descriptions of rules, or the UUIDs of those without one."""
    return ', '.join(names.get(uuid) or uuid for uuid in uuids)


def _write_headline(replayed: JsonObject) -> str:
    """Return how many inspections would end differently, as a sentence.

    For example, ``3 of 120 inspections would have ended otherwise.``

    :param replayed: has the numbers of inspections, see :func:`render`.
    """
    outcomes = ('same', 'different', 'incomparable', 'error')
    total = sum(replayed[outcome] for outcome in outcomes)
    number = page.format_number(replayed['different'], nothing='None')
    of_inspections = page.with_noun(total, 'inspection', 'inspections')
    return f'{number} of {of_inspections} would have ended otherwise.'


def _build_tiles(replayed: JsonObject, runs: Sequence[_Run]) -> page.Tiles:
    """Build the tiles at the top of the page: inspections by outcome.

    A click on a tile selects rows of the table, or goes to the reasons.

    :param replayed: has the numbers of inspections, see :func:`render`.
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
    runs: Sequence[_Run], groups: Sequence[Sequence[int]]
) -> page.Card | None:
    """Build the card of differences; None if there are none.

    A difference has a link to its inspections, their results, the names of at
    most three machines, and what a click on each of its inspections shows.

    :param groups: for every difference, the positions of its runs in ``runs``,
        e.g. ``[[0, 2], [1]]``.
    """
    if not groups:
        return None
    items = []
    for number, group in enumerate(groups, 1):
        words = page.with_noun(len(group), 'inspection', 'inspections')
        # The link selects the rows of the group in the table of inspections.
        link = page.Link(words, key='difference', value=str(number))
        # Name a machine once, even if it was inspected more than once.
        names = list(dict.fromkeys(runs[position].name for position in group))
        text = ', '.join(names[:_MAX_NAMES])
        if len(names) > _MAX_NAMES:
            text += ' …'
        # All runs of a group have the same tag, and open the same parts.
        first_run = runs[group[0]]
        items.append(
            page.Item(
                heading=(link, first_run.tag),
                parts=(page.Words(text), *first_run.opened),
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
    runs: Sequence[_Run], groups: Sequence[Sequence[int]]
) -> page.Card | None:
    """Build the card with the table of inspections; None if there are none.

    Links of the page select rows by outcome, or by the number of the
    difference.

    :param runs: inspections that end differently or could not be decided.
    :param groups: for every difference, the positions of its runs in ``runs``,
        e.g. ``[[0, 2], [1]]``. Every run has one difference.
    """
    if not runs:
        return None
    # The words for the rows that a link selects, by the mark of the rows.
    choices = dict(_CHOICES)
    # The numbers are the same as in the card of differences.
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
