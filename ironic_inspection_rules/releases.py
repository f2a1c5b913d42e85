# SPDX-License-Identifier: Apache-2.0

"""The supported releases of Ironic.

This is the only list of them. ``tests/unit/test_releases.py`` compares it with
all that cannot read it: tox.ini, documents, and data that tools generate.
"""

TRIED = ('35.0.1', '35.1.0', '36.0.0', '37.0.0', '38.0.0', '39.0.0')
"""The releases that the tests run on, the newest last."""


def major(release: str) -> int:
    """Return the first number of a release: 39 of ``'39.0.0'``."""
    return int(release.partition('.')[0])


OLDEST, NEWEST = major(TRIED[0]), major(TRIED[-1])
"""The first and the last that are supported, with all point releases."""
