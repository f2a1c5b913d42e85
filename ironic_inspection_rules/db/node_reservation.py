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

"""Ironic's lock of a node, by one statement each way.

It is the column that Ironic's own tasks lock nodes by. Ironic's objects read
the node before and after, and need a transaction each time.
"""

from ironic.db.sqlalchemy import models
import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import request as db_request
from ironic_inspection_rules.db import transaction


@transaction.retried
def reserve(node_uuid: str, holder: str) -> bool:
    """Lock a node that nobody has locked.

    :returns: whether there is such a node.
    """
    with transaction.writer() as session:
        return _replace(session, node_uuid, None, holder)


def release(session: orm.Session, node_uuid: str, holder: str) -> bool:
    """Unlock a node, within a transaction.

    :returns: whether it was locked by this holder.
    """
    return _replace(session, node_uuid, holder, None)


def _replace(session: orm.Session, node_uuid: str, present: str | None,
             holder: str | None) -> bool:
    return db_request.changed_one(session.execute(
        sa.update(models.Node)
        .where(models.Node.uuid == node_uuid,
               models.Node.reservation.is_not_distinct_from(present))
        .values(reservation=holder)
        .execution_options(synchronize_session=False)))
