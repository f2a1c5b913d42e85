# SPDX-License-Identifier: Apache-2.0

"""Lists of nodes by trait, on fleets of several sizes.

Every node has 20 of 500 traits. Two traits are on every node, and two others
are on the same 100 nodes. Whole requests are measured, in the process of the
API. Without filters for traits, a client lists all nodes and chooses.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
import functools
import random
import statistics
import time
import typing

import httpx
from ironic.db.sqlalchemy import models
from oslo_db.sqlalchemy import enginefacade
from oslo_utils import uuidutils
import sqlalchemy as sa

from benchmark import common
from ironic_inspection_rules.tests.functional.api import application

PAGE = 100
MATCHES = 100
PER_NODE = 20
NAMES = [f'CUSTOM_TRAIT_{number:03}' for number in range(500)]
ON_ALL = NAMES[:2]
ON_FEW = NAMES[2:4]

CHOOSE = 'choose them in the client'
MEASURED_SIZE = 10000
"""Largest fleet for which choosing in the client is measured, because that
takes minutes."""


def fleet(size: int) -> Iterator[tuple[dict[str, typing.Any], list[str]]]:
    """Yield nodes that have as much data as real ones, and their traits.

    :returns: the columns of a node, and the names of its traits.
    """
    dice = random.Random(size)
    for number in range(size):
        traits = list(ON_ALL)
        # This gives 100 nodes these traits, spread evenly over the fleet.
        if number % (size // MATCHES) == 0:
            traits += ON_FEW
        traits += dice.sample(NAMES[4:], PER_NODE - len(traits))
        yield (
            {
                'id': number + 1,
                'uuid': uuidutils.generate_uuid(),
                'name': f'node-{number}',
                'driver': 'redfish',
                'version': '1.40',
                'resource_class': f'class-{number % 5}',
                'provision_state': 'available',
                'power_state': 'power on',
                'driver_info': {
                    'redfish_address': 'https://192.0.2.1',
                    'redfish_username': 'admin',
                    'redfish_password': 'x' * 20,
                },
                'properties': {
                    'cpus': 64,
                    'memory_mb': 524288,
                    'local_gb': 960,
                    'cpu_arch': 'x86_64',
                    'capabilities': 'boot_mode:uefi',
                },
                'driver_internal_info': {'agent_url': 'x' * 500},
                'extra': {'rack': f'rack-{number // 40}'},
                'instance_info': {},
            },
            traits,
        )


def enroll(engine: sa.Engine, size: int) -> None:
    """Store the nodes and their traits, a thousand nodes at a time."""
    nodes, traits = [], []
    with engine.begin() as connection:
        for node, names in fleet(size):
            nodes.append(node)
            traits += [
                {'node_id': node['id'], 'trait': name, 'version': '1.0'}
                for name in names
            ]
            if len(nodes) == 1000 or node['id'] == size:
                connection.execute(sa.insert(models.Node.__table__), nodes)
                connection.execute(
                    sa.insert(models.NodeTrait.__table__), traits
                )
                nodes, traits = [], []
    if engine.name == 'sqlite':
        return
    # A server chooses indexes by statistics, which it would update only some
    # time later.
    analyze = 'ANALYZE TABLE'
    if engine.name == 'postgresql':
        analyze = 'ANALYZE'
    with engine.begin() as connection:
        for table in ('nodes', 'node_traits'):
            connection.execute(sa.text(f'{analyze} {table}'))


class Lists:
    """The requests that are measured; each returns the number of nodes."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def page(self, **filters: str) -> int:
        """List one page, with the fields of the default list."""
        return len(self._get('/v1/nodes', limit=PAGE, **filters)['nodes'])

    def find(self) -> int:
        """Find the matching nodes with a filter."""
        return len(
            self._get('/v1/nodes', fields='uuid', traits=','.join(ON_FEW))[
                'nodes'
            ]
        )

    def choose(self) -> int:
        """Find the matching nodes in a list of all nodes."""
        answer = self._get('/v1/nodes', fields='uuid,traits')
        count = 0
        while True:
            count += sum(
                set(ON_FEW).issubset(node['traits'])
                for node in answer['nodes']
            )
            # Ironic returns the nodes page by page.
            if 'next' not in answer:
                return count
            answer = self._get(answer['next'])

    def _get(self, url: str, **parameters: str | int) -> typing.Any:
        """Return the JSON data of an answer, or raise its error."""
        answer = self._client.get(url, params=parameters or None)
        answer.raise_for_status()
        return answer.json()


def sides(lists: Lists) -> dict[str, tuple[Callable[[], int], int]]:
    """Return the requests to measure.

    :returns: by title of the row, a function that sends the request and
        returns the number of nodes, and the expected number.
    """
    few, everywhere = ','.join(ON_FEW), ','.join(ON_ALL)
    filters: dict[str, Mapping[str, str]] = {
        'page': {},
        'page, traits on all nodes': {'traits': everywhere},
        'page, traits on 100 nodes': {'traits': few},
        'page, traits-any': {'traits-any': few},
        'page, not-traits': {'not-traits': few},
        'page, not-traits-any': {'not-traits-any': few},
    }
    requests: dict[str, tuple[Callable[[], int], int]] = {}
    for name, filters_of_page in filters.items():
        request = functools.partial(lists.page, **filters_of_page)
        requests[name] = request, PAGE
    requests['find 100 nodes'] = lists.find, MATCHES
    requests[CHOOSE] = lists.choose, MATCHES
    return requests


def measure_fleet(kind: str, size: int, repeat: int) -> dict[str, float]:
    """Measure all requests in turns on a new fleet.

    :param kind: the kind of database, such as ``sqlite``.
    :param size: the number of nodes.
    :param repeat: the number of turns that count.
    :returns: the median seconds, by title of the request.
    """
    times: dict[str, list[float]] = {}
    with (
        application.Application(kind=kind) as ironic,
        httpx.Client(
            transport=httpx.WSGITransport(app=ironic.app),
            base_url='http://ironic.test',
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        ) as client,
    ):
        enroll(enginefacade.writer.get_engine(), size)
        for turn in range(repeat + 1):
            for name, (request, expected) in sides(Lists(client)).items():
                # Choosing in the client takes so long that it is measured only
                # twice, and not at all on a large fleet.
                is_left_out = turn not in (1, 2) or size > MEASURED_SIZE
                if name == CHOOSE and is_left_out:
                    continue
                start = time.perf_counter()
                found = request()
                duration = time.perf_counter() - start
                if found != expected:
                    raise SystemExit(f'{name}: {found} nodes')
                # The first turn fills caches.
                if turn:
                    times.setdefault(name, []).append(duration)
    return {name: statistics.median(taken) for name, taken in times.items()}


def print_table(kind: str, size: int, times: dict[str, float]) -> None:
    """Print the table of a fleet.

    :param times: the seconds, by title of the request.
    """
    table = common.Table(
        f'Lists of {size:,} nodes by trait, median in ms '
        f'({common.server_version(kind)})',
        ('What', 'Takes', 'Compared'),
        goal='with 10,000 nodes a page by trait takes at most 1.5 times as '
        'long as any page, and finding 100 nodes is 20 times as fast as '
        'choosing them in the client.',
    )
    for name, duration in times.items():
        compared = ''
        if name.startswith('page'):
            compared = f'{duration / times["page"]:.2f} times a page'
        elif name.startswith('find') and CHOOSE in times:
            compared = f'{times[CHOOSE] / duration:.0f} times as fast'
        table.add(name, f'{duration * 1000:.1f}', compared)
    table.print()


def measure(arguments: argparse.Namespace) -> None:
    """Measure fleets of all sizes that are asked for."""
    for size in arguments.sizes:
        common.say(f'Lists of {size} nodes by trait')
        print_table(
            arguments.database,
            size,
            measure_fleet(arguments.database, size, arguments.repeats),
        )


def _missing(arguments: argparse.Namespace) -> str | None:
    """Return what this machine lacks for the benchmark, or None."""
    return common.missing_database(arguments.database)


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--sizes',
        nargs='+',
        type=int,
        metavar='COUNT',
        default=[10_000],
        help='numbers of nodes',
    )
    group.add_argument(
        '--repeats',
        type=int,
        default=15,
        metavar='TIMES',
        help='how often a request is sent',
    )


PART = common.Part(
    'traits',
    'lists of nodes by trait, beside choosing in the client',
    measure,
    _add_arguments,
    _missing,
)
