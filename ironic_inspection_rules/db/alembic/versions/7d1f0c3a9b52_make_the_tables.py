# SPDX-License-Identifier: Apache-2.0

"""Make the tables of release 1.0

Revision ID: 7d1f0c3a9b52
Revises:
"""

from typing import Any

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

revision = '7d1f0c3a9b52'
down_revision = None

# A binary collation: MySQL would otherwise find the scope "rack1" when asked
# for "Rack1", which no other database does.
TABLE_ARGS: Any = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}
UUID = sa.String(36)
VERSION = sa.String(15)
NAME = sa.String(255)
WORD = sa.String(16)
TABLE = sa.String(64)
DIGEST = sa.String(27)
JSON = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
BINARY = sa.LargeBinary().with_variant(mysql.LONGBLOB(), 'mysql', 'mariadb')


def upgrade():
    make_rules()
    make_revisions()
    make_tables_of_rule_sets()
    make_requests()
    make_runs()
    make_statistics()
    make_contents()
    make_history()


def make_rules():
    op.create_table(
        'ir_rules',
        sa.Column('created_at', sa.DateTime(), nullable=True),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('uuid', UUID, nullable=False),
        sa.Column('version', VERSION, nullable=True),
        sa.Column('revision', sa.Integer(), nullable=False),
        sa.Column('description', NAME, nullable=True),
        sa.Column('priority', sa.Integer(), nullable=False),
        sa.Column('scope', NAME, nullable=True),
        sa.Column('sensitive', sa.Boolean(), nullable=False),
        sa.Column('phase', WORD, nullable=False),
        sa.Column('mode', WORD, nullable=False),
        sa.Column('conditions', JSON, nullable=False),
        sa.Column('actions', JSON, nullable=False),
        sa.Column('vars', JSON, nullable=False),
        sa.Column('position', sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('uuid', name='uniq_ir_rules0uuid'),
        **TABLE_ARGS,
    )
    make_index('ir_rules', 'scope')
    make_index('ir_rules', 'phase')


def make_revisions():
    counter = op.create_table(
        'ir_rules_revision',
        sa.Column('id', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('revision', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **TABLE_ARGS,
    )
    op.bulk_insert(counter, [{'id': 1, 'revision': 0}])
    op.create_table(
        'ir_revisions',
        sa.Column(
            'revision', sa.Integer(), autoincrement=False, nullable=False
        ),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('user_id', NAME, nullable=True),
        sa.Column('project_id', NAME, nullable=True),
        sa.Column('message', sa.Text(), nullable=True),
        sa.Column('changes', JSON, nullable=False),
        sa.PrimaryKeyConstraint('revision'),
        **TABLE_ARGS,
    )
    op.create_table(
        'ir_rule_versions',
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('uuid', UUID, nullable=False),
        sa.Column('first_revision', sa.Integer(), nullable=False),
        sa.Column('end_revision', sa.Integer(), nullable=True),
        sa.Column('rule_revision', sa.Integer(), nullable=False),
        sa.Column('rule_created_at', sa.DateTime(), nullable=True),
        sa.Column('sensitive', sa.Boolean(), nullable=False),
        sa.Column('position', sa.Double(), nullable=False),
        sa.Column('fields', JSON, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **TABLE_ARGS,
    )
    make_index('ir_rule_versions', 'uuid')
    make_index('ir_rule_versions', 'end_revision')


def make_tables_of_rule_sets():
    op.create_table(
        'ir_table_versions',
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('name', TABLE, nullable=False),
        sa.Column('first_revision', sa.Integer(), nullable=False),
        sa.Column('end_revision', sa.Integer(), nullable=True),
        sa.Column('table_revision', sa.Integer(), nullable=False),
        sa.Column('size', sa.Integer(), nullable=False),
        sa.Column('definition', JSON, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **TABLE_ARGS,
    )
    make_index('ir_table_versions', 'name')
    make_index('ir_table_versions', 'end_revision')
    op.create_table(
        'ir_table_chunks',
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('name', TABLE, nullable=False),
        sa.Column('first_revision', sa.Integer(), nullable=False),
        sa.Column('end_revision', sa.Integer(), nullable=True),
        sa.Column('position', sa.Double(), nullable=False),
        sa.Column('digest', DIGEST, nullable=False),
        sa.Column('data', BINARY, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **TABLE_ARGS,
    )
    make_index('ir_table_chunks', 'name')
    make_index('ir_table_chunks', 'end_revision')


def make_requests():
    op.create_table(
        'ir_requests',
        sa.Column('created_at', sa.DateTime(), nullable=True),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('uuid', UUID, nullable=False),
        sa.Column('version', VERSION, nullable=True),
        sa.Column('node_uuid', UUID, nullable=False),
        sa.Column('open_node_uuid', UUID, nullable=True),
        sa.Column('event', WORD, nullable=False),
        sa.Column('state', WORD, nullable=False),
        sa.Column('attempts', sa.Integer(), nullable=False),
        sa.Column('token', sa.Integer(), nullable=False),
        sa.Column('lock_failures', sa.Integer(), nullable=False),
        sa.Column('worker', NAME, nullable=True),
        sa.Column('sender', NAME, nullable=True),
        sa.Column('inspection_began_at', sa.DateTime(), nullable=True),
        sa.Column('due_at', sa.Double(), nullable=True),
        sa.Column('started_at', sa.DateTime(), nullable=True),
        sa.Column('finished_at', sa.DateTime(), nullable=True),
        sa.Column('last_error', sa.Text(), nullable=True),
        sa.Column('unprocessed_id', sa.Integer(), nullable=True),
        sa.Column('progress', JSON, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('uuid', name='uniq_ir_requests0uuid'),
        sa.UniqueConstraint(
            'open_node_uuid', name='uniq_ir_requests0open_node_uuid'
        ),
        **TABLE_ARGS,
    )
    # Not of due_at alone: PostgreSQL would take that for the better one, and
    # pass over all requests that wait.
    make_index('ir_requests', 'state', 'due_at')
    make_index('ir_requests', 'node_uuid')
    make_index('ir_requests', 'finished_at')
    op.create_table(
        'ir_unprocessed',
        sa.Column('created_at', sa.DateTime(), nullable=True),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('node_uuid', UUID, nullable=False),
        sa.Column('posted', sa.Boolean(), nullable=False),
        sa.Column('inventory', JSON, nullable=False),
        sa.Column('plugin_data', JSON, nullable=False),
        sa.Column('content', DIGEST, nullable=True),
        sa.PrimaryKeyConstraint('id'),
        **TABLE_ARGS,
    )
    make_index('ir_unprocessed', 'node_uuid')
    make_index('ir_unprocessed', 'content')


def make_runs():
    op.create_table(
        'ir_runs',
        sa.Column('created_at', sa.DateTime(), nullable=True),
        sa.Column('updated_at', sa.DateTime(), nullable=True),
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('uuid', UUID, nullable=False),
        sa.Column('version', VERSION, nullable=True),
        sa.Column('node_uuid', UUID, nullable=False),
        sa.Column('event', WORD, nullable=False),
        sa.Column('inspect_interface', NAME, nullable=True),
        sa.Column('result', WORD, nullable=False),
        sa.Column('error', sa.Text(), nullable=True),
        sa.Column('revision', sa.Integer(), nullable=True),
        sa.Column('started_at', sa.DateTime(), nullable=True),
        sa.Column('phases', JSON, nullable=False),
        sa.Column('content', DIGEST, nullable=True),
        sa.Column('places', JSON, nullable=True),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('uuid', name='uniq_ir_runs0uuid'),
        **TABLE_ARGS,
    )
    make_index('ir_runs', 'node_uuid')
    make_index('ir_runs', 'content')
    op.create_table(
        'ir_early_phases',
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('request_id', NAME, nullable=False),
        sa.Column('node_uuid', UUID, nullable=False),
        sa.Column('stored_at', sa.Double(), nullable=False),
        sa.Column('kept', JSON, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **TABLE_ARGS,
    )
    make_index('ir_early_phases', 'request_id')
    make_index('ir_early_phases', 'node_uuid')


def make_statistics():
    op.create_table(
        'ir_rule_statistics',
        sa.Column('rule_uuid', UUID, nullable=False),
        sa.Column('since', sa.DateTime(), nullable=False),
        sa.Column('runs', sa.BigInteger(), nullable=False),
        sa.Column('matched', sa.BigInteger(), nullable=False),
        sa.Column('failed', sa.BigInteger(), nullable=False),
        sa.Column('audited', sa.BigInteger(), nullable=False),
        sa.Column('seconds', sa.Double(), nullable=False),
        sa.Column('last_matched_at', sa.DateTime(), nullable=True),
        sa.Column('last_matched_node', UUID, nullable=True),
        sa.PrimaryKeyConstraint('rule_uuid'),
        **TABLE_ARGS,
    )


def make_contents():
    """Make the tables of documents, such as inventories, stored once each.

    A document is named by the digest of its content. It is cut: its large
    parts, the sections, are shared by all documents that have the same part.
    What remains is the frame, with the position of a section in the place of
    each. Who needs a document or a section sets ``used_at``: it is removed if
    that is long ago and no row names it.
    """
    op.create_table(
        'ir_contents',
        sa.Column('digest', DIGEST, nullable=False),
        sa.Column('used_at', sa.Double(), nullable=False),
        sa.Column('size', sa.Integer(), nullable=False),
        sa.Column('frame', BINARY, nullable=False),
        sa.PrimaryKeyConstraint('digest'),
        **TABLE_ARGS,
    )
    make_index('ir_contents', 'used_at')
    op.create_table(
        'ir_content_sections',
        sa.Column('content', DIGEST, nullable=False),
        sa.Column(
            'position', sa.Integer(), autoincrement=False, nullable=False
        ),
        sa.Column('section', DIGEST, nullable=False),
        sa.PrimaryKeyConstraint('content', 'position'),
        **TABLE_ARGS,
    )
    make_index('ir_content_sections', 'section')
    op.create_table(
        'ir_sections',
        sa.Column('digest', DIGEST, nullable=False),
        sa.Column('used_at', sa.Double(), nullable=False),
        sa.Column('data', BINARY, nullable=False),
        sa.PrimaryKeyConstraint('digest'),
        **TABLE_ARGS,
    )
    make_index('ir_sections', 'used_at')


def make_history():
    op.create_table(
        'ir_inventories',
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('uuid', UUID, nullable=False),
        sa.Column('node_uuid', UUID, nullable=False),
        sa.Column('created_at', sa.DateTime(), nullable=False),
        sa.Column('interface', NAME, nullable=True),
        sa.Column('changed', sa.Boolean(), nullable=False),
        sa.Column('content', DIGEST, nullable=False),
        sa.Column('parts', DIGEST, nullable=False),
        sa.Column('patch', BINARY, nullable=True),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('uuid', name='uniq_ir_inventories0uuid'),
        **TABLE_ARGS,
    )
    make_index('ir_inventories', 'node_uuid')
    make_index('ir_inventories', 'created_at')
    make_index('ir_inventories', 'content')
    make_index('ir_inventories', 'parts')
    op.create_table(
        'ir_parts',
        sa.Column('id', sa.Integer(), autoincrement=True, nullable=False),
        sa.Column('identity', NAME, nullable=False),
        sa.Column('kind', WORD, nullable=False),
        sa.Column('label', NAME, nullable=False),
        sa.Column('node_uuid', UUID, nullable=False),
        sa.Column('began_at', sa.DateTime(), nullable=False),
        sa.Column('ended_at', sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint('id'),
        **TABLE_ARGS,
    )
    make_index('ir_parts', 'identity')
    make_index('ir_parts', 'node_uuid')


def make_index(table, *columns):
    op.create_index('_'.join((table, *columns, 'idx')), table, list(columns))
