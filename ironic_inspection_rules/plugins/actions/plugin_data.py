# SPDX-License-Identifier: Apache-2.0

"""Implements the actions on plugin data (spec 003 "Available actions")."""

import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin


class PluginDataAction(plugin.Action):
    """Base class of actions that change a path of the plugin data."""

    SUPPORTS_EARLY = True


class SetPluginData(PluginDataAction):
    """``set-plugin-data``: set the value at the path."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write of the value at the path."""
        yield plugin.Write(
            'plugin_data', arguments['path'], arguments['value']
        )

    def __call__(
        self, target: plugin.Target, path: data_path.Path, value: typing.Any
    ) -> None:
        target.set(plugin.PLUGIN_DATA, path, value)

    def revert(self, target: plugin.Target, path: data_path.Path) -> None:
        """Remove the value."""
        target.unset(plugin.PLUGIN_DATA, path)


class ExtendPluginData(PluginDataAction):
    """``extend-plugin-data``: append the value to the list at the path."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write that appends the value to the list at the path."""
        yield plugin.Write(
            'plugin_data', arguments['path'], arguments['value'], extends=True
        )

    def __call__(
        self,
        target: plugin.Target,
        path: data_path.Path,
        value: typing.Any,
        unique: bool = False,
    ) -> None:
        target.extend(plugin.PLUGIN_DATA, path, value, unique)

    def revert(
        self, target: plugin.Target, path: data_path.Path, value: typing.Any
    ) -> None:
        """Remove the value from the list."""
        target.discard(plugin.PLUGIN_DATA, path, value)


class UnsetPluginData(PluginDataAction):
    """``unset-plugin-data``: remove the value at the path."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write that removes the value at the path."""
        yield plugin.Write('plugin_data', arguments['path'])

    def __call__(self, target: plugin.Target, path: data_path.Path) -> None:
        target.unset(plugin.PLUGIN_DATA, path)
