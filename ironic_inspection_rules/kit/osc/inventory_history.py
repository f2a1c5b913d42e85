# SPDX-License-Identifier: Apache-2.0

"""Commands for kept inventories of nodes, and for finding parts in them."""

from collections.abc import Iterator
import datetime
import functools
import itertools
import json
import re
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions
from oslo_utils import timeutils

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import inventory_history
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.kit.osc import parallel

_COLUMNS = ('uuid', 'created_at', 'interface', 'run', 'changed')
_PARTS = ('id', 'kind', 'node', 'from', 'to')
_CHANGES = ('node', 'kind', 'what', 'id', 'slot', 'before', 'after')
_UNITS = {'h': 'hours', 'd': 'days', 'w': 'weeks'}

_OPTION = _(
    'Ironic keeps inspections for the days in '
    '[inspection_rules]keep_history, which is 0 by default.'
)


class ListInventories(command.Lister):
    """List what inspections of a node found, newest first."""

    example = 'rack1-07'

    def add_arguments(self, parser):
        command.add_node(parser)
        parser.add_argument(
            '--limit',
            metavar='<limit>',
            type=arguments.parse_positive,
            help=_('Number of inventories to list; all if not given'),
        )
        add_since(parser)

    def take_action(self, parsed_args):
        """Return the columns, and one row per kept inventory of the node.

        There are at most ``--limit`` rows.
        """
        inventories = inventory_history.inventories(
            self.baremetal,
            parsed_args.node,
            limit=parsed_args.limit,
            since=parse_since(parsed_args.since),
        )
        rows = []
        # Ironic treats the limit as the size of a page and returns further
        # pages, so the number is limited here.
        for inventory in itertools.islice(inventories, parsed_args.limit):
            rows.append(tuple(inventory[name] for name in _COLUMNS))
        if not rows:
            self.app.stderr.write(_nothing_kept(parsed_args.node) + '\n')
        return _COLUMNS, rows


class ShowInventory(command.BaremetalCommand):
    """Show what an inspection of a node found, as JSON."""

    example = 'rack1-07'

    def add_arguments(self, parser):
        command.add_node(parser)
        parser.add_argument(
            'inventory',
            metavar='<inventory>',
            nargs='?',
            help=_('UUID of the inventory; the last one if not given'),
        )

    def take_action(self, parsed_args):
        """Print the named inventory, or the last inventory."""
        baremetal = self.baremetal
        node = parsed_args.node
        uuid = parsed_args.inventory
        if uuid is None:
            # Newest first.
            inventories = inventory_history.inventories(
                baremetal, node, limit=1
            )
            last = next(inventories, None)
            if last is None:
                raise osc_exceptions.CommandError(_nothing_kept(node))
            uuid = last['uuid']
        inventory = inventory_history.inventory(baremetal, node, uuid)
        json.dump(inventory, self.app.stdout, indent=2)
        self.app.stdout.write('\n')


class DiffInventories(command.Lister):
    """Show which parts of machines are gone, new, moved or changed.

    Compares the last two inspections of every node that differ or, with
    --since, the last one with the state of the machine at that time. For one
    node, --from and --to name any two.
    """

    example = '--since 30d'

    def add_arguments(self, parser):
        node_selection.add_argument(parser, 'nodes')
        parser.add_argument(
            '--from',
            metavar='<inventory>',
            dest='from_',
            help=_('UUID of the earlier inventory'),
        )
        parser.add_argument(
            '--to',
            metavar='<inventory>',
            help=_('UUID of the later inventory'),
        )
        add_since(parser)
        parallel.add_jobs(parser)

    def take_action(self, parsed_args):
        """Return the columns, and one row per part that differs.

        For one node, two inventories are compared. For many nodes, the changes
        since a time are listed.
        """
        selection = node_selection.NodeSelection.parse(parsed_args.nodes)
        baremetal = self.baremetal
        is_for_one = len(selection.names) == 1 and not parsed_args.since
        names_inventories = parsed_args.from_ or parsed_args.to
        if names_inventories and not is_for_one:
            raise osc_exceptions.CommandError(
                _('--from and --to are for one node, without --since')
            )
        with parallel.interruptible(self.app.stderr, _('Interrupted')):
            if not is_for_one:
                start = parse_since(parsed_args.since)
                rows = self._rows_since(selection, start, parsed_args.jobs)
                return _CHANGES, rows
            (node,) = selection.names
            difference = inventory_history.diff(
                baremetal, node, from_=parsed_args.from_, to=parsed_args.to
            )
            return _CHANGES, list(_change_rows(node, difference))

    def _rows_since(
        self,
        selection: node_selection.NodeSelection,
        start: str | None,
        jobs: int,
    ) -> list[tuple[Any, ...]]:
        """Return one row per part that has changed since a time.

        Nodes that cannot be compared are counted on standard error.

        :param start: the time; None for the last two inventories that differ.
        :param jobs: how many nodes are read in parallel.
        """
        baremetal = self.baremetal
        nodes = selection.read_matching_nodes(baremetal)
        compare = functools.partial(_compare_since, baremetal, start)
        rows: list[tuple[Any, ...]] = []
        # The reasons why nodes were not compared, by the name of the node.
        reasons: dict[str, str] = {}
        with parallel.RequestThreads(jobs) as threads:
            differences = threads.map(compare, nodes, _('Comparing'))
            for node, difference in zip(nodes, differences, strict=True):
                name = node['name'] or node['uuid']
                if isinstance(difference, sdk_exceptions.NotFoundException):
                    reasons[name] = difference.details or str(difference)
                else:
                    rows += _change_rows(name, difference)
        if reasons:
            example, reason = next(iter(reasons.items()))
            self.app.stderr.write(
                _(
                    'Not compared: %(some)d of %(all)d, such as %(name)s: '
                    '%(reason)s\n'
                )
                % {
                    'some': len(reasons),
                    'all': len(nodes),
                    'name': example,
                    'reason': reason,
                }
            )
        return rows


class FindInspectionPart(command.Lister):
    """Find the nodes that a part has been in, the newest first."""

    example = 'PHAB0001'

    def add_arguments(self, parser):
        parser.add_argument(
            'id',
            metavar='<id>',
            help=_('Serial number, WWN or MAC address of the part'),
        )

    def take_action(self, parsed_args):
        """Return the columns, and one row per node that has had the part."""
        # For example, {'id': 'PHAB0001', 'node': 'rack1-07', 'from': …, 'to':
        # …}.
        stays = inventory_history.parts(self.baremetal, parsed_args.id)
        if not stays:
            self.app.stderr.write(
                _('No inspection that is kept has found it. %s\n') % _OPTION
            )
        rows = [tuple(stay[name] for name in _PARTS) for stay in stays]
        return _PARTS, rows


def _nothing_kept(node: str) -> str:
    """Return the message that Ironic has no kept inspection of a node."""
    return _('No such inspection of node %(node)s is kept. %(option)s') % {
        'node': node,
        'option': _OPTION,
    }


def parse_since(text: str | None) -> str | None:
    """Convert a time of a command line to ISO 8601, in UTC without a zone.

    :param text: a time, in UTC if it has no zone; or an age, e.g. ``12h``,
        ``30d``, ``2w``.
    :returns: e.g. ``2026-01-31T00:00:00``; None for None.
    :raises: CommandError if the text is neither a time nor an age.
    """
    if text is None:
        return None
    age = re.fullmatch('(?P<number>[0-9]{1,4})(?P<unit>[hdw])', text)
    if age:
        # For example, timedelta(days=30).
        unit = _UNITS[age['unit']]
        duration = datetime.timedelta(**{unit: int(age['number'])})
        return str((timeutils.utcnow() - duration).isoformat())
    try:
        time = timeutils.normalize_time(timeutils.parse_isotime(text))
        return str(time.isoformat())
    except (ValueError, OverflowError) as exc:
        raise osc_exceptions.CommandError(
            _('"%s" is no time: give one such as 2026-01-31 or 30d') % text
        ) from exc


def _compare_since(
    baremetal: Any, start: str | None, node: dict[str, Any]
) -> dict[str, Any] | sdk_exceptions.NotFoundException:
    """Compare the last inventory of a node with its inventory at a time.

    :param start: the time; None for the last two inventories that differ.
    :returns: the answer of the API, e.g. ``{'parts': [...]}``. There are no
        parts if no inventory since the time is kept. The error of the API is
        returned if the node is gone, if an inventory is no longer kept, or if
        no time is given and fewer than two inventories are kept.
    """
    uuid = node['uuid']
    try:
        if start is None:
            return inventory_history.diff(baremetal, uuid)
        # Newest first.
        inventories_since = list(
            inventory_history.inventories(baremetal, uuid, since=start)
        )
        if not inventories_since:
            return {'parts': []}
        newest_uuid = inventories_since[0]['uuid']
        first_uuid = inventories_since[-1]['uuid']
        # The state of the machine at that time is the result of the last
        # inspection before it. The list continues with older inventories.
        older_inventories = inventory_history.inventories(
            baremetal, uuid, marker=first_uuid, limit=1
        )
        last_before = next(older_inventories, None)
        if last_before is not None:
            first_uuid = last_before['uuid']
        return inventory_history.diff(
            baremetal, uuid, from_=first_uuid, to=newest_uuid
        )
    except sdk_exceptions.NotFoundException as exc:
        # An error of one node must not end the comparison of all nodes.
        return exc


def _change_rows(
    node: str, difference: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield one row per part of a node that has changed."""
    for change in difference['parts']:
        yield (
            node,
            change['kind'],
            change['what'],
            change['id'],
            change['slot'],
            _format_part(change['before']),
            _format_part(change['after']),
        )


def _format_part(part: dict[str, Any] | None) -> str:
    """Format the attributes of a part as text, e.g. ``size 64, speed 3200``.

    :param part: the part; None gives an empty text.
    """
    if part is None:
        return ''
    return ', '.join(
        f'{name} {value}' for name, value in part.items() if value is not None
    )


def add_since(parser: Any) -> None:
    """Add ``--since``, the earliest time."""
    parser.add_argument(
        '--since',
        metavar='<time>',
        help=_('Only what was found since then: a time, or 12h, 30d, 2w'),
    )
