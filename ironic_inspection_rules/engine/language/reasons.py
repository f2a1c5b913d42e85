# SPDX-License-Identifier: Apache-2.0

"""The text of values in reasons, and why actions did not run."""

import typing

_LONGEST = 200
"""Maximum length of a text in a reason, in characters."""

_SHORT_LENGTH = 20
"""Maximum length of text that is certainly not too long once it is quoted."""

Name = typing.Callable[[typing.Any], str | None]
"""Returns the name that a reason has in place of a mapping, such as a row of
a table. None for a mapping without a name, which is written out."""


def nameless(_value: typing.Any) -> str | None:
    """Return None, so that reasons write out every mapping."""
    return None


def show(value: typing.Any, name: Name = nameless) -> str:
    """Return a value as a reason shows it, cut to a readable length.

    Values are written as Python writes them: ``'R640'``, ``[8, None]``. A row
    of a table may be shown by a name: ``<row 'a1' of racks>``.

    :param name: returns the name that stands for a row of a table; None for
        any other mapping, which is written out.
    """
    if value.__class__ is str:
        if len(value) <= _SHORT_LENGTH:
            return repr(value)
        # Cut first, as quoting a long text takes long. With one character
        # more than is shown, shorten() marks the cut.
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

    The value may be large: the caller stops when the text is long enough.

    :param name: see :func:`show`.
    """
    # Lists and mappings share a function, as every level of the data takes
    # room on the small stack of Ironic's threads.
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
    """What a condition decided.

    ``result`` is None after an error. ``reason`` is one phrase, None where
    no reasons are given.
    """

    op: str
    result: bool | None
    reason: str | None = None


EMPTY_LOOP, WHEN, ERROR = 'empty_loop', 'when', 'error'
"""Why an action did not run: its loop has no items, its conditions hold for
none, or it ended in an error, for whatever item."""


class NotRun(typing.NamedTuple):
    """Why an action did not run.

    ``cause`` is ``empty_loop``, ``when`` or ``error``. ``reason`` is one
    phrase for readers.
    """

    cause: str
    reason: str | None
