# SPDX-License-Identifier: Apache-2.0

"""Logging what a service has switched on, in one line when it starts.

A service also warns about gaps in its configuration, such as rules that can
be stored but never run.
"""

from collections.abc import Iterator
import functools
import importlib.metadata
import re

from ironic.common import context as ironic_context
from ironic.conf import CONF
from ironic.drivers import base
from ironic.drivers.modules import noop
from ironic.drivers.modules.inspector import agent
from ironic.drivers.modules.redfish import inspect as redfish
from oslo_log import log

from ironic_inspection_rules import conf
from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import tables
from ironic_inspection_rules.rule_file import stock_form
from ironic_inspection_rules.rule_set import repository

LOG = log.getLogger(__name__)

PLUGIN = 'inspection-rules'
"""The name of the middleware, and of the hook."""

HOOK = 'inspection hook'
"""Name of the service that runs rules on nodes."""

_DISTRIBUTION = 'ironic-inspection-rules'


@functools.cache
def announce(service: str, rules: repository.Repository) -> None:
    """Log what this service has switched on, once in a process.

    :param service: ``API``, ``inspection hook`` or ``inspection worker``.
    """
    LOG.info(
        'Inspection rules %(version)s, %(service)s: %(built_in)d built-in '
        'and %(stored)s stored rules; inspect interfaces %(interfaces)s; '
        'durable inspection is %(queue)s', {
            'version': importlib.metadata.version(_DISTRIBUTION),
            'service': service, 'built_in': len(rules.built_in),
            'stored': len(rule_object.Rule.list_values(
                ironic_context.get_admin_context(), 'uuid', {}))
            if tables.are_here() else '?',
            'interfaces': CONF.inspection_rules.supported_interfaces,
            'queue': 'on' if CONF.inspection_queue.enabled else 'off'})
    for message in (*missing(), *unknown_hooks(), *out_of_reach(),
                    *conf.unknown(CONF),
                    *((*gaps(), *left_behind()) if service == HOOK else ())):
        LOG.warning('%s', message)


def missing() -> Iterator[str]:
    """Yield a warning for each option that does not name this plugin."""
    if (not start.is_all_in_one()
            and 'agent' not in CONF.enabled_inspect_interfaces
            and PLUGIN not in _names(CONF.redfish.inspection_hooks)):
        yield _('[DEFAULT]enabled_inspect_interfaces does not name agent: a '
                'conductor with this configuration runs no inspection rules '
                'unless [redfish]inspection_hooks names %s') % PLUGIN
    elif PLUGIN not in _names(CONF.inspector.hooks):
        yield _('[inspector]hooks does not name %s: a conductor with this '
                'configuration runs no inspection rules') % PLUGIN
    if PLUGIN not in CONF.api.middleware:
        yield _('[api]middleware does not name %s: an API with this '
                'configuration neither stores rules nor runs early '
                'ones') % PLUGIN


def unknown_hooks() -> Iterator[str]:
    """Yield a warning for each hook that is not installed.

    A conductor with such a hook does not start: it ends with a traceback of a
    driver.
    """
    known = {found.name for found in importlib.metadata.entry_points(
        group='ironic.inspection.hooks')}
    for group in ('inspector', 'redfish'):
        option = 'hooks' if group == 'inspector' else 'inspection_hooks'
        for name in _names(CONF[group][option]):
            if name not in known:
                yield f'[{group}]{option}: ' + suggestion.unknown(
                    _('hook'), name, known)


def out_of_reach() -> Iterator[str]:
    """Yield a warning about calls that need a database of this process."""
    if not tables.are_here():
        yield _('[DEFAULT]use_rpc_for_database: this API answers 400 to lists '
                'of nodes by trait and to /v1/traits, for which it would have '
                'to read the database itself')


def _names(hooks: str) -> list[str]:
    return [name for name in hooks.replace(' ', '').split(',') if name]


def gaps() -> Iterator[str]:
    """Yield one warning about phases that do not run, or run too early.

    It names all enabled inspect interfaces with such a gap.
    """
    supported = re.compile(CONF.inspection_rules.supported_interfaces)
    found = [f'{entry.name}: {gap}' for entry
             in importlib.metadata.entry_points(
                 group='ironic.hardware.interfaces.inspect')
             if entry.name in CONF.enabled_inspect_interfaces
             and supported.search(entry.name)
             and (gap := _gap(entry.load()))]
    if found:
        yield _('Not all inspection rules run on nodes with these inspect '
                'interfaces: %s') % '; '.join(found)


def _gap(interface: type) -> str | None:
    if issubclass(interface, noop.NoInspect):
        return None
    redfish_like = issubclass(interface, redfish.RedfishInspect)
    in_band = (getattr(interface, 'continue_inspection', None)
               is not base.InspectInterface.continue_inspection)
    if not (redfish_like or in_band):
        return _('no rules run')
    if redfish_like:
        option, hooks = '[redfish]inspection_hooks', (
            CONF.redfish.inspection_hooks)
    elif issubclass(interface, agent.AgentInspect):
        option, hooks = '[inspector]hooks', CONF.inspector.hooks
    else:
        return None
    names = _names(hooks)
    if PLUGIN not in names:
        return _('no rules of the phase preprocess run, since %(option)s does '
                 'not name %(hook)s') % {'option': option, 'hook': PLUGIN}
    if names[-1] != PLUGIN:
        return _('rules of the phase preprocess run before the preprocess of '
                 '%(hooks)s, which %(option)s names after %(hook)s') % {
                     'hooks': ', '.join(names[names.index(PLUGIN) + 1:]),
                     'option': option, 'hook': PLUGIN}
    return None


def left_behind() -> Iterator[str]:
    """Yield a warning about rules of stock Ironic that are not adopted."""
    places = []
    if count := len(adoption.read_ironic()):
        places.append(_("%d in Ironic's own table") % count)
    path = CONF.inspection_rules.built_in_rules
    if path:
        try:
            uuids = {rule['uuid'] for rule in stock_form.load(path)}
            there = uuids <= {
                uuid for uuid, _uuid in db_rule.list_values('uuid')}
        except ValueError:
            there = False
        if not there:
            places.append(_('those of [inspection_rules]built_in_rules, %s')
                          % path)
    if places:
        yield _('Inspection rules of stock Ironic do not run beside this '
                'plugin: %(places)s. "%(command)s adopt" takes them over') % {
                    'places': _(' and ').join(places),
                    'command': migration.COMMAND}
