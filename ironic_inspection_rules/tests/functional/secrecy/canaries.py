# SPDX-License-Identifier: Apache-2.0

"""Canaries: words that stand nowhere else, each put into one place.

The first letters of one say of which kind its place is, the others which
place it is.
"""

from collections.abc import Iterable
import re

HIDDEN = 'hush'
"""In places of a node that Ironic masks, in its own API too."""

NAMED = 'mask'
"""In other places of secret names: who reads the node has them from Ironic."""

OWN = 'mute'
"""What a sensitive rule says, and what it writes to places that are masked."""

TITLE = 'call'
"""Descriptions of sensitive rules."""

WRITTEN = 'flow'
"""What a sensitive rule writes to places that are not masked."""

UNREAD = 'rest'
"""The same where no other rule reads it."""

OPEN = 'open'
"""What is no secret."""

KINDS = frozenset((HIDDEN, NAMED, OWN, TITLE, WRITTEN, UNREAD, OPEN))

_WORD = re.compile(rf'(?:{"|".join(sorted(KINDS))})zq[a-z]{{4}}')
_BROKEN = re.compile(r'[\s|│]+')
"""What a table has within a word that is too long for a line."""


def canary(kind: str, place: str) -> str:
    """Return a canary.

    :param place: four letters that no other canary has.
    """
    word = f'{kind}zq{place}'
    if not _WORD.fullmatch(word):
        raise ValueError(word)
    return word


def found(text: str) -> set[str]:
    """Return the canaries in a text, whatever the case of its letters."""
    text = text.lower()
    return {*_WORD.findall(text), *_WORD.findall(_BROKEN.sub('', text))}


def of_kinds(words: Iterable[str], kinds: Iterable[str]) -> set[str]:
    """Return those canaries that are of some kinds."""
    beginnings = tuple(kinds)
    return {word for word in words if word.startswith(beginnings)}
