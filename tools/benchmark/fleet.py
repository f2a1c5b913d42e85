# SPDX-License-Identifier: Apache-2.0

"""Measure the API with many nodes and rules beside stock Ironic's, in one run.

The main part tries rules on a fleet. The database of a real Ironic is filled
with nodes that have inventories of about 40 kB, and the client of this project
tries rules on all of them. The API has several processes of uWSGI. Their
memory is measured relative to the memory before.

The comparison is what a user must do without this project: download the
inventory and the ports of every node from the API of a stock Ironic, and
evaluate the rules. It is measured only on the first nodes, first one by one,
then as many at the same time as the client requests pages. Both sides must
find the same changes.
"""

import argparse
from collections.abc import Callable, Iterator
import contextlib
import functools
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import typing
from typing import Any
import uuid

from openstack import connection
import psutil

from benchmark import common
from benchmark import fleet_peer
from benchmark import history
from benchmark import hostile
from benchmark import queue
from benchmark import rule_sets
from benchmark import tables
from benchmark import traits
from ironic_inspection_rules.kit.client import fleet as client
from ironic_inspection_rules.kit.client import node as client_node
from ironic_inspection_rules.kit.client import rule_set
from ironic_inspection_rules.kit.osc import fleet_evaluation
from ironic_inspection_rules.kit.osc import parallel
from ironic_inspection_rules.tests.live import fleet
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service
from ironic_inspection_rules.tests.live import web_server

SIZE = 40_000

Json = dict[str, Any]


class Measured(typing.NamedTuple):
    """The cost of trying rules on some nodes.

    :ivar nodes: the number of nodes.
    :ivar seconds: the wall-clock time.
    :ivar api: the processor time of the API, in seconds.
    :ivar client: the processor time of this process, in seconds.
    :ivar found: the number of changes by name of the node; it must be the same
        on both sides of a comparison.
    """

    nodes: int
    seconds: float
    api: float
    client: float
    found: dict[str, int]

    def cells(self) -> list[str]:
        """Return the cells of a row: nodes, seconds, milliseconds per node."""
        return [
            f'{self.nodes:,}',
            f'{self.seconds:.1f}',
            *(
                f'{1000 * seconds / self.nodes:.2f}'
                for seconds in (self.seconds, self.api, self.client)
            ),
        ]


def inventory(number: int) -> Json:
    """Make the inventory of a machine, which has about 40 kB.

    It is the inventory of the sample, with additional disks and interfaces.

    :param number: the number of the machine. Processors, memory and names
        depend on it.
    """
    made: Json = json.loads(common.INVENTORY_FILE.read_text())['inventory']
    made['cpu']['count'] = 8 * (number % 16 + 1)
    made['memory']['physical_mb'] = 65536 * (number % 8 + 1)
    made['system_vendor'] = {
        'product_name': f'Model {number % 20}',
        'manufacturer': f'Maker {number % 5}',
        'serial_number': f'S{number:08}',
    }
    disk, interface = made['disks'][0], made['interfaces'][0]
    room = SIZE - len(json.dumps(made))
    more = room // (len(json.dumps(disk)) + len(json.dumps(interface)))
    for position in range(more):
        made['disks'].append(
            {
                **disk,
                'name': f'/dev/sd{position}',
                'serial': f'D{number:08}{position:03}',
            }
        )
        made['interfaces'].append(
            {
                **interface,
                'name': f'eth{position}',
                'mac_address': f'02:00:00:00:{position >> 8:02x}:'
                f'{position & 255:02x}',
            }
        )
    return made


def make_rules(count: int) -> list[Json]:
    """Make rules, of which about one in ten matches a machine."""
    return [_make_rule(number) for number in range(count)]


def _make_rule(number: int) -> Json:
    """Make a rule for one of 20 models of machines.

    Every tenth rule instead searches for a disk, with a loop over all disks.
    It matches all machines, because all of them have this disk.
    """
    conditions: list[Json]
    if number % 10 == 0:
        conditions = [
            {
                'op': 'contains',
                'loop': '{inventory[disks]}',
                'args': ['{item[name]}', 'sd1'],
                'multiple': 'any',
            }
        ]
    else:
        conditions = [
            {
                'op': 'eq',
                'args': [
                    '{inventory[system_vendor][product_name]}',
                    f'Model {number % 20}',
                ],
            },
            {
                'op': 'matches',
                'args': [
                    '{inventory[system_vendor][manufacturer]}',
                    'Maker [0-9]',
                ],
            },
            {
                'op': 'ge',
                'args': [
                    '{inventory[memory][physical_mb]}',
                    65536 * (number % 4),
                ],
            },
            {'op': 'is-empty', 'args': ['{node.driver_info[bench]}']},
        ]
    return {
        'uuid': str(uuid.UUID(int=number, version=4)),
        'description': f'Rule {number}',
        'conditions': conditions,
        'actions': [
            {
                'op': 'set-attribute',
                'args': [f'/extra/bench_{number}', '{inventory[cpu][count]}'],
            },
            {'op': 'add-trait', 'args': [f'CUSTOM_BENCH_{number % 20}']},
        ],
    }


@contextlib.contextmanager
def serving(
    ironic: launcher.Ironic,
    processes: int,
    changes: options.Options | None = None,
) -> Iterator[psutil.Process]:
    """Run a conductor, and the API in processes of uWSGI.

    :param processes: the number of processes of the API.
    :param changes: options that replace those of the Ironic.
    :returns: the parent of the processes of the API.
    """
    ironic.options = options.merged(ironic.options, changes or {})
    ironic.write_config()
    # The sample configuration of uWSGI also sets this variable, but only after
    # uWSGI has started Python. Python has read its environment by then.
    environment = {**os.environ, 'IRONIC_CONFIG_FILE': str(ironic.config)}
    with (ironic.directory / 'uwsgi.log').open('ab') as log:
        server = subprocess.Popen(
            [
                sys.executable,
                '-c',
                'import pyuwsgi; pyuwsgi.run()',
                '--ini',
                web_server.uwsgi_config(ironic, processes),
            ],
            stdout=log,
            stderr=log,
            env=environment,
            preexec_fn=service.end_with_parent,
        )
    try:
        ironic.start()
        yield psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()
        ironic.stop()


def store_nodes(ironic: launcher.Ironic, count: int) -> None:
    """Store nodes with inventories in the database.

    :param count: the number of nodes.
    """
    with contextlib.closing(fleet.Fleet(ironic)) as nodes:
        machines = nodes.make(
            [f'node-{number}' for number in range(count)], 'manageable'
        )
        nodes.store(machines, map(inventory, range(count)))


class Memory(threading.Thread):
    """Measures the memory of a server, twenty times per second.

    :param server: the parent of all other processes of the server.
    :ivar most: the most memory so far, in MiB above the memory that the server
        had at the start.
    """

    def __init__(self, server: psutil.Process) -> None:
        super().__init__(daemon=True)
        self._processes = [server, *server.children(recursive=True)]
        self._idle = self._now()
        self._over = threading.Event()
        self.most = 0.0

    def run(self) -> None:
        """Measure until :meth:`stop` is called."""
        while not self._over.wait(0.05):
            self.most = max(self.most, self._now() - self._idle)

    def stop(self) -> float:
        """Stop the thread, and return the most memory in MiB."""
        self._over.set()
        self.join()
        return self.most

    def _now(self) -> float:
        """Return the memory of all processes of the server, in MiB."""
        resident: int = sum(
            process.memory_info().rss for process in self._processes
        )
        return resident / 2**20


def measure(
    count: int, server: psutil.Process, call: Callable[[], dict[str, int]]
) -> Measured:
    """Measure the cost of a call that tries rules on nodes.

    :param count: the number of nodes.
    :param server: the parent of the processes of the API.
    :param call: a function that tries the rules, and returns the number of
        changes by name of the node.
    """
    began = time.monotonic()
    api_before, client_before = processor_times(server)
    changes_by_name = call()
    seconds = time.monotonic() - began
    api_after, client_after = processor_times(server)
    return Measured(
        count,
        seconds,
        api_after - api_before,
        client_after - client_before,
        changes_by_name,
    )


def processor_times(server: psutil.Process) -> tuple[float, float]:
    """Return the processor time of the API and of this process, in seconds.

    :param server: the parent of the processes of the API.
    """
    times = [
        process.cpu_times()
        for process in (server, *server.children(recursive=True))
    ]
    return (
        sum(spent.user + spent.system for spent in times),
        time.process_time(),
    )


def evaluate(
    baremetal: Any, rules: list[Json], jobs: int, compare: bool = False
) -> dict[str, int]:
    """Try the rules on the whole fleet.

    :param jobs: the number of pages that are requested at the same time.
    :param compare: whether to compare with the rules in force.
    :returns: the number of changes, by name of the node.
    """
    # The nodes are listed in the same way as by the command, because listing a
    # node with openstacksdk takes longer than trying the rules on it.
    nodes = list(client_node.nodes(baremetal, {}, ['uuid']))
    changes_by_name = {}
    with parallel.RequestThreads(jobs) as threads:
        results = fleet_evaluation.evaluate_nodes(
            baremetal, nodes, threads, rules=rules, compare=compare
        )
        for result in results:
            entry = result.compared
            # The rules do not cause the error of a node without a stored
            # inventory.
            if entry['result'] != 'ok' and 'no stored' not in entry['error']:
                raise SystemExit(f'The rules fail: {entry}')
            changes_by_name[entry['name']] = len(entry['changes'])
    return changes_by_name


def try_rules(arguments: argparse.Namespace) -> None:
    """Measure this project, and a client of stock Ironic's API.

    :raises: SystemExit if they do not find the same changes.
    """
    rules, jobs = make_rules(arguments.rules), arguments.jobs
    count, peers = arguments.nodes, min(arguments.peer, arguments.nodes)
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(common.server_database())
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        ironic = launcher.Ironic(
            directory,
            options.merged(options.split(), {'database': {'connection': url}}),
            ['ironic-conductor'],
        )
        ironic.create_database()
        with serving(ironic, arguments.processes):
            common.say(f'Filling the database with {count} nodes')
            store_nodes(ironic, count)
        with serving(ironic, arguments.processes) as server:
            cloud = connection.Connection(
                auth_type='none',
                endpoint=ironic.url,
                baremetal_endpoint_override=ironic.url,
                baremetal_api_version='1',
            )
            memory = Memory(server)
            memory.start()
            common.say('Trying the rules by this project')
            ours = measure(
                count,
                server,
                functools.partial(evaluate, cloud.baremetal, rules, jobs),
            )
            # From now on, all rules but one are in force, so that there is a
            # difference to find.
            rule_set.replace_inspection_rules(cloud.baremetal, rules[1:])
            compared = measure(
                count,
                server,
                functools.partial(
                    evaluate, cloud.baremetal, rules, jobs, compare=True
                ),
            )
            most = memory.stop()
        with serving(ironic, arguments.processes, queue.STOCK) as server:
            common.say('Trying the rules by the API of stock Ironic')
            one_by_one = measure(
                peers,
                server,
                functools.partial(
                    fleet_peer.evaluate, ironic, rules, peers, 1
                ),
            )
            together = measure(
                peers,
                server,
                functools.partial(
                    fleet_peer.evaluate, ironic, rules, peers, jobs
                ),
            )
    if not (
        len(one_by_one.found) == peers
        and one_by_one.found == together.found
        and one_by_one.found.items() <= ours.found.items()
    ):
        raise SystemExit('The two sides do not find the same changes.')
    table = common.Table(
        f'Trying {len(rules)} rules on a fleet '
        f'({common.server_version("mysql")}, {arguments.processes} processes '
        'of uWSGI)',
        (
            'By',
            'Nodes',
            'Takes, s',
            'A node, ms',
            'API, ms',
            'Client, ms',
            'A node of ours is faster',
        ),
        goal='10,000 nodes in 15 s on two cores, at most 200 MiB of memory, '
        "and 20 times as fast as stock Ironic's API one by one.",
    )
    table.add(
        f'this project, {jobs} pages of {client.PAGE} at a time',
        *ours.cells(),
        '',
    )
    table.add('the same, compared with rules in force', *compared.cells(), '')
    for name, theirs in (
        ('one by one', one_by_one),
        (f'{jobs} at a time', together),
    ):
        faster = theirs.seconds / peers / (ours.seconds / count)
        table.add(
            f"stock Ironic's API, {name}",
            *theirs.cells(),
            f'{faster:.1f} times',
        )
    table.print()
    print(
        f'Memory of the API: at most {most:.0f} MiB above idle.\n', flush=True
    )


def _missing(_arguments: argparse.Namespace) -> str | None:
    """Return what this machine lacks for the benchmark, or None."""
    if importlib.util.find_spec('pyuwsgi') is None:
        return 'there is no uWSGI for this Python: pip install pyuwsgi'
    return common.missing_database('mysql')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that several parts share."""
    parser.add_argument(
        '--database',
        default='mysql',
        choices=('sqlite', 'mysql', 'postgresql'),
        help='the database for all parts except "rules"',
    )


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--nodes',
        type=int,
        default=10_000,
        metavar='COUNT',
        help='number of nodes',
    )
    group.add_argument(
        '--rules',
        type=int,
        default=100,
        metavar='COUNT',
        help='number of rules',
    )
    group.add_argument(
        '--processes',
        type=int,
        default=2,
        metavar='COUNT',
        help='number of processes of the API',
    )
    group.add_argument(
        '--jobs',
        type=int,
        default=4,
        metavar='COUNT',
        help='number of pages that are requested at the same time',
    )
    group.add_argument(
        '--peer',
        type=int,
        default=500,
        metavar='COUNT',
        help="number of nodes for the measurement of stock Ironic's API",
    )


PARTS = (
    common.Part(
        'rules',
        "rules on a fleet, beside stock Ironic's API",
        try_rules,
        _add_arguments,
        _missing,
    ),
    history.PART,
    traits.PART,
    rule_sets.PART,
    hostile.PART,
    *tables.PARTS,
)
