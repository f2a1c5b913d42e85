# SPDX-License-Identifier: Apache-2.0

"""The coordination service of a simulated cluster: locks that expire."""

import types
from typing import Any

from ironic_inspection_rules.coordination import coordinator
from ironic_inspection_rules.tests.simulation import scheduler


class Coordinator:
    """Stores one lock for each name; can be out of reach.

    :param turns: the scheduler.
    """

    def __init__(self, turns: scheduler.Scheduler) -> None:
        self._turns = turns
        self.away_until = 0.0
        self._holders: dict[str, tuple[Any, float]] = {}

    def ask(self) -> None:
        """Pause, as a request to the service does.

        :raises: ConnectionError if it is out of reach.
        """
        self._turns.pause()
        if self._turns.now < self.away_until:
            raise ConnectionError('the coordinator is away')

    def hold(self, name: str, asker: Any, lease: float) -> bool:
        """Acquire or renew a lock; return whether that was possible."""
        holder, until = self._holders.get(name, (None, 0.0))
        if holder not in (None, asker) and self._turns.now < until:
            return False
        self._holders[name] = asker, self._turns.now + lease
        return True

    def has(self, name: str, asker: Any) -> bool:
        """Return whether a holder still has the lock."""
        holder, until = self._holders.get(name, (None, 0.0))
        return holder is asker and self._turns.now < until

    def free(self, name: str, asker: Any) -> None:
        """Release the lock of a holder."""
        if self.has(name, asker):
            del self._holders[name]

    def forget(self) -> None:
        """Lose all locks, as a service does that is restarted."""
        self._holders.clear()


def make_module(service: Coordinator) -> types.SimpleNamespace:
    """Build the stand-in for the module ``coordinator``."""

    class LeasedLock:
        """See :class:`.coordinator.LeasedLock`."""

        def __init__(
            self, url: str, member: str, name: str, lease: float
        ) -> None:
            self._name = name
            self._lease = lease
            self._held = False

        def __enter__(self) -> 'LeasedLock':
            service.ask()
            return self

        def __exit__(self, *exc_info: Any) -> None:
            try:
                service.ask()
            except ConnectionError:
                return
            service.free(self._name, self)

        def hold(self) -> bool:
            """See :meth:`.coordinator.LeasedLock.hold`."""
            service.ask()
            if self._held and not service.has(self._name, self):
                self._held = False
                raise coordinator.LockLost('the lock was taken away')
            self._held = service.hold(self._name, self, self._lease)
            # The answer may be delayed or lost, too.
            service.ask()
            return self._held

    return types.SimpleNamespace(
        LeasedLock=LeasedLock, LockLost=coordinator.LockLost
    )
