# SPDX-License-Identifier: Apache-2.0

"""A stand-in for the database that a PXE filter reads."""

from oslo_utils import uuidutils


class FakeSource:
    """Ports in memory.

    :ivar known: addresses of all ports.
    :ivar inspected: those of nodes in inspection; None for one without.
    :ivar error: raised by everything while it is not None.
    :ivar reads: how often each list was asked for.
    :ivar pings: how often anything was.
    """

    def __init__(self, known=(), inspected=()):
        self.known = list(known)
        self.inspected = list(inspected)
        self.error = None
        self.reads = {'known': 0, 'inspected': 0}
        self.pings = 0

    def ping(self):
        self.pings += 1
        if self.error is not None:
            raise self.error

    def read_ports(self):
        self.ping()
        self.reads['known'] += 1
        return [(uuidutils.generate_uuid(), mac) for mac in self.known]

    def read_inspected_ports(self):
        self.ping()
        self.reads['inspected'] += 1
        return [
            mac and (uuidutils.generate_uuid(), mac) for mac in self.inspected
        ]
