# SPDX-License-Identifier: Apache-2.0

"""Collects the names that Ironic knows in driver_info and properties of nodes.

pip downloads the wheels of ironic. The names are those that the in-tree
drivers declare as their properties, and those that Ironic's code looks up or
sets. ``ironic-inspection-rules lint`` recognizes mistyped names by the file
that this program writes.

    python tools/collect_node_fields.py > \\
        ironic_inspection_rules/kit/machine/node_fields.yaml
"""

import argparse
import ast
from collections.abc import Iterator
import zipfile

import collect_inventory_fields

DRIVER_INFO = 'driver_info'
PROPERTIES = 'properties'

VARIABLES = {'driver_info': DRIVER_INFO}
"""The field of a node that a local variable in Ironic's code has, by name of
the variable."""


def find_names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield all names in fields of a node that code declares, reads or sets.

    For example, ``task.node.properties.get('cpu_arch')`` gives
    ``('properties', 'cpu_arch')``, and ``driver_info['ipmi_port']`` gives
    ``('driver_info', 'ipmi_port')``.

    :param tree: the syntax tree of a module of Ironic.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from _find_declared(node)
        elif isinstance(node, ast.Subscript):
            yield from _find_looked_up(node.value, node.slice)
        elif isinstance(node, ast.Call) and node.args:
            method = node.func
            if not isinstance(method, ast.Attribute):
                continue
            if method.attr == 'set_property':
                yield from _find_constant(PROPERTIES, node.args[0])
            elif method.attr in ('get', 'setdefault', 'pop'):
                yield from _find_looked_up(method.value, node.args[0])


def _find_declared(node: ast.Assign) -> Iterator[tuple[str, str]]:
    """Yield the names that a driver declares in a constant.

    For example, ``REQUIRED_PROPERTIES = {'ipmi_address': …}`` gives
    ``('driver_info', 'ipmi_address')``.
    """
    name = ''
    target = node.targets[0]
    if isinstance(target, ast.Name):
        name = target.id
    if name == 'ESSENTIAL_PROPERTIES' and isinstance(node.value, ast.Set):
        for element in node.value.elts:
            yield from _find_constant(PROPERTIES, element)
    elif name.endswith('_PROPERTIES') and isinstance(node.value, ast.Dict):
        for key in node.value.keys:
            if key is not None:
                yield from _find_constant(DRIVER_INFO, key)


def _find_looked_up(
    owner: ast.expr, key: ast.expr
) -> Iterator[tuple[str, str]]:
    """Yield the name that is looked up or set in a field of a node.

    Nothing is yielded if the owner of the name is not a field of a node.

    :param owner: the object that has the name, such as ``driver_info`` or
        ``task.node.properties``.
    :param key: the name, which may not be a constant.
    """
    if isinstance(owner, ast.Name):
        if owner.id in VARIABLES:
            yield from _find_constant(VARIABLES[owner.id], key)
    elif isinstance(owner, ast.Attribute):
        is_field = owner.attr in (DRIVER_INFO, PROPERTIES)
        if is_field and 'node' in ast.unparse(owner.value):
            yield from _find_constant(owner.attr, key)


def _find_constant(field: str, key: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield field and name if the name is a literal in the code."""
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        yield field, key.value


def collect(directory: str) -> dict[str, object]:
    """Collect the names of all releases.

    :param directory: the directory for downloads.
    :returns: ``made_from``, and for every field its names, with the files of
        Ironic that have the name.
    """
    # The files that have a name, by field and name.
    files_of: dict[str, dict[str, set[str]]] = {
        DRIVER_INFO: {},
        PROPERTIES: {},
    }
    releases = collect_inventory_fields.RELEASES
    for release in releases:
        wheel = collect_inventory_fields.fetch('ironic', release, directory)
        with zipfile.ZipFile(wheel) as archive:
            for file in archive.namelist():
                if not file.endswith('.py') or '/tests/' in file:
                    continue
                origin = file.removeprefix('ironic/')
                for field, name in find_names(ast.parse(archive.read(file))):
                    files_of[field].setdefault(name, set()).add(origin)
    collected: dict[str, object] = {
        'made_from': [f'ironic-{release}' for release in releases],
    }
    for field, by_name in files_of.items():
        collected[field] = {
            name: sorted(files) for name, files in sorted(by_name.items())
        }
    return collected


if __name__ == '__main__':
    # There are no arguments, but --help prints what the command does.
    argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    collect_inventory_fields.write(collect, 'collect_node_fields.py')
