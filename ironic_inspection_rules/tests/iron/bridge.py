# SPDX-License-Identifier: Apache-2.0

"""The network on which machines boot."""

import fixtures

from ironic_inspection_rules.tests.integration import network

NAME = 'machines'
ADDRESS = '10.77.0.1'
"""Of Ironic and its files, on that network."""


class Bridge(fixtures.Fixture):
    """A bridge that machines and DHCP servers are plugged into.

    It is in the network namespace of this process, as libvirt and Ironic
    are. That must not be the one of the host.
    """

    def _setUp(self) -> None:
        self._ports = 0
        network.ip('link', 'set', 'lo', 'up')
        network.ip('link', 'add', NAME, 'type', 'bridge', 'forward_delay', '0')
        self.addCleanup(network.ip, 'link', 'del', NAME)
        network.ip('address', 'add', f'{ADDRESS}/16', 'dev', NAME)
        network.ip('link', 'set', NAME, 'up')

    def plug(
        self,
        namespace: network.Namespace,
        interface: str,
        address: str | None = None,
    ) -> None:
        """Give a namespace an interface that is plugged in here."""
        self._ports += 1
        port = f'host{self._ports}'
        network.ip(
            'link',
            'add',
            port,
            'type',
            'veth',
            'peer',
            'name',
            interface,
            'netns',
            namespace.name,
        )
        network.ip('link', 'set', port, 'up', 'master', NAME)
        if address:
            network.ip(
                '-n',
                namespace.name,
                'address',
                'add',
                address,
                'dev',
                interface,
            )
        network.ip('-n', namespace.name, 'link', 'set', interface, 'up')
