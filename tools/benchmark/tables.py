# SPDX-License-Identifier: Apache-2.0

"""Large tables: apply one, plan a change, and compare machines with one.

The commands are called in the same way as by users, and talk to a real Ironic
over SQLite, whose API and conductor are one process. The memory of a command
is its total memory. The memory of Ironic is the peak above idle.
"""

import argparse
from collections.abc import Iterator, Sequence
import contextlib
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import typing

import psutil

from benchmark import common
from ironic_inspection_rules.tests.live import fleet
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options

_HEADS = (
    'Command',
    'Takes, s',
    'Processor, s',
    'That of Ironic, s',
    'Memory, MiB',
    'That of Ironic, MiB',
)

# The process prints its own status, including its peak memory. The peak that
# the kernel reports to the parent is not usable: the process begins as a copy
# of its parent, so it is at least the memory of the parent.
_SCRIPT = (
    'import sys; from openstackclient import shell; '
    'status = shell.main(sys.argv[1:]); '
    'sys.stderr.write(open("/proc/self/status").read()); '
    'sys.exit(status)'
)

_CHANGED = 100
"""Every row whose number is a multiple of this is changed."""

_RULES = """\
tables:
  machines:
    file: machines.csv
    key: "{serial | upper}"
    of: "{inventory.system_vendor.serial_number | upper}"
    types: {cpus: integer, disks: integer}
    secret: [bmc_password]
    expect: {cpus: "{inventory.cpu.count}"}
rules:
- description: Rack
  vars: {row: "{tables.machines | row}"}
  conditions: [{op: exists, args: ["{vars.row}"]}]
  actions:
  - {op: set-attribute, args: [/extra/rack, "{vars.row.rack}"]}
"""
_COLUMNS = (
    'serial',
    'rack',
    'unit',
    'cpus',
    'disks',
    'name',
    'owner',
    'model',
    'bmc_password',
    'note',
)


def write(directory: pathlib.Path, rows: int, changed: bool = False) -> None:
    """Write the file of rules and its table.

    :param rows: the number of rows.
    :param changed: whether one row in a hundred is different.
    """
    (directory / 'rules.yaml').write_text(_RULES)
    with (directory / 'machines.csv').open('w', newline='') as stream:
        writer = csv.writer(stream)
        writer.writerow(_COLUMNS)
        for number in range(rows):
            rack = f'rack {number // 40}'
            if changed and number % _CHANGED == 0:
                rack = 'rack of others'
            writer.writerow(
                [
                    f'sn{number:08}',
                    rack,
                    number % 40,
                    4,
                    number % 12,
                    f'compute-{number:06}.example.com',
                    f'team {number % 50}',
                    f'Model {number % 20}',
                    f'secret-{number * 7919:010}',
                    '',
                ]
            )


class Used(typing.NamedTuple):
    """The cost of a command, and its output.

    :ivar seconds: the wall-clock time.
    :ivar processor: the processor time in seconds.
    :ivar memory: the peak memory of the process, in MiB.
    """

    seconds: float
    processor: float
    memory: float
    output: str


def call(
    directory: pathlib.Path, ironic: launcher.Ironic, *words: str
) -> Used:
    """Call a command for tables or rules, and measure its process.

    :param words: the command, without ``openstack baremetal inspection``.
    :raises: SystemExit if the command returns 1, which is an error. It returns
        2 if there are changes or differences.
    """
    with (
        tempfile.TemporaryFile('w+') as output,
        tempfile.TemporaryFile('w+') as errors,
    ):
        began = time.monotonic()
        started = subprocess.Popen(
            [
                sys.executable,
                '-c',
                _SCRIPT,
                '--os-auth-type',
                'none',
                '--os-endpoint',
                ironic.url,
                'baremetal',
                'inspection',
                *words,
            ],
            cwd=directory,
            stdout=output,
            stderr=errors,
            env={**os.environ, 'PYTHONWARNINGS': 'ignore'},
        )
        # wait() does not return the processor time.
        _pid, status, used = os.wait4(started.pid, 0)
        seconds = time.monotonic() - began
        started.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        error_text = errors.read()
        if started.returncode == 1:
            raise SystemExit(f'{" ".join(words)}: {error_text}')
        return Used(
            seconds,
            used.ru_utime + used.ru_stime,
            _mebibytes(error_text, 'VmHWM'),
            output.read(),
        )


def _mebibytes(status: str, name: str) -> float:
    """Return the memory in a field of the status of a process, in MiB.

    :param status: the text of ``/proc/PID/status``, with lines such as
        ``VmHWM:   123456 kB``.
    :param name: the name of the field.
    """
    line = next(
        line for line in status.splitlines() if line.startswith(f'{name}:')
    )
    return int(line.split()[1]) / 1024


class Server:
    """The processes of Ironic, measured by the counters of Linux.

    :param ironic: a running Ironic.
    """

    def __init__(self, ironic: launcher.Ironic) -> None:
        parents = [
            psutil.Process(part.process.pid) for part in ironic.services
        ]
        self._processes = list(parents)
        for parent in parents:
            self._processes += parent.children(recursive=True)
        self._idle = self._memory('VmRSS')

    def forget(self) -> None:
        """Reset the peak memory to the present memory."""
        for process in self._processes:
            # The value 5 resets the peak, VmHWM, to the present size.
            pathlib.Path(f'/proc/{process.pid}/clear_refs').write_text('5')

    def memory(self) -> float:
        """Return the peak memory above idle since :meth:`forget`, in MiB."""
        return self._memory('VmHWM') - self._idle

    def seconds(self) -> float:
        """Return the processor time of all processes so far, in seconds."""
        times = [process.cpu_times() for process in self._processes]
        return sum(spent.user + spent.system for spent in times)

    def _memory(self, name: str) -> float:
        """Return a figure of the memory of all processes, in MiB.

        :param name: the name of the figure in ``/proc/…/status``.
        """
        return sum(
            _mebibytes(
                pathlib.Path(f'/proc/{process.pid}/status').read_text(), name
            )
            for process in self._processes
        )


@contextlib.contextmanager
def running() -> Iterator[launcher.Ironic]:
    """Run an Ironic that accepts the largest tables."""
    with tempfile.TemporaryDirectory() as name:
        changes: options.Options = {
            'api': {'max_json_body_size_inspection': 1 << 16}
        }
        with launcher.Ironic(name, changes) as ironic:
            yield ironic


class Measurement:
    """Measures commands and their cost for the server, in a table."""

    def __init__(
        self,
        title: str,
        goal: str,
        directory: pathlib.Path,
        ironic: launcher.Ironic,
    ) -> None:
        self._table = common.Table(title, _HEADS, goal)
        self._directory = directory
        self._ironic = ironic
        # The first request makes Ironic load and cache many things. That cost
        # does not belong to the commands that follow.
        call(directory, ironic, 'table', 'list')
        self._server = Server(ironic)

    def add(self, title: str, *words: str) -> str:
        """Call a command, add a row for it, and return its output.

        :param title: the title of the row.
        :param words: the command, without ``openstack baremetal inspection``.
        """
        common.say(title)
        self._server.forget()
        before = self._server.seconds()
        used = call(self._directory, self._ironic, *words)
        self._table.add(
            title,
            f'{used.seconds:.1f}',
            f'{used.processor:.1f}',
            f'{self._server.seconds() - before:.1f}',
            f'{used.memory:.0f}',
            f'{self._server.memory():.0f}',
        )
        return used.output

    def print(self) -> None:
        """Print the table."""
        self._table.print()


def apply(arguments: argparse.Namespace) -> None:
    """Measure how long a table of many rows takes to plan and to apply."""
    rows = arguments.rows
    with running() as ironic, tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        measurement = Measurement(
            f'A table of {rows:,} rows and {len(_COLUMNS)} columns',
            'a changed table of 100,000 rows is planned in 10 s, in 200 MiB '
            'on each side.',
            directory,
            ironic,
        )
        plan = 'rule', 'plan', 'rules.yaml'
        apply_ = 'rule', 'apply', 'rules.yaml', '--yes'
        write(directory, rows)
        measurement.add('plan, all rows are new', *plan)
        measurement.add('apply, all rows are new', *apply_)
        measurement.add('plan, nothing to do', *plan)
        write(directory, rows, changed=True)
        measurement.add('plan, one row in a hundred changed', *plan)
        measurement.add('apply, one row in a hundred changed', *apply_)
        measurement.print()


def compare(arguments: argparse.Namespace) -> None:
    """Measure how long it takes to compare machines with rows of a table."""
    count = arguments.machines
    with running() as ironic, tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        write(directory, count)
        with contextlib.closing(fleet.Fleet(ironic)) as nodes:
            machines = nodes.make(
                [f'node-{number}' for number in range(count)], 'manageable'
            )
            nodes.store(
                machines,
                (
                    _inventory(machine, number)
                    for number, machine in enumerate(machines)
                ),
            )
        call(directory, ironic, 'rule', 'apply', 'rules.yaml', '--yes')
        measurement = Measurement(
            f'{count:,} machines beside {count:,} rows',
            '10,000 machines in 30 s.',
            directory,
            ironic,
        )
        command = 'table', 'machines', 'machines', '-f', 'csv'
        output = measurement.add('table machines', *command)
        if output.count('\n') < count:
            raise SystemExit('Not all machines are compared.')
        for state in ('--missing', '--wrong'):
            measurement.add(f'table machines {state}', *command, state)
        measurement.print()


def _inventory(machine: fleet.Machine, number: int) -> dict[str, object]:
    """Return the inventory of a row's machine; one in ten is wrong."""
    made = machine.data()['inventory']
    made['system_vendor'] = {'serial_number': f'SN{number:08}'}
    # The row has 4 processors.
    made['cpu']['count'] = 4
    if number % 10 == 0:
        made['cpu']['count'] = 8
    interface = made['interfaces'][0]
    # The LLDP data are as large as those of real machines.
    interface['lldp'] = [
        [127, '0123456789abcdef' * 4] for _number in range(480)
    ]
    return dict(made)


def _add_rows(group: argparse._ArgumentGroup) -> None:
    """Declare the option for the number of rows."""
    group.add_argument(
        '--rows',
        type=int,
        default=100_000,
        metavar='COUNT',
        help='number of rows',
    )


def _add_machines(group: argparse._ArgumentGroup) -> None:
    """Declare the option for the number of machines."""
    group.add_argument(
        '--machines',
        type=int,
        default=10_000,
        metavar='COUNT',
        help='number of machines and rows',
    )


PARTS: Sequence[common.Part] = (
    common.Part(
        'tables', 'a large table that is applied and changed', apply, _add_rows
    ),
    common.Part(
        'machines',
        'machines beside the rows of a table',
        compare,
        _add_machines,
    ),
)
