# SPDX-License-Identifier: Apache-2.0

"""The moment at which Ironic powers a machine on for inspection."""

from collections.abc import Callable
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import name

POWER_ON = name.Name(
    'ironic.drivers.modules.inspector.interface',
    'Common._power_on_or_reboot',
    '[inspection_queue]reboot_throttle is refused',
    parameters=('self', 'task'), required=False)

NAMES = (POWER_ON,)

_stock_power_on_or_reboot = POWER_ON.find()


def power_on(task: typing.Any) -> None:
    """Power a machine on, or reboot it, as its inspection begins."""
    _stock_power_on_or_reboot(None, task)


def replace_power_on(put: Callable[[str], object]) -> None:
    """Have machines powered on later, when it is their turn.

    :param put: called with the UUID of the node.
    :raises: Invalid where this Ironic powers machines on in another way.
    """
    if not name.are_here(NAMES):
        raise exceptions.Invalid(
            _('[inspection_queue]reboot_throttle cannot be kept with '
              'Ironic %s') % name.release())

    def power_on_or_reboot(self: typing.Any, task: typing.Any) -> None:
        put(task.node.uuid)

    POWER_ON.put(power_on_or_reboot)
