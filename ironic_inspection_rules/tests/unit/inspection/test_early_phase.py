# SPDX-License-Identifier: Apache-2.0

"""What is logged of a machine that an early rule refuses."""

import logging

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.inspection import early_phase
from ironic_inspection_rules.tests.unit.inspection import base


class RefusedMachineTestCase(base.GlueTestCase):
    def setUp(self):
        super().setUp()
        rules = base.rules(
            base.rule(('fail', {'msg': 'not ours'}), phase='early')
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.inspection.start.rules',
                lambda: rules,
            )
        )
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))

    def logged(self, **inventory):
        """Return the line that is logged of a machine."""
        self.assertRaises(
            exceptions.RuleError,
            early_phase.run,
            self.context,
            inventory,
            {},
        )
        return self.log.output.splitlines()[-1]

    def test_it_is_named_with_rule_and_reason(self):
        line = self.logged(
            system_vendor={'serial_number': 'SN1'},
            interfaces=[{'mac_address': base.MAC}],
        )
        self.assertIn(f'serial number SN1, addresses {base.MAC} is', line)
        self.assertIn('fail: not ours', line)

    def test_what_it_does_not_report_is_unknown(self):
        for serial in (None, '', '  '):
            line = self.logged(system_vendor={'serial_number': serial})
            self.assertIn('serial number unknown, addresses unknown', line)
