# SPDX-License-Identifier: Apache-2.0

"""Measure the rule engine beside that of stock Ironic, in one run.

Both engines get the same rules and the same machine, and must change it in the
same way. A rule has three conditions. One rule in ten matches, and the others
fail at their first, second or third condition in turn. The result is the
shortest processor time of a phase.

The database of stock Ironic is not measured: its list of rules is in memory,
and saving a node does nothing.
"""

import argparse
from collections.abc import Callable
import functools
import json
import logging
import math
import re
import time
import tracemalloc
import types
from typing import Any
from unittest import mock

from ironic.common.inspection_rules import engine as peer
from ironic.conf import CONF
from oslo_utils import uuidutils

from benchmark import common
from benchmark import inspector
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.tests.integration import base

Json = dict[str, Any]

INVENTORY: Json = base.ramdisk_data('52:54:00:00:00:01')['inventory']
NODE: Json = {
    'uuid': uuidutils.generate_uuid(),
    'name': 'bench',
    'extra': {},
    'properties': {},
    'driver_info': {},
    'traits': [],
}

IN_VARS = 'four filters on 50 disks, in vars'


def make_rules(count: int) -> list[Json]:
    """Make rules that both engines interpret in the same way."""
    return [_make_rule(number) for number in range(count)]


def _make_rule(number: int) -> Json:
    """Make a rule with three conditions.

    Every tenth rule matches the machine. In the other rules, the first, second
    or third condition is false, in turn.

    :param number: the number of the rule.
    """
    vendor = INVENTORY['system_vendor']
    expected = [
        vendor['product_name'],
        vendor['manufacturer'],
        INVENTORY['cpu']['architecture'],
    ]
    if number % 10:
        expected[number % 3] = 'other'
    product, maker, architecture = expected
    return {
        'uuid': uuidutils.generate_uuid(),
        'description': f'Rule {number}',
        'priority': 0,
        'phase': 'main',
        'sensitive': False,
        'scope': None,
        'conditions': [
            {
                'op': 'eq',
                'args': {
                    'values': [
                        '{inventory[system_vendor][product_name]}',
                        product,
                    ]
                },
            },
            {
                'op': 'contains',
                'args': {
                    'value': '{inventory[system_vendor][manufacturer]}',
                    'regex': maker,
                },
            },
            {
                'op': 'eq',
                'args': {
                    'values': ['{inventory[cpu][architecture]}', architecture]
                },
            },
        ],
        'actions': [
            {
                'op': 'set-attribute',
                'args': {
                    'path': f'/extra/bench_{number}',
                    'value': '{inventory[cpu][architecture]}',
                },
            }
        ],
    }


def compile_rules(rules: list[Json]) -> list[compiler.CompiledRule]:
    """Compile rules in the same way as a service does after a change."""
    ops = registry.installed()
    return [
        compiler.compile_rule(model.Rule.from_mapping(rule), ops)
        for rule in rules
    ]


def run_ours(
    plans: list[compiler.CompiledRule],
    explain: bool = False,
    inventory: Json = INVENTORY,
) -> Json:
    """Run one phase with the engine of this project.

    :returns: the ``extra`` of the node afterwards.
    """
    facts = working_copy.Facts(inventory, {}, NODE)
    target = working_copy.WorkingCopy(facts)
    outcome = runner.run(plans, target, explain=explain)
    if outcome.error is not None:
        raise SystemExit(f'The rules fail: {outcome.error}')
    return target.roots['node']['extra']


def run_stock(rules: list[Json], inventory: Json = INVENTORY) -> Json:
    """Run one phase with the engine of stock Ironic.

    :returns: the ``extra`` of the node afterwards.
    """

    def save_nothing() -> None:
        """Do nothing, in place of ``Node.save``."""

    def list_rules(**_filters: Any) -> list[Json]:
        """Return all rules, in place of ``InspectionRule.list``."""
        return list(rules)

    # These replace the objects that Ironic's engine uses, without a database.
    node = types.SimpleNamespace(**{**NODE, 'extra': {}}, save=save_nothing)
    task = types.SimpleNamespace(node=node, context=None)
    stored = types.SimpleNamespace(list=list_rules)
    with mock.patch.object(
        peer, 'objects', types.SimpleNamespace(InspectionRule=stored)
    ):
        peer.apply_rules(task, inventory, {}, 'main')
    return node.extra


def prepare_stock() -> None:
    """Load options for the engine of stock Ironic, and turn off logging."""
    logging.disable(logging.CRITICAL)
    CONF([], project='ironic', default_config_files=[])


def seconds(repeats: int, *calls: Callable[[], object]) -> list[float]:
    """Return the least processor time of every call, in seconds.

    The calls take turns, so that a slowdown of the machine affects all of
    them. The first turn, in which caches are filled, does not count.

    :param repeats: the number of turns that count.
    """
    least = [math.inf] * len(calls)
    for turn in range(1 + repeats):
        for number, call in enumerate(calls):
            start = time.process_time()
            call()
            taken = time.process_time() - start
            if turn:
                least[number] = min(least[number], taken)
    return least


def compare_engines(arguments: argparse.Namespace) -> None:
    """Measure both engines, which must make the same changes."""
    prepare_stock()
    table = common.Table(
        'Rules of three conditions, one in ten matching: rules a second of '
        'one core',
        ('Rules', 'Stock Ironic', 'This project', 'Faster'),
    )
    for count in arguments.rules:
        rules = make_rules(count)
        plans = compile_rules(rules)
        if run_ours(plans) != run_stock(rules):
            raise SystemExit('The two engines do not do the same.')
        ours, stock = seconds(
            arguments.repeats,
            functools.partial(run_ours, plans),
            functools.partial(run_stock, rules),
        )
        table.add(
            f'{count:,}',
            f'{count / stock:,.0f}',
            f'{count / ours:,.0f}',
            f'{stock / ours:.0f} times',
        )
    table.print()


def measure_features(arguments: argparse.Namespace) -> None:
    """Measure the cost of explanations, filters and variables."""
    plain = make_rules(1000)
    filtered = json.loads(
        re.sub(
            r'(\{inventory[^{}]+)\}',
            r"\1 | trim | replace('?', '') | trim}",
            json.dumps(plain),
        )
    )
    written, in_vars = _make_long_fields(1000)
    disks = [
        {'name': f'/dev/sd{number}', 'size': number * 2**30}
        for number in range(50)
    ]
    inventory = {**INVENTORY, 'disks': disks}
    calls: dict[str, Callable[[], object]] = {}
    for name, rules in (
        ('plain rules', plain),
        ('three filters in a field', filtered),
    ):
        plans = compile_rules(rules)
        calls[name] = functools.partial(run_ours, plans)
        calls[f'{name}, explained'] = functools.partial(
            run_ours, plans, explain=True
        )
    for name, rules in (
        (IN_VARS, in_vars),
        ('the same written three times', written),
    ):
        plans = compile_rules(rules)
        calls[name] = functools.partial(run_ours, plans, inventory=inventory)
    taken = dict(
        zip(calls, seconds(arguments.repeats, *calls.values()), strict=True)
    )
    table = common.Table(
        'What rules of three conditions cost by what they use',
        ('Rules', 'Rules a second', 'Times as long'),
        goal='rules that are explained take at most 3 times as long.',
    )
    for name, least in taken.items():
        # The rows that follow one of these are compared with it, because they
        # are measured on the same machine.
        if name in ('plain rules', IN_VARS):
            reference = least
        table.add(name, f'{1000 / least:,.0f}', f'{least / reference:.1f}')
    table.print()


def _make_long_fields(count: int) -> tuple[list[Json], list[Json]]:
    """Make rules that use a value three times.

    :returns: rules that have the field of the value three times, and rules
        that compute the value once, in ``vars``.
    """
    # The field has four filters, which process all disks of the machine.
    value = (
        "inventory.disks | selectattr('size', 'ge', 4294967296)"
        " | map(attribute='size') | sort | join('-')"
    )
    made = []
    for field, values in (
        (f'{{{value}}}', {}),
        ('{vars.sizes}', {'sizes': f'{{{value}}}'}),
    ):
        conditions = [
            {'op': 'ne', 'args': [field, str(number)]} for number in range(3)
        ]
        made.append(
            [
                {
                    **rule,
                    'vars': values,
                    'actions': [],
                    'conditions': conditions,
                }
                for rule in make_rules(count)
            ]
        )
    written, in_vars = made
    return written, in_vars


def measure_many(arguments: argparse.Namespace) -> None:
    """Measure a phase without rules, and a phase with many.

    Rules are compiled twice, because tracing memory takes additional time.
    """
    count = arguments.many
    [nothing] = seconds(arguments.repeats, functools.partial(run_ours, []))
    rules = make_rules(count)
    registry.installed()
    start = time.process_time()
    compile_rules(rules)
    compiled = time.process_time() - start
    tracemalloc.start()
    plans = compile_rules(rules)
    memory, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    [ours] = seconds(arguments.repeats, functools.partial(run_ours, plans))
    table = common.Table(
        'What no rules and many rules cost', ('What', 'Measured')
    )
    table.add('A phase without rules', f'{nothing * 1e6:.0f} µs')
    table.add(f'A phase with {count:,} rules', f'{ours * 1000:.1f} ms')
    table.add(f'Compiling {count:,} rules', f'{compiled:.2f} s')
    table.add(
        f'{count:,} compiled rules',
        f'{memory / 2**20:.1f} MiB, at most {peak / 2**20:.1f} MiB',
    )
    table.print()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that several parts share."""
    parser.add_argument(
        '--repeats',
        type=int,
        default=20,
        metavar='TIMES',
        help='how often a phase is run; the fastest counts',
    )


def _add_rules(group: argparse._ArgumentGroup) -> None:
    """Declare the option for the numbers of rules."""
    group.add_argument(
        '--rules',
        type=int,
        nargs='+',
        metavar='COUNT',
        default=[10, 100, 1000],
        help='numbers of rules',
    )


def _add_many(group: argparse._ArgumentGroup) -> None:
    """Declare the option for the number of rules of a large set."""
    group.add_argument(
        '--many',
        type=int,
        default=10_000,
        metavar='COUNT',
        help='number of rules',
    )


PARTS = (
    common.Part(
        'rules',
        "rules beside stock Ironic's engine",
        compare_engines,
        _add_rules,
    ),
    common.Part('features', 'explanations, filters, vars', measure_features),
    common.Part('many', 'no rules, and many', measure_many, _add_many),
    inspector.PART,
)
