# SPDX-License-Identifier: Apache-2.0

"""The supported releases of Ironic.

This is the only list in the code. ``tests/unit/test_releases.py`` compares it
with all files that cannot read it: tox.ini, documents, and generated data.
"""

TRIED = ('35.0.1', '35.1.0', '36.0.0', '37.0.0', '38.0.0', '39.0.0')
"""The releases that are tested, from the oldest to the newest."""


def numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of a release: ``(39, 0, 0)`` for ``'39.0.0'``."""
    return tuple(map(int, release.split('.')))


def major(release: str) -> int:
    """Return the first number of a release: 39 for ``'39.0.0'``."""
    return int(release.partition('.')[0])


def is_between(release: str, first: str | None, last: str | None) -> bool:
    """Return whether a release is in a range, which includes both ends.

    For example, ``'37.0.0'`` is between ``'35.1'`` and ``'39'``.

    :param release: a release, or a series such as ``'39'``. A series that has
        releases both inside and outside of the range counts as inside.
    :param first: the first release of the range; None if there is no lower
        end.
    :param last: the last release of the range; None if there is no upper end.
    """
    release_numbers = numbers(release)
    # Only as many numbers are compared as the release has. Therefore the
    # series 39 is neither before 39.1 nor after it.
    length = len(release_numbers)
    if first is not None and release_numbers < numbers(first)[:length]:
        return False
    if last is not None and release_numbers > numbers(last)[:length]:
        return False
    return True


OLDEST, NEWEST = major(TRIED[0]), major(TRIED[-1])
"""The first and the last that are supported, with all point releases."""
