# SPDX-License-Identifier: Apache-2.0

"""Data with marks where identifiers stand.

The marks say what the data are, and, laid over the anonymous data, what
stands there now; all that is around them must be as it was.
"""

import dataclasses
import re

from ironic_inspection_rules.tests.unit.kit.machine.anonymity import identity


@dataclasses.dataclass(frozen=True)
class Mark:
    """Where an identifier stands, and how it is written."""

    identifier: identity.Identifier
    style: str = 'plain'

    def written(self):
        return identity.write(self.identifier, self.style)


@dataclasses.dataclass(frozen=True)
class Text:
    """A text with marks.

    :ivar pieces: texts and marks.
    """

    pieces: tuple

    def value(self):
        return ''.join(
            piece if isinstance(piece, str) else piece.written()
            for piece in self.pieces
        )

    def marks(self):
        return [piece for piece in self.pieces if isinstance(piece, Mark)]

    def match(self, made):
        """Return what stands at the marks; None if more has changed."""
        pattern = ''.join(
            re.escape(piece) if isinstance(piece, str) else '(.+?)'
            for piece in self.pieces
        )
        match = isinstance(made, str) and re.fullmatch(
            pattern, made, re.DOTALL
        )
        return match.groups() if match else None


class Hexadecimal(Text):
    """A text that stands as the hexadecimal digits of its characters."""

    def value(self):
        return super().value().encode().hex()

    def match(self, made):
        try:
            return super().match(bytes.fromhex(made).decode())
        except ValueError:
            return None


class Number(Text):
    """A mark whose identifier stands as a number."""

    def value(self):
        return int(super().value())

    def match(self, made):
        return super().match(str(made)) if type(made) is int else None


class Fixed(Text):
    """A text that must become another one.

    :ivar pieces: the text, and what it must become.
    """

    def value(self):
        return self.pieces[0]

    def marks(self):
        return []

    def match(self, made):
        return () if made == self.pieces[1] else None


def fixed(given, made):
    """Return data that must become others."""
    if isinstance(given, dict):
        return {
            Fixed((name, new_name)): fixed(value, new_value)
            for (name, value), (new_name, new_value) in zip(
                given.items(), made.items(), strict=True
            )
        }
    if isinstance(given, list):
        return [fixed(*pair) for pair in zip(given, made, strict=True)]
    return Fixed((given, made)) if isinstance(given, str) else given


def rendered(value):
    """Return data without marks."""
    if isinstance(value, Text):
        return value.value()
    if isinstance(value, dict):
        return {rendered(key): rendered(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rendered(item) for item in value]
    return value
