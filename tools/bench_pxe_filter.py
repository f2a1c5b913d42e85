#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measure the PXE filter with many known machines, in a network of its own.

Needs root and nft. Exits with 1 when a limit is missed.
"""

import argparse
import ctypes
import pathlib
import resource
import statistics
import sys
import tempfile
import threading
import time
import typing

from ironic.common import service
from ironic.conf import CONF
from ironic.db.sqlalchemy import models
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.pxe_filter import firewall
from ironic_inspection_rules.pxe_filter import nftables
from ironic_inspection_rules.pxe_filter import notification
from ironic_inspection_rules.pxe_filter import service as filter_service
from ironic_inspection_rules.pxe_filter import watcher

FIRST_SYNC = 5.0
CHANGE = 0.1
MEMORY = 150

CHANGES = 20

_CLONE_NEWNET = 0x40000000


class Leader:
    """An election without rivals."""

    def __init__(self, on_gained: election.Callback,
                 on_lost: election.Callback) -> None:
        self._on_gained = on_gained

    is_leader = True

    def remaining(self) -> float:
        return float(election.LEASE)

    def run(self, stop: threading.Event) -> None:
        self._on_gained()
        stop.wait()


class Stopwatch:
    """Runs nft, and tells when it was done with an address."""

    def __init__(self) -> None:
        self._awaited = ''
        self._done = threading.Event()

    def expect(self, mac: str) -> None:
        self._done.clear()
        self._awaited = mac

    def wait(self) -> None:
        self._done.wait()

    def run_nft(self, *arguments: str, script: str | None = None,
                timeout: float = 10.0) -> str:
        answer = firewall.run_nft(*arguments, script=script, timeout=timeout)
        if self._awaited in (script or ''):
            self._done.set()
        return answer


def address(number: int) -> str:
    """The MAC address of a machine."""
    octets = number.to_bytes(5, 'big')
    return ':'.join(['52', *(f'{octet:02x}' for octet in octets)])


def fill(url: str, ports: int) -> None:
    """Store ports, of which the last belongs to a node in inspection."""
    engine = sa.create_engine(url)
    models.Base.metadata.create_all(engine)
    with engine.begin() as connection:
        nodes = [
            connection.execute(sa.insert(models.Node).values(
                uuid=uuidutils.generate_uuid(), provision_state=state,
                inspect_interface='agent')).inserted_primary_key[0]  # type: ignore[index]
            for state in ('available', 'inspect wait')]
        # In small steps, for the memory of this process is measured.
        for start in range(0, ports, 1000):
            connection.execute(sa.insert(models.Port), [
                {'uuid': uuidutils.generate_uuid(),
                 'address': address(number),
                 'node_id': nodes[number == ports - 1]}
                for number in range(start, min(start + 1000, ports))])
    engine.dispose()


def measure(ports: int) -> tuple[float, list[float]]:
    """Run a filter; return seconds of the first sync and of each change."""
    watch = Stopwatch()
    stop = threading.Event()
    this = filter_service.PxeFilter(
        firewall.Firewall(nftables.Table('lo', ['67/udp', '69/udp']),
                          watch.run_nft),
        watcher.PortSource(['agent']),
        Leader,  # type: ignore[arg-type]
        filter_service.Settings())
    thread = threading.Thread(target=this.run, args=(stop,))

    def timed(mac: str, act: typing.Callable[[], None]) -> float:
        watch.expect(mac)
        begin = time.perf_counter()
        act()
        watch.wait()
        return time.perf_counter() - begin

    def start() -> None:
        this.install()
        thread.start()

    def add(mac: str) -> None:
        this.handle(notification.Change(
            notification.DENYLIST, notification.ADD, None, mac))

    first = timed(address(0), start)
    changes = []
    for number in range(CHANGES):
        time.sleep(0.2)
        mac = address(ports + number)
        changes.append(timed(mac, lambda mac=mac: add(mac)))
    stop.set()
    thread.join()
    return first, changes


def report(what: str, value: float, limit: float, unit: str) -> bool:
    """Print one figure; say whether it is good."""
    good = value < limit
    print(f'{what:32} {value:8.1f} {unit:4} (limit {limit:g}) '
          f'{"ok" if good else "MISSED"}')
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--ports', type=int, default=50_000)
    parser.add_argument('--database', metavar='URL',
                        help='of an empty database that is reached by a '
                             'file, be it a socket; SQLite if not given')
    options = parser.parse_args()
    # nft works on the network of the process, which is to be a new one.
    if ctypes.CDLL(None).unshare(_CLONE_NEWNET):
        parser.exit(1, 'Cannot make a network; this takes root.\n')

    with tempfile.TemporaryDirectory() as directory:
        url = options.database or f'sqlite:///{directory}/ironic.sqlite'
        fill(url, options.ports)
        config = pathlib.Path(directory, 'ironic.conf')
        config.write_text('[DEFAULT]\nrpc_transport = none\n'
                          'use_stderr = False\n'
                          f'log_file = {directory}/log\n'
                          f'[database]\nconnection = {url}\n')
        service.prepare_command(['bench', '--config-file', str(config)])
        CONF.set_default('max_retries', 0, group='database')
        first, changes = measure(options.ports)

    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f'{options.ports} ports on {url.partition(":")[0]}')
    return not all([
        report('first sync', first, FIRST_SYNC, 's'),
        report('one change, median', statistics.median(changes) * 1000,
               CHANGE * 1000, 'ms'),
        report('one change, slowest', max(changes) * 1000, CHANGE * 1000,
               'ms'),
        report('memory, highest', memory, MEMORY, 'MiB')])


if __name__ == '__main__':
    sys.exit(main())
