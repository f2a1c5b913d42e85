# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The versioned object of a stored rule."""

from collections.abc import Iterator
import contextlib
import datetime

from ironic.common import exception as ironic_exception
from ironic.objects import base
from ironic.objects import fields as object_fields
from oslo_versionedobjects import base as object_base

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import api as db_api


@contextlib.contextmanager
def _known_to_ironic() -> Iterator[None]:
    """Raise Ironic's exceptions, the only ones that its RPC carries."""
    try:
        yield
    except exceptions.RuleNotFound as exc:
        raise ironic_exception.InspectionRuleNotFound(str(exc)) from exc
    except exceptions.RuleAlreadyExists as exc:
        raise ironic_exception.InspectionRuleAlreadyExists(str(exc)) from exc
    except exceptions.RuleChanged as exc:
        raise ironic_exception.Conflict(str(exc)) from exc
    except exceptions.Invalid as exc:
        raise ironic_exception.Invalid(str(exc)) from exc


@base.IronicObjectRegistry.register
class Rule(base.IronicObject, object_base.VersionedObjectDictCompat):
    """A stored rule.

    Named ``Rule`` because Ironic has an ``InspectionRule`` of its own, whose
    engine must not find these. Methods take the context that Ironic's RPC
    hands to the conductor as their first argument.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'id': object_fields.IntegerField(),
        'uuid': object_fields.UUIDField(),
        'revision': object_fields.IntegerField(),
        'priority': object_fields.IntegerField(default=0),
        'description': object_fields.StringField(nullable=True),
        'scope': object_fields.StringField(nullable=True),
        'sensitive': object_fields.BooleanField(default=False),
        'phase': object_fields.StringField(default='main'),
        'conditions': object_fields.ListOfFlexibleDictsField(),
        'actions': object_fields.ListOfFlexibleDictsField(),
    }

    @object_base.remotable
    def create(self, context=None):
        """Store this rule.

        :raises: Invalid if the database cannot store a value.
        :raises: InspectionRuleAlreadyExists if the UUID is taken.
        """
        values = self.do_version_changes_for_db()
        with _known_to_ironic():
            row = db_api.create_rule(values)
        self._from_db_object(self._context, self, row)

    @object_base.remotable
    def save(self, context=None):
        """Store the fields that were changed.

        :raises: Invalid if the database cannot store a value.
        :raises: Conflict if somebody else has changed the rule since it was
            read.
        :raises: InspectionRuleNotFound if it was removed.
        """
        values = self.do_version_changes_for_db()
        with _known_to_ironic():
            row = db_api.update_rule(self.uuid, values, self.revision)
        self._from_db_object(self._context, self, row)

    @object_base.remotable
    def destroy(self, context=None):
        """Remove this rule.

        :raises: InspectionRuleNotFound if it was removed before.
        """
        with _known_to_ironic():
            db_api.destroy_rule(self.uuid)
        self.obj_reset_changes()

    @classmethod
    @object_base.remotable
    def destroy_all(cls, context):
        """Remove all stored rules."""
        db_api.destroy_all_rules()

    @classmethod
    @object_base.remotable
    def get_by_uuid(cls, context, uuid):
        """Find a rule.

        :returns: the :class:`Rule`.
        :raises: InspectionRuleNotFound if there is none.
        """
        with _known_to_ironic():
            row = db_api.get_rule_by_uuid(uuid)
        return cls._from_db_object(context, cls(), row)

    @classmethod
    @object_base.remotable
    def list(cls, context, filters=None):
        """Find rules, in creation order.

        :param filters: field to its value, or to a list of values.
        :returns: list of :class:`Rule`.
        """
        return cls._from_db_object_list(context, db_api.list_rules(filters))

    @classmethod
    @object_base.remotable
    def list_values(cls, context, field, filters=None):
        """Read one field of many rules, in creation order.

        :param field: name of the field.
        :param filters: as for :meth:`list`.
        :returns: list of pairs of UUID and value; times as ISO 8601 text,
            which JSON-RPC can carry.
        """
        return [(uuid, value.isoformat()
                 if isinstance(value, datetime.datetime) else value)
                for uuid, value in db_api.list_values(field, filters)]

    @classmethod
    @object_base.remotable
    def get_revision(cls, context):
        """Tell a number that is another one after each change of any rule."""
        return db_api.get_revision()
