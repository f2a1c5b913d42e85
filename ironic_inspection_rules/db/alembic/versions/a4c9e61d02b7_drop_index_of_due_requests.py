# SPDX-License-Identifier: Apache-2.0

"""Drop the index of requests by when they are due, whatever their state

PostgreSQL takes it for the better one, and passes over all that wait.

Revision ID: a4c9e61d02b7
Revises: f1b86d2c5e07
"""

from alembic import op
import sqlalchemy as sa

revision = 'a4c9e61d02b7'
down_revision = 'f1b86d2c5e07'

TABLE = 'ir_requests'
INDEX = 'ir_requests_due_at_idx'


def upgrade():
    # MySQL commits every statement at once, so an interrupted run may have
    # done it.
    if any(index['name'] == INDEX
           for index in sa.inspect(op.get_bind()).get_indexes(TABLE)):
        op.drop_index(INDEX, TABLE)
