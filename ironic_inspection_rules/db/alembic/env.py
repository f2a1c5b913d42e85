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

"""What alembic runs to reach the database."""

from alembic import context
from oslo_db.sqlalchemy import enginefacade

from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import models


def _is_ours(name, type_, parent_names) -> bool:
    """Keep alembic from comparing (and dropping) the tables of Ironic."""
    return type_ != 'table' or name in models.Base.metadata.tables


with enginefacade.writer.get_engine().connect() as connection:
    context.configure(connection=connection,
                      target_metadata=models.Base.metadata,
                      version_table=migration.VERSION_TABLE,
                      include_name=_is_ours)
    with context.begin_transaction():
        context.run_migrations()
