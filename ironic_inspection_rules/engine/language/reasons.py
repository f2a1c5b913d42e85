# SPDX-License-Identifier: Apache-2.0

"""Formats values for reasons, and holds the results that have reasons.

A reason is a phrase that says why a condition holds or does not hold, e.g.
``values=[8, 4]``, or why an action did not run. It shows values of a machine,
which may be very large, so their texts are cut.
"""

import typing

_LONGEST = 200
"""Maximum length of a text in a reason, in characters."""

_SHORT_LENGTH = 20
"""Maximum length of a text that can be quoted without being shortened."""

Name = typing.Callable[[typing.Any], str | None]
"""Returns the name that a reason shows instead of a mapping, e.g. a row of a
table. Returns None if the mapping has no name and must be written out."""


def nameless(_value: typing.Any) -> str | None:
    """Return None, so that reasons write out every mapping."""
    return None


def show(value: typing.Any, name: Name = nameless) -> str:
    """Return the text of a value for a reason, cut to a readable length.

    Values are written in Python syntax, e.g. ``'R640'`` or ``[8, None]``. A
    row of a table may be shown by name, e.g. ``<row 'a1' of racks>``.

    :param name: returns the name to show for a row of a table, or None for
        any other mapping, which is then written out.
    """
    if value.__class__ is str:
        if len(value) <= _SHORT_LENGTH:
            return repr(value)
        # Cut the text first, because quoting a long text is slow. One extra
        # character is kept so that shorten() marks the cut.
        return shorten(repr(value[: _LONGEST + 1]))
    if value.__class__ not in (list, dict):
        return shorten(repr(value))
    text = ''
    for piece in _write_pieces(value, name):
        text += piece
        if len(text) > _LONGEST:
            break
    return shorten(text)


def _write_pieces(value: typing.Any, name: Name) -> typing.Iterator[str]:
    """Yield the text of a value piece by piece: ``[``, ``8``, ``, ``, …

    The value may be large, so the caller stops when the text is long enough.

    :param name: see :func:`show`.
    """
    # One function handles both lists and mappings, because every level of
    # recursion takes space on the small stack of Ironic's threads.
    separator = ''
    if value.__class__ is list:
        yield '['
        for item in value:
            yield separator
            yield from _write_pieces(item, name)
            separator = ', '
        yield ']'
    elif value.__class__ is dict:
        name_of_value = name(value)
        if name_of_value is not None:
            yield name_of_value
            return
        yield '{'
        for key, item in value.items():
            yield f'{separator}{show(key)}: '
            yield from _write_pieces(item, name)
            separator = ', '
        yield '}'
    else:
        yield show(value)


def shorten(text: str) -> str:
    """Cut a text to a readable length, and mark the cut with an ellipsis."""
    if len(text) <= _LONGEST:
        return text
    return f'{text[:_LONGEST]}…'


class ConditionResult(typing.NamedTuple):
    """The result of a condition, with the reason for it.

    ``result`` is None after an error. ``reason`` is one phrase, or None if no
    reasons are given.
    """

    op: str
    result: bool | None
    reason: str | None = None


EMPTY_LOOP, WHEN, ERROR = 'empty_loop', 'when', 'error'
"""Causes why an action did not run: its loop has no items, its ``when`` holds
for no item, or an error occurred for some item."""


class NotRun(typing.NamedTuple):
    """The reason why an action did not run.

    ``cause`` is ``empty_loop``, ``when`` or ``error``. ``reason`` is one
    phrase for readers.
    """

    cause: str
    reason: str | None
