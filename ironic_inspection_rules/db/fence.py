# SPDX-License-Identifier: Apache-2.0

"""Refuses the writes of a worker that has lost its request.

A worker that was stalled for longer than its lease does not know that another
one has taken over, and a look at the clock before each write does not help:
it may stall between the look and the write. So the database refuses what that
worker writes, in the same transaction. The check comes last, at the commit,
and locks the two rows that it reads, so that nobody takes over before the
commit is done. The check is an event of the engine: most transactions to be
refused are those of Ironic's own objects, which know nothing of it.
"""

from collections.abc import Callable, Iterator
import contextlib
import contextvars
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_inspection_rules.db import models

_NODES = sa.table('nodes', sa.column('uuid'), sa.column('reservation'))


class _Fence(NamedTuple):
    """The check of the commits of a thread.

    ``query`` finds a row while the delivery of this thread is the last one,
    and has locked the node. If it finds none, the error from ``make_error`` is
    raised instead of a commit.
    """

    query: sa.Select
    make_error: Callable[[], BaseException]


# The fence of this thread. It is a context variable, because Ironic's code
# lies between the code that sets the fence and the transactions that it
# affects, and passes on no argument of this project.
_FENCE: contextvars.ContextVar[_Fence | None] = contextvars.ContextVar(
    'fence', default=None
)


@contextlib.contextmanager
def while_locked(
    node_uuid: str,
    holder: str,
    request_uuid: str,
    token: int,
    make_error: Callable[[], BaseException],
) -> Iterator[None]:
    """Refuse commits of this thread once another delivery has taken over.

    Both the lock of the node and the token of the request are checked, because
    a new delivery changes the token first, and locks the node some time later.

    :param holder: the name in which this delivery has locked the node.
    :param token: the token of this delivery.
    :param make_error: returns the error to raise instead of a commit.
    """
    # The query finds a row while this delivery holds both. It locks the two
    # rows, so that they do not change between the check and the commit.
    query = (
        sa.select(_NODES.c.uuid)
        .join(models.RequestRow, models.RequestRow.node_uuid == _NODES.c.uuid)
        .where(
            _NODES.c.uuid == node_uuid,
            _NODES.c.reservation == holder,
            models.RequestRow.uuid == request_uuid,
            models.RequestRow.token == token,
        )
        .with_for_update(read=True)
    )
    previous_fence = _FENCE.set(_Fence(query, make_error))
    try:
        yield
    finally:
        _FENCE.reset(previous_fence)


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Commit without the check, for statements that compare the token anyway.

    Such a statement may give the request a new token. The check, which runs at
    the commit with the old token, would mistake this for another delivery.
    """
    previous_fence = _FENCE.set(None)
    try:
        yield
    finally:
        _FENCE.reset(previous_fence)


@sa.event.listens_for(sa.Engine, 'commit')
def _check_fence(connection: Any) -> None:
    """Check the fence of this thread, if it has one, before any commit.

    The engine calls this before the commits of Ironic's code as well. An error
    that is raised here refuses the commit.
    """
    fence = _FENCE.get()
    if fence is None:
        return
    try:
        if connection.execute(fence.query).first() is None:
            raise fence.make_error()
    except BaseException:
        # A session rolls back only for an Exception. After a BaseException the
        # connection would return to the pool in the middle of the transaction,
        # and its next user would commit the refused changes. The connection is
        # therefore given up. A rollback would not suffice, because oslo.db
        # would not notice it and would skip the next BEGIN of SQLite.
        connection.invalidate()
        raise
