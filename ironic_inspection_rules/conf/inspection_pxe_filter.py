# SPDX-License-Identifier: Apache-2.0

"""Options of the PXE filter for unmanaged inspection.

The ranges are those of spec 001 ("Deployer impact").
"""

import re

from oslo_config import cfg
from oslo_config import types

from ironic_inspection_rules.i18n import _

GROUP = 'inspection_pxe_filter'


class Port(types.ConfigType):
    """A port of a transport protocol, such as ``67/udp``."""

    def __init__(self) -> None:
        super().__init__(type_name='port value')

    def __call__(self, value: str) -> str:
        port = value.strip().lower()
        match = re.fullmatch(r'([0-9]{1,5})/(?:udp|tcp)', port)
        if not match or not 0 < int(match[1]) < 65536:
            raise ValueError(
                _('"%s" is not a port such as "67/udp"') % value)
        return port

    def __repr__(self) -> str:
        return 'Port'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Port)

    def _formatter(self, value: str) -> str:
        return value


opts = [
    cfg.StrOpt('interface',
               regex=r'^[^\s/:@*"]{1,15}$',
               help=_('Name of the network interface that the DHCP server '
                      'for unmanaged inspection listens on. Required by '
                      'the PXE filter.')),
    cfg.ListOpt('ports',
                item_type=Port(),
                default=['67/udp', '69/udp'],
                help=_('Ports of that interface that only machines in '
                       'inspection may reach. Add "547/udp" where machines '
                       'get IPv6 addresses by DHCPv6.')),
    cfg.FloatOpt('sync_period',
                 default=15.0,
                 min=0.0,
                 max=30.0,
                 help=_('Seconds between two reads of all MAC addresses '
                        'that Ironic knows from the database. 0 means one '
                        'read at the start and then messages only.')),
    cfg.FloatOpt('allowlist_period',
                 deprecated_name='whitelist_period',
                 default=15.0,
                 min=0.0,
                 max=30.0,
                 help=_('Seconds between two reads of the nodes in '
                        'inspection from the database. 0 means messages '
                        'only.')),
    cfg.ListOpt('supported_inspect_interfaces',
                default=['agent'],
                help=_('Inspect interfaces of the nodes that are let '
                       'through while in inspection.')),
]
