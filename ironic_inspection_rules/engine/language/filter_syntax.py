# SPDX-License-Identifier: Apache-2.0

"""The syntax of filters in a replacement field.

::

    filters  = { "|" name [ "(" [ argument { "," argument } ] ")" ] }
    argument = [ name "=" ] value
    value    = string | number | "true" | "false" | "null" | list | mapping
             | path
    list     = "[" [ value { "," value } ] "]"
    mapping  = "{" [ string ":" value { "," string ":" value } ] "}"
    string   = "'" { character } "'" | '"' { character } '"'

Blanks may be anywhere between these. In a string, a backslash escapes a quote
or a backslash, and ``\\n``, ``\\r`` and ``\\t`` are control characters; any
other backslash is literal, as regular expressions need it. Lists and mappings
are nested at most 8 levels deep. Null may be written none, and all four words
may begin with a capital letter.
"""

import math
import re
import typing

from ironic_inspection_rules.i18n import _

_BLANK = re.compile(r'\s*')
_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
_NUMBER = re.compile(r'-?(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,30})?'
                     r'(?:[eE][+-]?[0-9]{1,3})?(?![A-Za-z0-9_.])')
_STRING = re.compile(r"""'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)\"""",
                     re.DOTALL)
_ESCAPE = re.compile(r"""\\(['"\\nrt])""")
_ESCAPED = {'n': '\n', 'r': '\r', 't': '\t'}
_WORDS = {'true': True, 'false': False, 'null': None, 'none': None,
          'True': True, 'False': False, 'Null': None, 'None': None}
_DEEPEST = 8

ROW = 'row'
"""The filter that reads a table."""

LOOKUP = ('lookup', 'mapping')
"""The filter that takes a table, and the argument that is one."""

Path = typing.Callable[[str, int], tuple[typing.Any, int] | None]


class SyntaxProblem(Exception):
    """The text is not a filter; the message says what is expected."""


class Call(typing.NamedTuple):
    """One filter as it is written.

    :param arguments: pairs of a name, or None, and a value; paths in it are
        results of the function that reads paths.
    """

    name: str
    arguments: tuple[tuple[str | None, typing.Any], ...] = ()


class Reader:
    """Reads filters from text.

    :param read_path: reads the path at a position of a text, and returns it
        and where it ends, or None if there is none.
    """

    def __init__(self, text: str, read_path: Path) -> None:
        self._text = text
        self._read_path = read_path
        self.position = 0

    def read(self, position: int) -> tuple[Call, ...]:
        """Read all filters from a position; ``position`` is then after them.

        :raises: :class:`SyntaxProblem` if they are invalid.
        """
        self.position = position
        calls = []
        while self._take('|'):
            name = self._match(_NAME)
            if name is None:
                raise SyntaxProblem(_('the name of a filter is expected'))
            arguments: list[tuple[str | None, typing.Any]] = []
            if self._take('('):
                while not self._take(')'):
                    if arguments:
                        self._expect(',')
                    arguments.append(self._argument())
            calls.append(Call(name[0], tuple(arguments)))
        return tuple(calls)

    def _argument(self) -> tuple[str | None, typing.Any]:
        start = self.position
        name = self._match(_NAME)
        if name is not None and self._take('='):
            return name[0], self._value()
        self.position = start
        return None, self._value()

    def _value(self, depth: int = 0) -> typing.Any:
        if depth > _DEEPEST:
            raise SyntaxProblem(_('nested deeper than %d levels') % _DEEPEST)
        if self._take('['):
            items: list[typing.Any] = []
            while not self._take(']'):
                if items:
                    self._expect(',')
                items.append(self._value(depth + 1))
            return items
        if self._take('{'):
            return self._mapping(depth)
        string = self._match(_STRING)
        if string is not None:
            return _unescape(string)
        number = self._match(_NUMBER)
        if number is None:
            return self._word_or_path()
        if re.fullmatch('-?[0-9]+', number[0]):
            return int(number[0])
        if not math.isfinite(float(number[0])):
            raise SyntaxProblem(_('%s is no number') % number[0])
        return float(number[0])

    def _mapping(self, depth: int) -> dict[str, typing.Any]:
        mapping: dict[str, typing.Any] = {}
        while not self._take('}'):
            if mapping:
                self._expect(',')
            key = self._match(_STRING)
            if key is None:
                raise SyntaxProblem(_('a key in quotes is expected'))
            self._expect(':')
            mapping[_unescape(key)] = self._value(depth + 1)
        return mapping

    def _word_or_path(self) -> typing.Any:
        path = self._read_path(self._text, self.position)
        if path is not None:
            value, self.position = path
            return value
        word = self._match(_NAME)
        if word is None or word[0] not in _WORDS:
            raise SyntaxProblem(_('a value is expected'))
        return _WORDS[word[0]]

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.skip()
        match = pattern.match(self._text, self.position)
        if match is not None:
            self.position = match.end()
        return match

    def _take(self, character: str) -> bool:
        self.skip()
        if self._text[self.position:self.position + 1] != character:
            return False
        self.position += 1
        return True

    def _expect(self, character: str) -> None:
        if not self._take(character):
            raise SyntaxProblem(_('"%s" is expected') % character)

    def skip(self) -> None:
        """Skip blanks."""
        blank = _BLANK.match(self._text, self.position)
        if blank is not None:
            self.position = blank.end()


def _unescape(string: re.Match[str]) -> str:
    text = string[1] if string[1] is not None else string[2]
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)
