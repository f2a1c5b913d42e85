# SPDX-License-Identifier: Apache-2.0

"""Formats text with ``{data[...]}`` as ironic-inspector did.

The text is a format string of Python, in which all fields begin with the name
``data``: the inspection data of the machine. The parts of a field are::

    {data[disks][0]!r:>8}
     name           conversion "r", format ">8"

The steps of this field are ``('disks', 0)``. The format may contain further
fields. A field can only read plain data; an attribute of a Python object is an
error. Each text is compiled once to a function that returns the text with its
fields filled in.
"""

import functools
import re
import string
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _

Data = typing.Mapping[str, typing.Any]
"""The data that the name "data" refers to, an InspectorData."""
Render = typing.Callable[[Data], str]
"""Returns a text with its fields filled in."""
Steps = tuple[str | int, ...]
"""Keys and indices of a field: ``('disks', 0)`` of ``data[disks][0]``."""

_NAME = re.compile(r'(?P<root>[^.\[\]]*)(?P<steps>(?:\[[^\]]+\])*)')
_STEP = re.compile(r'\[([^\]]+)\]')
# A format such as ":99999" would make a short value a long text.
_WIDE = re.compile(r'\d{5}')


def _unconverted(value: typing.Any) -> typing.Any:
    """Return a value as it is, for a field without a conversion."""
    return value


_CONVERSIONS: dict[str | None, typing.Callable[[typing.Any], typing.Any]] = {
    None: _unconverted,
    's': str,
    'r': repr,
    'a': ascii,
}


def render(value: typing.Any, data: Data) -> typing.Any:
    """Return a value with the fields in all its strings filled in.

    ``{'size': '{data[disks][0][size]} GB'}`` gives ``{'size': '960 GB'}``.

    :param value: a string; or a list or mapping, which may contain strings at
        any depth, also as keys. Any other value is returned unchanged.
    :param data: the data of the machine in the form of ironic-inspector.
    :raises: :class:`.exceptions.OperationError` if a field does not exist, or
        if the text is not a format string.
    """
    if isinstance(value, str):
        render_text = _compile(value)
        return render_text(data)
    if isinstance(value, dict):
        return {
            render(key, data): render(item, data)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [render(item, data) for item in value]
    return value


def problems(value: typing.Any) -> typing.Iterator[str]:
    """Yield the errors of all texts in a value that cannot be formatted.

    For example, the text ``{data[a}`` lacks a bracket.

    :param value: a string; or a list or mapping, which may contain strings at
        any depth, also as keys.
    """
    inner_values: list[typing.Any] = []
    if isinstance(value, str):
        try:
            _compile(value)
        except exceptions.OperationError as exc:
            yield str(exc)
    elif isinstance(value, dict):
        inner_values = [*value.keys(), *value.values()]
    elif isinstance(value, list):
        inner_values = value
    for inner_value in inner_values:
        yield from problems(inner_value)


def fields(value: typing.Any) -> typing.Iterator[tuple[str, Steps]]:
    """Yield the fields in all strings of a value, including nested fields.

    ``{data[a]:>{data[b]}}`` gives ``('data[a]', ('a',))`` and ``('data[b]',
    ('b',))``. If any text in the value cannot be formatted, nothing is
    yielded.

    :param value: a string; or a list or mapping, which may contain strings at
        any depth, also as keys.
    :returns: the name of each field, and its steps.
    """
    if any(problems(value)):
        return
    # The values that still have to be searched.
    remaining = [value]
    while remaining:
        current = remaining.pop()
        if isinstance(current, dict):
            remaining += [*current.keys(), *current.values()]
        elif isinstance(current, list):
            remaining += current
        elif isinstance(current, str):
            for piece in string.Formatter().parse(current):
                # A piece is literal text followed by a field. The last piece
                # may have no field; its name is None.
                _literal, name, spec, _conversion = piece
                if name is not None:
                    yield name, steps(name)
                    # The format of a field may contain fields too.
                    remaining.append(spec)


@text_cache.cache_short_texts(maxsize=4096, longest=256)
def _compile(text: str) -> Render:
    """Build the function that fills in the fields of a text on a machine.

    The function of ``{data[a]} GB`` returns ``1 GB`` for a machine with the
    data ``{'a': 1}``.

    :param text: the text as it is written in a rule.
    :raises: :class:`.exceptions.OperationError` if the text is not a format
        string, e.g. because it lacks a bracket.
    """
    # Literal texts, and functions that return the texts of fields.
    pieces: list[str | Render] = []
    try:
        for piece in string.Formatter().parse(text):
            # "GB: {data[a]!r:>3}" gives ('GB: ', 'data[a]', '>3', 'r').
            literal, name, spec, conversion = piece
            pieces.append(literal)
            # The last piece may have no field; its name is None.
            if name is not None:
                pieces.append(_compile_field(name, spec or '', conversion))
    except ValueError as exc:
        raise exceptions.OperationError(
            _('"%(text)s" cannot be formatted: %(reason)s')
            % {'text': text, 'reason': exc}
        ) from exc
    return functools.partial(_join, pieces)


def _join(pieces: list[str | Render], data: Data) -> str:
    """Return the text of all pieces, with the values of fields filled in.

    :param pieces: literal texts, and the functions of fields.
    """
    text = ''
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
        else:
            text += piece(data)
    return text


def steps(name: str) -> Steps:
    """Return the keys and indexes of a field.

    For example, ``data[disks][0]`` gives ``('disks', 0)``.

    :param name: the name of the field, without conversion and format.
    :raises: :class:`.exceptions.MissingField` if the field does not begin with
        ``data``, or continues with a dot, because no machine has such a field.
    """
    match = _NAME.fullmatch(name)
    if match is None or match['root'] != 'data':
        raise exceptions.MissingField(name)
    keys: list[str | int] = []
    for step in _STEP.findall(match['steps']):
        if step.isdecimal():
            keys.append(int(step))
        else:
            keys.append(step)
    return tuple(keys)


def _compile_field(name: str, spec: str, conversion: str | None) -> Render:
    """Build the function that returns the text of a field on a machine.

    The field ``{data[disks][0]!r:>8}`` has the name ``data[disks][0]``, the
    format ``>8`` and the conversion ``r``.

    :param spec: the format, which may be empty.
    :param conversion: ``s``, ``r``, ``a``, or None.
    :raises: :class:`.exceptions.MissingField` if no machine has this field, or
        if there is no such conversion.
    """
    if conversion not in _CONVERSIONS:
        raise exceptions.MissingField(f'{name}!{conversion}')
    keys = steps(name)
    convert = _CONVERSIONS[conversion]
    # The format may have fields too: {data[a]:>{data[b]}}.
    render_spec = _compile(spec)
    return functools.partial(_fill_in, name, keys, convert, render_spec)


def _fill_in(
    name: str,
    keys: Steps,
    convert: typing.Callable[[typing.Any], typing.Any],
    render_spec: Render,
    data: Data,
) -> str:
    """Return the text of a field on a machine.

    :param name: the name of the field, for errors.
    :param keys: the keys and indexes that lead to its value.
    :param convert: converts the value, e.g. ``repr`` for ``!r``.
    :param render_spec: returns the format, with its own fields filled in.
    :param data: the data of the machine in the form of ironic-inspector.
    :raises: :class:`.exceptions.MissingField` if there is no such value;
        another :class:`.exceptions.OperationError` if the value does not
        support the format.
    """
    value: typing.Any = data
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            raise exceptions.MissingField(name) from None
    value = convert(value)
    spec = render_spec(data)
    if _WIDE.search(spec):
        # Python would build a text of more than 10,000 characters.
        raise exceptions.OperationError(
            _('field {%s} is formatted too wide') % name
        )
    try:
        return format(value, spec)
    except (TypeError, ValueError) as exc:
        raise exceptions.OperationError(
            _('field {%(field)s} cannot be formatted: %(reason)s')
            % {'field': name, 'reason': exc}
        ) from exc
