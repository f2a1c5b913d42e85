# SPDX-License-Identifier: Apache-2.0

"""Refuses the writes of a worker that has lost its request.

A worker leases an inspection request, and locks its node. If the worker stalls
for longer than its lease, another worker gets the request, which is a new
*delivery* with a new *token*. The first worker does not know this when it goes
on. It cannot find out by looking at the clock before it writes, because it may
stall between the look and the write.

Therefore a check runs in every transaction of the worker, at the commit. This
check is the *fence*. It reads the lock of the node and the token of the
request, and locks both rows, so that they cannot change before the commit is
done. It is an event of SQLAlchemy's engine, because most transactions are made
by Ironic's own code, which does not know the fence.
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

    ``query`` finds a row as long as no other delivery has taken over. If it
    finds no row, the error from ``make_error`` is raised instead of a commit.
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

    This lasts until the end of the ``with`` statement. Both the token of the
    request and the lock of the node are checked, because a new delivery first
    changes the token, and locks the node some time later.

    :param holder: the name in which this delivery has locked the node.
    :param request_uuid: the UUID of the delivered request.
    :param token: the token of this delivery.
    :param make_error: returns the error to raise instead of a commit.
    """
    # The query finds a row while the node has this holder and the request has
    # this token. It also locks both rows until the end of the transaction.
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
    """Commit without the check, until the end of the ``with`` statement.

    This is for transactions that unlock the node or change the token. The
    check runs after that, at the commit, and would refuse them. Their
    statements compare the token themselves.
    """
    previous_fence = _FENCE.set(None)
    try:
        yield
    finally:
        _FENCE.reset(previous_fence)


@sa.event.listens_for(sa.Engine, 'commit')
def _check_fence(connection: Any) -> None:
    """Check before a commit that no other delivery has taken over.

    The engine calls this before every commit, including commits of Ironic's
    code. An error that is raised here refuses the commit. Threads without a
    fence are not checked.

    :param connection: the connection whose transaction is to be committed.
    :raises: the error of the fence if another delivery has taken over.
    """
    fence = _FENCE.get()
    if fence is None:
        return
    try:
        if connection.execute(fence.query).first() is None:
            raise fence.make_error()
    except BaseException:
        # A session rolls back only for an Exception, and the error of the
        # fence is a BaseException. Without a rollback, the connection would
        # return to the pool in the middle of the transaction, and its next
        # user would commit the refused changes. Therefore close the
        # connection. A rollback here would not suffice, because oslo.db would
        # not notice it and would skip the next BEGIN of SQLite.
        connection.invalidate()
        raise
