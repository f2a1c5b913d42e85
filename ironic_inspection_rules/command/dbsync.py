# SPDX-License-Identifier: Apache-2.0

"""The command ironic-inspection-rules-dbsync.

It creates, upgrades and removes the tables of this package in Ironic's
database, and adopts rules of stock Ironic and ironic-inspector. Adopted rules
are stored in these tables, and stock Ironic does not run them from then on.

Every sub-command is a function without arguments with the name of the
sub-command. It reads its options from ``CONF.command`` and returns the exit
code; None means 0.
"""

import argparse
from collections.abc import Callable, Iterator
import logging
import os
import sys

from ironic_inspection_rules.command import threading_model  # noqa: F401

# isort: split
from ironic.common import context as ironic_context
from ironic.common import service
from ironic.conf import CONF
from ironic.db import api as db_api

# Gives [database]connection the default that Ironic's services use.
import ironic.db.sqlalchemy.models  # noqa: F401
from oslo_config import cfg
from oslo_db import exception as db_exc
from sqlalchemy import exc as sa_exc

from ironic_inspection_rules import escapes
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.command import adopt as rules
from ironic_inspection_rules.coordination import coordinator
from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import models
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.rule_set import repository


def create_schema() -> None:
    """Create the tables."""
    migration.upgrade()
    _print_revision()


def upgrade() -> None:
    """Upgrade the tables to a revision."""
    migration.upgrade(CONF.command.revision)
    _print_revision()


def _print_revision() -> None:
    """Print the revision that the tables have now, and their database."""
    print(
        _(
            'The tables of the inspection rules are at revision '
            '%(revision)s in %(database)s'
        )
        % {
            'revision': migration.version(),
            'database': migration.database_url(),
        }
    )


def stamp() -> None:
    """Record a revision without changing the tables."""
    migration.stamp(CONF.command.revision)


def version() -> None:
    """Print the revision of the tables in the database.

    :raises: DatabaseNotReady if there are tables without a revision, which an
        interrupted command has left.
    :raises: NotFound if there are no tables.
    """
    revision = migration.version()
    if revision is not None:
        print(revision)
        return
    if migration.table_names():
        # "create_schema" would refuse to change these tables, so do not
        # suggest it.
        raise migration.missing_revision_error()
    raise exceptions.NotFound(
        _(
            'there are no tables of the inspection rules in %(database)s; '
            '"%(command)s create_schema" makes them'
        )
        % {'database': migration.database_url(), 'command': migration.COMMAND}
    )


def adopt() -> int:
    """Adopt rules of stock Ironic, or of ironic-inspector, or undo that.

    - ``--undo`` removes the adopted rules from this package's tables, and lets
      stock Ironic run the original rules again.
    - ``--inspector-database URL`` copies the rules of an ironic-inspector.
    - Without these options, the rules of stock Ironic are adopted.

    :returns: the exit code: 2 if rules of stock Ironic behave differently
        here, whether they were adopted or not; otherwise 0.
    """
    options = CONF.command
    if options.undo:
        return rules.undo(options.dry_run)
    if options.inspector_database:
        rules.adopt_from_inspector(options.inspector_database, options.dry_run)
        return 0
    return rules.adopt_from_ironic(
        options.dry_run,
        options.inventory_directory,
        options.accept_differences,
    )


def drop() -> int:
    """Remove the tables of this package with all their data.

    Without ``--yes``, only print the tables and their numbers of rows.

    :returns: the exit code: 0 if no tables are left; 1 if tables are left
        because ``--yes`` was not given.
    :raises: Conflict if rules of stock Ironic are adopted here. Stock Ironic
        does not run these rules, so nobody would run them without the tables.
    :raises: Conflict if services seem to use the tables.
    """
    # "adopt --undo" gives adopted rules back to stock Ironic, so refuse until
    # it was run. But it cannot read the tables of a preview of release 1.0.
    # These tables must be removed and created again before it can run.
    can_undo = not migration.is_of_preview(migration.version())
    if can_undo and adoption.read_ironic(set_aside=True):
        raise exceptions.Conflict(
            _(
                'rules of Ironic are set aside for those here; "%s adopt '
                '--undo" puts them back first'
            )
            % migration.COMMAND
        )
    row_count_by_table = migration.count_rows()
    if not row_count_by_table:
        print(_('There are no tables to remove.'))
        return 0
    for name, count in row_count_by_table.items():
        print(
            _P('%(table)s, %(count)d row', '%(table)s, %(count)d rows', count)
            % {'table': name, 'count': count}
        )
    if not CONF.command.yes:
        print(
            _(
                'Nothing was removed; --yes removes these tables with all '
                'that is in them.'
            )
        )
        return 1
    running = _list_running_services()
    if running:
        raise exceptions.Conflict(
            _(
                'services use the tables: %s; stop them first, or restart '
                "them without the plugin's names in their configuration"
            )
            % ', '.join(running)
        )
    migration.drop()
    return 0


def check() -> int:
    """Print the problems that keep services from running inspection rules.

    This sub-command loads options and rules as a service does when it starts.
    If the queue or the PXE filter is configured, it also tries to connect to
    the coordination service. It changes nothing. It also prints remarks, e.g.
    that the rules of one phase do not run.

    :returns: the exit code: 1 if there are problems, e.g. if services would
        not start; 0 if there are none, or only remarks.
    """
    # Import these modules here, because they load drivers, which most
    # sub-commands do not need.
    from ironic_inspection_rules.inspection import announcement
    from ironic_inspection_rules.inspection import disabling_options
    from ironic_inspection_rules.inspection import start

    try:
        rules = start.load()
        # Options that switch rules off, a rule file without rules, and a
        # default scope that no node has.
        problems = [
            *disabling_options.list_warnings(),
            *disabling_options.empty_file(rules),
            *disabling_options.unused_scope(),
            *_find_problem_of_stored_rules(rules),
        ]
        remarks = list(announcement.list_warnings())
    except exceptions.InspectionRulesError as exc:
        # A service would not start with this error, unless it is a Conflict
        # because tables changed while they were read. The options that switch
        # rules off can be checked nevertheless.
        problems = [str(exc), *disabling_options.list_warnings()]
        remarks = []
    problems += _find_problems_of_coordination()
    for message in (*problems, *remarks):
        print(message)
    if problems:
        return 1
    print(_('Nothing in this configuration switches inspection rules off.'))
    return 0


def _find_problem_of_stored_rules(
    rules: repository.Repository,
) -> Iterator[str]:
    """Yield the problem of the stored rules that stops all rules, if any.

    One stored rule that is invalid or cannot be read is enough. Services start
    with it, but refuse every inspection.
    """
    try:
        rules.refresh(ironic_context.get_admin_context())
    except (TypeError, ValueError, RecursionError) as exc:
        # Somebody has written text to the database that is no JSON, is nested
        # too deeply, or has a list or a number where a rule has a mapping.
        yield _('The stored rules cannot be read: %s; no rule runs') % exc
    except exceptions.InvalidRule as exc:
        yield (
            _(
                '%s: no rule runs until it is mended, deleted or its mode is '
                '"off"'
            )
            % exc
        )


def _find_problems_of_coordination() -> Iterator[str]:
    """Yield the reason why the coordination service cannot be used, if any.

    Only the workers of the queue and the PXE filter need this service. If
    neither is configured, nothing is yielded.
    """
    is_needed = (
        CONF.inspection_queue.enabled or CONF.inspection_pxe_filter.interface
    )
    if not is_needed:
        return
    # Every member of the coordination service needs a name of its own.
    member = f'{migration.COMMAND}:{os.getpid()}'
    try:
        coordinator.probe(CONF, member)
    except exceptions.Invalid as exc:
        yield str(exc)


def _list_running_services() -> list[str]:
    """Return the names of the services that seem to use the tables.

    These are:

    - the online conductors, if this configuration names the plugin;
    - the workers that process a request at the moment.

    The database does not show API services and idle workers, so they are not
    included.
    """
    # Import this module here, because it loads drivers, which most
    # sub-commands do not need.
    from ironic_inspection_rules.inspection import disabling_options

    names = set()
    if disabling_options.is_configured():
        names.update(db_api.get_instance().get_online_conductors())
    # Workers can only be read if the table of requests exists.
    if models.RequestRow.__tablename__ in migration.table_names():
        names.update(leases.list_workers())
    return sorted(names)


def _add_parsers(subparsers) -> None:
    """Add a parser for every sub-command to the parser of the command.

    :param subparsers: the object to which argparse adds sub-commands.
    """
    _add_parser(
        subparsers, create_schema, _("Create the tables in Ironic's database.")
    )
    parser = _add_parser(
        subparsers, upgrade, _('Upgrade the tables to the newest revision.')
    )
    _add_revision(parser)
    _add_parser(
        subparsers, version, _('Print the current revision of the tables.')
    )
    parser = _add_parser(
        subparsers,
        stamp,
        _(
            'Record a revision as the current one, without changing the '
            'tables.'
        ),
    )
    _add_revision(parser)
    _add_adopt(subparsers)
    _add_parser(
        subparsers,
        check,
        _(
            'Print what would keep services from starting or from running '
            'inspection rules, without changing anything.'
        ),
    )
    parser = _add_parser(
        subparsers, drop, _('Remove the tables with all that is in them.')
    )
    parser.add_argument(
        '--yes',
        action='store_true',
        help=_(
            'Remove them. Without this option, only print what would be '
            'removed.'
        ),
    )


def _add_adopt(subparsers) -> None:
    """Add a parser for the sub-command ``adopt`` with its options.

    :param subparsers: the object to which argparse adds sub-commands.
    """
    parser = _add_parser(
        subparsers,
        adopt,
        _(
            "Take over the rules of Ironic's own table and of its file of "
            'built-in rules, either all or none.'
        ),
    )
    parser.add_argument(
        '--dry-run',
        action='store_true',
        help=_('Only print what would happen, and change nothing.'),
    )
    parser.add_argument(
        '--inventory',
        dest='inventory_directory',
        metavar='DIR',
        help=_(
            'Try the rules also on the inventory files in this directory, '
            'not only on stored inventories.'
        ),
    )
    parser.add_argument(
        '--accept-differences',
        action='store_true',
        help=_('Take the rules over even if some behave differently here.'),
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        '--undo',
        action='store_true',
        help=_(
            'Let Ironic run its own rules again, and remove the rules that '
            'were taken over.'
        ),
    )
    source.add_argument(
        '--inspector-database',
        metavar='URL',
        help=_(
            'Copy the rules from this database of ironic-inspector instead.'
        ),
    )


def _add_parser(
    subparsers, function: Callable[[], int | None], text: str
) -> argparse.ArgumentParser:
    """Add a sub-command that has the name of a function and calls it.

    :param subparsers: the object to which argparse adds sub-commands.
    :param text: one sentence, which is shown in the list of sub-commands and
        in the help of this sub-command.
    :returns: the parser of the sub-command, to which options can be added.
    """
    parser: argparse.ArgumentParser = subparsers.add_parser(
        function.__name__, help=text, description=text
    )
    parser.set_defaults(func=function)
    return parser


def _add_revision(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--revision`` to a sub-command."""
    parser.add_argument(
        '--revision',
        nargs='?',
        metavar='REVISION',
        help=_('Revision of the tables; by default the newest.'),
    )


@escapes.escape_output()
def main() -> int:
    """Run the sub-command that the command line names.

    :returns: the exit code of the sub-command, e.g. 2 from ``adopt`` if rules
        behave differently here. After any error, including an error in the
        command line, it is 1, and stderr has the reason.
    """
    CONF.register_cli_opt(
        cfg.SubCommandOpt(
            'command',
            title=_('Command'),
            help=_('Available commands'),
            handler=_add_parsers,
        )
    )
    try:
        service.prepare_command(sys.argv)
        if not CONF.debug:
            # alembic logs every step as information.
            logging.getLogger().setLevel(logging.WARNING)
        # Let oslo.db fail at once if the database is down, because a user
        # waits for the command, and can run it again.
        CONF.set_default('max_retries', 0, group='database')
        run_sub_command = CONF.command.func
        return run_sub_command() or 0
    except (
        exceptions.InspectionRulesError,
        cfg.Error,
        db_exc.DBError,
        sa_exc.SQLAlchemyError,
    ) as exc:
        reason = str(exc).splitlines()[0]
        print(f'{migration.COMMAND}: {reason}', file=sys.stderr)
        return 1
    except SystemExit as exc:
        # argparse exits with 2 after an error in the command line. Return 1
        # instead, because 2 means that rules behave differently.
        if exc.code == 2:
            return 1
        return int(exc.code or 0)
