# SPDX-License-Identifier: Apache-2.0

"""The actions set-, extend- and del-attribute, for nodes and ports.

A path is e.g. ``/extra/rack``, or an older form of it (spec 003 "Available
actions"). Its first token is an attribute, which has a kind such as "a
boolean" and may have a default. Further tokens lead into an attribute that is
a mapping, and may have any value.

When a rule is created, ``problems`` checks its literal arguments, and
``writes`` declares what the action changes, for tools such as ``lint``. When
the rule runs, the action changes the target, which is the data of the machine:
the root ``node``, and the root ``ports``, a list. ``revert`` undoes an action
when its rule no longer matches.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.plugins.actions import schema

Target = plugin.Target


class AttributeAction(plugin.Action):
    """An action at a path of a node or, with ``port_id``, of a port."""

    TABLE: typing.ClassVar[typing.Mapping[str, schema.Attribute]] = schema.NODE

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield the problems of the path, and of values for the path.

        For example, the path ``/diver`` gives ``('path', 'attribute "diver"
        does not exist …')``. If the attribute is a replacement field, as in
        ``/{plugin_data.attribute}``, it is only known when the rule runs, and
        nothing is checked here.

        :param arguments: the literal arguments by name, with the path as a
            tuple of its tokens.
        """
        path = arguments.get('path')
        if path is None or '{' in path[0]:
            # The attribute is not known yet.
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

    def check(
        self, name: str, value: typing.Any, path: data_path.Path
    ) -> None:
        """Check a literal argument together with the path.

        Derived classes override this to check the arguments that depend on the
        path.

        :param name: the name of the argument, which may be ``path`` itself.
        :raises: :class:`.exceptions.OperationError` if the argument is invalid
            for the path.
        """

    def place(
        self, target: Target, path: data_path.Path, port_id: str | None = None
    ) -> tuple[str, data_path.Path]:
        """Return where the target has a value, if rules may change it.

        For example, ``/extra/rack`` of the node is ``('node', ('extra',
        'rack'))``, and ``/extra/rack`` of its first port is ``('ports', ('0',
        'extra', 'rack'))``.

        :param path: the path below the node or the port.
        :param port_id: MAC address or UUID of the port; None for the node.
        :returns: the root, and the path below it.
        :raises: :class:`.exceptions.OperationError` if rules must not change
            the value, or if the node has no such port.
        """
        if port_id is None:
            # The value is in the node.
            schema.check_path(path, self.TABLE)
            return plugin.NODE, path
        # This is e.g. ('0',) for the first port. It raises an error if the
        # node has no such port.
        path_of_port = target.port(port_id)
        schema.check_path(path, self.TABLE)
        return plugin.PORTS, path_of_port + path

    def _remove(
        self, target: Target, path: data_path.Path, port_id: str | None = None
    ) -> None:
        """Remove the value at a path of the node or of a port.

        A whole attribute is set to its default, because nodes and ports always
        have all attributes, as in Ironic's API. For example, ``/retired`` is
        false after it was removed.

        :param target: the data of the machine, to be changed.
        :param port_id: MAC address or UUID of the port; None for the node.
        """
        root, path_below_root = self.place(target, path, port_id)
        is_whole_attribute = len(path) == 1
        if is_whole_attribute:
            # Reading null gives the default.
            default = schema.read_value(path, None, self.TABLE)
            target.set(root, path_below_root, default)
        else:
            target.unset(root, path_below_root)

    def _declare_write(
        self,
        arguments: plugin.Arguments,
        value: typing.Any = data_path.ABSENT,
        extends: bool = False,
    ) -> plugin.Write:
        """Return the declaration of what the action changes.

        For example, if ``set-attribute`` sets ``/retired`` to "yes", it
        declares that it writes true to ``/retired`` of the ``node``.

        :param arguments: the arguments of the action, as the rule has them.
        :param value: the value that is written. By default, the current value
            is removed, and a whole attribute is set to its default.
        :param extends: whether the value is appended to a list.
        """
        kind = 'node'
        if self.TABLE is schema.PORT:
            kind = 'port'
        path = arguments['path']
        owner = arguments.get('port_id')
        if extends:
            return plugin.Write(kind, path, value, extends=True, owner=owner)
        # Declare what later rules read: the converted value, or the default if
        # the attribute is removed.
        value_afterwards = schema.value_afterwards(path, value, self.TABLE)
        return plugin.Write(kind, path, value_afterwards, owner=owner)


class _Set(AttributeAction):
    """The base of the actions that set an attribute and can be undone."""

    def cases(
        self,
    ) -> typing.Iterator[tuple[str, plugin.Schema, plugin.Schema]]:
        """Yield the JSON schemas of the value for each kind of path."""
        yield from schema.list_cases(self.TABLE)

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write of the value at the path."""
        yield self._declare_write(arguments, value=arguments['value'])

    def check(
        self, name: str, value: typing.Any, path: data_path.Path
    ) -> None:
        """Check that the attribute can have the value or cleanup value.

        :param name: the name of the argument that has the value.
        :raises: :class:`.exceptions.OperationError` if it cannot.
        """
        # A null means that there is no cleanup value.
        is_cleanup_value = name == 'cleanup' and value is not None
        if name == 'value' or is_cleanup_value:
            schema.read_value(path, value, self.TABLE)

    def _set_value(
        self,
        target: Target,
        path: data_path.Path,
        value: typing.Any,
        port_id: str | None = None,
    ) -> None:
        """Set the value at a path of the node or of a port.

        :param path: a path to an attribute, which gets a value of its kind, or
            into an attribute that is a mapping, which may contain any value.
        :param port_id: MAC address or UUID of the port; None for the node.
        :raises: :class:`.exceptions.OperationError` if rules must not change
            the attribute, if it cannot have the value, or if the node has no
            such port.
        """
        root, path_below_root = self.place(target, path, port_id)
        # For example, "yes" becomes True for a boolean attribute.
        converted = schema.read_value(path, value, self.TABLE)
        if root == plugin.NODE:
            # Ports have no capabilities.
            schema.check_capabilities(path, converted)
        target.set(root, path_below_root, converted)

    def _undo_set(
        self,
        target: Target,
        path: data_path.Path,
        cleanup: typing.Any,
        port_id: str | None = None,
    ) -> None:
        """Undo what the action set when the rule matched earlier.

        If the rule gives a cleanup value, it is set. Otherwise the current
        value is removed. An attribute that cannot be removed, e.g. the driver,
        keeps its value.

        :param target: the data of the machine, to be changed.
        :param cleanup: the cleanup value; None for no cleanup value.
        :param port_id: MAC address or UUID of the port; None for the node.
        """
        if cleanup is not None:
            self._set_value(target, path, cleanup, port_id)
            return
        # This raises an error if rules must not change the path. It ensures
        # that the attribute exists.
        self.place(target, path, port_id)
        attribute = self.TABLE[path[0]]
        is_inside_attribute = len(path) > 1
        if is_inside_attribute or attribute.is_removable:
            self._remove(target, path, port_id)


class SetAttribute(_Set):
    """``set-attribute``: set an attribute of the node, or a value in it."""

    SCHEMAS = schema.path_schemas(schema.NODE, schema.NODE)

    def __call__(
        self,
        target: Target,
        path: data_path.Path,
        value: typing.Any,
        cleanup: typing.Any = None,
    ) -> None:
        self._set_value(target, path, value)

    def revert(
        self, target: Target, path: data_path.Path, cleanup: typing.Any = None
    ) -> None:
        """Set the cleanup value, or remove the value."""
        self._undo_set(target, path, cleanup)


class SetPortAttribute(_Set):
    """``set-port-attribute``: set an attribute of a port."""

    TABLE = schema.PORT
    SCHEMAS = schema.path_schemas(schema.PORT, schema.PORT)

    def __call__(
        self,
        target: Target,
        port_id: str,
        path: data_path.Path,
        value: typing.Any,
        cleanup: typing.Any = None,
    ) -> None:
        self._set_value(target, path, value, port_id)

    def revert(
        self,
        target: Target,
        port_id: str,
        path: data_path.Path,
        cleanup: typing.Any = None,
    ) -> None:
        """Set the cleanup value, or remove the value."""
        if target.has_port(port_id):
            self._undo_set(target, path, cleanup, port_id)


class _Extend(AttributeAction):
    """The base of the actions that append to a list inside an attribute."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write that appends the value to the list at the path."""
        yield self._declare_write(
            arguments, value=arguments['value'], extends=True
        )

    def check(
        self, name: str, value: typing.Any, path: data_path.Path
    ) -> None:
        """Check that there can be a list at the path.

        :param name: the name of the argument; only ``path`` is checked.
        :raises: :class:`.exceptions.OperationError` if there cannot.
        """
        if name == 'path':
            self._check_may_be_list(path)

    @staticmethod
    def _check_may_be_list(path: data_path.Path) -> None:
        """Check that a path leads into an attribute.

        It must not lead to an attribute, because no attribute is a list.
        """
        if len(path) == 1:
            raise exceptions.OperationError(
                _('attribute "%s" is not a list') % path[0]
            )

    def _extend_list(
        self,
        target: Target,
        path: data_path.Path,
        value: typing.Any,
        unique: bool,
        port_id: str | None = None,
    ) -> None:
        """Append a value to a list of the node or of a port.

        :param target: the data of the machine, to be changed.
        :param path: the path to the list, e.g. ``/extra/racks``.
        :param unique: whether to do nothing if the list has an equal item.
        :param port_id: MAC address or UUID of the port; None for the node.
        :raises: :class:`.exceptions.OperationError` if the path does not lead
            into an attribute or to a list, or if the node has no such port.
        """
        root, path_below_root = self.place(target, path, port_id)
        self._check_may_be_list(path)
        if root == plugin.NODE:
            # Reject the path to the capabilities, which must not become a
            # list.
            schema.check_capabilities(path, [value])
        target.extend(root, path_below_root, value, unique)


class ExtendAttribute(_Extend):
    """``extend-attribute``: append to a list in an attribute of the node."""

    SCHEMAS = schema.path_schemas(schema.NODE, ())

    def __call__(
        self,
        target: Target,
        path: data_path.Path,
        value: typing.Any,
        unique: bool = False,
    ) -> None:
        self._extend_list(target, path, value, unique)

    def revert(
        self, target: Target, path: data_path.Path, value: typing.Any
    ) -> None:
        """Remove the value from the list."""
        root, path_below_root = self.place(target, path)
        target.discard(root, path_below_root, value)


class ExtendPortAttribute(_Extend):
    """``extend-port-attribute``: append to a list of a port."""

    TABLE = schema.PORT
    SCHEMAS = schema.path_schemas(schema.PORT, ())

    def __call__(
        self,
        target: Target,
        port_id: str,
        path: data_path.Path,
        value: typing.Any,
        unique: bool = False,
    ) -> None:
        self._extend_list(target, path, value, unique, port_id)

    def revert(
        self,
        target: Target,
        port_id: str,
        path: data_path.Path,
        value: typing.Any,
    ) -> None:
        """Remove the value from the list."""
        if target.has_port(port_id):
            root, path_below_root = self.place(target, path, port_id)
            target.discard(root, path_below_root, value)


class _Delete(AttributeAction):
    """The base of the actions that remove an attribute, or a part of one."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write that removes the value at the path."""
        yield self._declare_write(arguments)

    def check(
        self, name: str, value: typing.Any, path: data_path.Path
    ) -> None:
        """Check that rules may remove the value at the path.

        :param name: the name of the argument; only ``path`` is checked.
        :raises: :class:`.exceptions.OperationError` if they may not.
        """
        if name == 'path':
            # Null stands for a removal, which the attribute may reject.
            schema.read_value(path, None, self.TABLE)


class DeleteAttribute(_Delete):
    """``del-attribute``: remove an attribute of the node, or a value in it."""

    SCHEMAS = schema.path_schemas(
        schema.NODE, schema.list_removable(schema.NODE)
    )

    def __call__(self, target: Target, path: data_path.Path) -> None:
        self._remove(target, path)


class DeletePortAttribute(_Delete):
    """``del-port-attribute``: remove an attribute of a port."""

    TABLE = schema.PORT
    SCHEMAS = schema.path_schemas(
        schema.PORT, schema.list_removable(schema.PORT)
    )

    def __call__(
        self, target: Target, port_id: str, path: data_path.Path
    ) -> None:
        self._remove(target, path, port_id)
