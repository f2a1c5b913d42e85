# SPDX-License-Identifier: Apache-2.0

"""Saving what a phase changed, on a real database server."""

import threading

import fixtures
from ironic import objects
from ironic.common import exception as ironic_exception
from ironic.db.sqlalchemy import models
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.inspection import side_effects
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit.inspection import base

CHECKPOINT = 'e2a6f8d4-5d0b-4a54-9a53-0f5a4b6c7d18'
WEIGHT = 100
"""Rows of a transaction that MariaDB would rather not undo."""

PATIENCE = 60


class DeadlockTestCase(base.GlueTestCase):
    """A deadlock that the server ends at the cost of the phase."""

    kind = 'mysql'

    def setUp(self):
        if reason := database.why_absent(self.kind):
            self.skipTest(reason)
        super().setUp()
        self.other_is_ready = threading.Event()
        self.node_is_saved = threading.Event()
        self.attempts = 0
        objects.TraitList.create(
            self.context, self.task.node.id, ['CUSTOM_OLD']
        )
        with self.database.engine.begin() as connection:
            connection.execute(
                sa.insert(models.Chassis).values(uuid=CHECKPOINT)
            )

    def watch_attempts(self):
        """Count how often traits are saved, which is after the node."""
        create = objects.TraitList.create

        def count(_class, *arguments):
            self.attempts += 1
            self.node_is_saved.set()
            return create(*arguments)

        self.useFixture(
            fixtures.MonkeyPatch('ironic.objects.TraitList.create', count)
        )

    def want_the_node_too(self):
        """Lock what the phase locks last, then what it locked first."""
        with self.database.engine.begin() as connection:
            connection.execute(
                sa.insert(models.Chassis),
                [{'uuid': uuidutils.generate_uuid()} for _ in range(WEIGHT)],
            )
            connection.execute(
                sa.update(models.NodeTrait).values(version='1.0.1')
            )
            self.other_is_ready.set()
            self.node_is_saved.wait(PATIENCE)
            connection.execute(
                sa.update(models.Node).values(description='of the other')
            )

    def save(self, target):
        def checkpoint(session):
            session.execute(
                sa.update(models.Chassis)
                .where(models.Chassis.uuid == CHECKPOINT)
                .values(description='done')
            )

        saving.save(self.task, target, (), in_transaction=checkpoint)

    def test_the_loser_saves_all_of_its_phase_again(self):
        other = threading.Thread(target=self.want_the_node_too)
        other.start()
        self.other_is_ready.wait(PATIENCE)
        target = working_copy.WorkingCopy(
            facts.read_and_build(self.task.context, self.task.node, {}, {}),
            side_effects.ServiceEffects(),
        )
        target.set(working_copy.NODE, ('extra', 'marks'), ['x'])
        target.set(working_copy.NODE, (working_copy.TRAITS,), ['CUSTOM_NEW'])
        self.watch_attempts()
        self.save(target)
        other.join(PATIENCE)

        node = self.stored_node()
        with self.database.engine.connect() as connection:
            saved = connection.execute(
                sa.select(models.Chassis.description).where(
                    models.Chassis.uuid == CHECKPOINT
                )
            ).scalar()
        self.assertEqual(
            (2, {'marks': ['x']}, 'of the other', ['CUSTOM_NEW'], 'done'),
            (
                self.attempts,
                node.extra,
                node.description,
                node.traits.get_trait_names(),
                saved,
            ),
        )


class RefusedTextTestCase(base.GlueTestCase):
    """Text that MySQL refuses, as the connection lacks charset=utf8mb4."""

    kind = 'mysql'

    def setUp(self):
        if reason := database.why_absent(self.kind):
            self.skipTest(reason)
        super().setUp()

    def refused(self, guilty, **fields):
        """Return the error of a phase, where an innocent rule was the last.

        :param guilty: the op and the arguments of the first rule.
        :param fields: of the first rule.
        """
        others = [
            ('set-attribute', ['/extra/a', 1]),
            ('set-port-attribute', [base.MAC, '/extra/a', 1]),
        ]
        runner = base.Hook(
            base.rules(
                base.rule(guilty, description='guilty', **fields),
                base.rule(*others, description='innocent'),
            )
        )
        error = self.assertRaises(
            ironic_exception.HardwareInspectionFailure,
            runner.apply,
            self.task,
            {'hostname': 'rack 😀 7'},
            {},
            'main',
        )
        self.assertEqual(
            ({}, {}), (self.stored_node().extra, self.stored_port().extra)
        )
        # The statement may have secrets of the node.
        self.assertNotIn('UPDATE', str(error))
        return str(error)

    def test_an_attribute_of_the_node(self):
        message = self.refused(
            ('set-attribute', ['/description', '{inventory.hostname}'])
        )
        self.assertIn('(guilty), set-attribute: ', message)
        self.assertIn('description', message)
        # A database that stores the error refuses the same text again.
        self.task.node.last_error = message
        self.task.node.save()

    def test_an_attribute_of_a_port(self):
        message = self.refused(
            (
                'set-port-attribute',
                [base.MAC, '/name', '{inventory.hostname}'],
            )
        )
        self.assertIn('(guilty), set-port-attribute: ', message)
        self.assertIn('name', message)

    def test_a_sensitive_rule_does_not_say_what(self):
        message = self.refused(
            ('set-attribute', ['/description', '{inventory.hostname}']),
            sensitive=True,
        )
        self.assertIn(', set-attribute: failed', message)
        self.assertNotIn('rack', message)
