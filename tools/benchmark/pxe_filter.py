# SPDX-License-Identifier: Apache-2.0

"""The PXE filter with many known machines, in a separate network."""

import argparse
from concurrent import futures
import ctypes
import functools
import multiprocessing
import os
import pathlib
import resource
import statistics
import tempfile
import threading
import time
import typing

from ironic.common import service
from ironic.conf import CONF
from ironic.db.sqlalchemy import models
from oslo_utils import uuidutils
import sqlalchemy as sa

from benchmark import common
from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.pxe_filter import firewall
from ironic_inspection_rules.pxe_filter import nftables
from ironic_inspection_rules.pxe_filter import notification
from ironic_inspection_rules.pxe_filter import service as filter_service
from ironic_inspection_rules.pxe_filter import watcher

CHANGES = 20

_CLONE_NEWNET = 0x40000000


class Measured(typing.NamedTuple):
    """The result of a measurement.

    :ivar first_sync: the seconds until the filter has written all machines.
    :ivar changes: for every change, the seconds until the filter has written
        it.
    :ivar memory: the peak memory of the process, in MiB.
    """

    first_sync: float
    changes: list[float]
    memory: float


class Leader:
    """An election without rivals, which needs no coordination backend."""

    def __init__(
        self, on_gained: election.Callback, on_lost: election.Callback
    ) -> None:
        self._on_gained = on_gained

    is_leader = True

    def remaining(self) -> float:
        return float(election.LEASE)

    def run(self, stop: threading.Event) -> None:
        self._on_gained()
        stop.wait()


class Stopwatch:
    """Runs nft for the filter, and waits until an address is written."""

    def __init__(self) -> None:
        self._awaited = ''
        self._done = threading.Event()

    def expect(self, mac: str) -> None:
        """Start to search the scripts of nft for a MAC address."""
        self._done.clear()
        self._awaited = mac

    def wait(self) -> None:
        """Wait until nft has run a script that contains the address."""
        self._done.wait()

    def run_nft(
        self, *arguments: str, script: str | None = None, timeout: float = 10.0
    ) -> str:
        """Run nft in the same way as :func:`.firewall.run_nft`."""
        output = firewall.run_nft(*arguments, script=script, timeout=timeout)
        if self._awaited in (script or ''):
            self._done.set()
        return output


def address(number: int) -> str:
    """Return the MAC address of a machine: ``52:00:00:00:00:01`` for 1."""
    octets = number.to_bytes(5, 'big')
    return ':'.join(['52', *(f'{octet:02x}' for octet in octets)])


def fill(url: str, ports: int) -> None:
    """Store two nodes with ports, of which the filter blocks all but one.

    The last port belongs to a node in inspection. All others belong to the
    other node.

    :param url: the URL of an empty database.
    :param ports: the number of ports.
    """
    engine = sa.create_engine(url)
    models.Base.metadata.create_all(engine)
    with engine.begin() as connection:
        nodes = [
            connection.execute(
                sa.insert(models.Node).values(
                    uuid=uuidutils.generate_uuid(),
                    provision_state=state,
                    inspect_interface='agent',
                )
            ).inserted_primary_key[0]  # type: ignore[index]
            for state in ('available', 'inspect wait')
        ]
        node_id, inspected_id = nodes
        # The rows are inserted in small steps, because the memory of this
        # process is measured.
        for start in range(0, ports, 1000):
            rows = []
            for number in range(start, min(start + 1000, ports)):
                rows.append(
                    {
                        'uuid': uuidutils.generate_uuid(),
                        'address': address(number),
                        'node_id': node_id,
                    }
                )
            if start + 1000 >= ports:
                rows[-1]['node_id'] = inspected_id
            connection.execute(sa.insert(models.Port), rows)
    engine.dispose()


def run_filter(ports: int) -> tuple[float, list[float]]:
    """Run a filter, and send it changes.

    :param ports: the number of ports in the database.
    :returns: the seconds of the first sync, and the seconds of every change.
    """
    watch = Stopwatch()
    stop = threading.Event()
    this = filter_service.PxeFilter(
        firewall.Firewall(
            nftables.FilterTable('lo', ['67/udp', '69/udp']), watch.run_nft
        ),
        watcher.PortSource(['agent']),
        Leader,  # type: ignore[arg-type]
        filter_service.Settings(),
    )
    thread = threading.Thread(target=this.run, args=(stop,))

    def timed(mac: str, act: typing.Callable[[], None]) -> float:
        """Return the seconds until nft has written an address."""
        watch.expect(mac)
        begin = time.perf_counter()
        act()
        watch.wait()
        return time.perf_counter() - begin

    def start() -> None:
        """Start the filter, which then writes all known addresses."""
        this.install()
        thread.start()

    def add(mac: str) -> None:
        """Send the filter the message that a port was created."""
        this.handle(
            notification.ListChange(
                notification.DENYLIST, notification.ADD, None, mac
            )
        )

    first = timed(address(0), start)
    changes = []
    for number in range(CHANGES):
        # After this pause, the filter has finished the previous change and
        # waits for the next.
        time.sleep(0.2)
        mac = address(ports + number)
        changes.append(timed(mac, functools.partial(add, mac)))
    stop.set()
    thread.join()
    return first, changes


def measure_alone(ports: int, database_url: str | None) -> Measured:
    """Measure a filter in a separate network.

    It must be called in a new process, because it leaves the network of the
    machine, and because all memory of the process is measured.

    :param ports: the number of ports in the database.
    :param database_url: the URL of an empty database that is reached through a
        file, which may be a socket; None for SQLite.
    """
    # This creates a separate network for this process. Otherwise nft would
    # change the network of the machine.
    if ctypes.CDLL(None).unshare(_CLONE_NEWNET):
        raise OSError('cannot make a network')
    with tempfile.TemporaryDirectory() as directory:
        url = database_url or f'sqlite:///{directory}/ironic.sqlite'
        fill(url, ports)
        config = pathlib.Path(directory, 'ironic.conf')
        config.write_text(
            '[DEFAULT]\nrpc_transport = none\n'
            'use_stderr = False\n'
            f'log_file = {directory}/log\n'
            f'[database]\nconnection = {url}\n'
        )
        service.prepare_command(['bench', '--config-file', str(config)])
        CONF.set_default('max_retries', 0, group='database')
        first, changes = run_filter(ports)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(first, changes, memory)


def measure(arguments: argparse.Namespace) -> None:
    """Measure a filter, in a new process."""
    # Only the new process leaves the network of the machine. Its memory does
    # not include the memory of this command.
    with futures.ProcessPoolExecutor(
        1, multiprocessing.get_context('spawn')
    ) as pool:
        measured = pool.submit(
            measure_alone, arguments.ports, arguments.ports_database
        ).result()
    url = arguments.ports_database or 'sqlite'
    table = common.Table(
        f'The PXE filter with {arguments.ports:,} ports '
        f'({url.partition(":")[0]})',
        ('What', 'Measured', 'Goal'),
    )
    table.add('First sync', f'{measured.first_sync:.1f} s', '5 s')
    table.add(
        'One change, median',
        f'{statistics.median(measured.changes) * 1000:.0f} ms',
        '100 ms',
    )
    table.add(
        'One change, slowest',
        f'{max(measured.changes) * 1000:.0f} ms',
        '100 ms',
    )
    table.add('Memory, highest', f'{measured.memory:.0f} MiB', '150 MiB')
    table.print()


def _missing(_arguments: argparse.Namespace) -> str | None:
    """Return what this machine lacks for the benchmark, or None."""
    if os.geteuid():
        return 'it makes a network of its own, which takes root'
    return common.missing_program('nft', 'nftables')


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--ports',
        type=int,
        default=50_000,
        metavar='COUNT',
        help='number of ports in the database',
    )
    group.add_argument(
        '--ports-database',
        metavar='URL',
        help='URL of an empty database that is a file or is reached by a '
        'socket (default: SQLite)',
    )


PART = common.Part(
    'pxe-filter',
    'the PXE filter with many known machines',
    measure,
    _add_arguments,
    _missing,
)
