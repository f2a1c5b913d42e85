# SPDX-License-Identifier: Apache-2.0

"""Add the values of rules by name

Revision ID: d4f8a1c72b60
Revises: c6e40b7f19d3
"""

from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa

from ironic_inspection_rules.db import migration

revision = 'd4f8a1c72b60'
down_revision = 'c6e40b7f19d3'


def upgrade():
    # Services that are still to be upgraded do not set it.
    migration.add_column('ir_rules', sa.Column(
        'vars', db_types.JsonEncodedDict(mysql_as_long=True),
        nullable=True))
