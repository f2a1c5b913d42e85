# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A stand-in for the database that a PXE filter reads."""

from oslo_utils import uuidutils


class FakeSource:
    """Ports in memory.

    :ivar known: addresses of all ports.
    :ivar inspected: those of nodes in inspection; None for one without.
    :ivar error: raised by everything while it is not None.
    :ivar reads: how often each list was asked for.
    """

    def __init__(self, known=(), inspected=()):
        self.known = list(known)
        self.inspected = list(inspected)
        self.error = None
        self.reads = {'known': 0, 'inspected': 0}

    def ping(self):
        if self.error is not None:
            raise self.error

    def ports(self):
        self.ping()
        self.reads['known'] += 1
        return [(uuidutils.generate_uuid(), mac) for mac in self.known]

    def inspected_ports(self):
        self.ping()
        self.reads['inspected'] += 1
        return [mac and (uuidutils.generate_uuid(), mac)
                for mac in self.inspected]
