# SPDX-License-Identifier: Apache-2.0

"""Add what ramdisks posted, by content

The leader moves there what is in ir_unprocessed, a little each time.

Revision ID: f1b86d2c5e07
Revises: c85a1f30d6e2
"""

import sqlalchemy as sa

from ironic_inspection_rules.db import migration

revision = 'f1b86d2c5e07'
down_revision = 'c85a1f30d6e2'

TABLE = 'ir_archived'


def upgrade():
    migration.create_table(
        TABLE,
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('content', sa.String(27), nullable=False),
        sa.PrimaryKeyConstraint('id'))
    migration.create_index(TABLE, 'node_uuid')
    migration.create_index(TABLE, 'content')
