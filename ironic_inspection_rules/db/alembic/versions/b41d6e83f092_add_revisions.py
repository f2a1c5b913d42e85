# SPDX-License-Identifier: Apache-2.0

"""Add the order and the revisions of the rule set

Revision ID: b41d6e83f092
Revises: b7d2e4f60a15
"""

from alembic import op
from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

from ironic_inspection_rules.db import migration

revision = 'b41d6e83f092'
down_revision = 'b7d2e4f60a15'


def upgrade():
    # Services that are still to be upgraded do not set it.
    migration.add_column(
        'ir_rules', sa.Column('position', sa.Double(), nullable=True))
    op.execute('UPDATE ir_rules SET position = id WHERE position IS NULL')
    migration.create_table(
        'ir_rule_versions',
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('first_revision', sa.Integer(), nullable=False),
        sa.Column('end_revision', sa.Integer(), nullable=True),
        sa.Column('rule_revision', sa.Integer(), nullable=False),
        sa.Column('rule_created_at', sa.DateTime(), nullable=True),
        sa.Column('sensitive', sa.Boolean(), nullable=False),
        sa.Column('position', sa.Double(), nullable=True),
        sa.Column('fields', db_types.JsonEncodedDict(mysql_as_long=True),
                  nullable=False),
        sa.PrimaryKeyConstraint('id'),
    )
    migration.create_index('ir_rule_versions', 'uuid')
    migration.create_index('ir_rule_versions', 'end_revision')
    migration.create_table(
        'ir_revisions',
        sa.Column('revision', sa.Integer(), autoincrement=False,
                  nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('user_id', sa.String(255), nullable=True),
        sa.Column('project_id', sa.String(255), nullable=True),
        sa.Column('message', sa.Text(), nullable=True),
        sa.Column('changes', db_types.JsonEncodedList(mysql_as_long=True),
                  nullable=False),
        sa.PrimaryKeyConstraint('revision'),
    )
