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

"""A thread that keeps looking into the database for the PXE filter.

It is apart from the thread that holds the door, because a database that
hangs must not hang that one, too.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import math
import queue
import threading
import time
from typing import Protocol, TypeVar

from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import admission
from ironic_inspection_rules.ha import announcement
from ironic_inspection_rules.i18n import _

LOG = log.getLogger(__name__)

_T = TypeVar('_T')

BEAT = 1.0
"""Seconds between two signs of life of the database."""

SILENCE = 4.0
"""Seconds without one after which the database counts as lost."""


class SourceLost(exceptions.InspectionRulesError):
    """The database does not answer."""


class Source(Protocol):
    """The database, as far as the filter reads it; may raise anything."""

    def ping(self) -> None:
        """Return if it answers."""

    def ports(self) -> Iterable[admission.Row]:
        """All ports that have an address."""

    def inspected_ports(self) -> Iterable[admission.Row | None]:
        """The ports of nodes in inspection.

        None as well, so that a node without any is not overlooked.
        """


def look(source: Source) -> admission.View:
    """Look at everything once."""
    return _with_inspected(
        _with_known(admission.View(), source.ports()),
        source.inspected_ports())


def _with_known(view: admission.View,
                rows: Iterable[admission.Row]) -> admission.View:
    return dataclasses.replace(view, known=admission.read_macs(rows))


def _with_inspected(view: admission.View,
                    rows: Iterable[admission.Row | None]) -> admission.View:
    listed = list(rows)
    return dataclasses.replace(
        view, inspecting=bool(listed),
        inspected=admission.read_macs(row for row in listed if row))


class _Schedule:
    """When a look is due: at once, then every so many seconds.

    :param period: in seconds, 0 for never again.
    """

    def __init__(self, period: float) -> None:
        self._period = period or math.inf
        self._due = -math.inf

    def is_due(self) -> bool:
        """Whether it is; if so, the next one is a period later."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = now + self._period
        return True

    def hasten(self) -> None:
        """Make it due at once."""
        self._due = -math.inf


class Watcher:
    """Looks until it is told to stop or the first look that fails.

    :param source: what to look into, from one thread only.
    :param sync_period: seconds between two looks at all ports.
    :param whitelist_period: seconds between two looks at the inspected ones.
    :param changed: set when there is something new to see.
    """

    def __init__(self, source: Source, sync_period: float,
                 whitelist_period: float, changed: threading.Event) -> None:
        self._source = source
        self._sync = _Schedule(sync_period)
        self._whitelisting = _Schedule(whitelist_period)
        self._changed = changed
        self._heard: queue.SimpleQueue[announcement.Announcement | None] = (
            queue.SimpleQueue())
        self._view: admission.View | None = None
        self._error: Exception | None = None
        self._answered_at = time.monotonic()

    def view(self) -> admission.View | None:
        """What was seen, None before the first look ended.

        :raises: what the look did that failed.
        :raises: SourceLost when the last sign of life is too old.
        """
        if self._error is not None:
            raise self._error
        silence = time.monotonic() - self._answered_at
        if silence > SILENCE:
            raise SourceLost(
                _('The database has not answered for %.1f seconds') % silence)
        return self._view

    def hear(self, change: announcement.Announcement) -> None:
        """Heed an announcement; may be called from any thread."""
        self._heard.put(change)

    def hasten_whitelist(self) -> None:
        """Look at the inspected ports now; from any thread."""
        self._whitelisting.hasten()
        self._heard.put(None)

    def run(self, stop: threading.Event) -> None:
        """Look, until told to stop."""
        try:
            while not stop.is_set():
                self._look()
                try:
                    self._heed(self._heard.get(timeout=BEAT))
                except queue.Empty:
                    pass
        # The other thread is to know, whatever it is.
        except Exception as exc:
            self._error = exc
            self._changed.set()

    def _look(self) -> None:
        self._source.ping()
        self._answered_at = time.monotonic()
        view = self._view or admission.View()
        if self._sync.is_due():
            view = _with_known(view, self._answers(self._source.ports()))
        if self._whitelisting.is_due():
            view = _with_inspected(
                view, self._answers(self._source.inspected_ports()))
        self._show(view)

    def _answers(self, rows: Iterable[_T]) -> Iterator[_T]:
        """Take each row as a sign of life."""
        for row in rows:
            self._answered_at = time.monotonic()
            yield row

    def _heed(self, change: announcement.Announcement | None) -> None:
        """Do what an announcement implies.

        One on the whitelist makes us look there: the query is small, and
        says as well whether anything is left in inspection.
        """
        if change is None or self._view is None:
            return
        if change.channel == announcement.WHITELIST:
            self._whitelisting.hasten()
            return
        try:
            macs = admission.read_macs([(str(change.port), str(change.mac))])
        except admission.BadAddress as exc:
            LOG.warning('Ignored an announcement: %s', exc)
            return
        known = (self._view.known | macs
                 if change.action == announcement.ADD
                 else self._view.known - macs)
        self._show(dataclasses.replace(self._view, known=known))

    def _show(self, view: admission.View) -> None:
        if view != self._view:
            self._view = view
            self._changed.set()
