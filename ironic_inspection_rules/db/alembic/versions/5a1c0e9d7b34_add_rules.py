# SPDX-License-Identifier: Apache-2.0

"""Add the rules and their revision

Revision ID: 5a1c0e9d7b34
Revises:
"""

from alembic import op
from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

from ironic_inspection_rules.db import migration

revision = '5a1c0e9d7b34'
down_revision = None


def upgrade():
    migration.create_table(
        'ir_rules',
        sa.Column('created_at', sa.DateTime(), nullable=True),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('version', sa.String(15), nullable=True),
        sa.Column('revision', sa.Integer(), nullable=False),
        sa.Column('priority', sa.Integer(), nullable=False),
        sa.Column('description', sa.String(255), nullable=True),
        sa.Column('scope', sa.String(255), nullable=True),
        sa.Column('sensitive', sa.Boolean(), nullable=False),
        sa.Column('phase', sa.String(16), nullable=False),
        sa.Column('conditions', db_types.JsonEncodedList(mysql_as_long=True),
                  nullable=False),
        sa.Column('actions', db_types.JsonEncodedList(mysql_as_long=True),
                  nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('uuid', name='uniq_ir_rules0uuid'),
    )
    migration.create_index('ir_rules', 'scope')
    migration.create_index('ir_rules', 'phase')
    table = migration.create_table(
        'ir_rules_revision',
        sa.Column('id', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('revision', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('id'),
    )
    connection = op.get_bind()
    if connection.execute(sa.select(table)).first() is None:
        connection.execute(sa.insert(table).values(id=1, revision=0))
