# SPDX-License-Identifier: Apache-2.0

"""Measure durable inspection against stock Ironic, on one machine.

Posts batches of inventories at once, with many other nodes in the database,
in turn to a stock Ironic whose conductor processes them, and to one with the
queue and 1, 2 and 4 worker processes (``--workers``). All process while they
accept, and share the processors of the machine with the API and the database.
What counts is the median of how both compare in each round.

Then posts lone inventories, one at a time: to both without a message broker,
and to both over RabbitMQ, where separate workers are woken up.

Needs a MariaDB server: ``--server`` is a SQLAlchemy URL without a database;
and the right to use ``rabbitmqctl``.
With ``--plans`` it measures nothing: it fills the queue with 100,000 requests,
and shows how the database carries out what workers and leader ask for again
and again.

Exits with 1 when inventories are accepted at less than 0.8 times the rate of
stock Ironic, or any is refused.
"""

import argparse
import collections
from collections.abc import Iterator
import contextlib
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import typing
import uuid

from ironic.db.sqlalchemy import models as ironic_models
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules.db import migration
from ironic_inspection_rules.tests.functional.queue import test_plans
from ironic_inspection_rules.tests.integration import fixtures
from ironic_inspection_rules.tests.live import fleet
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service

WORKER = 'ironic-inspection-worker'
ACCEPT_LIMIT = 0.8
_STUCK = 15
"""Seconds without progress after which nothing more is waited for."""

# A minute after its start a conductor looks at the power of all nodes, one by
# one, which takes a processor for longer than a batch.
_QUIET: options.Options = {'conductor': {'sync_power_state_interval': 0}}
STOCK: options.Options = options.merged(_QUIET, {
    'api': {'middleware': None}, 'inspector': {'hooks': '$default_hooks'}})
QUEUE: options.Options = options.merged(_QUIET, {'inspection_queue': {
    'enabled': True, 'embedded': False, 'workers': 2}})


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--server',
                        default='mysql+pymysql://root@127.0.0.1:3306')
    parser.add_argument('--batch', type=int, default=300)
    parser.add_argument('--others', type=int, default=10000,
                        help='nodes that are not inspected')
    parser.add_argument('--at-once', type=int, default=16,
                        help='inventories posted at the same time')
    parser.add_argument('--lone', type=int, default=30,
                        help='lone inspections to measure')
    parser.add_argument('--lone-only', action='store_true',
                        help='measure no batches')
    parser.add_argument('--workers', type=int, nargs='+', default=[1, 2, 4],
                        help='numbers of worker processes to measure')
    parser.add_argument('--rounds', type=int, default=3,
                        help='batches to post to each')
    parser.add_argument('--plans', action='store_true',
                        help='explain the queries of a long queue')
    return parser.parse_args()


class Batch(typing.NamedTuple):
    """Inventories accepted and inspected a second; of a worker, its MiB."""

    accepted: float
    inspected: float
    memory: float
    answers: dict[int, int]


@contextlib.contextmanager
def database(server: str) -> Iterator[str]:
    """Make a database for as long as the context lasts; gives its URL."""
    name = f'ir_bench_{uuid.uuid4().hex}'
    engine = sa.create_engine(server, isolation_level='AUTOCOMMIT')
    with engine.connect() as connection:
        connection.execute(sa.text(f'CREATE DATABASE {name}'))
    try:
        yield f'{server}/{name}'
    finally:
        with engine.connect() as connection:
            connection.execute(sa.text(f'DROP DATABASE {name}'))
        engine.dispose()


@contextlib.contextmanager
def running(given: argparse.Namespace, overrides: options.Options
            ) -> Iterator[tuple[launcher.Ironic, fleet.Fleet]]:
    """Run an Ironic with the nodes that are not inspected."""
    with database(given.server) as url, (
            tempfile.TemporaryDirectory()) as directory, launcher.Ironic(
                directory, options.merged(overrides, {
                    'database': {'connection': url}})) as ironic:
        nodes = fleet.Fleet(ironic)
        with contextlib.closing(nodes):
            nodes.make([f'other-{number}' for number in range(given.others)],
                       'manageable')
            yield ironic, nodes


def accept(nodes: fleet.Fleet, machines: list[fleet.Machine],
           at_once: int) -> tuple[float, dict[int, int]]:
    """Post the data of machines.

    :returns: inventories a second, and how many answers there were of which
        status; each inventory is posted once.
    """
    began = time.monotonic()
    answers = nodes.post(machines, at_once, insist=False)
    rate = len(machines) / (time.monotonic() - began)
    return rate, dict(collections.Counter(
        answer.status_code for answer in answers))


def drain(ironic: launcher.Ironic) -> float:
    """Wait until no machine is in inspection; tell the seconds.

    Stock Ironic leaves a machine whose data it refused in ``inspect wait``:
    those are not waited for.
    """
    began = time.monotonic()
    engine = sa.create_engine(ironic.options['database']['connection'])
    count = sa.text("SELECT COUNT(*) FROM nodes WHERE provision_state IN "
                    "('inspect wait', 'inspecting')")
    left, since = -1, began
    while left and time.monotonic() - since < _STUCK:
        time.sleep(0.05)
        with engine.connect() as connection:
            present = connection.execute(count).scalar_one()
        if present != left:
            left, since = present, time.monotonic()
    engine.dispose()
    return since - began


def measure_batch(given: argparse.Namespace, ironic: launcher.Ironic,
                  nodes: fleet.Fleet, workers: int) -> Batch:
    """Post a batch, with so many worker processes, and wait for its end."""
    machines = nodes.make([uuid.uuid4().hex for _ in range(given.batch)])
    started = [ironic.spawn(WORKER) for _ in range(workers)]
    wait_until_ready(started)
    began = time.monotonic()
    rate, answers = accept(nodes, machines, given.at_once)
    drain(ironic)
    total = given.batch / (time.monotonic() - began)
    memory = max(map(resident, started), default=0.0)
    for worker in started:
        worker.stop()
    return Batch(rate, total, memory, answers)


def wait_until_ready(workers: list[service.Service]) -> None:
    """Wait until workers have loaded their drivers."""
    while not all(' starts with ' in worker.output() for worker in workers):
        time.sleep(0.02)


def resident(worker: service.Service) -> float:
    """Memory of the process of a worker that works, in MiB."""
    found = subprocess.run(
        ['pgrep', '-P', str(worker.process.pid)], check=True,
        capture_output=True, text=True).stdout.split()
    status = pathlib.Path('/proc', found[0], 'status').read_text()
    return int(status.split('VmRSS:')[1].split()[0]) / 1024


def measure_lone(given: argparse.Namespace,
                 *shapes: tuple[options.Options, int]) -> list[float]:
    """Measure lone inspections, posted one at a time.

    All Ironics run at once and are posted to in turn, so that what else the
    machine does slows down all of them.

    :param shapes: of the Ironics: options, and number of worker processes.
    :returns: the medians of the milliseconds from the post to the end.
    """
    with contextlib.ExitStack() as stack:
        made = []
        for overrides, workers in shapes:
            ironic, nodes = stack.enter_context(running(given, overrides))
            wait_until_ready([ironic.spawn(WORKER) for _ in range(workers)])
            made.append((ironic, nodes, list[float]()))
        for number in range(given.lone):
            for ironic, nodes, seconds in made:
                machine, = nodes.make([f'lone{number}'])
                began = time.monotonic()
                nodes.post([machine])
                drain_one(ironic, machine)
                seconds.append(time.monotonic() - began)
        return [statistics.median(seconds) * 1000
                for _ironic, _nodes, seconds in made]


def drain_one(ironic: launcher.Ironic, machine: fleet.Machine) -> None:
    """Wait until a machine is inspected, asking often."""
    engine = sa.create_engine(ironic.options['database']['connection'])
    state = sa.text('SELECT provision_state FROM nodes WHERE uuid = :uuid')
    with engine.connect().execution_options(
            isolation_level='AUTOCOMMIT') as connection:
        while connection.execute(state, {'uuid': machine.uuid}
                                 ).scalar_one() != 'manageable':
            time.sleep(0.001)
    engine.dispose()


def compare_lone(given: argparse.Namespace) -> None:
    """Measure lone inspections with and without a message broker."""
    stock, embedded = measure_lone(given, (STOCK, 0), (options.merged(
        QUEUE, {'inspection_queue': {'embedded': True}}), 0))
    print(f'lone:    {stock:.0f} ms in stock Ironic, '
          f'{embedded:.0f} ms with the embedded worker')
    with contextlib.ExitStack() as stack:
        # Services of two clouds would take each other's messages.
        buses = [{'DEFAULT': {
            'rpc_transport': 'oslo', 'transport_url': stack.enter_context(
                fixtures.MessageBus()).url}} for _ in range(3)]
        stock, one, two = measure_lone(given, *(
            (options.merged(shape, bus), count) for bus, (shape, count)
            in zip(buses, ((STOCK, 0), (QUEUE, 1), (QUEUE, 2)), strict=True)))
    print(f'lone:    {stock:.0f} ms in stock Ironic over RabbitMQ, '
          f'{one:.0f} and {two:.0f} ms with one and two separate workers')


def explain(given: argparse.Namespace) -> None:
    """Show the plans of the queries that are asked again and again."""
    with database(given.server) as url:
        enginefacade.configure(connection=url)
        migration.upgrade()
        ironic_models.Base.metadata.create_all(
            enginefacade.writer.get_engine())
        engine = enginefacade.writer.get_engine()
        test_plans.fill(engine)
        for name, question in test_plans.questions().items():
            queries = test_plans.asked(engine, question)
            with engine.connect() as connection:
                for statement, parameters in queries:
                    print(f'{name}:', ' '.join(statement.split())[:150])
                    for row in connection.exec_driver_sql(
                            f'EXPLAIN {statement}', parameters):
                        print('   ', *row)


def compare_batches(given: argparse.Namespace) -> bool:
    """Measure batches; tell whether enough is accepted.

    Both Ironics run at once and are posted to in turn: how fast the machine
    is changes by more than what is measured.
    """
    batches = collections.defaultdict[int, list[Batch]](list)
    with running(given, STOCK) as stock, running(given, QUEUE) as queue:
        for _round in range(given.rounds):
            batches[0].append(measure_batch(given, *stock, 0))
            for workers in given.workers:
                batches[workers].append(
                    measure_batch(given, *queue, workers))
    for workers, measured in batches.items():
        answers = sum((collections.Counter(batch.answers)
                       for batch in measured), collections.Counter())
        print(f'{workers or "no"} workers: accepts', *(
            f'{batch.accepted:.1f}' for batch in measured), 'a second, with '
            f'the answers {dict(answers)}; inspects', *(
            f'{batch.inspected:.1f}' for batch in measured), 'a second; '
            f'{max(batch.memory for batch in measured):.0f} MiB')

    def times(workers: int, name: str) -> float:
        return statistics.median(
            getattr(batch, name) / getattr(stock, name) for batch, stock
            in zip(batches[workers], batches[0], strict=True))
    for workers in given.workers:
        print(f'{workers} workers: accepts {times(workers, "accepted"):.2f} '
              f'and inspects {times(workers, "inspected"):.2f} times as fast '
              f'as stock Ironic')
    return all(times(workers, 'accepted') >= ACCEPT_LIMIT
               and all(set(batch.answers) == {202}
                       for batch in batches[workers])
               for workers in given.workers)


def main() -> int:
    """Run the command."""
    given = arguments()
    if given.plans:
        explain(given)
        return 0
    enough = given.lone_only or compare_batches(given)
    compare_lone(given)
    return not enough


if __name__ == '__main__':
    sys.exit(main())
