# SPDX-License-Identifier: Apache-2.0

"""Measure the commands for files, with many rules and many inventories.

The files are written to a temporary directory, and the commands are called as
a user calls them. The comparison is a loop around the engine of stock Ironic.
It reads the same files in one process, and prints only what every rule has
set. It must find as many changes as the command.
"""

import argparse
from collections.abc import Sequence
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import typing

import psutil
import yaml

from benchmark import common
from benchmark import pages
from benchmark import proofs

Json = dict[str, typing.Any]

_MACHINES = ['--inventory', 'machines']

COMMANDS = {
    'test': ['test', 'rules.yaml', *_MACHINES],
    'test as JSON': ['test', 'rules.yaml', *_MACHINES, '-f', 'json'],
    'test --coverage': ['test', 'rules.yaml', *_MACHINES, '--coverage'],
    'test --html': ['test', 'rules.yaml', *_MACHINES, '--html', 'page.html'],
    'diff': ['diff', 'rules.yaml', 'new.yaml', *_MACHINES],
    'diff --html': [
        'diff',
        'rules.yaml',
        'new.yaml',
        *_MACHINES,
        '--html',
        'page.html',
    ],
    'lint': ['lint', 'rules.yaml', *_MACHINES],
}
"""The arguments of commands, by the name that the table has for them."""

_MATCHING = 10
"""Number of rules of which one matches a machine."""

_PERIOD = 0.2
"""Seconds between two measurements of the memory."""

_SCRIPT = (
    'import sys; '
    'from ironic_inspection_rules.kit.command import shell; '
    'sys.exit(shell.main())'
)
_TOOLS = pathlib.Path(__file__).parents[1]


class Measured(typing.NamedTuple):
    """The cost of a command, and its output.

    :ivar seconds: the wall-clock time.
    :ivar memory: the peak memory of its processes, in bytes.
    """

    seconds: float
    memory: int
    output: str


def compare(arguments: argparse.Namespace) -> None:
    """Measure all commands, for every number of inventories asked for."""
    for count in arguments.inventories:
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            common.say(f'Writing {count} inventories')
            write(directory, arguments.rules, count, arguments.size)
            compare_on(directory, arguments.rules, count, arguments.size)


def compare_on(
    directory: pathlib.Path, rules: int, count: int, size: int
) -> None:
    """Measure all commands and the loop on the files of a directory.

    :param rules: the number of rules.
    :param count: the number of inventories.
    :param size: the size of an inventory in characters.
    :raises: SystemExit if the loop makes a different number of changes.
    """
    table = common.Table(
        f'{rules} rules on {count:,} inventories of {size / 1000:.0f} kB, '
        f'{os.cpu_count()} processors',
        ('Command', 'Takes, s', 'Memory, MiB', 'Changes'),
    )
    changes = {}
    for name, command in COMMANDS.items():
        common.say(f'Calling {name}')
        measured = call(directory, ['-c', _SCRIPT, *command])
        changes[name] = ''
        if name == 'test as JSON':
            changes[name] = str(
                sum(
                    len(entry['changes'])
                    for entry in json.loads(measured.output)
                )
            )
        table.add(name, *_cells(measured), changes[name])
    common.say('Running a loop around the engine of stock Ironic')
    measured = call(
        directory, ['-m', 'benchmark.offline_peer', 'rules.yaml', 'machines']
    )
    stock_changes = measured.output.strip()
    if stock_changes != changes['test as JSON']:
        raise SystemExit(
            'The two sides do not make as many changes: '
            f'{changes["test as JSON"]} and {stock_changes}'
        )
    table.add(
        "loop around stock Ironic's engine", *_cells(measured), stock_changes
    )
    table.print()


def _cells(measured: Measured) -> tuple[str, str]:
    """Return the cells with the seconds and the MiB of a command."""
    return f'{measured.seconds:.1f}', f'{measured.memory / 2**20:.0f}'


def write(
    directory: pathlib.Path, rules: int, inventories: int, size: int
) -> None:
    """Write the files that all commands use.

    :param rules: the number of rules.
    :param inventories: the number of inventories.
    :param size: the approximate size of an inventory in characters.
    """
    # One rule differs, so that "diff" finds something on all machines.
    old = [make_rule(number) for number in range(rules)]
    new = [*old[1:], {**old[0], 'conditions': []}]
    for name, written in (('rules.yaml', old), ('new.yaml', new)):
        (directory / name).write_text(yaml.safe_dump(written))
    data = json.loads(common.INVENTORY_FILE.read_text())
    # Half of the size is PCI devices, and the other half is LLDP.
    data['pci_devices'] = []
    while len(json.dumps(data)) < size // 2:
        data['pci_devices'].append(
            {
                'vendor_id': '8086',
                'product_id': '2026',
                'class': '088000',
                'revision': '04',
                'bus': f'{len(data["pci_devices"]):04}:00.0',
                'numa_node_id': 0,
            }
        )
    interface = data['inventory']['interfaces'][0]
    interface['lldp'] = [
        [127, '0123456789abcdef' * 4] for _number in range(size // 2 // 80)
    ]
    machines = directory / 'machines'
    machines.mkdir()
    for number in range(inventories):
        vendor = data['inventory']['system_vendor']
        vendor['serial_number'] = f'S{number:06}-{number % 100:02}'
        (machines / f'{number:06}.json').write_text(json.dumps(data))


def make_rule(number: int) -> Json:
    """Return a rule with three conditions.

    Every tenth rule matches all machines. In the other rules, the second
    condition is false on most machines, and the third is false on the rest.
    """
    serial_number = f'-{number % 100:02}$'
    model = '^nothing$'
    if number % _MATCHING == 0:
        serial_number = '^S'
        model = '.'
    return {
        'description': f'rule {number}',
        'conditions': [
            {
                'op': 'eq',
                'args': {
                    'values': ['{inventory[cpu][architecture]}', 'x86_64']
                },
            },
            {
                'op': 'contains',
                'args': {
                    'value': '{inventory[system_vendor][serial_number]}',
                    'regex': serial_number,
                },
            },
            {
                'op': 'contains',
                'args': {
                    'value': '{inventory[cpu][model_name]}',
                    'regex': model,
                },
            },
        ],
        'actions': [
            {
                'op': 'set-attribute',
                'args': {
                    'path': f'/extra/rule{number}',
                    'value': '{inventory[cpu][architecture]}',
                },
            }
        ],
    }


def call(directory: pathlib.Path, arguments: Sequence[str]) -> Measured:
    """Call Python with some arguments, and measure the process.

    :param arguments: the arguments of Python.
    :raises: SystemExit if the process returns 1, which is an error. ``lint``
        also returns 1 if it finds anything, and it does here, because some
        rules match no machine.
    """
    path = os.pathsep.join([str(_TOOLS), os.environ.get('PYTHONPATH', '')])
    started = time.monotonic()
    with (directory / 'output').open('w+') as output:
        process = psutil.Popen(
            [sys.executable, '-W', 'ignore', *arguments],
            cwd=directory,
            stdout=output,
            env={**os.environ, 'PYTHONPATH': path},
        )
        most_memory = 0
        status = None
        while status is None:
            most_memory = max(most_memory, memory(process))
            try:
                status = process.wait(_PERIOD)
            except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
                pass
        seconds = time.monotonic() - started
        if status == 1 and 'lint' not in arguments:
            raise SystemExit(f'{" ".join(arguments[2:])} fails')
        output.seek(0)
        return Measured(seconds, most_memory, output.read())


def memory(process: psutil.Process) -> int:
    """Return the memory of a process and of its children, in bytes.

    Shared memory counts once, because the kernel divides it among the
    processes.
    """
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            total += member.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            pass
    return total


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--inventories',
        type=int,
        nargs='+',
        default=[2000],
        metavar='COUNT',
        help='numbers of inventories; with several, the table shows whether '
        'the memory grows with them',
    )
    group.add_argument(
        '--rules',
        type=int,
        default=100,
        metavar='COUNT',
        help='number of rules',
    )
    group.add_argument(
        '--size',
        type=int,
        default=40_000,
        metavar='BYTES',
        help='approximate size of an inventory',
    )


PARTS = (
    common.Part(
        'commands',
        "commands beside a loop around Ironic's engine",
        compare,
        _add_arguments,
    ),
    pages.PART,
    proofs.PART,
)
