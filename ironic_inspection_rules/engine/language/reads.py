# SPDX-License-Identifier: Apache-2.0

"""What a rule reads: the fields anywhere in what its author wrote."""

import typing

from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path

Place = tuple[str, data_path.Path]
"""The name of a root, and where in it."""


def fields(written: typing.Any) -> list[interpolation.Field]:
    """Return all fields anywhere in a value, and those in their filters."""
    return _with_arguments(interpolation.fields(written))


def of_field(field: interpolation.Field) -> list[interpolation.Field]:
    """Return a field, and those in its filters."""
    return _with_arguments([field])


def reads_table(field: interpolation.Field) -> bool:
    """Return whether a field reads a table, or is one."""
    return any(read.root == interpolation.TABLES for read in of_field(field))


def _with_arguments(ahead: list[typing.Any]) -> list[interpolation.Field]:
    found = []
    while ahead:
        item = ahead.pop()
        if isinstance(item, interpolation.Field):
            found.append(item)
            ahead += item.filters
        elif isinstance(item, filter_syntax.Call):
            ahead += [value for _name, value in item.arguments]
        elif isinstance(item, list | dict):
            ahead += item.values() if isinstance(item, dict) else item
    return found


def places(written: typing.Any) -> tuple[Place, ...]:
    """Return the places that fields anywhere in a value read."""
    found: dict[Place, None] = {}
    for field in fields(written):
        if field.root == interpolation.PORTS and field.steps and (
                data_path.index(field.steps[0]) is None):
            # By an address: any of the ports.
            found[interpolation.PORTS, ()] = None
        elif field.root:
            found[field.root, field.steps] = None
    return tuple(found)


def mentions(root: str, value: typing.Any) -> bool:
    """Return whether a value may have a field over a root in it."""
    if isinstance(value, typing.Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        return any(mentions(root, part) for part in value)
    return isinstance(value, str) and '{' in value and root in value
