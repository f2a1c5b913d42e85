# SPDX-License-Identifier: Apache-2.0

"""Characters and regular expressions as languages of the solver.

A machine may send any text. No rule tells all characters apart, so that a few
stand for the others: those that the rules name and their neighbours, ASCII,
and several of each class of characters that a regular expression can ask for.
What the solver has no language for, such as looking ahead, is refused.
"""

from collections.abc import Iterable
import functools
import re
import typing

import z3

from ironic_inspection_rules.kit.proof import effort
from ironic_inspection_rules.kit.proof import logic

# Python parses a pattern as it does when it runs the rule. Its parser is
# private; other parsers read other patterns.
_parser: typing.Any = getattr(re, '_parser')  # noqa: B009
_constants: typing.Any = getattr(re, '_constants')  # noqa: B009

# An anchor holds at a place, and a language has only texts. So a text is put
# between two characters that no text has, and an anchor is one of them.
_BEGIN = '\x02'
_END = '\x03'
_LAST_CODE = 0x2FFFF  # Of the characters that the solver has.

_ANCHORS = ('AT_BEGINNING', 'AT_BEGINNING_STRING', 'AT_END', 'AT_END_STRING')
"""The anchors that hold at one of the marks, in the words of the parser."""

_SIGN = '\u2603'
"""Stands for all characters that no rule names."""

_USUAL = ''.join(map(chr, range(32, 127)))
_OTHERS = (
    '\t\n\x00\x01'
    # Letters without another case, digits, blanks, signs.
    '\u0627\u0628\u4e00\u0663\u0664\u00a0\u2003\u20ac\u00a7\u2603'
    # Letters that have another case, or a case in ASCII.
    '\u0451\u0401\u017f\u212a\u0130\u0131'
)


class Alphabet:
    """Characters that stand for all there are.

    :param texts: all texts of the rules, regular expressions among them.
    :ivar language: returns the language of a pattern, see :meth:`_language`.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        named: set[str] = set()
        for text in texts:
            if not text.isascii() or '\\' in text:
                named |= _named_characters(text)
        for character in tuple(named):
            named |= {*character.lower(), *character.upper()}
            # What is before or after it in an order, and beside a range.
            named |= {chr(ord(character) - 1), chr(ord(character) + 1)}
        candidates = {*_USUAL, *_OTHERS, *named}
        self.characters = frozenset(filter(_is_usable, candidates))
        # Rules ask for the same expressions again and again, and the solver
        # takes long for a language. The caches go with the alphabet.
        self.language = functools.lru_cache(None)(self._language)
        self._all_match = functools.lru_cache(None)(self._decide_match)
        self._all_below = functools.lru_cache(None)(self._decide_below)

    def cleaned(self, text: str) -> str:
        """Return a text with one sign for all characters that no rule names.

        The solver takes these for one character, and Python tells them apart.
        """
        characters = []
        for character in text:
            if character not in self.characters:
                character = _SIGN
            characters.append(character)
        return ''.join(characters)

    def has(self, text: str) -> bool:
        """Return whether all characters of a text are in the alphabet."""
        return self.characters.issuperset(text)

    def _language(
        self, pattern: str, searches: bool = False
    ) -> logic.Language:
        """Return the language of texts that match a pattern as a whole.

        An anchor in the pattern is one of :func:`marked`'s marks.

        :param searches: whether ``$`` also matches before a newline that ends
            the text, as it does in a search.
        :raises: :class:`.logic.Untranslatable` where the solver has no
            language for the pattern.
        """
        parsed = _parser.parse(pattern)
        parts = list(parsed)
        # A mark is there once, and two anchors may stand at one place.
        for kind in ('BEGIN', 'END'):
            if _anchors(parts, kind) > 1:
                raise logic.Untranslatable('two anchors of a kind')
        reader = _Reader(self.characters, searches)
        return reader.sequence(parts, parsed.state.flags, True)

    def matching(self, pattern: str, searches: bool) -> logic.Language:
        """Return the language of the marked texts that match a pattern.

        :func:`marked` puts a text between two marks, which anchors match.

        :param searches: whether a part of the text is enough.
        :raises: :class:`.logic.Untranslatable` where the solver has no
            language for the pattern.
        """
        body = self.language(pattern, searches)
        if searches:
            return z3.Concat(_any_text(), body, _any_text())
        # The language has a mark already where the pattern has an anchor.
        begin = z3.Option(z3.Re(_BEGIN))
        end = z3.Option(z3.Re(_END))
        return z3.Concat(begin, body, end)

    def below(self, text: str) -> logic.Language:
        """Return the language of texts that come before one, by their codes.

        The solver is much better at languages than at the order of texts.
        """
        rest = _any_text()
        parts = [_no_text()]
        for index, character in enumerate(text):
            # What is before "abc": a beginning of it ("", "a", "ab"), or one
            # that goes on with a lower character.
            begin = z3.Re(logic.constant(text[:index]))
            parts.append(begin)
            if character > '\x00':
                lower = _union([(0, ord(character) - 1)])
                parts.append(z3.Concat(begin, lower, rest))
        if len(parts) == 1:
            return parts[0]
        return z3.Union(*parts)

    def all_below(self, text: str, among: str) -> bool | None:
        """Return whether all texts of a language come before a text.

        :param among: a regular expression of the language.
        :returns: False where none of them does, None where some may do so and
            others not.
        """
        return self._all_below(text, among)

    def _decide_below(self, text: str, among: str) -> bool | None:
        """Decide for :meth:`all_below`, which keeps the answer."""
        term = z3.String('text')
        is_before = z3.InRe(term, self.below(text))
        return self._decide(term, is_before, among)

    def all_match(
        self, pattern: str, searches: bool, among: str
    ) -> bool | None:
        """Return whether all texts of a language match a pattern.

        :param searches: whether a match of a part of the text is enough.
        :param among: a regular expression of the language.
        :returns: False where none of them matches, None where some may match
            and others not.
        :raises: :class:`.logic.Untranslatable` where the solver has no
            language for the pattern.
        """
        return self._all_match(pattern, searches, among)

    def _decide_match(
        self, pattern: str, searches: bool, among: str
    ) -> bool | None:
        """Return whether a pattern matches all texts of a language, or none.

        :param searches: whether a match of a part of the text is enough.
        :returns: None where neither is known.
        """
        # The languages that callers ask about have no text with a mark in it,
        # which the marks around the text could be taken for.
        language = self.matching(pattern, searches)
        term = z3.String('text')
        matches = z3.InRe(marked(term), language)
        return self._decide(term, matches, among)

    def example(self, pattern: str, searches: bool, among: str) -> str:
        """Return a text of a language that matches a pattern.

        :param searches: whether a match of a part of the text is enough.
        :param among: a regular expression of the language.
        :returns: an empty text where there is none, or the solver finds none
            in time.
        :raises: :class:`.logic.Untranslatable` where the solver has no
            language for the pattern.
        """
        text = z3.String('text')
        solver = z3.Solver()
        solver.add(z3.InRe(text, self.language(among)))
        solver.add(z3.InRe(marked(text), self.matching(pattern, searches)))
        try:
            if not effort.can_hold(solver, effort.LANGUAGE):
                return ''
        except effort.GivenUp:
            return ''
        return logic.example_of(text, solver)

    def _decide(
        self, text: logic.Term, matches: logic.Formula, among: str
    ) -> bool | None:
        """Return whether a formula holds for all texts of a language.

        :param text: that the formula is about.
        :param among: a regular expression of the language.
        :returns: False where it holds for none, None where neither is known.
        """
        if self._has_none(text, matches, among):
            return False
        if self._has_none(text, z3.Not(matches), among):
            return True
        return None

    def _has_none(
        self, text: logic.Term, wanted: logic.Formula, among: str
    ) -> bool:
        """Return whether surely no text of a language fulfils a formula.

        Where the solver does not know in time this is False: there may be one.

        :param text: the text of the solver that the formula is about.
        :param among: a regular expression of the texts.
        """
        solver = z3.Solver()
        solver.add(z3.InRe(text, self.language(among)))
        solver.add(wanted)
        try:
            return not effort.can_hold(solver, effort.LANGUAGE)
        except effort.GivenUp:
            return False


def _is_usable(character: str) -> bool:
    """Return whether texts of the solver may have a character."""
    if ord(character) > _LAST_CODE or character in (_BEGIN, _END):
        return False
    # A surrogate is half of a character, and none to the solver.
    return not '\ud800' <= character <= '\udfff'


def _any_text() -> logic.Language:
    return z3.Full(z3.ReSort(z3.StringSort()))


def _no_text() -> logic.Language:
    return z3.Empty(z3.ReSort(z3.StringSort()))


def marked(text: logic.Term) -> logic.Term:
    """Return the text between marks of its begin and its end."""
    return z3.Concat(z3.StringVal(_BEGIN), text, z3.StringVal(_END))


@functools.cache
def without_marks() -> logic.Language:
    """Return the language of texts that :func:`marked` may take."""
    below = (0, ord(_BEGIN) - 1)
    above = (ord(_END) + 1, _LAST_CODE)
    return z3.Star(_union([below, above]))


def _named_characters(text: str) -> set[str]:
    r"""Return the characters beyond ASCII that a text of a rule names.

    A regular expression may name them by escapes, such as ``\u00e9``: every
    text that can be one is read as one.
    """
    characters = {character for character in text if not character.isascii()}
    try:
        ahead: list[typing.Any] = list(_parser.parse(text))
    except (re.error, OverflowError, RecursionError):
        return characters
    while ahead:
        part = ahead.pop()
        if isinstance(part, tuple):
            # Every alphabet has the printable ASCII up to 126.
            characters |= {chr(code) for code in _codes(part) if code > 126}
            ahead += part
        elif isinstance(part, list | _parser.SubPattern):
            ahead += list(part)
    return characters


def _codes(part: tuple[typing.Any, ...]) -> tuple[int, ...]:
    """Return the codes of the characters that a part of a pattern names."""
    kind = str(part[0])
    if kind.endswith('LITERAL'):
        return part[1:]
    if kind == 'RANGE':
        return typing.cast('tuple[int, ...]', part[1])
    return ()


def _anchors(parts: list[typing.Any], kind: str) -> int:
    """Return how many anchors of a kind a single match may have to pass.

    :param parts: of a parsed expression.
    :param kind: ``BEGIN`` or ``END``, as in the names of the parser.
    """
    count = 0
    for name, value in parts:
        if str(name) == 'AT':
            count += str(value).startswith(f'AT_{kind}')
        elif str(name) == 'BRANCH':
            # A text meets one of the branches.
            count += max(_anchors(list(branch), kind) for branch in value[1])
        elif str(name) == 'SUBPATTERN':
            count += _anchors(list(value[-1]), kind)
        elif str(name).endswith('_REPEAT'):
            least, _most, repeated = value
            # A match passes an anchor again in all turns that there have to
            # be, such as in "(^|a){2}". Any others can be left out of it.
            count += max(least, 1) * _anchors(list(repeated), kind)
    return count


class _Reader:
    """Reads a parsed regular expression as a language.

    :param characters: those of the alphabet.
    :param searches: whether more may follow what matches.
    """

    def __init__(self, characters: frozenset[str], searches: bool) -> None:
        self._all = characters
        self._searches = searches

    def sequence(
        self, parts: list[typing.Any], flags: int, is_last: bool
    ) -> logic.Language:
        """Return the language of parts that follow one another.

        :param is_last: whether nothing of the expression follows them.
        :raises: :class:`.logic.Untranslatable` as :meth:`_part` does, and for
            two anchors in a row.
        """
        for part, next_part in zip(parts, parts[1:], strict=False):
            if str(part[0]) == str(next_part[0]) == 'AT':
                raise logic.Untranslatable('two anchors in a row')
        languages = []
        for number, (kind, value) in enumerate(parts, 1):
            is_end = is_last and number == len(parts)
            languages.append(self._part(str(kind), value, flags, is_end))
        if not languages:
            return z3.Re('')
        if len(languages) == 1:
            return languages[0]
        return z3.Concat(*languages)

    def _part(
        self, kind: str, value: typing.Any, flags: int, is_last: bool
    ) -> logic.Language:
        """Return the language of one part of a parsed expression.

        :param kind: a name of the parser of Python.
        :raises: :class:`.logic.Untranslatable` for what needs to know the
            text around it, such as a reference to a group.
        """
        if kind in ('LITERAL', 'NOT_LITERAL', 'IN'):
            return self._language(self._characters(kind, value, flags))
        if kind == 'ANY':
            if flags & re.DOTALL:
                return self._language(self._all)
            return self._language(self._all - {'\n'})
        if kind == 'BRANCH':
            languages = [
                self.sequence(list(branch), flags, is_last)
                for branch in value[1]
            ]
            if len(languages) == 1:
                return languages[0]
            return z3.Union(*languages)
        if kind == 'SUBPATTERN':
            _group, added, removed, inner = value
            inner_flags = (flags | added) & ~removed
            return self.sequence(list(inner), inner_flags, is_last)
        if kind in ('MAX_REPEAT', 'MIN_REPEAT'):
            least, most, inner = value
            return self._repeat(least, most, inner, flags)
        if kind == 'AT':
            return self._anchor(str(value), flags, is_last)
        raise logic.Untranslatable(
            f'{kind.lower().replace("_", " ")} in a regular expression'
        )

    def _repeat(
        self, least: int, most: typing.Any, inner: typing.Any, flags: int
    ) -> logic.Language:
        """Return the language of a repetition, such as ``a{2,5}`` or ``a*``.

        :param most: a number, or the ``MAXREPEAT`` of Python's parser.
        :param inner: the parts of the expression that are repeated.
        """
        body = self.sequence(list(inner), flags, False)
        if most == 0:
            # The solver reads a loop up to 0 as one without an end.
            return z3.Re('')
        if most is not _constants.MAXREPEAT:
            return z3.Loop(body, least, most)
        if least == 0:
            return z3.Star(body)
        if least == 1:
            return z3.Plus(body)
        return z3.Concat(z3.Loop(body, least, least), z3.Star(body))

    def _anchor(self, kind: str, flags: int, is_last: bool) -> logic.Language:
        """Return the language of an anchor, which is one of the marks.

        :param kind: a name of Python's parser, such as ``AT_END``.
        :param is_last: whether nothing of the expression follows it.
        :raises: :class:`.logic.Untranslatable` for an anchor that may hold
            elsewhere than at the ends of the text, for any other one where
            lines have anchors, and for one of the end that is not last.
        """
        # One of the begin may stand anywhere: no text has its mark behind
        # other characters, so that "a^b" matches none, as in Python.
        if flags & re.MULTILINE or kind not in _ANCHORS:
            raise logic.Untranslatable(
                f'{kind.lower().replace("_", " ")} in a regular expression'
            )
        if kind.startswith('AT_BEGINNING'):
            return z3.Re(_BEGIN)
        if not is_last:
            raise logic.Untranslatable('an anchor before the end')
        if kind == 'AT_END' and self._searches:
            # It holds before a newline at the end, too.
            return z3.Concat(z3.Option(z3.Re('\n')), z3.Re(_END))
        return z3.Re(_END)

    def _characters(
        self, kind: str, value: typing.Any, flags: int
    ) -> set[str]:
        """Return the characters of the alphabet that match a part.

        :param kind: of a part that matches a single character.
        """
        # Python compiles the part and matches it itself: so cases of letters
        # and classes such as "\w" are the same as where the rule runs.
        part = (getattr(_constants, kind), value)
        pattern = _parser.SubPattern(_state(flags), [part])
        compiled = _compiled(pattern, flags)
        return {
            character for character in self._all if compiled.match(character)
        }

    def _language(self, characters: Iterable[str]) -> logic.Language:
        """Return the language of some characters of the alphabet.

        One of them may be the sign, which stands for all characters that are
        not in the alphabet.
        """
        codes = set(map(ord, characters))
        if ord(_SIGN) not in codes:
            return _union(_ranges(codes))
        # All characters but the others of the alphabet: long ranges, and few.
        others = set(map(ord, self._all)) - codes
        others |= {ord(_BEGIN), ord(_END)}
        ranges = []
        first = 0
        for code in (*sorted(others), _LAST_CODE + 1):
            if code > first:
                ranges.append((first, code - 1))
            first = code + 1
        return _union(ranges)


def _state(flags: int) -> typing.Any:
    """Return the state of the parser that :func:`_compiled` needs.

    :param flags: of the expression that the part was in.
    """
    state = _parser.State()
    state.flags = flags
    return state


def _compiled(pattern: typing.Any, flags: int) -> re.Pattern[str]:
    """Compile a part of a parsed regular expression by itself."""
    compiler: typing.Any = getattr(re, '_compiler')  # noqa: B009
    return typing.cast('re.Pattern[str]', compiler.compile(pattern, flags))


def _ranges(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Return ranges of codes without a gap, as their first and last code."""
    ranges: list[tuple[int, int]] = []
    for code in sorted(codes):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    return ranges


def _union(ranges: list[tuple[int, int]]) -> logic.Language:
    """Return the language of characters in ranges of codes."""
    languages = []
    for first, last in ranges:
        lowest = z3.StringVal(chr(first))
        highest = z3.StringVal(chr(last))
        languages.append(z3.Range(lowest, highest))
    if not languages:
        return _no_text()
    if len(languages) == 1:
        return languages[0]
    return z3.Union(*languages)
