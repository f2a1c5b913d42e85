# SPDX-License-Identifier: Apache-2.0

"""How many inspection requests wait, and for how long."""

import typing

import sqlalchemy as sa

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import lease as leases
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
    """A node whose request waits for a worker of its kind, with the seconds.

    It stands for all nodes of its driver and conductor group.
    """

    driver: str
    conductor_group: str
    node: str
    delay: float


_LOOKED_AT = 500
"""How many of the requests that wait longest are looked at."""

_OPEN_STATES = ('starting', 'waiting', 'processing')
"""Those of open requests; each is a range of an index."""


@transaction.retried
def read_unserved(served: sa.ColumnElement[bool],
                  patience: float) -> list[Unserved]:
    """Read which requests wait that the workers here cannot process.

    :param served: which they can, see :func:`.node_reservation.served_by`.
    :param patience: seconds that a request may wait.
    """
    request: typing.Any = models.Request
    node = sa.table('nodes', sa.column('uuid'), sa.column('driver'),
                    sa.column('conductor_group'))
    # Only the oldest are joined with their nodes: there may be many.
    longest = leases.limited(
        [request.id, request.due_at],
        [sa.and_(request.state == state,
                 request.due_at <= clock.now() - patience)
         for state in _OPEN_STATES],
        [request.due_at], _LOOKED_AT).order_by('due_at').subquery()
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


def _is_held() -> sa.ColumnElement[bool]:
    # A lease that has run out is nobody's. Few requests are not due yet: those
    # that workers hold, or have just put off.
    row: typing.Any = models.Request
    return sa.and_(row.state.in_(_OPEN_STATES), row.due_at > clock.now(),
                   row.worker.is_not(None))


def _first_due() -> list[typing.Any]:
    # The first entry of each range; one minimum for all would read them all.
    row: typing.Any = models.Request
    return [clock.now(), *(
        sa.select(sa.func.min(row.due_at)).where(row.state == state)
        .scalar_subquery() for state in _OPEN_STATES)]


def _delay(now: float, *due: float | None) -> float:
    return max([0.0, *(now - each for each in due if each is not None)])


@transaction.retried
def read() -> Backlog:
    """Read the backlog; the delay is by the clock of the database.

    What is open is counted by entries of an index; there are no more than
    there are nodes.
    """
    count = sa.select(sa.func.count())
    with transaction.reader() as session:
        present, processing, *due = session.execute(sa.select(
            count.where(models.Request.state.in_(_OPEN_STATES))
            .scalar_subquery(),
            count.where(_is_held()).scalar_subquery(), *_first_due())).one()
    return Backlog(present - processing, processing, _delay(*due))


@transaction.retried
def read_neglected(patience: float) -> Backlog | None:
    """Read the backlog if a request waits too long and none is processed.

    :param patience: seconds that a request may wait.
    """
    with transaction.reader() as session:
        is_any_held, *due = session.execute(sa.select(
            sa.exists().where(_is_held()), *_first_due())).one()
    return None if is_any_held or _delay(*due) <= patience else read()
