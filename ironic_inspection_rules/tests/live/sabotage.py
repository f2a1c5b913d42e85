# SPDX-License-Identifier: Apache-2.0

"""An inspection hook that kills its process at a step that a test chooses.

The name of a node chooses the step: ``<step>-<anything>``, where the step is
one of STEPS. At this step, the process is killed by SIGKILL. This happens only
once per node, because a file in the directory SABOTAGE records it. If the name
is ``raise-…``, the hook always raises an exception; if it is ``slow-…``, the
hook takes an additional second.

Ironic does not call hooks at some of the steps. The hook therefore wraps the
methods of these steps when it is loaded.
"""

from collections.abc import Callable
import functools
import os
import pathlib
import signal
import time
from typing import Any

from ironic import objects
from ironic.common import context
from ironic.drivers.modules.inspector.hooks import base

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.inspection import inspection
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery

DIRECTORY = 'SABOTAGE'
"""Name of the environment variable with the path of the directory."""

STEPS = ('get', 'lock', 'hook', 'phases', 'save', 'consume', 'unlock')
"""The steps at which a worker can be killed.

They are, in this order: after it got the request; after it locked the node; in
a hook; between two phases of rules; after the changes of the last phase were
saved; before it consumes the request; before it unlocks the node.
"""

ENTRY_POINT = f'sabotage = {__name__}:Sabotage'

_EXTRA_SECONDS = 1.0


class Sabotage(base.InspectionHook):
    """The hook, which must be configured before the hook that runs rules."""

    def __init__(self) -> None:
        _before(delivery.Delivery, 'carry_out', 'get')
        _before(delivery.Delivery, '_process', 'lock')
        _after(inspection.Inspection, 'run_phase', 'save', model.MAIN)
        _before(database_queue.DatabaseQueue, 'consume', 'consume')
        _after(database_queue.DatabaseQueue, 'consume', 'unlock')

    def preprocess(
        self, task: Any, inventory: dict, plugin_data: dict
    ) -> None:
        """Raise, sleep or kill the process, as the name of the node says."""
        name = task.node.name or ''
        if name.startswith('raise-'):
            raise ValueError('sabotage')
        if name.startswith('slow-'):
            time.sleep(_EXTRA_SECONDS)
        _reach('hook', task.node.uuid)

    def __call__(self, task: Any, inventory: dict, plugin_data: dict) -> None:
        """Kill the process between the two phases of rules."""
        _reach('phases', task.node.uuid)


def _reach(step: str, node_uuid: str) -> None:
    """Kill the process if the node's name has this step, once per node."""
    node = objects.Node.get_by_uuid(context.get_admin_context(), node_uuid)
    if not (node.name or '').startswith(f'{step}-'):
        return
    try:
        pathlib.Path(os.environ[DIRECTORY], node_uuid).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: type, method: str, step: str) -> None:
    """Wrap a method so that the step is reached before every call."""
    stock = getattr(owner, method)

    @functools.wraps(stock)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        _reach(step, _node_uuid((*args, self)))
        return stock(self, *args, **kwargs)

    setattr(owner, method, wrapper)


def _after(
    owner: type, method: str, step: str, phase: str | None = None
) -> None:
    """Wrap a method so that the step is reached after every call.

    :param phase: if given, skip calls whose first argument is another phase.
    """
    stock: Callable[..., Any] = getattr(owner, method)

    @functools.wraps(stock)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = stock(self, *args, **kwargs)
        if phase is None or phase == args[0]:
            _reach(step, _node_uuid((*args, self)))
        return result

    setattr(owner, method, wrapper)


def _node_uuid(args: tuple[Any, ...]) -> str:
    """Return the UUID of the node to which the arguments of a call belong.

    :param args: one of them is a request or has one; otherwise the last is an
        inspection.
    """
    for argument in args:
        request = getattr(argument, 'request', argument)
        if hasattr(request, 'node_uuid'):
            return request.node_uuid
    return args[-1].task.node.uuid
