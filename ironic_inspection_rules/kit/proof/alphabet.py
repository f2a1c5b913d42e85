# SPDX-License-Identifier: Apache-2.0

"""Translate regular expressions to languages (sets of texts) of a solver.

A machine may send any text, but no rule distinguishes all characters, so a few
characters represent the others: the characters that the rules name and their
neighbors, ASCII, and several of every class that a regular expression can ask
for, e.g. of letters and blanks. An
expression for which the solver has no language, e.g. a lookahead, is refused.

Python's own parser splits an expression into *parts*. The translation is::

    expression → parts                                 → language
    a[bc]*     → LITERAL 97, MAX_REPEAT of IN (98, 99) → "a", "ab", "acb", …

A language has no positions, so "^" and "$" become *marks*: characters that the
solver puts before and after every text, and that no text contains.
"""

from collections.abc import Iterable
import functools
import re
import typing

import z3

from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import solver_limits

# Patterns must be parsed by Python's own parser, because the engine uses it to
# run the rule. The parser is private; other parsers accept other patterns.
_parser: typing.Any = getattr(re, '_parser')  # noqa: B009
_constants: typing.Any = getattr(re, '_constants')  # noqa: B009
_compiler: typing.Any = getattr(re, '_compiler')  # noqa: B009

# "^" and "$" match at a position in a text, but a language has only texts. A
# text is therefore put between two marks, characters that no text contains,
# and an anchor in a regular expression matches one of the marks.
_BEGIN = '\x02'
_END = '\x03'
_LAST_CODE = 0x2FFFF  # Of the characters that the solver has.

_ANCHORS = ('AT_BEGINNING', 'AT_BEGINNING_STRING', 'AT_END', 'AT_END_STRING')
"""The anchors that match one of the marks, by their names in the parser."""

_ANCHORS_OF_LINES = ('AT_BEGINNING', 'AT_END')
"""The anchors that match at every line if the MULTILINE flag is set."""

_OTHER_CHARACTER = '\u2603'
"""Represents all characters that no rule names."""

_PRINTABLE = ''.join(map(chr, range(32, 127)))
_OTHER_SAMPLES = (
    '\t\n\x00\x01'
    # Letters without another case, digits, blanks, signs.
    '\u0627\u0628\u4e00\u0663\u0664\u00a0\u2003\u20ac\u00a7\u2603'
    # Letters that have another case, or a case in ASCII.
    '\u0451\u0401\u017f\u212a\u0130\u0131'
)


class Alphabet:
    """The characters that a proof uses in texts; they represent all others.

    :param texts: all texts of the rules, including regular expressions.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        # The characters beyond ASCII that rules name, such as "é".
        named: set[str] = set()
        for text in texts:
            # No other text can name one, either directly or by an escape.
            if not text.isascii() or '\\' in text:
                named |= _named_characters(text)
        for character in tuple(named):
            named |= {*character.lower(), *character.upper()}
            # Add its neighbors, for comparisons and for ranges in patterns.
            named |= {chr(ord(character) - 1), chr(ord(character) + 1)}
        candidates = {*_PRINTABLE, *_OTHER_SAMPLES, *named}
        self.characters = frozenset(filter(_is_usable, candidates))
        # Rules use the same expressions again and again, and the solver is
        # slow with languages, so all results are cached.
        self._languages: dict[tuple[str, bool], logic.Language] = {}
        self._all_match: dict[tuple[str, bool, str], bool | None] = {}
        self._all_below: dict[tuple[str, str], bool | None] = {}

    def cleaned(self, text: str) -> str:
        """Replace the characters of a text that the alphabet does not have.

        They become "☃". The solver does not distinguish the characters that no
        rule names, and may put any of them into a text, but Python does.
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

        A language is a set of texts in the solver: the language of ``a[bc]``
        has the texts "ab" and "ac". ``^`` and ``$`` in the pattern become the
        marks that :func:`marked` puts around a text.

        :param searches: whether ``$`` also matches before a newline at the end
            of the text, as it does in a search.
        :raises: :class:`.logic.Untranslatable` if the solver has no language
            for the pattern.
        """
        key = (pattern, searches)
        if key in self._languages:
            return self._languages[key]
        parsed = _parser.parse(pattern)
        parts = list(parsed)
        # "^^a" matches "a", but a text has every mark only once: if both
        # anchors became a mark, no text would match.
        for kind in ('BEGIN', 'END'):
            if _count_anchors(parts, kind) > 1:
                raise logic.Untranslatable('two anchors of a kind')
        translator = _ExpressionTranslator(self.characters, searches)
        language = translator.translate_sequence(
            parts, parsed.state.flags, is_last=True
        )
        self._languages[key] = language
        return language

    def matching(self, pattern: str, searches: bool) -> logic.Language:
        """Return all texts that match a regular expression, with their marks.

        The solver has no anchors, so :func:`marked` puts every text between
        two marks. With ``<`` and ``>`` for the marks, "abc" becomes "<abc>".
        The anchor ``^`` matches the mark ``<``, and ``$`` matches ``>``; in a
        search, ``$`` may also match a newline before the mark.

        :param searches: True if the expression must match only a part of the
            text, False if it must match the whole text.
        :raises: :class:`.logic.Untranslatable` if the solver has no language
            for the pattern.
        """
        body = self.language(pattern, searches)
        if searches:
            return z3.Concat(_all_texts(), body, _all_texts())
        # The language of "^a" has "<a", with the mark of the anchor, and the
        # language of "a" has only "a". An optional mark lets both match "<a>".
        begin = z3.Option(z3.Re(_BEGIN))
        end = z3.Option(z3.Re(_END))
        return z3.Concat(begin, body, end)

    def below(self, text: str) -> logic.Language:
        """Return the language of texts that sort before a text.

        The texts before "ab" are its proper prefixes, "" and "a", and all
        texts in which a lower character follows a prefix, e.g. "Zoo" and
        "aaz". The solver is much better at languages than at comparing texts.
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

        For the texts of integers, the result is::

            text "a" → True:  all integers sort before it
            text ""  → False: none does
            text "8" → None:  some do

        :param text: the text that they are compared with.
        :param among: a regular expression of the language, e.g. ``-?[0-9]+``.
        :returns: None also if the solver does not know within its limit.
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

        For a search among the texts of integers, the result is::

            pattern [0-9] → True:  all integers match
            pattern kB    → False: none does
            pattern ^8    → None:  some do

        :param searches: whether matching a part of the text is enough.
        :param among: a regular expression of the language.
        :returns: None also if the solver does not know within its limit.
        :raises: :class:`.logic.Untranslatable` if the solver has no language
            for the pattern.
        """
        key = (pattern, searches, among)
        if key not in self._all_match:
            # Callers never ask about a language whose texts contain marks.
            language = self.matching(pattern, searches)
            term = z3.String('text')
            matches = z3.InRe(marked(term), language)
            verdict = self._decide_for_all(term, matches, among)
            self._all_match[key] = verdict
        return self._all_match[key]

    def example(self, pattern: str, searches: bool, among: str) -> str:
        """Find a text of a language that matches a pattern.

        For example, a search for ``8$`` among the texts of integers may find
        "8" or "18".

        :param searches: whether matching a part of the text is enough.
        :param among: a regular expression of the language.
        :returns: an empty text if there is no such text, or if the solver does
            not find one within its limit.
        :raises: :class:`.logic.Untranslatable` if the solver has no language
            for the pattern.
        """
        text = z3.String('text')
        solver = solver_limits.new_solver()
        solver_limits.add(solver, z3.InRe(text, self.language(among)))
        matches = z3.InRe(marked(text), self.matching(pattern, searches))
        solver_limits.add(solver, matches)
        try:
            if not solver_limits.can_hold(solver, solver_limits.LANGUAGE):
                return ''
        except solver_limits.SolverGaveUp:
            return ''
        return logic.example_of(text, solver)

    def _decide_for_all(
        self, text: logic.Term, matches: logic.Formula, among: str
    ) -> bool | None:
        """Return whether a formula holds for all texts of a language.

        :param text: the text of the solver that the formula is about.
        :param matches: the formula, e.g. that a pattern matches the text.
        :param among: a regular expression of the language.
        :returns: False if it holds for no text. None if it holds only for some
            texts, or if the solver does not know within its limit.
        """
        if self._surely_none_holds(text, matches, among):
            return False
        if self._surely_none_holds(text, z3.Not(matches), among):
            return True
        return None

    def _surely_none_holds(
        self, text: logic.Term, wanted: logic.Formula, among: str
    ) -> bool:
        """Return whether a formula is known to hold for no text of a language.

        The result is False if the solver does not know within its limit.

        :param text: the text of the solver that the formula is about.
        :param wanted: the formula.
        :param among: a regular expression of the language.
        """
        solver = solver_limits.new_solver()
        solver_limits.add(solver, z3.InRe(text, self.language(among)))
        solver_limits.add(solver, wanted)
        try:
            return not solver_limits.can_hold(solver, solver_limits.LANGUAGE)
        except solver_limits.SolverGaveUp:
            return False


def _is_usable(character: str) -> bool:
    """Return whether texts of the solver may have a character.

    The marks for ``^`` and ``$`` must not occur in a text.
    """
    if ord(character) > _LAST_CODE or character in (_BEGIN, _END):
        return False
    # A surrogate is half of a character; the solver does not support it.
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
    """Return the language of texts without marks.

    Only texts without marks may be passed to :func:`marked`.
    """
    below = (0, ord(_BEGIN) - 1)
    above = (ord(_END) + 1, _LAST_CODE)
    return z3.Star(_union_of_ranges([below, above]))


def _named_characters(text: str) -> set[str]:
    r"""Return the characters beyond ASCII that a text of a rule names.

    A regular expression may name them by escapes such as ``\u20ac``. Every
    text is parsed as an expression, no matter how the rule uses it. A text
    that is not a valid expression names only the characters in it.
    """
    characters = {character for character in text if not character.isascii()}
    try:
        ahead: list[typing.Any] = list(_parser.parse(text))
    except (re.error, OverflowError, RecursionError):
        return characters
    # Visit all parts, e.g. a repetition, and the parts inside of it.
    while ahead:
        part = ahead.pop()
        if isinstance(part, tuple):
            # Every alphabet contains the printable ASCII characters up to 126.
            characters |= {
                chr(code) for code in _named_codes(part) if code > 126
            }
            ahead += part
        elif isinstance(part, list | _parser.SubPattern):
            ahead += list(part)
    return characters


def _named_codes(part: tuple[typing.Any, ...]) -> tuple[int, ...]:
    """Return the character codes that a part of a parsed expression names.

    The part ``('LITERAL', 97)`` of ``a`` names ``(97,)``, and the part
    ``('RANGE', (97, 122))`` of ``a-z`` names ``(97, 122)``.
    """
    kind = str(part[0])
    # This includes NOT_LITERAL, for "[^a]".
    if kind.endswith('LITERAL'):
        return part[1:]
    if kind == 'RANGE':
        return typing.cast('tuple[int, ...]', part[1])
    return ()


def _count_anchors(parts: list[typing.Any], kind: str) -> int:
    """Count the anchors of a kind that a single match may have to pass.

    For the kind ``BEGIN``, ``^a`` has one and ``^^a`` has two. ``^a|^b`` has
    one, because a match passes only one of the branches.

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
            # In "(^|a){2}" a match may pass the anchor in both repetitions.
            # Optional repetitions do not count.
            count += max(least, 1) * _count_anchors(list(repeated), kind)
    return count


class _ExpressionTranslator:
    """Translates a parsed regular expression to a language.

    :param characters: the characters of the alphabet.
    :param searches: whether more text may follow the match.
    """

    def __init__(self, characters: frozenset[str], searches: bool) -> None:
        self._characters = characters
        self._searches = searches

    def translate_sequence(
        self, parts: list[typing.Any], flags: int, is_last: bool
    ) -> logic.Language:
        """Return the language of a sequence of parts, e.g. ``ab*``.

        :param parts: parts of Python's parser, e.g. a ``LITERAL`` and a
            ``MAX_REPEAT`` for ``ab*``.
        :param is_last: whether the sequence ends the whole expression.
        :raises: :class:`.logic.Untranslatable` if :meth:`_translate_part`
            raises it, and for two anchors in a row.
        """
        for part, next_part in zip(parts, parts[1:], strict=False):
            # The parser calls an anchor "AT".
            if str(part[0]) == str(next_part[0]) == 'AT':
                raise logic.Untranslatable('two anchors in a row')
        languages = []
        for number, (kind, value) in enumerate(parts, 1):
            is_end = is_last and number == len(parts)
            languages.append(
                self._translate_part(str(kind), value, flags, is_end)
            )
        if not languages:
            # An empty expression matches the empty text.
            return z3.Re('')
        if len(languages) == 1:
            # z3 only concatenates two or more languages.
            return languages[0]
        return z3.Concat(*languages)

    def _translate_part(
        self, kind: str, value: typing.Any, flags: int, is_last: bool
    ) -> logic.Language:
        """Return the language of one part of a parsed expression.

        For ``a*``, Python's parser returns the part ``MAX_REPEAT`` with the
        content ``(0, MAXREPEAT, [(LITERAL, 97)])``. In the solver it is
        ``Star(Range("a", "a"))``.

        :param kind: the name of the part in the parser, e.g. ``LITERAL``.
        :param value: the content of the part, e.g. the code of a character.
        :raises: :class:`.logic.Untranslatable` for a part that depends on the
            text around it, e.g. a reference to a group.
        """
        if kind in ('LITERAL', 'NOT_LITERAL', 'IN'):
            return self._language_of_characters(
                self._matching_characters(kind, value, flags)
            )
        if kind == 'ANY':
            if flags & re.DOTALL:
                return self._language_of_characters(self._characters)
            return self._language_of_characters(self._characters - {'\n'})
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
            # "(a)", or "(?i:a)", which adds a flag.
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
        """Return the language of a repetition, e.g. ``a{2,5}`` or ``a*``.

        :param most: a number, or ``MAXREPEAT`` of Python's parser.
        :param inner: the parts of the expression that are repeated.
        """
        # A repeated part is never the end of the expression, because the next
        # repetition may follow it.
        repeated = self.translate_sequence(list(inner), flags, is_last=False)
        if most == 0:
            # For the solver, a loop with the maximum 0 has no end.
            return z3.Re('')
        has_end = most is not _constants.MAXREPEAT
        if has_end:
            return z3.Loop(repeated, least, most)
        if least == 0:
            return z3.Star(repeated)
        if least == 1:
            return z3.Plus(repeated)
        # "a{2,}" is "aa" followed by "a*".
        return z3.Concat(z3.Loop(repeated, least, least), z3.Star(repeated))

    def _translate_anchor(
        self, kind: str, flags: int, is_last: bool
    ) -> logic.Language:
        """Return the language of an anchor such as ``^`` or ``$``.

        An anchor is the mark that :func:`marked` puts before or after a text.

        :param kind: a name of Python's parser, e.g. ``AT_END``.
        :param is_last: whether the anchor ends the whole expression.
        :raises: :class:`.logic.Untranslatable` for an anchor that may match
            inside of the text, e.g. at a line with ``(?m)``, and for an end
            anchor that is not last.
        """
        is_of_line = flags & re.MULTILINE and kind in _ANCHORS_OF_LINES
        # "^" is allowed anywhere: no text has its mark after other characters,
        # so "a^b" matches no text, as in Python.
        if is_of_line or kind not in _ANCHORS:
            raise logic.Untranslatable(
                f'{kind.lower().replace("_", " ")} in a regular expression'
            )
        if kind.startswith('AT_BEGINNING'):
            return z3.Re(_BEGIN)
        if not is_last:
            raise logic.Untranslatable('an anchor before the end')
        if kind == 'AT_END' and self._searches:
            # In a search, "$" also matches before a newline at the end.
            return z3.Concat(z3.Option(z3.Re('\n')), z3.Re(_END))
        return z3.Re(_END)

    def _matching_characters(
        self, kind: str, value: typing.Any, flags: int
    ) -> set[str]:
        """Return the characters of the alphabet that match a part.

        For ``a`` with the flag ``re.IGNORECASE`` these are "a" and "A".

        :param kind: the parser's name of a part for a single character, e.g.
            ``LITERAL``, ``NOT_LITERAL`` or ``IN``.
        :param value: the content of the part, e.g. the code of a character.
        :param flags: the flags of the expression, e.g. ``re.IGNORECASE``.
        """
        # Let Python compile and match the part, so that letter case and
        # classes such as "\w" behave exactly as when the rule runs.
        part = (getattr(_constants, kind), value)
        state = _parser.State()
        state.flags = flags
        pattern = _parser.SubPattern(state, [part])
        compiled = _compiler.compile(pattern, flags)
        return {
            character
            for character in self._characters
            if compiled.match(character)
        }

    def _language_of_characters(
        self, characters: Iterable[str]
    ) -> logic.Language:
        """Return the language of the texts that are one of some characters.

        If "☃" is among them, it represents all characters that are not in the
        alphabet. The language then has every character except the marks and
        the characters of the alphabet that were not passed.
        """
        codes = set(map(ord, characters))
        stands_for_others = ord(_OTHER_CHARACTER) in codes
        if not stands_for_others:
            return _union_of_ranges(_group_into_ranges(codes))
        codes_left_out = set(map(ord, self._characters)) - codes
        codes_left_out |= {ord(_BEGIN), ord(_END)}
        # Build the ranges between the excluded codes: if 2 and 3 are excluded,
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
            # The code extends the last range.
            first, _last = ranges.pop()
        ranges.append((first, code))
    return ranges


def _union_of_ranges(ranges: list[tuple[int, int]]) -> logic.Language:
    """Return the language of the characters in ranges of codes.

    For the range ``(97, 99)`` it has the texts "a", "b" and "c".
    """
    languages = []
    for first, last in ranges:
        lowest = z3.StringVal(chr(first))
        highest = z3.StringVal(chr(last))
        languages.append(z3.Range(lowest, highest))
    if not languages:
        return _no_texts()
    if len(languages) == 1:
        # z3 only unites two or more languages.
        return languages[0]
    return z3.Union(*languages)
