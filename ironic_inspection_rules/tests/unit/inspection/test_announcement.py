# SPDX-License-Identifier: Apache-2.0

"""What a service says of itself when it starts."""

import fixtures
from ironic.conf import CONF

from ironic_inspection_rules import conf
from ironic_inspection_rules.inspection import announcement
from ironic_inspection_rules.tests.unit import base


class MissingTestCase(base.IronicTestCase):

    def setUp(self):
        super().setUp()
        conf.register_opts(CONF)
        self.config(group='api', middleware=['inspection-rules'])
        self.config(group='inspector', hooks='ports, inspection-rules')
        self.config(enabled_inspect_interfaces=['agent', 'redfish'])

    def test_nothing_is_said_where_both_halves_are_on(self):
        self.assertEqual([], list(announcement.missing()))

    def test_rules_that_would_never_run(self):
        self.config(group='inspector', hooks='ports')

        said, = announcement.missing()
        self.assertIn('[inspector]hooks', said)

    def test_a_conductor_that_would_not_load_the_hook(self):
        self.config(enabled_inspect_interfaces=['redfish'],
                    rpc_transport='json-rpc')

        said, = announcement.missing()
        self.assertIn('[redfish]inspection_hooks', said)

        self.config(group='redfish', inspection_hooks='inspection-rules')
        self.assertEqual([], list(announcement.missing()))

    def test_rules_that_cannot_be_made(self):
        self.config(group='api', middleware=['other'])

        said, = announcement.missing()
        self.assertIn('[api]middleware', said)

    def test_hooks_that_are_not_installed(self):
        self.assertEqual([], list(announcement.unknown_hooks()))

        self.config(group='inspector', hooks='ports,inspection-rule,')
        self.config(group='redfish', inspection_hooks='ports, prots')
        self.assertEqual([
            '[inspector]hooks: unknown hook "inspection-rule"; did you mean '
            '"inspection-rules"?'], list(announcement.unknown_hooks())[:1])
        self.assertIn('[redfish]inspection_hooks: unknown hook "prots"',
                      list(announcement.unknown_hooks())[-1])


class OutOfReachTestCase(base.IronicTestCase):

    def test_nothing_is_said_where_the_database_is_reached(self):
        self.assertEqual([], list(announcement.out_of_reach()))

    def test_what_needs_the_database_is_named(self):
        self.useFixture(fixtures.MonkeyPatch(
            'ironic.objects.base.IronicObject.indirection_api', self))

        said, = announcement.out_of_reach()
        self.assertIn('use_rpc_for_database', said)
        self.assertIn('/v1/traits', said)
