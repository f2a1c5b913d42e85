# SPDX-License-Identifier: Apache-2.0

"""An unknown machine that is refused before it is enrolled."""

from ironic_inspection_rules.tests.iron import base


class RefusalTestCase(base.IronTestCase):
    def test_nothing_is_enrolled_and_one_line_says_why(self) -> None:
        machine = self.machine('stranger', serial='NOT-OURS')
        self.create_rules(
            {
                'phase': 'early',
                'description': 'Only our machines',
                'conditions': [
                    {
                        'op': '!contains',
                        'args': {
                            'value': '{inventory.system_vendor.serial_number}',
                            'regex': '^ACME',
                        },
                    }
                ],
                'actions': [{'op': 'fail', 'args': {'msg': 'not ordered'}}],
            }
        )
        machine.power_on()
        machine.wait_for_console(
            'the ramdisk was refused', 'Failed to perform inspection'
        )
        refusals = [
            line
            for line in self.log('ironic-api').splitlines()
            if ' INFO ' in line and 'is refused' in line
        ]
        self.assertEqual(1, len(refusals), refusals)
        for word in (
            'NOT-OURS',
            machine.mac,
            'Only our machines',
            'not ordered',
        ):
            self.assertIn(word, refusals[0])
        self.assertEqual([], self.client.call('GET', '/v1/nodes')['nodes'])
        self.assertIn('not ordered', machine.console())
