# SPDX-License-Identifier: Apache-2.0

"""A clock that only a test moves, however busy the machine is."""

import time
import types

import fixtures


class Clock(fixtures.Fixture):
    """Takes the place of ``time`` in modules that read ``monotonic`` only.

    :param modules: those modules.
    """

    def __init__(self, *modules: types.ModuleType) -> None:
        self._modules = modules
        # Threads that a test leaves behind read the real clock again.
        self.now = time.monotonic()

    def _setUp(self) -> None:
        for module in self._modules:
            self.useFixture(
                fixtures.MonkeyPatch(f'{module.__name__}.time', self)
            )

    def monotonic(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
