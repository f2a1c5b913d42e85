# SPDX-License-Identifier: Apache-2.0

"""Fleets of machines with planted faults, and what is to be found in them.

Nothing here knows how the product compares machines.
"""

import dataclasses
import random
import typing

GIB = 1 << 30
SOURCES = EXTRA, DMI, PCI, NUMA = 'extra', 'dmi', 'pci', 'numa'
"""What the ramdisk's collectors report beside the inventory."""

Inventory = dict[str, typing.Any]


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault, how it is planted, and how it may be found.

    :param kinds: those of findings that tell it.
    :param needs: sources of which one must be there to see it.
    """

    name: str
    plant: typing.Callable[['Machine'], str | None]
    kinds: frozenset[str]
    needs: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Planted:
    """A fault in a machine.

    :param slot: where it is, None if no source says that.
    """

    machine: str
    fault: Fault
    slot: str | None


@dataclasses.dataclass
class Model:
    """What all machines of one kind have, as drawn.

    :param mixed: whether DIMMs and disks are of two vendors.
    """

    vendor: str
    product: str
    sockets: int
    cores: int
    dimms: int
    dimm_size: int
    disks: int
    disk_size: int
    cards: int
    gpus: int
    processor: str
    bios: str
    mixed: bool
    sources: frozenset[str]

    @classmethod
    def draw(cls, draw: random.Random, number: int, mixed: bool) -> 'Model':
        sources = {EXTRA, DMI, PCI, NUMA}
        if draw.random() < 0.3:
            sources.discard(draw.choice(SOURCES))
        return cls(
            draw.choice(('Dell Inc.', 'HPE', 'Supermicro')),
            f'Model {number}',
            draw.choice((1, 2)),
            draw.choice((8, 16, 24)),
            draw.choice((8, 16)),
            draw.choice((16, 32, 64)),
            draw.choice((2, 4, 10)),
            draw.choice((480, 960, 1920)),
            draw.choice((2, 3)),
            draw.choice((0, 2, 4)),
            draw.choice(
                (
                    'Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz',
                    'AMD EPYC 7402 24-Core Processor',
                )
            ),
            f'2.{draw.randrange(3, 20)}',
            mixed,
            frozenset(sources),
        )


class Machine:
    """A machine as it is; faults change it.

    :param draw: decides what is its own: serial numbers, addresses, noise.
    """

    def __init__(self, model: Model, name: str, draw: random.Random) -> None:
        self.model = model
        self.name = name
        self.draw = draw
        self.bios = model.bios
        self.processor = model.processor
        self.threads = 2
        self.speed = 1.0
        self.flags = [
            'fpu',
            'vme',
            'sse',
            'sse2',
            'avx',
            'avx2',
            'avx512f',
            'aes',
            'vmx',
            'rdrand',
            'sgx',
            *(f'feature{number}' for number in range(110)),
        ]
        self.settings = {
            'LogicalProc': 'Enabled',
            'SriovGlobalEnable': 'Enabled',
            'BootMode': 'Uefi',
            'SysProfile': 'PerfPerWattOptimizedOs',
            'NodeInterleave': 'Disabled',
            'ProcVirtualization': 'Enabled',
        }
        self.dimms = {
            f'{bank}{place}': {
                'size': model.dimm_size,
                'vendor': self.vendor('Samsung', 'Hynix'),
            }
            for bank in 'AB'
            for place in range(1, model.dimms // 2 + 1)
        }
        self.disks = [
            {
                'bay': bay,
                'size': model.disk_size,
                'model': f'MZ7{model.disk_size}',
                'speed': 1.0,
            }
            for bay in range(model.disks)
        ]
        self.ports = [
            {
                'slot': f'0000:{0x18 + card:02x}:00.{port}',
                'speed': 25000,
                'firmware': '14.2.1',
                'product': '0x158b',
            }
            for card in range(model.cards)
            for port in (0, 1)
        ]
        self.gpus = [
            f'0000:{0x80 + number:02x}:00.0' for number in range(model.gpus)
        ]
        self.supplies = [1, 2]

    def vendor(self, *names: str) -> str:
        return self.draw.choice(names) if self.model.mixed else names[0]

    def serial(self) -> str:
        return f'{self.draw.getrandbits(40):010X}'

    def mac(self) -> str:
        return self.draw.getrandbits(47).to_bytes(6, 'big').hex(':')

    def noise(self, share: float) -> float:
        return self.draw.gauss(1, share)

    def inventory(self) -> Inventory:
        """Return what Ironic would have of it."""
        model, draw = self.model, self.draw
        count = model.sockets * model.cores * self.threads
        memory = sum(dimm['size'] for dimm in self.dimms.values())
        nics = [
            {
                'name': f'eth{number}',
                'mac_address': self.mac(),
                'ipv4_address': f'10.0.{draw.randrange(250)}.{number}',
                'ipv6_address': None,
                'has_carrier': True,
                'vendor': '0x8086',
                'product': port['product'],
                'pci_address': port['slot'],
                'speed_mbps': port['speed'],
                'client_id': None,
                'biosdevname': None,
                'lldp': [[1, self.serial()], [2, f'port{draw.randrange(48)}']],
            }
            for number, port in enumerate(self.ports)
        ]
        disks = list(self.disks)
        draw.shuffle(disks)
        inventory = {
            'system_vendor': {
                'manufacturer': model.vendor,
                'product_name': model.product,
                'serial_number': self.serial(),
                'firmware': {
                    'vendor': model.vendor,
                    'version': self.bios,
                    'build_date': '03/01/2024',
                },
            },
            'cpu': {
                'architecture': 'x86_64',
                'count': count,
                'socket_count': model.sockets,
                'model_name': self.processor,
                'frequency': '2100.0000',
                'flags': list(self.flags),
            },
            'memory': {
                'physical_mb': memory * 1024,
                'total': int(memory * GIB * 0.985) - draw.randrange(1 << 20),
            },
            'disks': [
                {
                    'name': f'/dev/sd{chr(97 + number)}',
                    'size': disk['size'] * 10**9,
                    'rotational': False,
                    'model': disk['model'],
                    'vendor': 'ATA',
                    'serial': self.serial(),
                    'wwn': f'0x5{self.serial()}',
                    'wwn_with_extension': None,
                    'hctl': f'{number}:0:0:0',
                    'by_path': '/dev/disk/by-path/pci-0000:00:17.0-ata-'
                    f'{disk["bay"] + 1}',
                    'logical_sectors': 512,
                    'physical_sectors': 4096,
                }
                for number, disk in enumerate(disks)
            ],
            'interfaces': nics,
            'hostname': self.name,
            'bmc_address': f'10.1.{draw.randrange(250)}.7',
            'bmc_mac': self.mac(),
            'bmc_v6address': '::/0',
            'boot': {
                'current_boot_mode': 'uefi',
                'pxe_interface': nics[0]['mac_address'] if nics else None,
            },
        }
        plugin_data: Inventory = {
            'boot_interface': nics[0]['mac_address'] if nics else None,
            'configuration': {
                'collectors': ['default', 'logs'],
                'managers': [{'name': 'generic', 'version': '1.2'}],
            },
            'power_supplies': [
                {
                    'slot': f'PSU{number}',
                    'watts': 800,
                    'model': 'D800E',
                    'serial_number': self.serial(),
                }
                for number in self.supplies
            ],
            'bios_settings': dict(self.settings),
        }
        for source, report in (
            (EXTRA, self.extra),
            (DMI, self.dmi),
            (PCI, self.pci),
            (NUMA, self.numa),
        ):
            if source in model.sources:
                plugin_data.update(report(disks))
        return {'inventory': inventory, 'plugin_data': plugin_data}

    def extra(self, disks: list[dict[str, typing.Any]]) -> Inventory:
        """Return what Ironic's hook makes of the collector's list."""
        model = self.model
        memory: Inventory = {
            'total': {
                'size': sum(dimm['size'] for dimm in self.dimms.values()) * GIB
            }
        }
        banks = [f'{bank}{place}' for bank in 'AB' for place in range(1, 9)]
        for number, slot in enumerate(banks):
            bank = {'slot': slot, 'description': 'DIMM DDR4 [empty]'}
            if slot in self.dimms:
                bank = {
                    'slot': slot,
                    'size': self.dimms[slot]['size'] * GIB,
                    'vendor': self.dimms[slot]['vendor'],
                    'serial': self.serial(),
                    'clock': 2933000000,
                    'description': 'DIMM DDR4 2933 MHz',
                }
            memory[f'bank:{number}'] = bank
        logical: Inventory = {
            'number': model.sockets * model.cores * self.threads
        }
        processors: Inventory = {
            'logical': logical,
            'physical': {'number': model.sockets},
        }
        for number in range(model.sockets):
            processors[f'physical_{number}'] = {
                'product': self.processor,
                'vendor': 'Intel',
                'cores': model.cores,
                'threads': model.cores * self.threads,
            }
        # The machine's own pace, and that of each run.
        pace = self.speed * self.noise(0.006)
        for number in range(16):
            processors[f'logical_{number}'] = {
                'bogomips': f'{4200.0 * self.speed:.2f}',
                'loops_per_sec': int(3200 * pace * self.noise(0.006)),
                **{
                    f'bandwidth_{size}': int(9000 * pace * self.noise(0.01))
                    for size in ('1K', '4K', '1M', '16M', '128M', '1G')
                },
                **{
                    f'threaded_bandwidth_{size}': int(
                        9000 * pace * self.noise(0.02)
                    )
                    for size in ('1K', '4K', '1M', '16M', '128M', '1G')
                },
            }
        found: Inventory = {'logical': {'count': len(disks)}}
        for number, disk in enumerate(disks):
            found[f'sd{chr(97 + number)}'] = {
                'size': disk['size'],
                'model': disk['model'],
                'vendor': 'ATA',
                'rev': '1B',
                'serial': self.serial(),
                'standalone_read_1M_KBps': int(
                    500000 * disk['speed'] * self.noise(0.02)
                ),
                'standalone_randread_4k_IOps': int(
                    90000 * disk['speed'] * self.noise(0.05)
                ),
            }
        return {
            'extra': {
                'system': {
                    'product': {
                        'name': model.product,
                        'serial': self.serial(),
                    },
                    'motherboard': {
                        'name': f'{model.product}B',
                        'vendor': model.vendor,
                        'serial': self.serial(),
                    },
                },
                'firmware': {
                    'bios': {
                        'version': self.bios,
                        'date': '03/01/2024',
                        'vendor': model.vendor,
                    }
                },
                'memory': memory,
                'cpu': processors,
                'disk': found,
                'network': {
                    f'eth{number}': {
                        'serial': self.mac(),
                        'businfo': f'pci@{port["slot"]}',
                        'firmware': port['firmware'],
                        'driver': 'i40e',
                        'link': 'yes',
                        'speed': f'{port["speed"]}Mbit/s',
                        'ipv4': f'10.0.0.{self.draw.randrange(250)}',
                        'tx-checksumming': 'on',
                        'rx-checksumming': 'on',
                        'generic-receive-offload': 'on',
                    }
                    for number, port in enumerate(self.ports)
                },
                'ipmi': {
                    'lan': {
                        'ip-address': '10.1.0.7',
                        'mac-address': self.mac(),
                    }
                },
            }
        }

    def dmi(self, _disks: list[dict[str, typing.Any]]) -> Inventory:
        """Return what the collector dmi-decode has."""
        model = self.model
        devices = []
        for bank in 'AB':
            for place in range(1, 9):
                dimm = self.dimms.get(f'{bank}{place}')
                devices.append(
                    {
                        'Locator': f'{bank}{place}',
                        'Type': 'DDR4',
                        'Size': f'{dimm["size"]} GB',
                        'Speed': '2933 MT/s',
                        'Manufacturer': dimm['vendor'],
                        'Serial Number': self.serial(),
                        'Asset Tag': self.serial(),
                        'Part Number': f'{dimm["vendor"][:2]}{dimm["size"]}',
                    }
                    if dimm
                    else {
                        'Locator': f'{bank}{place}',
                        'Size': 'No Module Installed',
                    }
                )
        return {
            'dmi': {
                'bios': {
                    'Vendor': model.vendor,
                    'Version': self.bios,
                    'Release Date': '03/01/2024',
                },
                'cpu': [
                    {
                        'Socket Designation': f'CPU{number + 1}',
                        'Status': 'Populated, Enabled',
                        'Version': self.processor,
                        'Manufacturer': 'Intel',
                        'Serial Number': 'Not Specified',
                        'Core Count': str(model.cores),
                        'Thread Count': str(model.cores * self.threads),
                    }
                    for number in range(model.sockets)
                ],
                'memory': {'devices': devices},
            }
        }

    def pci(self, _disks: list[dict[str, typing.Any]]) -> Inventory:
        """Return what the collector pci-devices has."""
        devices = [
            {
                'vendor_id': '8086',
                'product_id': f'{2000 + number}',
                'class': '088000',
                'revision': '04',
                'bus': f'0000:00:{number:02x}.0',
            }
            for number in range(60)
        ]
        devices += [
            {
                'vendor_id': '8086',
                'product_id': port['product'][2:],
                'class': '020000',
                'revision': '02',
                'bus': port['slot'],
            }
            for port in self.ports
        ]
        devices += [
            {
                'vendor_id': '10de',
                'product_id': '1eb8',
                'class': '030200',
                'revision': 'a1',
                'bus': slot,
            }
            for slot in self.gpus
        ]
        return {'pci_devices': devices}

    def numa(self, _disks: list[dict[str, typing.Any]]) -> Inventory:
        """Return what the collector numa-topology has."""
        model = self.model
        memory = sum(dimm['size'] for dimm in self.dimms.values())
        return {
            'numa_topology': {
                'ram': [
                    {
                        'numa_node': node,
                        'size_kb': memory * 1024 * 1024 // model.sockets
                        - self.draw.randrange(1024),
                    }
                    for node in range(model.sockets)
                ],
                'cpus': [
                    {
                        'cpu': core,
                        'numa_node': node,
                        'thread_siblings': [
                            core + thread * 100
                            for thread in range(self.threads)
                        ],
                    }
                    for node in range(model.sockets)
                    for core in range(model.cores)
                ],
                'nics': [
                    {'name': f'eth{number}', 'numa_node': 0}
                    for number in range(len(self.ports))
                ],
            }
        }


def _dimm_missing(machine: Machine) -> str:
    slot = machine.draw.choice(sorted(machine.dimms))
    del machine.dimms[slot]
    return slot


def _dimm_smaller(machine: Machine) -> str:
    slot = machine.draw.choice(sorted(machine.dimms))
    machine.dimms[slot]['size'] //= 2
    return slot


def _dimm_moved(machine: Machine) -> str | None:
    slot = machine.draw.choice(sorted(machine.dimms))
    free = sorted(
        {f'{bank}{place}' for bank in 'AB' for place in range(1, 9)}
        - set(machine.dimms)
    )
    if not free:
        return None
    machine.dimms[machine.draw.choice(free)] = machine.dimms.pop(slot)
    return slot


def _disk_missing(machine: Machine) -> str:
    disk = machine.draw.choice(machine.disks)
    machine.disks.remove(disk)
    return f'pci-0000:00:17.0-ata-{disk["bay"] + 1}'


def _disk_other(machine: Machine) -> str:
    disk = machine.draw.choice(machine.disks)
    disk['model'], disk['size'] = 'Other', disk['size'] // 2
    return f'pci-0000:00:17.0-ata-{disk["bay"] + 1}'


def _disk_slow(machine: Machine) -> str:
    machine.draw.choice(machine.disks)['speed'] = 0.5
    return ''


def _card_missing(machine: Machine) -> str:
    slot = machine.draw.choice(machine.ports)['slot'][:-1]
    machine.ports = [
        port for port in machine.ports if port['slot'][:-1] != slot
    ]
    return slot


def _card_firmware(machine: Machine) -> str:
    slot = machine.draw.choice(machine.ports)['slot'][:-1]
    for port in machine.ports:
        if port['slot'][:-1] == slot:
            port['firmware'] = '12.0.9'
    return slot


def _link_slow(machine: Machine) -> str:
    port = machine.draw.choice(machine.ports)
    port['speed'] = 10000
    return port['slot'][:-1]


def _gpu_missing(machine: Machine) -> str | None:
    if not machine.gpus:
        return None
    slot = machine.draw.choice(machine.gpus)
    machine.gpus.remove(slot)
    return slot


def _bios_old(machine: Machine) -> str:
    machine.bios = '1.9'
    return ''


def _processor_slow(machine: Machine) -> str:
    machine.speed = 0.8
    return ''


def _threads_off(machine: Machine) -> str:
    machine.threads = 1
    return ''


def _flag_missing(machine: Machine) -> str:
    machine.flags.remove('vmx')
    return ''


def _setting(machine: Machine) -> str:
    machine.settings['SysProfile'] = 'DenseCfgOptimized'
    return ''


def _supply_missing(machine: Machine) -> str:
    machine.supplies.remove(2)
    return 'PSU2'


def _fault(
    name: str,
    plant: typing.Callable[[Machine], str | None],
    *kinds: str,
    needs: typing.Iterable[str] = (),
) -> Fault:
    return Fault(name, plant, frozenset(kinds), frozenset(needs))


FAULTS = (
    _fault('DIMM missing', _dimm_missing, 'dimm', 'memory'),
    _fault('DIMM smaller', _dimm_smaller, 'dimm', 'memory'),
    _fault('DIMM moved', _dimm_moved, 'dimm', needs=(EXTRA, DMI)),
    _fault('disk missing', _disk_missing, 'disk'),
    _fault('disk of another model', _disk_other, 'disk'),
    _fault('disk slow', _disk_slow, 'benchmark', needs=(EXTRA,)),
    _fault('card missing', _card_missing, 'interface'),
    _fault(
        'old firmware of a card', _card_firmware, 'interface', needs=(EXTRA,)
    ),
    _fault('link slow', _link_slow, 'interface'),
    _fault('GPU missing', _gpu_missing, 'accelerator', needs=(PCI,)),
    _fault('BIOS old', _bios_old, 'firmware'),
    _fault('processor slow', _processor_slow, 'benchmark', needs=(EXTRA,)),
    _fault('threads off', _threads_off, 'processor'),
    _fault('flag missing', _flag_missing, 'flag'),
    _fault('BIOS setting', _setting, 'bios-setting'),
    _fault('power supply missing', _supply_missing, 'power-supply'),
)

_COMPONENTS = {
    'DIMM missing': 'memory',
    'DIMM smaller': 'memory',
    'DIMM moved': 'memory',
    'disk missing': 'disk',
    'disk of another model': 'disk',
    'disk slow': 'disk',
    'card missing': 'card',
    'old firmware of a card': 'card',
    'link slow': 'card',
    'BIOS old': 'bios',
}


def visible(model: Model) -> list[Fault]:
    """Return the faults that some source of a machine can show."""
    return [
        fault
        for fault in FAULTS
        if not fault.needs or fault.needs & model.sources
    ]


@dataclasses.dataclass
class Group:
    """Machines of one model, with faults in some.

    :param planted: the faults; of a machine with two, both.
    """

    model: Model
    machines: dict[str, Machine]
    planted: list[Planted]


def group(
    draw: random.Random,
    number: int,
    size: int,
    share: float = 0.2,
    mixed: bool | None = None,
) -> Group:
    """Return machines of one model of which some are broken.

    :param share: of the machines that are broken.
    """
    model = Model.draw(
        draw,
        number,
        draw.random() < 0.3 and size >= 40 if mixed is None else mixed,
    )
    names = [f'm{number}-{place:04}' for place in range(size)]
    made = Group(
        model,
        {
            name: Machine(model, name, random.Random(draw.getrandbits(64)))
            for name in names
        },
        [],
    )
    for name in draw.sample(names, int(size * share)):
        machine = made.machines[name]
        used: set[str] = set()
        for _time in range(draw.choice((1, 1, 1, 2))):
            fault = draw.choice(visible(model))
            about = _COMPONENTS.get(fault.name, fault.name)
            if about in used:
                continue
            slot = fault.plant(machine)
            if slot is not None:
                used.add(about)
                made.planted.append(Planted(name, fault, slot or None))
    return made


def two_kinds(draw: random.Random, size: int, share: float = 0.2) -> Group:
    """Return two populations of one model, with faults in both.

    :param size: of the first; the second is as large, or half as large again.
    """
    first = group(draw, 1, size, share)
    second = group(draw, 2, draw.choice((size, size * 3 // 2)), share)
    second.model.vendor = first.model.vendor
    second.model.product = first.model.product
    return Group(
        first.model,
        {**first.machines, **second.machines},
        first.planted + second.planted,
    )
