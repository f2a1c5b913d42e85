# SPDX-License-Identifier: Apache-2.0

"""How much the queue of inspection requests holds up."""

import typing

import sqlalchemy as sa

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction


class Backlog(typing.NamedTuple):
    """The open requests of the whole cluster.

    ``waiting``: how many no worker has. ``processing``: how many one has.
    ``delay``: seconds since the first of those that wait became due.
    """

    waiting: int
    processing: int
    delay: float


class Unserved(typing.NamedTuple):
    """Nodes of a kind whose requests wait, and for how many seconds."""

    driver: str
    conductor_group: str
    node: str
    delay: float


_LOOKED_AT = 500
"""How many of the requests that wait longest are looked at."""


@transaction.retried
def read_unserved(served: sa.ColumnElement[bool],
                  patience: float) -> list[Unserved]:
    """Read what requests wait that some workers cannot process.

    :param served: what they can, see :func:`.node_reservation.served_by`.
    :param patience: seconds; what waits longer is told.
    """
    request = models.Request
    node = sa.table('nodes', sa.column('uuid'), sa.column('driver'),
                    sa.column('conductor_group'))
    # Nobody asks of each that waits whose it is: there may be many.
    longest = (sa.select(request.id)
               .where(request.due_at <= clock.now() - patience,
                      request.open_node_uuid.is_not(None))
               .order_by(request.due_at).limit(_LOOKED_AT).subquery())
    with transaction.reader() as session:
        rows = session.execute(
            sa.select(node.c.driver, node.c.conductor_group,
                      request.node_uuid, clock.now() - request.due_at)
            .join(longest, longest.c.id == request.id)
            .join(node, node.c.uuid == request.node_uuid)
            .where(~served).order_by(request.due_at)).all()
    kinds: dict[tuple[str, str], Unserved] = {}
    for row in rows:
        kinds.setdefault((row[0], row[1]), Unserved(*row))
    return list(kinds.values())


_OPEN_STATES = ('starting', 'waiting', 'processing')
"""Those of open requests; they are a range of an index."""


@transaction.retried
def read() -> Backlog:
    """Read the backlog; the delay is by the clock of the database."""
    request = models.Request
    with transaction.reader() as session:
        count, processing, due_at, now = session.execute(sa.select(
            sa.func.count(), sa.func.count(request.worker),
            sa.func.min(sa.case((request.worker.is_(None), request.due_at))),
            clock.now(),
        ).where(request.state.in_(_OPEN_STATES),
                request.open_node_uuid.is_not(None))).one()
    return Backlog(count - processing, processing,
                   max(now - due_at, 0.0) if due_at is not None else 0.0)
