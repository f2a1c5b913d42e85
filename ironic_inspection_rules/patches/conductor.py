# SPDX-License-Identifier: Apache-2.0

"""The conductor in the same process."""

from collections.abc import Callable
import threading
from typing import Any

from ironic_inspection_rules.patches import name

MANAGER = name.Name(
    'ironic.common.rpc', 'GLOBAL_MANAGER',
    'an all-in-one Ironic has no inspection worker', required=False)
SHUTDOWN = name.Name(
    'ironic.conductor.base_manager', 'BaseConductorManager._shutdown',
    'an all-in-one Ironic has no inspection worker', required=False)
HAS_RESERVED = name.Name(
    'ironic.conductor.base_manager', 'BaseConductorManager.has_reserved',
    'an all-in-one Ironic has no inspection worker',
    parameters=('self',), required=False)

NAMES = (MANAGER, SHUTDOWN, HAS_RESERVED)


def is_in_this_process() -> bool:
    """Whether this process is that of a conductor."""
    return _manager() is not None


def stop_event() -> threading.Event:
    """What a conductor in this process sets when it begins to stop.

    :returns: an event that is never set where there is no conductor.
    """
    manager = _manager()
    return threading.Event() if manager is None else manager._shutdown


def keep_running_while(busy: Callable[[], bool]) -> None:
    """Have the conductor in this process wait for something before it ends.

    It waits as it does for the nodes that it has locked.

    :param busy: whether it is to wait longer.
    """
    manager = _manager()
    has_reserved = manager.has_reserved
    manager.has_reserved = lambda: busy() or has_reserved()


def _manager() -> Any:
    """The conductor's manager; None too where it is not as needed."""
    return MANAGER.find() if name.are_here(NAMES) else None
