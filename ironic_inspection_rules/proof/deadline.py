# SPDX-License-Identifier: Apache-2.0

"""How long to look for an answer."""

import time


class Unclear(Exception):
    """Nobody can tell; the message says why."""


class Deadline:
    """A moment that ends a search.

    :param seconds: how far away it is.
    :param reason: what to say once it has passed.
    """

    def __init__(self, seconds: float, reason: str) -> None:
        self._at = time.monotonic() + seconds
        self._reason = reason

    def left(self) -> float:
        """Return how many seconds are left.

        :raises: :class:`Unclear` where none are.
        """
        left = self._at - time.monotonic()
        if left <= 0:
            raise Unclear(self._reason)
        return left
