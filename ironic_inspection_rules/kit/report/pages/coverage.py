# SPDX-License-Identifier: Apache-2.0

"""Builds the page of the coverage of rules, with colors in their texts."""

from collections.abc import Iterator, Sequence
import dataclasses
import math

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.kit.report.pages import page
from ironic_inspection_rules.kit.report.pages import rule_text
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.trial import coverage
from ironic_inspection_rules.kit.trial import machine_test

_ASSETS = ('source.css', 'source.js')
_COLUMNS = (
    page.PageColumn('Rule'),
    page.PageColumn('Not reached', width='38%', wide=True, descending=True),
    page.PageColumn('Covered', width='min(38%, 13rem)'),
)
_CHOICES = {
    'show=whole': 'that machines reach completely',
    'show=partial': 'that are not reached completely',
    'show=never': 'of which nothing is reached',
}
_LEGEND = page.Legend(
    (
        ('covered', 'true and false, or ran'),
        ('half', 'only true, or only false'),
        ('missed', 'never reached'),
    )
)


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a rule, with counts if a condition or action begins there.

    :param state: ``covered``, ``half`` or ``missed``; empty if the line does
        not belong to a condition or action.
    :param counts: how often a condition was true and how often it was false,
        or how often an action ran.
    :param why: the reason why an action did not run on some machines.
    """

    text: str
    state: str = ''
    counts: tuple[int, ...] = ()
    why: str = ''


@dataclasses.dataclass(frozen=True)
class RuleSource:
    """The lines of a rule, which the page shows with counts and colors."""

    lines: tuple[Line, ...]


def render(
    covered: coverage.Coverage, machines: int, files: Sequence[str]
) -> str:
    """Return the page of the coverage of rules as HTML.

    The page shows how many rules were reached, and a table of all rules. The
    colored texts of the rules follow below the table.

    :param machines: the number of machines on which the rules were tried.
    :param files: the names of the files with the rules.
    """
    names = shell.join_names(files)
    now = shell.format_now()
    number_of_machines = page.with_noun(machines, 'machine', 'machines')
    percent = _format_percent(covered.percent)
    rows = [_build_row(covered, rule) for rule in covered.rules]
    html_page = page.HtmlPage(
        title=f'Coverage of {names}, {now}',
        headline=f'{percent} of the rules is covered.',
        about=f'{names} on {number_of_machines}, {now}',
        parts=(_build_tiles(rows), _build_rules_card(covered, rows)),
    )
    return page.render(html_page, _ASSETS)


def _build_rules_card(
    covered: coverage.Coverage, rows: Sequence[page.PageRow]
) -> page.Card:
    """Build the card with the percentage covered and the table of rules."""
    share = page.Meter(
        part=covered.percent,
        whole=100,
        text=_format_percent(covered.percent),
    )
    table = page.PageTable(
        id='rules',
        noun=('rule', 'rules'),
        columns=_COLUMNS,
        rows=tuple(rows),
        choices=_CHOICES,
        # Rows do not open, because the texts of all rules are below the table.
        below=True,
    )
    return page.Card(
        id='rules',
        menu='Rules',
        title='Rules',
        about='',
        parts=(share, _LEGEND, table),
    )


def _build_tiles(rows: Sequence[page.PageRow]) -> page.Tiles:
    """Build the tiles that count rules by how much of them is reached.

    A rule that is never reached also counts as not reached completely. A click
    on either tile therefore selects its row.
    """
    marks = [mark for row in rows for mark in row.marks]
    return page.Tiles(
        (
            page.Tile(
                marks.count('show=whole'),
                words=(
                    'rule is reached completely',
                    'rules are reached completely',
                ),
                look='good',
                link=('show', 'whole'),
            ),
            page.Tile(
                marks.count('show=partial'),
                words=(
                    'rule is not reached completely',
                    'rules are not reached completely',
                ),
                look='warn',
                link=('show', 'partial'),
            ),
            page.Tile(
                marks.count('show=never'),
                words=('rule is never reached', 'rules are never reached'),
                look='bad',
                link=('show', 'never'),
            ),
        )
    )


def _format_percent(percent: float) -> str:
    """Return a percentage as text, rounded down to a whole number."""
    # Do not round up, because 99.6 % would read as if everything was reached.
    return f'{math.floor(percent)} %'


def _build_row(covered: coverage.Coverage, rule: model.Rule) -> page.PageRow:
    """Build the row of a rule, and its colored text below the table.

    The cells are the title, the parts that no machine reached, and a meter of
    the parts that machines reached. The tiles select the row by its marks.
    """
    # There is one part for every result of a condition (true and false) and
    # for every action. It says whether a machine reached it, as in
    # [True, False, True].
    parts = covered.reached(rule)
    missed = list(covered.missed(rule))
    look: page.Look
    if all(parts):
        # This includes a rule without conditions and actions, because it has
        # no parts.
        look = 'good'
        marks = ['show=whole']
    elif any(parts):
        look = 'warn'
        marks = ['show=partial']
    else:
        look = 'bad'
        # The tile of rules that are not reached completely counts this rule,
        # too.
        marks = ['show=partial', 'show=never']
    lines = [Line(text) for text in rule_text.head_lines(rule)]
    lines += _operations(covered, rule)
    opened: list[page.Part] = [RuleSource(tuple(lines))]
    if len(missed) > 1:
        opened.append(page.Block('Not reached', tuple(missed)))
    meter = page.Meter(
        part=sum(parts),
        whole=len(parts),
        text=_format_percent(covered.percent_of(rule)),
        look=look,
    )
    return page.PageRow(
        cells=(machine_test.title(rule), _summarize_missed(missed), meter),
        marks=tuple(marks),
        opened=tuple(opened),
    )


def _summarize_missed(missed: Sequence[str]) -> page.Words:
    """Return the first part that is not reached, and the number of others.

    For example, ``action 1 (fail) never ran, and 2 more``.
    """
    if not missed:
        return page.Words('')
    first, *others = missed
    if others:
        return page.Words(f'{first}, and {len(others)} more')
    return page.Words(first)


def _operations(
    covered: coverage.Coverage, rule: model.Rule
) -> Iterator[Line]:
    """Yield the colored lines of a rule's conditions and actions.

    Yield nothing if the rule is sensitive.
    """
    conditions = rule_text.visible_operations(rule, 'conditions')
    actions = rule_text.visible_operations(rule, 'actions')
    if conditions:
        yield Line('conditions:')
    for index, condition in enumerate(conditions):
        place = (rule.uuid, 'conditions', index)
        times_true_and_false = (
            covered.counts[*place, coverage.TRUE],
            covered.counts[*place, coverage.FALSE],
        )
        # A group is not whole if one of its conditions was never true or never
        # false, even if the group itself was both.
        is_whole = all(covered.reached(rule, place))
        yield from _operation_lines(condition, times_true_and_false, is_whole)
    if actions:
        yield Line('actions:')
    for index, action in enumerate(actions):
        place = (rule.uuid, 'actions', index)
        times_ran = (covered.counts[*place, coverage.RAN],)
        why_idle = covered.why_idle(place)
        yield from _operation_lines(action, times_ran, why=why_idle)


def _operation_lines(
    operation: rule_text.Operation,
    counts: tuple[int, ...],
    whole: bool = True,
    why: str = '',
) -> Iterator[Line]:
    """Yield the lines of a condition or an action, all in one color.

    An operation is covered if machines reached all of its results, and half
    covered if they reached some of them. Only the first line has the counts.

    :param counts: how often a condition was true and how often false, e.g.
        ``(3, 0)``; or how often an action ran, e.g. ``(3,)``.
    :param whole: whether all conditions of a group were reached, too.
    :param why: the reason why an action did not run although its rule matched.
    """
    if all(counts) and whole:
        state = 'covered'
    elif any(counts):
        state = 'half'
    else:
        state = 'missed'
    first_line, *other_lines = rule_text.operation_lines(operation)
    yield Line(first_line, state=state, counts=counts, why=why)
    for text in other_lines:
        yield Line(text, state=state)
