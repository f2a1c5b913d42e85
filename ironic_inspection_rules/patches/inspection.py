# SPDX-License-Identifier: Apache-2.0

"""Patches of the functions with which Ironic inspects and applies rules."""

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

Its parameters have the same names as those of Ironic's own function.
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
    """Run every inspection in a context, which records it as one run.

    :param context: returns the context. It is called with the task and, if the
        machine has already sent its data, with ``inventory`` and
        ``plugin_data``. Errors of the inspection are raised inside the
        context.
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

    # Replacing the functions is enough, because the conductor's manager looks
    # both of them up in their module at every call.
    CONTINUE.put(continue_inspection)
    INSPECT.put(inspect_hardware)


def before_inspection(prepare: Callable[[typing.Any], None]) -> None:
    """Call a function when a conductor begins an inspection.

    This must be called after :func:`around_inspection`, which would discard
    this patch because it always wraps Ironic's original function.

    :param prepare: called with the task. If it raises an error, the inspection
        fails.
    """
    # This finds the function that around_inspection() has installed, not
    # Ironic's original function.
    inspect_as_before = INSPECT.find()

    @functools.wraps(inspect_as_before)
    def inspect_hardware(task: typing.Any) -> None:
        prepare(task)
        inspect_as_before(task)

    INSPECT.put(inspect_hardware)


def replace_rules(apply: Apply) -> None:
    """Call a function wherever Ironic would apply its own rules."""
    # All callers look the function up in its module, so replacing it there is
    # enough.
    APPLY_RULES.put(apply)


def power_on(task: typing.Any) -> None:
    """Power on or reboot a machine at the beginning of its inspection."""
    # The method does not use its ``self``, so None can be passed.
    _stock_power_on_or_reboot(None, task)


def replace_power_on(put: Callable[[str], object]) -> None:
    """Call a function instead of powering a machine on for inspection.

    :param put: called with the UUID of the node.
    :raises: Invalid if this release of Ironic powers machines on in another
        way.
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
    """Call a function after every removal of a node.

    Nothing is patched if this release of Ironic lacks the patched name.

    :param forget: called with the UUID of the removed node.
    """
    if not name.are_here([DESTROY]):
        return

    @functools.wraps(_stock_destroy)
    def destroy(node: typing.Any, *args: typing.Any) -> None:
        _stock_destroy(node, *args)
        # If the node cannot be removed, an error is raised above, and the node
        # keeps its records.
        forget(node.uuid)

    DESTROY.put(destroy)
