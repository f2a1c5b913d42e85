# SPDX-License-Identifier: Apache-2.0

"""The versioned object of an inspection request.

With durable inspection, the API stores the data that a machine posts as a
request in a queue, and a worker inspects the node later.
"""

from ironic.common import exception as ironic_exception
from ironic.objects import base
from ironic.objects import fields as object_fields
from oslo_versionedobjects import base as object_base

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import request as db_request
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.objects import remotable


@base.IronicObjectRegistry.register
class InspectionRequest(
    base.IronicObject, object_base.VersionedObjectDictCompat
):
    """An inspection request. It is read-only: only the queue changes it."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'id': object_fields.IntegerField(),
        'uuid': object_fields.UUIDField(),
        'node_uuid': object_fields.UUIDField(),
        'event': object_fields.StringField(),
        'state': object_fields.StringField(),
        'attempts': object_fields.IntegerField(),
        'worker': object_fields.StringField(nullable=True),
        'started_at': object_fields.DateTimeField(nullable=True),
        'finished_at': object_fields.DateTimeField(nullable=True),
        'last_error': object_fields.StringField(nullable=True),
    }

    @remotable.class_method
    def get_by_uuid(cls, context, uuid):
        """Read a request by its UUID.

        :raises: NotFound if there is no such request.
        """
        try:
            row = db_request.get_request_by_uuid(uuid)
        except exceptions.RequestNotFound as exc:
            raise ironic_exception.NotFound(str(exc)) from exc
        return cls._from_db_object(context, cls(), row)

    @remotable.class_method
    def list(cls, context, filters=None, limit=None, marker=None):
        """Read a page of requests, in the order in which they were stored.

        :param filters: values that the requests must have, by field, e.g.
            ``{'state': 'waiting'}``; None for all requests.
        :param limit: maximum number of requests; None for all.
        :param marker: UUID of the last request of the previous page; None for
            the first page.
        :raises: NotFound if there is no such marker.
        """
        id_of_marker = None
        if marker:
            id_of_marker = cls.get_by_uuid(context, marker).id
        rows = db_request.list_requests(filters or {}, limit, id_of_marker)
        return cls._from_db_object_list(context, rows)

    @remotable.class_method
    def get_unprocessed(cls, context, node_uuid):
        """Read the data that the ramdisk of a node posted last.

        :returns: a dict with ``inventory`` and ``plugin_data``; None if no
            data are stored.
        """
        return unprocessed.get_unprocessed(node_uuid)
