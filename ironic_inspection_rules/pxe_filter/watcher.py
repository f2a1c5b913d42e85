# SPDX-License-Identifier: Apache-2.0

"""A thread that keeps reading Ironic's database for the PXE filter.

It is apart from the thread that renews the leader's place in the firewall,
because a database that hangs must not hang that one, too. It reads plain
columns, not objects: there may be tens of thousands of ports. Port groups
count as ports, for a bond may have an address of its own.
"""

from collections.abc import Collection, Iterable, Iterator
import dataclasses
import math
import queue
import threading
import time
from typing import Any, TypeVar

from ironic.common import states
from ironic.db.sqlalchemy import models
from oslo_log import log
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.pxe_filter import admission
from ironic_inspection_rules.pxe_filter import notification

LOG = log.getLogger(__name__)

_T = TypeVar('_T')

POLL_INTERVAL = 1.0
"""Seconds between two questions to the database."""

DATABASE_TIMEOUT = 4.0
"""Seconds without an answer after which the database counts as lost."""

_CHUNK = 1000
"""Rows fetched at a time."""

_KINDS = (models.Port, models.Portgroup)


class PortSource:
    """The ports in the database, which may raise anything.

    :param inspect_interfaces: of the nodes that may be let through.
    """

    def __init__(self, inspect_interfaces: Collection[str]) -> None:
        self._interfaces = inspect_interfaces

    def ping(self) -> None:
        """Return if the database answers."""
        with transaction.reader() as session:
            session.execute(sa.select(sa.literal(1)))

    def ports(self) -> Iterator[admission.Row]:
        """All ports that have an address."""
        for kind in _KINDS:
            yield from _rows(sa.select(kind.uuid, kind.address).where(
                kind.address.is_not(None)))

    def inspected_ports(self) -> Iterator[admission.Row | None]:
        """The ports of nodes in inspection.

        None as well, so that a node without any is not overlooked.
        """
        for kind in _KINDS:
            query = sa.select(kind.uuid, kind.address).select_from(
                models.Node
            ).outerjoin(kind, kind.node_id == models.Node.id).where(
                models.Node.provision_state.in_(
                    [states.INSPECTING, states.INSPECTWAIT]),
                models.Node.inspect_interface.in_(self._interfaces))
            for uuid, address in _rows(query):
                yield None if address is None else (uuid, address)


def _rows(query: sa.Select[Any]) -> Iterator[Any]:
    with transaction.reader() as session:
        yield from session.execute(query.execution_options(yield_per=_CHUNK))


def read(source: PortSource) -> admission.Machines:
    """Read everything once."""
    return _with_inspected(
        _with_known(admission.Machines(), source.ports()),
        source.inspected_ports())


def _with_known(machines: admission.Machines,
                rows: Iterable[admission.Row]) -> admission.Machines:
    return dataclasses.replace(machines, known=admission.read_macs(rows))


def _with_inspected(machines: admission.Machines,
                    rows: Iterable[admission.Row | None]
                    ) -> admission.Machines:
    listed = list(rows)
    return dataclasses.replace(
        machines, inspecting=bool(listed),
        inspected=admission.read_macs(row for row in listed if row))


class _Schedule:
    """When to read: at once, then every so many seconds.

    :param period: in seconds, 0 for never again.
    """

    def __init__(self, period: float) -> None:
        self._period = period or math.inf
        self._due = -math.inf

    def is_due(self) -> bool:
        """Return whether it is; if so, the next one is a period later."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = now + self._period
        return True

    def hasten(self) -> None:
        """Make it due at once."""
        self._due = -math.inf


class Watcher:
    """Reads until it is told to stop or fails.

    :param source: the database, used from one thread only.
    :param sync_period: seconds between two reads of all ports.
    :param allowlist_period: seconds between two reads of those of nodes in
        inspection.
    """

    def __init__(self, source: PortSource, sync_period: float,
                 allowlist_period: float, changed: threading.Event) -> None:
        self._source = source
        self._known = _Schedule(sync_period)
        self._inspected = _Schedule(allowlist_period)
        self._changed = changed
        self._received: queue.SimpleQueue[notification.Change] = (
            queue.SimpleQueue())
        self._machines: admission.Machines | None = None
        self._error: Exception | None = None
        self._answered_at = time.monotonic()

    def machines(self) -> admission.Machines | None:
        """Return what was read, None before the first time.

        :raises: what made reading fail.
        :raises: TemporaryFailure when the last answer is too old.
        """
        if self._error is not None:
            raise self._error
        silence = time.monotonic() - self._answered_at
        if silence > DATABASE_TIMEOUT:
            raise exceptions.TemporaryFailure(
                _('The database has not answered for %.1f seconds') % silence)
        return self._machines

    def handle(self, change: notification.Change) -> None:
        """Take in a message; may be called from any thread."""
        self._received.put(change)

    def read_inspected(self) -> None:
        """Read the nodes in inspection now; from any thread."""
        self._received.put(notification.Change(
            notification.ALLOWLIST, notification.ADD, None, None))

    def run(self, stop: threading.Event) -> None:
        """Read, until told to stop."""
        try:
            while not stop.is_set():
                self._read()
                try:
                    self._apply(self._received.get(timeout=POLL_INTERVAL))
                    # Many changes are worth one read.
                    while True:
                        self._apply(self._received.get_nowait())
                except queue.Empty:
                    pass
        # The other thread is to know, whatever it is.
        except Exception as exc:
            self._error = exc
            self._changed.set()

    def _read(self) -> None:
        self._source.ping()
        self._answered_at = time.monotonic()
        machines = self._machines or admission.Machines()
        if self._known.is_due():
            machines = _with_known(
                machines, self._answers(self._source.ports()))
        if self._inspected.is_due():
            machines = _with_inspected(
                machines, self._answers(self._source.inspected_ports()))
        self._show(machines)

    def _answers(self, rows: Iterable[_T]) -> Iterator[_T]:
        """Note for each row that the database answers."""
        for row in rows:
            self._answered_at = time.monotonic()
            yield row

    def _apply(self, change: notification.Change) -> None:
        """Do what a message implies.

        Only a port that is new needs no read. One that is gone may share its
        address with another, and what is left in inspection is to be counted.
        """
        if change.channel == notification.ALLOWLIST:
            self._inspected.hasten()
        elif change.action == notification.REMOVE:
            self._known.hasten()
        elif self._machines is not None:
            try:
                macs = admission.read_macs(
                    [(str(change.port), str(change.mac))])
            except admission.BadAddress as exc:
                LOG.warning('Ignored a message: %s', exc)
                return
            self._show(dataclasses.replace(
                self._machines, known=self._machines.known | macs))

    def _show(self, machines: admission.Machines) -> None:
        if machines != self._machines:
            self._machines = machines
            self._changed.set()
