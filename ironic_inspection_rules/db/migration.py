# SPDX-License-Identifier: Apache-2.0

"""Creates, upgrades, checks and drops the tables of this project.

The state of the tables is an alembic *revision*, e.g. ``7d1f0c3a9b52``, which
is stored in a table of its own. Every release of this project has a migration
script per revision up to the *head*, which is the revision that it needs.
*Previews* of release 1.0 had other revisions, which cannot be upgraded.
"""

import alembic
from alembic import config as alembic_config
from alembic import migration as alembic_migration
from alembic import script as alembic_script
from alembic import util as alembic_util
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models
from ironic_inspection_rules.i18n import _

VERSION_TABLE = 'ir_alembic_version'
"""The table with the revision of all other tables."""

COMMAND = 'ironic-inspection-rules-dbsync'
"""The command that operators run to create or upgrade the tables."""

_OF_PREVIEWS = frozenset(
    (
        '2f7b90c4e1d8',
        '5a1c0e9d7b34',
        '8c27f4d1a96e',
        'a4c9e61d02b7',
        'b3d91e6a7c25',
        'b41d6e83f092',
        'b7d2e4f60a15',
        'c6e40b7f19d3',
        'c85a1f30d6e2',
        'd4f8a1c72b60',
        'e3a7c95d0b14',
        'f1b86d2c5e07',
    )
)
"""Revisions of tables that were created by previews of release 1.0."""


def _config() -> alembic_config.Config:
    config = alembic_config.Config()
    config.set_main_option(
        'script_location', 'ironic_inspection_rules.db:alembic'
    )
    return config


def upgrade(revision: str | None = None) -> None:
    """Create the tables, or upgrade them to a revision.

    :param revision: the revision to upgrade to; None for the newest revision.
    :raises: Invalid if there is no such revision.
    :raises: DatabaseNotReady if the tables have no revision, or a revision
        that this code has no migration for; nothing is changed then.
    """
    # The revision is checked first, because an upgrade of unknown tables would
    # fail halfway. MySQL commits after every change of a table, so it could
    # not undo the first steps.
    present = version()
    if present is not None:
        _check_revision(present)
    elif table_names():
        raise missing_revision_error()
    _run(alembic.command.upgrade, revision)


def stamp(revision: str | None = None) -> None:
    """Record a revision without changing any other table.

    Tables without a revision are not checked.

    :param revision: the revision to record; None for the newest revision.
    :raises: Invalid if there is no such revision.
    :raises: DatabaseNotReady if the tables have a revision that this release
        does not know.
    """
    present = version()
    if present is not None:
        _check_revision(present)
    _run(alembic.command.stamp, revision)


def version() -> str | None:
    """Return the revision of the tables, or None if no revision is recorded.

    This is the case if there are no tables, and also if an interrupted command
    has left some tables.
    """
    with enginefacade.writer.get_engine().connect() as connection:
        # This project has its own version table, because alembic's default
        # table in the same database has the revision of Ironic's tables.
        context = alembic_migration.MigrationContext.configure(
            connection, opts={'version_table': VERSION_TABLE}
        )
        return context.get_current_revision()


def database_url() -> str:
    """Return the URL of the database, without its password."""
    return enginefacade.writer.get_engine().url.render_as_string(
        hide_password=True
    )


def check() -> None:
    """Check that this code can work with the tables in the database.

    Tables of a newer release are accepted, because operators upgrade the
    tables first, and then the services one by one.

    :raises: DatabaseNotReady if the tables are missing, have no revision, are
        older than the code or were created by a preview, or if the database
        does not answer.
    """
    try:
        present = version()
        have_no_revision = present is None and bool(table_names())
    except db_exc.DBError as exc:
        raise exceptions.DatabaseNotReady(
            _('The tables of the inspection rules cannot be read: %s') % exc
        ) from exc
    if have_no_revision:
        raise missing_revision_error()
    if present is None:
        raise exceptions.DatabaseNotReady(
            _(
                'The tables of the inspection rules are missing, run '
                '"%s upgrade".'
            )
            % COMMAND
        )
    if is_of_preview(present):
        raise _build_unknown_revision_error(present)
    scripts = _scripts()
    older_revisions = {script.revision for script in scripts.walk_revisions()}
    older_revisions.discard(scripts.get_current_head())
    # If the revision is not known here, a newer release has recorded it.
    if present in older_revisions:
        raise exceptions.DatabaseNotReady(
            _(
                'The tables of the inspection rules are too old '
                '(%(present)s), run "%(command)s upgrade".'
            )
            % {'present': present, 'command': COMMAND}
        )


def is_of_preview(revision: str | None) -> bool:
    """Return whether a revision belongs to a preview of release 1.0."""
    return revision in _OF_PREVIEWS


def _check_revision(present: str) -> None:
    """Check that this release has a migration for a revision.

    :raises: DatabaseNotReady if it has none.
    """
    known = {script.revision for script in _scripts().walk_revisions()}
    if present not in known:
        raise _build_unknown_revision_error(present)


def _build_unknown_revision_error(present: str) -> exceptions.DatabaseNotReady:
    """Return the error for tables that this release cannot upgrade.

    :param present: the revision of the tables, which was recorded by a preview
        or by a newer release.
    """
    if is_of_preview(present):
        text = _(
            'The tables of the inspection rules are those of a preview '
            'of release 1.0 (%(present)s): %(rest)s'
        )
    else:
        text = _(
            'The tables of the inspection rules are at revision '
            '%(present)s, which this release does not know: use the '
            'newer release that has made them; or %(rest)s'
        )
    return exceptions.DatabaseNotReady(
        text % {'present': present, 'rest': _describe_recreation()}
    )


def missing_revision_error() -> exceptions.DatabaseNotReady:
    """Return the error for tables without a revision."""
    return exceptions.DatabaseNotReady(
        _(
            'The tables of the inspection rules have no revision: wait if '
            'another command makes them at this moment; otherwise an '
            'interrupted command has left them, or a preview of release '
            '1.0: %s'
        )
        % _describe_recreation()
    )


def _describe_recreation() -> str:
    """Return the advice to save the rules and recreate the tables."""
    return _(
        'save the rules with "baremetal inspection rule export" while '
        'the release that has made them runs, then run "%(command)s drop '
        '--yes" and "%(command)s create_schema".'
    ) % {'command': COMMAND}


def table_names() -> list[str]:
    """Return the names of the existing tables of this package.

    The table of the revision is left out, because it may exist without the
    others.
    """
    inspector = sa.inspect(enginefacade.writer.get_engine())
    existing_names = set(inspector.get_table_names())
    # SQLAlchemy sorts a table with a foreign key behind the table that the key
    # refers to. To be removed, the tables need the opposite order.
    tables = reversed(models.Base.metadata.sorted_tables)
    return [table.name for table in tables if table.name in existing_names]


def count_rows() -> dict[str, int]:
    """Return the number of rows by table, in the order in which drop() works.

    The operator sees them before :func:`drop`. All existing tables of this
    package are counted.
    """
    counts: dict[str, int] = {}
    with enginefacade.writer.get_engine().connect() as connection:
        for name in _names_to_drop():
            query = sa.select(sa.func.count()).select_from(sa.table(name))
            counts[name] = connection.execute(query).scalar_one()
    return counts


def _names_to_drop() -> list[str]:
    """Return the names of existing tables, in the order of their removal."""
    names = table_names()
    inspector = sa.inspect(enginefacade.writer.get_engine())
    if inspector.has_table(VERSION_TABLE):
        # Remove the revision first. If the removal is interrupted, check()
        # then refuses the remaining tables.
        names.insert(0, VERSION_TABLE)
    return names


def drop() -> None:
    """Remove all existing tables of this package, including all rules."""
    names = _names_to_drop()
    with enginefacade.writer.get_engine().begin() as connection:
        for name in names:
            # SQLAlchemy needs a table object to drop a table, but its columns
            # do not matter.
            table = sa.Table(name, sa.MetaData(), sa.Column('id'))
            table.drop(connection)


def _scripts() -> alembic_script.ScriptDirectory:
    return alembic_script.ScriptDirectory.from_config(_config())


def _run(command, revision: str | None) -> None:
    try:
        command(_config(), revision or 'head')
    except alembic_util.CommandError as exc:
        raise exceptions.Invalid(str(exc)) from exc
