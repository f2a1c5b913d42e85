# SPDX-License-Identifier: Apache-2.0

"""Measure old rules here against ironic-inspector's own engine, in one run.

Both sides get the same rules and the same machine, and have to change it in
the same way. Each rule has three conditions; one rule in ten matches, the
others fail at their first, second or third condition in turn.

ironic-inspector is installed from PyPI into an environment of its own,
unless ``--inspector`` names the Python of one that has it. Its database and
its client of Ironic are out of the picture: its rules are in memory, and
saving a node does nothing.
"""

import argparse
from collections.abc import Callable
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any
import venv

from oslo_utils import uuidutils

from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.legacy import translate

PACKAGE = 'ironic-inspector==12.5.0'
REPEATS = 7

DATA = json.loads(pathlib.Path(__file__).with_name('samples').joinpath(
    'inventory-virtual-machine.json').read_text())
NODE = {'uuid': uuidutils.generate_uuid(), 'name': 'bench', 'extra': {},
        'driver': 'ipmi', 'properties': {}, 'driver_info': {}}


def make_rules(count: int) -> list[dict[str, Any]]:
    """Make rules in the old language."""
    return [_make_rule(number) for number in range(count)]


def _make_rule(number: int) -> dict[str, Any]:
    fails_at = None if number % 10 == 0 else number % 3
    architecture, cpus, driver = (
        'other' if fails_at == position else right
        for position, right in enumerate((
            DATA['inventory']['cpu']['architecture'], '[0-9]+',
            NODE['driver'])))
    return {
        'uuid': uuidutils.generate_uuid(), 'description': f'Rule {number}',
        'conditions': [
            {'op': 'eq', 'field': 'data://inventory.cpu.architecture',
             'value': architecture},
            {'op': 'matches', 'field': 'inventory.cpu.count', 'value': cpus},
            {'op': 'eq', 'field': 'node://driver', 'value': driver},
        ],
        'actions': [{'action': 'set-attribute',
                     'path': f'/extra/bench_{number}',
                     'value': '{data[inventory][cpu][architecture]}'}],
    }


def compile_rules(rules: list[dict[str, Any]]) -> list[compiler.CompiledRule]:
    """Make plans, as a service does when rules changed."""
    ops = registry.installed()
    return [compiler.compile_rule(translate.parse(rule, ops), ops)
            for rule in rules]


def run_ours(plans: list[compiler.CompiledRule]) -> dict[str, Any]:
    """Run the rules on the machine.

    :returns: the node's ``extra`` afterwards.
    """
    plugin_data = {key: value for key, value in DATA.items()
                   if key != 'inventory'}
    changed = working_copy.WorkingCopy(working_copy.Facts(
        DATA['inventory'], plugin_data, {**NODE, 'traits': []}))
    outcome = runner.run(plans, changed)
    assert outcome.error is None, outcome.error
    return changed.roots['node']['extra']


def seconds(call: Callable[[], object]) -> float:
    """Median processor time of a call; the first one does not count."""
    call()
    times = []
    for _repeat in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


def run_peer(python: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    """Have the peer run the rules on the machine in a process of its own.

    :returns: its ``seconds`` and its ``extra``.
    """
    script = pathlib.Path(__file__).with_name('bench_inspector_peer.py')
    done = subprocess.run(
        [python, '-W', 'ignore', str(script)], check=True,
        capture_output=True, text=True, input=json.dumps({
            'rules': rules, 'data': DATA, 'node': NODE,
            'repeats': REPEATS}))
    return json.loads(done.stdout)


def install_peer(directory: str) -> str:
    """Install ironic-inspector.

    :returns: the Python that has it.
    """
    print(f'installing {PACKAGE} …', file=sys.stderr)
    venv.create(directory, with_pip=True)
    python = str(pathlib.Path(directory, 'bin', 'python'))
    subprocess.run([python, '-m', 'pip', 'install', '-q', PACKAGE],
                   check=True)
    return python


def compare(python: str, count: int) -> None:
    """Print how fast both engines run a number of rules."""
    rules = make_rules(count)
    plans = compile_rules(rules)
    peer = run_peer(python, rules)
    assert peer['extra'] == run_ours(plans), 'the engines disagree'
    ours = seconds(lambda: run_ours(plans))
    print(f'{count:6} rules  ironic-inspector '
          f'{count / peer["seconds"]:10,.0f}/s  here '
          f'{count / ours:10,.0f}/s  '
          f'{peer["seconds"] / ours:6,.0f} times as fast')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--inspector', metavar='PYTHON',
                        help='a Python that has ironic-inspector')
    parser.add_argument('--rules', type=int, nargs='*', default=[10, 100],
                        help='how many rules there are')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        python = arguments.inspector or install_peer(directory)
        for count in arguments.rules:
            compare(python, count)


if __name__ == '__main__':
    main()
