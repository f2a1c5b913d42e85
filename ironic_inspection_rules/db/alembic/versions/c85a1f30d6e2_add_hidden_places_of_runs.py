# SPDX-License-Identifier: Apache-2.0

"""Add where runs left values of sensitive rules

Revision ID: c85a1f30d6e2
Revises: e3a7c95d0b14
"""

from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

from ironic_inspection_rules.db import migration

revision = 'c85a1f30d6e2'
down_revision = 'e3a7c95d0b14'


def upgrade():
    migration.add_column('ir_runs', sa.Column(
        'hidden', db_types.JsonEncodedList(mysql_as_long=True),
        nullable=True))
