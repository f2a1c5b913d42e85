# SPDX-License-Identifier: Apache-2.0

"""What early rules did, until a conductor takes it up.

The API runs them before it hands the inventory over to a conductor. Ironic's
call has no place for what they did, except the data of the machine. So the API
stores it, and the conductor finds it by the ID of the API's request, which
Ironic passes on with each call.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import removal
from ironic_inspection_rules.db import transaction

LONGEST_WAIT = 3600.0
"""Seconds after which nobody takes a row up any more."""

_ROWS: Any = models.EarlyPhase.__table__


@transaction.retried
def put(request_id: str, node_uuid: str, kept: Mapping[str, Any]) -> None:
    """Store what early rules did to the data of a node.

    What no conductor has taken up, as it died or refused the data, is removed
    when the machine posts again.
    """
    left_over = (
        sa.select(_ROWS.c.id)
        .where(_ROWS.c.node_uuid == node_uuid,
               _ROWS.c.stored_at < clock.now() - LONGEST_WAIT))
    with transaction.plain_writer() as connection:
        ids = connection.execute(left_over).scalars().all()
        removal.remove(connection, models.EarlyPhase, ids)
        connection.execute(sa.insert(_ROWS).values(
            request_id=request_id, node_uuid=node_uuid,
            stored_at=clock.now(), kept=kept))


@transaction.retried
def take(request_id: str, node_uuid: str) -> dict[str, Any] | None:
    """Return what early rules did, and remove it.

    :returns: what was stored, None if there is nothing.
    """
    # Read first: mostly there is nothing to remove.
    with transaction.plain_reader() as connection:
        row = connection.execute(
            sa.select(_ROWS.c.id, _ROWS.c.kept)
            .where(_ROWS.c.request_id == request_id,
                   _ROWS.c.node_uuid == node_uuid)).first()
    if row is None:
        return None
    with transaction.plain_writer() as connection:
        removal.remove(connection, models.EarlyPhase, [row.id])
    return dict(row.kept)
