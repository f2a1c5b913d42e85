# SPDX-License-Identifier: Apache-2.0

"""Transactions that commit only while a delivery is the last one.

A worker that was stalled for longer than its lease does not know that another
one has taken over, and a look at the clock before each write does not help:
it may stall between the look and the write. So it is the database that
refuses what it writes, in the same transaction. The check comes last, at the
commit, and locks the two rows that it reads, so that nobody takes over before
the commit is done. It is an event of the engine, for what is to be refused are
above all the transactions of Ironic's own objects.
"""

from collections.abc import Callable, Iterator
import contextlib
import contextvars
from typing import Any

import sqlalchemy as sa

from ironic_inspection_rules.db import models

_NODES = sa.table('nodes', sa.column('uuid'), sa.column('reservation'))

# Between who locks a node and who commits lie Ironic's own calls, whose
# transactions are to be refused too. Its objects take no argument of ours.
_FENCE: contextvars.ContextVar[Callable[[sa.Connection], None] | None] = (
    contextvars.ContextVar('fence', default=None))


@contextlib.contextmanager
def while_locked(node_uuid: str, holder: str, request_uuid: str, token: int,
                 lost: Callable[[], BaseException]) -> Iterator[None]:
    """Refuse commits of this thread once another delivery has locked the node.

    Who claims a request anew has not locked its node at once: meanwhile it
    is the token that tells.

    :param holder: in whose name the node has to be locked.
    :param token: that of the last delivery of the request, still.
    :param lost: makes what is raised instead of a commit otherwise.
    """
    # The rows stay as they are until the commit is done.
    query = sa.select(_NODES.c.uuid).join(
        models.Request, models.Request.node_uuid == _NODES.c.uuid
    ).where(
        _NODES.c.uuid == node_uuid, _NODES.c.reservation == holder,
        models.Request.uuid == request_uuid,
        models.Request.token == token).with_for_update(read=True)

    def check(connection: sa.Connection) -> None:
        if connection.execute(query).first() is None:
            raise lost()
    outer = _FENCE.set(check)
    try:
        yield
    finally:
        _FENCE.reset(outer)


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Allow commits of what asks for the token by itself."""
    outer = _FENCE.set(None)
    try:
        yield
    finally:
        _FENCE.reset(outer)


@sa.event.listens_for(sa.Engine, 'commit')
def _check_fence(connection: Any) -> None:
    check = _FENCE.get()
    if check is None:
        return
    try:
        check(connection)
    except BaseException:
        # Else the pool gets it back as it is, and the next one commits what
        # was refused: a session rolls back for an Exception only. Without the
        # events of a rollback, oslo.db takes a connection of SQLite for one
        # in a transaction, and leaves out the next BEGIN.
        connection.invalidate()
        raise
