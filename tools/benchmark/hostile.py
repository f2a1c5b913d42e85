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
    content_type = ''
    if body:
        content_type = JSON
    query = '&'.join(parameters)
    return cases.Case(method, f'{path}?{query}', content_type, body)


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


def _send_parameters(size: int) -> cases.Case:
    """Return inspection data with unknown parameters in the URL."""
    parameters = [f'a{number}=' for number in range(size)]
    return _url('/v1/continue_inspection', parameters, 'POST', MACHINE)


def _list_by_traits(size: int) -> cases.Case:
    """Return a list of nodes that is filtered by many traits."""
    traits = [f'traits=CUSTOM_{number}' for number in range(size)]
    return _url('/v1/nodes', traits)


def _create_with_fields(size: int) -> cases.Case:
    """Return a rule with many unknown fields."""
    rule = {f'field{number}': 1 for number in range(size)}
    return _body('POST', '/v1/inspection_rules', rule)


def _create_with_bad_actions(size: int) -> cases.Case:
    """Return a rule with many unknown actions."""
    actions = [{'op': f'o{number}'} for number in range(size)]
    return _body('POST', '/v1/inspection_rules', {'actions': actions})


def _patch_often(size: int) -> cases.Case:
    """Return a patch with many operations."""
    operation = {'op': 'copy', 'from': '/scope', 'path': '/scope'}
    return _body(
        'PATCH', f'/v1/inspection_rules/{child.RULE}', [operation] * size
    )


def _patch_with_doubling(size: int) -> cases.Case:
    """Return a patch in which every operation doubles the size of a rule."""
    operation = {'op': 'copy', 'from': '/actions', 'path': '/actions/-'}
    count = min(size // 200, 100)
    return _body(
        'PATCH', f'/v1/inspection_rules/{child.RULE}', [operation] * count
    )


def _write_items_secretly(size: int) -> cases.Case:
    """Return a sensitive rule that writes many items, and another rule."""
    write_items = _written(
        '/nics/{item[n]}', '{item}', loop='{plugin_data[l]}'
    )
    return _machine(
        [
            (write_items, {'phase': 'early', 'sensitive': True}),
            (_written('/seen', True), {}),
        ],
        l=[{'n': str(number)} for number in range(size)],
    )


def _write_below_ports(size: int) -> cases.Case:
    """Return a rule that writes to many places whose path has "ports"."""
    write_items = _written(
        '/ports/{item}/a', '{item}', loop='{plugin_data[l]}'
    )
    names = [f'p{number}' for number in range(size)]
    return _machine([(write_items, {})], l=names)


def _copy_large_value(size: int) -> cases.Case:
    """Return a rule that writes a large value to many places."""
    write_copies = _written(
        '/copies/{item}', '{plugin_data[v]}', loop='{plugin_data[l]}'
    )
    return _machine(
        [(write_copies, {'phase': 'early'})],
        l=list(range(size // 200)),
        v=['x' * 100] * (size // 20),
    )


def _evaluate_with_members(size: int) -> cases.Case:
    """Return an evaluation with many unknown members."""
    members = {f'member{number}': 1 for number in range(size)}
    return _body('POST', '/v1/inspection_rules/evaluate', members)


def _put_bad_traits(size: int) -> cases.Case:
    """Return many bad traits for a node."""
    traits = [f'custom_{number}' for number in range(size)]
    return _body('PUT', '/v1/nodes/posted/traits', {'traits': traits})


HOSTILE: dict[str, tuple[bool, Callable[[int], cases.Case]]] = {
    'unknown parameters, no login': (True, _send_parameters),
    'names of traits': (False, _list_by_traits),
    'fields of a rule': (False, _create_with_fields),
    'bad operations of a rule': (False, _create_with_bad_actions),
    'operations of a patch': (False, _patch_often),
    'copies that double, in a patch': (False, _patch_with_doubling),
    'items a sensitive rule writes': (False, _write_items_secretly),
    'places below ports': (False, _write_below_ports),
    'large values that are kept': (False, _copy_large_value),
    'members of an evaluation': (False, _evaluate_with_members),
    'bad traits of a node': (True, _put_bad_traits),
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
