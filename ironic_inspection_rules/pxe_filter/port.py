# SPDX-License-Identifier: Apache-2.0

"""Reading for the PXE filter from Ironic's database.

Plain columns, not objects: there may be tens of thousands of ports. Port
groups count as ports, for a bond may have an address of its own.
"""

from collections.abc import Collection
from collections.abc import Iterator
import threading
from typing import Any

from ironic.common import states
from ironic.db.sqlalchemy import models
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules.pxe_filter import admission

_CONTEXT = threading.local()

_CHUNK = 1000
"""Rows fetched at a time."""


_KINDS = (models.Port, models.Portgroup)


class PortSource:
    """The ports, as :class:`.watcher.Source`.

    :param inspect_interfaces: of the nodes that may be let through.
    """

    def __init__(self, inspect_interfaces: Collection[str]) -> None:
        self._interfaces = inspect_interfaces

    def ping(self) -> None:
        """Return if the database answers."""
        with enginefacade.reader.using(_CONTEXT) as session:
            session.execute(sa.select(sa.literal(1)))

    def ports(self) -> Iterator[admission.Row]:
        """All ports that have an address."""
        for kind in _KINDS:
            yield from _rows(sa.select(kind.uuid, kind.address).where(
                kind.address.is_not(None)))

    def inspected_ports(self) -> Iterator[admission.Row | None]:
        """The ports of nodes in inspection, and None for some such nodes."""
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
    with enginefacade.reader.using(_CONTEXT) as session:
        yield from session.execute(query.execution_options(yield_per=_CHUNK))
