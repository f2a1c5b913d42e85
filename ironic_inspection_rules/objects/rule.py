# SPDX-License-Identifier: Apache-2.0

"""The versioned object of a stored rule.

The stored rules together are the *rule set*. Every change of it makes a new
*revision*, which has a number, and old revisions are kept for some time. A
caller may name the revision on which its change is based, as ``base``: if
somebody else has changed the rule set since then, this is a conflict.
"""

from collections.abc import Iterator
import contextlib
import datetime
import types

from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from ironic.objects import base
from ironic.objects import fields as object_fields
from oslo_utils import timeutils
from oslo_versionedobjects import base as object_base
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.objects import remotable


@contextlib.contextmanager
def _raise_errors_of_ironic() -> Iterator[None]:
    """Convert our exceptions in the ``with`` block to exceptions of Ironic.

    The block may run in a conductor for an API without a database, and
    Ironic's RPC transfers only Ironic's own exceptions.
    """
    try:
        yield
    except exceptions.RuleNotFound as exc:
        raise ironic_exception.InspectionRuleNotFound(str(exc)) from exc
    except exceptions.RuleAlreadyExists as exc:
        raise ironic_exception.InspectionRuleAlreadyExists(str(exc)) from exc
    except exceptions.NotFound as exc:
        raise ironic_exception.NotFound(str(exc)) from exc
    except exceptions.Conflict as exc:
        raise ironic_exception.Conflict(str(exc)) from exc
    except exceptions.Invalid as exc:
        raise ironic_exception.Invalid(str(exc)) from exc


def _make_object_field(field):
    """Build the field of a versioned object for a field of a rule.

    For example, the field ``priority``, an int, becomes an ``IntegerField``
    with the same default.

    :param field: a field of the dataclass :class:`.model.Rule`.
    """
    if field.name == 'uuid':
        return object_fields.UUIDField()
    # The conditions and the actions.
    if field.name in model.OPERATIONS:
        return object_fields.ListOfFlexibleDictsField()
    if field.name == model.VARS:
        return object_fields.FlexibleDictField(default={})
    if isinstance(field.type, types.UnionType):
        # This is "str | None", because all fields that may be None are text.
        return object_fields.StringField(nullable=True)
    # The type of any other field is one of these.
    class_by_type = {
        int: object_fields.IntegerField,
        bool: object_fields.BooleanField,
        str: object_fields.StringField,
    }
    return class_by_type[field.type](default=field.default)


def origin(context, message=None):
    """Return the origin of a change: the user who made it, and the reason.

    :param message: the reason for the change, as given by the user.
    """
    return rule_set.ChangeOrigin(
        user_id=context.user_id,
        project_id=context.project_id,
        message=message,
        keep_revisions=CONF.inspection_rules.keep_revisions,
    )


@base.IronicObjectRegistry.register
class StoredRule(base.IronicObject, object_base.VersionedObjectDictCompat):
    """A stored rule.

    Ironic has an object with the name ``InspectionRule``. This one has another
    name, so that Ironic's own engine does not find the rules of this project.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'id': object_fields.IntegerField(),
        'revision': object_fields.IntegerField(),
        **{
            field.name: _make_object_field(field)
            for field in model.SETTABLE.values()
        },
    }

    @object_base.remotable
    def create(self, context=None, base=None):
        """Store this new rule, and set its remaining fields.

        :param base: the revision that the rule set must have; None for any.
        :raises: Conflict if the rule set has another revision by now.
        :raises: Invalid if the database cannot store a value.
        :raises: InspectionRuleAlreadyExists if the UUID is taken.
        """
        values = self.do_version_changes_for_db()
        with _raise_errors_of_ironic():
            row = db_rule.create_rule(values, origin(self._context), base)
        self._from_db_object(self._context, self, row)

    @object_base.remotable
    def save(self, context=None, base=None):
        """Store the fields of this rule that were changed.

        :param base: the revision that the rule set must have; None for any.
        :raises: Invalid if the database cannot store a value.
        :raises: Conflict if the rule was changed since it was read, or the
            rule set has another revision by now.
        :raises: InspectionRuleNotFound if the rule was removed.
        """
        # Only the fields that were changed.
        values = _make_lists_plain(self.do_version_changes_for_db())
        with _raise_errors_of_ironic():
            row = db_rule.update_rule(
                self.uuid, values, self.revision, origin(self._context), base
            )
        self._from_db_object(self._context, self, row)

    @object_base.remotable
    def destroy(self, context=None):
        """Remove this rule.

        :raises: InspectionRuleNotFound if it was removed before.
        """
        with _raise_errors_of_ironic():
            db_rule.destroy_rule(self.uuid, origin(self._context))
        self.obj_reset_changes()

    @remotable.class_method
    def destroy_all(cls, context):
        """Remove all stored rules."""
        db_rule.destroy_all_rules(origin(context))

    @remotable.class_method
    def get_by_uuid(cls, context, uuid):
        """Read a stored rule by its UUID.

        :raises: InspectionRuleNotFound if there is none.
        """
        with _raise_errors_of_ironic():
            row = db_rule.get_rule_by_uuid(uuid)
        return cls._from_db_object(context, cls(), row)

    @remotable.class_method
    def list(cls, context, filters=None):
        """Read rules, in the order in which they run.

        :param filters: values by field, e.g. ``{'phase': 'main'}``; a list
            stands for any of its values. None for all rules.
        """
        return cls._from_db_object_list(context, db_rule.list_rules(filters))

    @remotable.class_method
    def list_values(cls, context, field, filters=None):
        """Read one field of many rules, in the order in which they run.

        With it, the API sorts all rules, and then reads only those of a page.

        :param field: the name of the field, e.g. ``priority``.
        :param filters: values by field, see :meth:`list`.
        :returns: pairs of the UUID of a rule and the value of its field, e.g.
            ``[(UUID, 100)]``. Times are ISO 8601 text.
        """
        pairs = []
        for uuid, value in db_rule.list_values(field, filters):
            if isinstance(value, datetime.datetime):
                # JSON-RPC cannot transfer time objects.
                value = value.isoformat()
            pairs.append((uuid, value))
        return pairs

    @remotable.class_method
    def get_revision(cls, context):
        """Return the revision of the rule set."""
        query = sa.select(models.RulesRevisionRow.revision)
        [row] = transaction.read_rows(query)
        return row['revision']

    @remotable.class_method
    def change(
        cls, context, base, created, updated, deleted, message=None, tables=()
    ):
        """Store changes of rules and tables as one revision, all or none.

        The API does so when a rule set is applied or restored, and when a
        client of ironic-inspector removes all rules.

        :param base: the revision that the rule set must have.
        :param created: the new rules, each as a dict of its fields.
        :param updated: the changed rules: values of the fields to change, by
            UUID, e.g. ``{UUID: {'priority': 10}}``.
        :param deleted: the UUIDs of the rules to remove.
        :param message: the reason for the change, as given by the user.
        :param tables: the changed tables, each as a dict. It has the ``name``;
            the ``definition``, None to remove the table; and in ``rows`` the
            numbers of rows that are ``new``, ``changed`` and ``gone``. Unless
            the table is removed, it also has the ``size``, which is the number
            of all rows, and all ``chunks``.
        :returns: the revision of the rule set afterwards.
        :raises: Conflict if the rule set has another revision by now.
        :raises: InspectionRuleAlreadyExists if the UUID of a new rule is
            taken.
        :raises: Invalid if the database cannot store a value.
        """
        new_rows = [_make_columns(rule) for rule in created]
        changed_columns = {}
        for uuid, changed_fields in updated.items():
            changed_columns[uuid] = _make_columns(changed_fields)
        change_origin = origin(context, message)
        with _raise_errors_of_ironic():
            return db_rule.change_rules(
                base, new_rows, changed_columns, deleted, change_origin, tables
            )

    @remotable.class_method
    def read_rule_set(cls, context):
        """Read all rules as plain data, with the revision of the rule set.

        The rules are compared with the rules that a user wants. The revision
        shows later whether somebody else has changed them. Plain data take a
        third of the time that objects would take.

        :returns: the revision, and a dict for every rule, in the order in
            which they run. It has the fields that authors set, and the
            ``position`` of the rule.
        """
        names = (*model.WRITABLE, 'position')
        revision, rows = db_rule.read_rule_set()
        rules = []
        for row in rows:
            rules.append({name: row[name] for name in names})
        return revision, rules

    @remotable.class_method
    def list_revisions(cls, context, limit, before=None):
        """Read revisions of the rule set, the newest first.

        :returns: list of dicts of plain data.
        """
        rows = db_rule.list_revisions(limit, before)
        return [db_rule.describe_revision(row) for row in rows]

    @remotable.class_method
    def get_rules_of_revision(cls, context, revision):
        """Read a revision of the rule set, with all rules that it had.

        A rule that is sensitive in any revision is ``secret`` in all of them:
        the caller must not show its content.

        :param revision: the number of the revision.
        :returns: the revision as plain data. Its ``rules`` have all fields,
            and the key ``secret``.
        :raises: NotFound if there is no such revision, or it is not kept.
        """
        with _raise_errors_of_ironic():
            row, rule_versions = db_rule.get_rules_of_revision(revision)
        secret_uuids = db_rule.find_ever_sensitive()
        described_rules = []
        for rule_version in rule_versions:
            is_secret = rule_version.uuid in secret_uuids
            described_rules.append(_describe_version(rule_version, is_secret))
        return {**db_rule.describe_revision(row), 'rules': described_rules}


def _describe_version(rule_version, is_secret):
    """Return a rule of a revision as plain data, even if it is secret.

    :param rule_version: the rule as it was in the revision, a row of
        :class:`.models.RuleVersionRow`.
    :param is_secret: whether the rule is sensitive in any revision.
    """
    created_at = None
    if rule_version.rule_created_at:
        created_at = rule_version.rule_created_at.isoformat() + '+00:00'
    return {
        # An old revision lacks fields that later releases added to rules. They
        # have their defaults.
        **model.DEFAULTS,
        **rule_version.fields,
        'revision': rule_version.rule_revision,
        'created_at': created_at,
        'secret': is_secret,
    }


def _make_lists_plain(values):
    """Return the values of a rule with plain lists.

    Versioned objects have lists of a type of their own. These never equal the
    lists in the database, so every rule would count as changed when it is
    saved.

    :param values: the values of the rule by field.
    """
    columns = dict(values)
    # Only the conditions and the actions are lists.
    for name in model.OPERATIONS:
        if name in columns:
            columns[name] = list(columns[name])
    return columns


def _make_columns(values):
    """Return the columns of a rule whose fields came as plain data over RPC.

    The version of the object is added, and ``created_at`` becomes a time.

    :param values: all fields of a new rule, or the changed fields of a rule.
    """
    columns = {**values, 'version': StoredRule.VERSION}
    if columns.get('created_at'):
        created_at = timeutils.parse_isotime(columns['created_at'])
        # The database accepts only UTC times without a time zone.
        columns['created_at'] = timeutils.normalize_time(created_at)
    return columns
