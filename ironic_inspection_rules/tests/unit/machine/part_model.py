# SPDX-License-Identifier: Apache-2.0

"""Machines with true parts, and sources that report them in their ways.

Nothing here knows how the product reads or compares parts. A sight is what a
source has said of one true part, in plain terms.
"""

import dataclasses
import typing

KINDS = DIMM, DISK, INTERFACE, PCI = (
    'dimm',
    'disk',
    'interface',
    'pci-device',
)

SLOTS = 8

NAMES, NEVER, LATE, FICKLE, PARTLY, MIXED = (
    'names',
    'never',
    'late',
    'fickle',
    'partly',
    'mixed',
)
"""How a source reports identities: of all parts, of none, of all from an
inspection on, of all in every other inspection, of all makes but one, or of
every other part."""


@dataclasses.dataclass(eq=False)
class TruePart:
    """A part as it really is."""

    kind: str
    number: int
    serial: str
    wwn: str
    make: int
    slot: int
    paths: int = 1

    @property
    def mac(self) -> str:
        return '52:54:00:' + self.number.to_bytes(3, 'big').hex(':')


@dataclasses.dataclass(frozen=True)
class Sight:
    """What a source says of a part.

    :param ids: what it says to identify it, as :func:`plain`.
    :param make: what it says of its make.
    :param slot: where it says that it is.
    """

    ids: frozenset[str]
    make: int
    slot: str | None


def plain(identity: str) -> str:
    """Return an identity in the form in which sights have it.

    Serial numbers of digits are the same with and without zeros in front.
    """
    return str(int(identity)) if identity.isdigit() else identity.lower()


class Channel:
    """A source of parts of one kind.

    :param habit: how it reports identities.
    :param since: the first inspection in which a late one names parts.
    :param blind: whether it never reports a part.
    :param shy: whether it leaves a part out at times.
    """

    name = ''
    interface = 'agent'
    kind = ''
    slots = ''

    def __init__(
        self,
        habit: str,
        since: int,
        blind: typing.Callable[[TruePart], bool],
        shy: bool,
    ) -> None:
        self.habit = habit
        self.since = since
        self.blind = blind
        self.shy = shy

    def names(self, part: TruePart, time: int) -> bool:
        return {
            NAMES: True,
            NEVER: False,
            LATE: time >= self.since,
            FICKLE: time % 2 == 0,
            PARTLY: part.make > 0,
            MIXED: part.number % 2 == 0,
        }[self.habit]

    def identities(self, part: TruePart) -> list[str]:
        return [part.serial]

    def sees(self, machine: typing.Any, time: int) -> list[TruePart]:
        return [
            part
            for part in machine.parts
            if part.kind == self.kind
            and not self.blind(part)
            and not (self.shy and (part.number + 3 * time) % 7 == 0)
        ]

    def slot(self, part: TruePart) -> str | None:
        return f'{self.slots}{part.slot}' if self.slots else None

    def sights(self, machine: typing.Any, time: int) -> list[Sight]:
        """Return what it says, part by part, also of what it says twice."""
        return [
            Sight(
                frozenset(
                    map(plain, self.identities(part))
                    if self.names(part, time)
                    else ()
                ),
                part.make,
                self.slot(part),
            )
            for part in self.sees(machine, time)
        ]

    def report(
        self, machine: typing.Any, time: int, data: dict[str, typing.Any]
    ) -> None:
        """Write what it reports into an inspection's data."""
        raise NotImplementedError


class AgentDisks(Channel):
    name, kind, slots = 'agent disks', DISK, '/dev/disk/by-path/'
    fields: tuple[str, ...] = ('serial', 'wwn')

    def identities(self, part):
        return [getattr(part, field) for field in self.fields]

    def sees(self, machine, time):
        return [
            part
            for part in super().sees(machine, time)
            for _path in range(part.paths)
        ]

    def report(self, machine, time, data):
        data['inventory']['disks'] = [
            {
                'name': f'/dev/sd{number}',
                'size': (part.make + 1) * 10**9,
                'model': f'M{part.make}',
                'vendor': None,
                'rotational': False,
                'by_path': self.slot(part),
                **{
                    field: getattr(part, field)
                    if field in self.fields and self.names(part, time)
                    else None
                    for field in ('serial', 'wwn')
                },
            }
            for number, part in enumerate(self.sees(machine, time))
        ]


class RedfishDisks(Channel):
    name, kind, interface = 'redfish disks', DISK, 'redfish'

    def report(self, machine, time, data):
        data['inventory']['disks'] = [
            {
                'name': f'Disk {number}',
                'size': (part.make + 1) * 10**9,
                'model': f'RM{part.make}',
                'vendor': 'V',
                'serial': part.serial if self.names(part, time) else None,
            }
            for number, part in enumerate(self.sees(machine, time))
        ]


class RedfishDrives(RedfishDisks):
    name = 'redfish drives'

    def report(self, machine, time, data):
        drives = [
            {
                'name': f'Drive {number}',
                'capacity': part.make,
                'size': (part.make + 1) * 10**9,
                'manufacturer': 'V',
                'model': f'RM{part.make}',
                'serial_number': part.serial
                if self.names(part, time)
                else None,
            }
            for number, part in enumerate(self.sees(machine, time))
        ]
        data['inventory']['storage_controllers'] = [
            {'name': 'one', 'drives': drives[::2]},
            {'name': 'two', 'drives': drives[1::2]},
        ]


class ExtraHardware(Channel):
    """What Ironic's hook makes of the collector's list."""

    name, kind, slots = 'extra-hardware', DIMM, 'DIMM_A'

    def report(self, machine, time, data):
        seen = self.sees(machine, time)
        rows = [('total', 'size', str(sum(part.make for part in seen)))]
        for number, part in enumerate(seen):
            rows += [
                (f'bank:{number}', 'size', str(2 ** (33 + part.make))),
                (f'bank:{number}', 'vendor', 'Samsung'),
                (f'bank:{number}', 'description', 'DIMM DDR4'),
                (f'bank:{number}', 'slot', self.slot(part)),
            ]
            if self.names(part, time):
                rows.append((f'bank:{number}', 'serial', part.serial))
        rows += [
            (f'bank:{len(seen)}', 'description', 'DIMM DDR4 [empty]'),
            (f'bank:{len(seen)}', 'vendor', 'UNKNOWN'),
            (f'bank:{len(seen)}', 'slot', 'DIMM_B9'),
            ('banks', 'count', str(len(seen) + 1)),
        ]
        memory: dict[str, dict[str, typing.Any]] = {}
        for name, field, value in rows:
            try:
                value = int(value)
            except ValueError:
                pass
            memory.setdefault(name, {})[field] = value
        data['plugin_data']['extra'] = {'memory': memory}


class DmiDecode(Channel):
    name, kind, slots = 'dmi-decode', DIMM, 'DIMM_A'

    def report(self, machine, time, data):
        data['plugin_data']['dmi'] = {
            'bios': {},
            'cpu': [],
            'memory': {
                'devices': [
                    *(
                        {
                            'Size': f'{8 * (part.make + 1)} GB',
                            'Type': 'DDR4',
                            'Locator': self.slot(part),
                            'Manufacturer': 'Samsung',
                            'Serial Number': part.serial
                            if self.names(part, time)
                            else 'Not Specified',
                        }
                        for part in self.sees(machine, time)
                    ),
                    {
                        'Size': 'No Module Installed',
                        'Locator': 'DIMM_B9',
                        'Manufacturer': 'NO DIMM',
                        'Serial Number': 'NO DIMM',
                    },
                ]
            },
        }


class AgentInterfaces(Channel):
    name, kind, slots = 'agent interfaces', INTERFACE, '0000:00:0'

    def identities(self, part):
        return [part.mac]

    def names(self, part, time):
        return True

    def report(self, machine, time, data):
        data['inventory']['interfaces'] = [
            {
                'name': f'eth{number}',
                'mac_address': part.mac,
                'vendor': '0x8086',
                'product': f'0x{part.make}',
                'pci_address': self.slot(part),
                'has_carrier': bool(time % 2),
            }
            for number, part in enumerate(self.sees(machine, time))
        ]


class RedfishInterfaces(AgentInterfaces):
    name, interface, slots = 'redfish interfaces', 'redfish', ''

    def report(self, machine, time, data):
        data['inventory']['interfaces'] = [
            {'name': f'NIC.{number}', 'mac_address': part.mac.upper()}
            for number, part in enumerate(self.sees(machine, time))
        ]


class PciDevices(Channel):
    name, kind, slots = 'pci-devices', PCI, '0000:0a:0'

    def names(self, part, time):
        return False

    def report(self, machine, time, data):
        data['plugin_data']['pci_devices'] = [
            {
                'vendor_id': '8086',
                'product_id': f'{part.make:04x}',
                'class': '020000',
                'bus': self.slot(part),
            }
            for part in self.sees(machine, time)
        ]


class Machine:
    """A machine whose parts come, go and move.

    :param draw: a generator of random numbers with a seed.
    """

    def __init__(self, draw: typing.Any) -> None:
        self.draw = draw
        # Things happen to one kind of parts more often than to others.
        self.kinds = (*KINDS, *[draw.choice((DIMM, DISK))] * 4)
        self.makes = draw.choice((1, 2))
        self.made = draw.randrange(1000)
        self.parts: list[TruePart] = []
        for kind in KINDS:
            for _number in range(draw.randrange(1, 5)):
                self.add(kind)

    def add(self, kind: str, like: TruePart | None = None) -> None:
        """Put in another part.

        :param like: the one in whose place it comes, mostly of its make.
        """
        free = set(range(SLOTS)) - {part.slot for part in self.of(kind)}
        if like is None and not free:
            return
        self.made += 1
        number = self.made
        serial = self.draw.choice(
            (
                f'SN{number:06d}X',
                f'{66000000 + number}',
                f'00{810000 + number}',
                f'{number:04X}BEEF',
                f'0{number}E2',
            )
        )
        self.parts.append(
            TruePart(
                kind,
                number,
                serial,
                f'0x5000c5{number:010x}',
                like.make
                if like and self.draw.random() < 0.7
                else self.draw.randrange(self.makes),
                like.slot if like else self.draw.choice(sorted(free)),
            )
        )

    def of(self, kind: str) -> list[TruePart]:
        return [part for part in self.parts if part.kind == kind]

    def happen(self) -> None:
        """Let something happen to a part, or nothing."""
        kind = self.draw.choice(self.kinds)
        part = self.draw.choice(self.of(kind))
        event = self.draw.choice(('add', 'remove', 'swap', 'move', 'paths'))
        if event == 'add':
            self.add(kind)
        elif event == 'swap':
            self.parts.remove(part)
            self.add(kind, like=part)
        elif event == 'remove' and len(self.of(kind)) > 1:
            self.parts.remove(part)
        elif event == 'move':
            free = set(range(SLOTS)) - {each.slot for each in self.of(kind)}
            if free:
                part.slot = self.draw.choice(sorted(free))
        elif event == 'paths' and kind == DISK and self.draw.random() < 0.3:
            part.paths = 3 - part.paths
        self.draw.shuffle(self.parts)
