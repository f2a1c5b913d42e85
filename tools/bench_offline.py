#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measure what works on files: many rules on many inventories.

Makes both in a temporary directory, calls the commands as their users do, and
tells the time that each takes and the most memory that its processes have
together at one time. With ``--inventories 500 5000`` it shows whether memory
grows with the number of machines.
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

import psutil
import yaml

SAMPLE = (pathlib.Path(__file__).parent / 'samples'
          / 'inventory-virtual-machine.json')

COMMANDS = {
    'test': ['test', 'rules.yaml', '--inventory', 'machines'],
    'json': ['test', 'rules.yaml', '--inventory', 'machines', '-f', 'json'],
    'coverage': ['test', 'rules.yaml', '--inventory', 'machines',
                 '--coverage'],
    'html': ['test', 'rules.yaml', '--inventory', 'machines',
             '--html', 'page.html'],
    'diff': ['diff', 'rules.yaml', 'new.yaml', '--inventory', 'machines'],
    'lint': ['lint', 'rules.yaml', '--inventory', 'machines'],
    'coverage-pages': ['test', 'rules.yaml', '--inventory', 'machines',
                       '--coverage', '--html', 'page.html', '-f', 'json'],
    'diff-pages': ['diff', 'rules.yaml', 'new.yaml', '--inventory',
                   'machines', '--html', 'page.html', '-f', 'json'],
    'lint-json': ['lint', 'rules.yaml', '--inventory', 'machines', '-f',
                  'json'],
}
"""What is called, by the name that it is chosen by."""

MATCHING = 10
"""One rule in so many matches a machine."""

PERIOD = 0.2
"""Seconds between two looks at the memory."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('commands', nargs='*', metavar='COMMAND',
                        help=f'of {", ".join(COMMANDS)}; all if none')
    parser.add_argument('--inventories', type=int, nargs='+',
                        default=[2000])
    parser.add_argument('--rules', type=int, default=100)
    parser.add_argument('--kilobytes', type=int, default=40)
    args = parser.parse_args()
    for count in args.inventories:
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            write(directory, args.rules, count, args.kilobytes * 1000)
            print(f'{args.rules} rules, {count} inventories of '
                  f'{args.kilobytes} kB, {os.cpu_count()} processors')
            for command in args.commands or COMMANDS:
                seconds, memory, status = measure(directory,
                                                  COMMANDS[command])
                print(f'  {command:14} {seconds:6.1f} s  '
                      f'{memory / 2 ** 20:6.0f} MiB  status {status}',
                      flush=True)


def write(directory: pathlib.Path, rules: int, inventories: int,
          size: int) -> None:
    """Write the files that all commands work on."""
    old = [rule(number) for number in range(rules)]
    new = [*old[1:], {**old[0], 'conditions': []}]
    for name, written in (('rules.yaml', old), ('new.yaml', new)):
        (directory / name).write_text(yaml.safe_dump(written))
    data = json.loads(SAMPLE.read_text())
    data['pci_devices'] = []
    while len(json.dumps(data)) < size // 2:
        data['pci_devices'].append({
            'vendor_id': '8086', 'product_id': '2026', 'class': '088000',
            'revision': '04', 'bus': f'{len(data["pci_devices"]):04}:00.0',
            'numa_node_id': 0})
    interface = data['inventory']['interfaces'][0]
    interface['lldp'] = [[127, '0123456789abcdef' * 4]
                         for _number in range(size // 2 // 80)]
    machines = directory / 'machines'
    machines.mkdir()
    for number in range(inventories):
        data['inventory']['memory']['physical_mb'] = 1024 * (number % 100)
        (machines / f'{number:06}.json').write_text(json.dumps(data))


def rule(number: int) -> dict[str, object]:
    """Return a rule with three conditions, which one in ten meets."""
    matches = number % MATCHING == 0
    return {
        'description': f'rule {number}',
        'conditions': [
            {'op': 'eq', 'args': {'values': [
                '{inventory[cpu][architecture]}', 'x86_64']}},
            {'op': 'ge', 'args': {'values': [
                '{inventory[memory][physical_mb]}',
                0 if matches else 1024 * number]}},
            {'op': 'eq', 'args': {'values': [
                "{plugin_data[pci_devices] | selectattr('vendor_id', 'eq', "
                "'8086') | length}" if matches
                else '{inventory[cpu][model_name]}',
                'nothing' if not matches else
                '{plugin_data[pci_devices] | length}']}}],
        'actions': [{'op': 'set-attribute', 'args': {
            'path': f'/extra/rule{number}',
            'value': '{inventory[cpu][count]}'}}]}


def measure(directory: pathlib.Path, arguments: Sequence[str]
            ) -> tuple[float, int, int]:
    """Call a command.

    :returns: seconds, bytes, and how it ended.
    """
    script = ('import sys\n'
              'from ironic_inspection_rules.command import shell\n'
              'sys.exit(shell.main())\n')
    started = time.monotonic()
    with (directory / 'output').open('w') as output:
        process = psutil.Popen([sys.executable, '-c', script, *arguments],
                               cwd=directory, stdout=output)
        most = 0
        while True:
            most = max(most, memory(process))
            try:
                status = process.wait(PERIOD)
                return time.monotonic() - started, most, status
            except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
                pass


def memory(process: psutil.Process) -> int:
    """Return what a process and those below it have in memory, in bytes.

    What processes share is shared out among them.
    """
    total = 0
    for each in [process, *process.children(recursive=True)]:
        try:
            total += each.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            pass
    return total


if __name__ == '__main__':
    main()
