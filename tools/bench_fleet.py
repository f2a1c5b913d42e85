#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measure trying rules on a fleet, beside what a user does without that.

Fills the database of a real Ironic with nodes that have inventories of about
40 kB, made from the sample, and tries 100 rules on all of them: by the client
of this project, with some pages at a time. The API has as many processes, of
uWSGI. Their memory is measured above what they have before.

The peer is what there is without it, ``bench_fleet_peer``. It is measured on
the first nodes only, one by one as the goal has it, and then with as many at
a time as there are pages. All have to find the same changes.

Needs uWSGI with its plugin for this Python, and a MariaDB server: ``--server``
is a SQLAlchemy URL without a database. Exits with 1 when a goal is missed:
10,000 nodes in 60 seconds, 200 MiB, and 20 times the rate of the peer.
"""

import argparse
from collections.abc import Callable, Iterator
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any
import uuid

import bench_fleet_peer
import bench_queue
from openstack import connection
import psutil

from ironic_inspection_rules.client import fleet as client
from ironic_inspection_rules.client import rule_set
from ironic_inspection_rules.osc import fleet_evaluation
from ironic_inspection_rules.osc import parallel
from ironic_inspection_rules.tests.live import fleet
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service
from ironic_inspection_rules.tests.live import web_server

SAMPLE = pathlib.Path(__file__).with_name('samples').joinpath(
    'inventory-virtual-machine.json')
SIZE = 40_000

SECONDS_PER_NODE = 60 / 10_000
MIB = 200
FASTER = 20

Json = dict[str, Any]

Measured = tuple[float, dict[str, int]]
"""Seconds for a node, and how many changes each node would get."""


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--server',
                        default='mysql+pymysql://root@127.0.0.1:3306')
    parser.add_argument('--nodes', type=int, default=10000)
    parser.add_argument('--rules', type=int, default=100)
    parser.add_argument('--processes', type=int, default=2,
                        help='of the API')
    parser.add_argument('--jobs', type=int, default=4,
                        help='pages at a time, as the command has them')
    parser.add_argument('--peer', type=int, default=500,
                        help='nodes that the peer is measured on')
    return parser.parse_args()


def inventory(number: int) -> Json:
    """Make the inventory of a machine, of about 40 kB.

    That of the sample, with as many more disks and interfaces as it takes.
    """
    made: Json = json.loads(SAMPLE.read_text())['inventory']
    made['cpu']['count'] = 8 * (number % 16 + 1)
    made['memory']['physical_mb'] = 65536 * (number % 8 + 1)
    made['system_vendor'] = {'product_name': f'Model {number % 20}',
                             'manufacturer': f'Maker {number % 5}',
                             'serial_number': f'S{number:08}'}
    disk, interface = made['disks'][0], made['interfaces'][0]
    room = SIZE - len(json.dumps(made))
    more = room // (len(json.dumps(disk)) + len(json.dumps(interface)))
    for position in range(more):
        made['disks'].append({**disk, 'name': f'/dev/sd{position}',
                              'serial': f'D{number:08}{position:03}'})
        made['interfaces'].append({
            **interface, 'name': f'eth{position}',
            'mac_address': f'02:00:00:00:{position >> 8:02x}:'
                           f'{position & 255:02x}'})
    return made


def make_rules(count: int) -> list[Json]:
    """Make rules of which one in ten or so matches a machine."""
    return [_make_rule(number) for number in range(count)]


def _make_rule(number: int) -> Json:
    return {
        'uuid': str(uuid.UUID(int=number, version=4)),
        'description': f'Rule {number}', 'conditions': [
            {'op': 'eq', 'args': ['{inventory[system_vendor][product_name]}',
                                  f'Model {number % 20}']},
            {'op': 'matches', 'args': [
                '{inventory[system_vendor][manufacturer]}', 'Maker [0-9]']},
            {'op': 'ge', 'args': ['{inventory[memory][physical_mb]}',
                                  65536 * (number % 4)]},
            {'op': 'is-empty', 'args': ['{node.driver_info[bench]}']},
        ] if number % 10 else [
            {'op': 'contains', 'loop': '{inventory[disks]}',
             'args': ['{item[name]}', 'sd1'], 'multiple': 'any'}],
        'actions': [
            {'op': 'set-attribute', 'args': [
                f'/extra/bench_{number}', '{inventory[cpu][count]}']},
            {'op': 'add-trait', 'args': [f'CUSTOM_BENCH_{number % 20}']}]}


@contextlib.contextmanager
def serving(ironic: launcher.Ironic, environment: pathlib.Path,
            processes: int, changes: options.Options | None = None
            ) -> Iterator[psutil.Process]:
    """Have a conductor, and the API in processes of uWSGI.

    :param changes: to the configuration.
    :returns: the process that has started those of the API.
    """
    ironic.options = options.merged(ironic.options, changes or {})
    ironic.write_config()
    with (ironic.directory / 'uwsgi.log').open('ab') as log:
        server = subprocess.Popen(
            web_server.uwsgi(ironic, environment, processes), stdout=log,
            stderr=log, preexec_fn=service.end_with_parent)
    try:
        ironic.start()
        yield psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()
        ironic.stop()


def fill(ironic: launcher.Ironic, count: int) -> dict[str, int]:
    """Put nodes with inventories into the database; tell of no changes."""
    with contextlib.closing(fleet.Fleet(ironic)) as nodes:
        machines = nodes.make([f'node-{number}' for number in range(count)],
                              'manageable')
        nodes.store(machines, map(inventory, range(count)))
    return {}


class Memory(threading.Thread):
    """Looks at the memory of a server, again and again.

    :param server: the process that has started its others.
    :ivar most: MiB above what they had at first.
    """

    def __init__(self, server: psutil.Process) -> None:
        super().__init__(daemon=True)
        self._processes = [server, *server.children(recursive=True)]
        self._idle = self._now()
        self._over = threading.Event()
        self.most = 0.0

    def run(self) -> None:
        """Look until :meth:`stop`."""
        while not self._over.wait(0.05):
            self.most = max(self.most, self._now() - self._idle)

    def stop(self) -> float:
        """Stop, and tell the most that there was."""
        self._over.set()
        self.join()
        return self.most

    def _now(self) -> float:
        resident: int = sum(process.memory_info().rss
                            for process in self._processes)
        return resident / 2 ** 20


def measure(name: str, count: int, server: psutil.Process,
            call: Callable[[], dict[str, int]]) -> Measured:
    """Print how long it takes to do something for some nodes, and the work.

    :param server: the process that has started those of the API.
    """
    began, worked = time.monotonic(), processor_times(server)
    found = call()
    seconds = time.monotonic() - began
    api, client_ = (1000 * (after - before) / count for before, after
                    in zip(worked, processor_times(server), strict=True))
    print(f'{name}: {count} nodes in {seconds:.1f} s, '
          f'{1000 * seconds / count:.2f} ms each; processor time of the API '
          f'{api:.2f} ms, of the client {client_:.2f} ms', flush=True)
    return seconds / count, found


def processor_times(server: psutil.Process) -> tuple[float, float]:
    """Return the seconds that the API and this process have worked."""
    times = [process.cpu_times() for process
             in (server, *server.children(recursive=True))]
    return (sum(each.user + each.system for each in times),
            time.process_time())


def evaluate(baremetal: Any, rules: list[Json] | None, given:
             argparse.Namespace, compare: bool = False) -> dict[str, Any]:
    """Try the rules on the whole fleet; tell the changes of each node."""
    nodes = list(baremetal.nodes(fields=['uuid']))
    found = {}
    with parallel.Requests(given.jobs) as threads:
        for entry, _plain in fleet_evaluation.tried(
                baremetal, nodes, threads, rules=rules, compare=compare):
            assert (entry['result'] == 'ok'
                    or 'no stored' in entry['error']), entry
            found[entry['name']] = len(entry['changes'])
    return found


def measure_ours(ironic: launcher.Ironic, server: psutil.Process,
                 rules: list[Json], given: argparse.Namespace) -> Measured:
    """Measure this project."""
    cloud = connection.Connection(
        auth_type='none', endpoint=ironic.url,
        baremetal_endpoint_override=ironic.url, baremetal_api_version='1')
    ours = measure(
        f'this project, {given.jobs} pages of {client.PAGE} at a time',
        given.nodes, server, lambda: evaluate(cloud.baremetal, rules, given))
    rule_set.replace_inspection_rules(cloud.baremetal, rules[1:])
    measure(f'the same compared with {len(rules) - 1} rules in force',
            given.nodes, server,
            lambda: evaluate(cloud.baremetal, rules, given, compare=True))
    return ours


def measure_theirs(ironic: launcher.Ironic, server: psutil.Process,
                   rules: list[Json], count: int, jobs: int) -> Measured:
    """Measure the peer."""
    return measure(
        f'stock API, {jobs} at a time, and the offline engine', count, server,
        lambda: bench_fleet_peer.evaluate(ironic, rules, count, jobs))


def main() -> int:
    """Run the command."""
    given = arguments()
    rules = make_rules(given.rules)
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(bench_queue.database(given.server))
        directory = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory()))
        environment = web_server.make_environment(directory)
        ironic = launcher.Ironic(directory, options.merged(options.split(), {
            'database': {'connection': url}}), ['ironic-conductor'])
        ironic.create_database()
        with serving(ironic, environment, given.processes) as server:
            measure('filling the database', given.nodes, server,
                    lambda: fill(ironic, given.nodes))
        with serving(ironic, environment, given.processes) as server:
            memory = Memory(server)
            memory.start()
            ours, found = measure_ours(ironic, server, rules, given)
            most = memory.stop()
            print(f'memory of the API: {most:.0f} MiB above idle')
        with serving(ironic, environment, given.processes,
                     bench_queue.STOCK) as server:
            one_by_one, peer = measure_theirs(
                ironic, server, rules, given.peer, 1)
            together, more = measure_theirs(
                ironic, server, rules, given.peer, given.jobs)
    assert len(peer) == given.peer
    assert peer == more
    assert peer.items() <= found.items(), 'not the same changes'
    print(f'{one_by_one / ours:.1f} times as fast as one by one, '
          f'{together / ours:.1f} times as fast as {given.jobs} at a time')
    return not (ours <= SECONDS_PER_NODE and most <= MIB
                and one_by_one >= FASTER * ours)


if __name__ == '__main__':
    sys.exit(main())
