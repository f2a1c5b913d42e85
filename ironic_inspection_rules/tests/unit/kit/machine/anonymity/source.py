# SPDX-License-Identifier: Apache-2.0

"""Identifiers made by chance."""

import dataclasses
import ipaddress
import random
import re
import uuid

from ironic_inspection_rules.tests.unit.kit.machine.anonymity import identity


class Source:
    """Makes identifiers from a seed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def make(self, kind, known):
        return identity.Identifier(kind, getattr(self, f'_{kind}')(), known)

    def neighbour(self, identifier):
        """Return an identifier that differs in a character, or another."""
        text = identifier.text
        place = self._chance.randrange(len(text) * 2 // 3, len(text))
        digit = self._chance.choice('123456789')
        if (
            not text[place].isdigit()
            or text[place] == digit
            or (identifier.kind in ('ipv4', 'ipv6', 'name'))
        ):
            return self.make(identifier.kind, identifier.known)
        return dataclasses.replace(
            identifier, text=text[:place] + digit + text[place + 1 :]
        )

    def _digits(self, count, digits='0123456789abcdef'):
        return ''.join(self._chance.choices(digits, k=count))

    def _mac(self):
        while True:
            text = self._chance.choice(
                (
                    'ac1f6b',
                    '525400',
                    '00163e',
                    '0242ac',
                    '7cfe90',
                    'aabbcc',
                    '40a6b7',
                    '5cba2c',
                )
            ) + self._digits(6)
            # A MAC address of digits alone is no other than a number.
            if re.search('[a-f]', text):
                return text

    def _ipv4(self):
        return '.'.join(
            map(
                str,
                (
                    *self._chance.choice(
                        (
                            (10, 31),
                            (172, 22),
                            (192, 168),
                            (100, 70),
                            (46, 140),
                            (10, 0),
                        )
                    ),
                    self._chance.randrange(1, 250),
                    self._chance.randrange(1, 250),
                ),
            )
        )

    def _ipv6(self):
        network = self._chance.choice(
            ('2a01:4f8:aaaa::', '2001:db8::', 'fe80::', 'fd12:3456:789a::')
        )
        host = self._chance.choice(
            (self._chance.getrandbits(64), self._chance.randrange(1, 1 << 32))
        )
        return str(ipaddress.IPv6Address(network) + host)

    def _name(self):
        name = self._chance.choice(('rack', 'db', 'Node-', 'qx'))
        name += self._digits(5, 'ghjkmnpqrtvwz') + self._chance.choice(
            ('', '-07', '12', '-n3')
        )
        return name + self._chance.choice(('', '', '.rz.qzcorp.example'))

    def _serial(self):
        return (
            self._digits(2, 'GHJKMN')
            + self._digits(8, 'ABCDGHJKLMNPQRTVWXYZ0123456789')
            + self._digits(2, '456789')
        )

    def _number(self):
        return self._digits(1, '123456789') + self._digits(9, '0123456789')

    def _wwn(self):
        head = self._chance.choice(
            ('5000c50', '500605b', '600508b', '0025385', 'e4d2e45')
        )
        count = 32 if head[0] == '6' else 16
        return (
            head
            + self._digits(count - 8 - 1)
            + self._digits(1, 'abcdef')
            + self._digits(1)
        )

    def _uuid(self):
        return str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
