# SPDX-License-Identifier: Apache-2.0

"""Environment that alembic runs migrations in."""

from alembic import context
from oslo_db.sqlalchemy import enginefacade

from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import models


def _is_ours(name, type_, parent_names) -> bool:
    """Keep alembic from comparing (and dropping) the tables of Ironic."""
    return type_ != 'table' or name in models.Base.metadata.tables


with enginefacade.writer.get_engine().connect() as connection:
    # Alembic assumes that SQLite commits every statement that changes tables.
    # This is true if Python begins the transactions, but here oslo.db begins
    # them. An interrupted migration is therefore undone, except on MySQL. None
    # leaves the decision about other databases to alembic.
    is_transactional = None
    if connection.dialect.name == 'sqlite':
        is_transactional = True
    context.configure(
        connection=connection,
        target_metadata=models.Base.metadata,
        version_table=migration.VERSION_TABLE,
        transactional_ddl=is_transactional,
        include_name=_is_ours,
    )
    with context.begin_transaction():
        context.run_migrations()
