# SPDX-License-Identifier: Apache-2.0

"""Filters on text.

These are lower, upper, trim, replace, split, regex_search, regex_replace, date
and trait.
"""

import datetime
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.i18n import _

_FREE_LENGTH = 255  # Characters up to which text costs nothing.
_TIME_DIRECTIVE = re.compile(r'%[HIMSfpXcz]')
_SOME_DAY = datetime.datetime(2023, 5, 17, 10, tzinfo=datetime.UTC)
_PLAIN = frozenset(('number', 'text'))
_TEXT = frozenset(('text',))
_LONGEST_DATE = 100  # Maximum length of a date as text.
_DIRECTIVE = '%[A-Za-z]'  # A part of a date in a format.
_NOT_IN_TRAITS = re.compile('[^A-Z0-9]+')
# A group as the replacement of an expression names it: "\1", "\g<name>".
_GROUP_REFERENCE = re.compile(r'\\(?:g<(?P<name>\w+)>|(?P<number>[0-9]+))\Z')


def as_text(value: typing.Any, accepts_numbers: bool = True) -> str:
    """Return text as it is, and a number as its text: ``16`` for 16.

    :param accepts_numbers: False to reject numbers.
    :raises: :class:`.exceptions.OperationError` for any other value.
    """
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and accepts_numbers:
        return str(value)
    raise exceptions.OperationError(
        _('takes text, not %s') % suggestion.kind_of(value)
    )


class Lower(plugin.Filter):
    """``lower``: all letters in lower case."""

    TAKES = _PLAIN
    GIVES = 'text'

    def __call__(self, value: typing.Any) -> str:
        """Return a text, or the text of a number, in lower case."""
        # Save the call for most values, which are text.
        if value.__class__ is not str:
            value = as_text(value)
        lowered: str = value.lower()
        return lowered


class Upper(plugin.Filter):
    """``upper``: all letters in upper case."""

    TAKES = _PLAIN
    GIVES = 'text'

    def __call__(self, value: typing.Any) -> str:
        """Return a text, or the text of a number, in upper case."""
        # Save the call for most values, which are text.
        if value.__class__ is not str:
            value = as_text(value)
        raised: str = value.upper()
        return raised


class Trim(plugin.Filter):
    """``trim``: without blanks, or other characters, at both ends."""

    TAKES = _PLAIN
    GIVES = 'text'
    SCHEMAS = {
        'chars': [
            {'type': ['string', 'null'], 'errorMessage': _('must be text')}
        ]
    }

    def __call__(self, value: typing.Any, chars: str | None = None) -> str:
        """Return a text without certain characters at both ends.

        :param chars: the characters to remove; None for white space.
        """
        # Save the call for most values, which are text.
        if value.__class__ is not str:
            value = as_text(value)
        trimmed: str = value.strip(chars)
        return trimmed


class Replace(plugin.Filter):
    """``replace``: with one text replaced by another."""

    TAKES = _PLAIN
    GIVES = 'text'
    PAYS = True

    def __call__(
        self,
        allowance: budget.Budget,
        value: typing.Any,
        old: str,
        new: str,
        count: int = -1,
    ) -> str:
        """Return the text with one text replaced by another.

        :param count: the maximum number of replacements, from the left; a
            negative number for all.
        """
        text = as_text(value)
        times = text.count(old)
        if 0 <= count < times:
            times = count
        # Pay before building the text, which may be far longer than its parts.
        allowance.make_text(len(text) + times * len(new))
        return text.replace(old, new, count)

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., typing.Any]:
        """Return the filter as a function of a budget and a text.

        The function is faster for short text. The budget charges nothing for a
        result of up to 255 characters, so if the result cannot be longer, its
        length need not be computed.
        """
        replace_and_charge = super().bind(arguments)
        old = arguments['old']
        new = arguments['new']
        count = arguments.get('count', -1)
        # The result is longest if "old" is empty: then "new" is inserted
        # before each character and at the end. Even that result is free if
        # (length + 1) * len(new) + length <= 255, which holds for texts of at
        # most this length.
        longest_free = (_FREE_LENGTH - len(new)) // (len(new) + 1)

        def replace(allowance: budget.Budget, value: typing.Any) -> typing.Any:
            """Replace for free in a short text, else pay for the result."""
            if value.__class__ is str and len(value) <= longest_free:
                return value.replace(old, new, count)
            return replace_and_charge(allowance, value)

        return replace


class Split(plugin.Filter):
    """``split``: the list of the parts between separators, or blanks."""

    TAKES = _TEXT
    GIVES = 'list'
    PAYS = True
    REARRANGES = True
    SCHEMAS = {
        'sep': [
            {
                'type': ['string', 'null'],
                'minLength': 1,
                'errorMessage': _('must be text that is not empty'),
            }
        ]
    }

    def __call__(
        self,
        allowance: budget.Budget,
        value: typing.Any,
        sep: str | None = None,
    ) -> list[str]:
        """Return the parts of a text.

        :param sep: the separator; None for runs of blanks.
        """
        # Reject numbers: 2.10 that was read as a number is 2.1, so it has lost
        # a digit already.
        text = as_text(value, accepts_numbers=False)
        if sep is None:
            # The separators are runs of blanks. Each run that separates two
            # parts is followed by at least one other character, so there are
            # at most half as many of these runs as characters.
            most_separators = len(text) // 2
        else:
            most_separators = text.count(sep)
        # Each separator adds a part to the list. Each part is a Python object,
        # which takes more memory than its characters. Charge one operation
        # for four parts, as the budget does for the items of a list. Pay
        # before the split, so that a list that is too long is never built.
        allowance.spend(most_separators // 4)
        return text.split(sep)


def _parse_group(written: typing.Any) -> typing.Any:
    """Return the number or the name of a group of a regular expression.

    ``\\1`` gives 1, ``\\g<vendor>`` gives ``vendor``, and ``2`` gives 2.

    :param written: a number, a name, or a reference to a group.
    """
    if not isinstance(written, str):
        return written
    group = written
    reference = _GROUP_REFERENCE.match(written)
    if reference is not None:
        group = reference['name'] or reference['number']
    if group.isascii() and group.isdecimal():
        return int(group)
    return group


class RegexSearch(plugin.Filter):
    """``regex_search``: the match, or a group of it; missing without a match.

    The group is a number or a name, also as ``\\1`` or ``\\g<name>``.
    """

    TAKES = _PLAIN
    GIVES = 'text'
    PAYS = True
    LITERAL = frozenset({'group'})

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem if the regular expression has no such group."""
        group = _parse_group(arguments.get('group', 0))
        if not arguments['regex'].has_group(group):
            yield (
                'group',
                (_('"%s" is no group of the regular expression') % (group,)),
            )

    def __call__(
        self,
        allowance: budget.Budget,
        value: typing.Any,
        regex: pattern.Pattern,
        group: typing.Any = 0,
    ) -> typing.Any:
        """Return the match or a group of it, or ABSENT if there is none.

        For example, in ``Xeon 6430`` the expression ``Xeon ([0-9]+)`` matches
        ``Xeon 6430``, and its group 1 is ``6430``.
        """
        match = regex.find('search', as_text(value), allowance)
        if match is None:
            return data_path.ABSENT
        text = match[_parse_group(group)]
        if text is None:
            # The group has not matched, e.g. one of the groups in "(a)|(b)".
            return data_path.ABSENT
        return text


class RegexReplace(plugin.Filter):
    """``regex_replace``: with each match replaced."""

    TAKES = _PLAIN
    GIVES = 'text'
    PAYS = True

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield the problem of a replacement when a rule is created.

        The replacement may refer to a group that the regular expression lacks.
        Nothing is checked if either of them has a field.
        """
        regex = arguments.get('regex')
        replacement = arguments.get('replacement')
        if isinstance(regex, pattern.Pattern) and replacement is not None:
            try:
                regex.check_replacement(replacement)
            except exceptions.OperationError as exc:
                yield 'replacement', str(exc)

    def __call__(
        self,
        allowance: budget.Budget,
        value: typing.Any,
        regex: pattern.Pattern,
        replacement: pattern.Replacement,
    ) -> str:
        return regex.replace(replacement, as_text(value), allowance)


class Date(plugin.Filter):
    """``date``: a date as ISO 8601 text, parsed with a format.

    The format is that of Python's ``strptime``. If it includes a time, the
    result does too.
    """

    TAKES = _TEXT
    GIVES = 'text'

    # The format must be literal, because Python compiles it to a regular
    # expression.
    LITERAL = frozenset({'format'})
    SCHEMAS = {
        'format': [
            {
                'type': 'string',
                'pattern': _DIRECTIVE,
                'errorMessage': _('must have a part such as %Y'),
            }
        ]
    }

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield the problems of the format when a rule is created."""
        written = arguments['format']
        # "%%Y" is a percent sign and a Y, not a year.
        if not re.search(_DIRECTIVE, written.replace('%%', '')):
            yield 'format', _('"%s" has no part such as %%Y') % written
        try:
            # A valid format can parse any date that it has formatted.
            datetime.datetime.strptime(_SOME_DAY.strftime(written), written)
        except (ValueError, re.error):
            yield 'format', _('"%s" is no format of a date') % written

    def __call__(self, value: typing.Any, format: str) -> str:
        """Return the date in ISO 8601, with the time if the format has one.

        With ``%d.%m.%Y``, ``17.5.2023`` gives ``2023-05-17``. With
        ``%d.%m.%Y %H``, ``17.5.2023 10`` gives ``2023-05-17T10:00:00``.

        :raises: :class:`.exceptions.OperationError` if the text is not a date
            in this format.
        """
        if len(as_text(value, accepts_numbers=False)) > _LONGEST_DATE:
            raise exceptions.OperationError(
                _('the text is longer than %d characters') % _LONGEST_DATE
            )
        try:
            date = datetime.datetime.strptime(value, format)
        except ValueError as exc:
            raise exceptions.OperationError(
                _('"%(value)s" is no date of the format "%(format)s"')
                % {'value': value, 'format': format}
            ) from exc
        # "%%H" is a percent sign and an H, not an hour.
        if _TIME_DIRECTIVE.search(format.replace('%%', '')):
            return date.isoformat()
        return date.date().isoformat()


class Trait(plugin.Filter):
    """``trait``: the name of a trait, ``CUSTOM_…`` unless os-traits has it.

    Text without any ASCII letter or digit cannot be a name, and is missing.
    """

    TAKES = _PLAIN
    GIVES = 'text'

    def __call__(self, value: typing.Any) -> str | data_path.Absent:
        """Return a text as the name of a trait.

        ``Fast disk`` becomes ``CUSTOM_FAST_DISK``, and ``!`` is missing.
        """
        name = _NOT_IN_TRAITS.sub('_', as_text(value).upper())
        if not name.strip('_'):
            return data_path.ABSENT
        if name in trait_names.STANDARD:
            return name
        return f'CUSTOM_{name}'
