# SPDX-License-Identifier: Apache-2.0

"""An attempt at an inspection, as the hook works on it.

A worker delivers a request at least once, and what the rules of a phase do
is to happen once. So further attempts repeat the outcome of a phase instead
of running its rules again.
"""

from collections.abc import Iterator, Mapping
import contextlib
from typing import Any

from ironic.common import exception as ironic_exception

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import surroundings
from ironic_inspection_rules.runs import recorder

Difference = Mapping[str, Any]
"""A difference of plugin data: names to ``set`` and to ``unset``."""


class Abandoned(BaseException):
    """The attempt ends here, and Ironic is told nothing.

    Not an ``Exception``: Ironic takes those as an inspection that failed.
    """


class NullAttempt:
    """Inspection without a request, which happens once or not at all."""

    def __init__(self, run: recorder.Run) -> None:
        self.run = run

    def has_checkpoint(self, phase: str) -> bool:
        """Return whether an earlier attempt saved the outcome of a phase."""
        return False

    def replay(self, phase: str, task, target: working_copy.WorkingCopy,
               plugin_data: dict) -> None:
        """Repeat the outcome of a phase."""

    def checkpoint(self, phase: str, target: working_copy.WorkingCopy,
                   difference: Difference, more: Mapping[str, Any],
                   error: Exception | None) -> saving.Checkpoint | None:
        """Prepare the checkpoint of a phase."""
        return None

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Leave what goes wrong with the database to Ironic."""
        yield


class Attempt(NullAttempt):
    """One attempt at a request.

    A checkpoint is the outcome of a phase. It is kept with the request, so it
    outlives the worker, and it is saved in the transaction of the changes
    that the phase made: either both are there or none, and the next attempt
    does not apply the phase twice. Saving proves the token of the delivery,
    so a worker that was given up saves neither.

    :param request: the request, its processing begun.
    """

    def __init__(self, run: recorder.Run, requests: queue_request.Queue,
                 request: queue_request.Request) -> None:
        super().__init__(run)
        self._queue = requests
        self.request = request

    def has_checkpoint(self, phase: str) -> bool:
        return self.request.checkpoints.get(phase) is not None

    def replay(self, phase: str, task, target: working_copy.WorkingCopy,
               plugin_data: dict) -> None:
        """Repeat the outcome of a phase.

        What the phase changed is set again where something else has set it
        since: other hooks run once more in each attempt.

        :param plugin_data: is changed in place.
        :raises: HardwareInspectionFailure where a rule had inspection fail.
        """
        outcome = self.request.checkpoints[phase]
        self.run.take_up(phase, outcome.get('run'))
        for root, path, *value in outcome['changes']:
            _repeat(target, root, tuple(path), value)
        saving.save(task, target, (), outcome['more'],
                    self._checkpoint(phase, outcome))
        apply(outcome['plugin_data'], plugin_data)
        if outcome['error']:
            raise ironic_exception.HardwareInspectionFailure(
                error=outcome['error'])

    def checkpoint(self, phase: str, target: working_copy.WorkingCopy,
                   difference: Difference, more: Mapping[str, Any],
                   error: Exception | None) -> saving.Checkpoint | None:
        """Prepare the checkpoint of a phase.

        :param difference: what the phase did to plugin data.
        :param more: further attributes of the node that were changed.
        :returns: saves it; raises Abandoned if the request has been
            delivered anew.
        """
        return self._checkpoint(phase, {
            'changes': _final_values(target),
            'plugin_data': difference,
            'more': more,
            'error': str(error) if error else None,
            'run': self.run.checkpoint(phase)})

    def _checkpoint(self, phase: str, outcome: Mapping[str, Any]
                    ) -> saving.Checkpoint:
        def save(transaction: Any) -> None:
            try:
                self.request = self._queue.save_checkpoints(
                    self.request,
                    {**self.request.checkpoints, phase: outcome}, transaction)
            except exceptions.LeaseLost as exc:
                raise Abandoned() from exc
        return save

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Abandon the attempt when something around it fails."""
        try:
            yield
        except Exception as exc:
            if not surroundings.are_to_blame(exc):
                raise
            raise Abandoned() from exc


_ATTRIBUTE = 'inspection_rules_attempt'
"""The attribute of a task that holds the attempt.

Between who begins an inspection and the hook that runs rules lie calls of
Ironic. All of them hand on the task.
"""


def of(task: Any) -> NullAttempt | None:
    """Return the attempt that a task is for, None if it has none yet."""
    return getattr(task, _ATTRIBUTE, None)


@contextlib.contextmanager
def handed_over(attempt: NullAttempt, task: Any) -> Iterator[None]:
    """Hand an attempt to all that get the task while the context lasts."""
    setattr(task, _ATTRIBUTE, attempt)
    try:
        yield
    finally:
        setattr(task, _ATTRIBUTE, None)


@contextlib.contextmanager
def request_scope(attempt: Attempt, task: Any) -> Iterator[None]:
    """Hand over an attempt at a request while the context lasts.

    :raises: LeaseLost or TemporaryFailure where the attempt is abandoned.
    """
    try:
        with handed_over(attempt, task):
            yield
    except Abandoned as exc:
        if isinstance(exc.__cause__, exceptions.LeaseLost):
            raise exc.__cause__ from exc
        raise exceptions.TemporaryFailure(str(exc.__cause__)) from exc


def difference(before: Mapping[str, Any],
               after: Mapping[str, Any]) -> Difference:
    """Return what makes one plugin data of another, name by name."""
    return {'set': {name: value for name, value in after.items()
                    if name not in before
                    or not data_path.same(before[name], value)},
            'unset': [name for name in before if name not in after]}


def apply(changes: Difference, plugin_data: dict) -> None:
    """Change plugin data, in place."""
    plugin_data.update(changes['set'])
    for name in changes['unset']:
        plugin_data.pop(name, None)


def _final_values(target: working_copy.WorkingCopy) -> list[list[Any]]:
    """List what became of the node and its ports, ports by their UUID."""
    found: list[list[Any]] = []
    for root, path, value in target.final_values():
        if root == working_copy.PLUGIN_DATA:
            continue
        if root == working_copy.PORTS:
            port = target.get(root, path[:1])
            path = (port['uuid'], *path[1:])
        found.append([root, path] if value is data_path.ABSENT
                     else [root, path, value])
    return found


def _repeat(target: working_copy.WorkingCopy, root: str, path: data_path.Path,
            value: list[Any]) -> None:
    if root == working_copy.PORTS:
        try:
            path = (*target.port(path[0]), *path[1:])
        except exceptions.OperationError:
            # Removed meanwhile.
            return
    if value:
        target.set(root, path, *value)
    else:
        target.unset(root, path)
