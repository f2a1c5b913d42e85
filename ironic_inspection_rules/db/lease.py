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

"""Leases: whom a request is given to, and until when.

The clock is that of the database. A lease that has run out is no longer
anybody's, but its delivery is the last one until the request is delivered anew
or taken back.
"""

from collections.abc import Iterable
import random
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import request as db_request
from ironic_inspection_rules.db import transaction

_CANDIDATES = 8
"""How many requests somebody who asks for one looks at."""


def claim_request(
        worker: str, lease: float
) -> tuple[models.Request, models.InspectionData | None] | None:
    """Give the request that is due longest to a worker.

    :param lease: seconds that it is given for.
    :returns: the request as this delivery has it, and its data; None if none
        is due.
    """
    while candidates := _due_requests():
        first, *others = candidates
        # Who has lost the first one is not to compete for the next as well.
        random.shuffle(others)
        for uuid, token in (first, *others):
            if claimed := _claim(uuid, token, worker, lease):
                return claimed
    return None


@transaction.retried
def _due_requests() -> list[tuple[str, int]]:
    with transaction.reader() as session:
        rows: Iterable[Any] = session.execute(
            sa.select(models.Request.uuid, models.Request.token)
            .where(models.Request.due_at <= clock.now(), db_request.OPEN)
            .order_by(models.Request.due_at, models.Request.id)
            .limit(_CANDIDATES))
        return [(row.uuid, row.token) for row in rows]


@transaction.retried
def _claim(uuid: str, token: int, worker: str, lease: float
           ) -> tuple[models.Request, models.InspectionData | None] | None:
    """Claim a request and read it, before anybody else can claim it."""
    with transaction.writer() as session:
        if not db_request.change(session, uuid, token, {
                'worker': worker, 'token': token + 1,
                'due_at': clock.now() + lease},
                models.Request.due_at <= clock.now()):
            return None
        row, data = session.execute(
            sa.select(models.Request, models.InspectionData)
            .options(orm.undefer(models.Request.checkpoints))
            .outerjoin(models.InspectionData, models.InspectionData.id
                       == models.Request.unprocessed_id)
            .where(models.Request.uuid == uuid)).one()
        return row, data


@transaction.retried
def prolong_requests(held: Iterable[tuple[str, int]],
                     lease: float) -> set[tuple[str, int]]:
    """Prolong the leases of open requests.

    :param held: pairs of UUID and token.
    :param lease: seconds from now to their new end.
    :returns: those of the pairs that are last deliveries.
    """
    key = sa.tuple_(models.Request.uuid, models.Request.token)
    condition = sa.and_(db_request.OPEN, key.in_(list(held)))
    with transaction.writer() as session:
        session.execute(sa.update(models.Request).where(condition)
                        .values(due_at=clock.now() + lease)
                        .execution_options(synchronize_session=False))
        rows: Iterable[Any] = session.execute(
            sa.select(models.Request.uuid, models.Request.token)
            .where(condition))
        return {(row.uuid, row.token) for row in rows}


@transaction.retried
def expire_leases() -> list[models.Request]:
    """Take back what workers hold beyond the end of their lease.

    An open request becomes free, a done one is not looked at again.

    :returns: those requests as they were.
    """
    with transaction.reader() as session:
        lapsed = session.execute(
            sa.select(models.Request)
            .where(models.Request.due_at <= clock.now(),
                   models.Request.worker.is_not(None))).scalars().all()
    return [row for row in lapsed if _expire(row)]


@transaction.retried
def _expire(row: Any) -> bool:
    if row.open_node_uuid is not None:
        return db_request.change_request(row.uuid, row.token,
                              {'worker': None, 'token': row.token + 1})
    with transaction.writer() as session:
        return db_request.changed_one(session.execute(
            sa.update(models.Request)
            .where(models.Request.id == row.id,
                   models.Request.due_at.is_not(None))
            .values(due_at=None)
            .execution_options(synchronize_session=False)))


@transaction.retried
def list_held_requests(node_uuid: str) -> list[models.Request]:
    """Read the requests of a node that a worker holds.

    That is an open one until it is delivered anew, and done ones until
    their leases end.
    """
    with transaction.reader() as session:
        return list(session.execute(
            sa.select(models.Request)
            .where(models.Request.node_uuid == node_uuid,
                   models.Request.worker.is_not(None),
                   sa.or_(db_request.OPEN,
                          models.Request.due_at > clock.now()))
        ).scalars())
