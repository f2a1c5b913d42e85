# SPDX-License-Identifier: Apache-2.0

"""Add where runs left values of sensitive rules

Revision ID: c85a1f30d6e2
Revises: e3a7c95d0b14
"""

from alembic import op
from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

revision = 'c85a1f30d6e2'
down_revision = 'e3a7c95d0b14'

TABLE = 'ir_runs'


def upgrade():
    # MySQL commits every statement at once, so an interrupted run may have
    # added the column.
    present = {column['name']
               for column in sa.inspect(op.get_bind()).get_columns(TABLE)}
    if 'hidden' not in present:
        op.add_column(TABLE, sa.Column(
            'hidden', db_types.JsonEncodedList(mysql_as_long=True),
            nullable=True))
