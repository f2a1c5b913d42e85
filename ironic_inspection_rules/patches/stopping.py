# SPDX-License-Identifier: Apache-2.0

"""The moment at which a service of Ironic stops.

Its process ends without the functions that ``atexit`` knows.
"""

import atexit
from collections.abc import Callable
import functools
import typing

from ironic_inspection_rules.patches import name

NAMES = tuple(
    name.Name(module, path, 'the last records before a stop are lost',
              required=False)
    for module, path in (
        ('ironic.conductor.base_manager', 'BaseConductorManager.del_host'),
        ('ironic.common.wsgi_service', 'BaseWSGIService.stop')))


def before_stop(finish: Callable[[], None]) -> None:
    """Have a service call a function when all its work is done.

    :param finish: must not raise.
    """
    atexit.register(finish)
    for place in NAMES:
        if stop := place.find():
            place.put(_followed(stop, finish))


def _followed(stop: Callable[..., typing.Any],
              finish: Callable[[], None]) -> Callable[..., typing.Any]:
    @functools.wraps(stop)
    def stop_and_finish(*args: typing.Any, **kwargs: typing.Any
                        ) -> typing.Any:
        try:
            return stop(*args, **kwargs)
        finally:
            finish()

    return stop_and_finish
