# SPDX-License-Identifier: Apache-2.0

"""What a conductor says of phases that do not run."""

from ironic.conf import CONF

from ironic_inspection_rules import conf
from ironic_inspection_rules.inspection import coverage
from ironic_inspection_rules.tests.unit import base


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
        return coverage.gaps('inspection-rules')

    def test_nothing_is_said_where_all_phases_run(self):
        self.assertIsNone(self.gaps())

    def test_a_list_of_hooks_without_ours(self):
        self.config(group='redfish', inspection_hooks='ports')

        said = self.gaps()
        for part in ('redfish: no rules of the phase preprocess',
                     'idrac-redfish: no rules', '[redfish]inspection_hooks'):
            self.assertIn(part, said)
        self.assertNotIn('agent', said)

    def test_hooks_after_ours(self):
        self.config(group='inspector', hooks='inspection-rules, ports,raid')

        said = self.gaps()
        self.assertIn('agent: ', said)
        self.assertIn('ports, raid', said)

    def test_an_interface_that_runs_none(self):
        self.enable('fake')
        self.assertIsNone(self.gaps())

        self.config(group='inspection_rules', supported_interfaces='.*')
        self.assertIn('fake: no rules run', self.gaps())
