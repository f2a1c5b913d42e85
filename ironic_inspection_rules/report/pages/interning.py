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

"""Values by number, as most of them are there many times."""

from collections.abc import Hashable
import typing

from ironic_inspection_rules.report.pages import json_text


class Numbers:
    """Gives each value a number, equal ones the same."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def of(self, value: Hashable) -> int:
        """Return the number of a value."""
        return self._numbers.setdefault(value, len(self._numbers))

    def of_json(self, value: typing.Any) -> int:
        """Return the number of the JSON text of a value."""
        return self.of(json_text.dumps(value, sort_keys=True))

    @property
    def all(self) -> list[typing.Any]:
        """All values; the index of each is its number."""
        return list(self._numbers)
