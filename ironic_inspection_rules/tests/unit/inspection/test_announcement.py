# SPDX-License-Identifier: Apache-2.0

"""What a service says of itself when it starts."""

import logging

import fixtures
from ironic.conf import CONF
from ironic.db.sqlalchemy import models as ironic_models
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules import conf
from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.inspection import announcement
from ironic_inspection_rules.rule_file import stock_form
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.inspection import base as glue


class AnnounceTestCase(glue.GlueTestCase):
    def setUp(self):
        super().setUp()
        announcement._warn_once.cache_clear()
        self.addCleanup(announcement._warn_once.cache_clear)
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))

    def test_services_of_one_process_warn_once(self):
        self.config(rpc_transport='none')
        self.config(group='inspection_rules', supported_interfaces='agnet')
        rules = glue.rules()

        for service in (announcement.HOOK, announcement.API):
            announcement.announce(service, rules)

        self.assertEqual(
            1, self.log.output.count('supported_interfaces is "agnet"')
        )


class OutOfReachTestCase(base.IronicTestCase):
    def test_nothing_is_said_where_the_database_is_reached(self):
        self.assertEqual([], list(announcement.warn_of_missing_database()))

    def test_what_needs_the_database_is_named(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.objects.base.IronicObject.indirection_api', self
            )
        )

        (said,) = announcement.warn_of_missing_database()
        self.assertIn('use_rpc_for_database', said)
        self.assertIn('/v1/traits', said)


class GapsTestCase(base.IronicTestCase):
    def setUp(self):
        super().setUp()
        conf.register_opts(CONF)
        self.enable('agent', 'redfish', 'idrac-redfish', 'no-inspect')
        self.config(group='inspector', hooks='ports,inspection-rules')
        self.config(group='redfish', inspection_hooks='inspection-rules')

    def enable(self, *names):
        self.config(enabled_inspect_interfaces=list(names))

    def gaps(self):
        return ' '.join(announcement.warn_of_missing_phases())

    def test_nothing_is_said_where_all_phases_run(self):
        self.assertEqual('', self.gaps())

    def test_a_list_of_hooks_without_ours(self):
        self.config(group='redfish', inspection_hooks='ports')

        said = self.gaps()
        for part in (
            'redfish: no rules of the phase preprocess',
            'idrac-redfish: no rules',
            '[redfish]inspection_hooks',
        ):
            self.assertIn(part, said)
        self.assertNotIn('agent', said)

    def test_hooks_after_ours(self):
        self.config(group='inspector', hooks='inspection-rules, ports,raid')

        said = self.gaps()
        self.assertIn('agent: ', said)
        self.assertIn('ports, raid', said)
        # All rules run.
        self.assertNotIn('Not all', said)
        self.assertIn('run too early', said)

    def test_hooks_after_the_first_of_ours(self):
        self.config(
            group='inspector', hooks='inspection-rules,ports,inspection-rules'
        )
        self.assertIn('of ports, which', self.gaps())

        self.config(
            group='inspector', hooks='ports,inspection-rules,inspection-rules'
        )
        self.assertEqual('', self.gaps())

    def test_an_interface_that_runs_none(self):
        self.enable('fake')
        self.assertEqual('', self.gaps())

        self.config(group='inspection_rules', supported_interfaces='.*')
        self.assertIn('fake: no rules run', self.gaps())


ACTIONS = [{'op': 'fail', 'args': {'msg': 'no'}}]


class LeftBehindTestCase(glue.GlueTestCase):
    def test_nothing_is_said_where_there_are_none(self):
        self.assertEqual([], list(announcement.warn_of_unadopted_rules()))

    def test_rows_of_its_table_are_counted(self):
        with enginefacade.writer.using(self.context) as session:
            session.execute(
                sa.insert(ironic_models.InspectionRule),
                {'actions': ACTIONS, 'uuid': 'one'},
            )

        (said,) = announcement.warn_of_unadopted_rules()
        self.assertIn("1 in Ironic's own table", said)
        self.assertIn('ironic-inspection-rules-dbsync adopt', said)

    def test_its_file_is_named_until_it_is_taken_over(self):
        for name in (
            '0a1b2c3d-0000-4000-8000-000000000001',
            '0A1B2C3D-0000-4000-8000-000000000002',
            'no-uuid',
        ):
            path = self.create_tempfiles(
                [
                    (
                        name,
                        f'[{{"uuid": "{name}", "actions": '
                        '[{"op": "fail", "args": {"msg": "no"}}]}]',
                    )
                ]
            )[0]
            self.config(group='inspection_rules', built_in_rules=path)
            self.assertIn(
                path, ''.join(announcement.warn_of_unadopted_rules())
            )

            adoption.store(
                [
                    {
                        'uuid': stock_form.uuid_of(name),
                        'version': '1.0',
                        'priority': 0,
                        'phase': 'main',
                        'sensitive': False,
                        'conditions': [],
                        'actions': ACTIONS,
                    }
                ]
            )
            self.assertEqual([], list(announcement.warn_of_unadopted_rules()))
