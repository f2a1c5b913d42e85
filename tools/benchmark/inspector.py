# SPDX-License-Identifier: Apache-2.0

"""Rules in the language of ironic-inspector, compared with its engine.

Both sides get the same rules and the same machine, as in ``engine``. The
database and the Ironic client of ironic-inspector are not measured: its rules
are in memory, and saving a node does nothing.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import time
from typing import Any

from oslo_utils import uuidutils

from benchmark import common
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.plugins.legacy import translate

Json = dict[str, Any]

PYTHON = '.tox/inspector/bin/python'
"""The Python of the tox environment that has ironic-inspector."""

DATA: Json = json.loads(common.INVENTORY_FILE.read_text())
NODE: Json = {
    'uuid': uuidutils.generate_uuid(),
    'name': 'bench',
    'extra': {},
    'driver': 'ipmi',
    'properties': {},
    'driver_info': {},
}


def make_rules(count: int) -> list[Json]:
    """Make rules in the old language."""
    return [_make_rule(number) for number in range(count)]


def _make_rule(number: int) -> Json:
    """Make a rule with three conditions in the old language.

    Every tenth rule matches the machine. In the other rules, the first, second
    or third condition is false, in turn.
    """
    expected = [
        DATA['inventory']['cpu']['architecture'],
        '[0-9]+',
        NODE['driver'],
    ]
    if number % 10:
        expected[number % 3] = 'other'
    architecture, cpus, driver = expected
    return {
        'uuid': uuidutils.generate_uuid(),
        'description': f'Rule {number}',
        'conditions': [
            {
                'op': 'eq',
                'field': 'data://inventory.cpu.architecture',
                'value': architecture,
            },
            {'op': 'matches', 'field': 'inventory.cpu.count', 'value': cpus},
            {'op': 'eq', 'field': 'node://driver', 'value': driver},
        ],
        'actions': [
            {
                'action': 'set-attribute',
                'path': f'/extra/bench_{number}',
                'value': '{data[inventory][cpu][architecture]}',
            }
        ],
    }


def run_ours(plans: list[compiler.CompiledRule]) -> Json:
    """Run the rules on the machine.

    :returns: the ``extra`` of the node afterwards.
    """
    plugin_data = {
        key: value for key, value in DATA.items() if key != 'inventory'
    }
    facts = working_copy.Facts(
        DATA['inventory'], plugin_data, {**NODE, 'traits': []}
    )
    target = working_copy.WorkingCopy(facts)
    outcome = runner.run(plans, target)
    if outcome.error is not None:
        raise SystemExit(f'The rules fail: {outcome.error}')
    return target.roots['node']['extra']


def run_peer(python: str, rules: list[Json], repeats: int) -> Json:
    """Run the rules with ironic-inspector, in a separate process.

    :param python: a Python that has ironic-inspector.
    :returns: ``seconds``, the median processor time of a run, and ``extra``,
        which the node has afterwards.
    """
    script = pathlib.Path(__file__).with_name('inspector_peer.py')
    # With -P, modules are not searched for in the directory of the script. It
    # has a "queue.py", which would replace Python's module.
    done = subprocess.run(
        [python, '-P', '-W', 'ignore', str(script)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        input=json.dumps(
            {'rules': rules, 'data': DATA, 'node': NODE, 'repeats': repeats}
        ),
    )
    return json.loads(done.stdout)


def median_seconds(plans: list[compiler.CompiledRule], repeats: int) -> float:
    """Return the median processor time of a run, in seconds.

    The first run, in which caches are filled, does not count.
    """
    times = []
    for _repeat in range(1 + repeats):
        start = time.process_time()
        run_ours(plans)
        times.append(time.process_time() - start)
    return statistics.median(times[1:])


def compare(arguments: argparse.Namespace) -> None:
    """Measure both engines."""
    table = common.Table(
        'Rules of ironic-inspector, one in ten matching: rules a second of '
        'one core',
        ('Rules', 'ironic-inspector', 'This project', 'Faster'),
    )
    ops = registry.installed()
    for count in arguments.old_rules:
        rules = make_rules(count)
        plans = [
            compiler.compile_rule(translate.parse(rule, ops), ops)
            for rule in rules
        ]
        peer = run_peer(arguments.inspector, rules, arguments.repeats)
        if peer['extra'] != run_ours(plans):
            raise SystemExit('The two engines do not do the same.')
        ours = median_seconds(plans, arguments.repeats)
        table.add(
            f'{count:,}',
            f'{count / peer["seconds"]:,.0f}',
            f'{count / ours:,.0f}',
            f'{peer["seconds"] / ours:.0f} times',
        )
    table.print()


def _missing(arguments: argparse.Namespace) -> str | None:
    """Return what to do if there is no ironic-inspector, else None."""
    try:
        done = subprocess.run(
            [arguments.inspector, '-c', 'import ironic_inspector'],
            capture_output=True,
        )
    except OSError:
        pass
    else:
        if not done.returncode:
            return None
    return (
        f'no ironic-inspector in {arguments.inspector}: '
        'tox -e inspector --notest'
    )


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--inspector',
        metavar='PYTHON',
        default=PYTHON,
        help='a Python that has ironic-inspector',
    )
    group.add_argument(
        '--old-rules',
        type=int,
        nargs='+',
        metavar='COUNT',
        default=[10, 100],
        help='numbers of rules',
    )


PART = common.Part(
    'inspector',
    "old rules beside ironic-inspector's engine",
    compare,
    _add_arguments,
    _missing,
)
