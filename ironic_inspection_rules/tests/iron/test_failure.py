# SPDX-License-Identifier: Apache-2.0

"""A machine that a rule of the main phase does not want."""

from ironic_inspection_rules.tests.iron import base
from ironic_inspection_rules.tests.iron import cloud as iron_cloud


class FailureTestCase(base.IronTestCase):
    def test_a_rule_fails_the_inspection(self) -> None:
        machine = self.small_machine('small')
        self.create_rules(
            {
                'conditions': [
                    {
                        'op': 'lt',
                        'args': {'values': ['{inventory.cpu.count}', 64]},
                    }
                ],
                'actions': [
                    {
                        'op': 'fail',
                        'args': {
                            'msg': 'only {inventory.cpu.count} processors',
                            'maintenance': True,
                        },
                    }
                ],
            }
        )
        node = self.enroll(machine, iron_cloud.PROBE)
        self.boot_for_inspection(node, machine)
        shown = self.wait_until_inspected(node)
        self.assertEqual('inspect failed', shown['provision_state'])
        self.assertIn('only 1 processors', shown['last_error'])
        self.assertTrue(shown['maintenance'])
        machine.wait_until_off()
        self.assertIsNone(self.client.node(node)['reservation'])
