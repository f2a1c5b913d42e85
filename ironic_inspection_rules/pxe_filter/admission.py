# SPDX-License-Identifier: Apache-2.0

"""Which machines the PXE filter admits, decided from plain data.

Source: spec 001 "HA Firewall decomposition".
"""

from collections.abc import Iterable
import dataclasses
import functools
import re

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

_MAC = re.compile(r'[0-9a-f]{2}(?::[0-9a-f]{2}){5}')

Row = tuple[str, str]
"""UUID and MAC address of a port."""


class BadAddress(exceptions.InspectionRulesError):
    """A port in the database has what is no MAC address."""


@dataclasses.dataclass(frozen=True)
class Admission:
    """Who passes on the host of the leader.

    :param allowlist: MAC addresses that pass.
    :param denylist: MAC addresses that do not, unless they are allowed.
    :param unknown: whether all other machines pass.
    """

    allowlist: frozenset[str] = frozenset()
    denylist: frozenset[str] = frozenset()
    unknown: bool = False


@dataclasses.dataclass(frozen=True)
class Machines:
    """The known machines of a cloud.

    :param known: MAC addresses of all ports.
    :param inspected: those of nodes in inspection.
    :param inspecting: whether any node is in inspection, ports or not.
    """

    known: frozenset[str] = frozenset()
    inspected: frozenset[str] = frozenset()
    inspecting: bool = False


@functools.lru_cache(maxsize=1)
def decide(machines: Machines, leads: bool, auto_discovery: bool) -> Admission:
    """Decide whom one host lets pass.

    The same arguments give the same object, which costs nothing however many
    machines there are: a host decides twice a second.

    :param leads: whether this host is the one that may admit any.
    """
    if not leads:
        return Admission(denylist=machines.known)
    return Admission(allowlist=machines.inspected,
                     denylist=machines.known - machines.inspected,
                     unknown=auto_discovery or machines.inspecting)


def read_macs(rows: Iterable[Row]) -> frozenset[str]:
    """Collect MAC addresses, in lower case.

    :param rows: read to the end in any case, where a transaction may end.
    :raises: BadAddress for the first that is none. To leave it out would
        let a known machine pass as an unknown one.
    """
    bad = None
    macs = set()
    for port, address in rows:
        mac = address.lower()
        if _MAC.fullmatch(mac):
            macs.add(mac)
        elif bad is None:
            bad = {'port': port, 'address': address}
    if bad is not None:
        raise BadAddress(
            _('Port %(port)s has a bad MAC address: "%(address)s"') % bad)
    return frozenset(macs)
