# SPDX-License-Identifier: Apache-2.0

"""Add the mode of rules

Revision ID: 2f7b90c4e1d8
Revises: 8c27f4d1a96e
"""

import sqlalchemy as sa

from ironic_inspection_rules.db import migration

revision = '2f7b90c4e1d8'
down_revision = '8c27f4d1a96e'


def upgrade():
    # Services that are still to be upgraded do not set it.
    migration.add_column('ir_rules', sa.Column(
        'mode', sa.String(16), nullable=False, server_default='enforce'))
