# SPDX-License-Identifier: Apache-2.0

"""Conditions on one value (spec 003 "Available conditions")."""

import ipaddress
import itertools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import text_cache
from ironic_inspection_rules.i18n import _

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_LONGEST_KNOWN = 64
"""Longest text of a machine that is cached, in characters."""


_FALSE = [None, False, *(''.join(letters) for word in ('no', 'false')
                         for letters in itertools.product(
                             *((letter, letter.upper()) for letter in word)))]


class _Listed(plugin.Condition):
    """A condition on one value that holds for few of them."""

    ACCEPTS_MISSING = True

    VALUES: typing.ClassVar[list[typing.Any]]

    def facts(self, arguments: plugin.Arguments,
              inverted: bool = False) -> typing.Iterator[plugin.Fact]:
        yield plugin.Fact(arguments['value'],
                          'none-of' if inverted else 'one-of', self.VALUES)


class IsTrue(plugin.Condition):
    """``is-true``: true, a number other than zero, "yes" or "true"."""

    ACCEPTS_MISSING = True

    def facts(self, arguments: plugin.Arguments,
              inverted: bool = False) -> typing.Iterator[plugin.Fact]:
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
        return value is None or (
            isinstance(value, int | float) and not value)


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

    What is no IP address is in no subnet.
    """

    SCHEMAS = {'subnet': [
        {'type': 'string', 'pattern': r'^\s*[0-9A-Fa-f:]'}]}

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
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
            read = _read_address(str(address))
        except ValueError:
            return False
        return read.version == network.version and read in network


@text_cache.for_short(maxsize=1024, longest=_LONGEST_KNOWN)
def _read_address(text: str) -> _Address:
    return ipaddress.ip_address(text.strip().partition('/')[0])


def _read_network(subnet: typing.Any) -> _Network:
    if isinstance(subnet, _Network):
        return subnet
    try:
        return ipaddress.ip_network(str(subnet).strip(), strict=False)
    except ValueError as exc:
        raise exceptions.OperationError(
            _('"%s" is not an IP subnet') % (subnet,)) from exc
