# SPDX-License-Identifier: Apache-2.0

"""Patches of how a conductor or an API process ends."""

import atexit
from collections.abc import Callable
import functools
import threading
from typing import Any

from ironic_inspection_rules.patches import name

MANAGER = name.Name(
    'ironic.common.rpc',
    'GLOBAL_MANAGER',
    'an all-in-one Ironic has no inspection worker',
    required=False,
)
SHUTDOWN = name.Name(
    'ironic.conductor.base_manager',
    'BaseConductorManager._shutdown',
    'an all-in-one Ironic has no inspection worker',
    required=False,
)
HAS_RESERVED = name.Name(
    'ironic.conductor.base_manager',
    'BaseConductorManager.has_reserved',
    'an all-in-one Ironic has no inspection worker',
    parameters=('self',),
    required=False,
)
DEL_HOST = name.Name(
    'ironic.conductor.base_manager',
    'BaseConductorManager.del_host',
    'the last records before a stop are lost',
    required=False,
)
STOP_API = name.Name(
    'ironic.common.wsgi_service',
    'BaseWSGIService.stop',
    'the last records before a stop are lost',
    required=False,
)
STOPS = (DEL_HOST, STOP_API)
"""Methods with which a service ends its work, of a conductor or an API."""

NAMES = (MANAGER, SHUTDOWN, HAS_RESERVED, *STOPS)


def is_in_this_process() -> bool:
    """Return whether this process is that of a conductor."""
    return _find_manager() is not None


def stop_event() -> threading.Event:
    """Return the event that a conductor in this process sets when it stops.

    Without a conductor it is never set.
    """
    manager = _find_manager()
    if manager is None:
        return threading.Event()
    return manager._shutdown


def keep_running_while(busy: Callable[[], bool]) -> None:
    """Make the conductor in this process wait for our work before it ends.

    It waits as it does for nodes that it has locked. The caller makes sure
    that :func:`is_in_this_process`.

    :param busy: returns whether there is still work.
    """
    manager = _find_manager()
    stock_has_reserved = manager.has_reserved

    def has_reserved() -> bool:
        return busy() or stock_has_reserved()

    # A conductor that stops asks again and again whether it has locked nodes,
    # until the answer is False or the time to stop gracefully is over. It asks
    # nothing else, so our work counts as such a node.
    manager.has_reserved = has_reserved


def after_work(finish: Callable[[], None]) -> None:
    """Call a function when all work of a service is done, before it ends.

    :param finish: must not raise; may be called more than once.
    """
    # This is for programs that are no service of Ironic, and for an API that
    # another web server runs.
    atexit.register(finish)
    # Processes of Ironic's own services end without calling what is registered
    # above.
    for method in STOPS:
        stop = method.find()
        if stop is not None:
            method.put(_wrap_stop(finish, stop))


def _wrap_stop(
    finish: Callable[[], None], stop: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the method that stops a service, with ``finish`` called after it.

    ``finish`` is called after an error, too.
    """

    @functools.wraps(stop)
    def stop_and_finish(*args: Any, **kwargs: Any) -> Any:
        try:
            return stop(*args, **kwargs)
        finally:
            finish()

    return stop_and_finish


def _find_manager() -> Any:
    """Return the manager of the conductor in this process.

    :returns: None if there is no conductor, or if this Ironic lacks a name
        that is needed to work with it.
    """
    if name.are_here([MANAGER, SHUTDOWN, HAS_RESERVED]):
        return MANAGER.find()
    return None
