# SPDX-License-Identifier: Apache-2.0

"""Escapes control characters in untrusted text that goes to a terminal.

Control characters can command a terminal, and bidirectional text is shown in
another order than it is stored in.
"""

import collections.abc
import contextlib
import errno
import io
import os
import re
import sys
import typing

from ironic_inspection_rules import exceptions

_COLOUR = re.compile(r'\033\[(?:0|3[1236])m')
"""Colours as rich writes them; they pass to a terminal only."""

_ESCAPES = {
    code: escape
    for code, escape in exceptions.CONTROL_CHARACTERS.items()
    if chr(code) not in '\t\n'
}
"""Escapes by the code of the character."""


def escaped(text: str) -> str:
    """Return text with control and bidirectional characters escaped.

    Newlines and tabs stay; others become such as ``\\x1b``.
    """
    return text.translate(_ESCAPES)


class _Closed(io.TextIOBase):
    """A standard stream that was closed before the process started."""

    def write(self, _text: str) -> int:
        """Fail as writing to a closed descriptor does.

        :raises: OSError.
        """
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), 'stdout')


class Guard:
    """A stream that escapes control characters.

    :param stream: None for one that was closed before the process started.
    :ivar unguarded: the wrapped stream, for progress bars.
    """

    def __init__(self, stream: typing.TextIO | None) -> None:
        if stream is None:
            stream = typing.cast('typing.TextIO', _Closed())
        if isinstance(stream, io.TextIOWrapper):
            # A machine may send characters that the locale does not have.
            stream.reconfigure(errors='backslashreplace')
        self.unguarded = stream

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self.unguarded, name)

    def write(self, text: str) -> int:
        """Write a text with its control characters escaped.

        On a terminal, the sequences that set the colours of our tables are
        not escaped.

        :returns: the number of characters written.
        :raises: OSError with the name of the stream.
        """
        if not self.unguarded.isatty():
            return self._write(escaped(text))
        # Only the pieces before, between and behind the colours are escaped.
        # There is one piece more than there are colours, so the last one gets
        # an empty colour behind it.
        pieces = _COLOUR.split(text)
        colours = [*_COLOUR.findall(text), '']
        safe_text = ''
        for piece, colour in zip(pieces, colours, strict=True):
            safe_text += escaped(piece) + colour
        return self._write(safe_text)

    def _write(self, text: str) -> int:
        with exceptions.naming(getattr(self.unguarded, 'name', '')):
            return self.unguarded.write(text)

    def writelines(self, lines: typing.Iterable[str]) -> None:
        """Write texts, escaped."""
        for line in lines:
            self.write(line)


@contextlib.contextmanager
def guarded() -> collections.abc.Iterator[None]:
    """Escape what is written to standard output and standard error.

    This holds inside the ``with`` block.
    """
    with contextlib.ExitStack() as stack:
        errors: typing.TextIO | None = sys.stderr
        if errors is None:
            # The process was started without standard error. Nobody can read
            # an error, only the exit status.
            errors = stack.enter_context(open(os.devnull, 'w'))
        stack.enter_context(contextlib.redirect_stdout(Guard(sys.stdout)))
        stack.enter_context(contextlib.redirect_stderr(Guard(errors)))
        yield
