# SPDX-License-Identifier: Apache-2.0

"""Add the places that sensitive rules of runs set

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
        'places', db_types.JsonEncodedDict(mysql_as_long=True),
        nullable=True))
