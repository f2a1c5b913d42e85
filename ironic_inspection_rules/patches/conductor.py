# SPDX-License-Identifier: Apache-2.0

"""Patches that let work finish before a conductor or an API process ends.

In an all-in-one Ironic, one process runs the API and a conductor, and our
inspection workers as threads. The workers stop together with the conductor,
and the process must not end before they have finished. In any process of
Ironic, :func:`after_work` lets our records be written at the end.
"""

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
"""Methods that a conductor or an API calls to stop its work."""

NAMES = (MANAGER, SHUTDOWN, HAS_RESERVED, *STOPS)


def is_in_this_process() -> bool:
    """Return whether a conductor runs in this process."""
    return _find_manager() is not None


def stop_event() -> threading.Event:
    """Return the event that the conductor in this process sets when it stops.

    If there is no conductor, the returned event is never set.
    """
    manager = _find_manager()
    if manager is None:
        return threading.Event()
    return manager._shutdown


def keep_running_while(busy: Callable[[], bool]) -> None:
    """Make the conductor in this process wait for our work before it ends.

    A conductor that stops waits until it has no locked nodes, or until the
    graceful shutdown times out. It does not know of our work, so it must
    believe that it has locked nodes while there is unfinished work.

    The caller must make sure that :func:`is_in_this_process` is true.

    :param busy: returns whether there is unfinished work.
    """
    manager = _find_manager()
    stock_has_reserved = manager.has_reserved

    def has_reserved() -> bool:
        return busy() or stock_has_reserved()

    # Replace the method of this manager, with which it asks for locked nodes.
    manager.has_reserved = has_reserved


def after_work(finish: Callable[[], None]) -> None:
    """Call a function after all work of a service, before its process ends.

    For example, it stores what the process has counted in memory.

    :param finish: the function. It must not raise an error, and may be called
        more than once.
    """
    # This works for programs that are not a service of Ironic, and for an API
    # that runs in another web server.
    atexit.register(finish)
    # The processes of Ironic's own services end without calling the functions
    # registered with atexit, so their methods must be patched.
    for method in STOPS:
        stop = method.find()
        if stop is not None:
            method.replace_with(_wrap_stop(finish, stop))


def _wrap_stop(
    finish: Callable[[], None], stop: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a method that stops a service, and then calls a function.

    :param finish: the function. It is called even if the service fails to
        stop.
    :param stop: Ironic's own method that stops the service.
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

    :returns: None if there is no conductor, or if this release of Ironic lacks
        one of the names that are needed to work with it.
    """
    if name.are_available([MANAGER, SHUTDOWN, HAS_RESERVED]):
        return MANAGER.find()
    return None
