# SPDX-License-Identifier: Apache-2.0

"""IP addresses, each replaced by another of the same kind and notation."""

import ipaddress
import re

from ironic_inspection_rules.kit.machine.anonymity import digits

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NOT_PUBLIC = [ipaddress.ip_network(network) for network in (
    '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16',
    '100.64.0.0/10', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24',
    '198.18.0.0/15', 'fe80::/64', 'fd00::/8', 'fc00::/8', '2001:db8::/32')]
"""Networks that an address stays in: many sites use the same."""

_WITH_IPV4 = [ipaddress.ip_network(network) for network in (
    '::ffff:0:0/96', '64:ff9b::/96', '::/96')]
"""Networks of IPv6 whose addresses end in one of IPv4."""

_IPV4 = 32
_RESERVED_IPV4 = 0xf << 28
_LOCAL_IPV6 = 0xfd << 120
_WRITTEN_OUT = 39  # Characters of an IPv6 address with all its zeros.
_QUAD = re.compile(r'\d{1,3}(?:\.\d{1,3}){3}', re.ASCII)
_PADDED = re.compile(r'(?:^|\.)0\d')


class Addresses:
    """Replaces IP addresses and networks.

    Addresses of one network stay in one network. Private ones stay in their
    private network, public ones come into a reserved one.
    """

    def __init__(self, numbers: digits.Digits) -> None:
        self._numbers = numbers

    def replace(self, text: str) -> str | None:
        """Replace an address or a network; None if it is none.

        :param text: perhaps with a zone or a length: ``fe80::1%eth0``,
            ``10.0.0.0/8``.
        """
        written, slash, length = text.partition('/')
        host, percent, zone = written.partition('%')
        address = parse(host)
        if address is None or (slash and not length.isdecimal()):
            return None
        if is_common(address):
            return text
        network: int = address.max_prefixlen
        if slash:
            network = min(int(length), network)
        made = self._write(address, self._replaced(address, network), host)
        return f'{made}{percent}{zone}{slash}{length}'

    def packed(self, octets: bytes) -> bytes:
        """Replace an address of four or sixteen octets."""
        address = ipaddress.ip_address(octets)
        if is_common(address):
            return octets
        return self._replaced(address, address.max_prefixlen).packed

    def _replaced(self, address: Address, length: int) -> Address:
        if has_ipv4(address):
            inner = ipaddress.IPv4Address(address.packed[-4:])
            # A length counts from the beginning of the whole address.
            made = self._replaced(inner, max(0, length - 96))
            return ipaddress.ip_address(address.packed[:-4] + made.packed)
        width = address.max_prefixlen
        kept = next((network.prefixlen for network in _NOT_PUBLIC
                     if address.version == network.version
                     and address in network), 0)
        # Bit by bit, so that networks stay networks.
        bits = f'{int(address):0{width}b}'
        shifted = self._numbers.shift(
            tuple(map(int, bits[kept:])), (2,) * (width - kept),
            f'net {bits[:kept]}', True)
        value = int(bits[:kept] + ''.join(map(str, shifted)), 2)
        if not kept and width == _IPV4:
            value = value & (1 << 28) - 1 | _RESERVED_IPV4
        elif not kept:
            value = value & (1 << 120) - 1 | _LOCAL_IPV6
        suffix = width - length
        if not int(address) & (1 << suffix) - 1:
            value = value >> suffix << suffix
        return type(address)(value)

    @staticmethod
    def _write(address: Address, made: Address, host: str) -> str:
        """Write an address in the notation of another one."""
        if isinstance(made, ipaddress.IPv4Address):
            if not _PADDED.search(host):
                return str(made)
            return '.'.join(f'{part:03}' for part in made.packed)
        if '.' in host:
            if made.packed[:12] == address.packed[:12]:
                head = host[:host.rindex(':') + 1]
                return head + str(ipaddress.IPv4Address(made.packed[-4:]))
            return str(made)
        written = made.compressed
        if '.' in written:
            # Newer Python writes addresses with one of IPv4 so.
            head, tail = made.packed[-4:-2].hex(), made.packed[-2:].hex()
            written = f'::ffff:{int(head, 16):x}:{int(tail, 16):x}'
        if len(host) == _WRITTEN_OUT:
            written = made.exploded
        elif '::' not in host:
            written = ':'.join(f'{int(group, 16):x}'
                               for group in made.exploded.split(':'))
        return digits.cased(host, written)


def parse(host: str) -> Address | None:
    """Return an address, also one with leading zeros: ``010.000.000.001``."""
    if _QUAD.fullmatch(host):
        host = '.'.join(str(int(part)) for part in host.split('.'))
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def has_ipv4(address: Address) -> bool:
    """Return whether an address of IPv6 ends in one of IPv4."""
    return any(address.version == network.version and address in network
               for network in _WITH_IPV4)


def is_common(address: Address) -> bool:
    """Return whether an address identifies nobody, such as a netmask."""
    if (address.is_unspecified or address.is_loopback or address.is_multicast):
        return True
    if isinstance(address, ipaddress.IPv6Address):
        return has_ipv4(address) and is_common(
            ipaddress.IPv4Address(address.packed[-4:]))
    if not address.packed[0]:
        # "This network": no host has an address of it.
        return True
    rest = ~int(address) & (1 << _IPV4) - 1
    return rest & rest + 1 == 0 and rest.bit_length() <= 24
