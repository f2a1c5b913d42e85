# SPDX-License-Identifier: Apache-2.0

"""Values as reasons show them, and why actions did not run."""

import typing

_LONGEST = 200
"""Maximum length of a text in a reason, in characters."""

_SHORT = 20
"""Maximum length of text that is certainly not too long once it is quoted."""

Name = typing.Callable[[typing.Any], str | None]
"""Returns the name that a reason has in place of a mapping, such as a row of
a table. None for a mapping without a name, which is written out."""


def nameless(_value: typing.Any) -> str | None:
    """Return no name: reasons then write out every mapping."""
    return None


def show(value: typing.Any, name: Name = nameless) -> str:
    """Return a value as a reason shows it, cut to a readable length.

    :param name: returns the name of a row of a table, which is shown in its
        place, or None for other mappings.
    """
    if value.__class__ is str:
        if len(value) <= _SHORT:
            return repr(value)
        # Cut before quoting, which would take long for a long text; one
        # character more than is shown, so that shorten() marks the cut.
        return shorten(repr(value[: _LONGEST + 1]))
    if value.__class__ not in (list, dict):
        return shorten(repr(value))
    text = ''
    for piece in _write(value, name):
        text += piece
        if len(text) > _LONGEST:
            break
    return shorten(text)


def _write(value: typing.Any, name: Name) -> typing.Iterator[str]:
    """Yield the text of a value piece by piece: it may be large.

    The caller stops when it has enough.
    """
    # One function for both: each level of the data takes room on a stack
    # that is small in Ironic's threads.
    separator = ''
    if value.__class__ is list:
        yield '['
        for item in value:
            yield separator
            yield from _write(item, name)
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
            yield from _write(item, name)
            separator = ', '
        yield '}'
    else:
        yield show(value)


def shorten(text: str) -> str:
    """Cut text to a readable length."""
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


class Idle(typing.NamedTuple):
    """Why an action did not run.

    ``cause`` is one of the above. ``reason`` is one phrase.
    """

    cause: str
    reason: str | None
