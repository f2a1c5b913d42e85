# SPDX-License-Identifier: Apache-2.0

"""Ops and a filter of somebody else, each of which fails in one method."""

import functools

from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry

MODULE = 'acme.rules'
TEXT = 'out of cheese'


class Condition(plugin.Condition):
    def __call__(self, value, *, other=None):
        return bool(value)


class Action(plugin.Action):
    SUPPORTS_EARLY = True

    def __call__(self, target, value):
        target.set('plugin_data', ('seen',), value)

    def revert(self, target, value):
        pass


class Filter(plugin.Filter):
    def __call__(self, value, other=None):
        return value


def failing(base, method, error=KeyError):
    """Return a plugin whose method, if it has that, raises an error.

    :param method: '' for the call itself.
    """
    name = method or '__call__'

    # The arguments of an op are those of its methods.
    @functools.wraps(getattr(base, name, plugin.Plugin.__init__))
    def fail(self, *_arguments, **_named):
        raise error(TEXT)

    return type(base)('Failing', (base,), {'__module__': MODULE, name: fail})()


def code(method):
    """Return what an error names."""
    return f'{MODULE}.Failing.{method}' if method else f'{MODULE}.Failing'


def ops(method):
    """Return all ops, and a condition and an action that fail."""
    installed = registry.installed()
    return registry.Registry(
        {
            **{name: op.plugin for name, op in installed.conditions.items()},
            'odd-condition': failing(Condition, method),
        },
        {
            **{name: op.plugin for name, op in installed.actions.items()},
            'odd-action': failing(Action, method),
        },
    )


CONDITION = {'op': 'odd-condition', 'args': {'value': '{plugin_data.a}'}}
ACTION = {'op': 'odd-action', 'args': {'value': 'x'}}
