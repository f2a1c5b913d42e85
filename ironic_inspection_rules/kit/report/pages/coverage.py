# SPDX-License-Identifier: Apache-2.0

"""Builds the page of the coverage of rules, with colors in their texts.

Coverage says which *results* of the rules were reached when the rules were
tried on machines. A condition has two results, true and false. An action has
one result, that it ran. For example, a rule with a condition that was only
true, and with an action that ran, has reached two of three results.

The page has a row for every rule, and below the table its text. A line of the
text is ``covered``, ``half`` covered, or ``missed``. Conditions and actions
are both called *operations*.
"""

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
    """A line of the text of a rule.

    The first line of a condition or an action has counts.

    :param state: ``covered``, ``half`` or ``missed``; empty if the line does
        not belong to a condition or action.
    :param counts: on how many machines a condition was true and on how many it
        was false, or on how many an action ran.
    :param why: why an action did not run on some machines; may be empty.
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

    :param covered: the rules, and how often their results were reached.
    :param machines: the number of machines on which the rules were tried.
    :param files: the names of the files with the rules.
    """
    names = shell.join_names(files)
    now = shell.format_now()
    machines_with_noun = page.with_noun(machines, 'machine', 'machines')
    percent = _format_percent(covered.percent)
    rows = [_build_row(covered, rule) for rule in covered.rules]
    html_page = page.HtmlPage(
        title=f'Coverage of {names}, {now}',
        headline=f'{percent} of the rules is covered.',
        about=f'{names} on {machines_with_noun}, {now}',
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

    A tile counts the rows with its mark, and a click on it selects them. A
    rule of which nothing is reached has two marks: it also counts as not
    reached completely.
    """
    marks: list[str] = []
    for row in rows:
        marks += row.marks
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

    The cells are the title of the rule, what was not reached, and a meter with
    the share of results that were reached. The tiles select the row by its
    marks.
    """
    # For every result of the rule, whether it was reached, e.g. [True, False,
    # True].
    reached = covered.reached(rule)
    # A sentence for every result that was not reached.
    missed = list(covered.missed(rule))
    look: page.Look
    if all(reached):
        # This includes a rule without conditions and actions, which has no
        # results.
        look = 'good'
        marks = ['show=whole']
    elif any(reached):
        look = 'warn'
        marks = ['show=partial']
    else:
        look = 'bad'
        marks = ['show=partial', 'show=never']
    lines = [Line(text) for text in rule_text.head_lines(rule)]
    lines += _build_operation_lines(covered, rule)
    opened: list[page.Part] = [RuleSource(tuple(lines))]
    if len(missed) > 1:
        # The cell of the row has only the first sentence.
        opened.append(page.Block('Not reached', tuple(missed)))
    meter = page.Meter(
        part=reached.count(True),
        whole=len(reached),
        text=_format_percent(covered.percent_of(rule)),
        look=look,
    )
    return page.PageRow(
        cells=(machine_test.title(rule), _summarize_missed(missed), meter),
        marks=tuple(marks),
        opened=tuple(opened),
    )


def _summarize_missed(missed: Sequence[str]) -> page.Words:
    """Return the first of some sentences, and the number of others.

    For example, ``action 1 (fail) never ran, and 2 more``.

    :param missed: a sentence for every result that was not reached.
    """
    if not missed:
        return page.Words('')
    first, *others = missed
    if others:
        return page.Words(f'{first}, and {len(others)} more')
    return page.Words(first)


def _build_operation_lines(
    covered: coverage.Coverage, rule: model.Rule
) -> Iterator[Line]:
    """Yield the colored lines of the conditions and actions of a rule.

    A sensitive rule has no such lines.
    """
    # The counts of a rule are stored by place and result, e.g. (uuid,
    # 'conditions', 0, 'true').
    conditions = rule_text.visible_operations(rule, 'conditions')
    if conditions:
        yield Line('conditions:')
    for index, condition in enumerate(conditions):
        place = (rule.uuid, 'conditions', index)
        times_true_and_false = (
            covered.counts[*place, coverage.TRUE],
            covered.counts[*place, coverage.FALSE],
        )
        # If the condition is a group, this includes the conditions in it.
        is_completely_reached = all(covered.reached(rule, place))
        yield from _color_operation(
            condition, times_true_and_false, is_completely_reached
        )
    actions = rule_text.visible_operations(rule, 'actions')
    if actions:
        yield Line('actions:')
    for index, action in enumerate(actions):
        place = (rule.uuid, 'actions', index)
        times_ran = covered.counts[*place, coverage.RAN]
        yield from _color_operation(
            action,
            (times_ran,),
            is_completely_reached=times_ran > 0,
            why_idle=covered.why_idle(place),
        )


def _color_operation(
    operation: rule_text.Operation,
    counts: tuple[int, ...],
    is_completely_reached: bool,
    why_idle: str = '',
) -> Iterator[Line]:
    """Yield the lines of a condition or an action, all in one color.

    The operation is ``covered`` if it is completely reached, ``half`` covered
    if some of its results were reached, and otherwise ``missed``. Only the
    first line has the counts.

    :param counts: on how many machines a condition was true and on how many
        false, e.g. ``(3, 0)``; or on how many an action ran, e.g. ``(3,)``.
    :param is_completely_reached: whether all results were reached. For a group
        of conditions, also all results of its conditions.
    :param why_idle: why an action did not run on machines that its rule
        matched.
    """
    if is_completely_reached:
        state = 'covered'
    elif any(counts):
        state = 'half'
    else:
        state = 'missed'
    first_line, *other_lines = rule_text.operation_lines(operation)
    yield Line(first_line, state=state, counts=counts, why=why_idle)
    for text in other_lines:
        yield Line(text, state=state)
