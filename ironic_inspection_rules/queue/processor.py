# SPDX-License-Identifier: Apache-2.0

"""Processing inspection requests with Ironic's own inspection."""

from collections.abc import Callable, Iterator
import contextlib
import copy
import functools
import sys
from typing import Any

from ironic.common import exception as ironic_exception
from ironic.common import states
from ironic.common.inspection_rules import engine
from ironic.conductor import inspection
from ironic.conductor import utils as conductor_utils
from ironic.drivers.modules import inspect_utils
from oslo_db import exception as db_exc
from oslo_log import log
from oslo_utils import timeutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.patches import inspection as patch
from ironic_inspection_rules.queue import attempt
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.queue import surroundings
from ironic_inspection_rules.runs import recorder

LOG = log.getLogger(__name__)

_WITH_DATA = (queue_request.CONTINUE, queue_request.REAPPLY)
"""Events of requests that run rules on the data of a machine."""

_EVENTS = {states.INSPECTWAIT: 'resume', states.INSPECTFAIL: 'inspect'}
"""Events that bring a node to "inspecting", by its state."""


_OF_STORING = (db_exc.DBError, db_exc.DBInvalidUnicodeParameter,
               sa.exc.SQLAlchemyError, UnicodeError)
"""Errors between that of storing a text and the one that has the text."""


class RequestProcessor:
    """The work on requests.

    ``task`` is a :class:`.node.DeliveryTask`, with the locked node.

    :param requests: the queue that the requests come from.
    :param timeout: seconds that a node may be in "inspect wait".
    """

    def __init__(self, requests: database_queue.DatabaseQueue,
                 timeout: float) -> None:
        self._queue = requests
        self._timeout = timeout

    def lock(self, request: queue_request.Request
             ) -> contextlib.AbstractContextManager[Any]:
        """Lock the node of a request, for as long as the context lasts.

        :raises: NodeBusy, NodeGone
        """
        return queue_node.locked(self._queue, request)

    def check(self, task,
              request: queue_request.Request) -> queue_node.NodeCheck:
        """Check whether the state of the node allows processing."""
        finding = queue_node.check(task.node, request)
        if finding.done and request.event == queue_request.CONTINUE:
            # The attempt that finished it may have died before it stored
            # the run.
            current = attempt.Attempt(task, self._queue, request)
            current.take_up()
            if not recorder.is_stored(current.run, request.node_uuid):
                task.run = current.prepare(None)
        return finding

    def run(self, task, request: queue_request.Request) -> str | None:
        """Process a request.

        :returns: why the request has failed for good, as recorded on the
            node; None if it succeeded.
        :raises: TemporaryFailure if another attempt may succeed.
        """
        carry_out: Callable[[Any, queue_request.Request], str | None] = {
            queue_request.CONTINUE: self._inspect,
            queue_request.REAPPLY: self._reapply,
            queue_request.TIMEOUT: self._time_out,
            queue_request.POWER_ON: self._power_on,
        }[request.event]
        current = attempt.Attempt(task, self._queue, request)
        try:
            with attempt.made(current):
                task.load_driver()
                if early := request.checkpoints.get(model.EARLY):
                    # Plugin data as the early rules left them.
                    checkpoint.apply(early, request.plugin_data)
                if request.event in _WITH_DATA:
                    _guard_hooks(task, current)
                    current.begin_request()
                error = carry_out(task, request)
            task.run = current.prepare(error)
            return error
        except (exceptions.LeaseLost, exceptions.TemporaryFailure):
            raise
        # Whatever it was fails the node, or is an error of the surroundings.
        except Exception as exc:
            if surroundings.are_to_blame(exc):
                raise surroundings.failure(exc) from exc
            LOG.exception('Request %(request)s of node %(node)s failed',
                          {'request': request.uuid,
                           'node': request.node_uuid})
            reason = _reason(exc)
            self._fail_node(task, request, reason)
            _put_first(task.node, reason)
            task.run = current.prepare(reason)
            return reason

    def _inspect(self, task, request: queue_request.Request) -> str | None:
        event = _EVENTS.get(task.node.provision_state)
        if event:
            task.node.last_error = None
            # Not saved here: continue_inspection saves the node at once.
            task.node.save = lambda *args: None
            try:
                task.process_event(event)
            finally:
                del task.node.save
        with _kept_from_failing(task):
            inspection.continue_inspection(task, request.inventory,
                                           request.plugin_data)
        if task.node.provision_state == states.INSPECTFAIL:
            return task.node.last_error or _('Inspection failed.')
        return None

    def _reapply(self, task, request: queue_request.Request) -> str | None:
        hooks = getattr(task.driver.inspect, 'hooks', None)
        if hooks is None:
            raise ironic_exception.UnsupportedDriverExtension(
                driver=task.node.driver, extension='reapply')
        inventory, plugin_data = request.inventory, request.plugin_data
        inspect_utils.run_inspection_hooks(task, inventory, plugin_data,
                                           hooks, None)
        engine.apply_rules(task, inventory, plugin_data, model.MAIN)
        plugin_data.pop('logs', None)
        inspect_utils.store_inspection_data(task.node, inventory,
                                            plugin_data, task.context)
        task.node.last_error = None
        task.node.save()
        return None

    def _time_out(self, task, request: queue_request.Request) -> str | None:
        if not queue_node.is_overdue(task.node, self._timeout):
            return None
        reason = _('The ramdisk did not call for %d seconds.') % self._timeout
        task.process_event('fail')
        conductor_utils.cleanup_inspectwait_timeout(task)
        if not queue_node.has_timed_out(task.node):
            _put_first(task.node, reason)
        return reason

    def _power_on(self, task, request: queue_request.Request) -> str | None:
        patch.power_on(task)
        # The timeout of the inspection begins here.
        task.node.inspection_started_at = timeutils.utcnow()
        task.node.save()
        return None

    def settle(self, request: queue_request.Request) -> None:
        """Bring the node of an ended request into a final state.

        :raises: NodeBusy or an error of the surroundings; to be retried.
        """
        settle = functools.partial(self._queue.settle, request)
        if request.event not in (queue_request.CONTINUE,
                                 queue_request.POWER_ON):
            settle()
            return
        try:
            with self.lock(request) as task:
                if (queue_node.is_left_over(task.node, request)
                        and self._queue.find_open(task.node.uuid) is None):
                    self._fail_node(task, request, request.last_error
                                    or _('it has ended'))
                task.settle(settle)
        except exceptions.NodeGone:
            settle()

    def fail(self, task, request: queue_request.Request, reason: str) -> None:
        """Record on the node that the request cannot be carried out."""
        self._fail_node(task, request, reason)
        if request.state == state.PROCESSING and (
                request.event in _WITH_DATA):
            current = attempt.Attempt(task, self._queue, request)
            current.take_up()
            task.run = current.prepare(reason)

    def _fail_node(self, task, request: queue_request.Request,
                   reason: str) -> None:
        """Record on a node that its request has failed, and why.

        A node in inspection goes to "inspect failed". Others only get the
        reason: their inspection ended before, or there was none.
        """
        node = task.node
        message = _('Inspection request %(request)s failed: %(reason)s') % {
            'request': request.uuid, 'reason': reason}
        if node.provision_state in queue_node.IN_INSPECTION:
            _clean_up(task, message)
            # Ironic fails a node itself where it cannot clean up.
            if node.provision_state in queue_node.IN_INSPECTION:
                task.process_event('fail', last_error=message)
            else:
                _put_first(node, message)
        elif (request.event == queue_request.REAPPLY
              or node.provision_state == states.ENROLL):
            conductor_utils.node_history_record(
                node, event=message, event_type=states.INTROSPECTION,
                error=True)
            node.save()
        elif (node.provision_state == states.INSPECTFAIL
              and node.last_error is None):
            # Powering off has removed the reason.
            _put_first(node, message)


def _guard_hooks(task, current: attempt.Attempt) -> None:
    """Guard the hooks of a task; other tasks share its interface."""
    if hooks := getattr(task.driver.inspect, 'hooks', None):
        task.driver.inspect = copy.copy(task.driver.inspect)
        task.driver.inspect.hooks = [attempt.GuardedHook(hook, current)
                                     for hook in hooks]


@contextlib.contextmanager
def _kept_from_failing(task) -> Iterator[None]:
    """Keep Ironic from failing a node wrongly.

    For what its surroundings did, and where the node has no such transition:
    the error of that would hide the cause.
    """
    process_event = task.process_event

    def process(event: str, *args: Any, **kwargs: Any) -> None:
        cause = sys.exception()
        if event == 'fail' and surroundings.are_to_blame(cause):
            raise attempt.Abandoned() from cause
        # A node that was just discovered cannot fail, nor one that has
        # failed already.
        if not task.fsm.is_actionable_event(event):
            if cause is not None:
                raise cause
            if task.node.last_error:
                raise ironic_exception.HardwareInspectionFailure(
                    error=task.node.last_error)
        process_event(event, *args, **kwargs)

    task.process_event = process
    try:
        yield
    finally:
        del task.process_event


def _reason(exc: Exception) -> str:
    """Return why an attempt failed, as text that can be stored.

    Where Ironic could not store the text of an error, another one follows,
    which says nothing of the first.
    """
    reason: BaseException = exc
    if isinstance(exc, _OF_STORING):
        for reason in surroundings.chain(exc):
            if not isinstance(reason, _OF_STORING):
                break
        else:
            reason = exc
    # Some have no text of their own.
    return exceptions.storable(str(reason) or type(reason).__name__)


def _put_first(node, reason: str) -> None:
    """Begin what a node says of its failure with the first cause.

    Where cleaning up fails as well, Ironic leaves only the reason of that.
    """
    present = node.last_error
    if present is None:
        node.last_error = reason
    elif reason not in present:
        node.last_error = _('%(reason)s. Also: %(other)s') % {
            'reason': reason.rstrip('.'), 'other': present}
    else:
        return
    node.save()


def _clean_up(task, message: str) -> None:
    """Remove boot and network settings of inspection; record the reason.

    :raises: errors of the surroundings; others are logged.
    """
    try:
        task.load_driver()
    except ironic_exception.IronicException:
        LOG.exception('Cannot clean up after the inspection of node %s',
                      task.node.uuid)
        conductor_utils.node_history_record(
            task.node, event=message, event_type=states.INTROSPECTION,
            error=True)
        return
    try:
        conductor_utils.inspecting_error_handler(task, message, errmsg=message)
    # The node fails nevertheless.
    except Exception as exc:
        if surroundings.are_to_blame(exc):
            raise
        LOG.exception('Cannot clean up after the inspection of node %s',
                      task.node.uuid)
