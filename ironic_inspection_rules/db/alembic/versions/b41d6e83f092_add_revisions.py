# SPDX-License-Identifier: Apache-2.0

"""Add the order and the revisions of the rule set

Revision ID: b41d6e83f092
Revises: b7d2e4f60a15
"""

from alembic import op
from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

revision = 'b41d6e83f092'
down_revision = 'b7d2e4f60a15'

TABLE_ARGS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


def upgrade():
    # MySQL commits every statement at once, so what an interrupted run has
    # made may be there already.
    inspector = sa.inspect(op.get_bind())
    present = {column['name'] for column in inspector.get_columns('ir_rules')}
    if 'position' not in present:
        # Services that are still to be upgraded do not set it.
        op.add_column('ir_rules',
                      sa.Column('position', sa.Double(), nullable=True))
    op.execute('UPDATE ir_rules SET position = id WHERE position IS NULL')
    op.create_table(
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
        if_not_exists=True,
        **TABLE_ARGS,
    )
    indexes = {index['name'] for index
               in sa.inspect(op.get_bind()).get_indexes('ir_rule_versions')}
    for column in ('uuid', 'end_revision'):
        name = f'ir_rule_versions_{column}_idx'
        if name not in indexes:
            op.create_index(name, 'ir_rule_versions', [column])
    op.create_table(
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
        if_not_exists=True,
        **TABLE_ARGS,
    )
