# SPDX-License-Identifier: Apache-2.0

"""Machines with planted identifiers."""

import dataclasses
import random
import re

from ironic_inspection_rules.tests.unit.kit.machine.anonymity import identity
from ironic_inspection_rules.tests.unit.kit.machine.anonymity import marking
from ironic_inspection_rules.tests.unit.kit.machine.anonymity import sample
from ironic_inspection_rules.tests.unit.kit.machine.anonymity import source


def site(seed):
    """Return identifiers that many machines share, by their kind."""
    chance = source.Source(random.Random(seed))
    return {kind: chance.make(kind, True) for kind in identity.KINDS}


class Planter:
    """Plants identifiers in a machine.

    :param site: identifiers that all machines of a key share, by kind.
    :param published: data of another machine, with marks, in which
        identifiers are planted too.
    :ivar machine: data, with marks.
    :ivar identifiers: all that were planted.
    """

    def __init__(self, seed, count, site, published=None):
        self._chance = random.Random(seed)
        self._source = source.Source(self._chance)
        self.identifiers = []
        self._own = {}
        for kind in identity.KINDS:
            self._own[kind] = [
                self._new(kind, True),
                site[kind],
                self._new(kind, kind == 'serial'),
            ]
            self.identifiers.append(site[kind])
        self._own['short'] = [self._short()]
        self.machine = sample.machine(self._mark)
        self._mappings = [*sample.open_mappings(self.machine)]
        if published:
            self.machine['published'] = published
            self._mappings = [*_mappings(published), *self._mappings]
        for number in range(count):
            self._plant(number)

    def _mark(self, kind, number, style='plain', before='', after=''):
        identifier = self._own[kind][number]
        if style == 'integer':
            return marking.Number((marking.Mark(identifier),))
        return marking.Text((before, marking.Mark(identifier, style), after))

    def _new(self, kind, known):
        made = self._source.make(kind, known)
        if kind in self._own and self._chance.random() < 0.5:
            near = dataclasses.replace(self._own[kind][0], known=known)
            made = self._source.neighbour(near)
        self.identifiers.append(made)
        return made

    def _short(self):
        """Return a serial number that is a part of an address or a date."""
        mac = re.findall('..', self._own['mac'][0].text)
        quad = self._own['ipv4'][0].text.split('.')
        parts = (
            ':'.join(mac[-2:]),
            ':'.join(mac[2:4]),
            '-'.join(mac[-2:]),
            '.'.join(quad[-2:]),
            '.'.join(quad[:2]),
            f'x-{mac[0]}y',
            f'{mac[5]}:{mac[0]}',
            ''.join(mac[-2:]) + 'q',
            '3b:00',
            '34:56',
            '11-25',
        )
        # Shorter ones are only replaced where their field says what they are.
        return identity.Identifier(
            'short',
            self._chance.choice([part for part in parts if len(part) > 3]),
            True,
        )

    def _plant(self, number):
        kind = self._chance.choice(list(self._own))
        notation = identity.notation(kind, self._chance)
        if notation.known or kind == 'short' or self._chance.random() < 0.5:
            identifier = self._chance.choice(
                [own for own in self._own[kind] if own.known]
            )
        else:
            identifier = self._new(kind, False)
        before, after = notation.pattern.split('{}')
        mark = marking.Mark(identifier, notation.style)
        text = marking.Text((before, mark, after))
        name = f'note{number}'
        mappings = self._mappings
        if not identifier.known and ' ' not in notation.pattern:
            # Nobody can know that four numbers beside versions are none.
            mappings = mappings[: -sample.WITH_VERSIONS]
        mapping = self._chance.choice(mappings)
        place = self._chance.randrange(7)
        if place == 0 and kind != 'short':
            mapping[marking.Text((f'{number} ', *text.pieces))] = True
        elif place == 1:
            mapping[name] = [number, {'inner': [text]}]
        elif place == 2 and kind == 'number':
            mapping[name] = marking.Number((marking.Mark(identifier),))
        elif place == 3:
            sample.frames(self.machine).append(
                [6, marking.Hexadecimal(text.pieces)]
            )
        elif place == 4:
            sample.items(self.machine).append(['system', 'x', name, text])
        elif place == 5:
            mapping[
                self._chance.choice(
                    ('kernel_cmdline', 'kernel command line', 'cmdline')
                )
                + '_' * number
            ] = text
        else:
            mapping[name] = text


def _mappings(value):
    """Yield the mappings whose names say nothing of their fields."""
    if isinstance(value, dict):
        yield value
        for name, item in value.items():
            if name.value() in (
                'inventory',
                'interfaces',
                'disks',
                'plugin_data',
                'memory',
                'boot',
            ):
                yield from _mappings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _mappings(item)
