# SPDX-License-Identifier: Apache-2.0

"""Regular expressions as languages (sets of texts) of a solver.

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
_compiler: typing.Any = getattr(re, '_compiler')  # noqa: B009

# "^" and "$" hold at a place of a text, and a language has only texts. So a
# text is put between two marks, characters that no text has, and an anchor in
# a regular expression is one of the marks.
_BEGIN = '\x02'
_END = '\x03'
_LAST_CODE = 0x2FFFF  # Of the characters that the solver has.

_ANCHORS = ('AT_BEGINNING', 'AT_BEGINNING_STRING', 'AT_END', 'AT_END_STRING')
"""The anchors that hold at one of the marks, in the words of the parser."""

_ANCHORS_OF_LINES = ('AT_BEGINNING', 'AT_END')
"""The anchors of these that hold at every line where a flag says so."""

_OTHER_CHARACTER = '\u2603'
"""Stands for all characters that no rule names."""

_PRINTABLE = ''.join(map(chr, range(32, 127)))
_OTHER_SAMPLES = (
    '\t\n\x00\x01'
    # Letters without another case, digits, blanks, signs.
    '\u0627\u0628\u4e00\u0663\u0664\u00a0\u2003\u20ac\u00a7\u2603'
    # Letters that have another case, or a case in ASCII.
    '\u0451\u0401\u017f\u212a\u0130\u0131'
)


class Alphabet:
    """The characters that texts of a proof may have; a few stand for all.

    :param texts: all texts of the rules, regular expressions among them.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        # The characters beyond ASCII that rules name, such as "é".
        named: set[str] = set()
        for text in texts:
            # Only such a text names one, by itself or by an escape.
            if not text.isascii() or '\\' in text:
                named |= _named_characters(text)
        for character in tuple(named):
            named |= {*character.lower(), *character.upper()}
            # What is before or after it in an order, and beside a range.
            named |= {chr(ord(character) - 1), chr(ord(character) + 1)}
        candidates = {*_PRINTABLE, *_OTHER_SAMPLES, *named}
        self.characters = frozenset(filter(_is_usable, candidates))
        # Rules ask for the same expressions again and again, and the solver
        # takes long for a language: what was made or decided is kept.
        self._languages: dict[tuple[str, bool], logic.Language] = {}
        self._all_match: dict[tuple[str, bool, str], bool | None] = {}
        self._all_below: dict[tuple[str, str], bool | None] = {}

    def cleaned(self, text: str) -> str:
        """Return a text with only characters of the alphabet: "☃" for others.

        To the solver, all characters that no rule names are one, and it may
        put any of them into a text. Python tells them apart.
        """
        cleaned = ''
        for character in text:
            if character in self.characters:
                cleaned += character
            else:
                cleaned += _OTHER_CHARACTER
        return cleaned

    def has(self, text: str) -> bool:
        """Return whether all characters of a text are in the alphabet."""
        return self.characters.issuperset(text)

    def language(self, pattern: str, searches: bool = False) -> logic.Language:
        """Return the language of texts that match a pattern as a whole.

        A language is a set of texts, as the solver has it: that of ``a[bc]``
        has the texts "ab" and "ac". ``^`` and ``$`` in the pattern become the
        marks that :func:`marked` puts around a text.

        :param searches: whether ``$`` also matches before a newline that ends
            the text, as it does in a search.
        :raises: :class:`.logic.Untranslatable` where the solver has no
            language for the pattern.
        """
        key = (pattern, searches)
        if key in self._languages:
            return self._languages[key]
        parsed = _parser.parse(pattern)
        parts = list(parsed)
        # A text has each mark once, but "^^a" matches "a": with a mark for
        # each of the two anchors, no text would match.
        for kind in ('BEGIN', 'END'):
            if _count_anchors(parts, kind) > 1:
                raise logic.Untranslatable('two anchors of a kind')
        reader = _Reader(self.characters, searches)
        language = reader.translate_sequence(
            parts, parsed.state.flags, is_last=True
        )
        self._languages[key] = language
        return language

    def matching(self, pattern: str, searches: bool) -> logic.Language:
        """Return all texts that match a regular expression, with their marks.

        The solver has no anchors. So :func:`marked` puts every text between
        two marks: with ``<`` and ``>`` for the marks, "abc" is "<abc>". The
        anchor ``^`` matches the mark ``<``, and ``$`` matches ``>``, in a
        search also with a newline before it.

        :param searches: True if the expression has to match only a part of
            the text, False if it has to match the whole text.
        :raises: :class:`.logic.Untranslatable` where the solver has no
            language for the pattern.
        """
        body = self.language(pattern, searches)
        if searches:
            return z3.Concat(_all_texts(), body, _all_texts())
        # The language of "^a" has "<a", with the mark of the anchor, and that
        # of "a" only "a": with a mark that may be missing, both match "<a>".
        begin = z3.Option(z3.Re(_BEGIN))
        end = z3.Option(z3.Re(_END))
        return z3.Concat(begin, body, end)

    def below(self, text: str) -> logic.Language:
        """Return the language of texts that sort before a text.

        Before "ab" sort its beginnings, "" and "a", and all texts in which a
        lower character follows a beginning, such as "Zoo" and "aaz". The
        solver is much better at languages than at the order of texts.
        """
        rest = _all_texts()
        # Nothing sorts before the empty text.
        languages = [_no_texts()]
        for index, character in enumerate(text):
            begin = z3.Re(logic.text_term(text[:index]))
            languages.append(begin)
            if character > '\x00':
                lower = _union_of_ranges([(0, ord(character) - 1)])
                languages.append(z3.Concat(begin, lower, rest))
        if len(languages) == 1:
            return languages[0]
        return z3.Union(*languages)

    def all_below(self, text: str, among: str) -> bool | None:
        """Return whether all texts of a language sort before a text.

        All texts of integers sort before "a", none before "", and some before
        "8".

        :param among: a regular expression of the language, such as
            ``-?[0-9]+``.
        :returns: False if no text does, None if perhaps only some texts do.
        """
        key = (text, among)
        if key not in self._all_below:
            term = z3.String('text')
            is_before = z3.InRe(term, self.below(text))
            verdict = self._decide_for_all(term, is_before, among)
            self._all_below[key] = verdict
        return self._all_below[key]

    def all_match(
        self, pattern: str, searches: bool, among: str
    ) -> bool | None:
        """Return whether all texts of a language match a pattern.

        All texts of integers match ``[0-9]``, if a part is enough; none
        matches ``kB``; and some match ``^8``.

        :param searches: whether a match of a part of the text is enough.
        :param among: a regular expression of the language.
        :returns: False if no text matches, None if perhaps only some texts do.
        :raises: :class:`.logic.Untranslatable` where the solver has no
            language for the pattern.
        """
        key = (pattern, searches, among)
        if key not in self._all_match:
            # No language that callers ask about has texts with marks in them.
            language = self.matching(pattern, searches)
            term = z3.String('text')
            matches = z3.InRe(marked(term), language)
            verdict = self._decide_for_all(term, matches, among)
            self._all_match[key] = verdict
        return self._all_match[key]

    def example(self, pattern: str, searches: bool, among: str) -> str:
        """Find a text of a language that matches a pattern.

        Among the texts of integers, "8" or "18" match ``8$`` in a part.

        :param searches: whether a match of a part of the text is enough.
        :param among: a regular expression of the language.
        :returns: an empty text if there is no such text, or the solver does
            not find one within its limit.
        :raises: :class:`.logic.Untranslatable` where the solver has no
            language for the pattern.
        """
        text = z3.String('text')
        solver = effort.new_solver()
        effort.add(solver, z3.InRe(text, self.language(among)))
        matches = z3.InRe(marked(text), self.matching(pattern, searches))
        effort.add(solver, matches)
        try:
            if not effort.can_hold(solver, effort.LANGUAGE):
                return ''
        except effort.GivenUp:
            return ''
        return logic.example_of(text, solver)

    def _decide_for_all(
        self, text: logic.Term, matches: logic.Formula, among: str
    ) -> bool | None:
        """Return whether a formula holds for all texts of a language.

        :param text: the text of the solver that the formula is about.
        :param matches: the formula, such as that a pattern matches the text.
        :param among: a regular expression of the language.
        :returns: False if it holds for no text. None if it holds for some
            texts only, or if the solver does not know within its limit.
        """
        if self._surely_none_holds(text, matches, among):
            return False
        if self._surely_none_holds(text, z3.Not(matches), among):
            return True
        return None

    def _surely_none_holds(
        self, text: logic.Term, wanted: logic.Formula, among: str
    ) -> bool:
        """Return whether surely no text of a language fulfils a formula.

        It is False where the solver does not know within its limit.

        :param text: the text of the solver that the formula is about.
        :param wanted: the formula.
        :param among: a regular expression of the language.
        """
        solver = effort.new_solver()
        effort.add(solver, z3.InRe(text, self.language(among)))
        effort.add(solver, wanted)
        try:
            return not effort.can_hold(solver, effort.LANGUAGE)
        except effort.GivenUp:
            return False


def _is_usable(character: str) -> bool:
    """Return whether texts of the solver may have a character.

    The marks that stand for ``^`` and ``$`` are in no text.
    """
    if ord(character) > _LAST_CODE or character in (_BEGIN, _END):
        return False
    # A surrogate is half of a character, and none to the solver.
    return not '\ud800' <= character <= '\udfff'


def _all_texts() -> logic.Language:
    return z3.Full(z3.ReSort(z3.StringSort()))


def _no_texts() -> logic.Language:
    return z3.Empty(z3.ReSort(z3.StringSort()))


def marked(text: logic.Term) -> logic.Term:
    """Put a text between the marks that stand for ``^`` and ``$``.

    With ``<`` and ``>`` for the marks, "abc" becomes "<abc>".
    """
    return z3.Concat(z3.StringVal(_BEGIN), text, z3.StringVal(_END))


@functools.cache
def without_marks() -> logic.Language:
    """Return the language of texts without a mark, as :func:`marked` takes."""
    below = (0, ord(_BEGIN) - 1)
    above = (ord(_END) + 1, _LAST_CODE)
    return z3.Star(_union_of_ranges([below, above]))


def _named_characters(text: str) -> set[str]:
    r"""Return the characters beyond ASCII that a text of a rule names.

    A regular expression may name them by escapes such as ``\u20ac``. Every
    text is read as an expression, whatever the rule does with it. A text that
    is no valid expression names only the characters in it.
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
            characters |= {
                chr(code) for code in _named_codes(part) if code > 126
            }
            ahead += part
        elif isinstance(part, list | _parser.SubPattern):
            ahead += list(part)
    return characters


def _named_codes(part: tuple[typing.Any, ...]) -> tuple[int, ...]:
    """Return the codes that a part of a parsed expression names.

    The part ``('LITERAL', 97)`` of ``a`` names ``(97,)``, and the part
    ``('RANGE', (97, 122))`` of ``a-z`` names ``(97, 122)``.
    """
    kind = str(part[0])
    # Also NOT_LITERAL, for "[^a]".
    if kind.endswith('LITERAL'):
        return part[1:]
    if kind == 'RANGE':
        return typing.cast('tuple[int, ...]', part[1])
    return ()


def _count_anchors(parts: list[typing.Any], kind: str) -> int:
    """Count the anchors of a kind that a single match may have to pass.

    Of the kind ``BEGIN``, ``^a`` has one, ``^^a`` has two, and ``^a|^b`` has
    one, as a match passes only one of the branches.

    :param parts: the parts of a parsed expression.
    :param kind: ``BEGIN`` or ``END``, as in the names of the parser.
    """
    count = 0
    for name, value in parts:
        if str(name) == 'AT':
            count += str(value).startswith(f'AT_{kind}')
        elif str(name) == 'BRANCH':
            _nothing, branches = value
            count += max(
                _count_anchors(list(branch), kind) for branch in branches
            )
        elif str(name) == 'SUBPATTERN':
            *_group_and_flags, inner = value
            count += _count_anchors(list(inner), kind)
        elif str(name).endswith('_REPEAT'):
            least, _most, repeated = value
            # In "(^|a){2}" a match may pass the anchor in both turns. Turns
            # that need not be there do not count.
            count += max(least, 1) * _count_anchors(list(repeated), kind)
    return count


class _Reader:
    """Translates a parsed regular expression to a language.

    :param characters: the characters of the alphabet.
    :param searches: whether more text may follow the match.
    """

    def __init__(self, characters: frozenset[str], searches: bool) -> None:
        self._all = characters
        self._searches = searches

    def translate_sequence(
        self, parts: list[typing.Any], flags: int, is_last: bool
    ) -> logic.Language:
        """Return the language of parts that follow one another, as ``ab*``.

        :param parts: of Python's parser, for ``ab*`` a ``LITERAL`` and a
            ``MAX_REPEAT``.
        :param is_last: whether they are the end of the expression.
        :raises: :class:`.logic.Untranslatable` as :meth:`_translate_part`
            does, and for two anchors in a row.
        """
        for part, next_part in zip(parts, parts[1:], strict=False):
            # "AT" is an anchor to the parser.
            if str(part[0]) == str(next_part[0]) == 'AT':
                raise logic.Untranslatable('two anchors in a row')
        languages = []
        for number, (kind, value) in enumerate(parts, 1):
            is_end = is_last and number == len(parts)
            languages.append(
                self._translate_part(str(kind), value, flags, is_end)
            )
        if not languages:
            # An empty expression, which matches the empty text.
            return z3.Re('')
        if len(languages) == 1:
            # z3 concatenates two languages or more.
            return languages[0]
        return z3.Concat(*languages)

    def _translate_part(
        self, kind: str, value: typing.Any, flags: int, is_last: bool
    ) -> logic.Language:
        """Return the language of one part of a parsed expression.

        ``a*`` is the part ``MAX_REPEAT`` of Python's parser, with the content
        ``(0, MAXREPEAT, [(LITERAL, 97)])``. To the solver it is
        ``Star(Range("a", "a"))``.

        :param kind: the parser's name of the part, such as ``LITERAL``.
        :param value: the content of the part, such as the code of a character.
        :raises: :class:`.logic.Untranslatable` for a part that depends on the
            text around it, such as a reference to a group.
        """
        if kind in ('LITERAL', 'NOT_LITERAL', 'IN'):
            return self._language_of(
                self._matching_characters(kind, value, flags)
            )
        if kind == 'ANY':
            if flags & re.DOTALL:
                return self._language_of(self._all)
            return self._language_of(self._all - {'\n'})
        if kind == 'BRANCH':
            # "a|b"; the first value is always None.
            _nothing, branches = value
            languages = [
                self.translate_sequence(list(branch), flags, is_last)
                for branch in branches
            ]
            if len(languages) == 1:
                return languages[0]
            return z3.Union(*languages)
        if kind == 'SUBPATTERN':
            # "(a)", or "(?i:a)" which adds a flag.
            _group, added, removed, inner = value
            inner_flags = (flags | added) & ~removed
            return self.translate_sequence(list(inner), inner_flags, is_last)
        if kind in ('MAX_REPEAT', 'MIN_REPEAT'):
            least, most, inner = value
            return self._translate_repetition(least, most, inner, flags)
        if kind == 'AT':
            return self._translate_anchor(str(value), flags, is_last)
        raise logic.Untranslatable(
            f'{kind.lower().replace("_", " ")} in a regular expression'
        )

    def _translate_repetition(
        self, least: int, most: typing.Any, inner: typing.Any, flags: int
    ) -> logic.Language:
        """Return the language of a repetition, such as ``a{2,5}`` or ``a*``.

        :param most: a number, or the ``MAXREPEAT`` of Python's parser.
        :param inner: the parts of the expression that are repeated.
        """
        # What is repeated is never the end of the expression: the next turn
        # follows it.
        repeated = self.translate_sequence(list(inner), flags, is_last=False)
        if most == 0:
            # To the solver, a loop up to 0 has no end.
            return z3.Re('')
        has_end = most is not _constants.MAXREPEAT
        if has_end:
            return z3.Loop(repeated, least, most)
        if least == 0:
            return z3.Star(repeated)
        if least == 1:
            return z3.Plus(repeated)
        # "a{2,}" is "aa" and "a*".
        return z3.Concat(z3.Loop(repeated, least, least), z3.Star(repeated))

    def _translate_anchor(
        self, kind: str, flags: int, is_last: bool
    ) -> logic.Language:
        """Return the language of an anchor such as ``^`` or ``$``.

        An anchor is the mark that :func:`marked` puts before or behind a text.

        :param kind: a name of Python's parser, such as ``AT_END``.
        :param is_last: whether nothing of the expression follows it.
        :raises: :class:`.logic.Untranslatable` for an anchor that may hold
            inside of the text, such as that of a line with ``(?m)``, and for
            an anchor of the end that is not last.
        """
        is_of_line = flags & re.MULTILINE and kind in _ANCHORS_OF_LINES
        # "^" may stand anywhere: no text has its mark behind other characters,
        # so that "a^b" matches no text, as in Python.
        if is_of_line or kind not in _ANCHORS:
            raise logic.Untranslatable(
                f'{kind.lower().replace("_", " ")} in a regular expression'
            )
        if kind.startswith('AT_BEGINNING'):
            return z3.Re(_BEGIN)
        if not is_last:
            raise logic.Untranslatable('an anchor before the end')
        if kind == 'AT_END' and self._searches:
            # In a search "$" also holds before a newline at the end.
            return z3.Concat(z3.Option(z3.Re('\n')), z3.Re(_END))
        return z3.Re(_END)

    def _matching_characters(
        self, kind: str, value: typing.Any, flags: int
    ) -> set[str]:
        """Return the characters of the alphabet that match a part.

        For ``a`` with the flag ``re.IGNORECASE`` these are "a" and "A".

        :param kind: the parser's name of a part for a single character, such
            as ``LITERAL``, ``NOT_LITERAL`` or ``IN``.
        :param value: the content of the part, such as the code of a character.
        :param flags: those of the expression, such as ``re.IGNORECASE``.
        """
        # Python itself compiles the part and matches it, so that cases of
        # letters and classes such as "\w" are the same as where the rule runs.
        part = (getattr(_constants, kind), value)
        state = _parser.State()
        state.flags = flags
        pattern = _parser.SubPattern(state, [part])
        compiled = _compiler.compile(pattern, flags)
        return {
            character for character in self._all if compiled.match(character)
        }

    def _language_of(self, characters: Iterable[str]) -> logic.Language:
        """Return the language of the texts that are one of some characters.

        If "☃" is among them, it stands for all characters that are not in the
        alphabet. Then the language has every character but the marks and those
        of the alphabet that are not among them.
        """
        codes = set(map(ord, characters))
        stands_for_others = ord(_OTHER_CHARACTER) in codes
        if not stands_for_others:
            return _union_of_ranges(_group_into_ranges(codes))
        codes_left_out = set(map(ord, self._all)) - codes
        codes_left_out |= {ord(_BEGIN), ord(_END)}
        # The ranges between two codes that are left out: without 2 and 3,
        # they are (0, 1) and (4, _LAST_CODE).
        ranges = []
        first = 0
        for code in (*sorted(codes_left_out), _LAST_CODE + 1):
            if code > first:
                ranges.append((first, code - 1))
            first = code + 1
        return _union_of_ranges(ranges)


def _group_into_ranges(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Group codes into ranges: 1, 2, 3, 7 become ``(1, 3)``, ``(7, 7)``."""
    ranges: list[tuple[int, int]] = []
    for code in sorted(codes):
        first = code
        if ranges and ranges[-1][1] == code - 1:
            # The code goes on with the last range.
            first, _last = ranges.pop()
        ranges.append((first, code))
    return ranges


def _union_of_ranges(ranges: list[tuple[int, int]]) -> logic.Language:
    """Return the language of the characters in ranges of codes.

    With the range ``(97, 99)`` it has the texts "a", "b" and "c".
    """
    languages = []
    for first, last in ranges:
        lowest = z3.StringVal(chr(first))
        highest = z3.StringVal(chr(last))
        languages.append(z3.Range(lowest, highest))
    if not languages:
        return _no_texts()
    if len(languages) == 1:
        # z3 unites two languages or more.
        return languages[0]
    return z3.Union(*languages)
