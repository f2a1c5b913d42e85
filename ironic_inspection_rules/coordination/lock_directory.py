# SPDX-License-Identifier: Apache-2.0

"""The directory of lock files that ``file://`` coordination uses."""

import os
import pathlib

_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600


def prepare(path: str) -> None:
    """Make the directory, and let nobody else in.

    Whoever can open a lock file can lock it, and keep a leader from being
    elected. So a directory that is this user's is closed to all others,
    also one that was made before; one of another user is left as it is.

    :param path: of the directory.
    :raises: OSError when it cannot be made or closed.
    """
    os.makedirs(path, _DIRECTORY_MODE, exist_ok=True)
    found = os.stat(path)
    if found.st_uid == os.geteuid() and found.st_mode & 0o077:
        os.chmod(path, _DIRECTORY_MODE)


def prepare_file(path: pathlib.Path) -> None:
    """Make a lock file that only this user can open, unless it is there.

    :raises: OSError when it cannot be made.
    """
    path.touch(_FILE_MODE)
