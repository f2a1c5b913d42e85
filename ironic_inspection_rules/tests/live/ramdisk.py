# SPDX-License-Identifier: Apache-2.0

"""Plays the ramdisks of all machines that an Ironic boots for inspection.

    python -m ironic_inspection_rules.tests.live.ramdisk URL machine.json …

answers for each node that waits, for as long as this Ironic answers.
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
"""So many in a row, and Ironic is gone."""

Json = dict[str, Any]


def answer(session: client.Client, machine: Callable[[str], Json]) -> None:
    """Post the data of each machine whose node waits for its ramdisk.

    :param machine: what the machine with this MAC address posts.
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
    """Return the machine with an interface, or one like the first."""
    for data in machines:
        if mac in [
            nic['mac_address'] for nic in data['inventory']['interfaces']
        ]:
            return data
    data = copy.deepcopy(machines[0])
    data['inventory']['interfaces'][0]['mac_address'] = mac
    return data


def main(url: str, *paths: str) -> None:
    """Answer until Ironic is gone."""
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
                # Somebody else has the node, or has removed it.
                pass
            time.sleep(_PERIOD)


if __name__ == '__main__':
    main(*sys.argv[1:])
