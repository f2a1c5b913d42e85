# SPDX-License-Identifier: Apache-2.0

"""${message}

Revision ID: ${up_revision}
Revises: ${down_revision | comma,n}
"""

from alembic import op
import sqlalchemy as sa
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade():
    # No code of the package: it changes, and this must not. MySQL commits
    # every statement at once, so each must bear being repeated. Processes of
    # the release before still work with the tables: what is added needs a
    # default in the database, or is nullable.
    ${upgrades if upgrades else "pass"}
