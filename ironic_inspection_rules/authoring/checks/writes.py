# SPDX-License-Identifier: Apache-2.0

"""What an action writes, for each item of its loop that the rule has."""

from collections.abc import Iterator
import typing

from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.rule_file import file_rule


def arguments(operation: file_rule.Operation
              ) -> Iterator[dict[str, typing.Any]]:
    """Yield the arguments for each item that is written out in the rule.

    Where the items come out of the data, or there is no loop, the arguments
    come once, as they are written.
    """
    loop = operation.written.get('loop')
    if isinstance(loop, dict):
        loop = [loop]
    if not isinstance(loop, list):
        yield operation.arguments
        return
    for item in loop:
        yield {name: _fill(value, item)
               for name, value in operation.arguments.items()}


def writes(operation: file_rule.Operation) -> Iterator[plugin.Write]:
    """Yield what an action declares that it writes."""
    for given in arguments(operation):
        try:
            yield from list(operation.op.plugin.writes(given))
        except Exception:
            # What others wrote may expect more of arguments than they hold.
            continue


def _fill(value: typing.Any, item: typing.Any) -> typing.Any:
    if isinstance(value, dict):
        return {key: _fill(inner, item) for key, inner in value.items()}
    if isinstance(value, list):
        return [_fill(inner, item) for inner in value]
    if not isinstance(value, str):
        return value
    pieces = interpolation.parse(value)
    if len(pieces) == 1 and isinstance(pieces[0], interpolation.Field) and (
            pieces[0].root == interpolation.ITEM and pieces[0].is_plain):
        found = data_path.get(item, pieces[0].steps)
        return value if found is data_path.ABSENT else found
    return interpolation.fill_item(value, item)
