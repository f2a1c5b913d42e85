# SPDX-License-Identifier: Apache-2.0

"""What early rules did, as the API and the conductor reach it."""

from ironic.objects import base
from oslo_versionedobjects import base as object_base

from ironic_inspection_rules.db import early_phase as db_early_phase
from ironic_inspection_rules.objects import remotable


@base.IronicObjectRegistry.register
class EarlyPhase(base.IronicObject, object_base.VersionedObjectDictCompat):
    """What the early rules of a request to the API did.

    The context has the ID of the request, in the API and in the conductor.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    @remotable.class_method
    def put(cls, context, node_uuid, kept):
        """Store what they did, for the conductor of the node.

        :param kept: JSON data, see :mod:`.inspection.early_phase`.
        """
        db_early_phase.put(context.request_id, node_uuid, kept)

    @remotable.class_method
    def take(cls, context, node_uuid):
        """Return what they did, None if nothing was stored, and remove it."""
        return db_early_phase.take(context.request_id, node_uuid)
