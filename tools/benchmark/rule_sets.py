# SPDX-License-Identifier: Apache-2.0

"""Rule sets of many rules: apply one, and list it.

Ironic's API runs in this process, and uses a database server. Without the call
that applies a set, a client must create rules one by one.
"""

import argparse
from collections.abc import Iterator
import contextlib
import json
import time
from typing import Any

import webob

from benchmark import common
from ironic_inspection_rules.tests.functional.api import application

Json = dict[str, Any]

RULES = '/v1/inspection_rules'

_ONE_BY_ONE = 200
"""Number of rules that are created one by one, because this takes long."""


def make_rules(count: int, priority: int = 0) -> list[Json]:
    """Make rules in the form of a rule file.

    They have no UUIDs, so stored rules are found by their description.
    """
    return [
        {
            'description': f'rule {number}',
            'priority': priority,
            'conditions': [
                {
                    'op': 'eq',
                    'args': {
                        'values': [
                            '{inventory[system_vendor][serial_number]}',
                            f'S{number}',
                        ]
                    },
                },
                {
                    'op': 'ge',
                    'args': {
                        'values': ['{inventory[memory][physical_mb]}', 4096]
                    },
                },
            ],
            'actions': [
                {
                    'op': 'set-attribute',
                    'args': {
                        'path': '/extra/rack',
                        'value': f'rack {number % 100}',
                    },
                }
            ],
        }
        for number in range(count)
    ]


class Client:
    """Sends requests.

    :param app: the WSGI application.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    def send(self, method: str, path: str, body: Json | None = None) -> Json:
        """Send a request, and return the response.

        :raises: SystemExit if the response is an error.
        """
        request = webob.Request.blank(
            path,
            method=method,
            headers={'X-OpenStack-Ironic-API-Version': '1.96'},
        )
        if body is not None:
            request.content_type = 'application/json'
            request.body = json.dumps(body).encode()
        answer = request.get_response(self._app)
        if answer.status_int >= 300:
            raise SystemExit(f'{method} {path}: {answer.text}')
        return answer.json

    def put(self, rules: list[Json], query: str = '') -> None:
        """Replace all stored rules by the given rules."""
        self.send('PUT', f'{RULES}{query}', {'rules': rules})

    def list_all(self, limit: int, query: str) -> int:
        """List all rules, page by page, and return their number.

        :param limit: the number of rules on a page.
        :param query: further parameters of the request.
        """
        count = 0
        path = f'{RULES}?limit={limit}&{query}'
        while path:
            page = self.send('GET', path)
            count += len(page['inspection_rules'])
            path = page.get('next', '')
        return count


@contextlib.contextmanager
def measured(
    table: common.Table, what: str, share: float = 1
) -> Iterator[None]:
    """Measure the work in a ``with`` block, and add a row for it.

    :param what: the title of the row.
    :param share: the share of all rules that the block processes, e.g. 0.1 for
        one in ten. The row has the times that all rules would take.
    """
    wall_start = time.perf_counter()
    processor_start = time.process_time()
    yield
    processor = time.process_time() - processor_start
    wall = time.perf_counter() - wall_start
    table.add(what, f'{processor / share:.2f}', f'{wall / share:.2f}')


def measure(arguments: argparse.Namespace) -> None:
    """Measure several ways to apply a rule set, and to list it."""
    settings = {
        'api': {'max_json_body_size_inspection': 1 << 30, 'max_limit': 1000}
    }
    kind, count = arguments.database, arguments.set_size
    server = common.server_version(kind)
    columns = ('What', 'Processor time of the API', 'Until it is done')
    with application.Application(settings, kind) as fixture:
        client = Client(fixture.app)
        table = common.Table(
            f'Applying a set of {count:,} rules, in s ({server})',
            columns,
            goal='10,000 rules in 10 s.',
        )
        apply_all(client, count, table)
        table.print()
        client.put(make_rules(count))
        table = common.Table(
            f'Listing {count:,} rules, in s ({server})',
            columns,
            goal='10,000 rules in 5 s.',
        )
        list_all(client, count, table)
        table.print()


def apply_all(client: Client, count: int, table: common.Table) -> None:
    """Apply rule sets in several ways, with a row for every way.

    :param count: the number of rules in a set.
    """
    rules = make_rules(count)
    changed = make_rules(count, priority=1)
    some = changed[:100] + rules[100:]
    few = rules[:_ONE_BY_ONE]
    with measured(
        table, f'one by one, reckoned from {len(few)}', len(few) / count
    ):
        for rule in few:
            client.send('POST', RULES, rule)
    client.put([])
    with measured(table, 'all are new'):
        client.put(rules)
    # After a change, the next call reads and compiles all rules again.
    with measured(table, 'nothing to do, rules are read'):
        client.put(rules)
    with measured(table, 'nothing to do'):
        client.put(rules)
    with measured(table, '100 are changed'):
        client.put(some)
    with measured(table, 'all are changed'):
        client.put(changed)
    with measured(table, 'what would be changed'):
        client.put(rules, '?dry_run=true')
    with measured(table, 'all go to another place'):
        client.put(changed[::-1])
    revision = client.send('GET', f'{RULES}/revisions?limit=1')['revisions'][
        0
    ]['revision']
    with measured(table, 'all are removed'):
        client.put([])
    with measured(table, 'a revision is restored'):
        client.send('POST', f'{RULES}/revisions/{revision}/restore', {})


def list_all(client: Client, count: int, table: common.Table) -> None:
    """List all rules in several ways, with a row for every way.

    :param count: the number of stored rules.
    """
    for limit in (1000, 100):
        for name, query in (
            ('as made', ''),
            ('with details', 'detail=true'),
            ('by priority', 'sort_key=priority&sort_dir=desc'),
        ):
            with measured(table, f'{limit} on a page, {name}'):
                listed = client.list_all(limit, query)
            if listed != count:
                raise SystemExit(f'{listed} rules are listed, not {count}')


def _missing(arguments: argparse.Namespace) -> str | None:
    """Return what this machine lacks for the benchmark, or None."""
    return common.missing_database(arguments.database)


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--set-size',
        type=int,
        default=10_000,
        metavar='COUNT',
        help='number of rules',
    )


PART = common.Part(
    'rule-sets',
    'rule sets of many rules, beside rules one by one',
    measure,
    _add_arguments,
    _missing,
)
