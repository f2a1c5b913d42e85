# SPDX-License-Identifier: Apache-2.0

"""What inspections found over time, and which nodes a part has been in.

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
            % {'name': name, 'value': value}) from exc


_UUID = request.uuid_of(_('a kept inventory'))

LIST = {'limit': request.integer, 'marker': args.uuid, 'since': time}
DIFF = {'from': _UUID, 'to': _UUID}
FIND_PART = {'id': args.string}


def get_all(node: Any, query: Answer) -> Answer:
    """List inventories, newest first."""
    limit = api_utils.validate_limit(query['limit'])
    marker = query['marker']
    found = db_history.list_inventories(
        node.uuid, limit + 1, marker and db_history.get_inventory(
            node.uuid, marker).id, query['since'])
    return view.page(
        f'nodes/{node.uuid}/inventory/history', found, limit,
        name='inventories', shown=lambda row: {
            'uuid': row.uuid, 'created_at': view.time(row.created_at),
            'interface': row.interface, 'run': row.uuid,
            'changed': row.changed})


def get_one(node: Any, uuid: str) -> Answer:
    """Show what one inspection found."""
    uuid = _UUID('uuid', uuid)
    found = history.read(db_history.get_inventory(node.uuid, uuid))
    if not found:
        raise exceptions.KeptInventoryNotFound(uuid)
    return {name: found[name] for name in ('inventory', 'plugin_data')}


def diff(node: Any, query: Answer) -> Answer:
    """Compare two inventories, by default the last two that differ."""
    from_, to = query['from'], query['to']
    if to is not None:
        after: Any = db_history.get_inventory(node.uuid, to)
    else:
        found = (from_ is None and db_history.list_inventories(
            node.uuid, 1, changed=True)) or db_history.list_inventories(
                node.uuid, 1)
        after = found[0] if found else None
    if from_ is not None:
        before: Any = db_history.get_inventory(node.uuid, from_)
    else:
        earlier = after and db_history.list_inventories(
            node.uuid, 1, before=after.id)
        before = earlier[0] if earlier else None
    if before is None or after is None:
        message = _('There are no two inventories of node %s to compare'
                    ) % node.uuid
        if not CONF.inspection_rules.keep_history:
            message += _('; [inspection_rules]keep_history is 0')
        raise exceptions.NotFound(message)
    # Patches are read with one inventory.
    after = db_history.get_inventory(node.uuid, after.uuid)
    changes = part_difference.between(history.read_parts(before),
                                      history.reported_parts(after))
    return {'from': before.uuid, 'to': after.uuid,
            'parts': [change.as_dict() for change in changes]}


def find_part(query: Answer) -> Answer:
    """Find a part by its serial number, WWN or MAC address."""
    identity = query['id']
    if not identity or not identity.strip():
        raise exceptions.Invalid(
            _('"id" is needed: a serial number, WWN or MAC address'))
    found = db_history.list_stays(part_identity.normalised(identity),
                                  _MOST_STAYS)
    visible = readable({row['node_uuid'] for row in found})
    return {'parts': [{
        'id': row['label'], 'kind': row['kind'], 'node': row['node_uuid'],
        'from': view.time(row['began_at']),
        'to': view.time(row['ended_at'])}
        for row in found if row['node_uuid'] in visible]}


def readable(uuids: Collection[str], filters: Mapping[str, Any] | None = None,
             policy: str = policies.HISTORY_GET) -> set[str]:
    """Return the nodes whose history the caller may see.

    :param uuids: of the nodes to look at.
    :param filters: of Ironic's list of nodes, which they pass as well.
    :param policy: what the caller must be allowed to do with a node.
    """
    found = set()
    for node in objects.Node.list(
            api.request.context, fields=['uuid', 'owner', 'lessee'],
            filters={'include_children': True, **(filters or {}),
                     'uuid_in': sorted(uuids)}) if uuids else ():
        try:
            api_utils.check_owner_policy('node', policy,
                                         node.owner, node.lessee)
        except ironic_exception.HTTPForbidden:
            continue
        found.add(node.uuid)
    return found
