# SPDX-License-Identifier: Apache-2.0

"""Escape control characters in untrusted text that goes to a terminal.

Control characters can send commands to a terminal, and a terminal displays
bidirectional text in a different order than it is stored.
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
"""Color sequences that rich writes; they are passed on only to a terminal."""

_ESCAPES = {
    code: escape
    for code, escape in exceptions.CONTROL_CHARACTERS.items()
    if chr(code) not in '\t\n'
}
"""Escapes by the code of the character."""


def escape_text(text: str) -> str:
    """Return a text with control and bidirectional characters escaped.

    Newlines and tabs stay. Other characters become escapes such as ``\\x1b``.
    """
    return text.translate(_ESCAPES)


class _Closed(io.TextIOBase):
    """A standard stream that was closed before the process started."""

    def write(self, _text: str) -> int:
        """Fail in the same way as writing to a closed descriptor.

        :raises: OSError.
        """
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), 'stdout')


class EscapingStream:
    """A stream that escapes control characters.

    :param stream: the stream to wrap; None if it was closed before the process
        started.
    :ivar wrapped: the wrapped stream, for progress bars.
    """

    def __init__(self, stream: typing.TextIO | None) -> None:
        if stream is None:
            stream = typing.cast('typing.TextIO', _Closed())
        if isinstance(stream, io.TextIOWrapper):
            # A machine may send characters that the locale cannot encode.
            stream.reconfigure(errors='backslashreplace')
        self.wrapped = stream

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self.wrapped, name)

    def write(self, text: str) -> int:
        """Write a text with its control characters escaped.

        If the stream is a terminal, the sequences that set the colors of our
        tables are not escaped.

        :returns: the number of characters written.
        :raises: OSError with the name of the stream.
        """
        if not self.wrapped.isatty():
            return self._write(escape_text(text))
        # Escape only the text before, between and after the color sequences.
        safe_text = ''
        position = 0
        for colour in _COLOUR.finditer(text):
            safe_text += (
                escape_text(text[position : colour.start()]) + colour[0]
            )
            position = colour.end()
        safe_text += escape_text(text[position:])
        return self._write(safe_text)

    def _write(self, text: str) -> int:
        with exceptions.name_file_in_errors(getattr(self.wrapped, 'name', '')):
            return self.wrapped.write(text)

    def writelines(self, lines: typing.Iterable[str]) -> None:
        """Write texts, escaped."""
        for line in lines:
            self.write(line)


@contextlib.contextmanager
def escape_output() -> collections.abc.Iterator[None]:
    """Escape the text that is written to standard output and standard error.

    The text is escaped only inside the ``with`` block.
    """
    with contextlib.ExitStack() as stack:
        errors: typing.TextIO | None = sys.stderr
        if errors is None:
            # The process was started without standard error. Nobody can read
            # an error, so only the exit status tells of it.
            errors = stack.enter_context(open(os.devnull, 'w'))
        stack.enter_context(
            contextlib.redirect_stdout(EscapingStream(sys.stdout))
        )
        stack.enter_context(contextlib.redirect_stderr(EscapingStream(errors)))
        yield
