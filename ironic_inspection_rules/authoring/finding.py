# SPDX-License-Identifier: Apache-2.0

"""What may be wrong in a file of rules, and where."""

import dataclasses
import typing

ERROR = 'error'
WARNING = 'warning'
NOTE = 'note'


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    """One thing that an author should look at.

    ``line`` and ``column`` count from one. ``rule`` is what names the rule,
    and None where the whole file is at fault. ``check`` is the name of the
    check that found it, ``level`` one of ``error`` (the rule cannot be
    used), ``warning`` (it can, but hardly does what it should) and ``note``
    (it is good where its author knows this).
    """

    path: str
    line: int
    column: int
    level: str
    check: str
    rule: str | None
    message: str

    @property
    def is_problem(self) -> bool:
        """Whether something should be mended."""
        return self.level != NOTE

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data."""
        return dataclasses.asdict(self)
