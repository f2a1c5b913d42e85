# SPDX-License-Identifier: Apache-2.0

"""Collects the fields of inspection data from the code that sets them.

pip downloads the wheels of ironic and of ironic-python-agent. The fields are
those that the ramdisk's collectors post, that Ironic's hooks add, and that
inspection by Redfish sets. ``ironic-inspection-rules lint`` recognizes
mistyped fields by the file that this program writes.

The code does not show the type of a field. The types come from the files of
machines that the command line names. Such a file contains an inventory, with
or without plugin data. A field whose values have several types in these files
gets no type.

    python tools/collect_inventory_fields.py tools/samples/inventory-*.json \\
        > ironic_inspection_rules/kit/machine/inventory_fields.yaml
"""

import argparse
import ast
from collections.abc import Callable, Iterable, Iterator
import functools
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
"""The places in the data where the ramdisk puts objects of its classes."""

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
"""The collectors of the ramdisk, by file and function; the names are those of
its entry points."""

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
    'result': tuple(
        f'inventory.storage_controllers[]{part}.status'
        for part in ('', '.storage_controllers[]', '.drives[]')
    ),
    'lldp_dict': ('plugin_data.parsed_lldp.*',),
}
"""The places for the data that redfish/inspect.py builds, by name of the
variable in its code."""

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
"""Fields below which the names differ between machines."""


def fetch(name: str, version: str | None, directory: str) -> pathlib.Path:
    """Download the wheel of a project, and return its path.

    :param version: the version; None for the newest one.
    :param directory: the directory for downloads.
    """
    requirement = name
    if version:
        requirement = f'{name}=={version}'
    target = pathlib.Path(directory, requirement)
    subprocess.run(
        [
            sys.executable,
            '-m',
            'pip',
            'download',
            '--quiet',
            '--no-deps',
            '--dest',
            target,
            requirement,
        ],
        check=True,
        stdout=sys.stderr,
    )
    return next(target.glob('*.whl'))


def find_assigned_paths(tree: ast.AST, variable: str) -> Iterator[str]:
    """Yield the paths below a variable to which code assigns values.

    For example, for the variable ``v``, both ``v['a']['b'] = 1`` and
    ``v.update({'a': {'b': 1}})`` give ``.a.b``; the second one also gives
    ``.a``. ``v = …`` gives the empty path.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                path = _path_of_target(target, variable)
                if path is not None:
                    yield path
                    yield from _list_paths_of_keys(node.value, path)
        elif isinstance(node, ast.Call):
            method = node.func
            if isinstance(method, ast.Attribute) and method.attr == 'update':
                path = _path_of_target(method.value, variable)
                if path is not None:
                    for argument in node.args:
                        yield from _list_paths_of_keys(argument, path)


def _path_of_target(target: ast.expr, variable: str) -> str | None:
    """Return the path below a variable to which code assigns a value.

    :param target: the left side of the assignment.
    :returns: ``.a.b`` for ``v['a']['b']``, and '' for ``v`` itself; None for
        another variable, or if a key is not constant.
    """
    if isinstance(target, ast.Name) and target.id == variable:
        return ''
    if not isinstance(target, ast.Subscript):
        return None
    if not isinstance(target.slice, ast.Constant):
        return None
    above = _path_of_target(target.value, variable)
    if above is None:
        return None
    return f'{above}.{target.slice.value}'


def _list_paths_of_keys(value: ast.expr, path: str) -> Iterator[str]:
    """Yield the paths of the constant keys of a literal mapping.

    For example, ``{'a': {'b': 1}}`` at the path ``.x`` gives ``.x.a`` and
    ``.x.a.b``. Other values give nothing.

    :param path: the path of the value.
    """
    if not isinstance(value, ast.Dict):
        return
    for key, item in zip(value.keys, value.values, strict=True):
        if isinstance(key, ast.Constant):
            inner = f'{path}.{key.value}'
            yield inner
            yield from _list_paths_of_keys(item, inner)


def _find_function(tree: ast.AST, name: str) -> ast.FunctionDef:
    """Return the definition of a function.

    :raises: LookupError if it no longer exists, so that this tool must be
        changed.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise LookupError(name)


def _list_constants(tree: ast.Module) -> Iterator[tuple[str, object]]:
    """Yield the names and the values of a module's constants."""
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        target = node.targets[0]
        if isinstance(target, ast.Name) and isinstance(
            node.value, ast.Constant
        ):
            yield target.id, node.value.value


def list_ramdisk_fields(wheel: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield all fields that the ramdisk posts, with their collectors.

    For example, ``data['numa_topology'] = …`` in the function of a collector
    gives ``('plugin_data.numa_topology', 'numa-topology')``.
    """
    yield from _list_hardware_fields(
        ast.parse(wheel.read(f'{AGENT}hardware.py'))
    )
    for file, functions in COLLECTORS.items():
        tree = ast.parse(wheel.read(f'{AGENT}{file}'))
        for function, collector in functions.items():
            for path in find_assigned_paths(
                _find_function(tree, function), 'data'
            ):
                # The fields of the inventory come from hardware.py.
                if path not in ('', '.inventory'):
                    yield f'plugin_data{path}', collector
    # A device is appended to a list, so no path below "data" leads to its
    # keys.
    tree = ast.parse(wheel.read(f'{AGENT}inspector.py'))
    for node in ast.walk(_find_function(tree, 'collect_pci_devices_info')):
        if isinstance(node, ast.Dict):
            for path in _list_paths_of_keys(node, 'plugin_data.pci_devices[]'):
                yield path, 'pci-devices'
    for collector, path in OPEN['ramdisk'].items():
        yield path, collector


def _list_hardware_fields(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the fields of objects that the ramdisk puts into the inventory.

    For example, the attribute ``count`` of the class ``CPU`` gives
    ``('inventory.cpu.count', 'default')``.

    :param tree: the parsed ``hardware.py`` of the ramdisk.
    """
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        for place in HARDWARE.get(node.name, ()):
            collector = 'default'
            if 'usb' in place:
                collector = 'usb-devices'
            for name in _list_posted_attributes(node):
                yield f'{place}.{name}', collector
        if node.name == 'HardwareManager':
            for path in find_assigned_paths(
                _find_function(node, 'list_hardware_info'), 'hardware_info'
            ):
                yield f'inventory{path}', 'default'


def _list_posted_attributes(node: ast.ClassDef) -> list[str]:
    """Return the attributes of a class that the ramdisk posts.

    :raises: LookupError if the class does not list them.
    """
    for statement in node.body:
        if not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Name) and (
            target.id == 'serializable_fields'
        ):
            names: list[str] = ast.literal_eval(statement.value)
            return names
    raise LookupError(node.name)


def list_redfish_fields(wheel: zipfile.ZipFile) -> set[str]:
    """Return the fields that inspection by Redfish reports."""
    tree = ast.parse(wheel.read(f'{MODULES}redfish/inspect.py'))
    fields: set[str] = set()
    for variable, places in REDFISH.items():
        for path in find_assigned_paths(tree, variable):
            if path:
                fields.update(place + path for place in places)
    return fields


def list_hook_fields(wheel: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield the fields that hooks of Ironic add, and the hooks' names."""
    directory = f'{MODULES}inspector/'
    for file in wheel.namelist():
        if file.startswith(f'{directory}hooks/') and file.endswith('.py'):
            tree = ast.parse(wheel.read(file))
            name = pathlib.Path(file).stem.replace('_', '-')
            for path in find_assigned_paths(tree, 'plugin_data'):
                if path:
                    yield f'plugin_data{path}', name
    parsers = ast.parse(wheel.read(f'{directory}lldp_parsers.py'))
    for constant, field in _list_constants(parsers):
        if constant.endswith('_NM'):
            yield f'plugin_data.parsed_lldp.*.{field}', 'parse-lldp'
    for name, path in OPEN['hook'].items():
        yield path, name


def list_api_fields(wheel: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield the fields that Ironic's API adds to posted data."""
    tree = ast.parse(wheel.read(f'{MODULES}inspect_utils.py'))
    for constant, field in _list_constants(tree):
        if constant == 'AUTO_DISCOVERED_FLAG':
            yield f'plugin_data.{field}', 'auto-discovery'


def list_interface_fields(fields: Iterable[str]) -> Iterator[str]:
    """Yield the fields of an interface that validate-interfaces stores.

    For example, ``inventory.interfaces[].name`` gives
    ``plugin_data.all_interfaces.*.name`` and
    ``plugin_data.valid_interfaces.*.name``.

    :param fields: the paths of all fields that the ramdisk posts.
    """
    prefix = 'inventory.interfaces[].'
    names = [
        field.removeprefix(prefix)
        for field in fields
        if field.startswith(prefix)
    ]
    names.append('pxe_enabled')
    for mapping in ('all_interfaces', 'valid_interfaces'):
        for name in names:
            yield f'plugin_data.{mapping}.*.{name}'


def collect(paths: Iterable[str], directory: str) -> dict[str, Any]:
    """Collect the fields of all releases.

    :param paths: the paths of the files of machines.
    :param directory: the directory for downloads.
    :returns: ``made_from``; ``fields``, the sources of every field by path,
        such as ``{'hook': 'parse-lldp', 'since': '36.0.0'}``; and ``types``,
        the types of fields by path.
    """
    agent = fetch('ironic-python-agent', None, directory)
    # The releases that have a field, by path and source of the field.
    releases_of: dict[str, dict[tuple[str, str], list[str]]] = {}

    def note(path: str, kind: str, name: str, release: str) -> None:
        """Store that a release has a field, with the source of the field."""
        by_source = releases_of.setdefault(path, {})
        releases = by_source.setdefault((kind, name), [])
        if release not in releases:
            releases.append(release)

    with zipfile.ZipFile(agent) as wheel:
        posted = list(list_ramdisk_fields(wheel))
    for release in RELEASES:
        with zipfile.ZipFile(fetch('ironic', release, directory)) as wheel:
            for path, collector in posted:
                note(path, 'collector', collector, release)
                if path == 'inventory.bmc_address':
                    # Rules may also read the address at this place.
                    note(
                        'plugin_data.bmc_address',
                        'collector',
                        collector,
                        release,
                    )
            for path in list_redfish_fields(wheel):
                note(path, 'interface', 'redfish', release)
            for path, hook in list_hook_fields(wheel):
                note(path, 'hook', hook, release)
            for path, service in list_api_fields(wheel):
                note(path, 'service', service, release)
            posted_fields = [path for path, _collector in posted]
            for path in list_interface_fields(posted_fields):
                note(path, 'hook', 'validate-interfaces', release)
    fields = {}
    for path, by_source in sorted(releases_of.items()):
        fields[path] = [
            _describe_source(kind, name, releases)
            for (kind, name), releases in by_source.items()
        ]
    agent_release = agent.name.split('-py')[0].replace('_', '-')
    return {
        'made_from': [
            agent_release,
            *(f'ironic-{release}' for release in RELEASES),
        ],
        'fields': fields,
        'types': find_types(paths, fields),
    }


_TYPES = {
    bool: 'boolean',
    int: 'number',
    float: 'number',
    str: 'text',
    list: 'list',
    dict: 'mapping',
}


def find_types(paths: Iterable[str], fields: Iterable[str]) -> dict[str, str]:
    """Return the types that fields have in files of machines.

    A field is skipped if its values have two different types.

    :param paths: the paths of the files.
    :param fields: the paths of all known fields.
    :returns: types by path: ``{'inventory.cpu.count': 'number'}``.
    """
    known = set(fields)
    types_of: dict[str, set[str]] = {}
    for path in paths:
        ahead = [('', json.loads(pathlib.Path(path).read_text('utf-8')))]
        while ahead:
            place, value = ahead.pop()
            if place in known and value is not None:
                types_of.setdefault(place, set()).add(_TYPES[type(value)])
            if isinstance(value, list):
                ahead += ((f'{place}[]', item) for item in value)
            elif isinstance(value, dict):
                ahead += (
                    (_path_of_member(place, name, known), item)
                    for name, item in value.items()
                )
    single = {}
    for place, names in sorted(types_of.items()):
        if len(names) == 1:
            single[place] = names.pop()
    return single


def _path_of_member(place: str, name: str, known: Iterable[str]) -> str:
    """Return the path of a member of a mapping.

    :param place: the path of the mapping; empty for the whole data.
    :returns: e.g. ``plugin_data.parsed_lldp.*`` for the interface ``eth0``
        there. ``*`` replaces an unknown name if the names differ between
        machines.
    """
    path = name
    if place:
        path = f'{place}.{name}'
    any_member = f'{place}.*'
    if path not in known and any(
        field.startswith(any_member) for field in known
    ):
        return any_member
    return path


def _describe_source(
    kind: str, name: str, releases: list[str]
) -> dict[str, str]:
    """Return the source of a field, e.g. ``{'hook': 'raid-device'}``.

    If some releases lack the field, the first and the last release that have
    it are included: ``{'hook': 'raid-device', 'since': '36.0.0', 'until':
    '38.0.0'}``.
    """
    source = {kind: name}
    if releases[0] != RELEASES[0]:
        source['since'] = releases[0]
    if releases[-1] != RELEASES[-1]:
        source['until'] = releases[-1]
    return source


def write(collect: Callable[[str], dict[str, Any]], tool: str) -> None:
    """Collect data, and write them to standard output as YAML.

    :param collect: a function that returns the data; it is called with a
        directory for downloads.
    :param tool: the file name of the tool, which is named in the output.
    """
    with tempfile.TemporaryDirectory() as directory:
        collected = collect(directory)
    sys.stdout.write(f'# Made by tools/{tool}.\n')
    yaml.safe_dump(
        collected,
        sys.stdout,
        sort_keys=False,
        default_flow_style=None,
        width=79,
    )


def main() -> None:
    """Write the fields of all releases to standard output."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'files', nargs='*', metavar='FILE', help='the inventory of a machine'
    )
    parsed = parser.parse_args()
    write(
        functools.partial(collect, parsed.files), 'collect_inventory_fields.py'
    )


if __name__ == '__main__':
    main()
