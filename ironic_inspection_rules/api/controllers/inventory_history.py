# SPDX-License-Identifier: Apache-2.0

"""The API of kept inventories, their differences, and the places of parts.

``/v1/nodes/<ident>/inventory/history`` shows the inventories of the past
inspections of a node. A *part* is a piece of hardware with a serial number,
e.g. a disk; ``/v1/inspection_parts`` shows in which nodes it was. A *stay* is
the time that a part was in a node.
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
"""Maximum number of stays of a part that are looked at, newest first."""


def convert_time(name: str, value: str) -> datetime.datetime:
    """Read a time of a request, and convert it to UTC without a zone.

    For example, ``2026-05-17T12:00:00+02:00`` becomes 10:00 of that day.

    :param name: the name of the parameter, for the message.
    """
    try:
        return timeutils.normalize_time(timeutils.parse_isotime(value))
    except (ValueError, OverflowError) as exc:
        raise exceptions.Invalid(
            _('"%(name)s" must be a time as of ISO 8601, not "%(value)s"')
            % {'name': name, 'value': value}
        ) from exc


_convert_uuid = request.make_uuid_converter(_('a kept inventory'))

LIST = {
    'limit': request.convert_integer,
    'marker': request.convert_marker,
    'since': convert_time,
}
DIFF = {'from': _convert_uuid, 'to': _convert_uuid}
FIND_PART = {'id': args.string}


def get_all(node: Any, query: Answer) -> Answer:
    """Return a page of the kept inventories of a node, the newest first.

    :param query: ``limit``; ``marker``, the UUID of the last inventory of the
        previous page; and ``since``, the time of the oldest inventory to list.
        A missing parameter is None.
    """
    limit = api_utils.validate_limit(query['limit'])
    before_id = None
    if query['marker']:
        marker_row = db_history.get_inventory(node.uuid, query['marker'])
        # Ids of rows increase, so older inventories have lower ids.
        before_id = marker_row.id
    # One more row than the page has shows whether another page follows.
    rows = db_history.list_inventories(
        node.uuid, limit + 1, before_id, query['since']
    )
    return view.build_page(
        f'nodes/{node.uuid}/inventory/history',
        rows,
        limit,
        _represent,
        name='inventories',
    )


def _represent(row: Any) -> Answer:
    return {
        'uuid': row.uuid,
        'created_at': view.format_time(row.created_at),
        'interface': row.interface,
        # An inventory is kept under the UUID of its run.
        'run': row.uuid,
        'changed': row.changed,
    }


def get_one(node: Any, uuid: str) -> Answer:
    """Show the inventory and the plugin data of one inspection."""
    uuid = _convert_uuid('uuid', uuid)
    document = history.read(db_history.get_inventory(node.uuid, uuid))
    if not document:
        raise exceptions.KeptInventoryNotFound(uuid)
    return {name: document[name] for name in ('inventory', 'plugin_data')}


def _find_pair(
    node_uuid: str, from_uuid: str | None, to_uuid: str | None
) -> tuple[Any, Any]:
    """Return the two inventories of a node to compare, the earlier one first.

    Without both UUIDs, the later inventory is the newest one that differs from
    the one before it. If none differs, it is the newest one.

    :param from_uuid: UUID of the earlier inventory; None for the inventory
        just before the later one.
    :param to_uuid: UUID of the later inventory; None for the newest.
    :returns: rows of :class:`.models.KeptInventoryRow`; None instead of a row
        if no such inventory is kept.
    :raises: NotFound if the node has no inventory with one of the UUIDs.
    """
    later = _find_later(node_uuid, from_uuid, to_uuid)
    if from_uuid is not None:
        return db_history.get_inventory(node_uuid, from_uuid), later
    if later is None:
        return None, None
    earlier = _find_newest(node_uuid, before=later.id)
    return earlier, later


def _find_later(
    node_uuid: str, from_uuid: str | None, to_uuid: str | None
) -> Any:
    """Return the later inventory of :func:`_find_pair`, or None."""
    if to_uuid is not None:
        return db_history.get_inventory(node_uuid, to_uuid)
    if from_uuid is None:
        newest_that_differs = _find_newest(node_uuid, changed=True)
        if newest_that_differs is not None:
            return newest_that_differs
    return _find_newest(node_uuid)


def _find_newest(node_uuid: str, **filters: Any) -> Any:
    """Return the newest inventory of a node that passes filters, or None.

    :param filters: parameters of :func:`.history.list_inventories`.
    """
    rows = db_history.list_inventories(node_uuid, 1, **filters)
    return next(iter(rows), None)


def diff(node: Any, query: Answer) -> Answer:
    """Return how the parts of a node differ between two of its inventories.

    Parts are e.g. its disks and memory modules. The inventories are selected
    in this way:

    * With ``from`` and ``to``, these two are compared.
    * With ``from`` alone, it is compared with the newest one.
    * With ``to`` alone, it is compared with the one before it.
    * Without both, the newest inventory that differs from the one before it is
      compared with the one before it.

    :param query: ``from`` and ``to``, the UUIDs of inventories.
    :raises: NotFound if there are no two inventories, or if there is none with
        one of the UUIDs.
    """
    earlier, later = _find_pair(node.uuid, query['from'], query['to'])
    if earlier is None or later is None:
        message = (
            _('There are no two inventories of node %s to compare') % node.uuid
        )
        if not CONF.inspection_rules.keep_history:
            message += _('; [inspection_rules]keep_history is 0')
        raise exceptions.NotFound(message)
    # Read the row again, because rows of a list do not have all columns.
    later = db_history.get_inventory(node.uuid, later.uuid)
    changes = part_difference.between(
        history.read_parts(earlier), history.reported_parts(later)
    )
    return {
        'from': earlier.uuid,
        'to': later.uuid,
        'parts': [change.as_dict() for change in changes],
    }


def find_part(query: Answer) -> Answer:
    """Return in which nodes a part has been, and when.

    For example, ``{'parts': [{'id': 'S3Z8NB0K', 'kind': 'disk', 'node': UUID,
    'from': TIME, 'to': None}]}``. Of the newest 1000 stays of the part, those
    in nodes that the caller may not see are left out.

    :param query: ``id`` is the serial number, WWN or MAC address of the part.
    """
    identity = query['id']
    if not identity or not identity.strip():
        raise exceptions.Invalid(
            _('"id" is needed: a serial number, WWN or MAC address')
        )
    stays = db_history.list_stays(
        part_identity.normalise(identity), _MOST_STAYS
    )
    readable_uuids = find_readable({stay['node_uuid'] for stay in stays})
    return {
        'parts': [
            _represent_stay(stay)
            for stay in stays
            if stay['node_uuid'] in readable_uuids
        ]
    }


def _represent_stay(stay: Mapping[str, Any]) -> Answer:
    """Return the stay of a part in a node as clients see it.

    ``to`` is null while the part is still there.
    """
    return {
        'id': stay['label'],
        'kind': stay['kind'],
        'node': stay['node_uuid'],
        'from': view.format_time(stay['began_at']),
        'to': view.format_time(stay['ended_at']),
    }


def find_readable(
    uuids: Collection[str],
    filters: Mapping[str, Any] | None = None,
    policy: str = policies.HISTORY_GET,
) -> set[str]:
    """Return the UUIDs of the nodes whose history the caller may read.

    :param uuids: the UUIDs of the nodes to check.
    :param filters: filters of Ironic's list of nodes, e.g. ``{'project': …}``;
        a node that does not pass them is left out.
    :param policy: the policy that the caller must pass for a node.
    """
    if not uuids:
        return set()
    nodes = objects.Node.list(
        api.request.context,
        fields=['uuid', 'owner', 'lessee'],
        filters={
            # Without this, Ironic leaves out nodes with a parent, e.g. a DPU
            # in a server.
            'include_children': True,
            **(filters or {}),
            'uuid_in': sorted(uuids),
        },
    )
    readable_uuids = set()
    for node in nodes:
        try:
            api_utils.check_owner_policy(
                'node', policy, node.owner, node.lessee
            )
        except ironic_exception.HTTPForbidden:
            continue
        readable_uuids.add(node.uuid)
    return readable_uuids
