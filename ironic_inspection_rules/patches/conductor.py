# SPDX-License-Identifier: Apache-2.0

"""The process of a conductor: whether it is this one, how it connects, ends.

Ironic 35 to 38 have no options for TLS, and use the defaults of requests.
"""

import atexit
from collections.abc import Callable
import functools
import threading
from typing import Any

from requests import adapters

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
STOPS = tuple(
    name.Name(module, path, 'the last records before a stop are lost',
              required=False)
    for module, path in (
        ('ironic.conductor.base_manager', 'BaseConductorManager.del_host'),
        ('ironic.common.wsgi_service', 'BaseWSGIService.stop')))

ADAPTER = name.Name(
    'ironic.common.image_service', 'TLSHTTPAdapter',
    "api-call does not keep to Ironic's options for TLS", required=False)

NAMES = (MANAGER, SHUTDOWN, HAS_RESERVED, *STOPS,
         *([ADAPTER] if ADAPTER.find() else []))


def is_in_this_process() -> bool:
    """Return whether this process is that of a conductor."""
    return _manager() is not None


def stop_event() -> threading.Event:
    """Return the event that a conductor in this process sets when it stops.

    Without a conductor it is never set.
    """
    manager = _manager()
    return threading.Event() if manager is None else manager._shutdown


def keep_running_while(busy: Callable[[], bool]) -> None:
    """Make the conductor in this process wait for something before it ends.

    It waits as it does for the nodes that it has locked.
    """
    manager = _manager()
    has_reserved = manager.has_reserved
    manager.has_reserved = lambda: busy() or has_reserved()


def before_stop(finish: Callable[[], None]) -> None:
    """Call a function when all work of a service is done.

    Its process ends without calling those registered with ``atexit``.

    :param finish: must not raise.
    """
    def followed(stop: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(stop)
        def stop_and_finish(*args: Any, **kwargs: Any) -> Any:
            try:
                return stop(*args, **kwargs)
            finally:
                finish()
        return stop_and_finish

    atexit.register(finish)
    for place in STOPS:
        if stop := place.find():
            place.put(followed(stop))


def _manager() -> Any:
    """Return the conductor's manager, None without one that is as needed."""
    is_as_needed = name.are_here([MANAGER, SHUTDOWN, HAS_RESERVED])
    return MANAGER.find() if is_as_needed else None


def make_adapter(**arguments: Any) -> adapters.HTTPAdapter:
    """Build an adapter as Ironic does for images."""
    return (ADAPTER.find() or adapters.HTTPAdapter)(**arguments)
