# SPDX-License-Identifier: Apache-2.0

"""Measure whole inspections beside those of stock Ironic, in one run.

Two Ironics run at the same time, each with API and conductor in one process
and with SQLite. They inspect machines in turns: first without rules, then with
the rules of the benchmark ``engine`` in their databases. The result is the
median time from the post of the inventory until the API shows the node as
manageable.
"""

import argparse
import contextlib
import statistics
import tempfile
import time
from typing import Any

from benchmark import common
from benchmark import engine
from benchmark import pxe_filter
from benchmark import runs
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.live import client as live_client
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options

STOCK: options.Options = {
    'api': {'middleware': None},
    'inspector': {'hooks': '$default_hooks'},
}


def compare(arguments: argparse.Namespace) -> None:
    """Measure both Ironics, without and with rules."""
    rules = [
        {name: value for name, value in rule.items() if name != 'scope'}
        for rule in engine.make_rules(arguments.rules)
    ]
    with contextlib.ExitStack() as stack:
        clients = []
        for overrides in (STOCK, {}):
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            ironic = stack.enter_context(launcher.Ironic(directory, overrides))
            clients.append(stack.enter_context(ironic.client()))
        without = _measure(clients, arguments.inspections)
        common.say(f'Making {len(rules)} rules on both sides')
        for client in clients:
            for rule in rules:
                client.call('POST', '/v1/inspection_rules', rule)
        with_rules = _measure(clients, arguments.inspections)
    table = common.Table(
        f'A whole inspection without and with {len(rules)} rules, in ms',
        ('Ironic', 'Without rules', 'With rules', 'Of the rules'),
    )
    for name, before, after in zip(
        ('Stock Ironic', 'With this project'), without, with_rules, strict=True
    ):
        table.add(
            name,
            f'{before * 1000:.0f}',
            f'{after * 1000:.0f}',
            f'{(after - before) * 1000:.0f}',
        )
    table.print()


def _measure(clients: list[live_client.Client], count: int) -> list[float]:
    """Inspect machines with all Ironics, in turns.

    :param clients: one client per Ironic.
    :param count: the number of machines per Ironic.
    :returns: the median seconds of an inspection, by Ironic.
    """
    times: list[list[float]] = [[] for _client in clients]
    for _turn in range(count):
        for client, of_client in zip(clients, times, strict=True):
            of_client.append(_inspect(client))
    return [statistics.median(of_client) for of_client in times]


def _inspect(client: Any) -> float:
    """Inspect a new machine.

    :returns: the seconds from the post of its inventory to the end.
    :raises: SystemExit if the inspection fails.
    """
    mac = base.new_mac()
    node = client.enroll([mac])
    client.start_inspection(node)
    start = time.perf_counter()
    client.call(
        'POST',
        f'/v1/continue_inspection?node_uuid={node}',
        base.ramdisk_data(mac),
    )
    ended = client.wait_for_state(node, 'manageable', 'inspect failed')
    seconds = time.perf_counter() - start
    if ended['provision_state'] != 'manageable':
        raise SystemExit(f'The inspection failed: {ended["last_error"]}')
    return seconds


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--rules',
        type=int,
        default=1000,
        metavar='COUNT',
        help='number of rules',
    )
    group.add_argument(
        '--inspections',
        type=int,
        default=20,
        metavar='COUNT',
        help='number of inspections by each Ironic, with rules and without',
    )


PARTS = (
    common.Part(
        'whole',
        "whole inspections beside stock Ironic's",
        compare,
        _add_arguments,
    ),
    runs.PART,
    pxe_filter.PART,
)
