# SPDX-License-Identifier: Apache-2.0

"""The page of outliers: machines that are unlike their peers, and why.

Machines of the same model are *peers*, and form a *group*. A *finding* is a
difference of one machine from its peers, e.g. ``DIMM_B4 is missing: 9 of 10
have 32 GiB``. A machine with a finding is *odd*. A finding has a kind, e.g.
``memory`` or ``disk``.

A group may have several *kinds of machines*, e.g. an older and a newer
delivery with more memory. These are not odd. A group with too few machines is
*skipped*.
"""

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
    """An odd machine in the picture of a group; in JSON, a list of its fields.

    :ivar name: the short name of the machine.
    :ivar file: the path of its file, or the name of its node.
    :ivar findings: the descriptions of its findings, as one text.
    """

    name: str
    file: str
    findings: str


@dataclasses.dataclass(frozen=True)
class Crowd:
    """A picture with a square for every machine; odd machines have a color.

    :param machines: the number of all machines.
    """

    machines: int
    odd: tuple[OddMachine, ...]


def render(result: peers.Result) -> str:
    """Return the page of ``outliers`` as HTML."""
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
    """Return the short name of a machine.

    - For a file, its name without folder and ending: ``r1`` for
      ``data/r1.json``.
    - For a node, its whole name: ``r1.example.com``.

    :param machine: the path of a file, or the name of a node.
    """
    file_name = os.path.basename(machine)
    stem, ending = os.path.splitext(file_name)
    # Cut off only the endings of inventory files. The name of a node may have
    # an ending like ".com", which is a part of the name.
    if ending.lower() in _INVENTORY_ENDINGS:
        return stem
    return file_name


def _count_machines(result: peers.Result) -> int:
    """Return how many machines were compared."""
    return sum(group.size for group in result.groups)


def _write_headline(result: peers.Result) -> str:
    """Return how many machines are odd, as a sentence.

    For example, ``2 of 40 machines are unlike their peers.``
    """
    compared = _count_machines(result)
    odd_machines = compared - result.normal
    of_machines = page.with_noun(compared, 'machine', 'machines')
    if odd_machines == 1:
        return f'1 of {of_machines} is unlike its peers.'
    number = page.format_number(odd_machines, nothing='None')
    return f'{number} of {of_machines} are unlike their peers.'


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

    A link has the kind and the number of its findings, e.g. ``memory 12``. A
    click selects the rows with the mark ``kind=memory``.

    :returns: None if there are no findings.
    """
    if not findings:
        return None
    number_by_kind = collections.Counter(outlier.kind for outlier in findings)
    links = []
    for kind, number in number_by_kind.most_common():
        links.append(page.Link(f'{kind} {number:,}', key='kind', value=kind))
    return page.Chips(tuple(links))


def _build_groups_card(result: peers.Result) -> page.Card | None:
    """Build the card of the groups; the group with most findings comes first.

    :returns: None if there are no groups.
    """
    if not result.groups:
        return None
    findings_by_label = collections.defaultdict(list)
    for outlier in result.findings:
        findings_by_label[outlier.group].append(outlier)

    def count_findings(group: peers.PeerGroup) -> int:
        return len(findings_by_label[group.label])

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

    - The heading has the name of the group and the number of odd machines.
    - A picture has a square for every machine.
    - If there are findings, a table compares odd machines with their peers.
    - If there are several kinds of machines, a table shows how they differ.

    :param findings: the findings about machines of the group.
    """
    # The descriptions of the findings, by machine.
    texts_by_machine: dict[str, list[str]] = {}
    for outlier in findings:
        texts_by_machine.setdefault(outlier.machine, []).append(outlier.text)
    odd_machines = []
    for machine, texts in texts_by_machine.items():
        odd_machines.append(
            OddMachine(_short_name(machine), machine, '; '.join(texts))
        )
    label: page.Part = group.label
    if findings:
        # The link selects the findings of the group in the table of findings.
        label = page.Link(group.label, key='group', value=group.label)
        tag = page.Tag(f'{len(odd_machines):,} of {group.size:,} odd', 'bad')
    else:
        text = page.with_noun(group.size, 'machine, alike', 'machines, alike')
        tag = page.Tag(text, 'good')
    parts: list[page.Part] = [Crowd(group.size, tuple(odd_machines))]
    if findings:
        parts.append(_build_comparison(findings))
    if len(group.kinds) > 1:
        parts.append(_build_kinds_grid(group))
    return page.Item((label, tag), tuple(parts))


def _build_comparison(findings: Sequence[finding.Outlier]) -> page.Grid:
    """Build the table that compares odd machines with their peers.

    Every finding has a row, e.g. ``r1``, ``disk 1 480 GB``, ``960 GB``, ``39
    of 40``.
    """
    rows = []
    for outlier in findings:
        # The link selects the findings of the machine in the table below.
        machine = page.Link(
            _short_name(outlier.machine), 'machine', outlier.machine
        )
        has = (
            f'{_part_name(outlier)} ',
            page.Words(_describe_deviation(outlier), 'bad'),
        )
        # The value that most peers have, and how many of them have it.
        peer_value = outlier.peers
        how_many = page.Meter(
            part=peer_value.count,
            whole=peer_value.reporting_count,
            text=f'{peer_value.count:,} of {peer_value.reporting_count:,}',
        )
        rows.append((machine, has, peer_value.value, how_many))
    return page.Grid(
        label='Odd machines beside their peers',
        heads=('Machine', 'Has', 'Its peers have', 'How many'),
        rows=tuple(rows),
    )


def _build_kinds_grid(group: peers.PeerGroup) -> page.Grid:
    """Build the table of the fields in which the kinds of a group differ.

    Every kind of machines has a column, and every field has a row::

        Kinds differ in               30 machines  10 machines
        inventory.memory.physical_mb  512 GiB      768 GiB
    """
    heads = ['Kinds differ in']
    for kind in group.kinds:
        # A sketch is the data of one machine.
        heads.append(page.with_noun(len(kind.sketches), 'machine', 'machines'))
    # All kinds have the same fields in the same order, with their own values.
    fields_of_kinds = [kind.differs for kind in group.kinds]
    rows = []
    for same_field in zip(*fields_of_kinds, strict=True):
        values = [difference.value for difference in same_field]
        rows.append((same_field[0].field, *values))
    return page.Grid(label='Kinds', heads=tuple(heads), rows=tuple(rows))


def _part_name(outlier: finding.Outlier) -> str:
    """Return the kind and the slot of an odd part, e.g. ``disk 1``.

    If the slot is not known, it is only the kind, e.g. ``disk``.
    """
    if outlier.slot:
        return f'{outlier.kind} {outlier.slot}'
    return outlier.kind


def _describe_deviation(outlier: finding.Outlier) -> str:
    """Return what a machine has instead of the value of its peers.

    - The part is not missing: its value, e.g. ``480 GB``.
    - The part is missing, and nothing else is known: ``missing``.
    - Some of several equal parts are missing: the number of parts that are
      left, e.g. ``only 3``, or for DIMMs the memory, if it differs.
    - The part in a slot is missing: the total of the other parts, e.g.
      ``missing, 96 GiB``.
    """
    if outlier.what != finding.MISSING:
        return str(outlier.has)
    if outlier.has is None:
        return 'missing'
    if outlier.slot is None:
        # Equal parts are only counted, so the slot is not known.
        return f'only {outlier.has}'
    return f'missing, {outlier.has}'


def _build_findings_card(
    findings: Sequence[finding.Outlier],
) -> page.Card | None:
    """Build the card with the table of findings; None if there are none.

    Links of the page select rows by machine, group or kind, so every row has
    three marks. A click on a row shows the description, the group of peers,
    the path of the value, and the file if the machine was read from a file.
    """
    if not findings:
        return None
    # The words for the rows that a link selects, by the mark of the rows.
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
        # The short name of a node is its whole name, so this is a file.
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
    """Build the card of machines that were not compared.

    It has a line for every group with too few machines, e.g. ``Dell Inc. R640:
    r1, r2``.

    :returns: None if all machines were compared.
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
