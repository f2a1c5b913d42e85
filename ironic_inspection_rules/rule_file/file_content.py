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
    old and new content. This does not happen if another file is moved to the
    path, because the open file is then read to its end.

    :param path: the path of the file, for the error.
    :param most: the maximum number of bytes to read; -1 means no limit.
    :raises: :class:`.exceptions.InvalidDocument` if the time or the size of
        the file changes, or if the number of bytes read is neither the size
        nor ``most``.
    """
    before = os.fstat(stream.fileno())
    data = stream.read(most)
    after = os.fstat(stream.fileno())
    if not stat.S_ISREG(after.st_mode):
        # A pipe has no size, and its data can be read only once.
        return data
    has_new_time = before.st_mtime_ns != after.st_mtime_ns
    has_new_size = before.st_size != after.st_size
    # The modification time of a file advances in steps of a few milliseconds.
    # If the file is rewritten within one step and has the same size
    # afterwards, only the number of bytes read can reveal the change.
    has_wrong_length = len(data) not in (after.st_size, most)
    # A file that is generated while it is read always has the size 0, e.g. a
    # file in /proc. The number of bytes says nothing about it.
    is_generated = before.st_size == 0 and after.st_size == 0
    if is_generated:
        has_wrong_length = False
    if has_new_time or has_new_size or has_wrong_length:
        raise exceptions.InvalidDocument(
            path, _('the file changed while it was read; try again')
        )
    return data
