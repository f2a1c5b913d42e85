# SPDX-License-Identifier: Apache-2.0

"""Select nodes by the names, UUIDs and filters of a command line.

The words ``rack1-07 rack1-08`` select two nodes by name. The words
``driver=ipmi owner=me`` are filters, as in ``GET
/v1/nodes?driver=ipmi&owner=me``, and select the nodes that match all of them.
A command line without words selects all nodes.
"""

from collections.abc import Iterator, Sequence
import dataclasses
import itertools
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import node

HELP = _(
    'Filter of nodes as GET /v1/nodes takes it, such as '
    'resource_class=baremetal or traits=CUSTOM_A,CUSTOM_B, or name or '
    'UUID of a node; all nodes if none is given'
)

FILTERS = (
    'associated',
    'chassis_uuid',
    'conductor',
    'conductor_group',
    'description_contains',
    'driver',
    'fault',
    'include_children',
    'instance_name',
    'instance_uuid',
    'lessee',
    'maintenance',
    'not-traits',
    'not-traits-any',
    'owner',
    'parent_node',
    'project',
    'provision_state',
    'resource_class',
    'retired',
    'shard',
    'sharded',
    'traits',
    'traits-any',
)
"""Known filters, for suggestions; Ironic may have other filters."""

_NAMES = ('name', 'uuid', 'id', 'node')
"""Words that users mistake for filters when they name a node."""

_NO_FILTERS = ('detail', 'fields', 'limit', 'marker', 'sort_dir', 'sort_key')
"""Parameters of ``GET /v1/nodes`` that are not filters."""


def add_argument(
    parser: Any, name: str, help_text: str = '%s', **more: Any
) -> None:
    """Add an argument that selects nodes.

    :param help_text: the help text; ``%s`` stands for :data:`HELP`.
    """
    parser.add_argument(
        name, metavar='<filter>', nargs='*', help=help_text % HELP, **more
    )


@dataclasses.dataclass(frozen=True)
class NodeSelection:
    """The nodes of a command, selected by filters or by names.

    All nodes are selected if there are neither filters nor names.

    :ivar filters: filters of ``GET /v1/nodes``, with their values.
    :ivar names: names and UUIDs of nodes. If there are any, there are no
        filters.
    """

    filters: dict[str, str]
    names: tuple[str, ...] = ()

    @classmethod
    def parse(cls, words: Sequence[str]) -> 'NodeSelection':
        """Build a selection from the words of a command line.

        A word with ``=`` is a filter: ``owner=me`` becomes ``{'owner':
        'me'}``. Any other word is the name or the UUID of a node. Unknown
        filters are accepted here, because only Ironic knows all filters.

        :raises: CommandError if there are both filters and names, if a filter
            is given twice, or if a word such as ``limit=5`` sets a parameter
            of the request that is not a filter.
        """
        filters: dict[str, str] = {}
        names = []
        for word in words:
            name_of_filter, equals, value = word.partition('=')
            if not equals:
                names.append(word)
                continue
            if not name_of_filter or name_of_filter in _NO_FILTERS:
                raise osc_exceptions.CommandError(
                    _('"%s" is no filter of nodes') % word
                )
            if name_of_filter in filters:
                raise osc_exceptions.CommandError(
                    _(
                        'The filter %s is there twice; several values have '
                        'commas between them'
                    )
                    % name_of_filter
                )
            filters[name_of_filter] = value
        if filters and names:
            raise osc_exceptions.CommandError(
                _(
                    'Give filters or names of nodes, not both: "%s" is no '
                    'filter, which has the form <name>=<value>'
                )
                % names[0]
            )
        # A node that is named twice is only selected once.
        distinct_names = tuple(dict.fromkeys(names))
        return cls(filters, distinct_names)

    def read_nodes(
        self, baremetal: Any, *fields: str
    ) -> Iterator[dict[str, Any]]:
        """Read the selected nodes from Ironic, and yield them one by one.

        Named nodes are read with one request per node. Without names, a list
        of the nodes that match the filters is read.

        :param fields: the names of the fields to read in addition to ``uuid``
            and ``name``.
        :raises: CommandError for an unknown filter, with a suggestion.
        """
        names_of_fields = ('uuid', 'name', *fields)
        if self.names:
            for name in self.names:
                yield node.node(baremetal, name, names_of_fields)
            return
        # Ironic refuses an unknown filter, but does not suggest another one.
        try:
            yield from node.nodes(baremetal, self.filters, names_of_fields)
        except sdk_exceptions.BadRequestException as exc:
            self._raise_if_unknown_filter(exc)
            raise

    def read_matching_nodes(
        self, baremetal: Any, *fields: str, max_count: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the selected nodes, and refuse filters that match no node.

        Such filters are probably a mistake. Without filters, the list may be
        empty, because Ironic may have no nodes.

        :param fields: the names of the fields to read in addition to ``uuid``
            and ``name``.
        :param max_count: the maximum number of nodes to read; None for all.
        :raises: CommandError if there are filters and no node matches.
        """
        all_nodes = self.read_nodes(baremetal, *fields)
        nodes = list(itertools.islice(all_nodes, max_count))
        if self.filters and not nodes:
            # Format the filters as on the command line, e.g. "driver=ipmi
            # owner=me".
            words = [f'{name}={value}' for name, value in self.filters.items()]
            raise osc_exceptions.CommandError(
                _('No node matches %s') % ' '.join(words)
            )
        return nodes

    def _raise_if_unknown_filter(self, refusal: Exception) -> None:
        """Raise an error with a suggestion if the user gave unknown filters.

        For ``name=rack1-07`` the suggestion is to write ``rack1-07``. For
        other filters it is a known filter with a similar name. If all filters
        are known, nothing is raised.

        :param refusal: Ironic's refusal of the request, which becomes the
            cause of the error.
        :raises: CommandError if a filter is not in :data:`FILTERS`.
        """
        unknown = [name for name in self.filters if name not in FILTERS]
        if not unknown:
            # Ironic has refused the request for another reason.
            return
        first_unknown = unknown[0]
        if first_unknown in _NAMES:
            message = _(
                '"%(name)s" is no filter of nodes; name a node without '
                'it: %(value)s'
            ) % {'name': first_unknown, 'value': self.filters[first_unknown]}
        else:
            message = suggestion.all_unknown_message(
                _('filter of nodes'), unknown, FILTERS
            )
        raise osc_exceptions.CommandError(message) from refusal
