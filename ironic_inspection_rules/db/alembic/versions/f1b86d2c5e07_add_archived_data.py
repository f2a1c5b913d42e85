# SPDX-License-Identifier: Apache-2.0

"""Add what ramdisks posted, by content

The leader moves there what is in ir_unprocessed, a little each time.

Revision ID: f1b86d2c5e07
Revises: c85a1f30d6e2
"""

from alembic import op
import sqlalchemy as sa

revision = 'f1b86d2c5e07'
down_revision = 'c85a1f30d6e2'

TABLE = 'ir_archived'


def upgrade():
    op.create_table(
        TABLE,
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('content', sa.String(27), nullable=False),
        sa.PrimaryKeyConstraint('id'),
        if_not_exists=True, mysql_engine='InnoDB', mysql_charset='utf8mb4',
        mysql_collate='utf8mb4_bin')
    # MySQL commits every statement at once, so an interrupted run may have
    # done a part of it.
    present = {index['name']
               for index in sa.inspect(op.get_bind()).get_indexes(TABLE)}
    for column in ('node_uuid', 'content'):
        name = f'{TABLE}_{column}_idx'
        if name not in present:
            op.create_index(name, TABLE, [column])
