# SPDX-License-Identifier: Apache-2.0

"""Runs Ironic's own engine of inspection rules, without saving anything.

This is a *trial*: it shows what stock Ironic would do with its rules on a
machine. The engine gets a stand-in for the task of an inspection, with copies
of the node and its ports that are never saved. Actions that would reach the
database, a server or the log are replaced.
"""

from collections.abc import Mapping, Sequence
import copy
import dataclasses
import logging
from typing import Any

from ironic.common import exception
from ironic.common.inspection_rules import actions
from ironic.common.inspection_rules import engine
from ironic.common.inspection_rules import operators

from ironic_inspection_rules.patches import name

CHECK_RULE = name.Name(
    'ironic.common.inspection_rules.engine',
    '_check_rule',
    "rules cannot be tried with Ironic's own engine",
    parameters=('task', 'rule', 'inventory', 'plugin_data'),
)

NAMES = (CHECK_RULE,)


def fills_values() -> bool:
    """Return whether Ironic fills in fields in the values of eq, lt and gt.

    Older releases compare the text ``{node.driver}`` with its braces. Releases
    that fill in the name of the driver are 39.0 and newer and, in the series
    of 35, 35.1 and newer.
    """
    return 'values' in getattr(operators.EqOperator, 'FORMATTED_ARGS', ())


@dataclasses.dataclass
class Task:
    """A stand-in for the task of an inspection, with one machine.

    ``save`` of its node and ports does nothing. ``traits`` are names.
    """

    context: Any
    node: Any
    ports: list[Any]
    traits: list[str]

    @classmethod
    def of(
        cls,
        context: Any,
        node: Any,
        ports: Sequence[Any],
        traits: Sequence[str],
    ) -> 'Task':
        """Build a task of copies of a machine's objects."""
        unsaved_ports = [_copy_unsaved(port) for port in ports]
        return cls(context, _copy_unsaved(node), unsaved_ports, list(traits))


class _AddTrait(actions.AddTraitAction):
    def __call__(self, task: Any, name: str) -> None:
        """Add a trait to the stand-in for the machine."""
        if name not in task.traits:
            task.traits.append(name)


class _RemoveTrait(actions.RemoveTraitAction):
    def __call__(self, task: Any, name: str) -> None:
        """Remove a trait from the stand-in for the machine."""
        if name in task.traits:
            task.traits.remove(name)


class _Call(actions.CallAPIHookAction):
    def __call__(
        self,
        task: Any,
        url: str,
        headers: Any = None,
        proxies: Any = None,
        timeout: Any = 5,
        retries: Any = 3,
        backoff_factor: Any = 0.3,
    ) -> None:
        """Call nobody."""


class _Log(actions.LogAction):
    def __call__(self, task: Any, msg: str, level: str = 'info') -> None:
        """Log nothing; fail as Ironic's action does for a bad level."""
        if level.lower() not in self.VALID_LOG_LEVELS:
            super().__call__(task, msg, level)


_ACTIONS_OF_TRIAL: dict[str, Any] = {
    'add-trait': _AddTrait,
    'api-call': _Call,
    'remove-trait': _RemoveTrait,
    'log': _Log,
}
"""Actions by name that a trial runs instead of Ironic's own actions, which
would reach the database, a server or the log."""


def run(
    rules: Sequence[Mapping[str, Any]],
    task: Task,
    inventory: dict[str, Any],
    plugin_data: dict[str, Any],
) -> Exception | None:
    """Run rules as stock Ironic does, on a stand-in for a machine.

    The first error ends the run; changes before the error stay.

    :param rules: rules in the order in which they run; not changed.
    :param task: the stand-in, whose node, ports and traits are changed.
    :param plugin_data: changed as well. The engine may put objects of its own
        into it, which :func:`as_plain_data` replaces.
    :returns: the error that would fail the inspection; None if there is none.
    """
    logger = logging.getLogger(engine.__package__)
    level_before = logger.level
    # Disable logging, because a trial must not look like an inspection.
    logger.setLevel(logging.CRITICAL + 1)
    try:
        # Use a copy, because the engine changes the rules that it runs.
        for rule in copy.deepcopy(list(rules)):
            _run_rule(rule, task, inventory, plugin_data)
    # Catch everything, because in Ironic any error of the engine fails the
    # inspection.
    except Exception as exc:
        return exc
    finally:
        logger.setLevel(level_before)
    return None


def _run_rule(
    rule: Mapping[str, Any],
    task: Task,
    inventory: dict[str, Any],
    plugin_data: dict[str, Any],
) -> None:
    """Check the conditions of a rule, and carry out its actions if they hold.

    This does the same as Ironic's engine, but with the actions of a trial.
    """
    check_rule = CHECK_RULE.find()
    # Ironic's function returns views of the inventory and the plugin data for
    # the actions, without secrets if an option says so. It returns None if the
    # conditions do not hold.
    inventory_and_plugin_data = check_rule(task, rule, inventory, plugin_data)
    if inventory_and_plugin_data is None:
        return
    for action in rule['actions']:
        op = action['op']
        action_class = _ACTIONS_OF_TRIAL.get(op) or actions.get_action(op)
        plugin = action_class()
        if action.get('loop'):
            plugin.execute_with_loop(task, action, *inventory_and_plugin_data)
        else:
            plugin.execute_action(task, action, *inventory_and_plugin_data)


def is_of_fail_action(error: Exception) -> bool:
    """Return whether an error comes from the action ``fail``."""
    # Do not use isinstance(), because the errors of invalid rules are
    # subclasses of that class.
    return type(error) is exception.HardwareInspectionFailure


def as_plain_data(value: Any) -> Any:
    """Return data without the views that Ironic's engine puts into them.

    A *view* is an object of Ironic's engine around a mapping or a list. The
    result consists of new dicts and lists.

    :param value: data in which any part may be a view.
    """
    # Depending on its class, a view has the data in one of these attributes.
    # A view of the first class may be around a view of the second.
    if hasattr(value, '_data'):
        value = value._data
    if hasattr(value, '_original'):
        value = value._original
    if isinstance(value, dict):
        return {key: as_plain_data(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain_data(child) for child in value]
    return value


def _copy_unsaved(ironic_object: Any) -> Any:
    """Return a copy of an Ironic object whose ``save`` does nothing."""
    copied = copy.deepcopy(ironic_object)
    copied.save = _save_nothing
    return copied


def _save_nothing(*_args: Any, **_kwargs: Any) -> None:
    """Do nothing, in place of the ``save`` of an Ironic object."""
