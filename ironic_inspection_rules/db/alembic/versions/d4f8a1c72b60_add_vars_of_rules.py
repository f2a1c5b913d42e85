# SPDX-License-Identifier: Apache-2.0

"""Add the values of rules by name

Revision ID: d4f8a1c72b60
Revises: c6e40b7f19d3
"""

from alembic import op
from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

revision = 'd4f8a1c72b60'
down_revision = 'c6e40b7f19d3'


def upgrade():
    # MySQL commits every statement at once, so what an interrupted run has
    # made may be there already.
    present = {column['name'] for column
               in sa.inspect(op.get_bind()).get_columns('ir_rules')}
    if 'vars' not in present:
        # Services that are still to be upgraded do not set it.
        op.add_column('ir_rules', sa.Column(
            'vars', db_types.JsonEncodedDict(mysql_as_long=True),
            nullable=True))
