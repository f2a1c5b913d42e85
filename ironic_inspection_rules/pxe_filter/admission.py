# SPDX-License-Identifier: Apache-2.0

"""Decide which machines the PXE filter lets pass.

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

    :param allowlist: MAC addresses that pass.
    :param denylist: MAC addresses that are blocked, unless in the allowlist.
    :param unknown: whether all other machines pass.
    """

    allowlist: frozenset[str] = frozenset()
    denylist: frozenset[str] = frozenset()
    unknown: bool = False


@dataclasses.dataclass(frozen=True)
class Machines:
    """The known machines of a cloud.

    :param known: MAC addresses of all ports and port groups.
    :param inspected: those of nodes in inspection.
    :param any_inspection: whether any node is in inspection, even without
        ports: its machine may have addresses that nobody knows yet.
    """

    known: frozenset[str] = frozenset()
    inspected: frozenset[str] = frozenset()
    any_inspection: bool = False


@functools.lru_cache(maxsize=1)
def decide(machines: Machines, leads: bool, auto_discovery: bool) -> Admission:
    """Decide which machines one host lets pass.

    The last result is cached, because a host decides twice a second, there may
    be tens of thousands of machines, and they rarely change.

    :param leads: whether this host is the leader. All other hosts block.
    :param auto_discovery: whether unknown machines always pass.
    """
    if not leads:
        # A host that does not lead blocks these machines anyway. Putting them
        # into its table leaves less to change when it becomes the leader.
        return Admission(denylist=machines.known)
    return Admission(
        allowlist=machines.inspected,
        denylist=machines.known - machines.inspected,
        unknown=auto_discovery or machines.any_inspection,
    )


def read_macs(rows: Iterable[Row]) -> frozenset[str]:
    """Return the MAC addresses of ports, in lower case.

    :param rows: UUID and MAC address of ports. All rows are read, even after a
        bad address, because the transaction ends only with the last row.
    :raises: BadAddress for the first bad address. If the port were skipped, a
        known machine would pass as an unknown one.
    """
    first_error = None
    macs = set()
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
