# SPDX-License-Identifier: Apache-2.0

"""Loads the rules when a service starts.

Rules come from two places. *Built-in* rules and tables are in a file, which is
read once at the start. *Stored* rules and tables are in the database, where
users change them at any time. A service does not start with invalid options,
with an invalid file or with missing tables of the database.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import contextlib
import functools
import os
import signal

from ironic.common import context as ironic_context
from ironic.conf import CONF
from oslo_log import log
import psutil

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import table_check
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import limits
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import storage
from ironic_inspection_rules.objects import table as table_object
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import table_file
from ironic_inspection_rules.rule_set import repository

LOG = log.getLogger(__name__)


def read_rules(context) -> list[dict]:
    """Return all stored rules by their position."""
    return [rule.as_dict() for rule in rule_object.StoredRule.list(context)]


@functools.cache
def rules() -> repository.Repository:
    """Return the rules in force in this process.

    :raises: Invalid for an invalid option, DatabaseNotReady, InvalidDocument
        or PluginError, after logging it in one line.
    """
    with stop_service_on_error():
        return load()


def load() -> repository.Repository:
    """Check the configuration and the database, and load the rules.

    Built-in rules are read here. The repository reads stored rules later,
    whenever they have changed.

    :raises: Invalid for an invalid option, DatabaseNotReady, InvalidDocument
        or PluginError.
    """
    conf.register_opts(CONF)
    conf.check(CONF)
    storage.check()
    options = CONF.inspection_rules
    ops = registry.installed()
    built_in: Sequence[model.Rule] = ()
    built_in_tables: Mapping[str, table.Table] = {}
    if options.built_in:
        rule_file = document.load(options.built_in)
        built_in = file_rule.load_built_in(rule_file, ops)
        built_in_tables = _load_built_in_tables(rule_file, built_in)
    _refuse_stored_duplicates(built_in, built_in_tables)
    return repository.Repository(
        ops,
        built_in,
        read_revision=rule_object.StoredRule.get_revision,
        read_rules=read_rules,
        default_scope=options.default_scope,
        mask_secrets=options.mask_secrets,
        built_in_tables=built_in_tables,
        source=table_object.RuleTable,
        limits=limits.by_phase(),
    )


@contextlib.contextmanager
def stop_service_on_error() -> Iterator[None]:
    """Stop the service if an error of this project is raised in the block.

    The error is logged in one line and raised again. Ironic's processes are
    started by a launcher of the library cotyledon, which starts a process that
    has failed again and again. Therefore the launcher must be stopped, too.

    :raises: the error of the block.
    """
    try:
        yield
    except exceptions.InspectionRulesError as exc:
        LOG.critical('%s', exc)
        parent = psutil.Process(os.getppid())
        # Cotyledon gives this title to the process of a launcher.
        is_launcher = ': master process [' in ' '.join(parent.cmdline())
        if is_launcher:
            # After SIGINT the launcher exits with 1. After SIGTERM it would
            # exit with 0, as if there were no problem.
            parent.send_signal(signal.SIGINT)
        raise


def stop_service_if(problems: Iterable[str]) -> None:
    """Stop the service if there are problems with which it cannot run.

    :param problems: sentences for one line of the log; if there are none,
        nothing happens.
    :raises: Invalid with all problems.
    """
    text = '; '.join(problems)
    if text:
        # This logs the error, and stops the launcher of the process.
        with stop_service_on_error():
            raise exceptions.Invalid(text)


def is_all_in_one() -> bool:
    """Return whether API and conductor share one process."""
    return CONF.rpc_transport in ('none', 'local')


def _load_built_in_tables(
    rule_file: document.Document, rules: Sequence[model.Rule]
) -> dict[str, table.Table]:
    """Load the tables in the file of built-in rules, and check its rules.

    Built-in rules may read only tables of the same file, because a user can
    remove a table of the database at any time.

    :param rules: the rules of the file.
    :returns: the tables by name.
    :raises: InvalidDocument if a table is invalid, or if a rule reads a table
        or a column that the file does not have.
    """
    tables = table_file.build(table_file.load([rule_file]))
    for rule in rules:
        problems = list(table_check.find_problems(rule, tables))
        if problems:
            raise exceptions.InvalidDocument(
                rule_file.path, f'{disclosure.rule_label(rule)}: {problems[0]}'
            )
    return tables


def _refuse_stored_duplicates(
    built_in: Sequence[model.Rule], built_in_tables: Mapping[str, table.Table]
) -> None:
    """Check that built-in and stored rules and tables are not the same.

    Nothing is checked in an API without a database. The conductor, which has
    one, does the check.

    :raises: InvalidDocument for a table with the name of a stored table, or a
        rule with the UUID of a stored rule.
    """
    if not storage.has_database():
        return
    context = ironic_context.get_admin_context()
    path = CONF.inspection_rules.built_in
    # Do not query the database if the file has no tables.
    if built_in_tables:
        for stored_table in table_object.RuleTable.list_plain(context):
            if stored_table['name'] in built_in_tables:
                raise exceptions.InvalidDocument(
                    path,
                    _('table "%s" has the name of a stored one')
                    % stored_table['name'],
                )
    if built_in:
        # list_values() returns pairs: the UUID of a rule, and the value of the
        # requested field. Here both are the UUID. {} means no filters.
        stored_rules = rule_object.StoredRule.list_values(context, 'uuid', {})
        stored_uuids = {uuid for uuid, _value in stored_rules}
        for rule in built_in:
            if rule.uuid in stored_uuids:
                raise exceptions.InvalidDocument(
                    path,
                    _('rule %(name)s has the UUID %(uuid)s of a stored one')
                    % {
                        'name': rule.description or rule.uuid,
                        'uuid': rule.uuid,
                    },
                )
