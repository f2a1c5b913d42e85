# SPDX-License-Identifier: Apache-2.0

"""One attempt to carry out an inspection request.

An attempt locks the node, lets Ironic's own code inspect it, and ends the
request. It may be interrupted, and another worker repeats it. Terms:

* A *run* is the record of what the rules did. It is stored at the end.
* A *checkpoint* is the outcome of a phase of rules that need not run again.
* External errors, e.g. of the database, interrupt an attempt, but
  do not fail the inspection, see :mod:`.external_error`. Ironic's code would
  catch such an error and fail the node. A *guard* around code that Ironic
  calls replaces the error by Abandoned, which Ironic does not catch.
* The *fence* refuses commits of a worker that has lost its request, see
  :mod:`.db.fence`.
"""

from collections.abc import Callable, Iterator
import contextlib
import copy
import functools
import sys
import types
from typing import Any

from ironic.common import exception as ironic_exception
from ironic.common import states
from ironic.common.inspection_rules import engine
from ironic.conductor import inspection as conductor_inspection
from ironic.conductor import utils as conductor_utils
from ironic.conf import CONF
from ironic.drivers.modules import inspect_utils
from oslo_db import exception as db_exc
from oslo_log import log
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import fence
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.inspection import inspection
from ironic_inspection_rules.patches import inspection as patch
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import external_error
from ironic_inspection_rules.queue import failure
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.runs import recorder

LOG = log.getLogger(__name__)

_EVENTS_OF_RUNS = {
    queue_request.CONTINUE: recorder.INSPECTION,
    queue_request.REAPPLY: recorder.REAPPLY,
}

_WITH_DATA = (queue_request.CONTINUE, queue_request.REAPPLY)
"""Events of requests that run rules on the data of a machine."""

_EVENTS_TO_INSPECTING = {
    states.INSPECTWAIT: 'resume',
    states.INSPECTFAIL: 'inspect',
}
"""Ironic's events that bring a node to "inspecting", by the node's state."""


class Attempt(inspection.Inspection):
    """One attempt at a request, whose node is locked.

    An attempt uses Ironic's own inspection to process the request. After the
    rules of a phase have run, one transaction saves their changes and a
    checkpoint of the phase, which is stored with the request. The next attempt
    finds the checkpoint and does not run the rules again. The transaction
    checks the token of the delivery, so a worker that has lost its lease
    saves neither.

    :param task: a :class:`.node.DeliveryTask`.
    :param requests: the queue.
    :param request: the request from :meth:`.DatabaseQueue.get`.
    :param timeout: seconds that a node may be in "inspect wait".
    :ivar request: the request as it is currently stored. Code that changes
        the request in the queue must set this to the changed request.
    """

    is_repeatable = True

    def __init__(
        self,
        task: Any,
        requests: database_queue.DatabaseQueue,
        request: queue_request.Request,
        timeout: float,
    ) -> None:
        # All attempts at a request share one run, whose UUID is that of the
        # request.
        event = _EVENTS_OF_RUNS.get(request.event, recorder.INSPECTION)
        super().__init__(task, recorder.RunRecorder(event, request.uuid))
        self._queue = requests
        self.request = request
        self.checkpoints = request.checkpoints
        self._timeout = timeout
        # Stores the run in the transaction that ends the request. None while
        # there is no run to store.
        self._store_run: recorder.Store | None = None

    def prepare_earlier_run(self) -> None:
        """Prepare the run of an inspection that an earlier attempt finished.

        The worker of the earlier attempt may have died after the last
        transition of the node, but before the transaction that ends the
        request and stores the run. In this case :meth:`end` stores the run.
        """
        request = self.request
        # Only posted data and timeouts can be finished by an earlier attempt,
        # and a timeout has no run.
        if request.event != queue_request.CONTINUE:
            return
        self._restore_run()
        if not recorder.is_stored(self.run, request.node_uuid):
            self._store_run = self.prepare_run(None)

    def process(self) -> str | None:
        """Process the request, and prepare its run for :meth:`end`.

        * If the inspection fails, the node fails, and the reason is returned.
          A failed reapplication only sets the last error of the node.
        * After an external error, the node is not changed. TemporaryFailure
          is raised, because another attempt may succeed.

        :returns: why the request has permanently failed, as recorded on the
            node; None if it succeeded.
        :raises: TemporaryFailure; LeaseLost if the request has another token
            or has ended.
        """
        carry_out: Callable[[], str | None] = {
            queue_request.CONTINUE: self._inspect,
            queue_request.REAPPLY: self._reapply,
            queue_request.TIMEOUT: self._time_out,
            queue_request.POWER_ON: self._power_on,
        }[self.request.event]
        try:
            self._prepare_task()
            error = carry_out()
            self._store_run = self.prepare_run(error)
            return error
        except external_error.Abandoned as exc:
            # It has passed through Ironic's code, which would have caught an
            # Exception and failed the node. Raise the actual error, which is a
            # LeaseLost or an external error.
            raise external_error.as_exception(exc) from exc
        except (exceptions.LeaseLost, exceptions.TemporaryFailure):
            raise
        # Hooks and drivers may raise anything. An external error,
        # e.g. of the database, must not fail the node; any other error does.
        except Exception as exc:
            if external_error.is_external(exc):
                raise external_error.as_temporary_failure(exc) from exc
            LOG.exception(
                'Request %(request)s of node %(node)s failed',
                {'request': self.request.uuid, 'node': self.request.node_uuid},
            )
            reason = failure.find_reason(exc)
            failure.fail_node(self.task, self.request, reason)
            # Ironic may have failed the node already, and may have recorded
            # only that the cleanup failed as well.
            failure.prepend_to_last_error(self.task.node, reason)
            self._store_run = self.prepare_run(reason)
            return reason

    def fail(self, reason: str) -> None:
        """Record on the node that the request cannot be carried out.

        If an earlier attempt may have run rules, this also prepares the run of
        that attempt, which :meth:`end` stores.

        :param reason: why the request cannot be carried out.
        """
        request = self.request
        failure.fail_node(self.task, request, reason)
        # The state is "processing" only if an earlier attempt has begun.
        has_begun = request.state == state.PROCESSING
        if has_begun and request.event in _WITH_DATA:
            self._restore_run()
            self._store_run = self.prepare_run(reason)

    def end(self, error: str | None) -> queue_request.Request:
        """End the request, store its run and unlock the node.

        One transaction does all three. If the database refuses the run, a
        warning is logged, and the request ends without its run.

        :param error: why the request failed; None if it succeeded.
        :returns: the ended request.
        :raises: LeaseLost if the request has another token or has ended.
        """
        task = self.task
        # The task calls this with the session of its transaction.
        end_request = functools.partial(
            self._queue.consume, self.request, error
        )
        try:
            ended = task.end(end_request, self._store_run)
        except db_exc.DBError as exc:
            # Try again without the run only if the run is at fault: an
            # unreachable database would refuse the request as well.
            if self._store_run is None or external_error.is_external(exc):
                raise
            recorder.warn_of_loss(task.node, exc)
            ended = task.end(end_request)
        # Remove old history. The fence lets a worker commit only while it
        # holds the lock of the node, which is unlocked by now.
        with fence.suspended():
            recorder.cleaner.clean(CONF.inspection_rules.keep_history)
        return ended

    def settle(self) -> None:
        """Fail the node if the ended request left it in inspection; unlock it.

        The leader of the workers calls this for a request that has ended
        without a change of its node, e.g. because its worker could not fail
        the node.
        """
        task = self.task
        request = self.request
        if queue_node.is_left_in_inspection(task.node, request):
            # This request has ended, so an open request of the node is newer.
            # When the newer one ends, it takes the node out of inspection.
            newer_request = self._queue.find_open(task.node.uuid)
            if newer_request is None:
                reason = request.last_error or _('it has ended')
                failure.fail_node(task, request, reason)
        # In one transaction, the task unlocks the node, and the queue records
        # that nothing is left to do for the request.
        note_in_queue = functools.partial(self._queue.settle, request)
        task.settle(note_in_queue)

    def run_phase(
        self, phase: str, inventory: dict, plugin_data: dict
    ) -> None:
        # Ironic must not catch external errors. Hooks are guarded
        # already, see _prepare_task(). This guard is for the main phase, which
        # Ironic runs with engine.apply_rules().
        with self.guard():
            super().run_phase(phase, inventory, plugin_data)

    def save_checkpoint(
        self, phase: str, saved: checkpoint.Checkpoint, session: Any
    ) -> None:
        """Save the checkpoint of a phase, see :class:`.Inspection`.

        It is stored with the request, beside the checkpoints of earlier
        phases.

        :param session: the session of the transaction that also saves the
            changes of the phase.
        :raises: Abandoned if the request has another token or has ended.
        """
        checkpoints = {**self.checkpoints, phase: saved}
        try:
            self.request = self._queue.save_checkpoints(
                self.request, checkpoints, session
            )
        except exceptions.LeaseLost as exc:
            # Ironic would catch LeaseLost, and would fail the node.
            raise external_error.Abandoned() from exc
        self.checkpoints = checkpoints

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Replace external errors, e.g. of the database, by Abandoned.

        Code that Ironic calls runs in this context. Ironic catches every
        Exception and fails the node. Abandoned is not an Exception, so it
        passes through Ironic's code, and the request is delivered again.

        :returns: a context manager, which can also decorate a function.
        """
        try:
            yield
        # Drivers, e.g. of databases, raise many kinds of errors.
        except Exception as exc:
            if not external_error.is_external(exc):
                raise
            raise external_error.Abandoned() from exc

    def _prepare_task(self) -> None:
        """Prepare the task and the data of the request for the inspection.

        * The driver is loaded.
        * The changes by early rules are applied to the plugin data. The API
          runs these rules on posted data before it stores the request. Their
          changes are the checkpoint ``early``, e.g. ``{'set': {'rack': 'r1'},
          'unset': [], 'run': {…}}``.
        * The hooks of the inspect interface get guards, see :meth:`guard`.
        * The inspection begins with the data, if the request has data.
        """
        request = self.request
        self.task.load_driver()
        early = self.checkpoints.get(model.EARLY, {})
        if early:
            # The request has the plugin data as they were posted. Hooks and
            # rules must get them as the early rules left them.
            checkpoint.apply(early, request.plugin_data)
        if request.event not in _WITH_DATA:
            return
        driver = self.task.driver
        hooks = getattr(driver.inspect, 'hooks', None)
        if hooks:
            # All tasks of this process share the inspect interface, so only a
            # copy of it gets the hooks of this attempt.
            driver.inspect = copy.copy(driver.inspect)
            driver.inspect.hooks = []
            # Without the guards, Ironic would fail the node after an external
            # error, or would keep only the text of the error.
            for hook in hooks:
                # Ironic calls a hook and its method "preprocess"; guard()
                # decorates both.
                guarded: Any = self.guard()(hook.obj.__call__)
                guarded.preprocess = self.guard()(hook.obj.preprocess)
                driver.inspect.hooks.append(
                    types.SimpleNamespace(name=hook.name, obj=guarded)
                )
        self.begin(request.inventory, request.plugin_data, early.get('run'))

    def _restore_run(self) -> None:
        """Add to the run what rules did in earlier attempts.

        A delivery that runs no rules itself, but stores the run, calls this.
        """
        request = self.request
        early = self.checkpoints.get(model.EARLY, {})
        self.begin(request.inventory, request.plugin_data, early.get('run'))
        # Rules ran in an earlier attempt. Without this, prepare_run() would
        # keep nothing of an inspection that has passed.
        self._has_run_rules = True
        for phase in (model.PREPROCESS, model.MAIN):
            saved = self.checkpoints.get(phase, {})
            self.run.restore(phase, saved.get('run'))

    def _inspect(self) -> str | None:
        """Process posted data with the code of Ironic's conductor.

        The node is first brought to "inspecting", unless it is in that state
        or was just discovered.

        :returns: why the inspection failed; None if it passed.
        """
        task = self.task
        request = self.request
        event = _EVENTS_TO_INSPECTING.get(task.node.provision_state)
        if event:
            task.node.last_error = None
            # process_event() would save the node. But continue_inspection()
            # begins with a save, and one commit is enough for both, so replace
            # save() for this call.
            task.node.save = _save_later
            try:
                task.process_event(event)
            finally:
                # Without this attribute, the node has the method of its class
                # again.
                del task.node.save
        # Ironic must not fail the node for an external error, so
        # replace the method with which it fails the node.
        task.process_event = self._process_event_or_raise
        try:
            conductor_inspection.continue_inspection(
                task, request.inventory, request.plugin_data
            )
        finally:
            # The task has the method of its class again.
            del task.process_event
        if task.node.provision_state == states.INSPECTFAIL:
            return task.node.last_error or _('Inspection failed.')
        return None

    def _process_event_or_raise(
        self, event: str, *args: Any, **kwargs: Any
    ) -> None:
        """Process an event of the node, or raise the error that led to it.

        While Ironic inspects the node, this replaces ``process_event`` of the
        task.

        * If an external error led to the event "fail", Abandoned is
          raised, because the next attempt may succeed.
        * If the event is not possible in the state of the node, the error that
          led to it is raised, or the last error of the node if there is no
          such error. Ironic would raise an error about the state, which would
          hide it.
        * Otherwise the event is processed.

        :param event: an event of Ironic's state machine, e.g. ``fail``.
        """
        task = self.task
        # Ironic calls process_event('fail') in "except Exception". There,
        # sys.exception() is the error because of which it fails the node.
        cause = sys.exception()
        if event == 'fail' and external_error.is_external(cause):
            raise external_error.Abandoned() from cause
        # For example, there is no "fail" for a node that was just discovered
        # or has failed already.
        if not task.fsm.is_actionable_event(event):
            if cause is not None:
                raise cause
            if task.node.last_error:
                raise ironic_exception.HardwareInspectionFailure(
                    error=task.node.last_error
                )
        # Call Ironic's method: task.process_event is this method.
        type(task).process_event(task, event, *args, **kwargs)

    def _reapply(self) -> str | None:
        """Run hooks and rules again, without a change of the node's state.

        The changed data are stored as the inspection data of the node.

        :returns: always None, because every failure is raised.
        """
        task = self.task
        hooks = getattr(task.driver.inspect, 'hooks', None)
        if hooks is None:
            raise ironic_exception.UnsupportedDriverExtension(
                driver=task.node.driver, extension='reapply'
            )
        inventory = self.request.inventory
        plugin_data = self.request.plugin_data
        # The last argument is a function that stores the logs of the ramdisk
        # if a hook fails. A reapplication has no new logs.
        inspect_utils.run_inspection_hooks(
            task, inventory, plugin_data, hooks, None
        )
        # This calls the rules of this project, which replace Ironic's own.
        engine.apply_rules(task, inventory, plugin_data, model.MAIN)
        # Ironic does the same: logs can be huge, and are stored separately.
        plugin_data.pop('logs', None)
        inspect_utils.store_inspection_data(
            task.node, inventory, plugin_data, task.context
        )
        task.node.last_error = None
        task.node.save()
        return None

    def _time_out(self) -> str | None:
        """Fail a node whose ramdisk has not posted its data in time.

        The conductor's own timeout, ``[conductor]inspect_wait_timeout``,
        applies too; the earlier one fails the node.

        :returns: why the node fails; None if it is no longer overdue, and so
            is not changed.
        """
        task = self.task
        if not queue_node.is_overdue(task.node, self._timeout):
            return None
        reason = _('The ramdisk did not call for %d seconds.') % self._timeout
        # The node must fail first, because the cleanup function expects a node
        # that has failed. Ironic's own timeout has the same order.
        task.process_event('fail')
        conductor_utils.cleanup_inspectwait_timeout(task)
        # The cleanup function records the timeout, unless the cleanup has
        # replaced it with another error.
        if not queue_node.has_timed_out(task.node):
            failure.prepend_to_last_error(task.node, reason)
        return reason

    def _power_on(self) -> str | None:
        """Power the machine on, and begin to wait for its ramdisk.

        :returns: always None, because every failure is raised.
        """
        task = self.task
        patch.power_on(task)
        # The timeout of the inspection starts now.
        task.node.inspection_started_at = timeutils.utcnow()
        task.node.save()
        return None


def _save_later(*_context: Any) -> None:
    """Do nothing, in place of a node's ``save``; a later save is enough."""


Lock = Callable[
    [queue_request.Request], contextlib.AbstractContextManager[Attempt]
]
"""Locks the node of a request, see :func:`locked`."""


@contextlib.contextmanager
def locked(
    requests: database_queue.DatabaseQueue,
    timeout: float,
    request: queue_request.Request,
) -> Iterator[Attempt]:
    """Lock the node of a request for an attempt, while the context lasts.

    If another process locks the node meanwhile, or the request gets another
    token, the fence refuses every further commit of this thread.

    :param requests: the queue.
    :param timeout: seconds that a node may be in "inspect wait".
    :param request: the request as it was delivered.
    :raises: NodeBusy if another holder has locked the node; NodeGone if it
        does not exist; LeaseLost if the fence has refused a commit.
    """
    task = queue_node.lock(requests, request)
    try:
        attempt = Attempt(task, requests, request, timeout)
        # Ironic calls rules and hooks with the task only, so they find the
        # attempt in this attribute.
        setattr(task, inspection.ATTRIBUTE, attempt)
        with fence.while_locked(
            request.node_uuid,
            request.delivery,
            request.uuid,
            request.token,
            functools.partial(_make_error_of_lost_lease, request),
        ):
            yield attempt
    except external_error.Abandoned as exc:
        raise exceptions.LeaseLost(request.uuid) from exc
    finally:
        setattr(task, inspection.ATTRIBUTE, None)
        try:
            task.release_resources()
        except (
            ironic_exception.NodeLocked,
            ironic_exception.NodeNotLocked,
        ) as exc:
            LOG.warning(
                'The lock of node %(node)s was taken away: %(error)s',
                {'node': request.node_uuid, 'error': exc},
            )


def _make_error_of_lost_lease(
    request: queue_request.Request,
) -> external_error.Abandoned:
    """Return the error to raise when the fence refuses a commit.

    The commit may be one of Ironic's code, which would catch a LeaseLost and
    fail the node. So LeaseLost is only the cause of the returned error, which
    Ironic does not catch.
    """
    abandoned = external_error.Abandoned()
    abandoned.__cause__ = exceptions.LeaseLost(request.uuid)
    return abandoned


def settle(
    requests: database_queue.DatabaseQueue,
    lock: Lock,
    request: queue_request.Request,
) -> None:
    """Take the node of an ended request out of inspection.

    If the request has left its node in inspection, the node is failed. If the
    node has a newer request, it is not changed, because the newer request
    takes it out of inspection. In any case, it is recorded in the queue that
    nothing is left to do for the ended request.

    :param lock: locks the node of a request, see :func:`locked`.
    :param request: the ended request, which is leased to the caller.
    :raises: NodeBusy, LeaseLost or an external error; the caller
        must try again.
    """
    if request.event not in (queue_request.CONTINUE, queue_request.POWER_ON):
        # Requests of other events leave no node in inspection: a reapplication
        # keeps the state, and a timeout ends the inspection.
        requests.settle(request)
        return
    try:
        with lock(request) as attempt:
            attempt.settle()
    except exceptions.NodeGone:
        requests.settle(request)
