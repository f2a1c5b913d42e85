# SPDX-License-Identifier: Apache-2.0

"""An attempt at a request: an inspection that may be made again."""

from collections.abc import Iterator
import contextlib
from typing import Any

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.inspection import inspection
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import surroundings
from ironic_inspection_rules.runs import recorder

_EVENTS_OF_RUNS = {queue_request.CONTINUE: recorder.INSPECTION,
                   queue_request.REAPPLY: recorder.REAPPLY}


class Abandoned(BaseException):
    """The attempt ends, and Ironic must not fail the inspection.

    Not an ``Exception``: Ironic would catch that and fail the inspection.
    """


class Attempt(inspection.Inspection):
    """One attempt at a request.

    A checkpoint is stored with the request, in the transaction that saves the
    changes of the phase, so that the next attempt does not apply the phase
    twice. Saving checks the token of the delivery, so a worker that has lost
    its lease saves neither.

    :param task: see :class:`.Inspection`.
    :param requests: the queue.
    :param request: as :meth:`.DatabaseQueue.begin` returned it.
    """

    is_repeatable = True

    def __init__(self, task: Any, requests: database_queue.DatabaseQueue,
                 request: queue_request.Request) -> None:
        # All attempts at a request make one run, and share its UUID.
        super().__init__(task, recorder.Run(
            _EVENTS_OF_RUNS.get(request.event, recorder.INSPECTION),
            request.uuid))
        self._queue = requests
        self.request = request

    def begin_request(self) -> None:
        """Take the data of the request, and what early rules did to them."""
        request = self.request
        early = request.checkpoints.get(model.EARLY, {})
        self.begin(request.inventory, request.plugin_data, early.get('run'))

    def take_up(self) -> None:
        """Take up what earlier attempts did, where there is no other one."""
        self.begin_request()
        self._has_run_rules = True
        for phase in (model.PREPROCESS, model.MAIN):
            saved = self.request.checkpoints.get(phase, {})
            self.run.take_up(phase, saved.get('run'))

    def checkpoint_of(self, phase: str) -> checkpoint.Checkpoint | None:
        return self.request.checkpoints.get(phase)

    def saver_of(self, phase: str, saved: checkpoint.Checkpoint
                 ) -> saving.Together:
        """Return what saves a checkpoint together with a phase.

        :returns: raises Abandoned if the request was delivered again.
        """
        def save(transaction: Any) -> None:
            try:
                self.request = self._queue.save_checkpoints(
                    self.request, {**self.request.checkpoints, phase: saved},
                    transaction)
            except exceptions.LeaseLost as exc:
                raise Abandoned() from exc
        return save

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Raise Abandoned for errors of the surroundings.

        They do not fail the node: the request is delivered again.
        """
        try:
            yield
        # Drivers of databases and others raise many kinds of errors.
        except Exception as exc:
            if not surroundings.are_to_blame(exc):
                raise
            raise Abandoned() from exc


@contextlib.contextmanager
def made(attempt: Attempt) -> Iterator[None]:
    """Attach an attempt to its task while the context lasts.

    :raises: LeaseLost or TemporaryFailure if the attempt is abandoned.
    """
    try:
        with attempt.handed_over():
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

    def __init__(self, hook: Any, attempt: Attempt) -> None:
        self.name = hook.name
        self.obj = self
        self._hook = hook.obj
        self._attempt = attempt

    def preprocess(self, *args: Any) -> None:
        """Run the hook before those that change something."""
        with self._attempt.guard():
            self._hook.preprocess(*args)

    def __call__(self, *args: Any) -> None:
        """Run the hook."""
        with self._attempt.guard():
            self._hook(*args)
