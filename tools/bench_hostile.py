#!/usr/bin/env python3
#
# SPDX-License-Identifier: Apache-2.0

"""Compares what hostile requests cost here and in a stock Ironic.

Each is sent in two sizes, the second ten times the first, to Ironic's API with
the plugin and, where stock Ironic has the call, to one without it. What counts
is processor time of the thread that answers; the least of a few is shown.
"""

from collections.abc import Callable, Iterable
import json
from typing import Any

from ironic_inspection_rules.tests.functional.fuzz import cases
from ironic_inspection_rules.tests.functional.fuzz import child
from ironic_inspection_rules.tests.functional.fuzz import test_fuzz

TIMES = 3
SIZES = (2_000, 20_000)
JSON = 'application/json'

Json = dict[str, Any]

MACHINE = json.dumps({'inventory': {'interfaces': [
    {'mac_address': '52:54:00:00:00:00'}]}}).encode()


def _url(path: str, parameters: Iterable[str], method: str = 'GET',
         body: bytes = b'') -> cases.Case:
    return cases.Case(method, f'{path}?{"&".join(parameters)}',
                      JSON if body else '', body)


def _body(method: str, path: str, document: Any) -> cases.Case:
    return cases.Case(method, path, JSON, json.dumps(document).encode())


def _machine(rules: list[tuple[Json, Json]], **plugin_data: Any
             ) -> cases.Case:
    """Return a dry run of rules on the data that a machine could send."""
    return _body('POST', '/v1/inspection_rules/evaluate', {
        'inventory': {}, 'plugin_data': plugin_data, 'rules': [
            {'actions': [action], **fields} for action, fields in rules]})


def _written(path: str, value: Any, **fields: Any) -> Json:
    return {'op': 'set-plugin-data', 'args': [path, value], **fields}


HOSTILE: dict[str, tuple[bool, Callable[[int], cases.Case]]] = {
    'unknown parameters, no login': (True, lambda size: _url(
        '/v1/continue_inspection', (f'a{each}=' for each in range(size)),
        'POST', MACHINE)),
    'names of traits': (False, lambda size: _url(
        '/v1/nodes', (f'traits=CUSTOM_{each}' for each in range(size)))),
    'fields of a rule': (False, lambda size: _body(
        'POST', '/v1/inspection_rules',
        {f'field{each}': 1 for each in range(size)})),
    'bad operations of a rule': (False, lambda size: _body(
        'POST', '/v1/inspection_rules',
        {'actions': [{'op': f'o{each}'} for each in range(size)]})),
    'operations of a patch': (False, lambda size: _body(
        'PATCH', f'/v1/inspection_rules/{child.RULE}',
        [{'op': 'copy', 'from': '/scope', 'path': '/scope'}] * size)),
    'copies that double, in a patch': (False, lambda size: _body(
        'PATCH', f'/v1/inspection_rules/{child.RULE}',
        [{'op': 'copy', 'from': '/actions', 'path': '/actions/-'}]
        * min(size // 200, 100))),
    'items a sensitive rule writes': (False, lambda size: _machine(
        [(_written('/nics/{item[n]}', '{item}', loop='{plugin_data[l]}'),
          {'phase': 'early', 'sensitive': True}),
         (_written('/seen', True), {})],
        l=[{'n': str(each)} for each in range(size)])),
    'places below ports': (False, lambda size: _machine(
        [(_written('/ports/{item}/a', '{item}', loop='{plugin_data[l]}'),
          {})], l=[f'p{each}' for each in range(size)])),
    'large values that are kept': (False, lambda size: _machine(
        [(_written('/copies/{item}', '{plugin_data[v]}',
                   loop='{plugin_data[l]}'), {'phase': 'early'})],
        l=list(range(size // 200)), v=['x' * 100] * (size // 20))),
    'members of an evaluation': (False, lambda size: _body(
        'POST', '/v1/inspection_rules/evaluate',
        {f'member{each}': 1 for each in range(size)})),
    'bad traits of a node': (True, lambda size: _body(
        'PUT', '/v1/nodes/posted/traits',
        {'traits': [f'custom_{each}' for each in range(size)]})),
}
"""What is sent, by its name: whether stock Ironic has it, and a case."""


def main() -> None:
    """Print a line for each."""
    ours, stock = test_fuzz.Child(), test_fuzz.Child(child.STOCK)
    print(f'{"":30} {"seconds":>8} {"10 x":>8} {"growth":>7} {"stock":>8} '
          f'{"ratio":>6}')
    try:
        for name, (has_stock, case) in HOSTILE.items():
            small, large = (_seconds(ours, case(size)) for size in SIZES)
            line = f'{name:30} {small:8.3f} {large:8.3f} {large / small:7.1f}'
            if has_stock:
                plain = _seconds(stock, case(SIZES[-1]))
                line += f' {plain:8.3f} {large / plain:6.1f}'
            print(line)
    finally:
        ours.stop()
        stock.stop()


def _seconds(service: test_fuzz.Child, case: cases.Case) -> float:
    verdicts = [service.judge(case) for _time in range(TIMES)]
    for verdict in verdicts:
        if verdict.get('status', 599) >= 500:
            raise SystemExit(f'{case.method} {case.path[:60]}: {verdict}')
    return min(float(verdict['seconds']) for verdict in verdicts)


if __name__ == '__main__':
    main()
