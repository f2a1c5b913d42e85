# SPDX-License-Identifier: Apache-2.0

"""The API of kept inventories, their differences, and the places of parts.

/v1/nodes/<ident>/inventory/history and /v1/inspection_parts.
"""

from collections.abc import Collection, Mapping
import datetime
from typing import Any

from ironic import api
from ironic import objects
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules import policies
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import view
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import part_difference
from ironic_inspection_rules.machine import part_identity
from ironic_inspection_rules.runs import history

Answer = dict[str, Any]

_MOST_STAYS = 1000
"""Stays of a part that are looked at, the newest ones."""


def time(name: str, value: str) -> datetime.datetime:
    """Read a time of a request, to UTC."""
    try:
        return timeutils.normalize_time(timeutils.parse_isotime(value))
    except (ValueError, OverflowError) as exc:
        raise exceptions.Invalid(
            _('"%(name)s" must be a time as of ISO 8601, not "%(value)s"')
            % {'name': name, 'value': value}
        ) from exc


_UUID = request.uuid_of(_('a kept inventory'))

LIST = {'limit': request.integer, 'marker': request.marker, 'since': time}
DIFF = {'from': _UUID, 'to': _UUID}
FIND_PART = {'id': args.string}


def get_all(node: Any, query: Answer) -> Answer:
    """Return a page of the kept inventories of a node, the newest first."""
    limit = api_utils.validate_limit(query['limit'])
    before = None
    if query['marker']:
        marker = db_history.get_inventory(node.uuid, query['marker'])
        before = marker.id
    rows = db_history.list_inventories(
        node.uuid, limit + 1, before, query['since']
    )
    return view.page(
        f'nodes/{node.uuid}/inventory/history',
        rows,
        limit,
        _represent,
        name='inventories',
    )


def _represent(row: Any) -> Answer:
    return {
        'uuid': row.uuid,
        'created_at': view.time(row.created_at),
        'interface': row.interface,
        # An inventory is kept under the UUID of its run.
        'run': row.uuid,
        'changed': row.changed,
    }


def get_one(node: Any, uuid: str) -> Answer:
    """Show the inventory and the plugin data of one inspection."""
    uuid = _UUID('uuid', uuid)
    document = history.read(db_history.get_inventory(node.uuid, uuid))
    if not document:
        raise exceptions.KeptInventoryNotFound(uuid)
    return {name: document[name] for name in ('inventory', 'plugin_data')}


def _find_pair(
    node_uuid: str, from_: str | None, to: str | None
) -> tuple[Any, Any]:
    """Return the two inventories to compare, that of ``from_`` first.

    :param from_: UUID of the first inventory; None for the inventory before
        the second.
    :param to: UUID of the second inventory; None for the newest or, if
        ``from_`` is None too, for the newest that differs from the inventory
        before it, if there is any.
    :returns: rows of :class:`.models.KeptInventoryRow`; None for an inventory
        without a UUID that is not kept.
    :raises: NotFound if the node has no inventory of a UUID.
    """
    if to is not None:
        after = db_history.get_inventory(node_uuid, to)
    else:
        newest = []
        if from_ is None:
            newest = db_history.list_inventories(node_uuid, 1, changed=True)
        if not newest:
            newest = db_history.list_inventories(node_uuid, 1)
        after = next(iter(newest), None)
    before: Any = None
    if from_ is not None:
        before = db_history.get_inventory(node_uuid, from_)
    elif after is not None:
        earlier = db_history.list_inventories(node_uuid, 1, before=after.id)
        before = next(iter(earlier), None)
    return before, after


def diff(node: Any, query: Answer) -> Answer:
    """Return how the parts of a node differ between two of its inventories.

    ``from`` alone is compared with the newest inventory, ``to`` alone with
    the one before it. Without both, it is the newest difference.

    :raises: NotFound if there are no two inventories, or none of a UUID.
    """
    before, after = _find_pair(node.uuid, query['from'], query['to'])
    if before is None or after is None:
        message = (
            _('There are no two inventories of node %s to compare') % node.uuid
        )
        if not CONF.inspection_rules.keep_history:
            message += _('; [inspection_rules]keep_history is 0')
        raise exceptions.NotFound(message)
    # Read it once more with all columns, which rows of a list do not have.
    after = db_history.get_inventory(node.uuid, after.uuid)
    changes = part_difference.between(
        history.read_parts(before), history.reported_parts(after)
    )
    return {
        'from': before.uuid,
        'to': after.uuid,
        'parts': [change.as_dict() for change in changes],
    }


def find_part(query: Answer) -> Answer:
    """Return in which nodes a part has been, and when.

    Nodes that the caller may not see are left out.

    :param query: ``id`` is the serial number, WWN or MAC address.
    """
    identity = query['id']
    if not identity or not identity.strip():
        raise exceptions.Invalid(
            _('"id" is needed: a serial number, WWN or MAC address')
        )
    stays = db_history.list_stays(
        part_identity.normalise(identity), _MOST_STAYS
    )
    visible = find_readable({stay['node_uuid'] for stay in stays})
    return {
        'parts': [
            _represent_stay(stay)
            for stay in stays
            if stay['node_uuid'] in visible
        ]
    }


def _represent_stay(stay: Mapping[str, Any]) -> Answer:
    """Return the time that a part was in a node, as clients see it."""
    return {
        'id': stay['label'],
        'kind': stay['kind'],
        'node': stay['node_uuid'],
        'from': view.time(stay['began_at']),
        'to': view.time(stay['ended_at']),
    }


def find_readable(
    uuids: Collection[str],
    filters: Mapping[str, Any] | None = None,
    policy: str = policies.HISTORY_GET,
) -> set[str]:
    """Return the UUIDs of the nodes whose history the caller may read.

    :param uuids: the UUIDs of the nodes to check.
    :param filters: filters of Ironic's list of nodes that they must pass.
    :param policy: the policy that the caller must pass for a node.
    """
    if not uuids:
        return set()
    nodes = objects.Node.list(
        api.request.context,
        fields=['uuid', 'owner', 'lessee'],
        filters={
            # Otherwise, the list has no nodes that are parts of others.
            'include_children': True,
            **(filters or {}),
            'uuid_in': sorted(uuids),
        },
    )
    allowed = set()
    for node in nodes:
        try:
            api_utils.check_owner_policy(
                'node', policy, node.owner, node.lessee
            )
        except ironic_exception.HTTPForbidden:
            continue
        allowed.add(node.uuid)
    return allowed
