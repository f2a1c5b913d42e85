# SPDX-License-Identifier: Apache-2.0

"""Reads a whole file, and refuses a file that changes meanwhile."""

import os
import stat
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _


def read(path: str, stream: typing.BinaryIO, most: int = -1) -> bytes:
    """Read an open file, and refuse it if it changes meanwhile.

    If another process writes to the file, the bytes read may be a mixture of
    old and new content. If another file is moved to its path, the open file
    is nevertheless read to its end.

    :param most: the maximum number of bytes to read; -1 means no limit.
    :raises: :class:`.exceptions.InvalidDocument` if the file changes, or the
        number of bytes read is neither its size nor ``most``.
    """
    before = os.fstat(stream.fileno())
    data = stream.read(most)
    after = os.fstat(stream.fileno())
    if not stat.S_ISREG(after.st_mode):
        # A pipe has no size, and its data can be read only once.
        return data
    has_same_time = before.st_mtime_ns == after.st_mtime_ns
    has_same_size = before.st_size == after.st_size
    # The modification time of a file advances in steps of a few milliseconds.
    # If the file is rewritten within one step and has the same size
    # afterwards, only the number of bytes read can reveal the change.
    # Files that are generated while they are read have size 0, e.g. files in
    # /proc.
    has_size = after.st_size > 0 or before.st_size > 0
    is_whole = not has_size or len(data) in (after.st_size, most)
    if not (has_same_time and has_same_size and is_whole):
        raise exceptions.InvalidDocument(
            path, _('the file changed while it was read; try again')
        )
    return data
