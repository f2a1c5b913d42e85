# SPDX-License-Identifier: Apache-2.0

"""Commands for the inventories that Ironic keeps of earlier inspections.

They are ``node inventory history list``, ``show`` and ``diff``, and
``inspection part find``. A part of a machine is e.g. a disk or a DIMM. The
command ``diff`` says which parts have changed between two inventories, and
``part find`` lists the nodes that a part has been in.
"""

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
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.client import inventory_history
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.kit.osc import parallel

_COLUMNS = ('uuid', 'created_at', 'interface', 'run', 'changed')
_PARTS = ('id', 'kind', 'node', 'from', 'to')
_CHANGES = ('node', 'kind', 'what', 'id', 'slot', 'before', 'after')
_UNITS = {'h': 'hours', 'd': 'days', 'w': 'weeks'}
"""The units of an age such as ``30d``, as arguments of ``timedelta``."""

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
        """List the kept inventories of the node, at most ``--limit`` of them.

        :returns: the titles of the columns, and one row per inventory.
        """
        inventories = inventory_history.inventories(
            self.baremetal,
            parsed_args.node,
            limit=parsed_args.limit,
            since=parse_since(parsed_args.since),
        )
        rows = []
        # For Ironic the limit is only the size of a page, and further pages
        # follow. Therefore the number of rows is limited here.
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
        """Print an inventory with the plugin data.

        :raises: CommandError if no UUID is given, and no inventory is kept.
        """
        baremetal = self.baremetal
        node = parsed_args.node
        uuid = parsed_args.inventory
        if uuid is None:
            # The first inventory of the list is the newest.
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
        """Compare two inventories of one node, or of each of many nodes.

        * With the name of one node and without ``--since``, the inventories of
          ``--from`` and ``--to`` are compared. By default these are the last
          two inventories that differ.
        * Otherwise all selected nodes are compared, with ``--since`` or their
          last two inventories that differ. The command does not fail because
          of a node that cannot be compared.

        :returns: the titles of the columns, and one row per changed part.
        :raises: CommandError if ``--from`` or ``--to`` is given for many nodes
            or with ``--since``.
        """
        selection = node_selection.NodeSelection.parse(parsed_args.nodes)
        baremetal = self.baremetal
        is_for_one_node = len(selection.names) == 1 and not parsed_args.since
        names_inventories = parsed_args.from_ or parsed_args.to
        if names_inventories and not is_for_one_node:
            raise osc_exceptions.CommandError(
                _('--from and --to are for one node, without --since')
            )
        with parallel.interruptible(self.app.stderr, _('Interrupted')):
            if is_for_one_node:
                (node,) = selection.names
                difference = inventory_history.diff(
                    baremetal, node, from_=parsed_args.from_, to=parsed_args.to
                )
                rows = list(_change_rows(node, difference))
            else:
                start = parse_since(parsed_args.since)
                rows = self._compare_nodes(selection, start, parsed_args.jobs)
        return _CHANGES, rows

    def _compare_nodes(
        self,
        selection: node_selection.NodeSelection,
        start: str | None,
        jobs: int,
    ) -> list[tuple[Any, ...]]:
        """Compare two inventories of every selected node.

        If some nodes cannot be compared, their number is printed on standard
        error, with the reason for one of them.

        :param start: the time since when changes are listed, in ISO 8601
            format; None to compare the last two inventories that differ.
        :param jobs: the number of nodes that are read in parallel.
        :returns: one row per part that has changed.
        :raises: NotFoundException of openstacksdk if Ironic has no plugin.
        """
        baremetal = self.baremetal
        nodes = selection.read_matching_nodes(baremetal)
        compare = functools.partial(_compare_since, baremetal, start)
        rows: list[tuple[Any, ...]] = []
        # Why a node was not compared, by the name of the node.
        reasons: dict[str, str] = {}
        with parallel.RequestThreads(jobs) as threads:
            results = threads.map(compare, nodes, _('Comparing'))
            for node, result in zip(nodes, results, strict=True):
                name = node['name'] or node['uuid']
                if isinstance(result, sdk_exceptions.NotFoundException):
                    is_first = not reasons
                    if is_first and not inspection_rule.has_plugin(baremetal):
                        # No node can be compared. The base class of all
                        # commands reports what is missing.
                        raise result
                    reasons[name] = result.details or str(result)
                else:
                    rows += _change_rows(name, result)
        if reasons:
            # The reason is usually the same for all of them.
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
        """List the nodes that have contained the part.

        :returns: the titles of the columns, and one row per stay in a node.
        """
        # A stay is e.g. {'id': 'PHAB0001', 'node': 'rack1-07', 'from': …,
        # 'to': …}, with the times of the first and last inspection that found
        # the part in the node.
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
    """Convert the value of ``--since`` to a time in the form of the API.

    :param text: a time, e.g. ``2026-01-31``, which is in UTC if it has no
        zone; or an age, e.g. ``12h``, ``30d`` or ``2w``; or None.
    :returns: the time in ISO 8601 format, in UTC and without a zone, e.g.
        ``2026-01-31T00:00:00``; None if the option is not given.
    :raises: CommandError if the text is neither a time nor an age.
    """
    if text is None:
        return None
    age = re.fullmatch('(?P<number>[0-9]{1,4})(?P<unit>[hdw])', text)
    if age:
        # For "30d" this is timedelta(days=30).
        unit = _UNITS[age['unit']]
        duration = datetime.timedelta(**{unit: int(age['number'])})
        start = timeutils.utcnow() - duration
        return str(start.isoformat())
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
    """Compare the newest inventory of a node with an earlier one.

    With a time, the earlier inventory is the last one before the time, because
    it shows the machine as it was then. If none is kept, it is the first one
    after the time. Without a time, Ironic chooses the last two inventories
    that differ.

    :param start: the time in ISO 8601 format, or None.
    :param node: the node, with ``uuid``.
    :returns: the answer of the API, e.g. ``{'parts': [...]}``, with no parts
        if there was no inspection since the time. If the API does not find the
        node, or the inventories to compare, its error is returned. It is not
        raised, because the other nodes can still be compared.
    """
    uuid_of_node = node['uuid']
    try:
        if start is None:
            return inventory_history.diff(baremetal, uuid_of_node)
        inventories_since = list(
            inventory_history.inventories(baremetal, uuid_of_node, since=start)
        )
        if not inventories_since:
            return {'parts': []}
        # The newest inventory comes first.
        newest_uuid = inventories_since[0]['uuid']
        earlier_uuid = inventories_since[-1]['uuid']
        # Read the next older inventory, which is the last one before the time.
        older_inventories = inventory_history.inventories(
            baremetal, uuid_of_node, marker=earlier_uuid, limit=1
        )
        last_before = next(older_inventories, None)
        if last_before is not None:
            earlier_uuid = last_before['uuid']
        return inventory_history.diff(
            baremetal, uuid_of_node, from_=earlier_uuid, to=newest_uuid
        )
    except sdk_exceptions.NotFoundException as exc:
        return exc


def _change_rows(
    node: str, difference: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield one row per part of a node that has changed.

    :param node: the name of the node.
    :param difference: the answer of the API, with ``parts``.
    """
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

    :param part: the attributes by name. It is None if the machine did not have
        the part, and the text is then empty.
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
