# SPDX-License-Identifier: Apache-2.0

"""Plays the ramdisks of all machines that an Ironic boots for inspection.

    python -m ironic_inspection_rules.tests.live.ramdisk URL machine.json …

posts data for every node that waits for its ramdisk, until Ironic is gone.
"""

from collections.abc import Callable
import copy
import json
import pathlib
import sys
import time
from typing import Any

import requests

from ironic_inspection_rules.tests.live import client

_PERIOD = 1.0
_REFUSALS = 10
"""Number of refused connections in a row after which Ironic is gone."""

Json = dict[str, Any]


def answer(session: client.Client, machine: Callable[[str], Json]) -> None:
    """Post the data of every machine whose node waits for its ramdisk.

    :param machine: a function that returns the data to post for the machine
        with a MAC address.
    """
    waiting = session.call(
        'GET',
        '/v1/nodes?provision_state=inspect%20wait&fields=uuid,reservation',
    )['nodes']
    for node in waiting:
        ports = session.call('GET', f'/v1/nodes/{node["uuid"]}/ports')['ports']
        if ports and node['reservation'] is None:
            session.call(
                'POST',
                f'/v1/continue_inspection?node_uuid={node["uuid"]}',
                machine(ports[0]['address']),
            )


def find(machines: list[Json], mac: str) -> Json:
    """Return the data of the machine with a MAC address.

    If there is none, return a copy of the first machine with this address.
    """
    for data in machines:
        if mac in [
            nic['mac_address'] for nic in data['inventory']['interfaces']
        ]:
            return data
    data = copy.deepcopy(machines[0])
    data['inventory']['interfaces'][0]['mac_address'] = mac
    return data


def main(url: str, *paths: str) -> None:
    """Post data for waiting nodes until Ironic is gone.

    :param url: the root of Ironic's API.
    :param paths: JSON files with the data of machines.
    """
    machines = [json.loads(pathlib.Path(path).read_text()) for path in paths]
    refusals = 0
    with client.Client(url) as session:
        while refusals < _REFUSALS:
            try:
                answer(session, lambda mac: find(machines, mac))
                refusals = 0
            except requests.ConnectionError:
                refusals += 1
            except requests.RequestException:
                # Ignore this, because somebody else may have locked or removed
                # the node.
                pass
            time.sleep(_PERIOD)


if __name__ == '__main__':
    main(*sys.argv[1:])
