# SPDX-License-Identifier: Apache-2.0

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
