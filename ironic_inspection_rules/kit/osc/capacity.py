# SPDX-License-Identifier: Apache-2.0

"""Implement ``--flavors``, which counts the nodes that fit each flavor."""

import collections
from collections.abc import Iterator, Mapping, Sequence
import math
from typing import Any, TextIO

from keystoneauth1 import exceptions as auth_exceptions
from openstack import exceptions as sdk_exceptions
from openstack.compute.v2 import flavor as compute_flavor
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial.fleet import capacity
from ironic_inspection_rules.kit.trial.fleet import flavor
from ironic_inspection_rules.rule_file import document

_MAX_NAMES = 5
_SIZES = ('vcpus', 'ram', 'disk')

JsonObject = Mapping[str, Any]


def add_argument(parser: Any) -> None:
    """Add ``--flavors``, which takes a file of flavors or ``nova``."""
    parser.add_argument(
        '--flavors',
        metavar='<file>',
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
    """Read the flavors of a file, or the flavors of Nova for bare metal.

    :param command: the command, with its connection to the cloud.
    :param source: the name of a file, or ``nova``.
    :raises: CommandError if the file is malformed, if Nova does not answer, or
        if there are no flavors.
    """
    flavors = []
    if source == 'nova':
        for nova_flavor in _list_nova_flavors(command):
            if flavor.asks_for_bare_metal(nova_flavor.extra_specs):
                flavors.append(_flavor_from_nova(nova_flavor))
    else:
        for number, entry in enumerate(document.load_list(source).entries, 1):
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
    """Convert a flavor of the compute service.

    The disk of the node must hold the root disk, the ephemeral disk and the
    swap.
    """
    # Swap is in MiB, the others are in GiB.
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
    """Convert an entry of a file to a flavor; missing sizes are 0.

    :param path: the path of the file, for the message.
    :param number: the number of the flavor in the file, starting at 1, for the
        message.
    :param entry: an entry of any type. A flavor is e.g. ``{"name": "big",
        "extra_specs": {"resources:CUSTOM_BIG": "1"}, "ram": 65536}``.
    :raises: CommandError if the entry is malformed.
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
    # The keys of a file may be of any type, e.g. numbers in YAML.
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
        # This is the first microversion that lists extra specs.
        return list(compute_flavor.Flavor.list(compute, microversion='2.61'))
    except (
        sdk_exceptions.SDKException,
        auth_exceptions.ClientException,
    ) as exc:
        # Use only the message of Nova, because str() starts with the class,
        # the status and the URL.
        reason = getattr(exc, 'details', None) or exc
        raise osc_exceptions.CommandError(
            _(
                'The flavors of the compute service cannot be read (%s); give '
                'a file of flavors instead of "nova"'
            )
            % reason
        ) from exc


def refuse_loss(counts: Sequence[JsonObject], max_percent: float) -> None:
    """Refuse a change of rules if a flavor would lose too many nodes.

    :param counts: the list of :meth:`.capacity.Capacity.as_list`, with names
        of rules instead of UUIDs.
    :param max_percent: how many percent of its nodes a flavor may lose.
    :raises: CommandError that names every flavor that would lose more, and the
        rules that cause the loss.
    """
    lines_about_flavors = []
    for flavor_counts in counts:
        if flavor_counts['loss'] <= max_percent:
            continue
        # For example, {'free': 3, 'in_use': 7}.
        nodes_before = flavor_counts['before']
        # The counts already have the names of rules.
        no_names: dict[str, str] = {}
        causes = '; '.join(_cause_lines(flavor_counts['lost'], no_names))
        lines_about_flavors.append(
            _('%(flavor)s: %(percent).1f %% of %(nodes)d; %(why)s')
            % {
                'flavor': flavor_counts['name'],
                'percent': flavor_counts['loss'],
                'nodes': sum(nodes_before.values()),
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


def report_lines(
    counts: Sequence[JsonObject], names: Mapping[str, str], output: TextIO
) -> Iterator[str]:
    """Yield the report of ``--flavors``: a table and remarks about flavors.

    The table has the number of nodes that fit every flavor before and after,
    and the rules that lose nodes. The remarks are about flavors that no node
    can take, and about extra specs that were ignored.

    :param counts: the list of :meth:`.capacity.Capacity.as_list`.
    :param names: the names of rules by UUID; empty if ``counts`` has names
        instead of UUIDs.
    :param output: the stream for the table, which decides its width.
    """
    rows = []
    for flavor_counts in counts:
        rows.append(
            [
                flavor_counts['name'],
                _before_and_after(flavor_counts, capacity.FREE),
                _before_and_after(flavor_counts, capacity.IN_USE),
                '\n'.join(_cause_lines(flavor_counts['lost'], names)),
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
    """Return how many nodes fit a flavor, e.g. "4" or, if it changes, "4 → 3".

    :param use: ``free`` or ``in_use``.
    """
    before = flavor_counts['before'][use]
    after = flavor_counts['after'][use]
    if before == after:
        return str(before)
    return f'{before} → {after}'


def _cause_lines(
    lost: Sequence[JsonObject], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield one line per set of rules by which a flavor loses nodes.

    An example is ``2 by Note vendors: rack1-07, rack1-08``. The line with the
    most nodes comes first.

    :param lost: nodes with ``name``, ``uuid``, and ``rules``, the UUIDs of the
        rules because of which the node no longer fits the flavor.
    :param names: the names of rules by UUID.
    """
    # Names of nodes by the names of rules, e.g. 'Note vendors, Tag GPUs'.
    nodes_by_rules = collections.defaultdict(list)
    for node in lost:
        rules = ', '.join(names.get(uuid) or uuid for uuid in node['rules'])
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
    """Join the first names with commas, e.g. ``a, b and 3 more``."""
    text = ', '.join(names[:max_names])
    left_out = len(names) - max_names
    if left_out > 0:
        text += _(' and %d more') % left_out
    return text
