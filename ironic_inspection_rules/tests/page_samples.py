# SPDX-License-Identifier: Apache-2.0

"""Data of pages as large and as hostile as one likes."""

from collections.abc import Iterator, Mapping
import dataclasses
import random
import typing
import uuid

from ironic_inspection_rules.engine.language import table_form
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.report.pages import table as table_page
from ironic_inspection_rules.kit.report.pages import test
from ironic_inspection_rules.kit.trial.fleet import capacity
from ironic_inspection_rules.kit.trial.fleet import flavor
from ironic_inspection_rules.machine import table_comparison
from ironic_inspection_rules.tests import odd_fleet
from ironic_inspection_rules.tests import odd_fleet_trial

HOSTILE = "<img src=x onerror=document.title='owned'>"

_RULES = (
    'Refuse machines with little memory',
    'BMC credentials',
    'Redfish for new machines',
    'Trait of NVIDIA A100',
    'Trait of NVIDIA H100',
    'Resource class by memory and processors',
    'Rack from the name in LLDP',
    'Root device: the smallest SSD',
    'Boot mode UEFI',
    'SR-IOV',
    'Serial number',
    'Firmware before 2.8',
    'NUMA nodes',
    'Trusted boot',
    'Number of disks',
    'ConnectX-6',
    'InfiniBand',
    'Deploy kernel of arm64',
    'Name from the asset tag',
    'Owner by rack',
    'Conductor group',
    'Physical network of ports',
    'Machines of another site',
    'One power supply',
)
_CLASSES = ('general', 'gpu', 'storage', 'arm', None)
_TRAITS = ('CUSTOM_UEFI', 'CUSTOM_SSD', 'CUSTOM_NIC_25G', 'HW_CPU_X86_VMX')
_KINDS = 40

Plain = dict[str, typing.Any]


def fleet(count: int, rules: int = 24, hostile: str | None = None) -> Plain:
    """Return the evaluation of some machines.

    :param hostile: the name of the first of them, and of the first rule.
    """
    dice = random.Random(1)
    listed = [_rule(dice, at) for at in range(rules)]
    kinds = [
        [at for at in range(1, rules) if dice.random() < chance]
        for chance in dice.choices((0.1, 0.3, 0.6), k=_KINDS)
    ]
    nodes = [_node(dice, at, kinds, listed) for at in range(count)]
    if hostile:
        nodes[0]['name'] = listed[0]['description'] = hostile
    return {
        'made': '2026-11-22T04:00:00+00:00',
        'title': 'GPUs by model',
        'compared': True,
        'filters': {'owner': 'lab'},
        'rules': listed,
        'nodes': nodes,
        'summary': {},
        'capacity': _capacity(nodes, listed, hostile or 'bm.'),
    }


def _capacity(
    nodes: list[Plain], rules: list[Plain], prefix: str
) -> list[Plain]:
    """Count what the changes of machines do to a flavor of each class."""
    counted = capacity.Capacity(
        flavor.parse(
            f'{prefix}{name}',
            {f'resources:CUSTOM_BAREMETAL_{name.upper()}': '1'},
        )
        for name in (*filter(None, _CLASSES), 'large', 'small')
    )
    for at, node in enumerate(nodes):
        counted.add(
            {
                **node,
                'changed_by': [
                    rules[5 if each['path'] == '/resource_class' else 3][
                        'uuid'
                    ]
                    for each in node['changes']
                ],
            },
            {
                **node,
                'provision_state': 'available',
                'instance_uuid': None if at % 3 else node['uuid'],
            },
        )
    return counted.as_list()


def difference(count: int, hostile: str = '') -> Plain:
    """Return what a change of rules changes for some machines."""
    lines = ['@@ -1 +1 @@', '-result: ok', '+result: failed']
    return {
        'old': ['old.yaml'],
        'new': ['new.yaml'],
        'rules': [
            {
                'title': f'{each} {hostile}',
                'change': each,
                'lines': [f'-{hostile}', '+priority: 2'],
            }
            for each in (
                'added',
                'removed',
                'changed',
                'moved',
                'renamed',
                'rewritten',
            )
        ],
        'machines': [
            {
                'name': f'{hostile}r{at:05}.json',
                'differs': at % 10 == 0,
                'lines': [] if at % 10 else [*lines, f'+{hostile}'],
                'old': 'ok',
                'new': 'ok' if at % 10 else 'failed',
            }
            for at in range(count)
        ],
    }


def odd_machines(hostile: str = '') -> peers.Result:
    """Return machines of two models of which some are unlike the others."""
    machines = {}
    draw = random.Random(3)
    for number, size in enumerate((60, 40), 1):
        group = odd_fleet.group(draw, number, size, 0.1)
        for name, machine in group.machines.items():
            data = machine.inventory()
            if hostile:
                data['inventory']['system_vendor']['manufacturer'] = hostile
            machines[f'{hostile}{name}'] = data
    hardware = [data['inventory'] for data in machines.values()]
    for inventory in hardware[60:75]:
        inventory['cpu']['model_name'] = f'Later {hostile}'
    hardware[0]['cpu']['architecture'] = hostile or 'sparc'
    hardware[1]['system_vendor']['product_name'] = 'Alone'
    return odd_fleet_trial.compare(machines)


def replay(count: int, hostile: str = '') -> Plain:
    """Return inspections that end otherwise; the last is not decided."""
    runs = []
    for at in range(count - 1):
        error = f'too small{hostile}'
        runs.append(
            {
                'node': f'node-{at}',
                'name': f'{hostile}r{at}',
                'run': 'r',
                'created_at': f'2026-01-02T03:04:{at % 60:02}',
                'revision': 1,
                'outcome': 'different',
                'reason': None,
                'then': {
                    'result': 'failed' if at % 2 else 'ok',
                    'error': error if at % 2 else None,
                    'matched': ['a'],
                },
                'now': {
                    'result': 'failed',
                    'error': error,
                    'matched': ['b'],
                    'changes': [
                        {
                            'object': 'node',
                            'op': 'remove',
                            'path': '/extra/cpus',
                            'before': 4,
                            'value': None,
                        },
                        {
                            'object': 'node',
                            'op': 'add',
                            'path': '/extra/size',
                            'before': None,
                            'value': at % 3,
                        },
                        {
                            'object': 'traits',
                            'op': 'add',
                            'before': None,
                            'path': '/CUSTOM_BIG',
                            'value': 'CUSTOM_BIG',
                        },
                    ],
                },
            }
        )
    runs.append(
        {
            'node': 'node',
            'name': f'r{count - 1}',
            'outcome': 'error',
            'reason': 'not found',
        }
    )
    return {
        'same': 970,
        'different': count - 1,
        'incomparable': 4,
        'error': 1,
        'reasons': {'rules are gone': 4},
        'runs': runs,
    }


def expected_machines(racks: int, hostile: str = '') -> str:
    """Return the page of racks of ten rows beside the machines in them.

    In the first rack the first row has no machine, the second one with less
    memory, and the third two machines. One machine has no row.
    """
    prefix = f'{hostile}R'
    rows = [
        {
            'serial': f'{prefix}{rack}-{unit}',
            'rack': f'{prefix}{rack}',
            'memory': 64,
        }
        for rack in range(racks)
        for unit in range(10)
    ]
    expected = table_form.read(
        'orders', {'key': 'serial', 'of': '{inventory.serial}', 'rows': rows}
    )
    seen = []
    for place, row in enumerate(rows):
        # The first row has no machine.
        if place:
            seen.append(
                table_comparison.ComparedMachine(
                    f'/machines/m{place:05}.json', row['serial']
                )
            )
    less_memory = table_comparison.ColumnDifference(
        'memory', 64, f'{hostile}32'
    )
    seen[0] = dataclasses.replace(seen[0], differences=(less_memory,))
    seen.append(dataclasses.replace(seen[1], machine='/machines/again.json'))
    seen.append(table_comparison.ComparedMachine('/machines/alone.json', None))
    findings = list(table_comparison.find_states(expected, seen, 'rack'))
    return table_page.render(expected, findings, 'rack')


def columns(count: int, rules: int) -> Iterator[test.MachineColumn]:
    """Return machines of the page of a test."""
    dice = random.Random(1)
    for number in range(count):
        size = dice.choice((4, 8, 16, 32, 64, 128))
        serial = f'{dice.getrandbits(40):010X}'
        cells = [
            _cell(size > rule, size, rule, serial).as_text()
            for rule in range(rules)
        ]
        yield test.MachineColumn(
            f'/machines/m{number:05}.json',
            'ok',
            None,
            ('node', f'+ /extra/serial: {serial}'),
            tuple(cells),
        )


def _cell(holds: bool, size: int, rule: int, serial: str) -> test.RuleCell:
    condition = test.ConditionCell('gt', holds, f'values=[{size}, {rule}]')
    if not holds:
        return test.RuleCell('unmatched', (condition,), ())
    action = test.ActionCell(
        'set-attribute',
        False,
        (f'add node /extra/a{rule} = {rule or serial}',),
    )
    return test.RuleCell('matched', (condition,), (action,))


def _uuid(dice: random.Random) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128), version=4))


def _rule(dice: random.Random, at: int) -> Plain:
    again, name = divmod(at, len(_RULES))
    return {
        'uuid': _uuid(dice),
        'priority': 100 - at,
        'description': _RULES[name] + (f' ({again})' if again else ''),
        'phase': ('early', 'preprocess', 'main')[min(2, at // 3)],
        'mode': 'audit' if at % 24 == 23 else 'enforce',
    }


def _node(
    dice: random.Random, at: int, kinds: list[list[int]], rules: list[Plain]
) -> Plain:
    kind = min(_KINDS - 1, int(dice.expovariate(0.12)))
    name = _CLASSES[kind % len(_CLASSES)]
    matched = kinds[kind]
    changes = list(_changes(dice, at, kind, name))
    made: Plain = {
        'result': 'ok',
        'error': None,
        'changes': changes,
        'differs': bool(changes),
    }
    chance = dice.random()
    if chance < 0.006:
        matched = [0]
        made = _failed(
            rules[0],
            f'{dice.choice((16, 32))} GiB of memory, at least 64 are needed',
            'fail',
            at % 3 > 0,
        )
    elif chance < 0.007:
        made = _failed(
            rules[6],
            'set-attribute: field {inventory.lldp} does not exist',
            'error',
            True,
        )
    elif chance < 0.008:
        matched = []
        made = {
            'result': 'error',
            'changes': [],
            'error': 'Nothing is known of the machine',
        }
    elif name == 'gpu' and at % 3 == 0 and changes:
        made.update(
            validates=bool(at % 60),
            in_force={
                'result': 'ok',
                'error': None,
                'matched': [],
                'validates': True,
            },
        )
    gpu = ['CUSTOM_GPU_A100'] if name == 'gpu' else []
    return {
        **made,
        'uuid': _uuid(dice),
        'name': f'r{at // 40:03}-u{at % 40:02}.example.org',
        'matched': [rules[each]['uuid'] for each in matched],
        'traits': [*_TRAITS[: 1 + kind % 4], *gpu],
        'resource_class': name and f'baremetal.{name}',
    }


def _failed(rule: Plain, message: str, kind: str, newly: bool) -> Plain:
    error = (
        f'Inspection rule {rule["uuid"]} ({rule["description"]}), {message}'
    )
    return {
        'result': 'failed',
        'error': error,
        'changes': [],
        'failed_by': {'rule': rule['uuid'], 'kind': kind},
        'differs': newly,
        **(
            {'in_force': {'result': 'ok', 'error': None, 'matched': []}}
            if newly
            else {}
        ),
    }


def _changes(
    dice: random.Random, at: int, kind: int, name: str | None
) -> Iterator[Mapping[str, typing.Any]]:
    def change(
        target: str,
        path: str,
        value: typing.Any,
        op: str = 'add',
        before: typing.Any = None,
    ) -> Mapping[str, typing.Any]:
        return {
            'object': target,
            'op': op,
            'path': path,
            'value': value,
            'before': before,
        }

    if kind % 3 == 2:
        return
    if kind % 5 == 1:
        yield change(
            'traits', '/CUSTOM_GPU_A100', None, 'remove', 'CUSTOM_GPU_A100'
        )
        yield change(
            'traits', '/CUSTOM_GPU_NVIDIA_A100', 'CUSTOM_GPU_NVIDIA_A100'
        )
    if kind % 2 == 0:
        yield change('traits', '/CUSTOM_SRIOV', 'CUSTOM_SRIOV')
    if kind % 4 == 0:
        yield change(
            'node',
            '/resource_class',
            'baremetal.large' if kind % 8 else 'baremetal.small',
            'replace',
            name and f'baremetal.{name}',
        )
    if kind % 7 < 3:
        yield change(
            'node',
            '/properties/memory_mb',
            2 ** (15 + kind % 4),
            'replace',
            2 ** (14 + kind % 4),
        )
    if kind % 6 == 3:
        yield change('node', '/extra/serial', f'{dice.getrandbits(40):010X}')
    if kind % 9 == 4:
        yield change(
            f'port 52:54:00:{at >> 16:02x}:{at >> 8 & 255:02x}:{at & 255:02x}',
            '/physical_network',
            f'physnet{kind % 3}',
            'replace',
            'physnet9',
        )
