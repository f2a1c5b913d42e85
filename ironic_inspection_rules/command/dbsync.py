# SPDX-License-Identifier: Apache-2.0

"""The command ironic-inspection-rules-dbsync."""

import argparse
from collections.abc import Callable, Iterator
import logging
import os
import sys

from ironic_inspection_rules.command import threading_model  # noqa: F401

# isort: split
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
        % {'revision': migration.version(), 'database': migration.database()}
    )


def stamp() -> None:
    """Record a revision without changing the tables."""
    migration.stamp(CONF.command.revision)


def version() -> None:
    """Print the revision of the tables in the database.

    :raises: NotFound if there are no tables; DatabaseNotReady if there are
        tables without a revision.
    """
    revision = migration.version()
    if revision is None:
        if migration.table_names():
            # "create_schema" would refuse to change them.
            raise migration.no_revision()
        raise exceptions.NotFound(
            _(
                'there are no tables of the inspection rules in %(database)s; '
                '"%(command)s create_schema" makes them'
            )
            % {'database': migration.database(), 'command': migration.COMMAND}
        )
    print(revision)


def adopt() -> int:
    """Adopt rules of stock Ironic or of ironic-inspector.

    With ``--undo``, give the rules of Ironic's table back instead. They are
    removed here, and so are the copies of rules from Ironic's own file.

    :returns: the exit code: 2 if the rules behave differently here, whether
        they were adopted or not; otherwise 0.
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
    """Remove the tables of this project with all their data.

    Without ``--yes``, only print the tables and their numbers of rows.

    :returns: the exit code: 0 if no tables are left, 1 without ``--yes``.
    :raises: Conflict if services seem to use the tables, or if rules of Ironic
        are set aside because they were adopted here. Without the tables,
        nothing would run these rules any more.
    """
    # "adopt --undo" cannot read the tables of a preview of release 1.0. With
    # such tables, it can put the rules back only after the tables are removed
    # and created again.
    can_undo = not migration.is_of_preview(migration.version())
    if can_undo and adoption.read_ironic(set_aside=True):
        raise exceptions.Conflict(
            _(
                'rules of Ironic are set aside for those here; "%s adopt '
                '--undo" puts them back first'
            )
            % migration.COMMAND
        )
    tables = migration.count_rows()
    if not tables:
        print(_('There are no tables to remove.'))
        return 0
    for name, count in tables.items():
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
    """Print what in this configuration keeps services from running rules.

    It reads everything that a service reads when it starts, tries to connect
    to the coordination service, and changes nothing. It also prints problems
    that a service only warns about, e.g. a phase that does not run.

    :returns: the exit code: 1 if services would not start or would not run
        rules, otherwise 0.
    """
    # Imported here, because they load drivers, which most commands do not
    # need.
    from ironic_inspection_rules.inspection import announcement
    from ironic_inspection_rules.inspection import start
    from ironic_inspection_rules.inspection import switches

    try:
        rules = start.load()
        problems = [
            *switches.problems(),
            *switches.empty_file(rules),
            *switches.unused_scope(),
        ]
        remarks = list(announcement.remarks())
    except exceptions.InspectionRulesError as exc:
        # A service would not start. The switches can be checked without its
        # rules.
        problems = [str(exc), *switches.problems()]
        remarks = []
    problems += _find_problems_of_coordination()
    for message in (*problems, *remarks):
        print(message)
    if problems:
        return 1
    print(_('Nothing in this configuration switches inspection rules off.'))
    return 0


def _find_problems_of_coordination() -> Iterator[str]:
    """Yield the reasons why services could not use the coordination service.

    Only the workers of the queue and the PXE filter need it. If neither is
    configured, there is no problem.
    """
    is_needed = (
        CONF.inspection_queue.enabled or CONF.inspection_pxe_filter.interface
    )
    if not is_needed:
        return
    try:
        coordinator.probe(CONF, f'{migration.COMMAND}:{os.getpid()}')
    except exceptions.Invalid as exc:
        yield str(exc)


def _list_running_services() -> list[str]:
    """Return the names of the services that seem to use the tables.

    ``drop`` refuses to remove the tables if there are any. They are the
    workers that process a request and, if this configuration names the plugin,
    the conductors that are online. API services and idle workers are not
    included, because they leave no trace in the database.
    """
    # Imported here, because it loads drivers, which most commands do not need.
    from ironic_inspection_rules.inspection import switches

    names = set()
    if switches.is_configured():
        names.update(db_api.get_instance().get_online_conductors())
    if models.RequestRow.__tablename__ in migration.table_names():
        names.update(leases.list_workers())
    return sorted(names)


def _add_parsers(subparsers) -> None:
    """Add the sub-commands with their arguments and options."""
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
    """Add the sub-command ``adopt``, which has the most options."""
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
    """Add a sub-command with the name of the function that it calls.

    :param subparsers: the parsers of all sub-commands.
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


@escapes.guarded()
def main() -> int:
    """Run the sub-command that the command line names.

    :returns: the exit code of the sub-command, by default 0. It is 2 if
        adopted rules behave differently. On any error, including errors in the
        command line, it is 1, with one line on stderr.
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
        return CONF.command.func() or 0
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
        # argparse exits with 2 on an error, which means "differences" here.
        if exc.code == 2:
            return 1
        return int(exc.code or 0)
