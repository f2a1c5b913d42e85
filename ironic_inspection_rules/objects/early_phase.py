# SPDX-License-Identifier: Apache-2.0

"""The results of early rules, kept until a conductor reads them.

The API runs early rules before it sends the inventory to a conductor. Apart
from the data of the machine, Ironic's RPC call has no parameter for the
results of the rules. Therefore the API stores the results, and the conductor
finds them by the ID of the API request, which Ironic passes on with every
call.
"""

from typing import Any

from ironic.objects import base
from oslo_versionedobjects import base as object_base
import sqlalchemy as sa

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import removal
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.objects import remotable

LONGEST_WAIT = 3600.0
"""Seconds after which a row is removed that no conductor has read."""

_ROWS: Any = models.EarlyPhaseRow.__table__


@base.IronicObjectRegistry.register
class EarlyPhase(base.IronicObject, object_base.VersionedObjectDictCompat):
    """The results of the early rules of a request to the API.

    The ID of the request is part of the context, both in the API and in the
    conductor.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    @remotable.class_method
    @transaction.retried_on_lock_conflict
    def put(cls, context, node_uuid, kept):
        """Store what early rules did, for the conductor of the node.

        Old rows of the node are removed. No conductor has read them within
        :data:`LONGEST_WAIT`, because it has died or refused the data.

        :param kept: JSON data: ``record``, ``places`` and ``found``, see
            :mod:`.inspection.early_phase`.
        """
        oldest_to_keep = clock.now() - LONGEST_WAIT
        old_rows = sa.select(_ROWS.c.id).where(
            _ROWS.c.node_uuid == node_uuid,
            _ROWS.c.stored_at < oldest_to_keep,
        )
        new_row = sa.insert(_ROWS).values(
            request_id=context.request_id,
            node_uuid=node_uuid,
            stored_at=clock.now(),
            kept=kept,
        )
        with transaction.writer_without_session() as connection:
            ids = connection.execute(old_rows).scalars().all()
            if ids:
                removal.remove_by_id(connection, models.EarlyPhaseRow, ids)
            connection.execute(new_row)

    @remotable.class_method
    def take(cls, context, node_uuid):
        """Return what the early rules of this API request did, and remove it.

        :returns: the ``kept`` that :meth:`put` has stored with the same
            request ID; None if nothing is stored.
        """
        query = (
            sa.select(_ROWS.c.id, _ROWS.c.kept)
            .where(
                _ROWS.c.request_id == context.request_id,
                _ROWS.c.node_uuid == node_uuid,
            )
            .limit(1)
        )
        # Query before removing, because usually nothing is stored, and a
        # DELETE may wait for other writers even if it finds no row. Nobody
        # else takes the row in between, because only one conductor gets the
        # request.
        rows = transaction.read_rows(query)
        if not rows:
            return None
        [row] = rows
        transaction.update(sa.delete(_ROWS).where(_ROWS.c.id == row['id']))
        return row['kept']
