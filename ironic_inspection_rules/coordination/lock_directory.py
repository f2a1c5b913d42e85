# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
