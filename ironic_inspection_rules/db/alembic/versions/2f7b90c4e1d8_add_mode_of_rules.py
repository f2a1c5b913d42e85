# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
