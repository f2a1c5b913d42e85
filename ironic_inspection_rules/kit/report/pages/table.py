# SPDX-License-Identifier: Apache-2.0

"""The HTML page of machines beside the rows of a table, by a column."""

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
_NAMES = 12


def render(
    expected: table.Table,
    findings: Sequence[table_comparison.TableFinding],
    by: str | None,
) -> str:
    """Return the HTML page on machines beside the rows of a table.

    :param findings: what the page lists; secret columns are masked in them.
    :param by: the column that groups machines, None if none does.
    """
    name = expected.definition.name
    entries = [_Entry(finding) for finding in findings]
    # What is not right is why somebody opens the page: it comes first.
    entries.sort(key=operator.attrgetter('is_right'))
    groups: list[_Group] = []
    if by is not None:
        groups = _groups(entries)
    title = f'Table {name}, {shell.now()}'
    return page.render(
        page.HtmlPage(
            title=title,
            headline=_headline(entries),
            about=title,
            parts=(
                _tiles(findings),
                _groups_card(by, groups),
                _entries_card(by, entries, groups),
            ),
        )
    )


class _Entry:
    """A machine beside its row, or one of both without the other.

    :ivar machine: its name; empty for a row without a machine.
    :ivar label: the key; the name of a machine that has none.
    :ivar state: one of :data:`.table_comparison.STATES`.
    :ivar group: the value of the column that groups machines; empty without.
    """

    def __init__(self, finding: table_comparison.TableFinding) -> None:
        self.machine = ''
        if finding.machine is not None:
            # A file has the inventory of a machine, and is named after it.
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
        """Its state, as a tag."""
        return page.Tag(self.state, _LOOKS[self.state])

    @property
    def opened(self) -> tuple[page.Part, ...]:
        """What a click on its row shows: differences of machine and row."""
        lines = []
        for difference in self.differences:
            column = difference.column
            lines.append(f'- {column}: {_text(difference.expected)}')
            lines.append(f'+ {column}: {_text(difference.found)}')
        if not lines:
            return ()
        return (
            page.Words('- is what the row expects, + what the machine has.'),
            page.Lines(tuple(lines)),
        )


class _Group:
    """The entries of one value of the column that groups them, as of a rack.

    :ivar mark: its number, by which links choose its rows.
    """

    def __init__(self, number: int, entries: Sequence[_Entry]) -> None:
        self.mark = str(number)
        self.name = entries[0].group
        self.entries = entries
        self.not_right = [entry for entry in entries if not entry.is_right]

    def as_item(self, by: str) -> page.Item:
        """Return the item of the list of groups that is about this one.

        It says how many entries are as expected, and which are not.

        :param by: the column that groups entries.
        """
        whole = len(self.entries)
        right = whole - len(self.not_right)
        words = page.count(whole, 'entry', 'entries')
        heading = (self.title(by), page.Link(words, 'group', self.mark))
        look: page.Look = 'good'
        if self.not_right:
            look = 'warn'
        meter = page.Meter(
            right, whole, f'{right:,} of {whole:,} as expected', look
        )
        return page.Item(heading, (meter, *self._by_state()))

    def title(self, by: str) -> str:
        """Return its name, or that there is none.

        :param by: the column that groups entries.
        """
        return self.name or f'No {by}'

    def order(self) -> tuple[int, list[str | int]]:
        """Return what groups are sorted by.

        Those with most that is not right come first; where it is as much, R2
        comes before R10.
        """
        # The texts and the numbers of a name alternate, a text first, so that
        # a text is never compared with a number.
        words: list[str | int] = []
        for place, word in enumerate(re.split('([0-9]{1,18})', self.name)):
            is_number = place % 2 == 1
            if is_number:
                words.append(int(word))
            else:
                words.append(word)
        return -len(self.not_right), words

    def _by_state(self) -> Iterator[page.Part]:
        """Yield a line for each state that is not right, with some entries."""
        for state in table_comparison.STATES:
            labels = [
                entry.label for entry in self.not_right if entry.state == state
            ]
            # Two machines of one key have one label.
            labels = list(dict.fromkeys(labels))
            if not labels:
                continue
            text = ', '.join(labels[:_NAMES])
            if len(labels) > _NAMES:
                text += ' …'
            yield (page.Tag(state, _LOOKS[state]), page.Words(f' {text}'))


def _groups(entries: Sequence[_Entry]) -> list[_Group]:
    """Return the entries in groups, those with most that is wrong first."""
    by_name: dict[str, list[_Entry]] = {}
    for entry in entries:
        by_name.setdefault(entry.group, []).append(entry)
    groups = [
        _Group(number, members)
        for number, members in enumerate(by_name.values(), 1)
    ]
    groups.sort(key=_Group.order)
    return groups


def _headline(entries: Sequence[_Entry]) -> str:
    """Return the sentence that counts what is not as expected.

    Such as "5 of 32 rows and machines are not as expected."
    """
    whole = page.count(len(entries), 'row or machine', 'rows and machines')
    not_right = sum(not entry.is_right for entry in entries)
    verb = 'are'
    if not_right == 1:
        verb = 'is'
    number = page.number(not_right, nothing='None')
    return f'{number} of {whole} {verb} not as expected.'


def _tiles(findings: Sequence[table_comparison.TableFinding]) -> page.Tiles:
    """Return the tiles with the count of every state.

    A click on one shows only the rows of that state.
    """
    numbers = table_machines.count_by_state(findings)
    tiles = []
    for state in table_comparison.STATES:
        tiles.append(
            page.Tile(
                numbers[state], (state, state), _LOOKS[state], ('show', state)
            )
        )
    return page.Tiles(tuple(tiles))


def _groups_card(by: str | None, groups: Sequence[_Group]) -> page.Card | None:
    """Return the card that lists the groups, None if entries have no groups.

    :param by: the column that groups entries.
    """
    if by is None or not groups:
        return None
    items = tuple(group.as_item(by) for group in groups)
    return page.Card(
        'groups',
        f'By {by}',
        f'By {by}',
        'Those in which most is not as expected come first.',
        (page.BulletList(items),),
    )


def _entries_card(
    by: str | None, entries: Sequence[_Entry], groups: Sequence[_Group]
) -> page.Card | None:
    """Return the card with the table of all entries, None for no entries.

    Its rows can be filtered by state and by group. A click on one shows the
    differences of machine and row.

    :param entries: those that are not as expected come first.
    """
    if not entries:
        return None
    columns = [
        page.PageColumn('Key'),
        page.PageColumn('Machine', width='14rem', wide=True),
        page.PageColumn('State', width='9rem'),
    ]
    choices = dict(_CHOICES)
    mark_of = {}
    if by is not None:
        columns.insert(2, page.PageColumn(by, width='9rem', wide=True))
        for group in groups:
            choices[f'group={group.mark}'] = f'of {by} {group.title(by)}'
            mark_of[group.name] = f'group={group.mark}'
    rows = []
    for entry in entries:
        marks = [f'show={entry.state}']
        cells: list[page.Part] = [entry.label, entry.machine]
        if by is not None:
            marks.append(mark_of[entry.group])
            cells.append(entry.group)
        rows.append(
            page.PageRow((*cells, entry.tag), tuple(marks), entry.opened)
        )
    listed = page.PageTable(
        'machines', ('entry', 'entries'), tuple(columns), tuple(rows), choices
    )
    return page.Card(
        'machines',
        'Machines',
        'Rows and machines',
        'What is not as expected comes first.',
        (listed,),
    )


def _text(value: typing.Any) -> str:
    """Return a value as a line of a difference shows it."""
    if value is None:
        return 'nothing'
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
