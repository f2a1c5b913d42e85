# SPDX-License-Identifier: Apache-2.0

"""What the tests on real Ironics stand on."""

import logging
from typing import Any
import uuid

from oslotest import base
from testtools import content

from ironic_inspection_rules.tests.integration import fixtures
from ironic_inspection_rules.tests.live import options

Json = dict[str, Any]


class IntegrationTestCase(base.BaseTestCase):
    """A test that speaks with an Ironic of its own."""

    def setUp(self) -> None:
        super().setUp()
        logging.getLogger('urllib3').setLevel(logging.INFO)


class TestCase(IntegrationTestCase):
    """A test on an all-in-one Ironic that it shares with other classes.

    :cvar overrides: configuration of that Ironic; classes with the same
        overrides share one.
    """

    overrides: options.Options = {}

    def setUp(self) -> None:
        super().setUp()
        self.ironic = fixtures.AllInOne.shared(self.overrides).ironic
        self.client = self.ironic.client()
        self.addCleanup(self.client.close)
        self.addCleanup(self.client.call, 'DELETE', '/v1/inspection_rules')
        logged = len(self.ironic.logs())
        self.addOnException(
            lambda exc_info: self.addDetail(
                'ironic logs',
                content.text_content(self.ironic.logs()[logged:]),
            )
        )

    def create_rule(self, *actions: Json, **fields: Any) -> Json:
        """Create a rule that runs until the end of this test.

        :param fields: of the rule, besides its actions.
        :returns: the rule as the API answered.
        """
        rule: Json = self.client.call(
            'POST', '/v1/inspection_rules', {'actions': actions, **fields}
        )
        return rule

    def inspect(self, data: Json | None = None, **fields: Any) -> Json:
        """Inspect a new node.

        :param data: what its ramdisk posts; :func:`ramdisk_data` with one
            interface unless given.
        :param fields: of the node.
        :returns: the node afterwards, whatever became of it.
        """
        data = data or ramdisk_data(new_mac())
        node = self.client.enroll(
            [nic['mac_address'] for nic in data['inventory']['interfaces']],
            **fields,
        )
        return self.client.inspect(node, data)

    def assert_inspected(self, node: Json) -> None:
        """Fail unless the node's inspection went well."""
        self.assertEqual(
            (None, 'manageable'), (node['last_error'], node['provision_state'])
        )

    def assert_failed(self, node: Json, *words: str) -> None:
        """Fail unless the node's inspection failed with such an error."""
        self.assertEqual('inspect failed', node['provision_state'])
        for word in words:
            self.assertIn(word, node['last_error'])


def action(op: str, *args: Any, **kwargs: Any) -> Json:
    """An action in list or in dict form.

    :param kwargs: arguments by name; ``loop`` is the loop.
    """
    loop = {'loop': kwargs.pop('loop')} if 'loop' in kwargs else {}
    return {'op': op, 'args': kwargs or list(args), **loop}


def new_mac() -> str:
    """A MAC address that no other test uses."""
    tail = uuid.uuid4().hex[:10]
    return ':'.join(['52', *(tail[i : i + 2] for i in range(0, 10, 2))])


def ramdisk_data(*macs: str, **plugin_data: Any) -> Json:
    """What the ramdisk of a small machine posts.

    :param macs: of its interfaces; the first one booted it.
    :param plugin_data: what collectors add to the inventory.
    """
    return {
        'inventory': {
            'bmc_address': '192.0.2.10',
            'bmc_v6address': None,
            'boot': {'current_boot_mode': 'uefi', 'pxe_interface': macs[0]},
            'cpu': {
                'architecture': 'x86_64',
                'count': 4,
                'flags': ['vmx'],
                'frequency': '2800.0',
                'model_name': 'Example CPU',
            },
            'disks': [
                {
                    'name': '/dev/sda',
                    'model': 'Example disk',
                    'size': 500107862016,
                    'rotational': False,
                    'serial': 'S1',
                    'wwn': '0x5000c500',
                }
            ],
            'hostname': 'example',
            'interfaces': [
                {
                    'name': f'eth{number}',
                    'mac_address': mac,
                    'ipv4_address': f'192.0.2.{100 + number}',
                    'ipv6_address': None,
                    'has_carrier': True,
                    'lldp': None,
                }
                for number, mac in enumerate(macs)
            ],
            'memory': {'physical_mb': 16384, 'total': 17179869184},
            'system_vendor': {
                'manufacturer': 'Example',
                'serial_number': '7',
                'product_name': 'One',
            },
        },
        **plugin_data,
    }
