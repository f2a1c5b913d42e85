# SPDX-License-Identifier: Apache-2.0

"""Hostile requests, compared with stock Ironic if it has the call.

They are sent in two sizes, of which the second is ten times the first. The
result is the processor time of the thread that responds, the least of a few
attempts.
"""

import argparse
from collections.abc import Callable, Iterable
import json
from typing import Any

from benchmark import common
from ironic_inspection_rules.tests.functional.fuzz import cases
from ironic_inspection_rules.tests.functional.fuzz import child
from ironic_inspection_rules.tests.functional.fuzz import test_fuzz

TIMES = 3
SIZES = (2_000, 20_000)
JSON = 'application/json'

Json = dict[str, Any]

MACHINE = json.dumps(
    {'inventory': {'interfaces': [{'mac_address': '52:54:00:00:00:00'}]}}
).encode()


def _url(
    path: str,
    parameters: Iterable[str],
    method: str = 'GET',
    body: bytes = b'',
) -> cases.Case:
    """Return a request with parameters such as ``a1=`` after its path."""
    return cases.Case(
        method, f'{path}?{"&".join(parameters)}', JSON if body else '', body
    )


def _body(method: str, path: str, document: Any) -> cases.Case:
    """Return a request with a document as its body."""
    return cases.Case(method, path, JSON, json.dumps(document).encode())


def _machine(rules: list[tuple[Json, Json]], **plugin_data: Any) -> cases.Case:
    """Return a dry run of rules on data that a machine could send.

    :param rules: for every rule, its action and its other fields.
    :param plugin_data: the data of the machine.
    """
    return _body(
        'POST',
        '/v1/inspection_rules/evaluate',
        {
            'inventory': {},
            'plugin_data': plugin_data,
            'rules': [
                {'actions': [action], **fields} for action, fields in rules
            ],
        },
    )


def _written(path: str, value: Any, **fields: Any) -> Json:
    """Return an action that sets plugin data.

    :param fields: the other keys of the action, such as ``loop``.
    """
    return {'op': 'set-plugin-data', 'args': [path, value], **fields}


HOSTILE: dict[str, tuple[bool, Callable[[int], cases.Case]]] = {
    'unknown parameters, no login': (
        True,
        lambda size: _url(
            '/v1/continue_inspection',
            (f'a{number}=' for number in range(size)),
            'POST',
            MACHINE,
        ),
    ),
    'names of traits': (
        False,
        lambda size: _url(
            '/v1/nodes', (f'traits=CUSTOM_{number}' for number in range(size))
        ),
    ),
    'fields of a rule': (
        False,
        lambda size: _body(
            'POST',
            '/v1/inspection_rules',
            {f'field{number}': 1 for number in range(size)},
        ),
    ),
    'bad operations of a rule': (
        False,
        lambda size: _body(
            'POST',
            '/v1/inspection_rules',
            {'actions': [{'op': f'o{number}'} for number in range(size)]},
        ),
    ),
    'operations of a patch': (
        False,
        lambda size: _body(
            'PATCH',
            f'/v1/inspection_rules/{child.RULE}',
            [{'op': 'copy', 'from': '/scope', 'path': '/scope'}] * size,
        ),
    ),
    'copies that double, in a patch': (
        False,
        lambda size: _body(
            'PATCH',
            f'/v1/inspection_rules/{child.RULE}',
            [{'op': 'copy', 'from': '/actions', 'path': '/actions/-'}]
            * min(size // 200, 100),
        ),
    ),
    'items a sensitive rule writes': (
        False,
        lambda size: _machine(
            [
                (
                    _written(
                        '/nics/{item[n]}', '{item}', loop='{plugin_data[l]}'
                    ),
                    {'phase': 'early', 'sensitive': True},
                ),
                (_written('/seen', True), {}),
            ],
            l=[{'n': str(number)} for number in range(size)],
        ),
    ),
    'places below ports': (
        False,
        lambda size: _machine(
            [
                (
                    _written(
                        '/ports/{item}/a', '{item}', loop='{plugin_data[l]}'
                    ),
                    {},
                )
            ],
            l=[f'p{number}' for number in range(size)],
        ),
    ),
    'large values that are kept': (
        False,
        lambda size: _machine(
            [
                (
                    _written(
                        '/copies/{item}',
                        '{plugin_data[v]}',
                        loop='{plugin_data[l]}',
                    ),
                    {'phase': 'early'},
                )
            ],
            l=list(range(size // 200)),
            v=['x' * 100] * (size // 20),
        ),
    ),
    'members of an evaluation': (
        False,
        lambda size: _body(
            'POST',
            '/v1/inspection_rules/evaluate',
            {f'member{number}': 1 for number in range(size)},
        ),
    ),
    'bad traits of a node': (
        True,
        lambda size: _body(
            'PUT',
            '/v1/nodes/posted/traits',
            {'traits': [f'custom_{number}' for number in range(size)]},
        ),
    ),
}
"""The requests, by title of the row: whether stock Ironic has the call, and a
function that makes the request in a given size."""


def measure(_arguments: argparse.Namespace) -> None:
    """Send all requests to Ironic with this project and without it."""
    table = common.Table(
        'Hostile requests of two sizes: processor time of the API in ms',
        (
            'Many',
            f'{SIZES[0]:,}',
            f'{SIZES[1]:,}',
            'Growth',
            f'Stock Ironic, {SIZES[1]:,}',
        ),
    )
    ours, stock = test_fuzz.Child(), test_fuzz.Child(child.STOCK)
    try:
        for name, (has_stock, case) in HOSTILE.items():
            small, large = (_seconds(ours, case(size)) for size in SIZES)
            plain = ''
            if has_stock:
                plain = f'{_seconds(stock, case(SIZES[-1])) * 1000:.1f}'
            table.add(
                name,
                f'{small * 1000:.1f}',
                f'{large * 1000:.1f}',
                f'{large / small:.1f} times',
                plain,
            )
    finally:
        ours.stop()
        stock.stop()
    table.print()


def _seconds(service: test_fuzz.Child, case: cases.Case) -> float:
    """Send a request a few times, and return the least processor time.

    :raises: SystemExit if the service responds with 500 or more, or not at
        all.
    """
    verdicts = [service.judge(case) for _time in range(TIMES)]
    for verdict in verdicts:
        if verdict.get('status', 599) >= 500:
            raise SystemExit(f'{case.method} {case.path[:60]}: {verdict}')
    return min(float(verdict['seconds']) for verdict in verdicts)


PART = common.Part('hostile', 'requests that are made to be slow', measure)
