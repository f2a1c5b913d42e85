# SPDX-License-Identifier: Apache-2.0

"""Add the inspection requests and the unprocessed data

Revision ID: 8c27f4d1a96e
Revises: 5a1c0e9d7b34
"""

from alembic import op
from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

revision = '8c27f4d1a96e'
down_revision = '5a1c0e9d7b34'

TABLE_ARGS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


def upgrade():
    op.create_table(
        'ir_requests',
        sa.Column('created_at', sa.DateTime(), nullable=True),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('version', sa.String(15), nullable=True),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('open_node_uuid', sa.String(36), nullable=True),
        sa.Column('event', sa.String(16), nullable=False),
        sa.Column('state', sa.String(16), nullable=False),
        sa.Column('attempts', sa.Integer(), nullable=False),
        sa.Column('token', sa.Integer(), nullable=False),
        sa.Column('worker', sa.String(255), nullable=True),
        sa.Column('due_at', sa.Double(), nullable=True),
        sa.Column('started_at', sa.DateTime(), nullable=True),
        sa.Column('finished_at', sa.DateTime(), nullable=True),
        sa.Column('last_error', sa.Text(), nullable=True),
        sa.Column('unprocessed_id', sa.Integer(), nullable=True),
        sa.Column('progress', db_types.JsonEncodedDict(mysql_as_long=True),
                  nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('uuid', name='uniq_ir_requests0uuid'),
        sa.UniqueConstraint('open_node_uuid',
                            name='uniq_ir_requests0open_node_uuid'),
        if_not_exists=True,
        **TABLE_ARGS,
    )
    op.create_table(
        'ir_unprocessed',
        sa.Column('created_at', sa.DateTime(), nullable=True),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('posted', sa.Boolean(), nullable=False),
        sa.Column('inventory', db_types.JsonEncodedDict(mysql_as_long=True),
                  nullable=False),
        sa.Column('plugin_data', db_types.JsonEncodedDict(mysql_as_long=True),
                  nullable=False),
        sa.PrimaryKeyConstraint('id'),
        if_not_exists=True,
        **TABLE_ARGS,
    )
    # MySQL commits every statement at once, so an interrupted run may have
    # made some of the indexes.
    inspector = sa.inspect(op.get_bind())
    for table, column in (('ir_requests', 'node_uuid'),
                          ('ir_requests', 'due_at'),
                          ('ir_unprocessed', 'node_uuid')):
        name = f'{table}_{column}_idx'
        if not any(index['name'] == name
                   for index in inspector.get_indexes(table)):
            op.create_index(name, table, [column])
