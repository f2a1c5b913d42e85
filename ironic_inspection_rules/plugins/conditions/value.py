# SPDX-License-Identifier: Apache-2.0

"""Conditions on one value: is-true, exists, in-net, matches."""

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

# How a regular expression is written that is a list of words, such as
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

    So it states the fact that the value is one of these or, if it is inverted,
    none of these.
    """

    ACCEPTS_MISSING = True

    VALUES: typing.ClassVar[list[typing.Any]]
    """All values for which it holds, compared as ``eq`` does."""

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield that the value is one of VALUES; inverted, that it is not."""
        yield plugin.Fact(
            arguments['value'], _relation_to_values(inverted), self.VALUES
        )


class IsTrue(plugin.Condition):
    """``is-true``: true, a number other than zero, "yes" or "true"."""

    ACCEPTS_MISSING = True

    def facts(
        self, arguments: plugin.Arguments, inverted: bool = False
    ) -> plugin.Facts:
        """Yield that the value is none of the values that are false."""
        # The inverted condition also holds for other text, which a fact
        # cannot express.
        if not inverted:
            yield plugin.Fact(arguments['value'], 'none-of', _FALSE)

    def __call__(self, value: typing.Any) -> bool:
        """Return whether a value counts as true."""
        if isinstance(value, str):
            return value.lower() in TRUE_WORDS
        return isinstance(value, int | float) and bool(value)


class IsFalse(_FewValues):
    """``is-false``: false, zero, null, "no" or "false"."""

    VALUES = _FALSE

    def __call__(self, value: typing.Any) -> bool:
        """Return whether a value counts as false; a missing field does."""
        if value is None:
            return True
        if isinstance(value, str):
            return value.lower() in FALSE_WORDS
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
        """Return whether a value is empty; a missing field is."""
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
        """Yield that the address is in the subnet."""
        # The inverted condition also holds for a value that is not an address,
        # which a fact cannot express.
        if not inverted:
            yield plugin.Fact(
                arguments['address'], plugin.IN_NET, arguments['subnet']
            )

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem if a literal subnet is invalid."""
        if 'subnet' in arguments:
            try:
                _read_network(arguments['subnet'])
            except exceptions.OperationError as exc:
                yield 'subnet', str(exc)

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., bool]:
        """Build the check, and parse a literal subnet only once."""
        if 'subnet' not in arguments:
            # The subnet has a field, so it may differ between machines.
            return super().bind(arguments)
        network = _read_network(arguments['subnet'])
        return super().bind({**arguments, 'subnet': network})

    def __call__(self, address: typing.Any, subnet: typing.Any) -> bool:
        """Return whether the address is in the subnet.

        :param subnet: a text such as ``192.0.2.0/24``, or the network into
            which :meth:`bind` has converted it.
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
    # The first address of a subnet identifies the subnet itself, except in
    # subnets of one or two addresses, where all addresses belong to hosts.
    is_large = network.prefixlen < interface.max_prefixlen - 1
    if is_large and int(interface.ip) == int(network.network_address):
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
            _('%s is not an IP subnet') % suggestion.quoted(subnet)
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
        """Yield the matching texts if the expression is a list of words.

        For example, ``matches`` with ``Dell|HPE`` states the fact that the
        value is one of these two words.
        """
        searches = self.METHOD == 'search'
        words = _list_matching_texts(arguments['regex'], searches=searches)
        if words and _TEXT_OF_OTHER_TYPES.isdisjoint(words):
            yield plugin.Fact(
                arguments['value'], _relation_to_values(inverted), words
            )

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., bool]:
        """Build the check of a condition, and compile its expression once.

        :param arguments: the arguments without fields, by name.
        :returns: a function that takes the budget, and then the arguments
            that have fields.
        """
        if 'regex' not in arguments:
            # With a field {item…}, each item of a loop has its own expression,
            # which is compiled when the condition is checked.
            return super().bind(arguments)
        matches: typing.Callable[..., bool]
        matches = arguments['regex'].matcher(self.METHOD)
        if 'value' not in arguments:
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

    :param searches: whether the expression is searched anywhere in a text, as
        the op ``contains`` does. Otherwise the whole text must match.
    :returns: ``['Dell', 'HPE']``; an empty list if the expression is more than
        words separated by ``|``, or if it matches longer texts too.
    """
    if searches:
        # Without anchors at both ends, the expression "Dell" also matches
        # "Dell Inc." and any number of other texts.
        match = _ANCHORED.fullmatch(regex)
    else:
        # If the whole text must match, anchors make no difference.
        match = _PERHAPS_ANCHORED.fullmatch(regex)
    if match is None:
        return []
    alternatives = match['between_anchors']
    group = _GROUPED.fullmatch(alternatives)
    if group is not None:
        alternatives = group['inside']
    elif searches and '|' in alternatives:
        # In "^a|b$", each anchor belongs to only one alternative.
        return []
    words = []
    for word in alternatives.split('|'):
        if not _LITERAL.fullmatch(word):
            return []
        # The expression "a\.b" stands for the text "a.b".
        words.append(re.sub(r'\\(.)', r'\1', word))
    return words
