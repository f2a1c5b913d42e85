# SPDX-License-Identifier: Apache-2.0

"""Add the history of inventories, and store data by content

Revision ID: e3a7c95d0b14
Revises: d4f8a1c72b60
"""

import json

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import migration

revision = 'e3a7c95d0b14'
down_revision = 'd4f8a1c72b60'

LONG_BINARY = sa.LargeBinary().with_variant(mysql.LONGBLOB(), 'mysql',
                                            'mariadb')
INDEXES = (
    ('ir_runs', 'content'),
    ('ir_contents', 'used_at'),
    ('ir_content_sections', 'section'),
    ('ir_sections', 'used_at'),
    ('ir_inventories', 'node_uuid'),
    ('ir_inventories', 'created_at'),
    ('ir_inventories', 'content'),
    ('ir_inventories', 'parts'),
    ('ir_parts', 'identity'),
    ('ir_parts', 'node_uuid'),
)


def upgrade():
    _make_tables()
    migration.add_column(
        'ir_runs', sa.Column('content', sa.String(27), nullable=True))
    for table, column in INDEXES:
        migration.create_index(table, column)
    _move_data_of_runs(op.get_bind())


def _make_tables():
    migration.create_table(
        'ir_contents',
        sa.Column('digest', sa.String(27), nullable=False),
        sa.Column('used_at', sa.Double(), nullable=False),
        sa.Column('size', sa.Integer(), nullable=False),
        sa.Column('frame', LONG_BINARY, nullable=False),
        sa.PrimaryKeyConstraint('digest'))
    migration.create_table(
        'ir_content_sections',
        sa.Column('content', sa.String(27), nullable=False),
        sa.Column('position', sa.Integer(), autoincrement=False,
                  nullable=False),
        sa.Column('section', sa.String(27), nullable=False),
        sa.PrimaryKeyConstraint('content', 'position'))
    migration.create_table(
        'ir_sections',
        sa.Column('digest', sa.String(27), nullable=False),
        sa.Column('used_at', sa.Double(), nullable=False),
        sa.Column('data', LONG_BINARY, nullable=False),
        sa.PrimaryKeyConstraint('digest'))
    migration.create_table(
        'ir_inventories',
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('interface', sa.String(255), nullable=True),
        sa.Column('changed', sa.Boolean(), nullable=False),
        sa.Column('content', sa.String(27), nullable=False),
        sa.Column('parts', sa.String(27), nullable=False),
        sa.Column('patch', LONG_BINARY, nullable=True),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('uuid', name='uniq_ir_inventories0uuid'))
    migration.create_table(
        'ir_parts',
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('identity', sa.String(255), nullable=False),
        sa.Column('kind', sa.String(16), nullable=False),
        sa.Column('label', sa.String(255), nullable=False),
        sa.Column('node_uuid', sa.String(36), nullable=False),
        sa.Column('began_at', sa.DateTime(), nullable=False),
        sa.Column('ended_at', sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint('id'))


def _move_data_of_runs(connection):
    """Store by content what machines sent in runs that failed."""
    runs = sa.table('ir_runs', *map(sa.column, (
        'id', 'inventory', 'plugin_data', 'content')))
    last = 0
    while True:
        row = connection.execute(
            sa.select(runs.c.id, runs.c.inventory, runs.c.plugin_data)
            .where(runs.c.id > last, runs.c.inventory.is_not(None))
            .order_by(runs.c.id).limit(1)).first()
        if row is None:
            return
        last = row[0]
        inventory, plugin_data = (json.loads(text) if text else {}
                                  for text in row[1:])
        digest = content.put(connection, {
            'inventory': inventory, 'plugin_data': plugin_data})
        connection.execute(
            sa.update(runs).where(runs.c.id == last)
            .values(content=digest, inventory=None, plugin_data=None))
