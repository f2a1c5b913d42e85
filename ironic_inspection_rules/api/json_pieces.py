# SPDX-License-Identifier: Apache-2.0

"""Parses large JSON piece by piece, to save memory.

Python's ``json`` needs the whole text of a document as one large block of
memory. The C library does not return such blocks to the operating system: it
keeps free memory of that size for every thread. After a few requests with
tables of a hundred thousand rows, Ironic would occupy a hundred megabytes that
it does not use.

The parser here reads the document in pieces. The upper levels of the document
are parsed value by value, and only the text of one value, e.g. of a row of a
table, must be in one block.
"""

import codecs
from collections.abc import Iterable
import json
import re
from typing import Any

from ironic_inspection_rules.engine.language import budget

LEVELS = 4
"""The number of levels that are parsed value by value.

Rows are below these levels in ``{"tables": {NAME: {"rows": [ROW, ...]}}}``.
"""

_WHITE = re.compile(r'[ \t\n\r]*')

_FEW_VALUES = 10_000
"""This many values are parsed one by one, however short they are."""

_SHORT_VALUE = 8
"""Average length in characters below which values count as very short."""


class TooDeep(Exception):
    """Lists and objects are nested deeper than allowed."""


class TooManyValues(ValueError):
    """There are too many short values to parse them one by one in time."""


class Parser:
    """Parses a JSON document that comes in pieces.

    The parser has a text, which is a part of the document, and a position in
    it, where parsing goes on. When the text ends, more pieces are read. A
    *mark* is a character such as ``{`` or ``,`` that separates values.

    :param pieces: the bytes of the document in UTF-8; a piece may end
        anywhere.
    :param depth: how deep lists and objects may be nested.
    :param decoder: decodes values. Its ``object_pairs_hook`` builds the dict
        of an object from the names and values of its members.
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
        # The last text that was read, and the position where parsing goes on.
        self._text = ''
        self._position = 0
        # The number of brackets that are open before the position.
        self._level = 0
        # Both are needed for the average length of a value. If values are very
        # short, parsing them one by one takes too long.
        self._characters_read = 0
        self._values_parsed = 0

    def parse(self) -> Any:
        """Parse the whole document, and return it.

        :raises: :class:`TooDeep`; :class:`TooManyValues`; ValueError, without
            the place of the error, if the document is not valid JSON.
        """
        document = self._parse_value()
        if self._peek():
            raise ValueError('extra data')
        return document

    def _parse_value(self) -> Any:
        """Parse the next value.

        An object or a list in the upper :data:`LEVELS` is parsed member by
        member. Any other value, with everything in it, is parsed in one step.
        """
        mark = self._peek()
        if self._level < LEVELS and mark == '{':
            return self._parse_object()
        if self._level < LEVELS and mark == '[':
            return self._parse_list()
        return self._parse_at_once()

    def _parse_object(self) -> Any:
        """Parse an object member by member.

        Before the call the position is at the opening brace, and afterwards
        behind the closing brace.
        """
        members: list[tuple[str, Any]] = []
        self._open_bracket()
        while self._has_next(is_first=not members, closing='}'):
            if self._peek() != '"':
                raise ValueError('expected a name')
            name = self._parse_at_once()
            self._pass_mark(':')
            members.append((name, self._parse_value()))
        self._level -= 1
        return self._read_object(members)

    def _parse_list(self) -> list[Any]:
        """Parse a list item by item.

        Before the call the position is at the opening bracket, and afterwards
        behind the closing bracket.
        """
        items: list[Any] = []
        self._open_bracket()
        while self._has_next(is_first=not items, closing=']'):
            items.append(self._parse_value())
        self._level -= 1
        return items

    def _open_bracket(self) -> None:
        """Skip the opening bracket of an object or a list; go a level down."""
        self._values_parsed += 1
        self._position += 1
        self._level += 1

    def _has_next(self, is_first: bool, closing: str) -> bool:
        """Return whether an object or a list has a next member or item.

        The position moves past the comma before it, or past the closing
        bracket.

        :param is_first: whether it would be the first.
        :param closing: the closing bracket.
        :raises: ValueError if neither follows.
        """
        if not is_first:
            return self._pass_mark(',', closing) == ','
        if self._peek() != closing:
            return True
        self._pass_mark(closing)
        return False

    def _pass_mark(self, *marks: str) -> str:
        """Move past the next mark, and return it.

        White space before it is skipped.

        :param marks: the marks that are allowed there.
        :raises: ValueError if another character follows.
        """
        mark = self._peek()
        if mark not in marks:
            raise ValueError(f'expected one of {marks}')
        self._position += 1
        return mark

    def _peek(self) -> str:
        """Return the next character that is not white space, '' at the end.

        The position moves to this character, but not past it.
        """
        while True:
            white_space = _WHITE.match(self._text, self._position)
            if white_space is not None:
                self._position = white_space.end()
            if self._position < len(self._text):
                return self._text[self._position]
            # The text that was read so far ends here.
            if not self._read_on():
                return ''

    def _parse_at_once(self) -> Any:
        """Parse the next value in one step, with everything in it.

        Pieces of the document are read until the value is complete.

        :raises: ValueError if it is not valid JSON; errors of
            :meth:`_read_on`.
        """
        while True:
            try:
                value, end = self._decoder.raw_decode(
                    self._text, self._position
                )
            except ValueError:
                # The end of the value may be in the next piece.
                if not self._read_on():
                    raise
                continue
            # The decoder reads the text "1e+" as 1, but the next piece may
            # complete it to 1e+5. A value close to the end of the text is
            # therefore read again with more of the document, if there is more.
            may_be_cut_off = len(self._text) - end <= len('e+')
            if may_be_cut_off and self._read_on():
                continue
            self._position = end
            self._values_parsed += 1
            return value

    def _read_on(self) -> bool:
        """Read more pieces of the document into the text.

        The part of the text that is parsed already is dropped.

        :returns: False if the document has ended, and so nothing was read.
        :raises: :class:`TooDeep`; :class:`TooManyValues`, after which the
            caller parses the document in one block.
        """
        # Many short values, e.g. [0, 0, 0, ...], would take ten times as long
        # as in one block. The values of a table are its rows, which are longer
        # than a digit.
        most_values = max(self._characters_read // _SHORT_VALUE, _FEW_VALUES)
        if self._values_parsed > most_values:
            raise TooManyValues
        not_parsed = self._text[self._position :]
        texts = [not_parsed]
        added_characters = 0
        # Read so many pieces that the text at least doubles. A value that is
        # not complete is parsed again from its beginning after every reading.
        # If every reading added only one piece, the time for a large value
        # would grow with the square of its length.
        for piece in self._pieces:
            text = self._utf_8.decode(piece)
            texts.append(text)
            added_characters += len(text)
            # A piece may end within a character, and add no text.
            if text and added_characters >= len(not_parsed):
                break
        if added_characters == 0:
            # The document has ended.
            return False
        self._characters_read += added_characters
        self._text = ''.join(texts)
        self._position = 0
        # Check the depth before parsing, because parsers recurse.
        depth_left = self._depth - self._level
        if not budget.is_within_depth(self._text.encode(), depth_left):
            raise TooDeep
        return True
