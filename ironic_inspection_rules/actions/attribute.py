# SPDX-License-Identifier: Apache-2.0

"""Actions on attributes of the node and of its ports.

Paths are those of a JSON patch in Ironic's API, or their older forms
(spec 003 "Available actions").
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.actions import schema
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.i18n import _

WorkingCopy = working_copy.WorkingCopy
Table = typing.Mapping[str, schema.Attribute]


class Owner(typing.NamedTuple):
    """Whose attributes an action changes: where they are and which."""

    root: str
    base: data_path.Path
    table: Table


_NODE = Owner(working_copy.NODE, (), schema.NODE)


def _port(target: WorkingCopy, port_id: str) -> Owner:
    return Owner(working_copy.PORTS, target.port(port_id), schema.PORT)


class AttributeAction(plugin.Action):
    """An action at a path of a node or a port."""

    TABLE: typing.ClassVar[Table] = schema.NODE

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        path = arguments.get('path')
        if path is None or '{' in path[0]:
            # Real rules have such paths; what they mean a machine shows.
            return
        try:
            schema.check_path(path, self.TABLE)
        except exceptions.OperationError as exc:
            yield 'path', str(exc)
            return
        for name, value in arguments.items():
            try:
                self.check(name, value, path)
            except exceptions.OperationError as exc:
                yield name, str(exc)

    def check(self, name: str, value: typing.Any,
              path: data_path.Path) -> None:
        """Check an argument when the rule is made.

        :param path: where it is to have its effect.
        :raises: :class:`.exceptions.OperationError` where it cannot.
        """

    def _write(self, arguments: plugin.Arguments, **written: typing.Any
               ) -> typing.Iterator[plugin.Write]:
        kind = 'port' if self.TABLE is schema.PORT else 'node'
        yield plugin.Write(kind, arguments['path'],
                           owner=arguments.get('port_id'), **written)

    def schemas(self, argument: str
                ) -> typing.Sequence[plugin.Schema] | None:
        return [schema.path_schema(self.TABLE, self.targets())] if (
            argument == 'path') else None

    def targets(self) -> typing.Iterable[str]:
        """Return the attributes that a path may lead to, not only into."""
        return self.TABLE


class _Set(AttributeAction):

    def cases(self) -> typing.Iterator[
            tuple[str, plugin.Schema, plugin.Schema]]:
        yield from schema.cases(self.TABLE)

    def writes(self, arguments: plugin.Arguments
               ) -> typing.Iterator[plugin.Write]:
        yield from self._write(arguments, value=arguments['value'])

    def check(self, name: str, value: typing.Any,
              path: data_path.Path) -> None:
        if name == 'value' or name == 'cleanup' and value is not None:
            schema.read_value(path, value, self.TABLE)

    def _set(self, target: WorkingCopy, owner: Owner, path: data_path.Path,
             value: typing.Any) -> None:
        schema.check_path(path, owner.table)
        target.set(owner.root, owner.base + path,
                   schema.read_value(path, value, owner.table))

    def _undo(self, target: WorkingCopy, owner: Owner, path: data_path.Path,
              cleanup: typing.Any) -> None:
        schema.check_path(path, owner.table)
        if cleanup is not None:
            self._set(target, owner, path, cleanup)
        elif len(path) > 1 or owner.table[path[0]].default is not ...:
            _delete(target, owner, path)


class SetAttribute(_Set):
    """``set-attribute``: set an attribute of the node, or a value in it."""

    def __call__(self, target: WorkingCopy, path: data_path.Path,
                 value: typing.Any,
                 cleanup: typing.Any = None) -> None:
        self._set(target, _NODE, path, value)

    def revert(self, target: WorkingCopy, path: data_path.Path,
               cleanup: typing.Any = None) -> None:
        """Set the cleanup value, or remove what is there."""
        self._undo(target, _NODE, path, cleanup)


class SetPortAttribute(_Set):
    """``set-port-attribute``: set an attribute of a port."""

    TABLE = schema.PORT

    def __call__(self, target: WorkingCopy, port_id: str,
                 path: data_path.Path,
                 value: typing.Any, cleanup: typing.Any = None) -> None:
        self._set(target, _port(target, port_id), path, value)

    def revert(self, target: WorkingCopy, port_id: str,
               path: data_path.Path,
               cleanup: typing.Any = None) -> None:
        """Set the cleanup value, or remove what is there."""
        if target.has_port(port_id):
            self._undo(target, _port(target, port_id), path, cleanup)


class _Extend(AttributeAction):

    def targets(self) -> typing.Iterable[str]:
        return ()

    def writes(self, arguments: plugin.Arguments
               ) -> typing.Iterator[plugin.Write]:
        yield from self._write(arguments, value=arguments['value'],
                               extends=True)

    def check(self, name: str, value: typing.Any,
              path: data_path.Path) -> None:
        if name == 'path' and len(path) == 1:
            raise exceptions.OperationError(
                _('attribute "%s" is not a list') % path[0])

    def _extend(self, target: WorkingCopy, owner: Owner, path: data_path.Path,
                value: typing.Any, unique: bool) -> None:
        schema.check_path(path, owner.table)
        self.check('path', path, path)
        target.extend(owner.root, owner.base + path, value, unique)

    def _discard(self, target: WorkingCopy, owner: Owner, path: data_path.Path,
                 value: typing.Any) -> None:
        schema.check_path(path, owner.table)
        target.discard(owner.root, owner.base + path, value)


class ExtendAttribute(_Extend):
    """``extend-attribute``: append to a list in an attribute of the node."""

    def __call__(self, target: WorkingCopy, path: data_path.Path,
                 value: typing.Any,
                 unique: bool = False) -> None:
        self._extend(target, _NODE, path, value, unique)

    def revert(self, target: WorkingCopy, path: data_path.Path,
               value: typing.Any) -> None:
        """Remove the value from the list."""
        self._discard(target, _NODE, path, value)


class ExtendPortAttribute(_Extend):
    """``extend-port-attribute``: append to a list of a port."""

    TABLE = schema.PORT

    def __call__(self, target: WorkingCopy, port_id: str,
                 path: data_path.Path,
                 value: typing.Any, unique: bool = False) -> None:
        self._extend(target, _port(target, port_id), path, value, unique)

    def revert(self, target: WorkingCopy, port_id: str,
               path: data_path.Path,
               value: typing.Any) -> None:
        """Remove the value from the list."""
        if target.has_port(port_id):
            self._discard(target, _port(target, port_id), path, value)


class _Delete(AttributeAction):

    def targets(self) -> typing.Iterable[str]:
        return [name for name, each in self.TABLE.items()
                if each.default is not ...]

    def writes(self, arguments: plugin.Arguments
               ) -> typing.Iterator[plugin.Write]:
        yield from self._write(arguments)

    def check(self, name: str, value: typing.Any,
              path: data_path.Path) -> None:
        if name == 'path':
            schema.read_value(path, None, self.TABLE)


class DeleteAttribute(_Delete):
    """``del-attribute``: remove an attribute of the node, or what is in it."""

    def __call__(self, target: WorkingCopy, path: data_path.Path) -> None:
        _delete(target, _NODE, path)


class DeletePortAttribute(_Delete):
    """``del-port-attribute``: remove an attribute of a port."""

    TABLE = schema.PORT

    def __call__(self, target: WorkingCopy, port_id: str,
                 path: data_path.Path) -> None:
        _delete(target, _port(target, port_id), path)


def _delete(target: WorkingCopy, owner: Owner, path: data_path.Path) -> None:
    schema.check_path(path, owner.table)
    if len(path) == 1:
        target.set(owner.root, owner.base + path,
                   schema.read_value(path, None, owner.table))
    else:
        target.unset(owner.root, owner.base + path)
