# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_parts: the nodes that a part has been in."""

from typing import Any

from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import version
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.api.controllers import inventory_history
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import part
from ironic_inspection_rules.policies import inventory_history as policies

_MOST = 1000
"""Stays of a part that are looked at, the newest ones."""


class InspectionPartController(base.RestController):
    """Parts of machines, wherever they are."""

    @base.expose()
    @version.since_inspection_rules_get
    def get(self) -> dict[str, Any]:
        """Find a part by its serial number, WWN or MAC address."""
        api_utils.check_policy(policies.PARTS)
        identity = request.query({'id': args.string})['id']
        if not identity or not identity.strip():
            raise exceptions.Invalid(
                _('"id" is needed: a serial number, WWN or MAC address'))
        found = db_history.list_stays(part.normalised(identity), _MOST)
        visible = inventory_history.readable(
            {row['node_uuid'] for row in found})
        return {'parts': [{
            'id': row['label'], 'kind': row['kind'],
            'node': row['node_uuid'], 'from': row['began_at'].isoformat(),
            'to': row['ended_at'] and row['ended_at'].isoformat()}
            for row in found if row['node_uuid'] in visible]}
