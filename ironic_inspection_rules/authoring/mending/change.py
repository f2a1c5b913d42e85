# SPDX-License-Identifier: Apache-2.0

"""Changes of what an author wrote, as data.

They only say what is to become of which value; :mod:`.text` carries them out
in the text of a file.
"""

import copy
import dataclasses
import json
import typing

from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _

Data = typing.Any


@dataclasses.dataclass(frozen=True)
class Rename:
    """A key of the mapping at a pointer gets another name."""

    pointer: str
    old: str
    new: str

    def __str__(self) -> str:
        return _('"%(old)s" is now "%(new)s"') % dataclasses.asdict(self)

    def apply(self, mapping: Data) -> Data:
        """Return the mapping with the other name in the same place."""
        return {self.new if key == self.old else key: value
                for key, value in mapping.items()}


@dataclasses.dataclass(frozen=True)
class Rewrite:
    """A part of all text at a pointer and below becomes another one."""

    pointer: str
    old: str
    new: str

    def __str__(self) -> str:
        return _('"%(old)s" is now "%(new)s"') % dataclasses.asdict(self)

    def apply(self, value: Data) -> Data:
        """Return the value with the other text; keys stay as they are."""
        if isinstance(value, str):
            return value.replace(self.old, self.new)
        if isinstance(value, list):
            return [self.apply(item) for item in value]
        if isinstance(value, dict):
            return {key: self.apply(item) for key, item in value.items()}
        return value


@dataclasses.dataclass(frozen=True)
class Name:
    """The items of a list of arguments get names.

    With ``whole`` the list itself becomes the one argument.
    """

    pointer: str
    names: tuple[str, ...]
    whole: bool = False

    def __str__(self) -> str:
        return _('arguments have names: %s') % ', '.join(self.names)

    def apply(self, args: Data) -> Data:
        """Return the arguments as a mapping."""
        if self.whole:
            return {self.names[0]: args}
        return dict(zip(self.names, args, strict=True))


@dataclasses.dataclass(frozen=True)
class Replace:
    """The value at a pointer becomes another one."""

    pointer: str
    old: typing.Any
    new: typing.Any

    def __str__(self) -> str:
        return _('%(old)s is now %(new)s') % {
            'old': json.dumps(self.old), 'new': json.dumps(self.new)}

    def apply(self, value: Data) -> Data:
        """Return the other value."""
        return self.new


Change = Rename | Rewrite | Name | Replace

_ORDER = (Rewrite, Replace, Rename, Name)


def apply(entry: Data, changes: typing.Iterable[Change]) -> Data:
    """Return an entry with changes made; the entry itself stays."""
    entry = copy.deepcopy(entry)
    for each in in_order(changes):
        tokens = tuple(map(data_path.unescape, each.pointer.split('/')[1:]))
        if not tokens:
            entry = each.apply(entry)
            continue
        above = data_path.get(entry, tokens[:-1])
        key = int(tokens[-1]) if isinstance(above, list) else tokens[-1]
        above[key] = each.apply(above[key])
    return entry


def in_order(changes: typing.Iterable[Change]) -> list[Change]:
    """Return changes so that none moves what another one points to."""
    return sorted(changes, key=lambda each: (_ORDER.index(type(each)),
                                             -each.pointer.count('/')))
