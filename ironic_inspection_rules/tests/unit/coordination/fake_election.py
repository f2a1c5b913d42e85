# SPDX-License-Identifier: Apache-2.0

"""A stand-in for an election, whose winner a test chooses."""

import queue
import threading

_POLL = 0.005


class FakeElection:
    """Keeps to ``test_election.ContractMixin``, as the real one does.

    :ivar runs: how often it was run.
    """

    def __init__(self, on_gained, on_lost):
        self._on_gained = on_gained
        self._on_lost = on_lost
        self._seconds = 0.0
        self._chosen = queue.SimpleQueue()
        self.runs = 0

    def win(self, seconds=3.0):
        """Have it lead, with so many seconds left."""
        self._chosen.put(seconds)

    def lose(self):
        """Have it lead no longer."""
        self._chosen.put(0.0)

    @property
    def is_leader(self):
        return self._seconds > 0

    def remaining(self):
        return self._seconds

    def run(self, stop: threading.Event) -> None:
        self.runs += 1
        try:
            while not stop.is_set():
                try:
                    self._set(self._chosen.get(timeout=_POLL))
                except queue.Empty:
                    pass
        finally:
            self._set(0.0)

    def _set(self, seconds):
        was_leader, self._seconds = self.is_leader, seconds
        if self.is_leader and not was_leader:
            self._on_gained()
        elif was_leader and not self.is_leader:
            self._on_lost()
