# SPDX-License-Identifier: Apache-2.0

"""The tables of this project in Ironic's database.

Terms of this module:

- The *rule set* is all stored rules and tables. Every change of it has a
  number, its *revision*. The first change makes revision 1.
- A *version* is a rule or a table as it was from one revision to another.
- A *digest* is a hash of some content, as text. Equal content is stored once,
  and rows refer to it by its digest.
- A time is a ``DateTime`` in UTC by the clock of a host, or a ``Double`` in
  seconds since 1970 by the clock of the database, see :mod:`.clock`.
"""

from typing import Any

from oslo_db.sqlalchemy import models
from oslo_db.sqlalchemy import types as db_types
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mysql

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model

# Use a binary collation, because MySQL would otherwise find the scope "rack1"
# when asked for "Rack1", which no other database does.
TABLE_ARGS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'mysql_collate': 'utf8mb4_bin',
}


class _Table(models.ModelBase):
    __table_args__: Any = TABLE_ARGS


# Do not use Ironic's base class, because its metadata must not contain these
# tables, and this metadata must not contain Ironic's. The names of indexes are
# those in the migrations.
Base: Any = orm.declarative_base(
    cls=_Table,
    metadata=sa.MetaData(
        naming_convention={
            'ix': '%(table_name)s_%(column_0_N_name)s_idx',
            'uq': 'uniq_%(table_name)s0%(column_0_name)s',
        }
    ),
)


class _StorableText(sa.TypeDecorator):
    """Text that is converted to fit every database, see ``storable``."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(
        self, value: str | None, dialect: sa.Dialect
    ) -> str | None:
        if not value:
            return value
        return exceptions.make_storable(value)


_DICT: Any = db_types.JsonEncodedDict(mysql_as_long=True)
_LIST: Any = db_types.JsonEncodedList(mysql_as_long=True)

DIGEST = sa.String(27)
"""160 bits, as Base64 text that is safe in URLs."""

# Large columns that most readers of a row do not need are deferred below: code
# that needs such a column names it, or asks for it with orm.undefer().
_LONG_BINARY = sa.LargeBinary().with_variant(
    mysql.LONGBLOB(), 'mysql', 'mariadb'
)


def _build_columns() -> Any:
    """Build the base class of :class:`RuleRow`, with a column per plain field.

    A plain field of :class:`.model.Rule` holds a text, an integer or a
    boolean. Its column has the same name: ``priority = Column(Integer)``. A
    new plain field therefore needs no change here, but only a migration.
    :class:`RuleRow` itself has the columns of all other fields.
    """
    column_types: dict[Any, Any] = {
        bool: sa.Boolean(),
        int: sa.Integer(),
        str: sa.String(16),
    }
    columns = {}
    for name, field in model.SETTABLE.items():
        if name == 'uuid':
            # RuleRow defines this column itself, because it is unique.
            continue
        default: Any = field.default
        if default is None:
            # All fields that may be None are texts.
            columns[name] = sa.Column(sa.String(255), nullable=True)
        elif field.type in column_types:
            columns[name] = sa.Column(
                column_types[field.type], nullable=False, default=default
            )
    return type('RuleFields', (), columns)


_RuleFields: Any = _build_columns()


class RuleRow(models.TimestampMixin, _RuleFields, Base):
    """One inspection rule (spec 003 "Data model impact").

    ``version`` is the version of the versioned object that saved the row.
    ``revision`` is the revision of the rule set that created the rule or last
    changed it; a change of its ``position`` does not count. Rules of equal
    priority run by rising ``position``. Further columns are the fields of
    :class:`.model.Rule`.
    """

    __tablename__ = 'ir_rules'
    __table_args__ = (
        sa.Index(None, 'scope'),
        sa.Index(None, 'phase'),
        TABLE_ARGS,
    )

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    uuid = sa.Column(sa.String(36), nullable=False, unique=True)
    version = sa.Column(sa.String(15), nullable=True)
    revision = sa.Column(sa.Integer, nullable=False)
    conditions = sa.Column(_LIST, nullable=False)
    actions = sa.Column(_LIST, nullable=False)
    vars = sa.Column(_DICT, nullable=False)
    position = sa.Column(sa.Double, nullable=False)


class RuleVersionRow(Base):
    """A rule as it was from one revision of the rule set to another.

    The rules of revision *n* are those with ``first_revision`` <= *n* <
    ``end_revision``, which is NULL for versions in force. Because of this, the
    cost of a change does not depend on the number of rules. ``fields`` are the
    fields that authors of rules set.
    """

    __tablename__ = 'ir_rule_versions'

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    uuid = sa.Column(sa.String(36), nullable=False, index=True)
    first_revision = sa.Column(sa.Integer, nullable=False)
    end_revision = sa.Column(sa.Integer, nullable=True, index=True)
    rule_revision = sa.Column(sa.Integer, nullable=False)
    rule_created_at = sa.Column(sa.DateTime, nullable=True)
    sensitive = sa.Column(sa.Boolean, nullable=False)
    position = sa.Column(sa.Double, nullable=False)
    fields = sa.Column(_DICT, nullable=False)


class TableVersionRow(Base):
    """A table as it was from one revision of the rule set to another.

    Revisions are as in :class:`RuleVersionRow`. ``table_revision`` is the
    revision that last changed the table, ``size`` the number of its rows.
    ``definition`` is the table without its rows, which are stored in chunks.
    """

    __tablename__ = 'ir_table_versions'

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    name = sa.Column(sa.String(64), nullable=False, index=True)
    first_revision = sa.Column(sa.Integer, nullable=False)
    end_revision = sa.Column(sa.Integer, nullable=True, index=True)
    table_revision = sa.Column(sa.Integer, nullable=False)
    size = sa.Column(sa.Integer, nullable=False)
    definition = sa.Column(_DICT, nullable=False)


class TableChunkRow(Base):
    """Some neighboring rows of a table, from one revision to another.

    A change of one row makes one new chunk, regardless of the table's size.
    ``position`` sorts the chunks of a table, ``digest`` identifies the
    contents, and ``data`` is compressed JSON: a list of pairs of key and row.
    """

    __tablename__ = 'ir_table_chunks'

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    name = sa.Column(sa.String(64), nullable=False, index=True)
    first_revision = sa.Column(sa.Integer, nullable=False)
    end_revision = sa.Column(sa.Integer, nullable=True, index=True)
    position = sa.Column(sa.Double, nullable=False)
    digest = sa.Column(DIGEST, nullable=False)
    data = orm.deferred(sa.Column(_LONG_BINARY, nullable=False))


class RevisionRow(Base):
    """One change of the rule set: when, who, why, and which rules changed how.

    ``changes`` is a list of ``{'uuid', 'description', 'outcome'}`` of rules
    and ``{'table', 'outcome', 'rows'}`` of tables.
    """

    __tablename__ = 'ir_revisions'

    revision = sa.Column(sa.Integer, primary_key=True, autoincrement=False)
    created_at = sa.Column(sa.DateTime, nullable=False)
    user_id = sa.Column(sa.String(255), nullable=True)
    project_id = sa.Column(sa.String(255), nullable=True)
    message = sa.Column(sa.Text, nullable=True)
    changes = sa.Column(_LIST, nullable=False)


class RulesRevisionRow(Base):
    """The single row that counts the changes of the rule set.

    Every change of rules or tables increments it in the same transaction. With
    one small query, a process can therefore find out whether its rules are
    still in force. No two changes happen at the same time, because a change
    locks the row.
    """

    __tablename__ = 'ir_rules_revision'

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=False)
    revision = sa.Column(sa.Integer, nullable=False)


class RequestRow(models.TimestampMixin, Base):
    """One request for an inspection (spec 001 "Data model impact").

    - ``open_node_uuid`` is the node's UUID until the request is done, and then
      NULL. It is unique, so that a node has at most one open request.
    - ``token`` is incremented by every delivery of the request to a worker,
      and whenever the request is taken from its delivery, e.g. because the
      lease has expired. The end of the request does not change it, unless the
      request is superseded.
    - ``lock_failures`` is the number of failures in a row whose cause was not
      the request itself, e.g. a locked node.
    - ``due_at`` is the time from which the queue may act on the request, in
      seconds by the clock of the database; NULL for never. It then delivers
      the request, finds that its worker is dead or, if the request is done,
      checks that its node is in a final state.
    - ``sender`` is the address that the data came from.
    - ``inspection_began_at`` is the start of the inspection, as stored with
      the node.
    """

    __tablename__ = 'ir_requests'
    __table_args__ = (sa.Index(None, 'state', 'due_at'), TABLE_ARGS)

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    uuid = sa.Column(sa.String(36), nullable=False, unique=True)
    version = sa.Column(sa.String(15), nullable=True)
    node_uuid = sa.Column(sa.String(36), nullable=False, index=True)
    open_node_uuid = sa.Column(sa.String(36), nullable=True, unique=True)
    event = sa.Column(sa.String(16), nullable=False)
    state = sa.Column(sa.String(16), nullable=False)
    attempts = sa.Column(sa.Integer, nullable=False, default=0)
    token = sa.Column(sa.Integer, nullable=False, default=0)
    lock_failures = sa.Column(sa.Integer, nullable=False, default=0)
    worker = sa.Column(sa.String(255), nullable=True)
    sender = sa.Column(sa.String(255), nullable=True)
    inspection_began_at = sa.Column(sa.DateTime, nullable=True)
    due_at = sa.Column(sa.Double, nullable=True)
    started_at = sa.Column(sa.DateTime, nullable=True)
    finished_at = sa.Column(sa.DateTime, nullable=True, index=True)
    last_error = sa.Column(_StorableText, nullable=True)
    unprocessed_id = sa.Column(sa.Integer, nullable=True)
    checkpoints = orm.deferred(
        sa.Column('progress', _DICT, nullable=False, default=dict)
    )


class InspectionDataRow(models.TimestampMixin, Base):
    """Inspection data as they came, before any hook or rule has seen them.

    ``posted`` is true if the ramdisk posted them; otherwise they were given
    for a single reapplication. The table has the last data of both kinds of a
    node. The data of an open request are in the row itself. Some time after
    the request has ended, the leader stores posted data by content: then
    ``content`` is the digest of a document with ``inventory`` and
    ``plugin_data``, and these two columns are empty. Other data are removed.
    """

    __tablename__ = 'ir_unprocessed'

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    node_uuid = sa.Column(sa.String(36), nullable=False, index=True)
    posted = sa.Column(sa.Boolean, nullable=False)
    inventory = sa.Column(_DICT, nullable=False)
    plugin_data = sa.Column(_DICT, nullable=False)
    content = sa.Column(DIGEST, nullable=True, index=True)


class RunRow(models.TimestampMixin, Base):
    """One run: what the rules did in one inspection of a node.

    ``created_at`` is the time when it ended, ``revision`` the revision of its
    rules, and ``phases`` what they did. ``content`` is the digest of the
    machine's data if the run failed. ``places`` are the places that sensitive
    rules set, which ``phases`` do not show.
    """

    __tablename__ = 'ir_runs'

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    uuid = sa.Column(sa.String(36), nullable=False, unique=True)
    version = sa.Column(sa.String(15), nullable=True)
    node_uuid = sa.Column(sa.String(36), nullable=False, index=True)
    event = sa.Column(sa.String(16), nullable=False)
    inspect_interface = sa.Column(sa.String(255), nullable=True)
    result = sa.Column(sa.String(16), nullable=False)
    error = sa.Column(sa.Text, nullable=True)
    revision = sa.Column(sa.Integer, nullable=True)
    started_at = sa.Column(sa.DateTime, nullable=True)
    phases = orm.deferred(sa.Column(_DICT, nullable=False))
    content = sa.Column(DIGEST, nullable=True, index=True)
    places = orm.deferred(sa.Column(_DICT, nullable=True))


class EarlyPhaseRow(Base):
    """What early rules did, from the API's request to the inspection.

    ``request_id`` is the ID of the request, ``stored_at`` the time when it was
    stored, in seconds by the clock of the database. The conductor removes the
    row when it reads what is ``kept``.
    """

    __tablename__ = 'ir_early_phases'

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    request_id = sa.Column(sa.String(255), nullable=False, index=True)
    node_uuid = sa.Column(sa.String(36), nullable=False, index=True)
    stored_at = sa.Column(sa.Double, nullable=False)
    kept = sa.Column(_DICT, nullable=False)


class RuleStatisticsRow(Base):
    """Counters of one rule, built-in or stored.

    ``runs`` is how often the rule was decided. ``audited`` is the number of
    ``matched`` runs in the mode ``audit``. ``since`` is when counting began.
    """

    __tablename__ = 'ir_rule_statistics'

    rule_uuid = sa.Column(sa.String(36), primary_key=True)
    since = sa.Column(sa.DateTime, nullable=False)
    runs = sa.Column(sa.BigInteger, nullable=False)
    matched = sa.Column(sa.BigInteger, nullable=False)
    failed = sa.Column(sa.BigInteger, nullable=False)
    audited = sa.Column(sa.BigInteger, nullable=False)
    seconds = sa.Column(sa.Double, nullable=False)
    last_matched_at = sa.Column(sa.DateTime, nullable=True)
    last_matched_node = sa.Column(sa.String(36), nullable=True)


class ContentRow(Base):
    """A JSON document, stored once regardless of how many rows name it.

    ``frame`` is the compressed document without its sections, ``size`` the
    length of the whole document as JSON. ``used_at`` is the time when it was
    last stored, in seconds by the clock of the database; it is renewed only if
    it is old. A document that no row names is removed some time later.
    """

    __tablename__ = 'ir_contents'

    digest = sa.Column(DIGEST, primary_key=True)
    used_at = sa.Column(sa.Double, nullable=False, index=True)
    size = sa.Column(sa.Integer, nullable=False)
    frame = sa.Column(_LONG_BINARY, nullable=False)


class ContentSectionRow(Base):
    """The sections of a document, in the order of their places."""

    __tablename__ = 'ir_content_sections'

    content = sa.Column(DIGEST, primary_key=True)
    position = sa.Column(sa.Integer, primary_key=True, autoincrement=False)
    section = sa.Column(DIGEST, nullable=False, index=True)


class SectionRow(Base):
    """A part of documents: ``data`` is its JSON text, compressed."""

    __tablename__ = 'ir_sections'

    digest = sa.Column(DIGEST, primary_key=True)
    used_at = sa.Column(sa.Double, nullable=False, index=True)
    data = sa.Column(_LONG_BINARY, nullable=False)


class KeptInventoryRow(Base):
    """The data of one inspection, and what the rules made of them.

    ``content`` is the digest of a document, and ``patch`` the small difference
    from it to the document of this inspection. ``parts`` is the digest of the
    machine's parts that were known then; ``changed`` is true if they differ
    from the parts of the previous inspection.
    """

    __tablename__ = 'ir_inventories'

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    uuid = sa.Column(sa.String(36), nullable=False, unique=True)
    node_uuid = sa.Column(sa.String(36), nullable=False, index=True)
    created_at = sa.Column(sa.DateTime, nullable=False, index=True)
    interface = sa.Column(sa.String(255), nullable=True)
    changed = sa.Column(sa.Boolean, nullable=False)
    content = sa.Column(DIGEST, nullable=False, index=True)
    parts = sa.Column(DIGEST, nullable=False, index=True)
    patch = orm.deferred(sa.Column(_LONG_BINARY, nullable=True))


class PartStayRow(Base):
    """The stay of a part in a machine: from when, and until when.

    A part has a row for each of its identities. ``ended_at`` is when it was
    last reported in the machine; NULL while it is there.
    """

    __tablename__ = 'ir_parts'

    id = sa.Column(sa.Integer, primary_key=True, autoincrement=True)
    identity = sa.Column(sa.String(255), nullable=False, index=True)
    kind = sa.Column(sa.String(16), nullable=False)
    label = sa.Column(sa.String(255), nullable=False)
    node_uuid = sa.Column(sa.String(36), nullable=False, index=True)
    began_at = sa.Column(sa.DateTime, nullable=False)
    ended_at = sa.Column(sa.DateTime, nullable=True)
