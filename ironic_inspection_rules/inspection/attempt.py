# SPDX-License-Identifier: Apache-2.0

"""An attempt at an inspection, as the hook sees it.

A request is delivered at least once, but the changes of a phase must be made
once. So later attempts repeat the saved outcome of a phase instead of running
its rules again.
"""

from collections.abc import Iterator, Mapping
import contextlib
from typing import Any

from ironic.common import exception as ironic_exception

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import surroundings
from ironic_inspection_rules.runs import recorder

Difference = Mapping[str, Any]
"""A difference of plugin data: values to ``set``, names to ``unset``."""


class Abandoned(BaseException):
    """The attempt ends, and Ironic must not fail the inspection.

    Not an ``Exception``: Ironic would catch that and fail the inspection.
    """


class Attempt:
    """One attempt at an inspection.

    If the inspection has a request, each phase has a checkpoint: its outcome.
    It is stored with the request, in the transaction that saves the changes
    of the phase, so that the next attempt does not apply the phase twice.
    Saving checks the token of the delivery, so a worker that has lost its
    lease saves neither.

    :param requests: the queue, None if the inspection has no request.
    :param request: as :meth:`.DatabaseQueue.begin` returned it.
    """

    def __init__(self, run: recorder.Run,
                 requests: database_queue.DatabaseQueue | None = None,
                 request: queue_request.Request | None = None) -> None:
        self.run = run
        self._queue = requests
        self.request = request

    def has_checkpoint(self, phase: str) -> bool:
        """Return whether an earlier attempt saved the outcome of a phase."""
        if self.request is None:
            return False
        return self.request.checkpoints.get(phase) is not None

    def replay(self, phase: str, task, target: working_copy.WorkingCopy,
               plugin_data: dict) -> None:
        """Repeat the outcome of a phase that has a checkpoint.

        Changed values are set again, as other hooks run in each attempt and
        may have overwritten them.

        :param plugin_data: is changed in place.
        :raises: HardwareInspectionFailure if a rule has failed inspection.
        """
        assert self.request is not None
        outcome = self.request.checkpoints[phase]
        self.run.take_up(phase, outcome.get('run'))
        for root, path, *value in outcome['changes']:
            _repeat(target, root, tuple(path), value)
        saving.save(task, target, outcome['more'],
                    self._checkpoint(phase, outcome))
        apply(outcome['plugin_data'], plugin_data)
        if outcome['error']:
            raise ironic_exception.HardwareInspectionFailure(
                error=outcome['error'])

    def checkpoint(self, phase: str, target: working_copy.WorkingCopy,
                   difference: Difference, more: Mapping[str, Any],
                   error: Exception | None) -> saving.Checkpoint | None:
        """Prepare the checkpoint of a phase.

        :param difference: changes of plugin data.
        :param more: further changed attributes of the node.
        :param error: the failure that a rule requested, if any.
        :returns: a function that saves it; raises Abandoned if the request
            has been delivered again. None if there is no request.
        """
        if self.request is None:
            return None
        return self._checkpoint(phase, {
            'changes': _final_values(target),
            'plugin_data': difference,
            'more': more,
            'error': str(error) if error else None,
            'run': self.run.checkpoint(phase)})

    def _checkpoint(self, phase: str, outcome: Mapping[str, Any]
                    ) -> saving.Checkpoint:
        def save(transaction: Any) -> None:
            assert self._queue is not None and self.request is not None
            try:
                self.request = self._queue.save_checkpoints(
                    self.request,
                    {**self.request.checkpoints, phase: outcome}, transaction)
            except exceptions.LeaseLost as exc:
                raise Abandoned() from exc
        return save

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Raise Abandoned for errors of the surroundings.

        Without a request, which could be delivered again, all errors are left
        to Ironic.
        """
        try:
            yield
        except Exception as exc:
            if self.request is None or not surroundings.are_to_blame(exc):
                raise
            raise Abandoned() from exc


_ATTRIBUTE = 'inspection_rules_attempt'
"""Attribute of a task that holds the attempt.

Ironic's calls lie between the start of an inspection and the hook that runs
rules. All of them pass the task on.
"""


def of(task: Any) -> Attempt | None:
    """Return the attempt of a task, None if it has none."""
    return getattr(task, _ATTRIBUTE, None)


@contextlib.contextmanager
def handed_over(attempt: Attempt, task: Any) -> Iterator[None]:
    """Attach an attempt to a task while the context lasts."""
    setattr(task, _ATTRIBUTE, attempt)
    try:
        yield
    finally:
        setattr(task, _ATTRIBUTE, None)


@contextlib.contextmanager
def request_scope(attempt: Attempt, task: Any) -> Iterator[None]:
    """Attach an attempt at a request to a task while the context lasts.

    :raises: LeaseLost or TemporaryFailure if the attempt is abandoned.
    """
    try:
        with handed_over(attempt, task):
            yield
    except Abandoned as exc:
        cause = exc.__cause__ or exc
        if isinstance(cause, exceptions.LeaseLost):
            raise cause from exc
        raise surroundings.failure(cause) from exc


class GuardedHook:
    """An inspection hook that ends the attempt if its surroundings fail.

    Ironic would fail the node, or keep only the text of the error.

    :param hook: the stevedore extension.
    """

    def __init__(self, hook: Any, current: Attempt) -> None:
        self.name = hook.name
        self.obj = self
        self._hook = hook.obj
        self._attempt = current

    def preprocess(self, *args: Any) -> None:
        """Run the hook before those that change something."""
        with self._attempt.guard():
            self._hook.preprocess(*args)

    def __call__(self, *args: Any) -> None:
        """Run the hook."""
        with self._attempt.guard():
            self._hook(*args)


def difference(before: Mapping[str, Any],
               after: Mapping[str, Any]) -> Difference:
    """Return the difference of plugin data, by top-level names."""
    return {'set': {name: value for name, value in after.items()
                    if name not in before
                    or not data_path.same(before[name], value)},
            'unset': [name for name in before if name not in after]}


def early_checkpoint(posted: Mapping[str, Any],
                     plugin_data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checkpoint with which a request is stored.

    :param posted: plugin data as the ramdisk posted them.
    :param plugin_data: plugin data after the early rules.
    """
    return {model.EARLY: difference(posted, plugin_data)}


def apply(changes: Difference, plugin_data: dict) -> None:
    """Apply a difference to plugin data, in place."""
    plugin_data.update(changes['set'])
    for name in changes['unset']:
        plugin_data.pop(name, None)


def _final_values(target: working_copy.WorkingCopy) -> list[list[Any]]:
    """List the changed values of the node and its ports.

    :returns: lists of root, path and value; without a value where it was
        removed. Ports are named by their UUID.
    """
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
            # The port was removed meanwhile.
            return
    if value:
        target.set(root, path, *value)
    else:
        target.unset(root, path)
