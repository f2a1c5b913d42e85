# SPDX-License-Identifier: Apache-2.0

"""What is switched on, said in one line when a service starts.

A service also warns about what the same configuration leaves out: rules that
can be made and never run, or run and cannot be made.
"""

from collections.abc import Iterator
import functools
import importlib.metadata

from ironic.common import context as ironic_context
from ironic.conf import CONF
from oslo_log import log

from ironic_inspection_rules.conf import validation
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import coverage
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.inspection import stock_rules
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import tables
from ironic_inspection_rules.rule_set import repository

LOG = log.getLogger(__name__)

PLUGIN = 'inspection-rules'
"""The name of the middleware, and of the hook."""

HOOK = 'inspection hook'
"""The service that runs rules on nodes."""

_DISTRIBUTION = 'ironic-inspection-rules'


@functools.cache
def announce(service: str, rules: repository.Repository) -> None:
    """Log what this service has; once a process.

    :param service: which part of it: ``API``, ``inspection hook``,
        ``inspection worker``.
    """
    LOG.info(
        'Inspection rules %(version)s, %(service)s: %(built_in)d built-in '
        'and %(stored)s stored rules; inspect interfaces %(interfaces)s; '
        'durable inspection is %(queue)s', {
            'version': importlib.metadata.version(_DISTRIBUTION),
            'service': service, 'built_in': len(rules.built_in),
            'stored': _count(),
            'interfaces': CONF.inspection_rules.supported_interfaces,
            'queue': 'on' if CONF.inspection_queue.enabled else 'off'})
    for message in (*missing(), *unknown_hooks(), *out_of_reach(),
                    *validation.unknown(CONF),
                    *(_left_out() if service == HOOK else ())):
        LOG.warning('%s', message)


def _left_out() -> Iterator[str]:
    """Tell which rules a conductor does not run."""
    for message in (coverage.gaps(PLUGIN), stock_rules.left_behind()):
        if message:
            yield message


def missing() -> Iterator[str]:
    """Tell what this service's configuration does not switch on."""
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

    A conductor that names one here does not start: Ironic ends with the
    traceback of its driver.
    """
    known = {found.name for found in importlib.metadata.entry_points(
        group='ironic.inspection.hooks')}
    for group in ('inspector', 'redfish'):
        option = 'hooks' if group == 'inspector' else 'inspection_hooks'
        for name in _names(CONF[group][option]):
            if name and name not in known:
                yield f'[{group}]{option}: ' + suggestion.unknown(
                    _('hook'), name, known)


def out_of_reach() -> Iterator[str]:
    """Tell what a process cannot do for which a conductor reads the tables."""
    if not tables.are_here():
        yield _('[DEFAULT]use_rpc_for_database: this API answers 400 to lists '
                'of nodes by trait and to /v1/traits, for which it would have '
                'to read the database itself')


def _names(hooks: str) -> list[str]:
    return hooks.replace(' ', '').split(',')


def _count() -> int | str:
    """Return the number of stored rules."""
    if not tables.are_here():
        return '?'
    return len(rule_object.Rule.list_values(
        ironic_context.get_admin_context(), 'uuid', {}))
