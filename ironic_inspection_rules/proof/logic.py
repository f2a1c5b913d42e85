# SPDX-License-Identifier: Apache-2.0

"""Formulas and texts of the solver, regular expressions as its languages.

The text of a machine is printable ASCII. What the solver has no language
for, such as looking ahead and going back, is refused.
"""

import dataclasses
import functools
import math
import re
import typing

import z3

_parser: typing.Any = getattr(re, '_parser')  # noqa: B009
_constants: typing.Any = getattr(re, '_constants')  # noqa: B009

FIRST, LAST = ' ', '~'
_BEGIN, _END = '\x02', '\x03'

_ALL = frozenset(map(chr, range(32, 127)))
_CATEGORIES = {'DIGIT': '0123456789', 'SPACE': ' ', 'WORD': ''.join(
    each for each in _ALL if each.isalnum() or each == '_')}

_LONGEST = 0.5  # Seconds to look for a text of a language.
_MOST_CANDIDATES = 80

Formula = typing.Any  # A formula of z3.

TRUE, FALSE = z3.BoolVal(True), z3.BoolVal(False)


def known(holds: bool) -> Formula:
    """Return the one formula that is true, or that is false."""
    return TRUE if holds else FALSE


def simplified(formula: Formula) -> Formula:
    """Return a formula that is the same, and as short as may be."""
    made = z3.simplify(formula)
    return TRUE if z3.is_true(made) else FALSE if z3.is_false(made) else made


def conj(*parts: Formula) -> Formula:
    """Return a formula that holds where all parts do."""
    left = [part for part in parts if part is not TRUE]
    if any(part is FALSE for part in left):
        return FALSE
    return z3.And(*left) if len(left) > 1 else left[0] if left else TRUE


def disj(*parts: Formula) -> Formula:
    """Return a formula that holds where one of the parts does."""
    left = [part for part in parts if part is not FALSE]
    if any(part is TRUE for part in left):
        return TRUE
    return z3.Or(*left) if len(left) > 1 else left[0] if left else FALSE


def negated(part: Formula) -> Formula:
    """Return a formula that holds where the part does not."""
    return FALSE if part is TRUE else TRUE if part is FALSE else z3.Not(part)


def constant(text: str) -> typing.Any:
    """Return a text as a term."""
    # The solver reads \u{41} as A.
    return z3.StringVal(text.replace('\\', r'\u{5c}'))


def text_of(term: typing.Any) -> str:
    """Return the text that a term of a model is."""
    return re.sub(r'\\u\{([0-9a-f]+)\}',
                  lambda escape: chr(int(escape[1], 16)), term.as_string())


class Untranslatable(Exception):
    """The solver has no words for something; the message says for what."""


@functools.lru_cache(1024)
def language(pattern: str) -> typing.Any:
    """Return the language of texts that match as a whole.

    An anchor is one of :func:`marked`'s marks.

    :raises: :class:`Untranslatable` where there is none.
    """
    parsed = _parser.parse(pattern)
    # A mark is there once, and two anchors may stand at one place.
    if any(_anchors(list(parsed), kind) > 1 for kind in ('BEGIN', 'END')):
        raise Untranslatable('two anchors of a kind')
    return _sequence(list(parsed), parsed.state.flags)


def _anchors(parts: list[typing.Any], kind: str) -> int:
    """Return how many anchors of a kind a text may have to meet."""
    count = 0
    for name, value in parts:
        if str(name) == 'AT':
            count += str(value).startswith(f'AT_{kind}')
        elif str(name) == 'BRANCH':
            count += max(_anchors(list(branch), kind) for branch in value[1])
        elif str(name) == 'SUBPATTERN' or str(name).endswith('_REPEAT'):
            count += _anchors(list(value[-1]), kind)
    return count


def names_only_ascii(pattern: str) -> bool:
    """Return whether a pattern names printable ASCII alone."""
    ahead: list[typing.Any] = list(_parser.parse(pattern))
    while ahead:
        each = ahead.pop()
        if isinstance(each, _parser.SubPattern):
            ahead += list(each)
        elif isinstance(each, list):
            ahead += each
        elif isinstance(each, tuple):
            named = each[1:] if str(each[0]).endswith('LITERAL') else (
                each[1] if str(each[0]) == 'RANGE' else ())
            if not is_ascii(''.join(map(chr, named))):
                return False
            ahead += each
    return True


def is_ascii(text: str) -> bool:
    """Return whether a text is one that the solver gives machines."""
    return all(FIRST <= character <= LAST for character in text)


@functools.lru_cache(1024)
def matching(pattern: str, searches: bool) -> typing.Any:
    """Return the language of texts that match, between :func:`marked`'s marks.

    :param searches: whether a part of the text is enough.
    :raises: :class:`Untranslatable` where there is none.
    """
    body = language(pattern)
    if searches:
        around = z3.Star(z3.Union(z3.Range(FIRST, LAST), z3.Re(_BEGIN),
                                  z3.Re(_END)))
        return z3.Concat(around, body, around)
    return z3.Concat(z3.Option(z3.Re(_BEGIN)), body, z3.Option(z3.Re(_END)))


def marked(text: typing.Any) -> typing.Any:
    """Return the text between marks of its begin and its end."""
    return z3.Concat(z3.StringVal(_BEGIN), text, z3.StringVal(_END))


def _sequence(parts: list[typing.Any], flags: int) -> typing.Any:
    for one, other in zip(parts, parts[1:], strict=False):
        if str(one[0]) == str(other[0]) == 'AT':
            raise Untranslatable('two anchors in a row')
    made = [_part(str(kind), value, flags) for kind, value in parts]
    if not made:
        return z3.Re('')
    return z3.Concat(*made) if len(made) > 1 else made[0]


def _part(kind: str, value: typing.Any,  # noqa: C901
          flags: int) -> typing.Any:
    if kind in ('LITERAL', 'NOT_LITERAL'):
        found = _cased({chr(value)}, flags)
        return _of(found if kind == 'LITERAL' else _ALL - found)
    if kind == 'ANY':
        return z3.Range(FIRST, LAST)
    if kind == 'IN':
        return _of(_set(value, flags))
    if kind == 'BRANCH':
        made = [_sequence(list(branch), flags) for branch in value[1]]
        return z3.Union(*made) if len(made) > 1 else made[0]
    if kind == 'SUBPATTERN':
        _group, added, removed, inner = value
        return _sequence(list(inner), (flags | added) & ~removed)
    if kind in ('MAX_REPEAT', 'MIN_REPEAT'):
        least, most, inner = value
        body = _sequence(list(inner), flags)
        if most is _constants.MAXREPEAT:
            if least == 0:
                return z3.Star(body)
            return z3.Plus(body) if least == 1 else z3.Concat(
                z3.Loop(body, least, least), z3.Star(body))
        if most == 0:
            return z3.Re('')
        return z3.Loop(body, least, most)
    if kind == 'AT':
        if str(value) in ('AT_BEGINNING', 'AT_BEGINNING_STRING'):
            return z3.Re(_BEGIN)
        if str(value) in ('AT_END', 'AT_END_STRING'):
            return z3.Re(_END)
    raise Untranslatable(f'{kind.lower().replace("_", " ")} in a regular '
                         f'expression')


def _set(parts: list[typing.Any], flags: int) -> frozenset[str]:
    found: set[str] = set()
    inverted = False
    for kind, value in parts:
        name = str(kind)
        if name == 'NEGATE':
            inverted = True
        elif name == 'LITERAL':
            found.add(chr(value))
        elif name == 'RANGE':
            found.update(map(chr, range(value[0], min(value[1], 127) + 1)))
        elif name == 'CATEGORY':
            negative, _sep, category = str(value).removeprefix(
                'CATEGORY_').rpartition('NOT_')
            chars = frozenset(_CATEGORIES[category])
            found |= _ALL - chars if _sep else chars
        else:
            raise Untranslatable(f'{name.lower()} in a regular expression')
    cased = _cased(found, flags)
    return _ALL - cased if inverted else cased


def _cased(chars: set[str] | frozenset[str], flags: int) -> frozenset[str]:
    if flags & re.IGNORECASE:
        chars = {each for char in chars
                 for each in (char, char.lower(), char.upper())}
    return _ALL & chars


def _of(chars: frozenset[str]) -> typing.Any:
    """Return the language of these characters, as ranges."""
    codes = sorted(map(ord, chars))
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    made = [z3.Range(chr(first), chr(last)) for first, last in ranges]
    if not made:
        return z3.Empty(z3.ReSort(z3.StringSort()))
    return z3.Union(*made) if len(made) > 1 else made[0]


Compute = typing.Callable[[str], typing.Sequence[typing.Any]]


@dataclasses.dataclass(eq=False)
class Facet:
    """Values computed from a text outside the solver.

    ``terms`` stand for it, ``compute`` says what they are for a text,
    ``near`` are texts for which they may be of interest.
    """

    terms: tuple[typing.Any, ...]
    compute: Compute
    near: set[str] = dataclasses.field(default_factory=set)


Texts = typing.Mapping[int, 'Text']
"""Texts of the solver by the number of their term."""


@dataclasses.dataclass(eq=False)
class Text:
    """A text of the solver, and what is asked of it."""

    term: typing.Any
    name: str
    derived: bool = False
    near: set[str] = dataclasses.field(default_factory=set)
    facets: dict[typing.Any, Facet] = dataclasses.field(default_factory=dict)
    languages: dict[int, Formula] = dataclasses.field(default_factory=dict)

    def equations(self, texts: 'Texts', text: str) -> typing.Iterator[Formula]:
        """Yield what holds where the text is this one."""
        for facet in self.facets.values():
            made = facet.compute(text)
            for term, result in zip(facet.terms, made, strict=True):
                if result is None:
                    continue
                yield term == (constant(result) if isinstance(
                    result, str) else result)
                inner = texts.get(term.get_id())
                if inner is not None:
                    yield from inner.equations(texts, result)

    def candidates(self, texts: 'Texts') -> list[str]:
        """Return texts that differ in what is asked of them."""
        found = {'', '-', 'other', *self.near}
        for facet in self.facets.values():
            found |= facet.near
            for term in facet.terms:
                inner = texts.get(term.get_id())
                for text in inner.candidates(texts) if inner else ():
                    found |= {text, text.lower(), text.upper(), text.title()}
        for holds in self.languages.values():
            solver = z3.Solver()
            solver.set('timeout', math.ceil(1000 * _LONGEST))
            if solver.check(holds) == z3.sat:
                found.add(text_of(solver.model()[self.term]))
        return sorted(text for text in found if text.isascii()
                      and text.isprintable())[:_MOST_CANDIDATES]
