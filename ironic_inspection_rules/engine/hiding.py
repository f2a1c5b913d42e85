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

"""Places in a machine's data whose values must not show.

They are those that sensitive rules have written to.
"""

import typing

from ironic_inspection_rules.engine import path as data_path

PORTS = 'ports'

Place = tuple[str, data_path.Path]
"""Name of a root, and where in it."""

Ports = typing.Sequence[typing.Mapping[str, typing.Any]]
Lasting = list[typing.Any]
"""A place as JSON data, in which a port is known by its UUID."""


def of_change(data: typing.Any, root: str, path: data_path.Path) -> Place:
    """Return the place to hide after a change.

    Of a list that is the whole list: its items move when others go.

    :param data: the root as it is after the change.
    :param path: where the change was.
    """
    for depth, token in enumerate(path):
        # The ports themselves stay where they are.
        if isinstance(data, list) and (root, depth) != (PORTS, 0):
            return root, path[:depth]
        data = data_path.get(data, (token,))
    return root, path


def is_hidden(hidden: typing.Iterable[Place], root: str,
              path: data_path.Path) -> bool:
    """Whether a value is, has, or is part of one that must not show."""
    return any(where == root and (path[:len(place)] == place
                                  or place[:len(path)] == path)
               for where, place in hidden)


def lasting(hidden: typing.Iterable[Place], ports: Ports) -> list[Lasting]:
    """Return places in a form that holds when ports come and go."""
    return [[root, [ports[int(path[0])]['uuid'], *path[1:]]
             if root == PORTS else list(path)]
            for root, path in sorted(hidden)]


def located(places: typing.Iterable[Lasting], ports: Ports) -> set[Place]:
    """Return the places that :func:`lasting` gave, among these ports."""
    numbers = {port['uuid']: str(number)
               for number, port in enumerate(ports) if port.get('uuid')}
    found = set()
    for root, path in places:
        if root != PORTS:
            found.add((root, tuple(path)))
        elif path[0] in numbers:
            found.add((root, (numbers[path[0]], *path[1:])))
    return found
