# SPDX-License-Identifier: Apache-2.0

"""The rules of a process, loaded when its service starts."""

from collections.abc import Iterable, Iterator, Sequence
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
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import table as table_object
from ironic_inspection_rules.objects import tables
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_set import repository

LOG = log.getLogger(__name__)


def read_rules(context) -> list[dict]:
    """Return all stored rules in creation order."""
    return [rule.as_dict() for rule in rule_object.Rule.list(context)]


@functools.cache
def rules() -> repository.Repository:
    """Return the rules in force in this process.

    :raises: Invalid for a bad option, DatabaseNotReady, InvalidDocument or
        PluginError, after logging it in one line.
    """
    with required():
        return load()


def load() -> repository.Repository:
    """Load the rules that this configuration puts in force.

    :raises: as :func:`rules`.
    """
    conf.register_opts(CONF)
    conf.check(CONF)
    tables.check()
    options = CONF.inspection_rules
    ops = registry.installed()
    built_in = () if not options.built_in else (
        file_rule.load_built_in(options.built_in, ops))
    _refuse_twins(built_in)
    return repository.Repository(
        ops, built_in, rule_object.Rule.get_revision, read_rules,
        options.default_scope, options.mask_secrets,
        source=table_object.RuleTable)


@contextlib.contextmanager
def required() -> Iterator[None]:
    """Stop the service, with one line in the log, when its start fails.

    Ironic's launcher would restart a process forever that fails to start. So
    the launcher gets SIGINT and exits with 1; after SIGTERM it would exit
    with 0.
    """
    try:
        yield
    except exceptions.InspectionRulesError as exc:
        LOG.critical('%s', exc)
        parent = psutil.Process(os.getppid())
        if ': master process [' in ' '.join(parent.cmdline()):
            parent.send_signal(signal.SIGINT)
        raise


def refuse(problems: Iterable[str]) -> None:
    """Stop the service if there are problems with which it cannot run.

    :raises: Invalid with all of them.
    """
    text = '; '.join(problems)
    if text:
        with required():
            raise exceptions.Invalid(text)


def is_all_in_one() -> bool:
    """Return whether API and conductor share one process."""
    return CONF.rpc_transport in ('none', 'local')


def _refuse_twins(built_in: Sequence[model.Rule]) -> None:
    """Check that no built-in rule has the UUID of a stored one.

    :raises: InvalidDocument that names both.
    """
    if not built_in or not tables.are_here():
        return
    stored = {uuid for uuid, _value in rule_object.Rule.list_values(
        ironic_context.get_admin_context(), 'uuid', {})}
    for rule in built_in:
        if rule.uuid in stored:
            raise exceptions.InvalidDocument(
                CONF.inspection_rules.built_in,
                _('rule %(name)s has the UUID %(uuid)s of a stored one') % {
                    'name': rule.description or rule.uuid,
                    'uuid': rule.uuid})
