# SPDX-License-Identifier: Apache-2.0

"""Add the inspection requests and the unprocessed data

Revision ID: 8c27f4d1a96e
Revises: 5a1c0e9d7b34
"""

from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

from ironic_inspection_rules.db import migration

revision = '8c27f4d1a96e'
down_revision = '5a1c0e9d7b34'


def upgrade():
    migration.create_table(
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
    )
    migration.create_table(
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
    )
    migration.create_index('ir_requests', 'node_uuid')
    migration.create_index('ir_requests', 'due_at')
    migration.create_index('ir_unprocessed', 'node_uuid')
