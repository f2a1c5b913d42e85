# SPDX-License-Identifier: Apache-2.0

"""The HTML page that compares machines with the rows of a table."""

from collections.abc import Iterator, Sequence
import json
import operator
import pathlib
import re
import typing

from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.kit.report import table_machines
from ironic_inspection_rules.kit.report.pages import page
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.machine import table_comparison

_LOOKS: dict[str, page.Look] = {
    table_comparison.MISSING: 'bad',
    table_comparison.UNEXPECTED: 'bad',
    table_comparison.WRONG: 'warn',
    table_comparison.TWICE: 'warn',
    table_comparison.RIGHT: 'good',
}
_CHOICES = {
    'show=missing': 'that are missing',
    'show=unexpected': 'that no row names',
    'show=wrong': 'that are not as their rows expect',
    'show=twice': 'that share a key',
    'show=right': 'as their rows expect',
}
# Machines that are named in a heading.
_MAX_NAMES = 12


def render(
    expected: table.Table,
    findings: Sequence[table_comparison.TableFinding],
    by: str | None,
) -> str:
    """Return the HTML page that compares machines with the rows of a table.

    :param findings: the entries of the page, with secret columns masked.
    :param by: the column that groups machines, None for no groups.
    """
    name = expected.definition.name
    entries = [_Entry(finding) for finding in findings]
    # Users open the page to find wrong entries, so these come first.
    entries.sort(key=operator.attrgetter('is_right'))
    groups: list[_Group] = []
    if by is not None:
        groups = _group_entries(entries)
    title = f'Table {name}, {shell.format_now()}'
    return page.render(
        page.HtmlPage(
            title=title,
            headline=_write_headline(entries),
            about=title,
            parts=(
                _build_tiles(findings),
                _build_groups_card(by, groups),
                _build_entries_card(by, entries, groups),
            ),
        )
    )


class _Entry:
    """A machine and its row, or only one of the two.

    :ivar machine: the name of the machine; empty for a row without one.
    :ivar label: the key, or the name of a machine that has no key.
    :ivar state: one of :data:`.table_comparison.STATES`.
    :ivar group: the value of the column that groups machines, or an empty
        text.
    """

    def __init__(self, finding: table_comparison.TableFinding) -> None:
        """Build an entry from a finding of the comparison."""
        self.machine = ''
        if finding.machine is not None:
            # An inventory file is named after its machine.
            self.machine = pathlib.Path(finding.machine).stem
        self.label = finding.key or self.machine
        self.state = finding.state
        self.group = finding.group or ''
        self.differences = finding.differences

    @property
    def is_right(self) -> bool:
        """Whether the machine is as its row expects."""
        return self.state == table_comparison.RIGHT

    @property
    def tag(self) -> page.Tag:
        """The state, as a tag in its color."""
        return page.Tag(self.state, _LOOKS[self.state])

    @property
    def opened(self) -> tuple[page.Part, ...]:
        """The parts that a click shows: differences of machine and row."""
        if not self.differences:
            return ()
        lines = []
        for difference in self.differences:
            column = difference.column
            lines.append(f'- {column}: {_format_value(difference.expected)}')
            lines.append(f'+ {column}: {_format_value(difference.found)}')
        return (
            page.Words('- is what the row expects, + what the machine has.'),
            page.Lines(tuple(lines)),
        )


class _Group:
    """The entries that have the same value in the column for groups.

    :ivar mark: the number of the group, by which links select its rows.
    :ivar name: the value, e.g. ``R2`` for a rack; empty if the entries have
        none.
    """

    def __init__(self, number: int, entries: Sequence[_Entry]) -> None:
        self.mark = str(number)
        self.name = entries[0].group
        self.entries = entries
        self.not_right = [entry for entry in entries if not entry.is_right]

    def as_item(self, by: str) -> page.Item:
        """Return the group as an item of the list of groups.

        It says how many entries are as expected, and names the first few that
        are not.

        :param by: the column that groups entries.
        """
        whole = len(self.entries)
        right = whole - len(self.not_right)
        words = page.with_noun(whole, 'entry', 'entries')
        # The link selects the rows of the group in the table below.
        link = page.Link(words, key='group', value=self.mark)
        heading = (self.title(by), link)
        look: page.Look = 'good'
        if self.not_right:
            look = 'warn'
        meter = page.Meter(
            part=right,
            whole=whole,
            text=f'{right:,} of {whole:,} as expected',
            look=look,
        )
        return page.Item(heading, (meter, *self._by_state()))

    def title(self, by: str) -> str:
        """Return the title of the group, e.g. ``No rack`` without a name.

        :param by: the column that groups entries.
        """
        return self.name or f'No {by}'

    def sort_key(self) -> tuple[int, list[str | int]]:
        """Return the key by which groups are sorted.

        Groups with most wrong entries come first. For equal numbers, R2 comes
        before R10: the key of R10 with 3 wrong entries is ``(-3, ['R', 10,
        ''])``.
        """
        # The split returns texts and numbers alternately, beginning with a
        # text, so a text is never compared with a number.
        words: list[str | int] = []
        for place, word in enumerate(re.split('([0-9]{1,18})', self.name)):
            is_number = place % 2 == 1
            if is_number:
                words.append(int(word))
            else:
                words.append(word)
        return -len(self.not_right), words

    def _by_state(self) -> Iterator[page.Part]:
        """Yield a line with some entries for every state that is not right.

        For example, the tag ``missing`` and the keys ``A1, B2``.
        """
        for state in table_comparison.STATES:
            # A dictionary keeps the labels distinct: two machines with the
            # same key have the same label.
            distinct_labels: dict[str, None] = {}
            for entry in self.not_right:
                if entry.state == state:
                    distinct_labels[entry.label] = None
            if not distinct_labels:
                continue
            labels = list(distinct_labels)
            text = ', '.join(labels[:_MAX_NAMES])
            if len(labels) > _MAX_NAMES:
                text += ' …'
            yield (page.Tag(state, _LOOKS[state]), page.Words(f' {text}'))


def _group_entries(entries: Sequence[_Entry]) -> list[_Group]:
    """Divide entries into groups, the group with most wrong ones first."""
    entries_by_name: dict[str, list[_Entry]] = {}
    for entry in entries:
        entries_by_name.setdefault(entry.group, []).append(entry)
    groups = []
    for number, entries_of_group in enumerate(entries_by_name.values(), 1):
        groups.append(_Group(number, entries_of_group))
    return sorted(groups, key=_Group.sort_key)


def _write_headline(entries: Sequence[_Entry]) -> str:
    """Return a sentence with the number of wrong entries.

    For example, "5 of 32 rows and machines are not as expected."
    """
    whole = page.with_noun(len(entries), 'row or machine', 'rows and machines')
    not_right = sum(not entry.is_right for entry in entries)
    verb = 'are'
    if not_right == 1:
        verb = 'is'
    number = page.format_number(not_right, nothing='None')
    return f'{number} of {whole} {verb} not as expected.'


def _build_tiles(
    findings: Sequence[table_comparison.TableFinding],
) -> page.Tiles:
    """Build the tiles with the count of every state.

    A click on a tile shows only the rows of its state.
    """
    numbers = table_machines.count_by_state(findings)
    tiles = []
    for state in table_comparison.STATES:
        tiles.append(
            page.Tile(
                numbers[state],
                words=(state, state),
                look=_LOOKS[state],
                link=('show', state),
            )
        )
    return page.Tiles(tuple(tiles))


def _build_groups_card(
    by: str | None, groups: Sequence[_Group]
) -> page.Card | None:
    """Build the card that lists the groups; None if entries have no groups.

    :param by: the column that groups entries.
    """
    if by is None or not groups:
        return None
    items = tuple(group.as_item(by) for group in groups)
    return page.Card(
        id='groups',
        menu=f'By {by}',
        title=f'By {by}',
        about='Those in which most is not as expected come first.',
        parts=(page.BulletList(items),),
    )


def _build_entries_card(
    by: str | None, entries: Sequence[_Entry], groups: Sequence[_Group]
) -> page.Card | None:
    """Build the card with the table of entries; None if there are none.

    Links filter the rows by state and by group. A click on a row shows the
    differences of the machine from its row in the rules' table.

    :param entries: the entries, with the wrong ones first.
    """
    if not entries:
        return None
    columns = [
        page.PageColumn('Key'),
        page.PageColumn('Machine', width='14rem', wide=True),
    ]
    # The text above the selected rows, by the mark that a link selects.
    choices = dict(_CHOICES)
    mark_by_group = {}
    if by is not None:
        columns.append(page.PageColumn(by, width='9rem', wide=True))
        for group in groups:
            mark = f'group={group.mark}'
            choices[mark] = f'of {by} {group.title(by)}'
            mark_by_group[group.name] = mark
    columns.append(page.PageColumn('State', width='9rem'))
    rows = []
    for entry in entries:
        marks = [f'show={entry.state}']
        cells: list[page.Part] = [entry.label, entry.machine]
        if by is not None:
            marks.append(mark_by_group[entry.group])
            cells.append(entry.group)
        cells.append(entry.tag)
        rows.append(page.PageRow(tuple(cells), tuple(marks), entry.opened))
    table_of_entries = page.PageTable(
        id='machines',
        noun=('entry', 'entries'),
        columns=tuple(columns),
        rows=tuple(rows),
        choices=choices,
    )
    return page.Card(
        id='machines',
        menu='Machines',
        title='Rows and machines',
        about='What is not as expected comes first.',
        parts=(table_of_entries,),
    )


def _format_value(value: typing.Any) -> str:
    """Return a text unchanged, None as a word, and other values as JSON."""
    if value is None:
        return 'nothing'
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
