# SPDX-License-Identifier: Apache-2.0

"""Logs the state of rules when a service starts.

A service also warns about rules that do not run: with an inspect interface
that does not call this plugin, and rules of stock Ironic. An operator can
*adopt* these with a command, which converts them and stores them here.
"""

from collections.abc import Iterator
import functools
import importlib.metadata

from ironic.common import context as ironic_context
from ironic.conf import CONF
from ironic.drivers import base
from ironic.drivers.modules import noop
from ironic.drivers.modules.inspector import agent
from ironic.drivers.modules.redfish import inspect as redfish
from oslo_log import log

from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import disabling_options
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import storage
from ironic_inspection_rules.rule_file import stock_form
from ironic_inspection_rules.rule_set import repository

LOG = log.getLogger(__name__)

API = 'API'

HOOK = 'inspection hook'
"""Name of the service that runs rules on nodes."""

_DISTRIBUTION = 'ironic-inspection-rules'


@functools.cache
def announce(service: str, rules: repository.Repository) -> None:
    """Log what a service has loaded and enabled, and its warnings.

    The result is cached, so later calls for the same service log nothing.

    :param service: ``API``, ``inspection hook`` or ``inspection worker``.
    :param rules: the rules in force in this process.
    """
    # An API without a database cannot count the stored rules.
    count_of_stored = '?'
    if storage.has_database():
        context = ironic_context.get_admin_context()
        stored_rules = rule_object.StoredRule.list_values(context, 'uuid', {})
        count_of_stored = str(len(stored_rules))
    queue = 'off'
    if CONF.inspection_queue.enabled:
        queue = 'on'
    LOG.info(
        'Inspection rules %(version)s, %(service)s: %(built_in)d built-in '
        'and %(stored)s stored rules; inspect interfaces %(interfaces)s; '
        'durable inspection is %(queue)s',
        {
            'version': importlib.metadata.version(_DISTRIBUTION),
            'service': service,
            'built_in': len(rules.built_in),
            'stored': count_of_stored,
            'interfaces': CONF.inspection_rules.supported_interfaces,
            'queue': queue,
        },
    )
    # An API on a separate host needs neither hooks nor inspect interfaces.
    is_also_conductor = service != API or start.is_all_in_one()
    warnings = [
        *disabling_options.list_warnings(is_also_conductor),
        *disabling_options.empty_file(rules),
        *warn_of_missing_database(),
    ]
    if service == HOOK:
        warnings += disabling_options.unused_scope()
        warnings += list_warnings()
    for message in warnings:
        _warn_once(message)


# Cached, because an all-in-one process has two services that warn about the
# same options.
@functools.cache
def _warn_once(message: str) -> None:
    """Log a warning, unless a service of this process has already done so."""
    LOG.warning('%s', message)


def list_warnings() -> Iterator[str]:
    """Yield warnings about rules and phases that do not run."""
    yield from warn_of_missing_phases()
    yield from warn_of_unadopted_rules()


def warn_of_missing_database() -> Iterator[str]:
    """Yield a warning about API calls that need direct database access.

    Nothing is yielded if this process reaches the database itself.
    """
    if not storage.has_database():
        yield _(
            '[DEFAULT]use_rpc_for_database: this API answers 400 to lists '
            'of nodes by trait and to /v1/traits, for which it would have '
            'to read the database itself'
        )


def warn_of_missing_phases() -> Iterator[str]:
    """Yield one warning about inspect interfaces that do not run all rules.

    It lists the enabled interfaces with which the rules of a phase do not run,
    or run too early, e.g. ``idrac-redfish: no rules run``.
    """
    descriptions = []
    for entry_point in importlib.metadata.entry_points(
        group='ironic.hardware.interfaces.inspect'
    ):
        if entry_point.name not in CONF.enabled_inspect_interfaces:
            continue
        if not facts.is_supported(entry_point.name):
            # The operator has excluded this interface.
            continue
        problem = _find_problem_of_interface(entry_point.load())
        if problem:
            descriptions.append(f'{entry_point.name}: {problem}')
    if descriptions:
        yield _(
            'Inspection rules do not run, or run too early, on nodes with '
            'these inspect interfaces: %s'
        ) % '; '.join(descriptions)


def _find_problem_of_interface(interface: type) -> str | None:
    """Return which rules do not run, or run too early, with an interface.

    - With ``no-inspect``, nobody expects rules to run: None.
    - With an interface that neither takes posted data nor uses Redfish, no
      rules run.
    - With an interface whose list of hooks is unknown: None.
    - If the list of hooks lacks our hook, or names other hooks behind it, the
      rules of the phase ``preprocess`` do not run, or run too early.

    :param interface: the class of an inspect interface.
    :returns: a description for a warning; None if there is no known problem.
    """
    if issubclass(interface, noop.NoInspect):
        return None
    is_redfish = issubclass(interface, redfish.RedfishInspect)
    # Interfaces that take data posted by a ramdisk override this method.
    takes_posted_data = (
        getattr(interface, 'continue_inspection', None)
        is not base.InspectInterface.continue_inspection
    )
    if not is_redfish and not takes_posted_data:
        return _('no rules run')
    if is_redfish:
        option = '[redfish]inspection_hooks'
        group = 'redfish'
    elif issubclass(interface, agent.AgentInspect):
        option = '[inspector]hooks'
        group = 'inspector'
    else:
        # A third-party interface, whose option is unknown.
        return None
    names = disabling_options.list_hook_names(group)
    hook = disabling_options.PLUGIN
    if hook not in names:
        return _(
            'no rules of the phase preprocess run, since %(option)s does '
            'not name %(hook)s'
        ) % {'option': option, 'hook': hook}
    # Ironic calls the hooks in the order of their names. If our hook is named
    # twice, it runs the rules on its first call.
    later_hooks = [
        name for name in names[names.index(hook) + 1 :] if name != hook
    ]
    if later_hooks:
        return _(
            'rules of the phase preprocess run before the preprocess of '
            '%(hooks)s, which %(option)s names after %(hook)s'
        ) % {'hooks': ', '.join(later_hooks), 'option': option, 'hook': hook}
    return None


def warn_of_unadopted_rules() -> Iterator[str]:
    """Yield a warning about rules of stock Ironic that are not adopted.

    Stock Ironic has rules in its own table, where adopted rules are marked,
    and in the file of its option ``built_in_rules``.
    """
    places = []
    count_in_table = adoption.count_ironic()
    if count_in_table:
        places.append(_("%d in Ironic's own table") % count_in_table)
    path = CONF.inspection_rules.built_in_rules
    if path and not _are_all_rules_stored(path):
        places.append(
            _('those of [inspection_rules]built_in_rules, %s') % path
        )
    if places:
        yield _(
            'Inspection rules of stock Ironic do not run beside this '
            'plugin: %(places)s. "%(command)s adopt" takes them over'
        ) % {'places': _(' and ').join(places), 'command': migration.COMMAND}


def _are_all_rules_stored(path: str) -> bool:
    """Return whether all rules of a file are stored in this plugin's table.

    :param path: the path of a file with rules in the form of stock Ironic.
    :returns: also False if the file is not valid.
    """
    try:
        uuids_in_file = {
            stock_form.uuid_of(rule['uuid']) for rule in stock_form.load(path)
        }
    except ValueError:
        return False
    stored_uuids = {uuid for uuid, _value in db_rule.list_values('uuid')}
    return uuids_in_file <= stored_uuids
