# SPDX-License-Identifier: Apache-2.0

"""Implement ``--flavors``, which counts the nodes that fit each flavor.

The nodes are counted before and after a change of rules. The counts of a
flavor are e.g. ``{'name': 'big', 'before': {'free': 3, 'in_use': 7}, 'after':
{'free': 2, 'in_use': 7}, 'loss': 10.0, 'lost': [{'name': 'rack1-07', 'uuid':
…, 'rules': [UUID]}], …}``. They have a loss in percent, and the lost nodes,
with the rules because of which the node no longer fits.
"""

import collections
from collections.abc import Iterator, Mapping, Sequence
import math
from typing import Any, TextIO

from openstack.compute.v2 import flavor as compute_flavor
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.client import http
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial.fleet import capacity
from ironic_inspection_rules.kit.trial.fleet import flavor
from ironic_inspection_rules.rule_file import document

_MAX_NAMES = 5
"""Maximum number of lost nodes that are named. Further nodes are counted."""

_SIZES = ('vcpus', 'ram', 'disk')

JsonObject = Mapping[str, Any]


def add_argument(parser: Any) -> None:
    """Add ``--flavors``, which takes a file of flavors or ``nova``."""
    parser.add_argument(
        '--flavors',
        metavar='<file>',
        type=arguments.check_path,
        help=_(
            'Show how many nodes can take each flavor, now and '
            'afterwards, and which rules lose nodes. A YAML or JSON file '
            'with a list of flavors, each with "name" and "extra_specs", '
            'or "nova" for the flavors of the compute service that ask '
            'for bare metal'
        ),
    )


def add_limit(parser: Any) -> None:
    """Add ``--max-capacity-loss``, which refuses larger losses."""
    parser.add_argument(
        '--max-capacity-loss',
        metavar='<percent>',
        type=arguments.parse_percent,
        help=_(
            'With --flavors, change nothing if a flavor would lose more '
            'than this percentage of the nodes, free and in use, that '
            'can take it'
        ),
    )


def load_flavors(command: Any, source: str) -> list[flavor.Flavor]:
    """Read the flavors of ``--flavors``.

    :param command: the command, with its connection to the cloud.
    :param source: the path of a file with flavors; or ``nova`` for the flavors
        of Nova that request bare metal.
    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read or
        is not a list.
    :raises: CommandError if an item of the file is not a valid flavor, if Nova
        does not answer, or if there are no flavors.
    """
    flavors = []
    if source == 'nova':
        for nova_flavor in _list_nova_flavors(command):
            if flavor.asks_for_bare_metal(nova_flavor.extra_specs):
                flavors.append(_flavor_from_nova(nova_flavor))
    else:
        entries = document.load_list(source).entries
        # Messages count the flavors of a file from 1.
        for number, entry in enumerate(entries, start=1):
            flavors.append(_flavor_from_file(source, number, entry))
    if not flavors:
        raise osc_exceptions.CommandError(
            _(
                '%s has no flavor that you may see and that asks for a custom '
                'resource class (resources:CUSTOM_…)'
            )
            % source
        )
    return flavors


def _flavor_from_nova(nova_flavor: Any) -> flavor.Flavor:
    """Convert a flavor of Nova to the type of this package.

    The size of the disk is the sum of root disk, ephemeral disk and swap,
    because the disk of a node must hold all of them.
    """
    # Nova has swap in MiB, and disks in GiB.
    swap = math.ceil(int(nova_flavor.swap or 0) / 1024)
    disk = nova_flavor.disk + nova_flavor.ephemeral + swap
    return flavor.parse(
        nova_flavor.name,
        nova_flavor.extra_specs,
        nova_flavor.vcpus,
        nova_flavor.ram,
        disk,
    )


def _flavor_from_file(path: str, number: int, entry: Any) -> flavor.Flavor:
    """Convert an item of a file to a flavor.

    A valid item is e.g. ``{"name": "big", "extra_specs":
    {"resources:CUSTOM_BIG": "1"}, "ram": 65536}``. The sizes ``vcpus``,
    ``ram`` and ``disk`` are whole numbers, and 0 if they are missing.

    :param path: the path of the file, for error messages.
    :param number: the number of the item in the file, for error messages.
    :param entry: the item, which may be of any type.
    :raises: CommandError if the item is not a valid flavor.
    """
    has_needed_fields = (
        isinstance(entry, Mapping)
        and isinstance(entry.get('name'), str)
        and isinstance(entry.get('extra_specs'), Mapping)
    )
    if not has_needed_fields:
        raise osc_exceptions.CommandError(
            _(
                '%(path)s: flavor %(number)d must be a mapping with '
                '"name", a text, and "extra_specs", a mapping'
            )
            % {'path': path, 'number': number}
        )
    sizes = {name: entry.get(name) or 0 for name in _SIZES}
    if not all(isinstance(size, int) for size in sizes.values()):
        raise osc_exceptions.CommandError(
            _('%(path)s: %(sizes)s of flavor %(number)d must be whole numbers')
            % {'path': path, 'number': number, 'sizes': ', '.join(_SIZES)}
        )
    # In YAML, keys may also be numbers.
    extra_specs = {
        str(key): value for key, value in entry['extra_specs'].items()
    }
    return flavor.parse(entry['name'], extra_specs, **sizes)


def _list_nova_flavors(command: Any) -> list[Any]:
    """List all flavors of the compute service.

    :raises: CommandError if the service does not answer.
    """
    try:
        compute = command.app.client_manager.sdk_connection.compute
        # This is the first microversion with extra specs in the list.
        return list(compute_flavor.Flavor.list(compute, microversion='2.61'))
    except http.REQUEST_ERRORS as exc:
        # Errors of the SDK have Nova's message in "details". Their str()
        # would start with the class, the status and the URL.
        reason = getattr(exc, 'details', None) or exc
        raise osc_exceptions.CommandError(
            _(
                'The flavors of the compute service cannot be read (%s); give '
                'a file of flavors instead of "nova"'
            )
            % reason
        ) from exc


def refuse_loss(counts: Sequence[JsonObject], max_percent: float) -> None:
    """Raise an error if a change of rules would lose too many nodes.

    The error has a line per flavor that would lose more than the limit, e.g.
    ``big: 20.0 % of 10; 2 by Note vendors: rack1-07, rack1-08``.

    :param counts: the counts of all flavors, see :func:`name_rules`.
    :param max_percent: the percentage of its nodes that a flavor may lose.
    :raises: CommandError if a flavor would lose more.
    """
    lines_about_flavors = []
    for flavor_counts in counts:
        if flavor_counts['loss'] <= max_percent:
            continue
        # For example, 10 nodes for {'free': 3, 'in_use': 7}.
        nodes_before = sum(flavor_counts['before'].values())
        causes = '; '.join(_cause_lines(flavor_counts['lost']))
        lines_about_flavors.append(
            _('%(flavor)s: %(percent).1f %% of %(nodes)d; %(why)s')
            % {
                'flavor': flavor_counts['name'],
                'percent': flavor_counts['loss'],
                'nodes': nodes_before,
                'why': causes,
            }
        )
    if not lines_about_flavors:
        return
    first_line = (
        _(
            'Nothing was changed, as more than %g %% of the nodes would be '
            'lost:'
        )
        % max_percent
    )
    raise osc_exceptions.CommandError(
        '\n'.join((first_line, *lines_about_flavors))
    )


def name_rules(
    counts: Sequence[JsonObject], names: Mapping[str, str | None]
) -> list[dict[str, Any]]:
    """Return counts with the names of rules instead of their UUIDs.

    :param counts: the counts of all flavors.
    :param names: the names of rules by UUID. A rule without a name keeps its
        UUID.
    """
    named = []
    for flavor_counts in counts:
        nodes_by_member = {}
        for member in ('lost', 'gained'):
            nodes = []
            for node in flavor_counts[member]:
                rules = [names.get(uuid) or uuid for uuid in node['rules']]
                nodes.append({**node, 'rules': rules})
            nodes_by_member[member] = nodes
        named.append({**flavor_counts, **nodes_by_member})
    return named


def report_lines(
    counts: Sequence[JsonObject], output: TextIO
) -> Iterator[str]:
    """Yield the report of ``--flavors``: a table, and lines below it.

    A row of the table is e.g. ``big | 3 → 2 | 7 | 1 by Note vendors:
    rack1-07``, with the numbers of free nodes and of nodes in use. The lines
    below name the flavors that no node can take, and the extra specs of
    flavors that were ignored.

    :param counts: the counts of all flavors, see :func:`name_rules`.
    :param output: the stream for the report. If it is a terminal, the table is
        fitted to its width.
    """
    rows = []
    for flavor_counts in counts:
        rows.append(
            [
                flavor_counts['name'],
                _before_and_after(flavor_counts, capacity.FREE),
                _before_and_after(flavor_counts, capacity.IN_USE),
                '\n'.join(_cause_lines(flavor_counts['lost'])),
            ]
        )
    yield table.render(
        [_('Flavor'), _('Free'), _('In use'), _('Lost nodes')], rows, output
    )
    for flavor_counts in counts:
        if flavor_counts['problem']:
            yield _('No node can take %(flavor)s: %(problem)s') % {
                'flavor': flavor_counts['name'],
                'problem': flavor_counts['problem'],
            }
        if flavor_counts['ignored']:
            yield _(
                'Not counted of %(flavor)s, as Placement is not asked '
                'for it: %(keys)s'
            ) % {
                'flavor': flavor_counts['name'],
                'keys': ', '.join(flavor_counts['ignored']),
            }


def _before_and_after(flavor_counts: JsonObject, use: str) -> str:
    """Return how many nodes fit a flavor, before and after the change.

    For example, ``4 → 3``, or only ``4`` if the number does not change.

    :param use: ``free`` or ``in_use``; only these nodes are counted.
    """
    before = flavor_counts['before'][use]
    after = flavor_counts['after'][use]
    if before == after:
        return str(before)
    return f'{before} → {after}'


def _cause_lines(lost: Sequence[JsonObject]) -> Iterator[str]:
    """Yield lines that say because of which rules a flavor loses nodes.

    Nodes that are lost because of the same rules share a line, e.g. ``2 by
    Note vendors, Tag GPUs: rack1-07, rack1-08``. The line with the most nodes
    comes first.

    :param lost: the lost nodes, with ``name``, ``uuid`` and the names of
        ``rules``.
    """
    # The names of nodes, by the joined names of rules: {'Note vendors, Tag
    # GPUs': ['rack1-07', 'rack1-08']}.
    nodes_by_rules = collections.defaultdict(list)
    for node in lost:
        rules = ', '.join(node['rules'])
        nodes_by_rules[rules].append(node['name'] or node['uuid'])

    def count_nodes(rules: str) -> int:
        return len(nodes_by_rules[rules])

    for rules in sorted(nodes_by_rules, key=count_nodes, reverse=True):
        nodes = nodes_by_rules[rules]
        yield _P(
            '%(count)d by %(rules)s: %(nodes)s',
            '%(count)d by %(rules)s: %(nodes)s',
            len(nodes),
        ) % {
            'count': len(nodes),
            'rules': rules or _('(unknown)'),
            'nodes': join_first(nodes, _MAX_NAMES),
        }


def join_first(names: Sequence[str], max_names: int) -> str:
    """Join at most so many names with commas, and count the others.

    With ``max_names`` 2, five names become ``a, b and 3 more``.
    """
    text = ', '.join(names[:max_names])
    left_out = len(names) - max_names
    if left_out > 0:
        text += _(' and %d more') % left_out
    return text
