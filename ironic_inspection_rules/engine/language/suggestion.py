# SPDX-License-Identifier: Apache-2.0

"""Messages for unknown names that suggest the most similar known name.

They are the same for rules, files, requests, options and plugins.
"""

import difflib
import functools
import json
import os.path
import re
import types
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

_MOST_LISTED = 40
"""Maximum number of known names in one message."""

_LONGEST = 80
"""Maximum length of an unknown name in a message, because users choose it."""

_WORDS_OF_OTHERS = {
    'eq': ('=', '==', 'equal', 'equals', 'is', 'same'),
    'ne': ('!=', '<>', 'not-equal', 'differs'),
    'lt': ('<', 'less', 'less-than', 'below'),
    'le': ('<=', 'at-most', 'less-or-equal'),
    'gt': ('>', 'greater', 'greater-than', 'above', 'more-than'),
    'ge': ('>=', 'at-least', 'greater-or-equal'),
    'one-of': ('in', 'is-in', 'in-list'),
    'contains': ('search', 'has', 'includes', 'like'),
    'matches': ('regex', 'regexp', 'match', 'full-match'),
    'is-none': ('null', 'none', 'is-null', 'missing', 'undefined'),
    'is-empty': ('empty',),
    'is-true': ('true',),
    'is-false': ('false', 'not'),
    'in-net': ('in-network', 'in-subnet', 'cidr'),
    'any-of': ('or', 'any'),
    'all-of': ('and', 'all'),
    'none-of': ('nor', 'none'),
    'fail': ('error', 'abort', 'reject', 'raise'),
    'log': ('print', 'debug', 'message'),
    'set-attribute': ('set', 'set-node-attribute', 'set-node-property'),
    'add-trait': ('trait', 'set-trait'),
    'remove-trait': ('del-trait', 'delete-trait', 'unset-trait'),
    'conditions': ('if', 'when', 'match'),
    'actions': ('then', 'do'),
    'description': ('name', 'title', 'comment'),
    'op': ('action', 'operator', 'operation', 'type'),
    'args': ('arguments', 'parameters', 'params', 'with'),
    'loop': ('with-items', 'for-each', 'items'),
    'main': ('default', 'normal'),
}
"""Names in this project, with the words for them in other languages."""


def _names_by_word() -> dict[str, str]:
    """Return the names in this project by the words of other languages.

    For example, ``==`` stands for ``eq``.
    """
    meanings = {}
    for name, others in _WORDS_OF_OTHERS.items():
        for other in others:
            meanings[other] = name
    return meanings


_NAMES_BY_WORD = _names_by_word()


def find_nearest(
    name: str, known: typing.Iterable[str], cutoff: float = 0.6
) -> str | None:
    """Find the most similar known name, for a message about an unknown name.

    Case and punctuation are ignored: ``Is_None`` matches ``is-none``. Words of
    other languages match too, e.g. ``null``. Otherwise a name matches if it is
    the only one that differs by one typo, and finally if it is the most
    similar one.

    :param cutoff: the least similarity, 0 to 1, of the most similar name; 0.6
        is the default of difflib.
    :returns: None if no name is similar.
    """
    # The known names by their normalized forms: {'is-none': 'is-none'}. If
    # names have the same form, the first one in alphabetical order is kept.
    by_form: dict[str, str] = {}
    for known_name in sorted(known):
        by_form.setdefault(_normalise(known_name), known_name)
    name = name[:_LONGEST]
    form = _normalise(name)
    if form in by_form:
        return by_form[form]
    # The normalized form of a word such as "==" is empty, so try both.
    for word in (name.strip().lower(), form):
        if _NAMES_BY_WORD.get(word) in by_form.values():
            return _NAMES_BY_WORD[word]
    # Try this before difflib, which counts two swapped letters as two errors.
    one_letter_off = [
        known_form
        for known_form in by_form
        if _differs_by_typing_error(form, known_form)
    ]
    if len(one_letter_off) == 1:
        return by_form[one_letter_off[0]]
    near = difflib.get_close_matches(form, by_form, n=1, cutoff=cutoff)
    if not near:
        return None
    return by_form[near[0]]


def find_intended(name: str, known: typing.Iterable[str]) -> str | None:
    """Find the only known name that differs by a typo.

    A typo is a letter that is omitted, inserted, replaced or swapped with the
    next one, or a difference in case or punctuation. ``lint --fix`` writes the
    result into files. The result of :func:`find_nearest` is not reliable
    enough for that.

    :returns: None if no name or several names differ like this, or if the name
        itself is known.
    """
    name = name[:_LONGEST]
    known = list(known)
    if name in known:
        return None
    form = _normalise(name)
    candidates = [
        known_name for known_name in known if _normalise(known_name) == form
    ]
    if not candidates:
        candidates = [
            known_name
            for known_name in known
            if _differs_by_typing_error(name, known_name)
        ]
    if len(candidates) != 1:
        return None
    return candidates[0]


def _differs_by_typing_error(first: str, second: str) -> bool:
    """Return whether two texts differ by at most one typo.

    For example, this is true for ``rack`` and ``rck``, ``raack``, ``rock`` or
    ``rcak``.
    """
    short, long = sorted((first, second), key=len)
    first_difference = len(os.path.commonprefix([short, long]))
    # The texts after their common prefix, e.g. "ck" and "ack".
    short_rest = short[first_difference:]
    long_rest = long[first_difference:]
    if short_rest == long_rest[1:]:
        # A letter is omitted or inserted.
        return True
    if short_rest[1:] == long_rest[1:]:
        # A letter is replaced.
        return True
    # Swap the first two letters of the rest: "cak" for "ack".
    swapped = long_rest[1:2] + long_rest[:1] + long_rest[2:]
    return short_rest == swapped


def make_hint(name: str, known: typing.Iterable[str]) -> str:
    """Return a hint with the most similar known name, or with all names.

    :returns: a phrase without a period, e.g. ``did you mean "eq"?``. It is
        empty if no name is similar, and if there are no names or too many to
        list.
    """
    known = sorted(known)
    near = find_nearest(name, known)
    if near is not None:
        return _('did you mean "%s"?') % near
    if not known or len(known) > _MOST_LISTED:
        return ''
    return _('known: %s') % ', '.join(known)


def unknown_message(kind: str, name: str, known: typing.Iterable[str]) -> str:
    """Return the message for an unknown name, with a similar name.

    :param kind: the kind of the name, e.g. ``field`` or ``op``.
    """
    return unknown_problem('', kind, name, known).sentence


def unknown_problem(
    pointer: str, kind: str, name: str, known: typing.Iterable[str]
) -> exceptions.Problem:
    """Return the problem of an unknown name, with a similar name as its hint.

    :param kind: the kind of the name, e.g. ``field`` or ``op``.
    """
    detail = _('unknown %(kind)s "%(name)s"') % {
        'kind': kind,
        'name': shorten(name),
    }
    return exceptions.Problem(pointer, detail, make_hint(name, known) or None)


def all_unknown_message(
    kind: str, names: typing.Iterable[str], known: typing.Collection[str]
) -> str:
    """Return one message for all names that are unknown.

    It names :data:`.exceptions.MOST_PROBLEMS` of them, and counts the others.

    :param kind: the kind of the names, e.g. ``field`` or ``op``.
    :returns: an empty string if all names are known.
    """
    unknown_names = [name for name in names if name not in known]
    if not unknown_names:
        return ''
    message = functools.partial(unknown_message, kind, known=known)
    return exceptions.join_problems(unknown_names, message)


def choice_message(value: object, known: typing.Sequence[str]) -> str:
    """Return the message for a value that is not among the known values."""
    return choice_problem('', value, known).sentence


def choice_problem(
    pointer: str, value: object, known: typing.Sequence[str]
) -> exceptions.Problem:
    """Return the problem of a value that is not one of the known values.

    If the value is text, the hint is the most similar known value.
    """
    detail = _('must be one of %(known)s, not %(value)s') % {
        'known': ', '.join(known),
        'value': quote(value),
    }
    near = None
    if isinstance(value, str):
        near = find_nearest(value, known)
    if near is None:
        return exceptions.Problem(pointer, detail)
    return exceptions.Problem(pointer, detail, _('did you mean "%s"?') % near)


def quote(value: object) -> str:
    """Return a value for a message: ``"text"``, ``8``, ``true`` or ``null``.

    Lists and mappings become ``a list`` and ``a mapping``, because they may be
    long.
    """
    if isinstance(value, str):
        return f'"{shorten(value)}"'
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return describe_type(value)


# The order matters, because a bool is also an int.
_KINDS: tuple[tuple[type | types.UnionType, str], ...] = (
    (bool, _('a boolean')),
    (int | float, _('a number')),
    (str, _('text')),
    (list | tuple, _('a list')),
    (dict, _('a mapping')),
    (types.NoneType, _('null')),
)


def describe_type(value: object) -> str:
    """Return the kind of a value for a message: ``a number``, ``text``.

    For example, it is the end of ``must be a list, not a mapping``.
    """
    for python_type, kind in _KINDS:
        if isinstance(value, python_type):
            return kind
    return _('no value of JSON')


def shorten(text: str) -> str:
    """Return a text for a message, truncated if it is too long.

    Users choose the text, and it must not fill an answer or the log.
    """
    if len(text) <= _LONGEST:
        return text
    return f'{text[:_LONGEST]}…'


def _normalise(name: str) -> str:
    """Return a name in lower case, with a dash for any punctuation.

    For example, ``Is_None`` becomes ``is-none``.
    """
    return re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')
