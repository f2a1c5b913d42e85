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

"""The tables that this project adds to Ironic's database."""

from typing import Any

from oslo_db.sqlalchemy import models
from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa
from sqlalchemy import orm

# A binary collation: MySQL would otherwise find the scope "rack1" when asked
# for "Rack1", which no other database does.
TABLE_ARGS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}

# Not Ironic's base class: its metadata must not know these tables, nor ours
# Ironic's.
Base: Any = orm.declarative_base(cls=models.ModelBase)


class Rule(models.TimestampMixin, Base):
    """One inspection rule (spec 003 "Data model impact").

    ``version`` is that of the versioned object the row was saved from,
    ``revision`` that of the rules when the row was written.
    """

    __tablename__ = 'ir_rules'
    __table_args__ = (
        sa.UniqueConstraint('uuid', name='uniq_ir_rules0uuid'),
        sa.Index('ir_rules_scope_idx', 'scope'),
        sa.Index('ir_rules_phase_idx', 'phase'),
        TABLE_ARGS,
    )

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    uuid = sa.Column(sa.String(36), nullable=False)
    version = sa.Column(sa.String(15), nullable=True)
    revision = sa.Column(sa.Integer, nullable=False)
    priority = sa.Column(sa.Integer, nullable=False, default=0)
    description = sa.Column(sa.String(255), nullable=True)
    scope = sa.Column(sa.String(255), nullable=True)
    sensitive = sa.Column(sa.Boolean, nullable=False, default=False)
    phase = sa.Column(sa.String(16), nullable=False, default='main')
    conditions = sa.Column(db_types.JsonEncodedList(mysql_as_long=True),
                           nullable=False)
    actions = sa.Column(db_types.JsonEncodedList(mysql_as_long=True),
                        nullable=False)


class RulesRevision(Base):
    """The one row that counts the changes made to the rules.

    Every change of ``ir_rules`` adds one to it in the same transaction, so a
    process can ask with one small query whether what it knows still holds,
    and no two changes happen at the same time.
    """

    __tablename__ = 'ir_rules_revision'
    __table_args__ = (TABLE_ARGS,)

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=False)
    revision = sa.Column(sa.Integer, nullable=False)


class Request(models.TimestampMixin, Base):
    """One request for an inspection (spec 001 "Data model impact").

    ``open_node_uuid`` is the node's UUID until the request is done, then
    NULL: being unique it lets a node have one open request. ``token`` counts
    deliveries. ``due_at`` is when the queue may act on the request, in
    seconds of the database's own clock: deliver it, or find its worker dead;
    NULL is never.
    """

    __tablename__ = 'ir_requests'
    __table_args__ = (
        sa.UniqueConstraint('uuid', name='uniq_ir_requests0uuid'),
        sa.UniqueConstraint('open_node_uuid',
                            name='uniq_ir_requests0open_node_uuid'),
        sa.Index('ir_requests_node_uuid_idx', 'node_uuid'),
        sa.Index('ir_requests_due_at_idx', 'due_at'),
        TABLE_ARGS,
    )

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    uuid = sa.Column(sa.String(36), nullable=False)
    version = sa.Column(sa.String(15), nullable=True)
    node_uuid = sa.Column(sa.String(36), nullable=False)
    open_node_uuid = sa.Column(sa.String(36), nullable=True)
    event = sa.Column(sa.String(16), nullable=False)
    state = sa.Column(sa.String(16), nullable=False)
    attempts = sa.Column(sa.Integer, nullable=False, default=0)
    token = sa.Column(sa.Integer, nullable=False, default=0)
    worker = sa.Column(sa.String(255), nullable=True)
    due_at = sa.Column(sa.Double, nullable=True)
    started_at = sa.Column(sa.DateTime, nullable=True)
    finished_at = sa.Column(sa.DateTime, nullable=True)
    last_error = sa.Column(sa.Text, nullable=True)
    unprocessed_id = sa.Column(sa.Integer, nullable=True)
    progress = orm.deferred(
        sa.Column(db_types.JsonEncodedDict(mysql_as_long=True),
                  nullable=False, default=dict))


class Unprocessed(models.TimestampMixin, Base):
    """Inspection data as they came, before any hook or rule has seen them.

    ``posted`` says that the ramdisk posted them; others were given for one
    reapplication only. Of either a node keeps the last.
    """

    __tablename__ = 'ir_unprocessed'
    __table_args__ = (
        sa.Index('ir_unprocessed_node_uuid_idx', 'node_uuid'),
        TABLE_ARGS,
    )

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    node_uuid = sa.Column(sa.String(36), nullable=False)
    posted = sa.Column(sa.Boolean, nullable=False)
    inventory = sa.Column(db_types.JsonEncodedDict(mysql_as_long=True),
                          nullable=False)
    plugin_data = sa.Column(db_types.JsonEncodedDict(mysql_as_long=True),
                            nullable=False)
