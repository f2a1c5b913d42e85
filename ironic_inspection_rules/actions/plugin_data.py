# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Actions on plugin data (spec 003 "Available actions")."""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import target as engine_target


class PluginDataAction(plugin.Action):
    """An action at a path of plugin data."""

    SUPPORTS_EARLY = True

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        try:
            data_path.parse(arguments.get('path', '/any'))
        except exceptions.OperationError as exc:
            yield 'path', str(exc)


class SetPluginData(PluginDataAction):
    """``set-plugin-data``: set the value at the path."""

    def __call__(self, target: engine_target.Target, path: str,
                 value: typing.Any) -> None:
        target.set(engine_target.PLUGIN_DATA, data_path.parse(path), value)

    def revert(self, target: engine_target.Target, path: str) -> None:
        """Remove what is there."""
        target.unset(engine_target.PLUGIN_DATA, data_path.parse(path))


class ExtendPluginData(PluginDataAction):
    """``extend-plugin-data``: append the value to the list at the path."""

    def __call__(self, target: engine_target.Target, path: str,
                 value: typing.Any, unique: bool = False) -> None:
        target.extend(engine_target.PLUGIN_DATA, data_path.parse(path),
                      value, unique)

    def revert(self, target: engine_target.Target, path: str,
               value: typing.Any) -> None:
        """Remove the value from the list."""
        target.discard(engine_target.PLUGIN_DATA, data_path.parse(path),
                       value)


class UnsetPluginData(PluginDataAction):
    """``unset-plugin-data``: remove what is at the path."""

    def __call__(self, target: engine_target.Target, path: str) -> None:
        target.unset(engine_target.PLUGIN_DATA, data_path.parse(path))
