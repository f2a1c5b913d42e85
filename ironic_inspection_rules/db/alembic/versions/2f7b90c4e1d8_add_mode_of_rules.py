# SPDX-License-Identifier: Apache-2.0

"""Add the mode of rules

Revision ID: 2f7b90c4e1d8
Revises: 8c27f4d1a96e
"""

from alembic import op
import sqlalchemy as sa

revision = '2f7b90c4e1d8'
down_revision = '8c27f4d1a96e'


def upgrade():
    # MySQL commits every statement at once, so what an interrupted run has
    # made may be there already.
    present = {column['name'] for column
               in sa.inspect(op.get_bind()).get_columns('ir_rules')}
    if 'mode' not in present:
        # Services that are still to be upgraded do not set it.
        op.add_column('ir_rules', sa.Column(
            'mode', sa.String(16), nullable=False, server_default='enforce'))
