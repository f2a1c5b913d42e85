# SPDX-License-Identifier: Apache-2.0

"""Reads a file whole, and refuses one that changes meanwhile."""

import os
import stat
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _


def read(path: str, stream: typing.BinaryIO, most: int = -1) -> bytes:
    """Read an open file, which must not change meanwhile.

    If another process writes the file, the bytes read may be half of the old
    content and half of the new one. If another file takes its name, the open
    one is read to its end all the same.

    :param most: the number of bytes after which reading stops, -1 for all.
    :raises: :class:`.exceptions.InvalidDocument` if the file changes, or the
        number of bytes read is neither its size nor ``most``.
    """
    before = os.fstat(stream.fileno())
    data = stream.read(most)
    after = os.fstat(stream.fileno())
    if not stat.S_ISREG(after.st_mode):
        # A pipe is read once, and has no size.
        return data
    has_same_time = before.st_mtime_ns == after.st_mtime_ns
    has_same_size = before.st_size == after.st_size
    # The time of a file advances in steps of some milliseconds. If the file is
    # written again within a step, and has the same size afterwards, only the
    # number of bytes read may tell. Files that are made while they are read,
    # such as in /proc, have size 0.
    has_size = after.st_size > 0 or before.st_size > 0
    is_whole = not has_size or len(data) in (after.st_size, most)
    if not (has_same_time and has_same_size and is_whole):
        raise exceptions.InvalidDocument(
            path, _('the file changed while it was read; try again')
        )
    return data
