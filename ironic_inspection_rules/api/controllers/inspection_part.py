# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_parts: the nodes that a part has been in."""

from typing import Any

from ironic.common import args

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import view
from ironic_inspection_rules.api.controllers import inventory_history
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import part

_MOST = 1000
"""Stays of a part that are looked at, the newest ones."""

QUERY = {'id': args.string}


def get(query: dict[str, Any]) -> dict[str, Any]:
    """Find a part by its serial number, WWN or MAC address."""
    identity = query['id']
    if not identity or not identity.strip():
        raise exceptions.Invalid(
            _('"id" is needed: a serial number, WWN or MAC address'))
    found = db_history.list_stays(part.normalised(identity), _MOST)
    visible = inventory_history.readable(
        {row['node_uuid'] for row in found})
    return {'parts': [{
        'id': row['label'], 'kind': row['kind'], 'node': row['node_uuid'],
        'from': view.time(row['began_at']), 'to': view.time(row['ended_at'])}
        for row in found if row['node_uuid'] in visible]}
