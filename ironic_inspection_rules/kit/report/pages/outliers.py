# SPDX-License-Identifier: Apache-2.0

"""The page of outliers: machines that are unlike their peers, and why."""

import collections
from collections.abc import Sequence
import dataclasses
import os.path
import typing

from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.report.pages import page
from ironic_inspection_rules.kit.report.pages import shell

_ASSETS = ('crowd.css', 'crowd.js')
_INVENTORY_ENDINGS = ('.json', '.yaml', '.yml')
_COLUMNS = (
    page.PageColumn('Machine', width='9rem'),
    page.PageColumn('Part', width='12rem', wide=True),
    page.PageColumn('What is odd'),
    page.PageColumn(
        'How odd', width='6rem', wide=True, number=True, descending=True
    ),
)


class OddMachine(typing.NamedTuple):
    """An odd machine in a picture; in JSON, a list of three items.

    :ivar findings: the descriptions of its findings, as one text.
    """

    name: str
    file: str
    findings: str


@dataclasses.dataclass(frozen=True)
class Crowd:
    """A picture with a square for every machine; odd machines have a color."""

    machines: int
    odd: tuple[OddMachine, ...]


def render(result: peers.Result) -> str:
    """Return the page of ``outliers`` as HTML.

    It has numbers, links that select findings by kind, and cards with the
    groups of peers, all findings, and the machines with too few peers.
    """
    now = shell.format_now()
    description = page.HtmlPage(
        title=f'Odd machines, {now}',
        headline=_write_headline(result),
        about=now,
        parts=(
            _build_tiles(result),
            _build_kind_links(result.findings),
            _build_groups_card(result),
            _build_findings_card(result.findings),
            _build_skipped_card(result.skipped),
        ),
    )
    return page.render(description, _ASSETS)


def _short_name(machine: str) -> str:
    """Return the short name of a machine: its file without folder and suffix.

    For example, ``r1`` for the file ``data/r1.json``. The name of a node, e.g.
    ``r1.example.com``, is not changed.

    :param machine: the path of a file, or the name of a node.
    """
    file_name = os.path.basename(machine)
    stem, ending = os.path.splitext(file_name)
    # Nodes may have host names, where the text after the last dot, e.g.
    # ".com", is part of the name.
    if ending.lower() in _INVENTORY_ENDINGS:
        return stem
    return file_name


def _count_machines(result: peers.Result) -> int:
    """Return how many machines were compared."""
    return sum(group.size for group in result.groups)


def _write_headline(result: peers.Result) -> str:
    """Return how many machines are odd, as a sentence."""
    compared = _count_machines(result)
    odd_machines = compared - result.normal
    machines = page.with_noun(compared, 'machine', 'machines')
    if odd_machines == 1:
        return f'1 of {machines} is unlike its peers.'
    number = page.format_number(odd_machines, nothing='None')
    return f'{number} of {machines} are unlike their peers.'


def _build_tiles(result: peers.Result) -> page.Tiles:
    """Build the tiles at the top of the page, which link to its cards.

    The tiles show the numbers of normal and odd machines, of groups, and of
    machines with too few peers.
    """
    odd_machines = _count_machines(result) - result.normal
    not_compared = sum(len(skipped.machines) for skipped in result.skipped)
    return page.Tiles(
        (
            page.Tile(
                result.normal,
                words=('is like its peers', 'are like their peers'),
                look='good',
            ),
            page.Tile(
                odd_machines,
                words=('is odd', 'are odd'),
                look='bad',
                link=('findings',),
            ),
            page.Tile(
                len(result.groups),
                words=('group of peers', 'groups of peers'),
                link=('groups',),
            ),
            page.Tile(
                not_compared,
                words=('has too few peers', 'have too few peers'),
                look='warn',
                link=('few',),
            ),
        )
    )


def _build_kind_links(
    findings: Sequence[finding.Outlier],
) -> page.Chips | None:
    """Build the links that select findings by kind, the most frequent first.

    A link has the kind and the number of its findings, e.g. ``memory 12``.

    :returns: None if there are no findings.
    """
    if not findings:
        return None
    numbers = collections.Counter(outlier.kind for outlier in findings)
    links = []
    for kind, number in numbers.most_common():
        links.append(page.Link(f'{kind} {number:,}', key='kind', value=kind))
    return page.Chips(tuple(links))


def _build_groups_card(result: peers.Result) -> page.Card | None:
    """Build the card of the groups of peers, most findings first.

    :returns: None if no machine has peers.
    """
    if not result.groups:
        return None
    findings_by_label = collections.defaultdict(list)
    for outlier in result.findings:
        findings_by_label[outlier.group].append(outlier)

    def count_findings(group: peers.PeerGroup) -> int:
        return len(findings_by_label[group.label])

    # sorted() keeps the order of groups with equally many findings.
    sorted_groups = sorted(result.groups, key=count_findings, reverse=True)
    items = [
        _build_group_item(group, findings_by_label[group.label])
        for group in sorted_groups
    ]
    return page.Card(
        id='groups',
        menu='Groups',
        title='Groups of peers',
        about='Each square is a machine.',
        parts=(page.BulletList(tuple(items)),),
    )


def _build_group_item(
    group: peers.PeerGroup, findings: Sequence[finding.Outlier]
) -> page.Item:
    """Build the entry of a group of peers.

    It has the label of the group, the number of its odd machines, and a square
    for every machine. If there are findings, a table compares them with the
    peers. If the group has several kinds of machines, another table shows the
    fields in which they differ.

    :param findings: the findings on machines of the group.
    """
    # The descriptions of the findings, by machine.
    texts_by_machine: dict[str, list[str]] = {}
    for outlier in findings:
        texts_by_machine.setdefault(outlier.machine, []).append(outlier.text)
    if findings:
        # The link selects the findings of the group in the table of findings.
        label: page.Part = page.Link(
            group.label, key='group', value=group.label
        )
        number = f'{len(texts_by_machine):,} of {group.size:,} odd'
        tag = page.Tag(number, 'bad')
    else:
        label = group.label
        text = page.with_noun(group.size, 'machine, alike', 'machines, alike')
        tag = page.Tag(text, 'good')
    odd_machines = []
    for machine, texts in texts_by_machine.items():
        odd_machines.append(
            OddMachine(_short_name(machine), machine, '; '.join(texts))
        )
    parts: list[page.Part] = [Crowd(group.size, tuple(odd_machines))]
    if findings:
        parts.append(_build_comparison(findings))
    if len(group.kinds) > 1:
        parts.append(_build_kinds_grid(group))
    return page.Item((label, tag), tuple(parts))


def _build_comparison(findings: Sequence[finding.Outlier]) -> page.Grid:
    """Build the table that compares odd machines with their peers.

    It has a row for every finding.
    """
    rows = []
    for outlier in findings:
        machine = page.Link(
            _short_name(outlier.machine), 'machine', outlier.machine
        )
        has = (
            f'{_part_name(outlier)} ',
            page.Words(_describe_deviation(outlier), 'bad'),
        )
        # For example, the value 32 GiB, which 39 of 40 peers have.
        norm = outlier.peers
        how_many = page.Meter(
            part=norm.count,
            whole=norm.of,
            text=f'{norm.count:,} of {norm.of:,}',
        )
        rows.append((machine, has, norm.value, how_many))
    return page.Grid(
        label='Odd machines beside their peers',
        heads=('Machine', 'Has', 'Its peers have', 'How many'),
        rows=tuple(rows),
    )


def _build_kinds_grid(group: peers.PeerGroup) -> page.Grid:
    """Build the table of the fields in which the kinds of a group differ.

    Peers may be of several kinds, which are all normal. Every kind has a
    column with its number of machines, and every field has a row with the
    values.
    """
    heads = ['Kinds differ in']
    for kind in group.kinds:
        heads.append(page.with_noun(len(kind.sketches), 'machine', 'machines'))
    rows = []
    # All kinds have the same fields in the same order, with their own values.
    for differences in zip(
        *(kind.differs for kind in group.kinds), strict=True
    ):
        field = differences[0].field
        values = [difference.value for difference in differences]
        rows.append((field, *values))
    return page.Grid(label='Kinds', heads=tuple(heads), rows=tuple(rows))


def _part_name(outlier: finding.Outlier) -> str:
    """Return the name of an odd part, e.g. ``disk 1``.

    If the slot is not known, it is the kind of the part.
    """
    if outlier.slot:
        return f'{outlier.kind} {outlier.slot}'
    return outlier.kind


def _describe_deviation(outlier: finding.Outlier) -> str:
    """Return the value of a machine that differs from its peers.

    If a part is missing, the text is "missing", or it also has what is left of
    several parts: "only 3" for a number, or "missing, 96 GiB" for a total.
    """
    if outlier.what != finding.MISSING:
        return str(outlier.has)
    if outlier.has is None:
        return 'missing'
    if outlier.slot is None:
        # Some of several equal parts are missing, and it is not known in
        # which slot. The value is the number of parts that are left.
        return f'only {outlier.has}'
    # The part in this slot is missing: the value is the total of the others.
    return f'missing, {outlier.has}'


def _build_findings_card(
    findings: Sequence[finding.Outlier],
) -> page.Card | None:
    """Build the card with the table of findings; None if there are none.

    Links of the page select rows by machine, group or kind, so every row has
    these as marks. A click on a row shows the description, the group of peers,
    the path of the value, and the file if the machine was read from a file.
    """
    if not findings:
        return None
    # The text above the selected rows, by the mark that a link selects.
    choices: dict[str, str] = {}
    rows = []
    for outlier in findings:
        short_name = _short_name(outlier.machine)
        words_by_mark = {
            f'machine={outlier.machine}': f'of {short_name}',
            f'group={outlier.group}': f'in {outlier.group}',
            f'kind={outlier.kind}': f'of kind {outlier.kind}',
        }
        choices.update(words_by_mark)
        opened = [
            page.Note(outlier.text, 'bad'),
            page.Block('Group', (outlier.group,)),
            page.Block('Where it stands', (page.Code(outlier.field),)),
        ]
        # The name of a node, which is not a file, equals its short name.
        if outlier.machine != short_name:
            opened.append(page.Block('File', (page.Code(outlier.machine),)))
        cells = (
            short_name,
            _part_name(outlier),
            outlier.text,
            round(outlier.odd, 1),
        )
        rows.append(page.PageRow(cells, tuple(words_by_mark), tuple(opened)))
    table = page.PageTable(
        id='findings',
        noun=('finding', 'findings'),
        columns=_COLUMNS,
        rows=tuple(rows),
        choices=choices,
    )
    return page.Card(
        id='findings',
        menu='Findings',
        title='Findings',
        about='The oddest first.',
        parts=(table,),
    )


def _build_skipped_card(skipped: Sequence[peers.Skipped]) -> page.Card | None:
    """Build the card of machines that have too few peers to be compared.

    It has a line for every group that is too small, e.g. ``Dell Inc. R640:
    r1, r2``.

    :returns: None if there are no such groups.
    """
    if not skipped:
        return None
    lines = []
    for group in skipped:
        label = peers.group_label(group.key)
        names = ', '.join(map(_short_name, group.machines))
        lines.append((f'{label}: ', page.Words(names)))
    return page.Card(
        id='few',
        menu='Not compared',
        title='Not compared',
        about='Too few machines are like these.',
        parts=tuple(lines),
    )
