#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measure what it takes to apply a rule set of many rules.

Ironic's API in this process over a database server. ``API`` is the processor
time of the service, which other load on the machine does not change; ``wall``
has the server's share and all waiting. The aim is 10,000 rules in 10 seconds.
"""

import argparse
from collections.abc import Iterator
import contextlib
import cProfile
import json
import pstats
import time
from typing import Any

import webob

from ironic_inspection_rules.tests.functional.api import application


def make_rules(count: int, priority: int = 0) -> list[dict[str, Any]]:
    """Make rules such as a file has, found again by their description."""
    return [{
        'description': f'rule {number}', 'priority': priority,
        'conditions': [
            {'op': 'eq', 'args': {'values': [
                '{inventory[system_vendor][serial_number]}',
                f'S{number}']}},
            {'op': 'ge', 'args': {'values': [
                '{inventory[memory][physical_mb]}', 4096]}}],
        'actions': [
            {'op': 'set-attribute', 'args': {
                'path': '/extra/rack', 'value': f'rack {number % 100}'}}],
    } for number in range(count)]


class Client:
    """Puts rule sets.

    :param app: the WSGI application.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    def put(self, rules: list[dict[str, Any]], query: str = '') -> None:
        """Put the rules in the place of the stored ones."""
        self._send('PUT', f'/v1/inspection_rules{query}', {'rules': rules})

    def restore(self, revision: int) -> None:
        """Put the rules of a revision in force again."""
        self._send('POST',
                   f'/v1/inspection_rules/revisions/{revision}/restore', {})

    def _send(self, method: str, path: str, body: dict[str, Any]) -> None:
        request = webob.Request.blank(path, method=method, headers={
            'X-OpenStack-Ironic-API-Version': '1.96'})
        request.content_type = 'application/json'
        request.body = json.dumps(body).encode()
        answer = request.get_response(self._app)
        assert answer.status_int == 200, answer.text


def run(client: Client, count: int, functions: int) -> None:
    """Print a line for each kind of apply."""
    rules = make_rules(count)
    changed = make_rules(count, priority=1)
    some = changed[:100] + rules[100:]
    with measured('all are new', functions):
        client.put(rules)
    with measured('nothing to do', functions):
        client.put(rules)
    with measured('100 are changed', functions):
        client.put(some)
    with measured('all are changed', functions):
        client.put(changed)
    with measured('what would be changed', functions):
        client.put(rules, '?dry_run=true')
    with measured('all go to another place', functions):
        client.put(changed[::-1])
    with measured('all are removed', functions):
        client.put([])
    with measured('a revision is restored', functions):
        client.restore(2)


@contextlib.contextmanager
def measured(what: str, functions: int) -> Iterator[None]:
    """Print how long something takes, and where where it is asked for."""
    profile = cProfile.Profile()
    wall, processor = time.perf_counter(), time.process_time()
    with profile if functions else contextlib.nullcontext():
        yield
    processor = time.process_time() - processor
    wall = time.perf_counter() - wall
    print(f'{what:25} API {processor:6.2f} s  wall {wall:6.2f} s',
          flush=True)
    if functions:
        pstats.Stats(profile).sort_stats('cumulative').print_stats(functions)


def main() -> None:
    """Print a line for each kind of apply."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rules', type=int, default=10_000)
    parser.add_argument('--database', default='mysql',
                        choices=('mysql', 'postgresql', 'sqlite'))
    parser.add_argument('--profile', type=int, default=0, metavar='FUNCTIONS',
                        help='print the functions that take the longest')
    arguments = parser.parse_args()

    options = {'api': {'max_json_body_size_inspection': 1 << 30}}
    with application.Application(options, arguments.database) as fixture:
        print(f'{arguments.rules} rules, {arguments.database}')
        run(Client(fixture.app), arguments.rules, arguments.profile)


if __name__ == '__main__':
    main()
