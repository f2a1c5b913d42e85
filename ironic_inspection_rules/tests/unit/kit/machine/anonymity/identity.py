# SPDX-License-Identifier: Apache-2.0

"""Identifiers made by chance, and the notations that machines use.

Nothing here knows how the product finds them: it writes, and reads back what
stands in the place of what it wrote.
"""

import dataclasses
import ipaddress
import re
import string
import uuid


@dataclasses.dataclass(frozen=True)
class Identifier:
    """Something that says which machine it is.

    :ivar kind: key of ``NOTATIONS``.
    :ivar text: its plain form, in small letters if case says nothing.
    :ivar known: whether a field of the machine has it.
    """

    kind: str
    text: str
    known: bool


@dataclasses.dataclass(frozen=True)
class Notation:
    """A way to write an identifier.

    :ivar pattern: with ``{}`` where the written identifier stands.
    :ivar style: how it is written.
    :ivar known: whether only a known identifier can be found in it.
    """

    pattern: str
    style: str
    known: bool = False


_ANY = (
    '{}',
    '({})',
    'seen {} here',
    '"{}"',
    'a={};b=1',
    'x,{},y',
    'is {}.',
    '<{}>',
    'at {}\nnext',
    'n\t{}',
    "'{}'",
    '/{}/',
    'eth0: {}',
)
_LABEL = (
    'addr:{}',
    'HWaddr {}',
    'iface:{}',
    'mac={}',
    'inet6 addr: {}',
    'inet6:{}',
    'node_{}',
    'ether {} txqueuelen 1000',
)
_MASK = '255.255.255.0'
_NOTATIONS = {
    'mac': [
        (
            'colon COLON dash DASH cisco',
            False,
            (*_ANY, *_LABEL, '{}.100', 'port:{}', '{}@if3', '12:30 {} 12:31'),
        ),
        ('dash', False, ('BOOTIF=01-{}', 'quiet BOOTIF=01-{} a=b')),
        (
            'colon',
            False,
            (
                '01:{}',
                '{}:eth0',
                'MAC{}',
                'eth0:{}',
                '{} 0000:3b:00.0',
                '20:01:{}',
                '10:00:{}',
            ),
        ),
        ('eui guid', False, ('ff:00:00:00:00:00:02:00:00:02:c9:00:{}',)),
        ('bare', False, ('enx{}', '/sys/class/net/enx{}/mtu', '0x1000{}')),
        ('eui EUI guid', False, (*_ANY, 'port guid {}')),
        ('bare_eui bare_guid slaac', True, (*_ANY, 'scope {}')),
        ('bare BARE hp huawei blank under short', True, (*_ANY, 'ID {}')),
        ('bare', True, ('01{}', 'nic{}', 'v{}x')),
    ],
    'ipv4': [
        (
            'plain',
            False,
            (
                *_ANY,
                *_LABEL,
                '{}:5050',
                '{}/24',
                '{}/' + _MASK,
                '{}:22 open',
                'http://{}:6385/v1',
                'tftp://{}/boot',
                'root@{}',
                '{}:/export',
                'ip={}::127.0.0.1:' + _MASK + '::eth0:none',
                'ip=::{}:' + _MASK + '::eth0:dhcp',
                'ip=:{}:::::',
                '{}-x',
                'nfsroot={}:/srv',
                'nameserver={}',
                '[{}]:22',
                '{} 1.7.3.4.5',
                'bmc-{}',
                'ip:{},mask:' + _MASK,
                'a:b:{}',
                '1:{}',
                '::{}',
                'ip=dhcp nameserver={} v=1',
                '64:ff9b::{}',
                'Bcast:{}  Mask:' + _MASK,
                'FE::{}',
            ),
        ),
        ('padded', False, (*_ANY, 'IP Address : {}')),
        ('mapped MAPPED', False, (*_ANY, '[{}]:22', 'addr:{}', '{}/120')),
        ('mapped_hex nat64_hex', False, (*_ANY, '[{}]:22')),
        (
            'plain',
            True,
            (
                'x{}',
                '{}eth',
                'v{}',
                'version {}',
                '{}.22',
                'firmware {}',
                'tcp {}.443: ok',
            ),
        ),
        (
            'dashes underscores',
            False,
            (
                *_ANY,
                'ip-{}',
                'ip-{}.internal',
                'node-{}',
                'rack2-{}-eth0',
                'bmc_{}',
                '{}.example',
            ),
        ),
        ('hex HEX', True, ('{}', 'pxelinux.cfg/{}', 'a {} b')),
    ],
    'ipv6': [
        (
            'plain PLAIN exploded groups',
            False,
            (
                *_ANY,
                *_LABEL,
                '{}/64',
                '{}/128',
                '{}%eth0',
                '{}%eth0/64',
                '{}:eth0',
                'http://[{}]:6385/v1',
                '[{}]',
                '[{}]:22',
                'root@{}',
                'ip=[{}]::[::]:64::eth0:none',
                '{},mask:64',
                'src {} dst ::1',
            ),
        ),
        ('packed', True, (*_ANY, 'raw{}')),
    ],
    'name': [
        (
            'plain UPPER lower',
            True,
            (
                *_ANY,
                'http://{}:80/x',
                '{}:/export',
                '[{}]',
                'ata-MODEL_{}',
                '{}-part1',
                'this is {}!',
                'n={}',
                '{}_a',
            ),
        ),
        (
            'plain',
            False,
            (
                'http://{}/',
                'tftp://{}:69/boot',
                'ip=::::{}:eth0:none',
                'hostname={} quiet',
                'systemd.hostname={}',
                'Host Name: {}',
            ),
        ),
        ('ascii', True, ('{}', 'raw {}', '00ff{}00ff')),
    ],
    'serial': [
        (
            'plain lower',
            True,
            (
                *_ANY,
                'ata-MODEL_{}',
                '{}-part1',
                'S/N {}',
                '/dev/disk/by-id/{}',
                '..{}.',
                'SN{}',
                '{}X',
            ),
        ),
        (
            'plain',
            False,
            (
                'Serial Number: {}',
                'serial={} a',
                'S/N: {}',
                'Service Tag: {}\n',
            ),
        ),
        ('ascii', True, ('{}', 'nvme.144d-{}-5341')),
        ('grouped spaced', True, _ANY),
    ],
    'number': [
        ('plain', True, (*_ANY, 'ata-MODEL_{}', 'S/N {}', '#{}')),
        ('grouped spaced', True, _ANY),
    ],
    'wwn': [
        (
            'plain UPPER',
            False,
            ('0x{}', 'wwn-0x{}-part1', 'naa.{}', '(0x{})', 'a 0x{}, b'),
        ),
        ('octets', False, (*_ANY, 'port {}')),
        ('plain UPPER', True, (*_ANY, 'scsi-3{}', '3{}', 'mpath3{}')),
    ],
    'uuid': [
        (
            'plain UPPER',
            False,
            (*_ANY, 'UUID={}', 'urn:uuid:{}', '/dev/disk/by-uuid/{}'),
        ),
        ('bare', True, (*_ANY, 'id{}')),
    ],
    'short': [('plain', True, ('{}', '({})', 'S/N {} ok'))],
}
KINDS = ('mac', 'ipv4', 'ipv6', 'name', 'serial', 'number', 'wwn', 'uuid')
_ALL = {
    kind: [
        Notation(pattern, style, known)
        for styles, known, patterns in rows
        for style in styles.split()
        for pattern in patterns
    ]
    for kind, rows in _NOTATIONS.items()
}


def notation(kind, chance):
    """Return a notation of a kind of identifiers.

    What is around it matters as often as how it is written.
    """
    special = chance.random() < 0.5
    found = [
        known for known in _ALL[kind] if (known.pattern in _ANY) != special
    ]
    return chance.choice(found or _ALL[kind])


_SEPARATORS = {
    'colon': ':',
    'COLON': ':',
    'dash': '-',
    'DASH': '-',
    'blank': ' ',
    'under': '_',
}


def write(identifier, style):
    """Return an identifier in a style."""
    written = _written(identifier, style.lower())
    if identifier.kind == 'name' and style == 'lower':
        return written.lower()
    return written.upper() if style.isupper() else written


def _written(identifier, style):
    kind, text = identifier.kind, identifier.text
    if kind == 'mac':
        return _mac(text, style)
    if kind == 'ipv4':
        return _ipv4(ipaddress.IPv4Address(text), style)
    if kind == 'ipv6':
        address = ipaddress.IPv6Address(text)
        return {
            'plain': str(address),
            'exploded': address.exploded,
            'groups': ':'.join(
                f'{int(group, 16):x}' for group in address.exploded.split(':')
            ),
            'packed': address.packed.hex(),
        }[style]
    if style == 'ascii':
        return text.encode().hex()
    if style == 'lower':
        return text.lower()
    if style == 'octets':
        return ':'.join(re.findall('..', text))
    if style == 'bare':
        return text.replace('-', '')
    if style == 'grouped':
        return '-'.join(re.findall('.{1,4}', text))
    if style == 'spaced':
        return ' '.join(re.findall('.{1,4}', text))
    return text


def _mac(text, style):
    pairs = re.findall('..', text)
    if style in _SEPARATORS:
        return _SEPARATORS[style].join(pairs)
    head, tail = text[:6], text[6:]
    flipped = f'{int(text[:2], 16) ^ 2:02x}{text[2:6]}'
    return {
        'bare': text,
        'cisco': '.'.join(re.findall('....', text)),
        'huawei': '-'.join(re.findall('....', text)),
        'hp': f'{head}-{tail}',
        'short': ':'.join(pair.removeprefix('0') for pair in pairs),
        'eui': ':'.join([*pairs[:3], 'ff', 'fe', *pairs[3:]]),
        'guid': ':'.join([*pairs[:3], '03', '00', *pairs[3:]]),
        'bare_eui': f'{head}fffe{tail}',
        'bare_guid': f'{head}0300{tail}',
        'slaac': f'{flipped}fffe{tail}',
    }[style]


def _ipv4(address, style):
    packed = address.packed.hex()
    return {
        'plain': str(address),
        'hex': packed,
        'mapped': f'::ffff:{address}',
        'padded': '.'.join(f'{part:03}' for part in address.packed),
        'mapped_hex': f'::ffff:{int(packed[:4], 16):x}'
        f':{int(packed[4:], 16):x}',
        'nat64_hex': str(
            ipaddress.IPv6Address(
                bytes.fromhex('0064ff9b') + b'\0' * 8 + address.packed
            )
        ),
        'dashes': str(address).replace('.', '-'),
        'underscores': str(address).replace('.', '_'),
    }[style]


def read(kind, style, written):
    """Return the plain form of what is written in a style.

    :raises ValueError: if it is none of that form.
    """
    style, text = style.lower(), written.lower()
    if kind == 'mac':
        plain = _read_mac(style, text)
    elif kind == 'ipv4':
        plain = _read_ipv4(style, text)
    elif kind == 'ipv6':
        plain = str(
            ipaddress.IPv6Address(
                bytes.fromhex(text) if style == 'packed' else text
            )
        )
    elif style == 'ascii':
        return bytes.fromhex(text).decode().lower()
    elif kind == 'uuid':
        plain = str(uuid.UUID(text))
    elif style == 'octets':
        plain = text.replace(':', '')
    elif style in ('grouped', 'spaced'):
        plain = re.sub('[- ]', '', text)
    else:
        return text
    again = _written(Identifier(kind, plain, False), style)
    # An address may be the same with zeros and without.
    if again != text and style not in ('padded', 'short'):
        raise ValueError(f'{written} is written in another way: {again}')
    return plain


def check_notation(before, after):
    """Check that capitals are still capitals, and zeros in front there.

    :raises ValueError: if they are not.
    """
    if (
        before != before.lower()
        and before == before.upper()
        and (after != after.upper())
    ):
        raise ValueError(f'small letters in {after}')
    if re.fullmatch(r'\d{3}(\.\d{3}){3}', before) and (
        re.search(r'\b0', before) and len(after) != len(before)
    ):
        raise ValueError(f'fewer zeros in {after}')


def _read_mac(style, text):
    if style == 'short':
        digits = ''.join(pair.zfill(2) for pair in text.split(':'))
    else:
        digits = ''.join(
            character for character in text if character in string.hexdigits
        )
    if style in ('eui', 'guid', 'bare_eui', 'bare_guid', 'slaac'):
        digits = digits[:6] + digits[10:]
    if style == 'slaac':
        digits = f'{int(digits[:2], 16) ^ 2:02x}{digits[2:]}'
    if len(digits) != 12:
        raise ValueError(f'{text} is no MAC address')
    return digits


def _read_ipv4(style, text):
    if style == 'hex':
        return str(ipaddress.IPv4Address(bytes.fromhex(text)))
    if style in ('mapped', 'mapped_hex', 'nat64_hex'):
        return str(
            ipaddress.IPv4Address(ipaddress.IPv6Address(text).packed[-4:])
        )
    parts = re.split('[._-]', text)
    return str(
        ipaddress.IPv4Address('.'.join(str(int(part)) for part in parts))
    )
