# SPDX-License-Identifier: Apache-2.0

"""The installed plugins: conditions, actions and filters by entry point.

In-tree plugins are loaded like those of others. A duplicate name, a class
that cannot be loaded and one that is not a plugin are errors at start-up that
name the plugin.
"""

import functools
import importlib.metadata
import inspect
import typing

import stevedore

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import schema
from ironic_inspection_rules.i18n import _

CONDITIONS = 'ironic.inspection_rules.conditions'
ACTIONS = 'ironic.inspection_rules.actions'
FILTERS = 'ironic.inspection_rules.filters'

PAGE = 'contributor/plugins'  # Page of the documentation about plugins.


class Op(typing.NamedTuple):
    """A plugin with its name in rules."""

    name: str
    plugin: typing.Any
    signature: arguments.Signature

    def context(self, view: budget.View) -> list[typing.Any]:
        """Return the values that precede the arguments of its calls."""
        paid = [view.budget] if self.plugin.PAYS else []
        return [view, *paid] if self.plugin.NEEDS_VIEW else paid

    def refused(self, literals: plugin.Arguments,
                varying: plugin.Arguments) -> plugin.Problems:
        """Yield the problems of the arguments of a filter.

        :param literals: arguments without replacement fields, by name.
        :param varying: the other arguments, as templates.
        """
        for name, schemas in self.plugin.SCHEMAS.items():
            if name in literals:
                shape = schema.Shape(schema.either(*schemas), name)
                for problem in shape.problems(literals[name]):
                    yield name, problem.sentence
        known = {**varying, **literals} if self.plugin.TAKES_FILTER else (
            literals)
        yield from self.plugin.problems(known)


class Registry:
    """Conditions and actions by name.

    :raises: :class:`.exceptions.PluginError` naming the plugin at fault.
    """

    def __init__(self, conditions: typing.Mapping[str, plugin.Condition],
                 actions: typing.Mapping[str, plugin.Action]) -> None:
        self.conditions = {name: _register(name, each, plugin.Condition, 0)
                           for name, each in conditions.items()}
        self.actions = {name: _register(name, each, plugin.Action, 1)
                        for name, each in actions.items()}


@functools.cache
def installed() -> Registry:
    """Return the ops of all installed packages; loaded once a process.

    :raises: :class:`.exceptions.PluginError` naming the plugin at fault.
    """
    return Registry(_load(CONDITIONS), _load(ACTIONS))


@functools.cache
def filters() -> typing.Mapping[str, Op]:
    """Return the filters of all installed packages; loaded once a process.

    :raises: :class:`.exceptions.PluginError` naming the plugin at fault.
    """
    return {name: _register(name, each, plugin.Filter, 1)
            for name, each in _load(FILTERS).items()}


def _load(group: str) -> dict[str, typing.Any]:
    def failed(manager: typing.Any, entry_point: importlib.metadata.EntryPoint,
               error: BaseException) -> None:
        raise exceptions.PluginError(
            _('Inspection rule plugin "%(name)s" (%(value)s) cannot be '
              'loaded: %(error)s') % {'name': entry_point.name,
                                      'value': entry_point.value,
                                      'error': error}) from error

    plugins: dict[str, typing.Any] = {}
    manager: stevedore.ExtensionManager[typing.Any] = (
        stevedore.ExtensionManager(group, on_load_failure_callback=failed))
    for extension in manager:
        if extension.name in plugins:
            raise exceptions.PluginError(
                _('Inspection rule plugin "%(name)s" (%(value)s) clashes '
                  'with another of that name in %(group)s')
                % {'name': extension.name, 'group': group,
                   'value': extension.entry_point_target})
        plugins[extension.name] = extension.plugin
    return plugins


def _register(name: str, loaded: typing.Any, base: typing.Any,
              skip: int) -> Op:
    try:
        instance = loaded() if inspect.isclass(loaded) else loaded
        if not isinstance(instance, base):
            raise exceptions.PluginError(
                _('it is no %(base)s; the page %(page)s of the documentation '
                  'says what a plugin is') % {
                      'base': f'{base.__module__}.{base.__name__}',
                      'page': PAGE})
        skip += bool(instance.NEEDS_VIEW) + bool(instance.PAYS)
        skip += isinstance(instance, plugin.Group)
        return Op(name, instance, arguments.Signature(instance, skip))
    except Exception as exc:
        raise exceptions.PluginError(
            _('Inspection rule plugin "%(name)s" (%(plugin)r) is not usable: '
              '%(error)s') % {'name': name, 'plugin': loaded,
                              'error': exc}) from exc
