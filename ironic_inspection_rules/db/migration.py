# SPDX-License-Identifier: Apache-2.0

"""Creating and upgrading the tables, apart from Ironic's own migrations."""

import alembic
from alembic import config as alembic_config
from alembic import migration as alembic_migration
from alembic import op
from alembic import script as alembic_script
from alembic import util as alembic_util
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models
from ironic_inspection_rules.i18n import _

VERSION_TABLE = 'ir_alembic_version'

COMMAND = 'ironic-inspection-rules-dbsync'


def _config() -> alembic_config.Config:
    config = alembic_config.Config()
    config.set_main_option('script_location',
                           'ironic_inspection_rules.db:alembic')
    return config


def upgrade(revision: str | None = None) -> None:
    """Upgrade the tables to a revision, unless they are at it already.

    :param revision: an alembic revision, the newest one if not given.
    :raises: Invalid if there is no such revision.
    """
    _run(alembic.command.upgrade, revision)


def stamp(revision: str | None = None) -> None:
    """Record a revision as for :func:`upgrade`, and change nothing else."""
    _run(alembic.command.stamp, revision)


def version() -> str | None:
    """Return the revision of the tables, None if there are none."""
    with enginefacade.writer.get_engine().connect() as connection:
        context = alembic_migration.MigrationContext.configure(
            connection, opts={'version_table': VERSION_TABLE})
        return context.get_current_revision()


def database() -> str:
    """Return the URL of the database, without its password."""
    return enginefacade.writer.get_engine().url.render_as_string(
        hide_password=True)


def check() -> None:
    """Check that this code can work with the tables that there are.

    Tables of a revision that this code does not know are newer ones: during
    an upgrade the tables go first and the services follow one at a time.

    :raises: DatabaseNotReady if the tables are missing or older than the
        code, or the database does not answer.
    """
    try:
        present = version()
    except db_exc.DBError as exc:
        raise exceptions.DatabaseNotReady(
            _('The tables of the inspection rules cannot be read: %s')
            % exc) from exc
    if present is None:
        raise exceptions.DatabaseNotReady(
            _('The tables of the inspection rules are missing, run '
              '"%s upgrade".') % COMMAND)
    scripts = alembic_script.ScriptDirectory.from_config(_config())
    older = {script.revision for script in scripts.walk_revisions()}
    older.discard(scripts.get_current_head())
    if present in older:
        raise exceptions.DatabaseNotReady(
            _('The tables of the inspection rules are too old (%(present)s), '
              'run "%(command)s upgrade".')
            % {'present': present, 'command': COMMAND})


def tables() -> dict[str, int]:
    """Return the names of the tables that are there, and their rows."""
    engine = enginefacade.writer.get_engine()
    there = set(sa.inspect(engine).get_table_names())
    names = [*(table.name for table
               in reversed(models.Base.metadata.sorted_tables)),
             VERSION_TABLE]
    with engine.connect() as connection:
        return {name: connection.execute(sa.select(
            sa.func.count()).select_from(sa.table(name))).scalar_one()
            for name in names if name in there}


def drop() -> None:
    """Remove all tables, that of the revision last."""
    names = tables()
    with enginefacade.writer.get_engine().begin() as connection:
        for name in names:
            sa.Table(name, sa.MetaData(), sa.Column('id')).drop(connection)


def _run(command, revision: str | None) -> None:
    try:
        command(_config(), revision or 'head')
    except alembic_util.CommandError as exc:
        raise exceptions.Invalid(str(exc)) from exc


# The steps of migrations. MySQL commits every statement at once, so what an
# interrupted run has made may be there already.

def create_table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    """Make a table, unless it is there."""
    return op.create_table(name, *parts, if_not_exists=True,
                           **models.TABLE_ARGS)


def add_column(table: str, column: sa.Column) -> None:
    """Add a column, unless it is there."""
    present = sa.inspect(op.get_bind()).get_columns(table)
    if column.name not in {each['name'] for each in present}:
        op.add_column(table, column)


def create_index(table: str, *columns: str) -> None:
    """Make an index of the name that models give it, unless it is there."""
    name = '_'.join((table, *columns, 'idx'))
    present = sa.inspect(op.get_bind()).get_indexes(table)
    if name not in {each['name'] for each in present}:
        op.create_index(name, table, list(columns))
