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
    """Return whether a release is neither before the first nor after the last.

    ``'37.0.0'`` is between ``'35.1'`` and ``'39'``.

    :param release: a release, or a series such as ``'39'``, which may have
        releases inside and outside of the range: it counts as inside.
    :param first: None if there is no first one.
    :param last: None if there is no last one.
    """
    release_numbers = numbers(release)
    # Only as many numbers are compared as the release has: the series 39 is
    # neither before 39.1 nor after it.
    length = len(release_numbers)
    is_before_first = (
        first is not None and release_numbers < numbers(first)[:length]
    )
    is_after_last = (
        last is not None and release_numbers > numbers(last)[:length]
    )
    return not is_before_first and not is_after_last


OLDEST, NEWEST = major(TRIED[0]), major(TRIED[-1])
"""The first and the last that are supported, with all point releases."""
