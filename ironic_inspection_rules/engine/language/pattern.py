# SPDX-License-Identifier: Apache-2.0

"""Regular expressions with a time limit.

The language is that of Python's ``re``. The text comes from unauthenticated
machines, so a match that might take long has a time limit, which only the
``regex`` library supports. Others are left to ``re``: the limit alone costs
ten times as much as such a match.
"""

import functools
import re
import typing

import regex as regex_library

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _

TIME_LIMIT = 1.0
"""Seconds that one match may take; less if less is left of the phase."""

_MOST_WAYS = 1_000_000
"""Maximum number of ways to match without a time limit."""

_SHORT_LENGTH = 64
"""Characters up to which a match without a time limit is not worth a look at
the clock."""

# The alternatives before the last skip braces that have a meaning.
_BRACES = re.compile(
    r'\\N\{[^}]*\}'  # a character by its name
    r'|\\.'  # an escaped character
    r'|\{(?:[0-9]+(?:,[0-9]*)?|,[0-9]*)\}'  # numbers of repetitions
    r'|(?P<lone>\{)',
    re.DOTALL,
)

# The alternatives before the named groups skip what looks like one of them.
_CHOICES = re.compile(
    r'\\.'  # an escaped character
    r'|\[\^?\]?(?:\\.|[^\]\\])*\]'  # a class of characters
    r'|\(\?'  # the beginning of a group with a meaning of its own
    r'|(?P<nested>\)[*+?{])'
    r'|(?P<repeat>[*+?{])'
    r'|(?P<branch>\|)',
    re.DOTALL,
)

# Blanks without a meaning and comments could be mistaken for other parts.
_VERBOSE = re.compile(r'\(\?(?:[a-zA-Z]*x|#)')


Matcher = typing.Callable[[budget.Budget, typing.Any], bool]
"""Returns whether a value matches; the budget pays for long texts."""


class Replacement(typing.NamedTuple):
    """A text that replaces what a regular expression matches.

    ``expands``: ``\\1`` in it stands for the first group of the match. It does
    in a rule, but not in the data of a machine.
    """

    text: str
    expands: bool = True


class _Expansion:
    """Builds the replacements of all matches, up to a common length.

    A pattern calls it for every match. ``\\1`` in a replacement stands for the
    first group of the match.
    """

    def __init__(
        self, replacement: Replacement, allowance: budget.Budget
    ) -> None:
        self._replacement = replacement
        self._allowance = allowance
        # The characters of all replacements so far, or somewhat more.
        self._longest_result = 0

    def __call__(self, match: typing.Any) -> str:
        """Return the text that replaces a match.

        :raises: :class:`.exceptions.BudgetExceeded` if all replacements
            together may be too long.
        """
        text = self._replacement.text
        self._longest_result += len(text)
        if self._replacement.expands:
            groups = (match[0], *match.groups())
            longest_group = max(len(group or '') for group in groups)
            # A backslash stands for one group at most.
            self._longest_result += longest_group * text.count('\\')
        if self._longest_result > self._allowance.limits.size:
            # This raises, before a text that large is built.
            self._allowance.make_text(self._longest_result)
        if not self._replacement.expands:
            return text
        return typing.cast(str, match.expand(text))


class Pattern:
    """A regular expression of a rule, with a time limit for matches.

    :param from_data: whether a part of it comes from a machine. Then it is
        not cached, and always has a time limit.
    :raises: :class:`.exceptions.OperationError` if it is invalid. One from
        data is not looked at before it is matched.
    """

    __slots__ = ('_compiled', '_limited', '_longest_quick', 'text')

    def __init__(self, text: str, from_data: bool = False) -> None:
        """Compile the expression, unless a part of it comes from a machine.

        Two libraries match it. ``re``, the faster one, matches texts of up to
        ``_longest_quick`` characters by ``_compiled``. All others are matched
        with a time limit by ``regex``: ``_limited()`` returns its pattern,
        which is compiled when it is first needed.
        """
        self.text = text
        if from_data:
            # Such an expression is that of a rule with escaped texts of the
            # machine in it. It is not checked here, but when it is matched.
            self._limited = functools.partial(_compile_with_limit, text)
            self._longest_quick = -1
            return
        try:
            self._compiled = re.compile(text)
        except (re.error, OverflowError, RecursionError) as exc:
            raise exceptions.OperationError(
                _('invalid regular expression: %s') % exc
            ) from exc
        self._limited = functools.partial(_compile_known, text)
        self._longest_quick = _find_longest_quick(self._compiled)

    def __repr__(self) -> str:
        return repr(self.text)

    def find(
        self, method: str, text: str, allowance: budget.Budget
    ) -> typing.Any:
        """Match a text, with a time limit if the match may be slow.

        :param method: a method of compiled patterns: ``search``, ``match`` or
            ``fullmatch``.
        :param allowance: has the time that is left of the phase.
        :returns: a match of ``re`` or ``regex``, or None.
        :raises: :class:`.exceptions.OperationError` if it takes too long, or
            :class:`.exceptions.BudgetExceeded` if the time of the phase is
            up.
        """
        length = len(text)
        if length <= self._longest_quick:
            if length > _SHORT_LENGTH:
                allowance.check_time()
            return getattr(self._compiled, method)(text)
        return self._call_with_limit(allowance, method, text)

    def replace(
        self, replacement: Replacement, text: str, allowance: budget.Budget
    ) -> str:
        """Return the text with every match replaced, as ``re.sub`` does.

        The size of the result is bounded before it is built: a machine's text
        may have a million matches.

        :raises: :class:`.exceptions.OperationError` if it takes too long, or
            the replacement does not fit the expression;
            :class:`.exceptions.BudgetExceeded` if the result would be too
            long, or the time of the phase is up.
        """
        expand = _Expansion(replacement, allowance)
        try:
            if len(text) <= min(self._longest_quick, _SHORT_LENGTH):
                return self._compiled.sub(expand, text)
            replaced = self._call_with_limit(allowance, 'sub', expand, text)
            return typing.cast(str, replaced)
        except (re.error, regex_library.error, IndexError) as exc:
            raise exceptions.OperationError(
                _('invalid replacement: %s') % exc
            ) from exc

    def check_replacement(self, replacement: Replacement) -> None:
        """Check that a replacement fits the expression.

        ``\\2`` does not fit an expression with a single group.

        :raises: :class:`.exceptions.OperationError` if it does not.
        """
        try:
            # The empty alternative matches, so the replacement is expanded.
            re.sub(f'{self.text}|', replacement.text, '')
        except (re.error, IndexError) as exc:
            raise exceptions.OperationError(
                _('invalid replacement: %s') % exc
            ) from exc

    def has_group(self, group: typing.Any) -> bool:
        """Return whether the expression has a group of a number or name.

        Not for expressions from data, which are not compiled yet.
        """
        if isinstance(group, str):
            return group in self._compiled.groupindex
        return isinstance(group, int) and 0 <= group <= self._compiled.groups

    def matcher(self, method: str) -> Matcher:
        """Build the function that checks whether a value matches as text.

        It is built once for a rule and called for every machine. Null does
        not match; other values are matched as Python writes them, true as
        ``True``. The function raises the errors of :meth:`find`.

        :param method: a method of compiled patterns: ``search``, ``match`` or
            ``fullmatch``.
        """
        # Most texts are short: they are matched here, without a call of
        # find(). An expression from data has no method for that.
        longest_quick = min(self._longest_quick, _SHORT_LENGTH)
        match: typing.Any = None
        if longest_quick >= 0:
            match = getattr(self._compiled, method)

        def holds(allowance: budget.Budget, value: typing.Any) -> bool:
            # Null has no text to match.
            if value is None:
                return False
            text = value
            if text.__class__ is not str:
                text = str(value)
            if len(text) <= longest_quick:
                return match(text) is not None
            return self.find(method, text, allowance) is not None

        return holds

    def _call_with_limit(
        self, allowance: budget.Budget, method: str, *args: typing.Any
    ) -> typing.Any:
        """Call a method of the slower library's pattern with a time limit.

        :param method: the name of the method, such as ``search``.
        :param args: the arguments of the method.
        :raises: :class:`.exceptions.OperationError` if it takes too long, or
            :class:`.exceptions.BudgetExceeded` if the time of the phase is
            up.
        """
        limit = min(TIME_LIMIT, allowance.remaining())
        call = getattr(self._limited(), method)
        try:
            return call(*args, timeout=limit)
        except TimeoutError as exc:
            # The limit may have been that of the phase.
            allowance.check_time()
            raise exceptions.OperationError(
                _(
                    'the regular expression takes longer than %s seconds on '
                    'this value'
                )
                % TIME_LIMIT
            ) from exc


def _find_longest_quick(compiled: re.Pattern[str]) -> int:
    """Return how long a text may be to be matched without a time limit.

    The longer the text, the more ways there are to match. ``^a.*b|c$`` has
    one repetition and one branch: (length + 1) ** 2 * 2 ways.

    :returns: the number of characters; -1 if every text needs a time limit.
    """
    if compiled.flags & re.VERBOSE or _VERBOSE.search(compiled.pattern):
        # What is counted below may stand in a comment, and mean nothing.
        return -1
    choices = [
        match.lastgroup for match in _CHOICES.finditer(compiled.pattern)
    ]
    if 'nested' in choices:
        # Repetitions in repetitions have no useful bound.
        return -1
    # A text has length + 1 places, at any of which the match and every
    # repetition may end, and a branch doubles the ways to match. So n
    # repetitions have (length + 1) ** (n + 1) * 2 ** branches ways. This is
    # solved for the length, with the most ways that are allowed.
    branches = choices.count('branch')
    repetitions = choices.count('repeat')
    most_ways_by_places = _MOST_WAYS // 2**branches
    most_places = int(most_ways_by_places ** (1 / (repetitions + 1)))
    return most_places - 1


def _compile_with_limit(pattern: str) -> typing.Any:
    """Compile a pattern of ``re`` with ``regex``, which has more syntax.

    Text without a meaning in ``re`` is escaped: ``{e}`` would be fuzzy
    matching, and ``[[:`` a POSIX class.
    """
    escaped = _BRACES.sub(_escape_lone_brace, pattern)
    escaped = escaped.replace('[:', r'[\:')
    # The cache of the library would keep a pattern of any length. That of
    # _compile_known keeps only short ones.
    return regex_library.compile(escaped, cache_pattern=False)


def _escape_lone_brace(match: re.Match[str]) -> str:
    if match['lone']:
        return r'\{'
    return match[0]


# Only for patterns of rules, whose authors are authenticated.
_compile_known = text_cache.cache_short_texts(maxsize=1024, longest=4096)(
    _compile_with_limit
)
