# SPDX-License-Identifier: Apache-2.0

"""Inspect interfaces on which not all phases of rules run."""

from collections.abc import Iterator
import importlib.metadata
import re

from ironic.conf import CONF
from ironic.drivers import base
from ironic.drivers.modules import noop
from ironic.drivers.modules.inspector import agent
from ironic.drivers.modules.redfish import inspect as redfish

from ironic_inspection_rules.i18n import _

_INTERFACES = 'ironic.hardware.interfaces.inspect'


def gaps(hook: str) -> str | None:
    """Tell which phases do not run, or run too early, on which interfaces.

    :param hook: name of the hook that runs the preprocess phase.
    :returns: all of it in one message, None where there is nothing to say.
    """
    found = [f'{name}: {gap}' for name, interface in _enabled()
             if (gap := _gap(interface, hook))]
    if not found:
        return None
    return _('Not all inspection rules run on nodes with these inspect '
             'interfaces: %s') % '; '.join(found)


def _enabled() -> Iterator[tuple[str, type]]:
    """Name and class of each enabled interface that rules are meant for."""
    supported = re.compile(CONF.inspection_rules.supported_interfaces)
    for entry in importlib.metadata.entry_points(group=_INTERFACES):
        if (entry.name in CONF.enabled_inspect_interfaces
                and supported.search(entry.name)):
            interface = entry.load()
            if not issubclass(interface, noop.NoInspect):
                yield entry.name, interface


def _gap(interface: type, hook: str) -> str | None:
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
    names = [name.strip() for name in hooks.split(',') if name.strip()]
    if hook not in names:
        return _('no rules of the phase preprocess run, since %(option)s does '
                 'not name %(hook)s') % {'option': option, 'hook': hook}
    if names[-1] != hook:
        return _('rules of the phase preprocess run before the preprocess of '
                 '%(hooks)s, which %(option)s names after %(hook)s') % {
                     'hooks': ', '.join(names[names.index(hook) + 1:]),
                     'option': option, 'hook': hook}
    return None
