# SPDX-License-Identifier: Apache-2.0

"""Where an inspection of the conductor begins and ends."""

from collections.abc import Callable
import contextlib
import functools
import typing

from ironic_inspection_rules.patches import name

Around = Callable[..., contextlib.AbstractContextManager[typing.Any]]

CONTINUE = name.Name(
    'ironic.conductor.inspection', 'continue_inspection',
    'what sensitive rules wrote is not hidden',
    parameters=('task', 'inventory', 'plugin_data'))
INSPECT = name.Name(
    'ironic.conductor.inspection', 'inspect_hardware',
    'what sensitive rules wrote is not hidden',
    parameters=('task',))

NAMES = (CONTINUE, INSPECT)

_stock_continue = CONTINUE.find()
_stock_inspect = INSPECT.find()


def around_inspection(context: Around) -> None:
    """Have every inspection take place inside a context.

    :param context: makes it, given the task and, where the machine has sent
        them already, ``inventory`` and ``plugin_data``. What makes the
        inspection fail is raised inside of it.
    """
    @functools.wraps(_stock_continue)
    def continue_inspection(task: typing.Any, inventory: dict,
                            plugin_data: dict | None) -> None:
        with context(task, inventory, plugin_data or {}):
            _stock_continue(task, inventory, plugin_data)

    @functools.wraps(_stock_inspect)
    def inspect_hardware(task: typing.Any) -> None:
        with context(task):
            _stock_inspect(task)

    CONTINUE.put(continue_inspection)
    INSPECT.put(inspect_hardware)


def before_inspection(prepare: Callable[[typing.Any], None]) -> None:
    """Call a function when a conductor begins an inspection.

    :param prepare: takes the task; what it raises fails the inspection.
    """
    inspect = INSPECT.find()

    @functools.wraps(inspect)
    def inspect_hardware(task: typing.Any) -> None:
        prepare(task)
        inspect(task)

    INSPECT.put(inspect_hardware)
