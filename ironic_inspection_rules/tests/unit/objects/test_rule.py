# SPDX-License-Identifier: Apache-2.0

"""The versioned object of a stored rule."""

import json

import fixtures
from ironic.common import context
from ironic.common import exception as ironic_exception
from ironic.conductor import manager
from ironic.objects import base as object_base
import oslo_messaging
from oslo_utils import uuidutils
from oslo_versionedobjects import fixture as object_fixture
from testtools import matchers

from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import storage
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base

# Raise VERSION when the fields or the remotable methods change, then put the
# new fingerprint here.
FINGERPRINT = '1.0-073a63e5c9e3cfb87833525750c02b4f'
UUID = '11111111-1111-4111-8111-111111111111'


class FingerprintTestCase(base.TestCase):
    def test_a_change_of_the_object_comes_with_a_new_version(self):
        checker = object_fixture.ObjectVersionChecker(
            {'StoredRule': [rule_object.StoredRule]}
        )

        self.assertEqual({'StoredRule': FINGERPRINT}, checker.get_hashes())


class RuleTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(database.Database())
        self.context = context.get_admin_context()

    def make(self, **fields):
        rule = rule_object.StoredRule(
            self.context,
            **{
                'uuid': uuidutils.generate_uuid(),
                'conditions': [],
                'actions': [{'op': 'fail', 'args': {'msg': 'no'}}],
                **fields,
            },
        )
        rule.create()
        return rule

    def get(self, uuid):
        return rule_object.StoredRule.get_by_uuid(self.context, uuid)

    def test_a_stored_rule_is_found_as_it_was_made(self):
        made = self.make(
            priority=3,
            scope='rack',
            conditions=[{'op': '!eq', 'args': [1, [2]], 'loop': {'a': 'b'}}],
        )

        found = self.get(made.uuid)

        self.assertEqual(made.as_dict(), found.as_dict())
        self.assertEqual(
            [{'op': '!eq', 'args': [1, [2]], 'loop': {'a': 'b'}}],
            found.conditions,
        )
        self.assertEqual(set(), found.obj_what_changed())

    def test_save_stores_the_changed_fields(self):
        rule = self.make(description='before', priority=3)
        rule.description = 'after'
        rule.save()

        self.assertEqual(
            ('after', 3),
            (self.get(rule.uuid).description, self.get(rule.uuid).priority),
        )
        rule.priority = 4
        rule.save()
        self.assertEqual(4, self.get(rule.uuid).priority)

    def test_save_of_an_old_view_is_a_conflict(self):
        rule = self.make()
        other = self.get(rule.uuid)
        other.priority = 1
        other.save()

        rule.priority = 2
        exc = self.assertRaises(ironic_exception.Conflict, rule.save)
        self.assertEqual(409, exc.code)
        self.assertIn(rule.uuid, str(exc))

    def test_errors_are_those_that_the_rpc_of_ironic_carries(self):
        rule = self.make()

        self.assertRaises(
            ironic_exception.InspectionRuleAlreadyExists,
            self.make,
            uuid=rule.uuid,
        )
        rule.destroy()
        self.assertRaises(
            ironic_exception.InspectionRuleNotFound, self.get, rule.uuid
        )
        self.assertRaises(
            ironic_exception.InspectionRuleNotFound, rule.destroy
        )

    def test_list_and_destroy_all(self):
        rules = [self.make(phase=phase) for phase in ('main', 'early')]

        self.assertEqual(
            [rule.uuid for rule in rules],
            [rule.uuid for rule in rule_object.StoredRule.list(self.context)],
        )
        self.assertEqual(
            [rules[1].uuid],
            [
                rule.uuid
                for rule in rule_object.StoredRule.list(
                    self.context, {'phase': 'early'}
                )
            ],
        )
        rule_object.StoredRule.destroy_all(self.context)
        self.assertEqual([], rule_object.StoredRule.list(self.context))

    def test_times_are_listed_as_text(self):
        rule = self.make()

        [(uuid, created_at)] = rule_object.StoredRule.list_values(
            self.context, 'created_at'
        )

        self.assertEqual(rule.uuid, uuid)
        self.assertThat(
            created_at,
            matchers.StartsWith(rule.created_at.strftime('%Y-%m-%dT%H:%M:%S')),
        )

    def test_a_pinned_release_stores_the_version_it_can_read(self):
        self.config(pin_release_version='35.0')

        self.assertEqual('1.0', self.make().VERSION)

    def test_the_mode_is_stored(self):
        rule = self.make(mode='off')

        self.assertEqual('off', self.get(rule.uuid).mode)

    def test_the_rule_of_ironic_is_another_one(self):
        self.assertNotIn(
            rule_object.StoredRule,
            object_base.IronicObjectRegistry.obj_classes()['InspectionRule'],
        )


class OverTheWire:
    """Ironic's indirection API as JSON-RPC has it, without a network."""

    def __init__(self):
        self.conductor = object.__new__(manager.ConductorManager)
        self.serializer = object_base.IronicObjectSerializer()
        self.calls = []

    def object_action(self, context, objinst, objmethod, args, kwargs):
        return self.call(
            self.conductor.object_action,
            context,
            objmethod,
            objinst=objinst,
            args=args,
            kwargs=kwargs,
        )

    def object_class_action_versions(
        self, context, objname, objmethod, object_versions, args, kwargs
    ):
        return self.call(
            self.conductor.object_class_action_versions,
            context,
            objmethod,
            objname=objname,
            object_versions=object_versions,
            args=args,
            kwargs=kwargs,
        )

    def call(self, method, context, objmethod, **arguments):
        self.calls.append(objmethod)
        try:
            return self.carry(
                context,
                method(
                    context,
                    objmethod=objmethod,
                    **{
                        name: self.carry(context, value)
                        for name, value in arguments.items()
                    },
                ),
            )
        except oslo_messaging.ExpectedException as exc:
            raise exc.exc_info[1]  # noqa: B904
        finally:
            # The conductor sets this in its own process.
            for kind in storage.CLASSES:
                if 'indirection_api' in vars(kind):
                    del kind.indirection_api

    def carry(self, context, value):
        return self.serializer.deserialize_entity(
            context,
            json.loads(
                json.dumps(self.serializer.serialize_entity(context, value))
            ),
        )


class RemoteRuleTestCase(RuleTestCase):
    """The same when objects go over RPC ([DEFAULT]use_rpc_for_database)."""

    def setUp(self):
        super().setUp()
        self.wire = OverTheWire()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.objects.base.IronicObject.indirection_api', self.wire
            )
        )

    def test_everything_goes_over_the_wire(self):
        rule = self.make()
        rule.priority = 1
        rule.save()
        self.get(rule.uuid)
        rule_object.StoredRule.list(self.context)
        rule_object.StoredRule.list_values(self.context, 'uuid')
        rule_object.StoredRule.get_revision(self.context)
        rule.destroy()
        rule_object.StoredRule.destroy_all(self.context)

        self.assertEqual(
            [
                'create',
                'save',
                'get_by_uuid',
                'list',
                'list_values',
                'get_revision',
                'destroy',
                'destroy_all',
            ],
            self.wire.calls,
        )

    def test_so_does_the_rule_set(self):
        made = {'uuid': UUID, 'conditions': [], 'actions': [{'op': 'log'}]}
        revision, _rules = rule_object.StoredRule.read_rule_set(self.context)

        after = rule_object.StoredRule.change(
            self.context, revision, [made], {}, [], 'because'
        )

        [shown] = rule_object.StoredRule.list_revisions(self.context, 5)
        self.assertEqual((revision + 1, 'because'), (after, shown['message']))
        self.assertEqual(
            [UUID],
            [
                rule['uuid']
                for rule in rule_object.StoredRule.get_rules_of_revision(
                    self.context, after
                )['rules']
            ],
        )
        self.assertRaises(
            ironic_exception.Conflict,
            rule_object.StoredRule.change,
            self.context,
            revision,
            [],
            {},
            [UUID],
        )
        self.assertRaises(
            ironic_exception.NotFound,
            rule_object.StoredRule.get_rules_of_revision,
            self.context,
            after + 1,
        )
