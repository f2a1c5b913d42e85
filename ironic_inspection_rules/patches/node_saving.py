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

"""How Ironic writes what has changed of a node."""

from collections.abc import Iterator
import contextlib
from typing import Any

from ironic.db.sqlalchemy import models
from oslo_db import exception as db_exc
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.engine import result

from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.patches import database
from ironic_inspection_rules.patches import name

_WITHOUT = 'inspection workers ask the database more than they need to'

DBAPI = name.Name('ironic.objects.node', 'Node.dbapi', _WITHOUT,
                  required=False)
UPDATE = name.Name(
    'ironic.db.sqlalchemy.api', 'Connection.update_node', _WITHOUT,
    parameters=('self', 'node_id', 'values'), required=False)
SQLITE = name.Name(
    'ironic.common.utils', 'is_ironic_using_sqlite', _WITHOUT,
    parameters=(), required=False)

NAMES = (DBAPI, UPDATE, SQLITE)


class _OneTransaction:
    """Ironic's database API, which updates a node in one transaction.

    Ironic reads the node before, with all of its 70 columns, and in a second
    transaction again. Here that is told from the first time, but for the
    columns that were written. A worker spends most of its time in this.
    """

    def __init__(self, dbapi: Any) -> None:
        self._dbapi = dbapi

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._dbapi, attribute)

    @transaction.retried
    def update_node(self, node_id: Any, values: dict[str, Any]) -> Any:
        """See Ironic's."""
        try:
            with database.transaction() as session, _read_once(
                    session, node_id, values):
                return self._dbapi.update_node(node_id, values)
        except sa.exc.PendingRollbackError as exc:
            # Ironic has gone on after a deadlock, which ended all of it.
            if session.in_transaction():
                raise
            raise db_exc.RetryRequest(exc) from exc


@contextlib.contextmanager
def _read_once(session: orm.Session, node_id: Any, values: dict[str, Any]
               ) -> Iterator[None]:
    """Answer all queries for a node but the first without the database.

    :param values: what is written of it meanwhile, which is read again.
    """
    asked = 0

    def answer(query: orm.ORMExecuteState) -> Any:
        nonlocal asked
        mapper = query.bind_mapper
        if (mapper is None or mapper.class_ is not models.Node
                or query.is_column_load or query.is_relationship_load):
            return None
        asked += 1
        known = [each for each in session.identity_map.values()
                 if isinstance(each, models.Node)
                 and node_id in (each.id, each.uuid)]
        if asked == 1 or len(known) != 1:
            return None
        session.flush()
        session.refresh(known[0], [*values, 'updated_at'])
        return result.IteratorResult(
            result.SimpleResultMetaData(['Node']), iter([(known[0],)]))
    sa.event.listen(session, 'do_orm_execute', answer)
    try:
        yield
    finally:
        sa.event.remove(session, 'do_orm_execute', answer)


def save_at_once(node: Any) -> None:
    """Have each save of a node be one transaction.

    Not with SQLite: Ironic waits for other writers of the file there, who
    would have to wait for the transaction.
    """
    if name.are_here(NAMES) and not SQLITE.find()():
        node.dbapi = _OneTransaction(node.dbapi)
