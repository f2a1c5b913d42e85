# SPDX-License-Identifier: Apache-2.0

"""Add lock failures and senders to the inspection requests

What rules set is not kept in requests that are done.

Revision ID: b7d2e4f60a15
Revises: 2f7b90c4e1d8
"""

from alembic import op
import sqlalchemy as sa

from ironic_inspection_rules.db import migration

revision = 'b7d2e4f60a15'
down_revision = '2f7b90c4e1d8'

TABLE = 'ir_requests'


def upgrade():
    migration.add_column(TABLE, sa.Column(
        'lock_failures', sa.Integer(), nullable=False, server_default='0'))
    migration.add_column(
        TABLE, sa.Column('sender', sa.String(255), nullable=True))
    requests = sa.table(TABLE, sa.column('open_node_uuid'),
                        sa.column('progress'))
    op.execute(sa.update(requests)
               .where(requests.c.open_node_uuid.is_(None))
               .values(progress='{}'))
