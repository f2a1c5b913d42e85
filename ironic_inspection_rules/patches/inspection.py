# SPDX-License-Identifier: Apache-2.0

"""Patches of the functions with which Ironic inspects and applies rules.

The functions here replace functions of Ironic, so that a function of this
project is called before, around, after or instead of them; only
:func:`power_on` calls Ironic's function and replaces nothing. A
:class:`.name.Name` finds Ironic's function and replaces it. A variable
``_stock_…`` is Ironic's own function, which the replacement calls as well.
"""

from collections.abc import Callable
import contextlib
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import name

Around = Callable[..., contextlib.AbstractContextManager[typing.Any]]
"""Returns a context manager, inside which an inspection runs.

It is called with the task and, if the machine has already sent its data, with
the inventory and the plugin data.
"""

Apply = Callable[[typing.Any, dict, dict, str], None]
"""Applies rules to a task, the inventory and the plugin data in a phase.

The parameters have the same names as the parameters of Ironic's own function.
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
    """Run every inspection inside a context manager.

    The context manager records what the rules do in the inspection as one run.
    Errors of the inspection are raised inside it.

    :param context: returns the context manager. It is called when an
        inspection begins, with the task; and when the machine has sent its
        data, with the task, the inventory and the plugin data.
    """

    # Ironic calls this when the machine has sent its data.
    @functools.wraps(_stock_continue)
    def continue_inspection(
        task: typing.Any, inventory: dict, plugin_data: dict | None
    ) -> None:
        with context(task, inventory, plugin_data or {}):
            _stock_continue(task, inventory, plugin_data)

    # Ironic calls this when an inspection begins.
    @functools.wraps(_stock_inspect)
    def inspect_hardware(task: typing.Any) -> None:
        with context(task):
            _stock_inspect(task)

    # Replacing the functions is enough, because the conductor's manager looks
    # both of them up in their module at every call.
    CONTINUE.replace_with(continue_inspection)
    INSPECT.replace_with(inspect_hardware)


def before_inspection(prepare: Callable[[typing.Any], None]) -> None:
    """Call a function whenever a conductor begins an inspection.

    This must be called after :func:`around_inspection`, which would discard
    this patch because it always calls Ironic's original function.

    :param prepare: the function, called with the task. If it raises an error,
        the inspection fails.
    """
    # This is the function that around_inspection() has installed, not Ironic's
    # original function.
    present_function = INSPECT.find()

    @functools.wraps(present_function)
    def inspect_hardware(task: typing.Any) -> None:
        prepare(task)
        present_function(task)

    INSPECT.replace_with(inspect_hardware)


def replace_rules(apply: Apply) -> None:
    """Call a function wherever Ironic would apply its own rules."""
    # All callers look the function up in its module, so replacing it there is
    # enough.
    APPLY_RULES.replace_with(apply)


def power_on(task: typing.Any) -> None:
    """Power on or reboot a machine at the beginning of its inspection."""
    # The method does not use its ``self``, so None can be passed.
    _stock_power_on_or_reboot(None, task)


def replace_power_on(put: Callable[[str], object]) -> None:
    """Call a function instead of powering machines on for their inspection.

    The function puts the node into a queue, and the machine is powered on
    later.

    :param put: the function, called with the UUID of the node.
    :raises: Invalid if this release of Ironic powers machines on in another
        way.
    """
    if not name.are_available([POWER_ON]):
        raise exceptions.Invalid(
            _(
                '[inspection_queue]reboot_throttle cannot be kept with '
                'Ironic %s'
            )
            % name.release()
        )

    def power_on_or_reboot(self: typing.Any, task: typing.Any) -> None:
        put(task.node.uuid)

    POWER_ON.replace_with(power_on_or_reboot)


def after_removal(forget: Callable[[str], None]) -> None:
    """Call a function whenever a node was removed from Ironic.

    Nothing is patched if this release of Ironic lacks the method that removes
    a node.

    :param forget: the function, called with the UUID of the removed node. It
        removes the records of the node.
    """
    if not name.are_available([DESTROY]):
        return

    @functools.wraps(_stock_destroy)
    def destroy(node: typing.Any, *args: typing.Any) -> None:
        # If the node cannot be removed, this raises an error, and the node
        # keeps its records.
        _stock_destroy(node, *args)
        forget(node.uuid)

    DESTROY.replace_with(destroy)
