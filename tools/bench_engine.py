#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measure the rule engine against the one in stock Ironic, in one run.

Both sides get the same rules and the same machine, and have to change it in
the same way. Each rule has three conditions; one rule in ten matches, the
others fail at their first, second or third condition in turn.

The peer's database is out of the picture: its list of rules is in memory and
saving a node does nothing. With ``--inspection`` two Ironics are started
instead, and whole inspections with and without stored rules are compared.
"""

import argparse
from collections.abc import Callable
import cProfile
import json
import logging
import math
import pstats
import re
import statistics
import tempfile
import time
import tracemalloc
import types
from typing import Any
from unittest import mock

from ironic.common.inspection_rules import engine as peer
from ironic.conf import CONF
from oslo_utils import uuidutils

from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options

REPEATS = 20
OTHER_SIZE = 10_000
PEER_ONLY: options.Options = {'api': {'middleware': None},
                              'inspector': {'hooks': '$default_hooks'}}

INVENTORY = base.ramdisk_data('52:54:00:00:00:01')['inventory']
NODE = {'uuid': uuidutils.generate_uuid(), 'name': 'bench', 'extra': {},
        'properties': {}, 'driver_info': {}, 'traits': []}


def make_rules(count: int) -> list[dict[str, Any]]:
    """Make rules that both engines understand alike."""
    return [_make_rule(number) for number in range(count)]


def _make_rule(number: int) -> dict[str, Any]:
    matches = number % 10 == 0
    fails_at = None if matches else number % 3
    vendor = INVENTORY['system_vendor']
    product, maker, architecture = (
        'other' if fails_at == position else right
        for position, right in enumerate((
            vendor['product_name'], vendor['manufacturer'],
            INVENTORY['cpu']['architecture'])))
    return {
        'uuid': uuidutils.generate_uuid(), 'description': f'Rule {number}',
        'priority': 0, 'phase': 'main', 'sensitive': False, 'scope': None,
        'conditions': [
            {'op': 'eq', 'args': {'values': [
                '{inventory[system_vendor][product_name]}', product]}},
            {'op': 'contains', 'args': {
                'value': '{inventory[system_vendor][manufacturer]}',
                'regex': maker}},
            {'op': 'eq', 'args': {'values': [
                '{inventory[cpu][architecture]}', architecture]}},
        ],
        'actions': [{'op': 'set-attribute', 'args': {
            'path': f'/extra/bench_{number}',
            'value': '{inventory[cpu][architecture]}'}}],
    }


def compile_rules(rules: list[dict[str, Any]]) -> list[compiler.CompiledRule]:
    """Make plans, as a service does when rules changed."""
    ops = registry.installed()
    return [compiler.compile_rule(model.Rule.from_mapping(rule), ops)
            for rule in rules]


def run_ours(plans: list[compiler.CompiledRule],
             explain: bool = False,
             inventory: dict[str, Any] = INVENTORY) -> dict[str, Any]:
    """Run one phase and return the node's ``extra`` afterwards."""
    changed = working_copy.WorkingCopy(working_copy.Facts(inventory, {}, NODE))
    outcome = runner.run(plans, changed, explain=explain)
    assert outcome.error is None, outcome.error
    return changed.roots['node']['extra']


def run_peer(rules: list[dict[str, Any]]) -> dict[str, Any]:
    """The same by the engine of stock Ironic."""
    node = types.SimpleNamespace(**{**NODE, 'extra': {}}, save=lambda: None)
    task = types.SimpleNamespace(node=node, context=None)
    stored = types.SimpleNamespace(list=lambda **_kwargs: list(rules))
    with mock.patch.object(peer, 'objects', types.SimpleNamespace(
            InspectionRule=stored)):
        peer.apply_rules(task, INVENTORY, {}, 'main')
    return node.extra


def seconds(*calls: Callable[[], object]) -> list[float]:
    """Return the least processor time of each call, in seconds.

    They take turns, so that a machine that becomes slower does so for all;
    the first turn does not count.
    """
    least = [math.inf] * len(calls)
    for turn in range(1 + REPEATS):
        for number, call in enumerate(calls):
            start = time.process_time()
            call()
            taken = time.process_time() - start
            if turn:
                least[number] = min(least[number], taken)
    return least


def compare(count: int) -> None:
    """Print the throughput of both engines and their ratio."""
    rules = make_rules(count)
    plans = compile_rules(rules)
    if run_ours(plans) != run_peer(rules):
        raise SystemExit('The two engines do not do the same.')
    ours, theirs = seconds(lambda: run_ours(plans), lambda: run_peer(rules))
    print(f'{count} rules of three conditions, one in ten matching:')
    print(f'  stock Ironic  {count / theirs:12,.0f} rules/s')
    print(f'  ours          {count / ours:12,.0f} rules/s   '
          f'{theirs / ours:.1f} times')


def explain(count: int) -> None:
    """Print what filters cost, and what it costs to say why."""
    plain = make_rules(count)
    filtered = json.loads(re.sub(
        r'(\{inventory[^{}]+)\}', r"\1 | trim | replace('?', '') | trim}",
        json.dumps(plain)))
    costs = {}
    for name, rules in (('without filters', plain),
                        ('with three filters', filtered)):
        plans = compile_rules(rules)
        costs[name], told = seconds(
            lambda plans=plans: run_ours(plans),
            lambda plans=plans: run_ours(plans, explain=True))
        print(f'{name}: {count / costs[name]:,.0f} rules/s, '
              f'{told / costs[name]:.1f} times as long when explained')
    slower = costs['with three filters'] / costs['without filters']
    print(f'  a rule with three filters in each field takes '
          f'{slower:.1f} times as long')


def compare_vars(count: int) -> None:
    """Print what a value used three times costs, in vars and without."""
    value = ("inventory.disks | selectattr('size', 'ge', 4294967296)"
             " | map(attribute='size') | sort | join('-')")
    disks = [{'name': f'/dev/sd{number}', 'size': number * 2 ** 30}
             for number in range(50)]
    inventory = {**INVENTORY, 'disks': disks}
    both = []
    for use, values in ((f'{{{value}}}', {}),
                        ('{vars.sizes}', {'sizes': f'{{{value}}}'})):
        both.append(compile_rules([{
            **rule, 'vars': values, 'actions': [],
            'conditions': [{'op': 'ne', 'args': [use, str(number)]}
                           for number in range(3)]}
            for rule in make_rules(count)]))
    written, in_vars = seconds(*(
        lambda plans=plans: run_ours(plans, inventory=inventory)
        for plans in both))
    print(f'a value used three times: written three times it takes '
          f'{written / in_vars:.1f} times as long as in vars, of 3 at most')


def scale() -> None:
    """Print what no rules and many rules cost."""
    [nothing] = seconds(lambda: run_ours([]))
    print(f'0 rules: {nothing * 1e6:.0f} µs a phase')
    rules = make_rules(OTHER_SIZE)
    registry.installed()
    start = time.process_time()
    compile_rules(rules)
    load = time.process_time() - start
    tracemalloc.start()
    plans = compile_rules(rules)
    memory, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    [ours] = seconds(lambda: run_ours(plans))
    print(f'{OTHER_SIZE} rules: {OTHER_SIZE / ours:,.0f} rules/s, compiled '
          f'in {load:.2f} s, {memory / 2 ** 20:.1f} MiB, at most '
          f'{peak / 2 ** 20:.1f} MiB')


def profile() -> None:
    """Print where the time goes."""
    plans = compile_rules(make_rules(1000))
    profiler = cProfile.Profile()
    profiler.enable()
    for _repeat in range(20):
        run_ours(plans)
    profiler.disable()
    pstats.Stats(profiler).sort_stats('tottime').print_stats(8)


def compare_inspections(count: int) -> None:
    """Print what rules add to a whole inspection, on both sides."""
    rules = [{name: value for name, value in rule.items()
              if name != 'scope'} for rule in make_rules(count)]
    added = {}
    for name, overrides in (('stock Ironic', PEER_ONLY), ('ours', {})):
        with tempfile.TemporaryDirectory() as directory:
            ironic = launcher.Ironic(directory, overrides, ('ironic',), None)
            ironic.create_database()
            try:
                ironic.start()
                added[name] = _time_rules(ironic.client(), rules)
            finally:
                ironic.stop()
        without, with_rules = added[name]
        print(f'  {name:13} {without * 1000:7.0f} ms without rules, '
              f'{with_rules * 1000:7.0f} ms with {count}')
    costs = {name: max(with_rules - without, 1e-3)
             for name, (without, with_rules) in added.items()}
    print(f'  the rules take {costs["ours"] * 1000:.0f} ms instead of '
          f'{costs["stock Ironic"] * 1000:.0f} ms, '
          f'1/{costs["stock Ironic"] / costs["ours"]:.0f}')


def _time_rules(client, rules: list[dict[str, Any]]) -> tuple[float, float]:
    without = _time_inspection(client)
    for rule in rules:
        client.call('POST', '/v1/inspection_rules', rule)
    return without, _time_inspection(client)


def _time_inspection(client) -> float:
    """Median time from the posted inventory to the manageable node."""
    times = []
    for _repeat in range(REPEATS):
        mac = base.new_mac()
        node = client.enroll([mac])
        client.start_inspection(node)
        start = time.perf_counter()
        client.call('POST', f'/v1/continue_inspection?node_uuid={node}',
                    base.ramdisk_data(mac))
        shown = client.wait_for_state(node, 'manageable', 'inspect failed')
        times.append(time.perf_counter() - start)
        if shown['provision_state'] != 'manageable':
            raise SystemExit(f'The inspection failed: {shown["last_error"]}')
    return statistics.median(times)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--rules', type=int, default=1000)
    parser.add_argument('--inspection', action='store_true',
                        help='compare whole inspections on running Ironics')
    parsed = parser.parse_args()
    if parsed.inspection:
        compare_inspections(parsed.rules)
        return
    logging.disable(logging.CRITICAL)
    CONF([], project='ironic', default_config_files=[])
    compare(parsed.rules)
    explain(parsed.rules)
    compare_vars(parsed.rules)
    scale()
    profile()


if __name__ == '__main__':
    main()
