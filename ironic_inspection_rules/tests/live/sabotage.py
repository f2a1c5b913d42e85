# SPDX-License-Identifier: Apache-2.0

"""An inspection hook that kills its process where a test wants it to.

Nodes say by their names what is to happen to their inspection:
``<step>-<anything>``, with one of STEPS. The process dies there by SIGKILL,
once for each node: a file in the directory SABOTAGE remembers it. On the
node ``raise-…`` the hook always raises an exception, on ``slow-…`` it takes
a second.

Steps that no hook sees are got at by wrapping, at the time that the hook is
loaded.
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
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import delivery

DIRECTORY = 'SABOTAGE'
"""Name of the environment variable that names the directory."""

STEPS = ('get', 'lock', 'hook', 'phases', 'save', 'consume', 'unlock')
"""Where a worker can be made to die.

After it got the request; after it locked the node; in a hook; between two
phases of rules; after the changes of the last phase were saved; before it
consumes the request; before it unlocks the node.
"""

ENTRY_POINT = f'sabotage = {__name__}:Sabotage'

_EXTRA_SECONDS = 1.0


class Sabotage(base.InspectionHook):
    """Belongs before the hook that runs rules."""

    def __init__(self) -> None:
        _before(delivery.Delivery, 'carry_out', 'get')
        _before(attempt.Attempt, 'check', 'lock')
        _after(inspection.Inspection, 'run_phase', 'save', model.MAIN)
        _before(database_queue.DatabaseQueue, 'consume', 'consume')
        _after(database_queue.DatabaseQueue, 'consume', 'unlock')

    def preprocess(
        self, task: Any, inventory: dict, plugin_data: dict
    ) -> None:
        """Do what the name of the node says."""
        name = task.node.name or ''
        if name.startswith('raise-'):
            raise ValueError('sabotage')
        if name.startswith('slow-'):
            time.sleep(_EXTRA_SECONDS)
        _reach('hook', task.node.uuid)

    def __call__(self, task: Any, inventory: dict, plugin_data: dict) -> None:
        """Come between the two phases of rules."""
        _reach('phases', task.node.uuid)


def _reach(step: str, node_uuid: str) -> None:
    node = objects.Node.get_by_uuid(context.get_admin_context(), node_uuid)
    if not (node.name or '').startswith(f'{step}-'):
        return
    try:
        pathlib.Path(os.environ[DIRECTORY], node_uuid).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: type, method: str, step: str) -> None:
    stock = getattr(owner, method)

    @functools.wraps(stock)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        _reach(step, _node_uuid((*args, self)))
        return stock(self, *args, **kwargs)

    setattr(owner, method, wrapper)


def _after(
    owner: type, method: str, step: str, phase: str | None = None
) -> None:
    stock: Callable[..., Any] = getattr(owner, method)

    @functools.wraps(stock)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = stock(self, *args, **kwargs)
        if phase is None or phase == args[0]:
            _reach(step, _node_uuid((*args, self)))
        return result

    setattr(owner, method, wrapper)


def _node_uuid(args: tuple[Any, ...]) -> str:
    """Find the node of a request, a delivery or an inspection."""
    for argument in args:
        request = getattr(argument, 'request', argument)
        if hasattr(request, 'node_uuid'):
            return request.node_uuid
    return args[-1].task.node.uuid
