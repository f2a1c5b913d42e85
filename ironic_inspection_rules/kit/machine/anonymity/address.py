# SPDX-License-Identifier: Apache-2.0

"""Replace IP addresses by others of the same kind and notation.

Some addresses identify nobody, such as 127.0.0.1 and the netmask
255.255.255.0. They are called common, and are not replaced.
"""

import ipaddress
import re

from ironic_inspection_rules.kit.machine.anonymity import digits

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_PRIVATE_NETWORKS = list(
    map(
        ipaddress.ip_network,
        (
            '10.0.0.0/8',
            '172.16.0.0/12',
            '192.168.0.0/16',
            '169.254.0.0/16',
            '100.64.0.0/10',
            '192.0.2.0/24',
            '198.51.100.0/24',
            '203.0.113.0/24',
            '198.18.0.0/15',
            'fe80::/64',
            'fd00::/8',
            'fc00::/8',
            '2001:db8::/32',
        ),
    )
)
"""Networks in which the replacement of an address stays.

Many sites use these networks, so the network identifies nobody.
"""

_NETWORKS_WITH_IPV4 = list(
    map(
        ipaddress.ip_network,
        (
            '::ffff:0:0/96',
            '64:ff9b::/96',
            '::/96',
        ),
    )
)
"""IPv6 networks whose addresses end with an IPv4 address."""

_BITS_OF_IPV4 = 32
_NUMBERS_OF_IPV4 = 4

_BITS_BEFORE_IPV4 = 96
"""Number of bits before the IPv4 address in an IPv6 address."""

_UNUSED_IPV4_NETWORK = 0xF << 28
"""The network 240.0.0.0/4, which is not in use."""

_SITE_IPV6_NETWORK = 0xFD << 120
"""The network fd00::/8, whose addresses are local to a site."""

_LENGTH_WITH_ALL_ZEROS = 39
"""Number of characters of an IPv6 address that is written with all zeros."""

# An IPv4 address, whose numbers may have leading zeros.
_QUAD = re.compile(r'\d{1,3}(?:\.\d{1,3}){3}', re.ASCII)
# A number with a leading zero in an address: 010.000.000.001.
_HAS_LEADING_ZERO = re.compile(r'(?:^|\.)0\d')


class AddressReplacer:
    """Replaces IP addresses and networks.

    Addresses that are in one network get replacements that are in one network.
    Private addresses stay in their private network. All others move to
    240.0.0.0/4, which is not in use, or to fd00::/8.
    """

    def __init__(self, numbers: digits.DigitReplacer) -> None:
        self._numbers = numbers

    def replace(self, text: str) -> str | None:
        """Replace a text that is an address or a network.

        The zone and the prefix length stay: ``fe80::1%eth0`` becomes another
        address in the zone ``eth0``. An address that identifies nobody, such
        as a netmask, is not replaced.

        :param text: the text, e.g. ``10.0.0.1``, ``fe80::1%eth0`` or
            ``10.0.0.0/8``.
        :returns: None for any other text, including a network with a netmask
            instead of a prefix length.
        """
        host_and_zone, slash, length = text.partition('/')
        host, percent, zone = host_and_zone.partition('%')
        address = parse(host)
        if address is None or (slash and not length.isdecimal()):
            return None
        if is_common(address):
            return text
        prefix_length: int = address.max_prefixlen
        if slash:
            # A machine may write any number after the slash.
            prefix_length = min(int(length), prefix_length)
        replacement = self._replace_bits(address, prefix_length)
        new_host = _write_like(address, replacement, host)
        return f'{new_host}{percent}{zone}{slash}{length}'

    def replace_quad(self, text: str) -> str:
        """Replace an IPv4 address, and keep its separator.

        Four numbers that are not an address stay, and so does an address that
        identifies nobody.

        :param text: the address, such as ``10.0.0.1``, ``10-0-0-1`` or
            ``10_0_0_1``.
        """
        separator = re.sub('[0-9]', '', text)[0]
        replacement = self.replace(text.replace(separator, '.'))
        if replacement is None:
            return text
        return replacement.replace('.', separator)

    def packed(self, octets: bytes) -> bytes:
        """Replace an address that is given as four or sixteen octets.

        An address that identifies nobody stays, as in :meth:`replace`.
        """
        address = ipaddress.ip_address(octets)
        if is_common(address):
            return octets
        return self._replace_bits(address, address.max_prefixlen).packed

    def _replace_bits(self, address: Address, length: int) -> Address:
        """Replace an address by another address of the same kind.

        If two addresses begin with the same bits, their replacements do, too.
        Therefore the hosts of one network remain in one network.

        :param length: the prefix length, e.g. 24 for ``10.0.0.0/24``; for a
            single host, the number of bits of the address.
        """
        if has_ipv4(address):
            # "::ffff:10.0.0.0/120" is the network 10.0.0.0/24 in IPv6.
            inner_length = max(0, length - _BITS_BEFORE_IPV4)
            inner = self._replace_bits(_ipv4_at_end(address), inner_length)
            return ipaddress.ip_address(address.packed[:-4] + inner.packed)
        width = address.max_prefixlen
        # The bits of a private network stay.
        fixed_length = _length_of_private_network(address)
        value = self._shift_bits(address, fixed_length)
        # The replacement of a public address must not be an address of
        # somebody else.
        is_public = fixed_length == 0
        if is_public and width == _BITS_OF_IPV4:
            # The first four bits are those of 240.0.0.0/4.
            value = _last_bits(value, 28) | _UNUSED_IPV4_NETWORK
        elif is_public:
            # The first eight bits are those of fd00::/8.
            value = _last_bits(value, 120) | _SITE_IPV6_NETWORK
        # The address of a network, e.g. 10.0.0.0/24, has zeros in place of the
        # host. Its replacement must have them, too.
        host_length = width - length
        names_network = _last_bits(int(address), host_length) == 0
        if names_network:
            value = value >> host_length << host_length
        return type(address)(value)

    def _shift_bits(self, address: Address, fixed_length: int) -> int:
        """Return an address as a number, with its last bits replaced.

        The replacement of a bit depends only on the bits before it and on the
        key.

        :param fixed_length: the number of leading bits that stay.
        """
        bits = f'{int(address):0{address.max_prefixlen}b}'
        fixed_bits = bits[:fixed_length]
        free_bits = tuple(map(int, bits[fixed_length:]))
        bases = (2,) * len(free_bits)
        # Prefixes are kept because addresses that begin alike are in one
        # network, and their replacements must be, too.
        shifted = self._numbers.shift(
            free_bits, bases, f'net {fixed_bits}', keeps_prefixes=True
        )
        new_bits = ''.join(map(str, shifted))
        return int(fixed_bits + new_bits, 2)


def _last_bits(number: int, count: int) -> int:
    """Return the last bits of a number, as a number.

    For example, the last four bits of ``0b10110101`` are ``0b0101``.
    """
    return number & ((1 << count) - 1)


def _ipv4_at_end(address: Address) -> ipaddress.IPv4Address:
    """Return the IPv4 address at the end of an IPv6 address."""
    return ipaddress.IPv4Address(address.packed[-4:])


def _length_of_private_network(address: Address) -> int:
    """Return the prefix length of the private network of an address.

    For example, 8 for 10.1.2.3, which is in 10.0.0.0/8. These bits stay when
    the address is replaced.

    :returns: 0 for a public address.
    """
    for network in _PRIVATE_NETWORKS:
        if address.version == network.version and address in network:
            return network.prefixlen
    return 0


def _write_like(address: Address, replacement: Address, host: str) -> str:
    """Write a replacement in the notation of the original address.

    For example, if 10.7.8.9 replaces ``010.000.000.001``, the result is
    ``010.007.008.009``. IPv6 has more notations: ``FE80::1``, addresses with
    all zeros, and ``::ffff:10.0.0.1``.

    :param host: the address as it was written.
    """
    if isinstance(replacement, ipaddress.IPv4Address):
        if _HAS_LEADING_ZERO.search(host):
            return '.'.join(f'{part:03}' for part in replacement.packed)
        return str(replacement)
    if '.' in host:
        # An IPv6 address with an IPv4 address at its end: ::ffff:10.0.0.1.
        if replacement.packed[:12] != address.packed[:12]:
            # The address is not in a network of such addresses, so all of it
            # was replaced.
            return str(replacement)
        before_ipv4 = host[: host.rindex(':') + 1]
        return f'{before_ipv4}{_ipv4_at_end(replacement)}'
    if len(host) == _LENGTH_WITH_ALL_ZEROS:
        text = replacement.exploded
    elif '::' not in host:
        # All groups are written, but without leading zeros.
        groups = replacement.exploded.split(':')
        text = ':'.join(f'{int(group, 16):x}' for group in groups)
    else:
        text = _compress_without_dots(replacement)
    return digits.in_same_case(host, text)


def _compress_without_dots(address: ipaddress.IPv6Address) -> str:
    """Write an IPv6 address in its shortest form: ``::ffff:a00:1``.

    Newer releases of Python write this address as ``::ffff:10.0.0.1``.
    """
    text = address.compressed
    if '.' not in text:
        return text
    first_group = int.from_bytes(address.packed[-4:-2])
    second_group = int.from_bytes(address.packed[-2:])
    return f'::ffff:{first_group:x}:{second_group:x}'


def parse(host: str) -> Address | None:
    """Parse an address; return None for other texts.

    The numbers of an IPv4 address may have leading zeros: ``010.000.000.001``.
    """
    if _QUAD.fullmatch(host):
        host = '.'.join(str(int(part)) for part in host.split('.'))
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def from_reverse(name: str) -> str | None:
    """Return the address or the network that a reverse zone names.

    For example, ``10.0.0.1`` for ``1.0.0.10.in-addr.arpa`` and ``10.0.0.0/24``
    for ``0.0.10.in-addr.arpa``. The numbers are in reverse order.

    :param name: the name of the zone; for IPv6, 32 digits before ``ip6.arpa``.
    :returns: None if the numbers are too large.
    """
    *labels, zone, _arpa = name.split('.')
    labels.reverse()
    if zone.lower() == 'ip6':
        digits_of_groups = ''.join(labels)
        groups = re.findall('....', digits_of_groups)
        return ':'.join(groups)
    # A network has fewer numbers than an address.
    missing = _NUMBERS_OF_IPV4 - len(labels)
    host = '.'.join(labels + ['0'] * missing)
    if parse(host) is None:
        return None
    if missing:
        return f'{host}/{8 * len(labels)}'
    return host


def to_reverse(text: str, name: str) -> str:
    """Write an address or a network as the name of a reverse zone.

    For example, ``10.0.0.0/24`` becomes ``0.0.10.in-addr.arpa``.

    :param text: an address or a network in the form that :func:`from_reverse`
        returns.
    :param name: the name to replace, which has the same number of labels.
    """
    *old_labels, zone, arpa = name.split('.')
    host = text.partition('/')[0]
    if ':' in host:
        groups = ipaddress.IPv6Address(host).exploded
        labels = list(groups.replace(':', ''))
    else:
        # The text is not parsed, because leading zeros must stay.
        labels = host.split('.')[: len(old_labels)]
    labels.reverse()
    return '.'.join([*labels, zone, arpa])


def has_ipv4(address: Address) -> bool:
    """Return whether an IPv6 address ends with an IPv4 address.

    For example, ``::ffff:10.0.0.1``. The result is False for IPv4 addresses.
    """
    return any(
        address.version == network.version and address in network
        for network in _NETWORKS_WITH_IPV4
    )


def is_common(address: Address) -> bool:
    """Return whether an address identifies nobody, so that it may stay.

    Examples are netmasks, loopback and multicast addresses, and 0.0.0.0/8.
    """
    if address.is_unspecified or address.is_loopback or address.is_multicast:
        return True
    if isinstance(address, ipaddress.IPv6Address):
        return has_ipv4(address) and is_common(_ipv4_at_end(address))
    if not address.packed[0]:
        # No host has an address of "this network", 0.0.0.0/8.
        return True
    # A netmask has ones followed by zeros. Its inverse is one less than a
    # power of two: 255.255.255.0 inverted is 255. If it has fewer than eight
    # ones, as 128.0.0.0, it is more likely an address.
    inverse = _last_bits(~int(address), _BITS_OF_IPV4)
    is_netmask = inverse & (inverse + 1) == 0
    return is_netmask and inverse.bit_length() <= 24
