# SPDX-License-Identifier: Apache-2.0

"""Add the runs of rules and the statistics of each rule

Revision ID: b3d91e6a7c25
Revises: b41d6e83f092
"""

from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

from ironic_inspection_rules.db import migration

revision = 'b3d91e6a7c25'
down_revision = 'b41d6e83f092'


def upgrade():
    migration.create_table(
        'ir_runs',
        sa.Column('created_at', sa.DateTime(), nullable=True),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('version', sa.String(15), nullable=True),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('event', sa.String(16), nullable=False),
        sa.Column('inspect_interface', sa.String(255), nullable=True),
        sa.Column('result', sa.String(16), nullable=False),
        sa.Column('error', sa.Text(), nullable=True),
        sa.Column('revision', sa.Integer(), nullable=True),
        sa.Column('started_at', sa.DateTime(), nullable=True),
        sa.Column('phases', db_types.JsonEncodedDict(mysql_as_long=True),
                  nullable=False),
        sa.Column('inventory', db_types.JsonEncodedDict(mysql_as_long=True),
                  nullable=True),
        sa.Column('plugin_data', db_types.JsonEncodedDict(mysql_as_long=True),
                  nullable=True),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('uuid', name='uniq_ir_runs0uuid'),
    )
    migration.create_table(
        'ir_rule_statistics',
        sa.Column('rule_uuid', sa.String(36), nullable=False),
        sa.Column('since', sa.DateTime(), nullable=False),
        sa.Column('runs', sa.BigInteger(), nullable=False),
        sa.Column('matched', sa.BigInteger(), nullable=False),
        sa.Column('failed', sa.BigInteger(), nullable=False),
        sa.Column('audited', sa.BigInteger(), nullable=False),
        sa.Column('seconds', sa.Double(), nullable=False),
        sa.Column('last_matched_at', sa.DateTime(), nullable=True),
        sa.Column('last_matched_node', sa.String(36), nullable=True),
        sa.PrimaryKeyConstraint('rule_uuid'),
    )
    migration.create_index('ir_runs', 'node_uuid')
