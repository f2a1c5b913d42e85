# SPDX-License-Identifier: Apache-2.0

"""The versioned object of a run: the record of the rules of one inspection.

A stored run may have the content of a rule that has become sensitive since.
This content is removed from every run that is read here.
"""

from ironic.common import exception as ironic_exception
from ironic.objects import base
from ironic.objects import fields as object_fields
from oslo_versionedobjects import base as object_base

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.objects import remotable
from ironic_inspection_rules.runs import recorded_rule


@base.IronicObjectRegistry.register
class InspectionRun(base.IronicObject, object_base.VersionedObjectDictCompat):
    """A run, which records what the rules did in one inspection of a node.

    ``phases`` has the records of the phases, and ``places`` the places that
    sensitive rules set, e.g. ``{'main': {UUID: [['node', '/extra/rack']]}}``.
    Both are set only if the whole run is read. ``places`` are used only by
    :mod:`.explain`, and are not shown to users.
    """

    # Version 1.0: Initial version
    VERSION = db_run.VERSION

    fields = {
        'id': object_fields.IntegerField(),
        'uuid': object_fields.UUIDField(),
        'node_uuid': object_fields.UUIDField(),
        'event': object_fields.StringField(),
        'inspect_interface': object_fields.StringField(nullable=True),
        'result': object_fields.StringField(),
        'error': object_fields.StringField(nullable=True),
        'revision': object_fields.IntegerField(nullable=True),
        'started_at': object_fields.DateTimeField(nullable=True),
        'phases': object_fields.FlexibleDictField(),
        'places': object_fields.FlexibleDictField(nullable=True),
    }

    @remotable.class_method
    def get_by_uuid(cls, context, node_uuid, uuid):
        """Read a kept run of a node.

        :returns: the :class:`InspectionRun` with ``phases`` and ``places``.
        :raises: NotFound if the node has no such run.
        """
        try:
            row = db_run.get_run(node_uuid, uuid)
        except exceptions.NotFound as exc:
            raise ironic_exception.NotFound(str(exc)) from exc
        run = cls._from_db_object(context, cls(), row)
        cls._hide_sensitive_rules([run])
        return run

    @remotable.class_method
    def list(cls, context, node_uuid, limit=None, marker=None, whole=False):
        """Read a page of the kept runs of a node, newest first.

        :param limit: maximum number of runs; None for all.
        :param marker: UUID of the last run of the previous page; None for the
            first page.
        :param whole: whether to read ``phases`` and ``places``, too, which
            may be large.
        :raises: NotFound if the marker is no run of the node.
        """
        id_of_marker = None
        if marker:
            id_of_marker = cls.get_by_uuid(context, node_uuid, marker).id
        rows = db_run.list_runs(node_uuid, limit, id_of_marker, whole)
        if whole:
            runs = cls._from_db_object_list(context, rows)
            cls._hide_sensitive_rules(runs)
            return runs
        # The query has not read two columns. They cannot be read now, because
        # its session has ended, so the objects must not have these fields.
        fields = [
            name for name in cls.fields if name not in ('phases', 'places')
        ]
        return cls._from_db_object_list(context, rows, fields=fields)

    @staticmethod
    def _hide_sensitive_rules(runs):
        """Remove the content of sensitive rules from runs, in place.

        A rule counts as sensitive if it is sensitive in any kept revision, or
        if no kept revision has the rule.

        :param runs: runs with ``phases`` and ``places``.
        """
        # The UUIDs of rules that are not sensitive in any kept revision.
        open_rules = db_rule.find_never_sensitive()
        for run in runs:
            run.phases, run.places = recorded_rule.for_readers(
                run.phases, run.places or {}, open_rules
            )
            # Mark the fields as unchanged, so that nobody can save them.
            run.obj_reset_changes(['phases', 'places'])

    @remotable.class_method
    def get_data(cls, context, node_uuid):
        """Return the data of the machine in the node's last run, if it failed.

        The API shows these data, and checks the conditions of a rule again on
        them to explain why the rule did not match.

        :returns: ``uuid`` and ``created_at`` (ISO 8601) of the run,
            ``inventory`` and ``plugin_data``; None if there are no such data.
        """
        row = db_run.get_data(node_uuid)
        if row is None:
            return None
        return {
            'uuid': row['uuid'],
            'created_at': row['created_at'].isoformat(),
            'inventory': row['inventory'],
            'plugin_data': row['plugin_data'],
        }
