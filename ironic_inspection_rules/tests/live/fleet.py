# SPDX-License-Identifier: Apache-2.0

"""Makes many nodes and inspects them at the same time."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent import futures
import contextlib
import dataclasses
import itertools
import json
import time
from typing import Any
import uuid

from oslo_utils import timeutils
import requests
import sqlalchemy as sa

from ironic_inspection_rules.tests.live import client as live_client
from ironic_inspection_rules.tests.live import launcher

RULES = (
    {
        'phase': 'preprocess',
        'actions': [
            {'op': 'extend-attribute', 'args': ['/extra/marks', 'preprocess']},
            {'op': 'extend-plugin-data', 'args': ['/marks', 'preprocess']},
        ],
    },
    {
        'phase': 'main',
        'actions': [
            {'op': 'extend-attribute', 'args': ['/extra/marks', 'main']},
            {'op': 'extend-plugin-data', 'args': ['/marks', 'main']},
            {
                'op': 'extend-port-attribute',
                'args': [
                    '{inventory[interfaces][0][mac_address]}',
                    '/extra/marks',
                    'main',
                ],
            },
        ],
    },
)
"""Rules that append marks, so that tests notice if they run twice."""

MARKS = ['preprocess', 'main']

_TOGETHER = 200
"""Number of inventories that one statement inserts."""

# The timeout in seconds. It is this long because killed workers and restarts
# have taken more than a minute on a busy machine.
_PATIENCE = 300
_PAUSE = 0.3


@dataclasses.dataclass(frozen=True)
class Machine:
    """A node with one port."""

    uuid: str
    name: str
    mac: str

    def data(self) -> dict[str, Any]:
        """Return the data that the ramdisk of this machine posts."""
        return {
            'inventory': {
                'interfaces': [
                    {
                        'name': 'eth0',
                        'mac_address': self.mac,
                        'ipv4_address': '192.0.2.1',
                        'has_carrier': True,
                    }
                ],
                'boot': {
                    'current_boot_mode': 'uefi',
                    'pxe_interface': self.mac,
                },
                'cpu': {'architecture': 'x86_64', 'count': 4},
                'disks': [
                    {
                        'name': '/dev/sda',
                        'size': 500107862016,
                        'model': 'Example disk',
                    }
                ],
                'memory': {'physical_mb': 16384},
            }
        }


class Fleet:
    """Inserts nodes directly into the database of an Ironic.

    The nodes are copies of one node that is created through the API.

    :param ironic: a running Ironic.
    """

    def __init__(self, ironic: launcher.Ironic) -> None:
        self._client = ironic.client()
        self._engine = sa.create_engine(
            ironic.options['database']['connection'], pool_pre_ping=True
        )
        metadata = sa.MetaData()
        self._nodes = sa.Table('nodes', metadata, autoload_with=self._engine)
        self._ports = sa.Table('ports', metadata, autoload_with=self._engine)
        self._inventories = sa.Table(
            'node_inventory', metadata, autoload_with=self._engine
        )
        template = self._client.enroll([_mac()])
        with self._engine.connect() as connection:
            self._node = (
                connection.execute(
                    sa.select(self._nodes).where(
                        self._nodes.c.uuid == template
                    )
                )
                .mappings()
                .one()
            )
            self._port = (
                connection.execute(
                    sa.select(self._ports).where(
                        self._ports.c.node_id == self._node['id']
                    )
                )
                .mappings()
                .one()
            )

    def close(self) -> None:
        """Close the connections to the database and the API."""
        self._engine.dispose()
        self._client.close()

    def make(
        self, names: Sequence[str], provision_state: str = 'inspect wait'
    ) -> list[Machine]:
        """Create machines with these names, and a node and a port for them.

        :param provision_state: the provision state of the new nodes.
        """
        machines = [Machine(str(uuid.uuid4()), name, _mac()) for name in names]
        common = {
            key: value for key, value in self._node.items() if key != 'id'
        }
        common.update(
            provision_state=provision_state,
            target_provision_state='manageable',
        )
        if provision_state == 'inspect wait':
            common['inspection_started_at'] = timeutils.utcnow()
        port = {key: value for key, value in self._port.items() if key != 'id'}
        with self._engine.begin() as connection:
            connection.execute(
                sa.insert(self._nodes),
                [
                    {**common, 'uuid': machine.uuid, 'name': machine.name}
                    for machine in machines
                ],
            )
            ids = dict(
                connection.execute(
                    sa.select(self._nodes.c.uuid, self._nodes.c.id)
                ).all()
            )
            connection.execute(
                sa.insert(self._ports),
                [
                    {
                        **port,
                        'uuid': str(uuid.uuid4()),
                        'address': machine.mac,
                        'node_id': ids[machine.uuid],
                    }
                    for machine in machines
                ],
            )
        return machines

    def store(
        self,
        machines: Sequence[Machine],
        inventories: Iterable[dict[str, Any]],
    ) -> None:
        """Store an inventory for each machine, as if it had been inspected."""
        made = zip(machines, inventories, strict=True)
        with self._engine.begin() as connection:
            ids = dict(
                connection.execute(
                    sa.select(self._nodes.c.uuid, self._nodes.c.id)
                ).all()
            )
            # Insert a few at a time, because the inventories of a large fleet
            # do not fit into memory. They may come from a generator.
            while True:
                rows = []
                for machine, inventory in itertools.islice(made, _TOGETHER):
                    rows.append(
                        {
                            'node_id': ids[machine.uuid],
                            'version': '1.0',
                            'inventory_data': json.dumps(inventory),
                            'plugin_data': '{}',
                        }
                    )
                if not rows:
                    break
                connection.execute(sa.insert(self._inventories), rows)

    def delete(self, machine: Machine) -> None:
        """Delete a node from the database, whatever its state is."""
        with self._engine.begin() as connection:
            node = (
                sa.select(self._nodes.c.id)
                .where(self._nodes.c.uuid == machine.uuid)
                .scalar_subquery()
            )
            connection.execute(
                sa.delete(self._ports).where(self._ports.c.node_id == node)
            )
            connection.execute(
                sa.delete(self._nodes).where(
                    self._nodes.c.uuid == machine.uuid
                )
            )

    def post(
        self,
        machines: Sequence[Machine],
        at_once: int = 8,
        insist: bool = True,
    ) -> list[requests.Response]:
        """Post the data of machines, as their ramdisks do.

        :param at_once: the number of machines that post at the same time.
        :param insist: whether to try again if Ironic has an internal error or
            another host has locked the node.
        :returns: the responses, in the order of the machines.
        """
        with futures.ThreadPoolExecutor(at_once) as pool:
            return list(
                pool.map(lambda machine: self._post(machine, insist), machines)
            )

    def _post(self, machine: Machine, insist: bool) -> requests.Response:
        """Post the data of one machine; see :meth:`post`.

        :raises: TimeoutError if no attempt succeeds in time.
        """
        deadline = time.monotonic() + _PATIENCE
        while True:
            # Use a new connection for every attempt, because ramdisks do not
            # share connections. Ramdisks try again if a connection fails.
            with live_client.Client(self._client.url) as ramdisk:
                try:
                    answer = ramdisk.post(
                        f'/v1/continue_inspection?node_uuid={machine.uuid}',
                        json=machine.data(),
                    )
                    if not (insist and _may_pass(answer)):
                        return answer
                except requests.ConnectionError:
                    answer = None
            if time.monotonic() > deadline:
                raise TimeoutError(answer and answer.text)
            time.sleep(_PAUSE)

    def requests(self) -> list[dict[str, Any]]:
        """Return all inspection requests that the API lists."""
        return list(self._pages())

    def _pages(self) -> Iterator[dict[str, Any]]:
        """Yield inspection requests from all pages of the list."""
        path = '/v1/inspection_requests'
        while path:
            page = self._client.call('GET', path)
            yield from page['inspection_requests']
            path = page.get('next')

    def wait(
        self, machines: Sequence[Machine], patience: float = _PATIENCE
    ) -> dict[str, dict[str, Any]]:
        """Wait until the last request of every one of these machines is done.

        :returns: the last requests by UUID of the node.
        :raises: TimeoutError with the last requests, if some are not done.
        """
        wanted = {machine.uuid for machine in machines}
        deadline = time.monotonic() + patience
        last: dict[str, dict[str, Any]] = {}
        while time.monotonic() < deadline:
            # Ignore errors, because the API fails while its process or its
            # database is stopped.
            with contextlib.suppress(requests.RequestException):
                last = {
                    request['node_uuid']: request
                    for request in self.requests()
                    if request['node_uuid'] in wanted
                }
                if len(last) == len(wanted) and all(
                    request['state'] in ('finished', 'error')
                    for request in last.values()
                ):
                    return last
            time.sleep(_PAUSE)
        raise TimeoutError(f'not all of {wanted} are done: {last}')

    def problems(self, machines: Sequence[Machine]) -> list[str]:
        """Return problems of machines on which RULES ran not exactly once.

        Every mark must be found exactly once in what the API returns.

        :returns: one text per machine with a problem.
        """
        return [
            problem
            for machine in machines
            for problem in self._problems(machine)
        ]

    def _problems(self, machine: Machine) -> Iterator[str]:
        """Yield the problem of a machine, if it has one.

        For example, ``node-1: {'node': ['preprocess', 'main', 'main'], …}``.
        """
        node = self._client.wait_for_state(
            machine.uuid, 'manageable', 'inspect failed'
        )
        if node['provision_state'] != 'manageable':
            yield f'{machine.name}: {node["last_error"]}'
            return
        (port,) = self._client.call(
            'GET', f'/v1/ports?address={machine.mac}&fields=extra'
        )['ports']
        found = {
            'node': node['extra'].get('marks'),
            'port': port['extra'].get('marks'),
            'plugin data': self._client.stored_data(machine.uuid)[
                'plugin_data'
            ].get('marks'),
        }
        expected = {'node': MARKS, 'port': MARKS[1:], 'plugin data': MARKS}
        if found != expected:
            yield f'{machine.name}: {found}'


def _mac() -> str:
    """Return a random MAC address, e.g. ``52:0f:3a:91:c4:7e``."""
    tail = uuid.uuid4().hex[:10]
    return ':'.join(['52', *(tail[i : i + 2] for i in range(0, 10, 2))])


def _may_pass(answer: requests.Response) -> bool:
    """Return whether the same request may succeed later."""
    return answer.status_code >= 500 or (
        answer.status_code == 409 and 'is locked by host' in answer.text
    )
