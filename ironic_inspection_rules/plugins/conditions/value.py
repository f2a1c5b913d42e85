# SPDX-License-Identifier: Apache-2.0

"""Conditions on one value (spec 003 "Available conditions")."""

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
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_LONGEST_KNOWN = 64  # Maximum length of a machine's text that is cached.
_FALSE = [None, False, *(''.join(letters) for word in ('no', 'false')
                         for letters in itertools.product(
                             *((letter, letter.upper()) for letter in word)))]

_ANCHORED = re.compile(r'(?:\^|\\A)(.*)(?:\$|\\Z)', re.DOTALL)
_PERHAPS_ANCHORED = re.compile(r'(?:\^|\\A)?(.*?)(?:\$|\\Z)?', re.DOTALL)
_GROUPED = re.compile(r'\((?:\?:)?(.*)\)', re.DOTALL)
_LITERAL = re.compile(r'(?:[^\\.^$*+?{}\[\]|()]|\\[^A-Za-z0-9])+')

_V4 = r'[0-9]{1,3}(?:\.[0-9]{1,3}){3}'
_V6 = r'[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[^/\s]+)?'
_SUBNET = (rf'\s*(?:{_V4}(?:/(?:0*(?:3[0-2]|[12]?[0-9])|{_V4}))?|'
           rf'{_V6}(?:/0*(?:12[0-8]|1[01][0-9]|[1-9]?[0-9]))?)\s*')

_SHOWN_AS = frozenset(('True', 'False', 'None'))
"""Texts that may stand for values of other types."""


class _Listed(plugin.Condition):
    """A condition that holds for a list of values."""

    ACCEPTS_MISSING = True

    VALUES: typing.ClassVar[list[typing.Any]]

    def facts(self, arguments: plugin.Arguments,
              inverted: bool = False) -> plugin.Facts:
        yield plugin.Fact(arguments['value'],
                          'none-of' if inverted else 'one-of', self.VALUES)


class IsTrue(plugin.Condition):
    """``is-true``: true, a number other than zero, "yes" or "true"."""

    ACCEPTS_MISSING = True

    def facts(self, arguments: plugin.Arguments,
              inverted: bool = False) -> plugin.Facts:
        if not inverted:
            yield plugin.Fact(arguments['value'], 'none-of', _FALSE)

    def __call__(self, value: typing.Any) -> bool:
        if isinstance(value, str):
            return value.lower() in ('yes', 'true')
        return isinstance(value, int | float) and bool(value)


class IsFalse(_Listed):
    """``is-false``: false, zero, null, "no" or "false"."""

    VALUES = _FALSE

    def __call__(self, value: typing.Any) -> bool:
        if isinstance(value, str):
            return value.lower() in ('no', 'false')
        return value is None or (isinstance(value, int | float) and not value)


class IsNone(_Listed):
    """``is-none``: null, or no such field."""

    VALUES = [None]

    def __call__(self, value: typing.Any) -> bool:
        return value is None


class Exists(plugin.Condition):
    """``exists``: the field is there, even if null."""

    SEES_MISSING = True

    def __call__(self, value: typing.Any) -> bool:
        return value is not data_path.ABSENT


class IsEmpty(_Listed):
    """``is-empty``: null, no such field, or empty text, list or mapping."""

    VALUES = [None, '', [], {}]

    def __call__(self, value: typing.Any) -> bool:
        return value is None or (
            isinstance(value, str | list | dict) and not value)


class InNet(plugin.Condition):
    """``in-net``: the IP address is in the subnet, of either IP version.

    It is false for a value that is not an IP address. An address may have a
    prefix, such as ``2001:db8::1/64``; a subnet is no address.
    """

    SCHEMAS = {'subnet': [schema.whole(_SUBNET)]}

    def facts(self, arguments: plugin.Arguments,
              inverted: bool = False) -> plugin.Facts:
        if not inverted:
            yield plugin.Fact(arguments['address'], plugin.IN_NET,
                              arguments['subnet'])

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        if 'subnet' in arguments:
            try:
                _read_network(arguments['subnet'])
            except exceptions.OperationError as exc:
                yield 'subnet', str(exc)

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., bool]:
        if 'subnet' in arguments:
            arguments = {**arguments,
                         'subnet': _read_network(arguments['subnet'])}
        return super().bind(arguments)

    def __call__(self, address: typing.Any, subnet: typing.Any) -> bool:
        network = _read_network(subnet)
        try:
            read = read_address(str(address))
        except ValueError:
            return False
        return read in network


@text_cache.for_short(maxsize=1024, longest=_LONGEST_KNOWN)
def read_address(text: str) -> _Address:
    """Return the IP address in a text, which may have a prefix behind it.

    :raises: ValueError if there is none, as in ``192.0.2.0/24`` and ``::/0``:
        these are subnets.
    """
    text = text.strip()
    if '/' not in text:
        return ipaddress.ip_address(text)
    read = ipaddress.ip_interface(text)
    # Both addresses of the smallest subnets are those of hosts.
    is_large = read.network.prefixlen < read.max_prefixlen - 1
    if is_large and int(read.ip) == int(read.network.network_address):
        raise ValueError(f'{text} is a subnet')
    return read.ip


def _read_network(subnet: typing.Any) -> _Network:
    if isinstance(subnet, _Network):
        return subnet
    try:
        return ipaddress.ip_network(str(subnet).strip(), strict=False)
    except ValueError as exc:
        raise exceptions.OperationError(
            _('"%s" is not an IP subnet') % (subnet,)) from exc


class RegexCondition(plugin.Condition):
    """A condition with a regular expression (:mod:`.pattern`)."""

    # A short text can make an expression take long.
    PAYS = True
    METHOD: typing.ClassVar[str]
    """The method of a compiled pattern that is called."""

    def facts(self, arguments: plugin.Arguments,
              inverted: bool = False) -> plugin.Facts:
        words = _words(arguments['regex'], self.METHOD == 'search')
        if words and _SHOWN_AS.isdisjoint(words):
            yield plugin.Fact(arguments['value'],
                              'none-of' if inverted else 'one-of', words)

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., bool]:
        if 'regex' not in arguments:
            return super().bind(arguments)
        holds = arguments['regex'].matcher(self.METHOD)
        if 'value' in arguments:
            return lambda allowance: holds(allowance, arguments['value'])
        return typing.cast(typing.Callable[..., bool], holds)

    def __call__(self, allowance: budget.Budget, value: typing.Any,
                 regex: pattern.Pattern) -> bool:
        return regex.matcher(self.METHOD)(allowance, value)


class Contains(RegexCondition):
    """``contains``: the regular expression matches somewhere in the value."""

    METHOD = 'search'


class Matches(RegexCondition):
    """``matches``: the regular expression matches the whole value."""

    METHOD = 'fullmatch'


def _words(regex: str, searches: bool) -> list[str]:
    """Return all texts that match, if the expression is a list of them."""
    anchored = (_ANCHORED if searches else _PERHAPS_ANCHORED).fullmatch(regex)
    if anchored is None:
        return []
    body = anchored[1]
    grouped = _GROUPED.fullmatch(body)
    if grouped is None and searches and '|' in body:
        # Each anchor belongs to one alternative only.
        return []
    words = (grouped[1] if grouped else body).split('|')
    if not all(map(_LITERAL.fullmatch, words)):
        return []
    return [re.sub(r'\\(.)', r'\1', word) for word in words]
