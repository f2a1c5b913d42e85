# SPDX-License-Identifier: Apache-2.0

"""Patches of where Ironic inspects a node and applies rules."""

from collections.abc import Callable
import contextlib
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import name

Around = Callable[..., contextlib.AbstractContextManager[typing.Any]]

Apply = Callable[[typing.Any, dict, dict, str], None]
"""Called with a task, inventory, plugin data and the name of a phase.

Its parameters have the names of Ironic's own function.
"""

CONTINUE = name.Name(
    'ironic.conductor.inspection',
    'continue_inspection',
    'what the rules of an inspection do is not kept as one run',
    parameters=('task', 'inventory', 'plugin_data'),
)
INSPECT = name.Name(
    'ironic.conductor.inspection',
    'inspect_hardware',
    'what the rules of an inspection do is not kept as one run',
    parameters=('task',),
)
APPLY_RULES = name.Name(
    'ironic.common.inspection_rules.engine',
    'apply_rules',
    'rules of the main phase do not run',
    parameters=('task', 'inventory', 'plugin_data', 'inspection_phase'),
)
POWER_ON = name.Name(
    'ironic.drivers.modules.inspector.interface',
    'Common._power_on_or_reboot',
    '[inspection_queue]reboot_throttle is refused',
    parameters=('self', 'task'),
    required=False,
)
DESTROY = name.Name(
    'ironic.objects.node',
    'Node.destroy',
    'what is recorded of a node stays when it is removed',
    required=False,
)

NAMES = (CONTINUE, INSPECT, APPLY_RULES, POWER_ON, DESTROY)

_stock_continue = CONTINUE.find()
_stock_inspect = INSPECT.find()
_stock_power_on_or_reboot = POWER_ON.find()
_stock_destroy = DESTROY.find()


def around_inspection(context: Around) -> None:
    """Enter a context around every inspection, which records it as one run.

    :param context: called with the task and, if the machine has already sent
        its data, with ``inventory`` and ``plugin_data``; returns the context.
        An error of the inspection is raised inside of it.
    """

    @functools.wraps(_stock_continue)
    def continue_inspection(
        task: typing.Any, inventory: dict, plugin_data: dict | None
    ) -> None:
        with context(task, inventory, plugin_data or {}):
            _stock_continue(task, inventory, plugin_data)

    @functools.wraps(_stock_inspect)
    def inspect_hardware(task: typing.Any) -> None:
        with context(task):
            _stock_inspect(task)

    # The conductor's manager looks both up in their module at every call.
    CONTINUE.put(continue_inspection)
    INSPECT.put(inspect_hardware)


def before_inspection(prepare: Callable[[typing.Any], None]) -> None:
    """Call a function when a conductor begins an inspection.

    This has to come after :func:`around_inspection`, which replaces Ironic's
    function without a look at what stands there.

    :param prepare: called with the task; an error fails the inspection.
    """
    # Not Ironic's own function, but the one that around_inspection() has put
    # in its place.
    inspect_as_before = INSPECT.find()

    @functools.wraps(inspect_as_before)
    def inspect_hardware(task: typing.Any) -> None:
        prepare(task)
        inspect_as_before(task)

    INSPECT.put(inspect_hardware)


def replace_rules(apply: Apply) -> None:
    """Apply other rules wherever Ironic would apply its own."""
    # All of its callers look the function up in its module.
    APPLY_RULES.put(apply)


def power_on(task: typing.Any) -> None:
    """Power a machine on, or reboot it, as its inspection begins."""
    # The method makes no use of its interface.
    _stock_power_on_or_reboot(None, task)


def replace_power_on(put: Callable[[str], object]) -> None:
    """Call a function instead of powering a machine on for inspection.

    :param put: called with the UUID of the node.
    :raises: Invalid where this Ironic powers machines on in another way.
    """
    if not name.are_here([POWER_ON]):
        raise exceptions.Invalid(
            _(
                '[inspection_queue]reboot_throttle cannot be kept with '
                'Ironic %s'
            )
            % name.release()
        )

    def power_on_or_reboot(self: typing.Any, task: typing.Any) -> None:
        put(task.node.uuid)

    POWER_ON.put(power_on_or_reboot)


def after_removal(forget: Callable[[str], None]) -> None:
    """Call a function for every node that was removed.

    Nothing is patched in an Ironic without the patched name.

    :param forget: called with the UUID of the node.
    """
    if not name.are_here([DESTROY]):
        return

    @functools.wraps(_stock_destroy)
    def destroy(node: typing.Any, *args: typing.Any) -> None:
        _stock_destroy(node, *args)
        # This line is not reached for a node that could not be removed, which
        # keeps its records.
        forget(node.uuid)

    DESTROY.put(destroy)
