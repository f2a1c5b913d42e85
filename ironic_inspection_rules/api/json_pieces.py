# SPDX-License-Identifier: Apache-2.0

"""Large JSON parsed piece by piece, for little memory; how deep it may be.

``json`` needs the text of a document as one block. Once a large block was
freed, the C library takes such blocks from the heap of the thread, and keeps
as much free memory in every heap. A few requests with tables of a hundred
thousand rows would leave Ironic with a hundred megabytes more than it uses.
"""

import codecs
from collections.abc import Iterable
import json
import re
from typing import Any

from ironic_inspection_rules.engine.language import budget

LEVELS = 4
"""Levels above a row in ``{"tables": {NAME: {"rows": [ROW, ...]}}}``."""

_WHITE = re.compile(r'[ \t\n\r]*')

_FEW = 10_000
"""Number of values up to which a document is parsed one by one, however short
they are."""

_SHORT = 8
"""Characters; values that are shorter on average are not parsed one by one."""


class TooDeep(Exception):
    """Lists and objects are nested deeper than they may be."""


class TooManyValues(ValueError):
    """So many short values that parsing them one by one would take long."""


class Parser:
    """Parses one JSON document that comes in pieces.

    What is inside of the upper :data:`LEVELS` is parsed value by value, so
    that only the text of one value has to be in one block.

    :param pieces: the document in UTF-8.
    :param depth: how deep lists and objects may be nested.
    :param decoder: reads values; it has an ``object_pairs_hook``.
    """

    def __init__(
        self, pieces: Iterable[bytes], depth: int, decoder: json.JSONDecoder
    ) -> None:
        self._pieces = iter(pieces)
        self._depth = depth
        self._decoder = decoder
        self._read_object = decoder.object_pairs_hook
        # A byte order mark may be ignored (RFC 8259).
        self._utf_8 = codecs.getincrementaldecoder('utf-8-sig')()
        # The last text that was read, and where parsing goes on in it.
        self._text = ''
        self._position = 0
        # Brackets that are open before the position.
        self._level = 0
        # How much was read, and how many values were parsed one by one: from
        # both follows whether the values are so short that this is too slow.
        self._characters = 0
        self._values = 0

    def parse(self) -> Any:
        """Return the document.

        :raises: :class:`TooDeep`; :class:`TooManyValues`; ValueError if it is
            no JSON. What is wrong where is only known to a parser of the whole
            text.
        """
        document = self._value()
        if self._next():
            raise ValueError('extra data')
        return document

    def _value(self) -> Any:
        """Parse the next value: member by member in the upper levels."""
        mark = self._next()
        if self._level < LEVELS and mark == '{':
            return self._object()
        if self._level < LEVELS and mark == '[':
            return self._list()
        return self._whole()

    def _object(self) -> Any:
        """Parse an object member by member, from its open brace on."""
        members: list[tuple[str, Any]] = []
        self._open()
        is_empty = self._next() == '}'
        while not is_empty:
            if self._next() != '"':
                raise ValueError('expected a name')
            name = self._whole()
            self._expect(':')
            members.append((name, self._value()))
            if self._expect(',', '}') == '}':
                return self._close(self._read_object(members))
        self._expect('}')
        return self._close(self._read_object(members))

    def _list(self) -> list[Any]:
        """Parse a list item by item, from its open bracket on."""
        items: list[Any] = []
        self._open()
        is_empty = self._next() == ']'
        while not is_empty:
            items.append(self._value())
            if self._expect(',', ']') == ']':
                return self._close(items)
        self._expect(']')
        return self._close(items)

    def _open(self) -> None:
        self._values += 1
        self._position += 1
        self._level += 1

    def _close(self, value: Any) -> Any:
        self._level -= 1
        return value

    def _expect(self, *marks: str) -> str:
        """Pass one of some characters, and return it.

        :raises: ValueError if another one comes next.
        """
        mark = self._next()
        if mark not in marks:
            raise ValueError(f'expected one of {marks}')
        self._position += 1
        return mark

    def _next(self) -> str:
        """Pass white space; return the next character, '' at the end."""
        while True:
            white = _WHITE.match(self._text, self._position)
            if white is not None:
                self._position = white.end()
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._read_on():
                return ''

    def _whole(self) -> Any:
        """Parse the value at the position with all that is in it.

        More pieces are read until all of the value is there.

        :raises: ValueError if it is no JSON; as :meth:`_read_on` does.
        """
        while True:
            try:
                value, end = self._decoder.raw_decode(
                    self._text, self._position
                )
            except ValueError:
                # Its end may be in the next piece.
                if not self._read_on():
                    raise
                continue
            # A number may go on in the next piece: "1e+" is read as 1.
            is_near_end = len(self._text) - end <= len('e+')
            if not is_near_end or not self._read_on():
                self._position = end
                self._values += 1
                return value

    def _read_on(self) -> bool:
        """Read more of the document; return False at its end.

        :raises: :class:`TooDeep`; :class:`TooManyValues`, after which the
            caller parses the document in one block.
        """
        # [0, 0, 0, ...] would take ten times as long as in one block. In a
        # table these values are rows, which are longer.
        if self._values > max(self._characters // _SHORT, _FEW):
            raise TooManyValues
        left = self._text[self._position :]
        texts = [left]
        characters = 0
        # At least as much as is left: a value that is as large as the
        # document is parsed again and again, and would take quadratic time.
        for piece in self._pieces:
            text = self._utf_8.decode(piece)
            texts.append(text)
            characters += len(text)
            if text and characters >= len(left):
                break
        if not characters:
            return False
        self._characters += characters
        self._text = ''.join(texts)
        self._position = 0
        # Before it is parsed: parsers recurse.
        if budget.is_deeper(self._text.encode(), self._depth - self._level):
            raise TooDeep
        return True
