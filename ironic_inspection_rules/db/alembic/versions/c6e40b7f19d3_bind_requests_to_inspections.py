# SPDX-License-Identifier: Apache-2.0

"""Bind inspection requests to inspections, and index what is looked for

Revision ID: c6e40b7f19d3
Revises: b3d91e6a7c25
"""

import sqlalchemy as sa

from ironic_inspection_rules.db import migration

revision = 'c6e40b7f19d3'
down_revision = 'b3d91e6a7c25'

TABLE = 'ir_requests'


def upgrade():
    migration.add_column(TABLE, sa.Column(
        'inspection_began_at', sa.DateTime(), nullable=True))
    migration.create_index(TABLE, 'state', 'due_at')
    migration.create_index(TABLE, 'finished_at')
