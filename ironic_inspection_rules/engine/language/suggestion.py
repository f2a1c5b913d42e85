# SPDX-License-Identifier: Apache-2.0

"""Messages for unknown names, with the nearest known name.

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
"""Maximum number of characters of an unknown name, which users choose."""

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
"""Names in this project, and what others call the same thing."""


def _names_by_word() -> dict[str, str]:
    """Return the names in this project by the words of other languages.

    ``==`` stands for ``eq``.
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
    """Find the nearest known name, for a message about an unknown name.

    Case and punctuation do not count: ``Is_None`` is near ``is-none``. So is
    ``null``, the word of other languages. Next comes the only name with one
    typing error, and at last the most similar name.

    :param cutoff: the least similarity, 0 to 1, of the most similar name; 0.6
        is the default of difflib.
    :returns: None if no name is near.
    """
    # The known names by their forms: {'is-none': 'is-none'}. Of names with
    # the same form, the first in the alphabet is left.
    by_form = {
        _normalise(known_name): known_name
        for known_name in sorted(known, reverse=True)
    }
    name = name[:_LONGEST]
    form = _normalise(name)
    if form in by_form:
        return by_form[form]
    # A word such as "==" has no letter: its form is empty.
    for word in (name.strip().lower(), form):
        if _NAMES_BY_WORD.get(word) in by_form.values():
            return _NAMES_BY_WORD[word]
    # Before difflib, to which two letters in the wrong order are two errors.
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
    """Find the only known name that differs by a typing error.

    A letter is omitted, inserted, replaced or swapped with the next, or case
    or punctuation differ. ``lint --fix`` writes the name into files. The name
    that :func:`find_nearest` returns is not sure enough for that.

    :returns: None if no name or several names differ so, or if the name itself
        is known.
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
    """Return whether two texts differ by at most one typing error.

    ``rack`` differs so from ``rck``, ``raack``, ``rock`` and ``rcak``.
    """
    short, long = sorted((first, second), key=len)
    first_difference = len(os.path.commonprefix([short, long]))
    # What follows the letters that both begin with: "ck" and "ack".
    short_rest = short[first_difference:]
    long_rest = long[first_difference:]
    if short_rest == long_rest[1:]:
        # A letter is omitted or inserted.
        return True
    if short_rest[1:] == long_rest[1:]:
        # A letter is replaced.
        return True
    # The first two letters of the rest in the other order: "cak" for "ack".
    swapped = long_rest[1::-1] + long_rest[2:]
    return short_rest == swapped


def hint(name: str, known: typing.Iterable[str]) -> str:
    """Return a hint with the nearest known name, or with all known names.

    :returns: a phrase without a full stop, such as ``did you mean "eq"?``;
        empty if no name is near, and none or too many are known.
    """
    known = sorted(known)
    near = find_nearest(name, known)
    if near is not None:
        return _('did you mean "%s"?') % near
    if not known or len(known) > _MOST_LISTED:
        return ''
    return _('known: %s') % ', '.join(known)


def unknown(kind: str, name: str, known: typing.Iterable[str]) -> str:
    """Return the message for an unknown name, with a near name.

    :param kind: the kind of the name, such as ``field`` or ``op``.
    """
    return unknown_at('', kind, name, known).sentence


def unknown_at(
    pointer: str, kind: str, name: str, known: typing.Iterable[str]
) -> exceptions.Problem:
    """Return the problem of an unknown name, with a near name as its hint.

    :param kind: the kind of the name, such as ``field`` or ``op``.
    """
    detail = _('unknown %(kind)s "%(name)s"') % {
        'kind': kind,
        'name': shown(name),
    }
    return exceptions.Problem(pointer, detail, hint(name, known) or None)


def all_unknown(
    kind: str, names: typing.Iterable[str], known: typing.Collection[str]
) -> str:
    """Return one message for all names that are unknown.

    :param kind: the kind of the names, such as ``field`` or ``op``.
    :returns: the empty text if all names are known.
    """
    unknown_names = [name for name in names if name not in known]
    if not unknown_names:
        return ''
    message = functools.partial(unknown, kind, known=known)
    return exceptions.listed(unknown_names, message)


def not_one_of(value: object, known: typing.Sequence[str]) -> str:
    """Return the message for a value that is not among the known values."""
    return not_one_of_at('', value, known).sentence


def not_one_of_at(
    pointer: str, value: object, known: typing.Sequence[str]
) -> exceptions.Problem:
    """Return the problem of a value that is none of the known values.

    The hint for a text is the nearest known value.
    """
    detail = _('must be one of %(known)s, not %(value)s') % {
        'known': ', '.join(known),
        'value': quoted(value),
    }
    near = None
    if isinstance(value, str):
        near = find_nearest(value, known)
    if near is None:
        return exceptions.Problem(pointer, detail)
    return exceptions.Problem(pointer, detail, _('did you mean "%s"?') % near)


def quoted(value: object) -> str:
    """Return a value for a message: ``"text"``, ``8``, ``true`` or ``null``.

    Lists and mappings, which may be long, become ``a list`` and ``a mapping``.
    """
    if isinstance(value, str):
        return f'"{shown(value)}"'
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return kind_of(value)


# In this order: a bool is also an int.
_KINDS: tuple[tuple[type | types.UnionType, str], ...] = (
    (bool, _('a boolean')),
    (int | float, _('a number')),
    (str, _('text')),
    (list | tuple, _('a list')),
    (dict, _('a mapping')),
    (types.NoneType, _('null')),
)


def kind_of(value: object) -> str:
    """Return what a value is, for a message: ``a number``, ``text``.

    ``must be a list, not a mapping`` ends in it.
    """
    for python_type, kind in _KINDS:
        if isinstance(value, python_type):
            return kind
    return _('no value of JSON')


def shown(text: str) -> str:
    """Return a text for a message, cut if it is too long.

    A user chooses it, and it must not fill an answer or the log.
    """
    if len(text) <= _LONGEST:
        return text
    return f'{text[:_LONGEST]}…'


def _normalise(name: str) -> str:
    """Return a name in lower case, with a dash for any punctuation.

    ``Is_None`` becomes ``is-none``.
    """
    return re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')
