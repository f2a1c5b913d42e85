# SPDX-License-Identifier: Apache-2.0

"""The supported releases of Ironic.

This is the only list of them. ``tests/unit/test_releases.py`` compares it with
all that cannot read it: tox.ini, documents, and data that tools generate.
"""

TRIED = ('35.0.1', '35.1.0', '36.0.0', '37.0.0', '38.0.0', '39.0.0')
"""The releases that the tests run on, the newest last."""


def numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of a release: ``(39, 0, 0)`` of ``'39.0.0'``."""
    return tuple(map(int, release.split('.')))


def major(release: str) -> int:
    """Return the first number of a release: 39 of ``'39.0.0'``."""
    return int(release.partition('.')[0])


def is_between(release: str, first: str | None, last: str | None) -> bool:
    """Return whether a release is none before the first or after the last.

    :param release: a series, such as ``'39'``, stands for all its releases.
    :param first: None if there is no first one.
    :param last: None if there is no last one.
    """
    release_numbers = numbers(release)
    # Compared no further than these go: 39 is not before 39.1, nor after it.
    length = len(release_numbers)
    if first is not None and release_numbers < numbers(first)[:length]:
        return False
    return last is None or release_numbers <= numbers(last)[:length]


OLDEST, NEWEST = major(TRIED[0]), major(TRIED[-1])
"""The first and the last that are supported, with all point releases."""
