# SPDX-License-Identifier: Apache-2.0

"""Finds records of deleted nodes, and removes them.

The records of a node are normally removed together with it. They remain, for
example, if the node is deleted while this plugin is switched off, or if its
inspection ends after somebody has deleted the node.
"""

from collections.abc import Callable, Collection
import dataclasses

from ironic import objects
from ironic.common import context as ironic_context
from oslo_log import log

LOG = log.getLogger(__name__)

_MOST_CHECKED = 500
"""Maximum number of nodes that one call of :meth:`Records.remove` checks."""


@dataclasses.dataclass
class Records:
    """A kind of records of nodes, e.g. their runs.

    ``list_nodes(after, limit)`` returns the sorted UUIDs of nodes that have
    such records: at most ``limit`` after the UUID ``after``.
    ``remove_of(node_uuids)`` removes the records of nodes. ``last_checked`` is
    the last UUID that the previous call of :meth:`remove` has checked; empty
    to start with the first.
    """

    name: str
    list_nodes: Callable[[str, int], list[str]]
    remove_of: Callable[[Collection[str]], None]
    last_checked: str = ''

    def remove(self) -> None:
        """Remove the records of deleted nodes.

        A call checks 500 nodes that have records, in the order of their UUIDs,
        and the next call checks the nodes that follow. After the last node, it
        begins again with the first one. A record that another transaction has
        locked stays until a later call, although the log already names its
        node.
        """
        # The UUIDs of the nodes that follow the last one that was checked.
        checked = self.list_nodes(self.last_checked, _MOST_CHECKED)
        if len(checked) == _MOST_CHECKED:
            self.last_checked = checked[-1]
        else:
            # These are the last nodes: the next call starts again.
            self.last_checked = ''
        deleted = _find_deleted_nodes(checked)
        if deleted:
            self.remove_of(deleted)
            LOG.info(
                'Removed the %(records)s of %(count)d deleted '
                'nodes: %(nodes)s',
                {
                    'records': self.name,
                    'count': len(deleted),
                    'nodes': ', '.join(sorted(deleted)),
                },
            )


def _find_deleted_nodes(uuids: Collection[str]) -> set[str]:
    """Return the UUIDs for which Ironic has no node, e.g. a deleted one."""
    if not uuids:
        return set()
    nodes = objects.Node.list(
        ironic_context.get_admin_context(),
        fields=['uuid'],
        # Without include_children, Ironic would leave out nodes that have a
        # parent node, and they would seem to be deleted.
        filters={'uuid_in': uuids, 'include_children': True},
    )
    return set(uuids) - {node.uuid for node in nodes}
