# SPDX-License-Identifier: Apache-2.0

"""Reads from Ironic's database which machines exist and are in inspection.

A *machine* is the MAC address of a port, see :class:`.admission.Machines`. It
is *known* if any port has the address, and *in inspection* if the node of the
port is in inspection. Port groups count as ports, because a bond may have its
own address.

A :class:`Watcher` reads both kinds of machines from time to time, and when a
message says that they have changed. It has its own thread, because a database
that hangs must not block the thread that updates the firewall. That thread
takes the machines from :meth:`Watcher.machines`.

Only columns are read instead of objects, because there may be tens of
thousands of ports.
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
"""Seconds between two pings of the database."""

DATABASE_TIMEOUT = 4.0
"""Seconds without an answer after which the database is considered down."""

_ROWS_PER_FETCH = 1000
"""Rows fetched at a time."""

_PORT_CLASSES = (models.Port, models.Portgroup)
_IN_INSPECTION = (states.INSPECTING, states.INSPECTWAIT)


class PortSource:
    """Reads the ports in Ironic's database.

    All methods raise errors of the database unchanged.

    :param inspect_interfaces: the inspect interfaces of nodes that may pass.
    """

    def __init__(self, inspect_interfaces: Collection[str]) -> None:
        self._interfaces = inspect_interfaces

    def ping(self) -> None:
        """Check that the database answers, or raise its error."""
        with transaction.reader() as session:
            session.execute(sa.select(sa.literal(1)))

    def read_ports(self) -> Iterator[admission.Row]:
        """Yield UUID and MAC address of all ports and port groups.

        Port groups without an address are skipped.
        """
        for port_class in _PORT_CLASSES:
            query = sa.select(port_class.uuid, port_class.address)
            query = query.where(port_class.address.is_not(None))
            yield from _fetch_rows(query)

    def read_inspected_ports(self) -> Iterator[admission.Row | None]:
        """Yield UUID and MAC address of the ports of nodes in inspection.

        Nodes with an inspect interface whose machines may not pass are
        skipped.

        :returns: UUID and MAC address of every port and port group. None is
            yielded instead for a node without ports or without port groups,
            and for a port group without an address, so that the caller still
            knows that a node is in inspection.
        """
        for port_class in _PORT_CLASSES:
            query = sa.select(port_class.uuid, port_class.address)
            query = query.select_from(models.Node)
            # An outer join also returns a row for a node without ports.
            query = query.outerjoin(
                port_class, port_class.node_id == models.Node.id
            )
            query = query.where(
                models.Node.provision_state.in_(_IN_INSPECTION),
                models.Node.inspect_interface.in_(self._interfaces),
            )
            for uuid, address in _fetch_rows(query):
                if address is None:
                    yield None
                else:
                    yield uuid, address


def _fetch_rows(query: sa.Select[Any]) -> Iterator[Any]:
    """Yield the rows of a query, keeping only a few of them in memory."""
    # The transaction lasts until the caller has read the last row.
    with transaction.reader() as session:
        yield from session.execute(
            query.execution_options(yield_per=_ROWS_PER_FETCH)
        )


def read_machines(source: PortSource) -> admission.Machines:
    """Read the addresses of all machines, and of those in inspection, once.

    The command prints with this what a filter would do. A filter reads them
    again and again, see :class:`Watcher`.
    """
    nothing_known = admission.Machines()
    machines = _replace_known_ports(nothing_known, source.read_ports())
    return _replace_inspected_ports(machines, source.read_inspected_ports())


def _replace_known_ports(
    machines: admission.Machines, rows: Iterable[admission.Row]
) -> admission.Machines:
    """Return the machines, with all known ports replaced.

    :param rows: UUID and MAC address of all ports.
    """
    return dataclasses.replace(machines, known=admission.read_macs(rows))


def _replace_inspected_ports(
    machines: admission.Machines, rows: Iterable[admission.Row | None]
) -> admission.Machines:
    """Return the machines, with the ports of nodes in inspection replaced.

    :param rows: UUID and MAC address of the ports of nodes in inspection, as
        :meth:`PortSource.read_inspected_ports` yields them. A None is not a
        port, but it also means that a node is in inspection.
    """
    all_rows = list(rows)
    ports = [row for row in all_rows if row is not None]
    return dataclasses.replace(
        machines,
        any_inspection=len(all_rows) > 0,
        inspected=admission.read_macs(ports),
    )


class _Schedule:
    """Says when a read is due: at once, then every ``period`` seconds.

    :param period: seconds between two reads; 0 reads once, and then only
        after :meth:`hasten`.
    """

    def __init__(self, period: float) -> None:
        if period == 0:
            self._period = math.inf
        else:
            self._period = period
        # The time of the next read, on the monotonic clock.
        self._due_at = -math.inf

    def is_due(self) -> bool:
        """Return whether a read is due; if it is, schedule the next read."""
        now = time.monotonic()
        if now < self._due_at:
            return False
        self._due_at = now + self._period
        return True

    def hasten(self) -> None:
        """Make the next read due at once."""
        self._due_at = -math.inf


class Watcher:
    """Reads machines until a stop is requested or a read fails.

    :param source: the database, used from one thread only.
    :param sync_period: seconds between two reads of all ports.
    :param allowlist_period: seconds between two reads of the ports of nodes
        in inspection.
    :param changed: set when the machines have changed, or reading failed.
    """

    def __init__(
        self,
        source: PortSource,
        sync_period: float,
        allowlist_period: float,
        changed: threading.Event,
    ) -> None:
        self._source = source
        self._known_schedule = _Schedule(sync_period)
        self._inspected_schedule = _Schedule(allowlist_period)
        self._changed = changed
        # Messages that the reading thread has not applied yet.
        self._received: queue.SimpleQueue[notification.ListChange] = (
            queue.SimpleQueue()
        )
        # These three are for machines(): the last data that were read, the
        # error that ended reading, and the time of the last answer.
        self._machines: admission.Machines | None = None
        self._error: Exception | None = None
        self._answered_at = time.monotonic()

    def machines(self) -> admission.Machines | None:
        """Return the machines that were read last; None before the first read.

        The thread that updates the firewall calls this. If it raises an error,
        that thread blocks all machines.

        :raises: the error with which reading failed.
        :raises: TemporaryFailure if the database does not answer.
        """
        if self._error is not None:
            raise self._error
        silence = time.monotonic() - self._answered_at
        if silence > DATABASE_TIMEOUT:
            # The reading thread hangs, so it cannot store this error itself.
            raise exceptions.TemporaryFailure(
                _('The database has not answered for %.1f seconds') % silence
            )
        return self._machines

    def handle(self, change: notification.ListChange) -> None:
        """Handle a message; may be called from any thread."""
        self._received.put(change)

    def read_inspected(self) -> None:
        """Ask for a read of the nodes in inspection, without waiting for it.

        It may be called from any thread.
        """
        # This is the same message as at the beginning of an inspection. It
        # makes the reading thread read the nodes in inspection.
        self._received.put(
            notification.ListChange(
                notification.ALLOWLIST, notification.ADD, port=None, mac=None
            )
        )

    def run(self, stop: threading.Event) -> None:
        """Read ports and apply messages until a stop or the first error.

        An error is not raised here, but by :meth:`machines`, in the thread
        that updates the firewall.
        """
        try:
            while not stop.is_set():
                self._read_if_due()
                # This waits for a message, at most for POLL_INTERVAL.
                self._apply_messages()
        except Exception as exc:
            self._error = exc
            # Wake up the thread that updates the firewall.
            self._changed.set()

    def _read_if_due(self) -> None:
        """Ping the database, and read the machines whose read is due.

        Known machines and machines in inspection have schedules of their own.
        Machines whose read is not due stay as they were read last.
        """
        # Ping even if nothing is due, because machines() fails unless the
        # database answers every few seconds.
        self._source.ping()
        self._answered_at = time.monotonic()
        machines = self._machines or admission.Machines()
        if self._known_schedule.is_due():
            rows = self._note_answers(self._source.read_ports())
            machines = _replace_known_ports(machines, rows)
        if self._inspected_schedule.is_due():
            inspected_rows = self._note_answers(
                self._source.read_inspected_ports()
            )
            machines = _replace_inspected_ports(machines, inspected_rows)
        self._publish(machines)

    def _note_answers(self, rows: Iterable[_T]) -> Iterator[_T]:
        """Yield rows, and note for every row that the database answers.

        Otherwise a long read would count as a database that does not answer.
        """
        for row in rows:
            self._answered_at = time.monotonic()
            yield row

    def _apply_messages(self) -> None:
        """Wait for a message, and apply all messages that have arrived.

        It waits for POLL_INTERVAL at most.
        """
        try:
            self._apply_message(self._received.get(timeout=POLL_INTERVAL))
            # Apply all messages that are there before the next read, so that
            # one read is enough for them.
            while True:
                self._apply_message(self._received.get_nowait())
        except queue.Empty:
            # There are no more messages.
            return

    def _apply_message(self, change: notification.ListChange) -> None:
        """Apply a message about a change in Ironic.

        - An inspection has begun or ended: the ports of the nodes in
          inspection are read next.
        - A port was deleted: all ports are read next. Its address cannot just
          be forgotten, because another port may have the same address.
        - A port was created or changed: its address is known from now on,
          without a read.
        """
        if change.channel == notification.ALLOWLIST:
            self._inspected_schedule.hasten()
        elif change.action == notification.REMOVE:
            self._known_schedule.hasten()
        elif self._machines is not None:
            # Otherwise the first read is still to come, and finds the port.
            self._add_port(self._machines, str(change.port), str(change.mac))

    def _add_port(
        self, machines: admission.Machines, port_uuid: str, mac: str
    ) -> None:
        """Add the MAC address of a port to the known machines.

        Until the next read of all ports, its machine would otherwise count as
        unknown, and might pass.

        :param machines: the machines without this address.
        """
        try:
            new_macs = admission.read_macs([(port_uuid, mac)])
        except admission.BadAddress as exc:
            # The next read of all ports fails because of this port.
            LOG.warning('Ignored a message: %s', exc)
            return
        known_macs = machines.known | new_macs
        self._publish(dataclasses.replace(machines, known=known_macs))

    def _publish(self, machines: admission.Machines) -> None:
        """Store the machines for the thread that updates the firewall.

        The thread is woken up if they have changed.
        """
        if machines != self._machines:
            self._machines = machines
            self._changed.set()
