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

"""Only machines in inspection reach the DHCP server, on one host at most.

A :class:`PxeFilter` guards one interface of one host. The filters of a cloud
elect a leader, and only that one's door is ever open. In the order of trust:

1. the kernel closes a door that nobody has held open for two seconds
   (``nftables``);
2. a filter holds it open no longer than it is sure to lead (``election``),
   and only while the database answers (``watcher``);
3. whatever goes wrong closes it: first that, then a word about it.

Source: spec 001 "HA Firewall decomposition" and "Partitioning issues".
"""

from collections.abc import Callable
from concurrent import futures
import dataclasses
import logging
import threading

from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.ha import admission
from ironic_inspection_rules.ha import announcement
from ironic_inspection_rules.ha import election
from ironic_inspection_rules.ha import firewall as firewalls
from ironic_inspection_rules.ha import watcher as watchers
from ironic_inspection_rules.i18n import _

LOG = log.getLogger(__name__)

OFFICE = 'ironic-inspection-pxe-filter'
"""What the filters of a cloud are elected for."""

_MARGIN = 0.5
"""Seconds before the end of its tenure that the leader's door closes."""

Elect = Callable[[election.Callback, election.Callback], election.Election]
"""Makes a host's part in the election, of ``on_gained`` and ``on_lost``."""


class GaveUp(exceptions.InspectionRulesError):
    """Too many failures in a row."""


def seconds_open(tenure: float) -> int:
    """Whole seconds that the kernel may leave the door open.

    :param tenure: seconds that this host is sure to lead.
    """
    return max(int(tenure - _MARGIN), 0)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a filter works; all times are in seconds.

    :param auto_discovery: whether unknown machines always pass.
    :param sync_period: between two looks at all ports, 0 for only one.
    :param whitelist_period: between two looks at those in inspection, 0 to
        look only after an announcement.
    :param retries: failures in a row that are followed by a new attempt.
    :param retry_interval: before a new attempt.
    """

    auto_discovery: bool = False
    sync_period: float = 15.0
    whitelist_period: float = 15.0
    retries: int = 10
    retry_interval: float = 1.0


class PxeFilter:
    """The filter of one host.

    :param firewall: guards the interface.
    :param source: the database.
    :param elect: makes this host's part in the election of ``OFFICE``.
    """

    def __init__(self, firewall: firewalls.Firewall, source: watchers.Source,
                 elect: Elect, settings: Settings) -> None:
        self._firewall = firewall
        self._source = source
        self._elect = elect
        self._settings = settings
        self._failures: list[str] = []
        self._changed = threading.Event()
        self._door = threading.Condition()
        self._is_open = False
        self._watcher = self._new_watcher()

    def hear(self, change: announcement.Announcement) -> None:
        """Heed an announcement; may be called from any thread."""
        self._watcher.hear(change)

    def install(self) -> None:
        """Put the guard in place, with the door closed.

        :raises: FirewallError when that is not possible.
        """
        self._firewall.install()

    def run(self, stop: threading.Event) -> None:
        """Filter until told to stop; the door is closed afterwards.

        :param stop: set to end.
        :raises: CoordinatorLost or GaveUp when all retries were in vain.
        """
        while not stop.is_set():
            failure = self._try_term(stop)
            if failure is not None:
                reason = str(failure).partition('\n')[0] or repr(failure)
                self._report(reason)
                if len(self._failures) > self._settings.retries:
                    raise GaveUp(_('Gave up, with everything blocked: %s') %
                                 reason) from failure
                stop.wait(self._settings.retry_interval)

    def _try_term(self, stop: threading.Event) -> Exception | None:
        try:
            self._run_term(stop)
        except election.CoordinatorLost:
            raise
        # The door was closed; whatever it is may be better next time.
        except Exception as exc:
            return exc
        return None

    def _report(self, reason: str) -> None:
        """Say why the door is closed, once for each reason in a row."""
        repeated = self._failures and self._failures[-1] == reason
        LOG.log(logging.DEBUG if repeated else logging.ERROR,
                'Blocked everything on %(interface)s: %(reason)s',
                {'interface': self._firewall.interface, 'reason': reason})
        self._failures.append(reason)

    def _new_watcher(self) -> watchers.Watcher:
        return watchers.Watcher(
            self._source, self._settings.sync_period,
            self._settings.whitelist_period, self._changed)

    def _run_term(self, stop: threading.Event) -> None:
        """Work until told to stop or the first failure."""
        self._close_door()
        leave = threading.Event()
        self._watcher = self._new_watcher()
        # A daemon, for a database may keep it hanging.
        threading.Thread(target=self._watcher.run, args=(leave,),
                         name='pxe-filter-watcher', daemon=True).start()
        try:
            if self._wait_for_first_view(stop):
                self._run_for_leader(stop, leave)
        finally:
            leave.set()

    def _wait_for_first_view(self, stop: threading.Event) -> bool:
        while self._watcher.view() is None and not stop.is_set():
            self._wait_for_change()
        return not stop.is_set()

    def _run_for_leader(self, stop: threading.Event,
                        leave: threading.Event) -> None:
        office = self._elect(self._on_gained, self._wait_until_closed)
        with futures.ThreadPoolExecutor(max_workers=1) as pool:
            part = pool.submit(office.run, leave)
            try:
                while not (stop.is_set() or part.done()):
                    self._set_door(office)
                    self._wait_for_change()
            finally:
                try:
                    self._close_door()
                finally:
                    leave.set()
            part.result()

    def _set_door(self, office: election.Election) -> None:
        """Do what is right at this moment."""
        view = self._watcher.view() or admission.View()
        seconds = seconds_open(office.remaining())
        admit = admission.decide(view, office.is_leader,
                                 self._settings.auto_discovery)
        if seconds:
            self._note_door(True)
        self._firewall.update(admit, seconds)
        if not seconds:
            self._note_door(False)
        self._failures.clear()

    def _close_door(self) -> None:
        self._firewall.close()
        self._note_door(False)

    def _note_door(self, is_open: bool) -> None:
        with self._door:
            if is_open != self._is_open:
                LOG.info('%(what)s on %(interface)s', {
                    'what': ('Passing machines in inspection' if is_open
                             else 'Blocking everything'),
                    'interface': self._firewall.interface})
            self._is_open = is_open
            self._door.notify_all()

    def _on_gained(self) -> None:
        self._watcher.hasten_whitelist()
        self._changed.set()

    def _wait_until_closed(self) -> None:
        """Keep the office till the door is closed, or the kernel closed it."""
        self._changed.set()
        with self._door:
            self._door.wait_for(lambda: not self._is_open, election.LEASE)

    def _wait_for_change(self) -> None:
        self._changed.wait(election.BEAT)
        self._changed.clear()
