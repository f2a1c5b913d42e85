# SPDX-License-Identifier: Apache-2.0

"""Regular expressions with a time limit.

The syntax is the same as in Python's ``re``. The text comes from
unauthenticated machines, so a match that may be slow has a time limit, which
only the ``regex`` library supports. All other matches use ``re``, because the
time limit alone takes ten times as long as a fast match.
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
"""Seconds that one match may take, or less if the phase has less time left."""

_MOST_WAYS = 1_000_000
"""Maximum number of ways to match a text without a time limit."""

_SHORT_LENGTH = 64
"""Maximum length of text, in characters, for which a match without a time
limit does not check the clock."""

_ALWAYS_LIMITED = -1
"""The maximum length of text without a time limit if there is none."""

# The alternatives before the last one skip braces that have a meaning.
_BRACES = re.compile(
    r'\\N\{[^}]*\}'  # a character by its name
    r'|\\.'  # an escaped character
    r'|\{(?:[0-9]+(?:,[0-9]*)?|,[0-9]*)\}'  # numbers of repetitions
    r'|(?P<lone>\{)',
    re.DOTALL,
)

# The alternatives before the named groups skip text that looks like them.
_CHOICES = re.compile(
    r'\\.'  # an escaped character
    r'|\[\^?\]?(?:\\.|[^\]\\])*\]'  # a class of characters
    r'|\(\?'  # the beginning of a group with a meaning of its own
    r'|(?P<nested>\)[*+?{])'
    r'|(?P<repeat>[*+?{])'
    r'|(?P<branch>\|)',
    re.DOTALL,
)

# In verbose mode, ignored blanks and comments could be mistaken for syntax.
_VERBOSE = re.compile(r'\(\?(?:[a-zA-Z]*x|#)')


Matcher = typing.Callable[[budget.Budget, typing.Any], bool]
"""Returns whether a value matches; the budget pays for long texts."""


class Replacement(typing.NamedTuple):
    """A text that replaces the matches of a regular expression.

    ``expands`` is whether ``\\1`` in the text stands for the first group of
    the match. This is so in a rule, but not in the data of a machine.
    """

    text: str
    expands: bool = True


class _Expansion:
    """Builds the replacements of all matches, up to a limit for their length.

    A pattern calls this for each match. ``\\1`` in a replacement stands for
    the first group of the match.
    """

    def __init__(
        self, replacement: Replacement, allowance: budget.Budget
    ) -> None:
        self._replacement = replacement
        self._allowance = allowance
        # An upper limit for the length of all replacements so far.
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
            # Each backslash stands for at most one group.
            self._longest_result += longest_group * text.count('\\')
        if self._longest_result > self._allowance.limits.size:
            # This raises before such a long text is built.
            self._allowance.make_text(self._longest_result)
        if not self._replacement.expands:
            return text
        return typing.cast(str, match.expand(text))


class Pattern:
    """A regular expression of a rule, with a time limit for matches.

    :param from_data: whether a part of the expression comes from a machine. In
        this case it is not cached and always has a time limit.
    :raises: :class:`.exceptions.OperationError` if the expression is invalid.
        An expression from data is only checked when it is matched.
    """

    __slots__ = (
        '_compiled',
        '_get_pattern_with_limit',
        '_longest_without_limit',
        'text',
    )

    def __init__(self, text: str, from_data: bool = False) -> None:
        """Compile the expression, unless a part of it comes from a machine.

        Two libraries are used. ``re`` is faster and matches texts of up to
        ``_longest_without_limit`` characters, with ``_compiled``. ``regex``
        matches all other texts with a time limit. Its pattern is returned by
        ``_get_pattern_with_limit()``, and is compiled when it is first needed.
        """
        self.text = text
        if from_data:
            # The expression comes from a rule and contains escaped texts of
            # the machine. It is checked when it is matched, not here.
            self._get_pattern_with_limit = functools.partial(
                _compile_with_limit, text
            )
            self._longest_without_limit = _ALWAYS_LIMITED
            return
        try:
            self._compiled = re.compile(text)
        except (re.error, OverflowError, RecursionError) as exc:
            raise exceptions.OperationError(
                _('invalid regular expression: %s') % exc
            ) from exc
        self._get_pattern_with_limit = functools.partial(_compile_known, text)
        self._longest_without_limit = _find_longest_without_limit(
            self._compiled
        )

    def __repr__(self) -> str:
        return repr(self.text)

    def find(
        self, method: str, text: str, allowance: budget.Budget
    ) -> typing.Any:
        """Match a text, with a time limit if the match may be slow.

        :param method: a method of compiled patterns: ``search``, ``match`` or
            ``fullmatch``.
        :param allowance: the budget, which has the time left in the phase.
        :returns: a match of ``re`` or ``regex``, or None.
        :raises: :class:`.exceptions.OperationError` if the match takes too
            long; :class:`.exceptions.BudgetExceeded` if the time of the phase
            is up.
        """
        length = len(text)
        if length <= self._longest_without_limit:
            # Many long texts may take up the time of the phase together,
            # although each match is fast.
            if length > _SHORT_LENGTH:
                allowance.check_time()
            return getattr(self._compiled, method)(text)
        return self._call_with_limit(allowance, method, text)

    def replace(
        self, replacement: Replacement, text: str, allowance: budget.Budget
    ) -> str:
        """Return the text with each match replaced, like ``re.sub``.

        The size of the result is limited before it is built, because the text
        of a machine may have a million matches.

        :raises: :class:`.exceptions.OperationError` if it takes too long, or
            if the replacement does not fit the expression;
            :class:`.exceptions.BudgetExceeded` if the result would be too
            long, or the time of the phase is up.
        """
        expand = _Expansion(replacement, allowance)
        try:
            if len(text) <= min(self._longest_without_limit, _SHORT_LENGTH):
                return self._compiled.sub(expand, text)
            replaced = self._call_with_limit(allowance, 'sub', expand, text)
            return typing.cast(str, replaced)
        except (re.error, regex_library.error, IndexError) as exc:
            raise exceptions.OperationError(
                _('invalid replacement: %s') % exc
            ) from exc

    def check_replacement(self, replacement: Replacement) -> None:
        """Check that a replacement fits the expression.

        For example, ``\\2`` does not fit an expression with a single group.

        :raises: :class:`.exceptions.OperationError` if it does not fit.
        """
        try:
            # Add an empty alternative, which matches the empty text, so that
            # the replacement is expanded.
            re.sub(f'{self.text}|', replacement.text, '')
        except (re.error, IndexError) as exc:
            raise exceptions.OperationError(
                _('invalid replacement: %s') % exc
            ) from exc

    def has_group(self, group: typing.Any) -> bool:
        """Return whether the expression has a group with a number or name.

        Do not call this for expressions from data, which are not compiled.
        """
        if isinstance(group, str):
            return group in self._compiled.groupindex
        return isinstance(group, int) and 0 <= group <= self._compiled.groups

    def matcher(self, method: str) -> Matcher:
        """Build the function that checks whether a value matches as text.

        It is built once for a rule and called for each machine. Null never
        matches. Other values are matched as Python writes them, e.g. true as
        ``True``. The function raises the errors of :meth:`find`.

        :param method: a method of compiled patterns: ``search``, ``match`` or
            ``fullmatch``.
        """
        # Most texts are short and are matched directly, without calling
        # find(). An expression from data has no compiled pattern for that.
        longest_direct = min(self._longest_without_limit, _SHORT_LENGTH)
        match: typing.Any = None
        if longest_direct != _ALWAYS_LIMITED:
            match = getattr(self._compiled, method)

        def holds(allowance: budget.Budget, value: typing.Any) -> bool:
            """Return whether a value of a machine matches."""
            # Null has no text that could match.
            if value is None:
                return False
            text = value
            if text.__class__ is not str:
                text = str(value)
            if len(text) <= longest_direct:
                return match(text) is not None
            return self.find(method, text, allowance) is not None

        return holds

    def _call_with_limit(
        self, allowance: budget.Budget, method: str, *args: typing.Any
    ) -> typing.Any:
        """Call a method of the slower library's pattern with a time limit.

        :param method: the name of the method, e.g. ``search``.
        :param args: the arguments of the method.
        :raises: :class:`.exceptions.OperationError` if the call takes too
            long; :class:`.exceptions.BudgetExceeded` if the time of the phase
            is up.
        """
        limit = min(TIME_LIMIT, allowance.remaining())
        call = getattr(self._get_pattern_with_limit(), method)
        try:
            return call(*args, timeout=limit)
        except TimeoutError as exc:
            # If the time of the phase is up too, this raises another error.
            allowance.check_time()
            raise exceptions.OperationError(
                _(
                    'the regular expression takes longer than %s seconds on '
                    'this value'
                )
                % TIME_LIMIT
            ) from exc


def _find_longest_without_limit(compiled: re.Pattern[str]) -> int:
    """Return the maximum length of texts that need no time limit.

    The longer the text, the more ways there are to match it. For example,
    ``^a.*b|c$`` has one repetition and one branch, which gives
    (length + 1) ** 2 * 2 ways.

    :returns: the number of characters; ``_ALWAYS_LIMITED`` if every text needs
        a time limit.
    """
    if compiled.flags & re.VERBOSE or _VERBOSE.search(compiled.pattern):
        # The syntax that is counted below might be part of a comment.
        return _ALWAYS_LIMITED
    choices = [
        match.lastgroup for match in _CHOICES.finditer(compiled.pattern)
    ]
    if 'nested' in choices:
        # There is no useful limit for repetitions inside repetitions.
        return _ALWAYS_LIMITED
    # A text has length + 1 positions, where the match and each repetition may
    # end, and each branch doubles the number of ways. So n repetitions have
    # (length + 1) ** (n + 1) * 2 ** branches ways. Solve this for the length
    # with the maximum number of ways.
    branches = choices.count('branch')
    repetitions = choices.count('repeat')
    most_ways_by_places = _MOST_WAYS // 2**branches
    most_places = int(most_ways_by_places ** (1 / (repetitions + 1)))
    return most_places - 1


def _compile_with_limit(pattern: str) -> typing.Any:
    """Compile a pattern of ``re`` with ``regex``, which has more syntax.

    Syntax that has no meaning in ``re`` is escaped: in ``regex``, ``{e}``
    would be fuzzy matching, and ``[[:`` would begin a POSIX class.
    """
    escaped = _BRACES.sub(_escape_lone_brace, pattern)
    escaped = escaped.replace('[:', r'[\:')
    # The cache of the library would keep patterns of any length. The cache of
    # _compile_known keeps only short patterns.
    return regex_library.compile(escaped, cache_pattern=False)


def _escape_lone_brace(match: re.Match[str]) -> str:
    """Return the replacement of a match of ``_BRACES``.

    A lone brace is escaped. Any other match has a meaning and stays as it is.
    """
    if match['lone']:
        return r'\{'
    return match[0]


# Use this only for patterns of rules, whose authors are authenticated.
_compile_known = text_cache.cache_short_texts(maxsize=1024, longest=4096)(
    _compile_with_limit
)
