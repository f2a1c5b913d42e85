#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measure how fast a running Ironic lists many rules, page by page.

An all-in-one Ironic over SQLite; the rules are written into its database
directly. The aim is under 5 seconds for 10,000 rules.
"""

import argparse
from collections.abc import Iterator
import contextlib
import tempfile
import time
import uuid

import requests
import sqlalchemy as sa

from ironic_inspection_rules.db import models
from ironic_inspection_rules.tests.live import launcher

RULE = {
    'version': '1.0', 'revision': 1,
    'conditions': [{'op': 'eq', 'args': ['{inventory.cpu.count}', 4]}],
    'actions': [{'op': 'set-attribute', 'args': ['/extra/cpus', 4]}],
}

QUERIES = ('', 'sort_key=priority&sort_dir=desc', 'detail=true')


def main() -> None:
    """Print a line for each way of listing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rules', type=int, default=10_000)
    parser.add_argument('--pages', type=int, nargs='+', default=[1000, 100],
                        help='rules on a page')
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as directory, launcher.Ironic(
            directory) as ironic:
        fill(ironic, arguments.rules)
        print(f'{arguments.rules} rules')
        for limit in arguments.pages:
            for query in QUERIES:
                with measured(f'{limit} on a page, {query or "as made"}'):
                    listed = sum(pages(ironic, limit, query))
                    assert listed == arguments.rules


def fill(ironic: launcher.Ironic, count: int) -> None:
    """Write rules into the database of an Ironic."""
    engine = sa.create_engine(f'sqlite:///{ironic.database_file}')
    with engine.begin() as connection:
        connection.execute(sa.insert(models.Rule), [
            {**RULE, 'uuid': str(uuid.uuid4()), 'priority': number % 100}
            for number in range(count)])


def pages(ironic: launcher.Ironic, limit: int, query: str) -> Iterator[int]:
    """Follow the pages and return how many rules are on each."""
    with requests.Session() as session:
        session.headers['X-OpenStack-Ironic-API-Version'] = '1.96'
        url = f'{ironic.url}/v1/inspection_rules?limit={limit}&{query}'
        while url:
            page = session.get(url).json()
            yield len(page['inspection_rules'])
            url = page.get('next')


@contextlib.contextmanager
def measured(what: str) -> Iterator[None]:
    """Print how long something takes."""
    start = time.perf_counter()
    yield
    print(f'{what:45} {time.perf_counter() - start:6.2f} s')


if __name__ == '__main__':
    main()
