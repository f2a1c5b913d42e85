# SPDX-License-Identifier: Apache-2.0

"""The HTML page that compares machines with the rows of a table.

The table is a table of the rules, e.g. of ordered machines. A row describes
one machine, which is found by the *key* of the row, e.g. its serial number. An
*entry* of the page is a row and its machine, or only one of the two. Its
*state* is ``missing``, ``unexpected``, ``wrong``, ``twice`` or ``right``. A
wrong machine has *differences*: columns with the expected value and the value
found.

The entries may be grouped by a column of the table, e.g. by rack.
"""

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


class _StateOnPage(typing.NamedTuple):
    """How a page shows a state: its color, and the words for its entries."""

    look: page.Look
    words: str


_STATES = {
    table_comparison.MISSING: _StateOnPage('bad', 'that are missing'),
    table_comparison.UNEXPECTED: _StateOnPage('bad', 'that no row names'),
    table_comparison.WRONG: _StateOnPage(
        'warn', 'that are not as their rows expect'
    ),
    table_comparison.TWICE: _StateOnPage('warn', 'that share a key'),
    table_comparison.RIGHT: _StateOnPage('good', 'as their rows expect'),
}
"""All states of :data:`.table_comparison.STATES`."""

_MAX_LABELS = 12
"""Maximum number of entries of a group and a state that are named."""


def render(
    expected: table.Table,
    findings: Sequence[table_comparison.TableFinding],
    by: str | None,
) -> str:
    """Return the HTML page that compares machines with the rows of a table.

    :param expected: the table.
    :param findings: the results of the comparison, with secret columns masked.
    :param by: the column by which entries are grouped; None for no groups.
    """
    entries = [_Entry(finding) for finding in findings]
    # Users look for what is not right, so it comes first: False sorts before
    # True.
    entries.sort(key=operator.attrgetter('is_right'))
    groups: list[_Group] = []
    if by is not None:
        groups = _group_entries(entries)
    title = f'Table {expected.definition.name}, {shell.format_now()}'
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

    :ivar machine: the name of the machine; empty for a row without a machine.
    :ivar label: the key, or the name of a machine that has no key.
    :ivar state: one of :data:`.table_comparison.STATES`.
    :ivar group: the value of the column by which entries are grouped, e.g.
        ``R2`` for a rack; empty if there is none.
    """

    def __init__(self, finding: table_comparison.TableFinding) -> None:
        """Build an entry from a result of the comparison."""
        self.machine = ''
        if finding.machine is not None:
            # The machine is an inventory file, which is named after it.
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
        return page.Tag(self.state, _STATES[self.state].look)

    @property
    def opened(self) -> tuple[page.Part, ...]:
        """The parts that a click on the row of the entry shows.

        They have two lines for every difference, e.g. ``- cpus: 64`` and ``+
        cpus: 32``.

        :returns: an empty tuple if there are no differences.
        """
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
    """The entries that have the same value in the column ``by``.

    :ivar number: the number of the group as text. Links select the rows of the
        group by the mark ``group=`` with this number.
    :ivar name: the value, e.g. ``R2`` for a rack; empty if the entries have no
        value there.
    :ivar not_right: the entries that are not as expected.
    """

    def __init__(self, number: int, entries: Sequence[_Entry]) -> None:
        """Build a group.

        :param entries: at least one entry.
        """
        self.number = str(number)
        self.name = entries[0].group
        self.entries = entries
        self.not_right = [entry for entry in entries if not entry.is_right]

    def as_item(self, by: str) -> page.Item:
        """Return the group as an item of the list of groups.

        It says how many entries are as expected, and names the first entries
        that are not.

        :param by: the column by which entries are grouped.
        """
        total = len(self.entries)
        right = total - len(self.not_right)
        words = page.with_noun(total, 'entry', 'entries')
        # The link selects the rows of the group in the table below.
        link = page.Link(words, key='group', value=self.number)
        look: page.Look = 'good'
        if self.not_right:
            look = 'warn'
        meter = page.Meter(
            part=right,
            whole=total,
            text=f'{right:,} of {total:,} as expected',
            look=look,
        )
        return page.Item(
            heading=(self.title(by), link),
            parts=(meter, *self._lines_by_state()),
        )

    def title(self, by: str) -> str:
        """Return the name of the group, or e.g. ``No rack`` without a name.

        :param by: the column by which entries are grouped, e.g. ``rack``.
        """
        return self.name or f'No {by}'

    def sort_key(self) -> tuple[int, list[str | int]]:
        """Return the key by which groups are sorted.

        The group with most entries that are not right comes first. Groups with
        equal numbers are sorted by name, in which digits count as a number, so
        that R2 comes before R10. For example, the key of R10 with 3 entries
        that are not right is ``(-3, ['R', 10, ''])``.
        """
        # The parts alternate between text and number, beginning with a text
        # that may be empty: 'R10' is split into ['R', '10', '']. A text is
        # therefore never compared with a number. A number of more than 18
        # digits is divided, because int() refuses very long numbers.
        parts_of_name: list[str | int] = []
        for position, part in enumerate(re.split('([0-9]{1,18})', self.name)):
            is_number = position % 2 == 1
            if is_number:
                parts_of_name.append(int(part))
            else:
                parts_of_name.append(part)
        return -len(self.not_right), parts_of_name

    def _lines_by_state(self) -> Iterator[page.Part]:
        """Yield a line with some entries for every state that is not right.

        For example, the tag ``missing`` and the keys ``A1, B2``.
        """
        for state in table_comparison.STATES:
            # Two machines with the same key have the same label, so use a
            # dictionary to name it once. It keeps the order.
            labels_of_state: dict[str, None] = {}
            for entry in self.not_right:
                if entry.state == state:
                    labels_of_state[entry.label] = None
            if not labels_of_state:
                continue
            labels = list(labels_of_state)
            text = ', '.join(labels[:_MAX_LABELS])
            if len(labels) > _MAX_LABELS:
                text += ' …'
            yield (
                page.Tag(state, _STATES[state].look),
                page.Words(f' {text}'),
            )


def _group_entries(entries: Sequence[_Entry]) -> list[_Group]:
    """Divide entries into groups, and sort the groups.

    Groups are numbered in the order in which the entries name them. They are
    then sorted, see :meth:`_Group.sort_key`.
    """
    entries_by_name: dict[str, list[_Entry]] = {}
    for entry in entries:
        entries_by_name.setdefault(entry.group, []).append(entry)
    groups = []
    for number, entries_of_group in enumerate(entries_by_name.values(), 1):
        groups.append(_Group(number, entries_of_group))
    return sorted(groups, key=_Group.sort_key)


def _write_headline(entries: Sequence[_Entry]) -> str:
    """Return how many entries are not as expected, as a sentence.

    For example, ``5 of 32 rows and machines are not as expected.``
    """
    of_entries = page.with_noun(
        len(entries), 'row or machine', 'rows and machines'
    )
    not_right = sum(not entry.is_right for entry in entries)
    verb = 'are'
    if not_right == 1:
        verb = 'is'
    number = page.format_number(not_right, nothing='None')
    return f'{number} of {of_entries} {verb} not as expected.'


def _build_tiles(
    findings: Sequence[table_comparison.TableFinding],
) -> page.Tiles:
    """Build a tile for every state, with the number of entries in it.

    A click on a tile selects the rows of its state.
    """
    number_by_state = table_machines.count_by_state(findings)
    tiles = []
    for state in table_comparison.STATES:
        tiles.append(
            page.Tile(
                number_by_state[state],
                words=(state, state),
                look=_STATES[state].look,
                link=('show', state),
            )
        )
    return page.Tiles(tuple(tiles))


def _build_groups_card(
    by: str | None, groups: Sequence[_Group]
) -> page.Card | None:
    """Build the card that lists the groups; None if entries have no groups.

    :param by: the column by which entries are grouped, e.g. ``rack``; None for
        no groups.
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

    The columns are the key, the machine, the group (only if entries are
    grouped), and the state. Links of the page select rows by state and by
    group. A click on a row shows the differences.

    :param by: the column by which entries are grouped, e.g. ``rack``; None for
        no groups.
    """
    if not entries:
        return None
    columns = [
        page.PageColumn('Key'),
        page.PageColumn('Machine', width='14rem', wide=True),
    ]
    # The words for the rows that a link selects, by the mark of the rows.
    choices = {
        f'show={state}': on_page.words for state, on_page in _STATES.items()
    }
    mark_by_name_of_group = {}
    if by is not None:
        columns.append(page.PageColumn(by, width='9rem', wide=True))
        for group in groups:
            mark = f'group={group.number}'
            choices[mark] = f'of {by} {group.title(by)}'
            mark_by_name_of_group[group.name] = mark
    columns.append(page.PageColumn('State', width='9rem'))
    rows = []
    for entry in entries:
        marks = [f'show={entry.state}']
        cells: list[page.Part] = [entry.label, entry.machine]
        if by is not None:
            marks.append(mark_by_name_of_group[entry.group])
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
    """Return a text unchanged, None as a word, and other values as JSON.

    :param value: a value of a column, which may be any JSON data.
    """
    if value is None:
        return 'nothing'
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
