# SPDX-License-Identifier: Apache-2.0

"""Decides which machines the PXE filter lets pass.

The PXE filter blocks the network boot of machines that are not in inspection.
To *pass* means that the requests of a machine for an address and a boot image
reach their servers. A machine is recognized by the MAC address from which it
sends. Every host has a filter, and all filters elect a *leader*. Machines pass
only on the leader's host.

A machine is *known* if Ironic has a port, or a port group, with its address,
and *unknown* otherwise.

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
    """A port in the database has an invalid MAC address."""


@dataclasses.dataclass(frozen=True)
class Admission:
    """The machines that a host lets pass.

    :param allowlist: MAC addresses of machines that pass.
    :param denylist: MAC addresses of machines that are blocked, unless they
        are in the allowlist as well.
    :param unknown: whether machines that are in neither list pass.
    """

    allowlist: frozenset[str] = frozenset()
    denylist: frozenset[str] = frozenset()
    unknown: bool = False


@dataclasses.dataclass(frozen=True)
class Machines:
    """The known machines of a cloud.

    :param known: MAC addresses of all ports and port groups.
    :param inspected: MAC addresses of the ports and port groups of nodes in
        inspection.
    :param any_inspection: whether any node is in inspection. It may have no
        ports yet, so that the address of its machine is unknown.
    """

    known: frozenset[str] = frozenset()
    inspected: frozenset[str] = frozenset()
    any_inspection: bool = False


@functools.lru_cache(maxsize=1)
def decide(machines: Machines, leads: bool, auto_discovery: bool) -> Admission:
    """Decide which machines a host lets pass.

    - A host that does not lead blocks all machines.
    - The leader lets machines in inspection pass, and blocks all other known
      machines. Unknown machines pass while any node is in inspection, or
      always with ``auto_discovery``.

    The last result is cached, because a host decides twice a second, there may
    be tens of thousands of machines, and they rarely change.

    :param leads: whether this host is the leader.
    :param auto_discovery: whether unknown machines always pass.
    """
    if not leads:
        # The host would block these machines without the denylist as well. If
        # it becomes the leader, less has to be changed.
        return Admission(denylist=machines.known)
    return Admission(
        allowlist=machines.inspected,
        denylist=machines.known - machines.inspected,
        unknown=auto_discovery or machines.any_inspection,
    )


def read_macs(rows: Iterable[Row]) -> frozenset[str]:
    """Return the MAC addresses of ports, in lower case.

    A bad address is an error, because the machine of a skipped port would
    count as unknown, and unknown machines may pass.

    :param rows: UUID and MAC address of ports.
    :raises: BadAddress for the first bad address.
    """
    first_error = None
    macs = set()
    # Read all rows, even after a bad address, because the transaction of the
    # iterator ends with the last row.
    for uuid, address in rows:
        mac = address.lower()
        if _MAC.fullmatch(mac):
            macs.add(mac)
        elif first_error is None:
            first_error = BadAddress(
                _('Port %(port)s has a bad MAC address: "%(address)s"')
                % {'port': uuid, 'address': address}
            )
    if first_error is not None:
        raise first_error
    return frozenset(macs)
