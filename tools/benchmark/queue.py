# SPDX-License-Identifier: Apache-2.0

"""Measure durable inspection beside stock Ironic, in one run.

Two Ironics run at the same time with MariaDB, which has many other nodes. The
workers share the processors of the machine with the API and the database.
Batches of inventories are posted to both in turns, and are processed while
more are accepted. The result is the median ratio between both in a round.
Then single inventories are posted, one at a time.
"""

import argparse
import collections
from collections.abc import Iterator
import contextlib
import pathlib
import re
import statistics
import subprocess
import tempfile
import time
import typing
import uuid

import sqlalchemy as sa

from benchmark import common
from benchmark import inspection
from ironic_inspection_rules.tests.integration import fixtures
from ironic_inspection_rules.tests.live import fleet
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service

WORKER = 'ironic-inspection-worker'
_STUCK = 15
"""Seconds without progress after which waiting ends."""

# One minute after its start, a conductor checks the power of all nodes one by
# one, which occupies a processor for longer than a batch takes.
_QUIET: options.Options = {'conductor': {'sync_power_state_interval': 0}}
STOCK: options.Options = options.merged(_QUIET, inspection.STOCK)
QUEUE: options.Options = options.merged(
    _QUIET,
    {'inspection_queue': {'enabled': True, 'embedded': False, 'workers': 2}},
)


class Batch(typing.NamedTuple):
    """The result of a batch of inventories.

    :ivar accepted: inventories per second, until all were posted.
    :ivar inspected: inventories per second, until all were inspected.
    :ivar memory: the memory of the largest worker process in MiB; 0 without
        workers.
    :ivar answers: the number of responses, by HTTP status.
    """

    accepted: float
    inspected: float
    memory: float
    answers: dict[int, int]


@contextlib.contextmanager
def running(
    arguments: argparse.Namespace, overrides: options.Options
) -> Iterator[tuple[launcher.Ironic, fleet.Fleet]]:
    """Run an Ironic that has many nodes which are not inspected.

    :param overrides: the options of this Ironic.
    :returns: the Ironic, and the fleet, which makes further nodes in it.
    """
    with (
        common.server_database() as url,
        tempfile.TemporaryDirectory() as directory,
        launcher.Ironic(
            directory,
            options.merged(overrides, {'database': {'connection': url}}),
        ) as ironic,
    ):
        nodes = fleet.Fleet(ironic)
        with contextlib.closing(nodes):
            others = range(arguments.others)
            nodes.make([f'other-{number}' for number in others], 'manageable')
            yield ironic, nodes


def post_all(
    nodes: fleet.Fleet, machines: list[fleet.Machine], at_once: int
) -> tuple[float, dict[int, int]]:
    """Post the inventory of every machine once, even if it is refused.

    :param at_once: the number of inventories that are posted at the same time.
    :returns: inventories per second, and the number of responses by status.
    """
    began = time.monotonic()
    answers = nodes.post(machines, at_once, insist=False)
    rate = len(machines) / (time.monotonic() - began)
    statuses = collections.Counter(answer.status_code for answer in answers)
    return rate, dict(statuses)


def wait_until_idle(ironic: launcher.Ironic) -> float:
    """Wait until no machine is in inspection, or until nothing changes.

    The number of machines in inspection need not become zero: stock Ironic
    leaves a machine whose data it has refused in ``inspect wait``.

    :returns: the seconds until the last change.
    """
    began = time.monotonic()
    engine = sa.create_engine(ironic.options['database']['connection'])
    count = sa.text(
        'SELECT COUNT(*) FROM nodes WHERE provision_state IN '
        "('inspect wait', 'inspecting')"
    )
    # This is not a valid number, so that the first number read counts as a
    # change.
    nodes_left = -1
    changed_at = began
    while nodes_left and time.monotonic() - changed_at < _STUCK:
        time.sleep(0.05)
        with engine.connect() as connection:
            present_count = connection.execute(count).scalar_one()
        if present_count != nodes_left:
            nodes_left = present_count
            changed_at = time.monotonic()
    engine.dispose()
    return changed_at - began


def measure_batch(
    arguments: argparse.Namespace,
    ironic: launcher.Ironic,
    nodes: fleet.Fleet,
    workers: int,
) -> Batch:
    """Post a batch of inventories, and wait until all are inspected.

    :param workers: the number of worker processes, which are started before
        the batch and stopped after it.
    """
    machines = nodes.make([uuid.uuid4().hex for _ in range(arguments.batch)])
    started = [ironic.spawn(WORKER) for _ in range(workers)]
    wait_until_ready(started)
    began = time.monotonic()
    rate, answers = post_all(nodes, machines, arguments.at_once)
    wait_until_idle(ironic)
    total = arguments.batch / (time.monotonic() - began)
    memory = max(map(memory_of_worker, started), default=0.0)
    for worker in started:
        worker.stop()
    return Batch(rate, total, memory, answers)


def wait_until_ready(workers: list[service.Service]) -> None:
    """Wait until workers have loaded their drivers, which they log."""
    while not all(' starts with ' in worker.output() for worker in workers):
        time.sleep(0.02)


def memory_of_worker(worker: service.Service) -> float:
    """Return the memory of a worker in MiB."""
    # The process that was started only restarts the worker, which is its
    # child.
    done = subprocess.run(
        ['pgrep', '-P', str(worker.process.pid)],
        check=True,
        capture_output=True,
        text=True,
    )
    child = done.stdout.split()[0]
    status = pathlib.Path('/proc', child, 'status').read_text()
    [kib] = re.findall(r'VmRSS:\s+(\d+)', status)
    return int(kib) / 1024


def measure_lone(
    arguments: argparse.Namespace, *shapes: tuple[options.Options, int]
) -> list[float]:
    """Measure lone inspections, in which one inventory is posted at a time.

    All Ironics run at the same time and get inventories in turn, so that other
    load on the machine slows down all of them.

    :param shapes: for every Ironic, its options and its number of worker
        processes.
    :returns: for every Ironic, the median milliseconds from post to end.
    """
    with contextlib.ExitStack() as stack:
        made = []
        for overrides, workers in shapes:
            ironic, nodes = stack.enter_context(running(arguments, overrides))
            wait_until_ready([ironic.spawn(WORKER) for _ in range(workers)])
            made.append((ironic, nodes, list[float]()))
        for number in range(arguments.lone):
            for ironic, nodes, seconds in made:
                (machine,) = nodes.make([f'lone{number}'])
                began = time.monotonic()
                nodes.post([machine])
                wait_until_inspected(ironic, machine)
                seconds.append(time.monotonic() - began)
        return [
            statistics.median(seconds) * 1000
            for _ironic, _nodes, seconds in made
        ]


def wait_until_inspected(
    ironic: launcher.Ironic, machine: fleet.Machine
) -> None:
    """Wait until a machine is inspected, with very short pauses."""
    engine = sa.create_engine(ironic.options['database']['connection'])
    state = sa.text('SELECT provision_state FROM nodes WHERE uuid = :uuid')
    with engine.connect().execution_options(
        isolation_level='AUTOCOMMIT'
    ) as connection:
        while (
            connection.execute(state, {'uuid': machine.uuid}).scalar_one()
            != 'manageable'
        ):
            time.sleep(0.001)
    engine.dispose()


def compare_lone_embedded(arguments: argparse.Namespace) -> None:
    """Measure lone inspections without a message broker."""
    embedded = options.merged(QUEUE, {'inspection_queue': {'embedded': True}})
    stock, ours = measure_lone(arguments, (STOCK, 0), (embedded, 0))
    table = common.Table(
        'A lone inspection without a message broker, median in ms '
        f'({common.server_version("mysql")})',
        ('Ironic', 'Takes'),
    )
    table.add('Stock Ironic', f'{stock:.0f}')
    table.add('Queue, embedded worker', f'{ours:.0f}')
    table.print()


def compare_lone_over_broker(arguments: argparse.Namespace) -> None:
    """Measure lone inspections in which a broker wakes up separate workers."""
    names = ('Stock Ironic', 'Queue, one worker', 'Queue, two workers')
    shapes = ((STOCK, 0), (QUEUE, 1), (QUEUE, 2))
    with contextlib.ExitStack() as stack:
        on_buses = []
        for shape, workers in shapes:
            # Without separate buses, services of two clouds would receive each
            # other's messages.
            bus = stack.enter_context(fixtures.MessageBus())
            on_buses.append(
                (
                    options.merged(
                        shape,
                        {
                            'DEFAULT': {
                                'rpc_transport': 'oslo',
                                'transport_url': bus.url,
                            }
                        },
                    ),
                    workers,
                )
            )
        medians = measure_lone(arguments, *on_buses)
    table = common.Table(
        'A lone inspection over RabbitMQ, median in ms '
        f'({common.server_version("mysql")})',
        ('Ironic', 'Takes'),
    )
    for name, median in zip(names, medians, strict=True):
        table.add(name, f'{median:.0f}')
    table.print()


def compare_batches(arguments: argparse.Namespace) -> None:
    """Measure batches.

    Both Ironics run at the same time, and inventories are posted to them in
    turn, because the speed of the machine changes by more than the measured
    difference.
    """
    batches = collections.defaultdict[int, list[Batch]](list)
    with (
        running(arguments, STOCK) as stock,
        running(arguments, QUEUE) as queue,
    ):
        for number in range(arguments.rounds):
            common.say(f'Round {number + 1} of {arguments.rounds}')
            batches[0].append(measure_batch(arguments, *stock, 0))
            for workers in arguments.workers:
                batches[workers].append(
                    measure_batch(arguments, *queue, workers)
                )
    table = common.Table(
        f'Batches of {arguments.batch} inventories among {arguments.others:,} '
        f'nodes, medians of {arguments.rounds} rounds '
        f'({common.server_version("mysql")})',
        (
            'Ironic',
            'Accepted a second',
            'Inspected a second',
            'Refused',
            'Accepts',
            'Inspects',
            'Memory of a worker',
        ),
    )
    for workers, measured in batches.items():
        refused = sum(
            count
            for batch in measured
            for status, count in batch.answers.items()
            if status != 202
        )
        accepted = statistics.median(batch.accepted for batch in measured)
        inspected = statistics.median(batch.inspected for batch in measured)
        cells = [f'{accepted:.1f}', f'{inspected:.1f}', f'{refused}']
        if workers:
            memory = max(batch.memory for batch in measured)
            table.add(
                f'Queue, workers: {workers}',
                *cells,
                _times(measured, batches[0], 'accepted'),
                _times(measured, batches[0], 'inspected'),
                f'{memory:.0f} MiB',
            )
        else:
            table.add('Stock Ironic', *cells, '1', '1', '')
    table.print()


def _times(measured: list[Batch], reference: list[Batch], name: str) -> str:
    """Return how many times as fast as another Ironic is: ``2.1 times``.

    Both are compared in every round, because the speed of the machine differs
    between rounds. The result is the median of all rounds.

    :param measured: the batches of an Ironic.
    :param reference: the batches of stock Ironic, in the same rounds.
    :param name: ``accepted`` or ``inspected``.
    """
    median = statistics.median(
        getattr(batch, name) / getattr(stock, name)
        for batch, stock in zip(measured, reference, strict=True)
    )
    return f'{median:.1f} times'


def _missing_server(_arguments: argparse.Namespace) -> str | None:
    """Return what to do if there is no MariaDB server, or None."""
    return common.missing_database('mysql')


def _missing_broker(_arguments: argparse.Namespace) -> str | None:
    """Return what to do if MariaDB or RabbitMQ is missing, or None."""
    return common.missing_database('mysql') or common.missing_broker()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that several parts have."""
    parser.add_argument(
        '--others',
        type=int,
        default=10_000,
        metavar='COUNT',
        help='number of nodes that are not inspected',
    )
    parser.add_argument(
        '--lone',
        type=int,
        default=30,
        metavar='COUNT',
        help='number of inspections, one at a time, by each Ironic',
    )


def _add_batches(group: argparse._ArgumentGroup) -> None:
    """Declare the options of the parts that post batches."""
    group.add_argument(
        '--batch',
        type=int,
        default=300,
        metavar='COUNT',
        help='number of inventories in a batch',
    )
    group.add_argument(
        '--at-once',
        type=int,
        default=16,
        metavar='COUNT',
        help='number of inventories that are posted at the same time',
    )
    group.add_argument(
        '--rounds',
        type=int,
        default=3,
        metavar='COUNT',
        help='number of batches for each Ironic and number of workers',
    )
    group.add_argument(
        '--workers',
        type=int,
        nargs='+',
        default=[1, 2, 4],
        metavar='COUNT',
        help='numbers of worker processes',
    )


PARTS = (
    common.Part(
        'batches',
        'many machines at once',
        compare_batches,
        _add_batches,
        _missing_server,
    ),
    common.Part(
        'lone',
        'one machine at a time, by the embedded worker',
        compare_lone_embedded,
        missing=_missing_server,
    ),
    common.Part(
        'lone-broker',
        'one machine at a time, over RabbitMQ',
        compare_lone_over_broker,
        missing=_missing_broker,
    ),
)
