# SPDX-License-Identifier: Apache-2.0

"""Bind inspection requests to inspections, and index what is looked for

Revision ID: c6e40b7f19d3
Revises: b3d91e6a7c25
"""

from alembic import op
import sqlalchemy as sa

revision = 'c6e40b7f19d3'
down_revision = 'b3d91e6a7c25'

TABLE = 'ir_requests'


def upgrade():
    # MySQL commits every statement at once, so an interrupted run may have
    # done a part of it.
    inspector = sa.inspect(op.get_bind())
    if not any(column['name'] == 'inspection_began_at'
               for column in inspector.get_columns(TABLE)):
        op.add_column(TABLE, sa.Column('inspection_began_at', sa.DateTime(),
                                       nullable=True))
    present = {index['name'] for index in inspector.get_indexes(TABLE)}
    for name, columns in (
            ('ir_requests_state_due_at_idx', ['state', 'due_at']),
            ('ir_requests_finished_at_idx', ['finished_at'])):
        if name not in present:
            op.create_index(name, TABLE, columns)
