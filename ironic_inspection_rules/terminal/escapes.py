# SPDX-License-Identifier: Apache-2.0

"""Text of machines and of strangers, on its way to a terminal.

A terminal carries out what control characters tell it, and shows bidirectional
text in another order than it is written in.
"""

import collections.abc
import contextlib
import io
import re
import sys
import typing

from ironic_inspection_rules import exceptions

_OURS = re.compile(r'\033\[(?:0|3[1236])m')
"""Colours, as rich writes them; nothing but a terminal is sent any."""

_CHARACTERS = {code: shown for code, shown
               in exceptions.CONTROL_CHARACTERS.items()
               if chr(code) not in '\t\n'}


def shown(text: str) -> str:
    """Write control and bidirectional characters as escapes: ``\\x1b``.

    Ends of lines and tabs stay.
    """
    return text.translate(_CHARACTERS)


class Guard:
    """A stream whose reader sees all that is written to it.

    :ivar unguarded: the stream itself, for what moves the cursor.
    """

    def __init__(self, stream: typing.TextIO) -> None:
        if isinstance(stream, io.TextIOWrapper):
            # A machine may have sent characters that the locale has not.
            stream.reconfigure(errors='backslashreplace')
        self.unguarded = stream

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self.unguarded, name)

    def write(self, text: str) -> int:
        """Write a text; on a terminal with its colours."""
        if not self.unguarded.isatty():
            return self.unguarded.write(shown(text))
        rest = map(shown, _OURS.split(text))
        written = next(rest)
        for colour, piece in zip(_OURS.findall(text), rest, strict=True):
            written += colour + piece
        return self.unguarded.write(written)

    def writelines(self, lines: typing.Iterable[str]) -> None:
        """Write some texts."""
        for line in lines:
            self.write(line)


@contextlib.contextmanager
def guarded() -> collections.abc.Iterator[None]:
    """Guard standard output and standard error of a command."""
    with (contextlib.redirect_stdout(Guard(sys.stdout)),
          contextlib.redirect_stderr(Guard(sys.stderr))):
        yield
