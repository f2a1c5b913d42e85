# SPDX-License-Identifier: Apache-2.0

"""What is going on, for a person who waits."""

import time

_BEGAN = time.monotonic()

label = ''
"""Before all lines of this run, where several run at once."""


def say(text: str) -> None:
    """Print a line, after the seconds since this process began."""
    print(f'{label}{time.monotonic() - _BEGAN:7.1f} s  {text}', flush=True)
