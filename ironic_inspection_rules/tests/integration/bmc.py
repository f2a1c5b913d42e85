# SPDX-License-Identifier: Apache-2.0

"""A baseboard management controller that answers over Redfish.

The emulator of sushy-tools (2.2.0) shows processors of libvirt's machines
only, and Ironic inspects no system without them.
"""

import http.server
import json
import threading
from typing import Any

import fixtures

_SYSTEM = '/redfish/v1/Systems/1'
_POWER = {'On': 'On', 'ForceOff': 'Off'}
"""The state of power after a reset."""

_WELL = {'State': 'Enabled', 'Health': 'OK'}


def _collection(*members: str) -> dict[str, Any]:
    return {
        'Name': 'Collection',
        'Members@odata.count': len(members),
        'Members': [{'@odata.id': member} for member in members],
    }


def _resources(mac: str) -> dict[str, dict[str, Any]]:
    """What a small server shows, by path."""
    return {
        '/redfish/v1': {
            'Id': 'Root',
            'Name': 'Root',
            'RedfishVersion': '1.6.0',
            'Systems': {'@odata.id': '/redfish/v1/Systems'},
        },
        '/redfish/v1/Systems': _collection(_SYSTEM),
        _SYSTEM: {
            'Id': '1',
            'Name': 'One',
            'PowerState': 'On',
            'Manufacturer': 'Example',
            'SerialNumber': '7',
            'MemorySummary': {'TotalSystemMemoryGiB': 16},
            'ProcessorSummary': {'Count': 1},
            'Boot': {'BootSourceOverrideMode': 'UEFI'},
            'Actions': {
                '#ComputerSystem.Reset': {
                    'target': f'{_SYSTEM}/Actions/ComputerSystem.Reset',
                    'ResetType@Redfish.AllowableValues': ['On', 'ForceOff'],
                }
            },
            'Processors': {'@odata.id': f'{_SYSTEM}/Processors'},
            'EthernetInterfaces': {'@odata.id': f'{_SYSTEM}/Nics'},
            'SimpleStorage': {'@odata.id': f'{_SYSTEM}/Disks'},
            'Storage': {'@odata.id': f'{_SYSTEM}/Storage'},
        },
        # Ironic 36 inspects no system without one.
        f'{_SYSTEM}/Storage': _collection(),
        f'{_SYSTEM}/Processors': _collection(f'{_SYSTEM}/Processors/1'),
        f'{_SYSTEM}/Processors/1': {
            'Id': '1',
            'Name': 'CPU',
            'Model': 'Example CPU',
            'TotalThreads': 8,
            'InstructionSet': 'x86-64',
            'ProcessorArchitecture': 'x86',
            'Status': _WELL,
        },
        f'{_SYSTEM}/Nics': _collection(f'{_SYSTEM}/Nics/1'),
        f'{_SYSTEM}/Nics/1': {
            'Id': '1',
            'Name': 'eth0',
            'MACAddress': mac,
            'Status': _WELL,
        },
        f'{_SYSTEM}/Disks': _collection(f'{_SYSTEM}/Disks/1'),
        f'{_SYSTEM}/Disks/1': {
            'Id': '1',
            'Name': 'Disk',
            'Devices': [
                {'Name': 'sda', 'CapacityBytes': 500107862016, 'Status': _WELL}
            ],
        },
    }


class RedfishBmc(fixtures.Fixture):
    """A controller of one server, on a free port of the loopback interface.

    :param mac: of the server's network interface.
    :ivar driver_info: how Ironic reaches it.
    :ivar resets: the resets that it was asked for.
    """

    def __init__(self, mac: str) -> None:
        super().__init__()
        self._mac = mac

    def _setUp(self) -> None:
        resources = _resources(self._mac)
        resets = self.resets = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = resources.get(self.path.rstrip('/'))
                body = json.dumps(
                    {'@odata.id': self.path, **(found or {})}
                ).encode()
                self.send_response(200 if found else 404)
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers['Content-Length']))
                reset = json.loads(body)['ResetType']
                resets.append(reset)
                resources[_SYSTEM]['PowerState'] = _POWER[reset]
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Keep requests out of the test's output."""

        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.driver_info = {
            'redfish_address': f'http://127.0.0.1:{server.server_port}',
            'redfish_system_id': _SYSTEM,
            'redfish_auth_type': 'basic',
            'redfish_username': 'admin',
            'redfish_password': 'pa55',
        }
