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
other backslash is literal, as regular expressions need it. A value may be in
at most 8 lists and mappings. Null may be written none, and all four words may
begin with a capital letter.
"""

import math
import re
import typing

from ironic_inspection_rules.i18n import _

_BLANK = re.compile(r'\s*')
_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')

# The numbers of digits are limited, because Python reads large integers
# slowly. A name or another digit must not follow: 10.0.0.1 is not a number.
_NUMBER = re.compile(
    r'-?(?:0|[1-9][0-9]{0,29})'
    r'(?:\.[0-9]{1,30})?'
    r'(?:[eE][+-]?[0-9]{1,3})?'
    r'(?![A-Za-z0-9_.])'
)
_INTEGER = re.compile(r'-?[0-9]+')

# The first group is the content of single quotes, the second of double quotes.
_STRING = re.compile(
    r"""'((?:\\.|[^'\\])*)'"""
    r'|'
    r'''"((?:\\.|[^"\\])*)"''',
    re.DOTALL,
)
_ESCAPE = re.compile(r"""\\(['"\\nrt])""")
_CONTROL_CHARACTERS = {'n': '\n', 'r': '\r', 't': '\t'}

_WORDS = {
    'true': True,
    'false': False,
    'null': None,
    'none': None,
    'True': True,
    'False': False,
    'Null': None,
    'None': None,
}

_DEEPEST = 8
"""Maximum number of lists and mappings that a value may be in."""

ROW = 'row'
"""The filter that reads a table."""

LOOKUP = 'lookup'
"""The filter that searches a mapping or a table."""

SEARCHED_BY_LOOKUP = 'mapping'
"""The argument of this filter that is the mapping or the table."""

Path = typing.Callable[[str, int], tuple[typing.Any, int] | None]
"""Parses the path at a position of a text.

It returns the path and the position after it, or None if there is none.
"""


class SyntaxProblem(Exception):
    """The text is not a filter; the message says what is expected."""


class FilterCall(typing.NamedTuple):
    """One filter as it is written.

    ``replace('-', new=node.name)`` has the arguments ``(None, '-')`` and
    ``('new', FIELD)``.

    :param arguments: pairs of a name and a value. The name is None for a
        positional argument. A path in the value is represented by the field
        that the :data:`Path` function returned for it.
    """

    name: str
    arguments: tuple[tuple[str | None, typing.Any], ...] = ()

    @property
    def is_first_positional(self) -> bool:
        """Whether there are arguments, the first of which has no name."""
        if not self.arguments:
            return False
        name, _value = self.arguments[0]
        return name is None


class Reader:
    """Parses filters from text, one token at a time.

    ``position`` is the position of the next character. ``_take`` and
    ``_match`` advance it if the text continues as expected.
    """

    def __init__(self, text: str, read_path: Path) -> None:
        self._text = text
        self._read_path = read_path
        self.position = 0

    def read(self, position: int) -> tuple[FilterCall, ...]:
        """Parse all filters at a position, e.g. ``| int | add(1)``.

        Afterwards, ``position`` is the position after the last filter.

        :returns: an empty tuple if the text does not continue with a filter.
        :raises: :class:`SyntaxProblem` if a filter is invalid.
        """
        self.position = position
        calls = []
        while self._take('|'):
            calls.append(self._read_filter())
        return tuple(calls)

    def _read_filter(self) -> FilterCall:
        """Parse a filter after its bar, e.g. ``replace('-', '_')``.

        :raises: :class:`SyntaxProblem` that says what is expected.
        """
        name = self._match(_NAME)
        if name is None:
            raise SyntaxProblem(_('the name of a filter is expected'))
        arguments: list[tuple[str | None, typing.Any]] = []
        # A filter without arguments may be written without parentheses.
        if self._take('('):
            while not self._take(')'):
                if arguments:
                    self._expect(',')
                arguments.append(self._read_argument())
        return FilterCall(name[0], tuple(arguments))

    def _read_argument(self) -> tuple[str | None, typing.Any]:
        """Parse an argument, e.g. ``new='_'``; return its name and its value.

        The name of a positional argument is None.
        """
        start = self.position
        name = self._match(_NAME)
        if name is not None and self._take('='):
            return name[0], self._read_value()
        # The name is a word or the start of a path, so it is a value.
        self.position = start
        return None, self._read_value()

    def _read_value(self, depth: int = 0) -> typing.Any:
        """Parse a value of any type.

        :param depth: the number of lists and mappings around it, which is
            limited because they are parsed by recursion.
        """
        if depth > _DEEPEST:
            raise SyntaxProblem(_('nested deeper than %d levels') % _DEEPEST)
        if self._take('['):
            return self._read_list(depth)
        if self._take('{'):
            return self._read_mapping(depth)
        string = self._match(_STRING)
        if string is not None:
            return _unescape(string)
        number = self._match(_NUMBER)
        if number is not None:
            return _convert_number(number[0])
        return self._read_word_or_path()

    def _read_list(self, depth: int) -> list[typing.Any]:
        """Parse the rest of a list such as ``[1, 'a']``, after its bracket.

        :param depth: the number of lists and mappings around the list.
        """
        items: list[typing.Any] = []
        while not self._take(']'):
            if items:
                self._expect(',')
            items.append(self._read_value(depth + 1))
        return items

    def _read_mapping(self, depth: int) -> dict[str, typing.Any]:
        """Parse the rest of a mapping such as ``{'a': 1}``, after its brace.

        :param depth: the number of lists and mappings around the mapping.
        """
        mapping: dict[str, typing.Any] = {}
        while not self._take('}'):
            if mapping:
                self._expect(',')
            key = self._match(_STRING)
            if key is None:
                raise SyntaxProblem(_('a key in quotes is expected'))
            self._expect(':')
            mapping[_unescape(key)] = self._read_value(depth + 1)
        return mapping

    def _read_word_or_path(self) -> typing.Any:
        """Parse a path, e.g. ``node.name``, or a word, e.g. ``true``.

        :returns: the path as a field, or the value that the word stands for.
        """
        path_and_end = self._read_path(self._text, self.position)
        if path_and_end is not None:
            path, self.position = path_and_end
            return path
        word = self._match(_NAME)
        if word is None or word[0] not in _WORDS:
            raise SyntaxProblem(_('a value is expected'))
        return _WORDS[word[0]]

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern at the current position, and advance.

        :returns: the match; None if the pattern does not match.
        """
        self._skip_blanks()
        match = pattern.match(self._text, self.position)
        if match is not None:
            self.position = match.end()
        return match

    def _take(self, character: str) -> bool:
        """Consume a character if it comes next, and return whether it did.

        Blanks before the character are skipped in any case.
        """
        self._skip_blanks()
        if not self._text.startswith(character, self.position):
            return False
        self.position += 1
        return True

    def _expect(self, character: str) -> None:
        """Consume a character, or raise an error if it does not come next."""
        if not self._take(character):
            raise SyntaxProblem(_('"%s" is expected') % character)

    def _skip_blanks(self) -> None:
        blank = _BLANK.match(self._text, self.position)
        if blank is not None:
            self.position = blank.end()


def _convert_number(text: str) -> int | float:
    """Convert the text of a number, e.g. ``8`` or ``1.5e3``.

    :param text: a text that :data:`_NUMBER` matches.
    :raises: :class:`SyntaxProblem` if it is too large, e.g. ``1e999``.
    """
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text)
    if not math.isfinite(number):
        # The exponent is too large.
        raise SyntaxProblem(_('%s is no number') % text)
    return number


def _unescape(string: re.Match[str]) -> str:
    """Return the text of a string, without its quotes and escapes.

    For example, ``'it\\'s'`` gives ``it's``. A backslash that begins no escape
    stays: ``'\\d'`` gives ``\\d``.

    :param string: a match of :data:`_STRING`.
    """
    text = string[1]
    if text is None:
        # The string is in double quotes.
        text = string[2]
    return _ESCAPE.sub(_escaped_character, text)


def _escaped_character(escape: re.Match[str]) -> str:
    return _CONTROL_CHARACTERS.get(escape[1], escape[1])
