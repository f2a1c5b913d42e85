# SPDX-License-Identifier: Apache-2.0

"""Conditions on one value: is-true, exists, in-net, matches.

``__call__`` checks a condition with the values of a machine. The other methods
get the arguments as a rule has them: ``problems`` checks the literal arguments
when the rule is created, and ``bind`` prepares the check once, e.g. compiles a
regular expression. ``facts`` says what is known of a field if the condition
holds: ``is-none`` of ``{node.name}`` yields the fact that this field is one of
``[None]``. Tools such as ``lint`` compare the facts of rules.
"""

import functools
import ipaddress
import itertools
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_LONGEST_CACHED = 64  # Maximum length of a machine's text in the cache.

# The parts of a regular expression that is a list of words, such as
# "^(Dell|HPE)$": see _list_matching_texts().
_ANCHORED = re.compile(
    r'(?:\^|\\A)(?P<between_anchors>.*)(?:\$|\\Z)', re.DOTALL
)
_PERHAPS_ANCHORED = re.compile(
    r'(?:\^|\\A)?(?P<between_anchors>.*?)(?:\$|\\Z)?', re.DOTALL
)
_GROUPED = re.compile(r'\((?:\?:)?(?P<inside>.*)\)', re.DOTALL)
_LITERAL = re.compile(r'(?:[^\\.^$*+?{}\[\]|()]|\\[^A-Za-z0-9])+')

_V4 = r'[0-9]{1,3}(?:\.[0-9]{1,3}){3}'
_V6 = r'[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[^/\s]+)?'
_SUBNET = (
    rf'\s*(?:{_V4}(?:/(?:0*(?:3[0-2]|[12]?[0-9])|{_V4}))?|'
    rf'{_V6}(?:/0*(?:12[0-8]|1[01][0-9]|[1-9]?[0-9]))?)\s*'
)

_TEXT_OF_OTHER_TYPES = frozenset(('True', 'False', 'None'))
"""The texts that regular expressions match for values that are not text.

True matches "True" but does not equal it, so "the value is one of these words"
would be a false statement. A number does equal its text.
"""


def _list_spellings(word: str) -> list[str]:
    """Return a word in all cases: ``no``, ``nO``, ``No`` and ``NO``."""
    letters = [(letter, letter.upper()) for letter in word]
    return [''.join(choice) for choice in itertools.product(*letters)]


TRUE_WORDS = ('yes', 'true')
"""The texts for which ``is-true`` holds, in lower case."""

FALSE_WORDS = ('no', 'false')
"""The texts for which ``is-false`` holds, in lower case."""

# All values for which is-false holds. Zero is included, because "eq" compares
# it as equal to false.
_FALSE: list[typing.Any] = [
    None,
    False,
    *itertools.chain.from_iterable(map(_list_spellings, FALSE_WORDS)),
]


class _FewValues(plugin.Condition):
    """A condition that holds for a few values and no others.

    If it holds, the value is one of them. If the inverted condition holds, the
    value is none of them.
    """

    ACCEPTS_MISSING = True

    VALUES: typing.ClassVar[list[typing.Any]]
    """All values for which it holds, compared as ``eq`` does."""

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield that the value is one of VALUES; inverted, that it is not."""
        relation = _relation_to_values(inverted)
        yield plugin.Fact(arguments['value'], relation, self.VALUES)


class IsTrue(plugin.Condition):
    """``is-true``: true, a number other than zero, "yes" or "true"."""

    ACCEPTS_MISSING = True

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield that the value is none of the values that count as false.

        Nothing is yielded for the inverted condition. It also holds for any
        other text, e.g. "maybe", so the possible values cannot be listed.
        """
        if not inverted:
            yield plugin.Fact(arguments['value'], 'none-of', _FALSE)

    def __call__(self, value: typing.Any) -> bool:
        """Return whether a value counts as true.

        A text is true if it is one of the true words, in any case. A number or
        a boolean is true unless it is zero or false. Any other value is not.
        """
        if isinstance(value, str):
            return value.lower() in TRUE_WORDS
        return isinstance(value, int | float) and bool(value)


class IsFalse(_FewValues):
    """``is-false``: false, zero, null, "no" or "false"."""

    VALUES = _FALSE

    def __call__(self, value: typing.Any) -> bool:
        """Return whether a value counts as false.

        :param value: the value; None also stands for a missing field, which
            counts as false.
        """
        if value is None:
            return True
        if isinstance(value, str):
            return value.lower() in FALSE_WORDS
        # False equals 0. Lists and mappings, even if empty, are not false.
        return isinstance(value, int | float) and value == 0


class IsNone(_FewValues):
    """``is-none``: null, or no such field."""

    VALUES = [None]

    def __call__(self, value: typing.Any) -> bool:
        return value is None


class Exists(plugin.Condition):
    """``exists``: the field is there, even if null."""

    SEES_MISSING = True

    def __call__(self, value: typing.Any) -> bool:
        return value is not data_path.ABSENT


class IsEmpty(_FewValues):
    """``is-empty``: null, no such field, or empty text, list or mapping."""

    VALUES = [None, '', [], {}]

    def __call__(self, value: typing.Any) -> bool:
        """Return whether a value is empty.

        :param value: the value; None also stands for a missing field, which
            counts as empty.
        """
        if value is None:
            return True
        return isinstance(value, str | list | dict) and not value


class InNet(plugin.Condition):
    """``in-net``: the IP address is in the subnet, of either IP version.

    It is false for a value that is not an IP address. An address may have a
    prefix, e.g. ``2001:db8::1/64``, but a subnet is not an address.
    """

    SCHEMAS = {'subnet': [schema.text_matching(_SUBNET)]}

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield that the address is in the subnet.

        Nothing is yielded for the inverted condition. It also holds for a
        value that is not an address, which a fact cannot express.
        """
        if not inverted:
            yield plugin.Fact(
                arguments['address'], plugin.IN_NET, arguments['subnet']
            )

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem if a literal subnet is invalid.

        :param arguments: the literal arguments by name.
        """
        if 'subnet' in arguments:
            try:
                _read_network(arguments['subnet'])
            except exceptions.OperationError as exc:
                yield 'subnet', str(exc)

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., bool]:
        """Return the function that checks machines, with a parsed subnet.

        A literal subnet is parsed here, once, instead of for every machine.

        :param arguments: the literal arguments by name.
        :returns: a function that takes the other arguments.
        """
        if 'subnet' not in arguments:
            # The subnet has a replacement field, so it may differ between
            # machines.
            return super().bind(arguments)
        network = _read_network(arguments['subnet'])
        return super().bind({**arguments, 'subnet': network})

    def __call__(self, address: typing.Any, subnet: typing.Any) -> bool:
        """Return whether the address is in the subnet.

        :param address: a value of a machine, which may not be an address.
        :param subnet: a text such as ``192.0.2.0/24``, or the network if
            :meth:`bind` has already parsed it.
        """
        network = subnet
        if not isinstance(subnet, _Network):
            network = _read_network(subnet)
        try:
            ip_address = read_address(str(address))
        except ValueError:
            return False
        return ip_address in network


@text_cache.cache_short_texts(maxsize=1024, longest=_LONGEST_CACHED)
def read_address(text: str) -> _Address:
    """Return the IP address in a text, which may have a prefix.

    For example, ``192.0.2.7/24`` has the address 192.0.2.7.

    :raises: ValueError if the text has no address. ``192.0.2.0/24`` and
        ``::/0`` are subnets, not addresses.
    """
    text = text.strip()
    if '/' not in text:
        return ipaddress.ip_address(text)
    interface = ipaddress.ip_interface(text)
    network = interface.network
    # The first address of a subnet identifies the subnet itself, as in
    # "192.0.2.0/24". In subnets of one or two addresses, it belongs to a host.
    has_more_than_two = network.prefixlen < interface.max_prefixlen - 1
    is_first = int(interface.ip) == int(network.network_address)
    if has_more_than_two and is_first:
        raise ValueError(f'{text} is a subnet')
    return interface.ip


def _read_network(subnet: typing.Any) -> _Network:
    """Parse a subnet, e.g. ``192.0.2.0/24``.

    An address with a prefix, e.g. ``192.0.2.7/24``, gives its subnet.

    :raises: :class:`.exceptions.OperationError` for any other value.
    """
    try:
        return ipaddress.ip_network(str(subnet).strip(), strict=False)
    except ValueError as exc:
        raise exceptions.OperationError(
            _('%s is not an IP subnet') % suggestion.quote(subnet)
        ) from exc


class RegexCondition(plugin.Condition):
    """A condition with a regular expression (:mod:`.pattern`)."""

    # An expression may be slow even for short text, so it must be charged.
    PAYS = True
    METHOD: typing.ClassVar[str]
    """The method of the compiled expression to call."""

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield that the value is one of some words; inverted, none of them.

        For example, ``matches`` with ``Dell|HPE`` yields the fact that the
        value is one of ``['Dell', 'HPE']``. Nothing is yielded for any other
        expression, because its matching texts cannot be listed.
        """
        searches = self.METHOD == 'search'
        words = _list_matching_texts(arguments['regex'], searches=searches)
        # The expression "True" also matches the boolean True, which does not
        # equal this word.
        are_only_texts = _TEXT_OF_OTHER_TYPES.isdisjoint(words)
        if words and are_only_texts:
            relation = _relation_to_values(inverted)
            yield plugin.Fact(arguments['value'], relation, words)

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., bool]:
        """Return the function that checks machines, with a compiled regex.

        :param arguments: the literal arguments by name.
        :returns: a function that takes the budget, and then the other
            arguments.
        """
        if 'regex' not in arguments:
            # With a field {item…}, each item of a loop has its own expression,
            # which is compiled when the condition is checked.
            return super().bind(arguments)
        matches: typing.Callable[..., bool]
        matches = arguments['regex'].matcher(self.METHOD)
        if 'value' not in arguments:
            # The value is a field, as in nearly all rules.
            return matches
        return functools.partial(matches, value=arguments['value'])

    def __call__(
        self,
        allowance: budget.Budget,
        value: typing.Any,
        regex: pattern.Pattern,
    ) -> bool:
        return regex.matcher(self.METHOD)(allowance, value)


class Contains(RegexCondition):
    """``contains``: the regular expression matches somewhere in the value."""

    METHOD = 'search'


class Matches(RegexCondition):
    """``matches``: the regular expression matches the whole value."""

    METHOD = 'fullmatch'


def _relation_to_values(inverted: bool) -> str:
    """Return the relation of a value to the values of a condition."""
    if inverted:
        return 'none-of'
    return 'one-of'


def _list_matching_texts(regex: str, *, searches: bool) -> list[str]:
    """List all texts that match an expression such as ``^(Dell|HPE)$``.

    The expression must be a list of words separated by ``|``. If it is
    searched, it must also have anchors at both ends, as in this example,
    because ``Dell`` alone is also found in "Dell Inc." and in any number of
    other texts.

    :param searches: whether the expression is searched anywhere in a text, as
        the op ``contains`` does. Otherwise the whole text must match, as for
        the op ``matches``.
    :returns: e.g. ``['Dell', 'HPE']``; an empty list if the texts cannot be
        listed.
    """
    if searches:
        match = _ANCHORED.fullmatch(regex)
    else:
        # If the whole text must match, anchors make no difference.
        match = _PERHAPS_ANCHORED.fullmatch(regex)
    if match is None:
        return []
    alternatives = match['between_anchors']
    # Remove parentheses around all alternatives.
    group = _GROUPED.fullmatch(alternatives)
    if group is not None:
        alternatives = group['inside']
    elif searches and '|' in alternatives:
        # Without parentheses, as in "^a|b$", each anchor belongs to only one
        # alternative: "^a" also matches "ab".
        return []
    words = []
    for alternative in alternatives.split('|'):
        is_word = _LITERAL.fullmatch(alternative) is not None
        if not is_word:
            # It has special characters, e.g. "Dell.*".
            return []
        # Remove backslashes: the expression "a\.b" matches the text "a.b".
        words.append(re.sub(r'\\(.)', r'\1', alternative))
    return words
