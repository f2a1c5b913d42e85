# SPDX-License-Identifier: Apache-2.0

"""Collects the fields that inspection data have, from the code that puts them.

Reads the wheels of ironic and of ironic-python-agent, which pip downloads:
what the ramdisk's collectors post, what Ironic's hooks add, what inspection
by Redfish puts there. ``ironic-inspection-rules lint`` knows a mistyped field
by the file that this writes.

Code does not say of what type a field is. Types are those of machines: of
their inventories in files that are named, with or without plugin data. A
field of which these have values of two types has none.

    python tools/collect_inventory_fields.py tools/samples/inventory-*.json \\
        > ironic_inspection_rules/kit/machine/inventory_fields.yaml
"""

import ast
from collections.abc import Callable, Iterable, Iterator
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any
import zipfile

import yaml

from ironic_inspection_rules import releases

RELEASES = releases.TRIED

AGENT = 'ironic_python_agent/'
HARDWARE = {
    'NetworkInterface': ('inventory.interfaces[]',),
    'BlockDevice': ('inventory.disks[]', 'plugin_data.root_disk'),
    'CPU': ('inventory.cpu',),
    'Memory': ('inventory.memory',),
    'SystemVendorInfo': ('inventory.system_vendor',),
    'SystemFirmware': ('inventory.system_vendor.firmware',),
    'BootInfo': ('inventory.boot',),
    'USBInfo': ('plugin_data.usb_devices[]',),
}
"""Where the ramdisk puts objects of its classes."""

COLLECTORS = {
    'inspector.py': {
        'collect_default': 'default',
        'collect_extra_hardware': 'extra-hardware',
        'collect_lldp': 'lldp',
        'collect_logs': 'logs',
        'collect_pci_devices_info': 'pci-devices',
        'collect_usb_devices': 'usb-devices',
    },
    'numa_inspector.py': {'collect_numa_topology_info': 'numa-topology'},
    'dmi_inspector.py': {'collect_dmidecode_info': 'dmi-decode'},
}
"""Collectors of the ramdisk by their functions (its entry points)."""

MODULES = 'ironic/drivers/modules/'
REDFISH = {
    'inventory': ('inventory',),
    'plugin_data': ('plugin_data',),
    'intf': ('inventory.interfaces[]',),
    'cpu': ('inventory.cpu',),
    'disk': ('inventory.disks[]',),
    'system_vendor': ('inventory.system_vendor',),
    'info': ('inventory.pci_devices[]',),
    'controller': ('inventory.storage_controllers[]',),
    'sc_info': ('inventory.storage_controllers[].storage_controllers[]',),
    'drive_info': ('inventory.storage_controllers[].drives[]',),
    'result': tuple(f'inventory.storage_controllers[]{part}.status'
                    for part in ('', '.storage_controllers[]', '.drives[]')),
    'lldp_dict': ('plugin_data.parsed_lldp.*',),
}
"""Where redfish/inspect.py puts what it builds in variables of these names."""

OPEN = {
    'ramdisk': {
        'dmi-decode': 'plugin_data.dmi.**',
        'extra-hardware': 'plugin_data.data.**',
        'lldp': 'plugin_data.lldp_raw.**',
        'numa-topology': 'plugin_data.numa_topology.**',
        'default': 'plugin_data.configuration.**',
    },
    'hook': {'extra-hardware': 'plugin_data.extra.**'},
}
"""What has names of the machine's own below it."""


def fetch(name: str, version: str | None, directory: str) -> pathlib.Path:
    """Download the wheel of a project, the newest without a version."""
    wanted = f'{name}=={version}' if version else name
    target = pathlib.Path(directory, wanted)
    subprocess.run([sys.executable, '-m', 'pip', 'download', '--quiet',
                    '--no-deps', '--dest', target, wanted],
                   check=True, stdout=sys.stderr)
    return next(target.glob('*.whl'))


def stores(tree: ast.AST, variable: str) -> Iterator[str]:
    """Yield the paths below a variable that code gives values to.

    Sees ``v['a'] = …``, ``v['a']['b'] = …``, ``v = {'a': {'b': …}}`` and
    ``v.update({…})``.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                path = _path(target, variable)
                if path is not None:
                    yield path
                    yield from _keys(node.value, path)
        elif (isinstance(node, ast.Call)
              and isinstance(node.func, ast.Attribute)
              and node.func.attr == 'update'):
            path = _path(node.func.value, variable)
            if path is not None:
                for argument in node.args:
                    yield from _keys(argument, path)


def _path(target: ast.expr, variable: str) -> str | None:
    """Return the constant keys from a variable to a target, '' for itself."""
    if isinstance(target, ast.Name):
        return '' if target.id == variable else None
    if isinstance(target, ast.Subscript) and isinstance(
            target.slice, ast.Constant):
        above = _path(target.value, variable)
        return None if above is None else f'{above}.{target.slice.value}'
    return None


def _keys(value: ast.expr, path: str) -> Iterator[str]:
    if isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant):
                yield f'{path}.{key.value}'
                yield from _keys(item, f'{path}.{key.value}')


def _function(tree: ast.AST, name: str) -> ast.AST:
    return next(node for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef) and node.name == name)


def ramdisk(wheel: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield each field that the ramdisk posts, with its collector."""
    yield from _hardware(ast.parse(wheel.read(f'{AGENT}hardware.py')))
    for file, functions in COLLECTORS.items():
        tree = ast.parse(wheel.read(f'{AGENT}{file}'))
        for function, collector in functions.items():
            for path in stores(_function(tree, function), 'data'):
                if path not in ('', '.inventory'):
                    yield f'plugin_data{path}', collector
    pci = _function(ast.parse(wheel.read(f'{AGENT}inspector.py')),
                    'collect_pci_devices_info')
    for node in ast.walk(pci):
        if isinstance(node, ast.Dict):
            for path in _keys(node, 'plugin_data.pci_devices[]'):
                yield path, 'pci-devices'
    for collector, path in OPEN['ramdisk'].items():
        yield path, collector


def _hardware(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        for place in HARDWARE.get(node.name, ()):
            for name in _serialized(node):
                yield f'{place}.{name}', (
                    'usb-devices' if 'usb' in place else 'default')
        if node.name == 'HardwareManager':
            for path in stores(_function(node, 'list_hardware_info'),
                               'hardware_info'):
                yield f'inventory{path}', 'default'


def _serialized(node: ast.ClassDef) -> list[str]:
    return next(ast.literal_eval(each.value) for each in node.body
                if isinstance(each, ast.Assign)
                and each.targets[0].id == 'serializable_fields')  # type: ignore[attr-defined]


def redfish(wheel: zipfile.ZipFile) -> set[str]:
    """Return the fields that inspection by Redfish puts."""
    tree = ast.parse(wheel.read(f'{MODULES}redfish/inspect.py'))
    return {place + path for variable, places in REDFISH.items()
            for path in stores(tree, variable) if path for place in places}


def hooks(wheel: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield each field that a hook of Ironic adds, with its name."""
    directory = f'{MODULES}inspector/'
    for file in wheel.namelist():
        if file.startswith(f'{directory}hooks/') and file.endswith('.py'):
            tree = ast.parse(wheel.read(file))
            name = pathlib.Path(file).stem.replace('_', '-')
            for path in stores(tree, 'plugin_data'):
                if path:
                    yield f'plugin_data{path}', name
    parsers = ast.parse(wheel.read(f'{directory}lldp_parsers.py'))
    for node in parsers.body:
        if isinstance(node, ast.Assign) and isinstance(
                node.value, ast.Constant) and (
                    node.targets[0].id.endswith('_NM')):  # type: ignore[attr-defined]
            yield f'plugin_data.parsed_lldp.*.{node.value.value}', 'parse-lldp'
    for name, path in OPEN['hook'].items():
        yield path, name


def flags(wheel: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield what Ironic's API adds to what the ramdisk posts."""
    tree = ast.parse(wheel.read(f'{MODULES}inspect_utils.py'))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(
                node.value, ast.Constant) and (
                    node.targets[0].id == 'AUTO_DISCOVERED_FLAG'):  # type: ignore[attr-defined]
            yield f'plugin_data.{node.value.value}', 'auto-discovery'


def interfaces_of_hook(fields: Iterable[str]) -> Iterator[str]:
    """Yield the fields of an interface as validate-interfaces keeps it."""
    prefix = 'inventory.interfaces[].'
    names = [each.removeprefix(prefix) for each in fields
             if each.startswith(prefix)] + ['pxe_enabled']
    for mapping in ('all_interfaces', 'valid_interfaces'):
        for name in names:
            yield f'plugin_data.{mapping}.*.{name}'


def collect(directory: str) -> dict[str, Any]:
    """Collect the fields of all releases.

    :returns: ``made_from`` and ``fields``: each field with a list of its
        sources; a source says its kind and, where it is not in all releases,
        the first and last of them.
    """
    agent = fetch('ironic-python-agent', None, directory)
    found: dict[str, dict[tuple[str, str], list[str]]] = {}

    def note(path: str, kind: str, name: str, release: str) -> None:
        releases = found.setdefault(path, {}).setdefault((kind, name), [])
        if release not in releases:
            releases.append(release)

    with zipfile.ZipFile(agent) as wheel:
        posted = list(ramdisk(wheel))
    for release in RELEASES:
        with zipfile.ZipFile(fetch('ironic', release, directory)) as wheel:
            for path, collector in posted:
                note(path, 'collector', collector, release)
                if path == 'inventory.bmc_address':
                    # Ours, see machine.machine_file.
                    note('plugin_data.bmc_address', 'collector', collector,
                         release)
            for path in redfish(wheel):
                note(path, 'interface', 'redfish', release)
            for path, hook in hooks(wheel):
                note(path, 'hook', hook, release)
            for path, service in flags(wheel):
                note(path, 'service', service, release)
            for path in interfaces_of_hook(each for each, _ in posted):
                note(path, 'hook', 'validate-interfaces', release)
    return {
        'made_from': [agent.name.split('-py')[0].replace('_', '-'),
                      *(f'ironic-{release}' for release in RELEASES)],
        'fields': {path: [_source(kind, name, releases)
                          for (kind, name), releases in sources.items()]
                   for path, sources in sorted(found.items())},
        'types': types(sys.argv[1:], found)}


_TYPES = {bool: 'boolean', int: 'number', float: 'number', str: 'text',
          list: 'list', dict: 'mapping'}


def types(paths: Iterable[str], fields: Iterable[str]) -> dict[str, str]:
    """Return the types that fields have in files of machines."""
    known = set(fields)
    seen: dict[str, set[str]] = {}
    for path in paths:
        ahead = [('', json.loads(pathlib.Path(path).read_text('utf-8')))]
        while ahead:
            place, value = ahead.pop()
            if place in known and value is not None:
                seen.setdefault(place, set()).add(_TYPES[type(value)])
            if isinstance(value, list):
                ahead += ((f'{place}[]', item) for item in value)
            elif isinstance(value, dict):
                for name, item in value.items():
                    below = f'{place}.{name}' if place else name
                    if below not in known and f'{place}.*' in {
                            each[:len(place) + 2] for each in known}:
                        below = f'{place}.*'
                    ahead.append((below, item))
    return {path: found.pop() for path, found in sorted(seen.items())
            if len(found) == 1}


def _source(kind: str, name: str, releases: list[str]) -> dict[str, str]:
    source = {kind: name}
    if releases[0] != RELEASES[0]:
        source['since'] = releases[0]
    if releases[-1] != RELEASES[-1]:
        source['until'] = releases[-1]
    return source


def write(collect: Callable[[str], dict[str, Any]], tool: str) -> None:
    """Write what was collected to the standard output.

    :param collect: given a directory for downloads.
    :param tool: the file name of what collects, which the output names.
    """
    with tempfile.TemporaryDirectory() as directory:
        collected = collect(directory)
    sys.stdout.write(f'# Made by tools/{tool}.\n')
    yaml.safe_dump(collected, sys.stdout, sort_keys=False,
                   default_flow_style=None, width=79)


if __name__ == '__main__':
    write(collect, 'collect_inventory_fields.py')
