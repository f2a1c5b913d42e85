# SPDX-License-Identifier: Apache-2.0

"""Filters on text.

These are lower, upper, trim, replace, split, regex_search, regex_replace, date
and trait. ``{inventory.system_vendor.product_name | upper | trait}`` gives the
name of a trait. ABSENT stands for a missing result.

``problems`` checks the literal arguments of a filter when a rule is created;
``__call__`` computes the result for a machine. A filter that may build a long
text charges the budget of the phase before it builds the text.
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

    :param value: any value of a machine or a rule.
    :param accepts_numbers: False to reject numbers.
    :raises: :class:`.exceptions.OperationError` for any other value.
    """
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and accepts_numbers:
        return str(value)
    raise exceptions.OperationError(
        _('takes text, not %s') % suggestion.describe_type(value)
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

        :param allowance: the budget, which is charged for the length of the
            result.
        :param count: the maximum number of replacements, from the left; a
            negative number for all.
        """
        text = as_text(value)
        replacements = text.count(old)
        if 0 <= count < replacements:
            replacements = count
        # The result is at most this long. Charge the budget before building
        # it, because it may be far longer than the text.
        allowance.make_text(len(text) + replacements * len(new))
        return text.replace(old, new, count)

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., typing.Any]:
        """Return the filter as a function of a budget and a text.

        The function is faster for short text. A result of up to 255 characters
        costs nothing, so if the result cannot be longer, its length need not
        be computed.

        :param arguments: all arguments by name. None of them has replacement
            fields.
        """
        replace_and_charge = super().bind(arguments)
        old = arguments['old']
        new = arguments['new']
        count = arguments.get('count', -1)
        # The result is longest if "old" is empty: then "new" is inserted
        # before each character and at the end. The result of a text then has
        # (length + 1) * len(new) + length characters. This is at most 255 for
        # texts of at most this length:
        longest_free = (_FREE_LENGTH - len(new)) // (len(new) + 1)

        def replace(allowance: budget.Budget, value: typing.Any) -> typing.Any:
            """Return the new text; charge the budget if it may be long."""
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

        :param allowance: the budget, which is charged for the number of parts.
        :param sep: the separator; None for runs of blanks.
        """
        # Reject numbers: a version 2.10 that was read as a number is 2.1, so
        # it has lost a digit already.
        text = as_text(value, accepts_numbers=False)
        # Every separator adds a part to the list. Compute how many separators
        # there are at most.
        if sep is None:
            # Every run of blanks between two parts is followed by another
            # character, so there are at most half as many runs as characters.
            most_separators = len(text) // 2
        else:
            most_separators = text.count(sep)
        # Four parts cost one operation, like four items of any list. Charge
        # the budget before the split, so that a list that is too long is never
        # built.
        allowance.spend(most_separators // 4)
        return text.split(sep)


def _parse_group(written_group: typing.Any) -> typing.Any:
    """Return the number or the name of a group of a regular expression.

    ``\\1`` gives 1, ``\\g<vendor>`` gives ``vendor``, and ``"2"`` gives 2.

    :param written_group: a number, a name, or a reference to a group, as in a
        rule.
    """
    if not isinstance(written_group, str):
        # It is a number.
        return written_group
    group = written_group
    reference = _GROUP_REFERENCE.match(written_group)
    if reference is not None:
        group = reference['name'] or reference['number']
    is_number = group.isascii() and group.isdecimal()
    if is_number:
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

        :param allowance: the budget, which is charged for the search.
        :param group: the number or the name of a group; 0 for the whole match.
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
        """Yield a problem if the replacement refers to an unknown group.

        For example, the expression ``([0-9]+)`` has no group ``\\2``. Nothing
        is checked if the expression or the replacement has a replacement
        field.

        :param arguments: the literal arguments by name.
        """
        regex = arguments.get('regex')
        replacement = arguments.get('replacement')
        # Both must be literal. A literal expression is a Pattern here.
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
        """Yield the problems of the format when a rule is created.

        It must have at least one part such as ``%Y``, and only known parts.

        :param arguments: the literal arguments by name; the format is always
            literal.
        """
        date_format = arguments['format']
        # "%%Y" is a percent sign and a Y, not a year.
        if not re.search(_DIRECTIVE, date_format.replace('%%', '')):
            yield 'format', _('"%s" has no part such as %%Y') % date_format
        try:
            # A valid format can parse any date that it has formatted.
            text = _SOME_DAY.strftime(date_format)
            datetime.datetime.strptime(text, date_format)
        except (ValueError, re.error):
            yield 'format', _('"%s" is no format of a date') % date_format

    def __call__(self, value: typing.Any, format: str) -> str:
        """Return the date in ISO 8601, with the time if the format has one.

        With ``%d.%m.%Y``, ``17.5.2023`` gives ``2023-05-17``. With
        ``%d.%m.%Y %H``, ``17.5.2023 10`` gives ``2023-05-17T10:00:00``.

        :raises: :class:`.exceptions.OperationError` if the text is not a date
            in this format.
        """
        text = as_text(value, accepts_numbers=False)
        if len(text) > _LONGEST_DATE:
            raise exceptions.OperationError(
                _('the text is longer than %d characters') % _LONGEST_DATE
            )
        try:
            date_and_time = datetime.datetime.strptime(text, format)
        except ValueError as exc:
            raise exceptions.OperationError(
                _('"%(value)s" is no date of the format "%(format)s"')
                % {'value': text, 'format': format}
            ) from exc
        # "%%H" is a percent sign and an H, not an hour.
        has_time = _TIME_DIRECTIVE.search(format.replace('%%', ''))
        if has_time:
            return date_and_time.isoformat()
        return date_and_time.date().isoformat()


class Trait(plugin.Filter):
    """``trait``: the name of a trait, ``CUSTOM_…`` unless os-traits has it.

    Text without any ASCII letter or digit cannot be a name, and is missing.
    """

    TAKES = _PLAIN
    GIVES = 'text'

    def __call__(self, value: typing.Any) -> str | data_path.Absent:
        """Return a text as the name of a trait.

        * ``Fast disk`` becomes ``CUSTOM_FAST_DISK``.
        * ``hw-cpu-x86-vmx`` becomes ``HW_CPU_X86_VMX``, which os-traits has.
        * ``!`` gives ABSENT, because no letter or digit is left.
        """
        # Every run of other characters becomes one underscore.
        name = _NOT_IN_TRAITS.sub('_', as_text(value).upper())
        if not name.strip('_'):
            return data_path.ABSENT
        if name in trait_names.STANDARD:
            return name
        return f'CUSTOM_{name}'
