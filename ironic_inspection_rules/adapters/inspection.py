# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Carrying out inspection requests with Ironic's own inspection."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import datetime
from typing import Any

from ironic import objects
from ironic.common import context as ironic_context
from ironic.common import exception as ironic_exception
from ironic.common import states
from ironic.common.inspection_rules import engine
from ironic.conductor import inspection
from ironic.conductor import task_manager
from ironic.conductor import utils as conductor_utils
from ironic.drivers.modules import inspect_utils
from oslo_db import exception as db_exc
from oslo_log import log
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.adapters import delivery
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.ha import journal
from ironic_inspection_rules.ha import queue
from ironic_inspection_rules.ha import state
from ironic_inspection_rules.ha import worker
from ironic_inspection_rules.i18n import _

LOG = log.getLogger(__name__)

REAPPLICABLE = frozenset({states.MANAGEABLE, states.INSPECTFAIL,
                          states.AVAILABLE, states.ACTIVE})
"""Provision states of nodes that hooks and rules may be run for again."""

IN_INSPECTION = frozenset({states.INSPECTING, states.INSPECTWAIT})

_FRESH = frozenset({states.INSPECTWAIT, states.ENROLL})
"""States of a node whose data have just been posted."""

_BEGUN = _FRESH | {states.INSPECTING, states.INSPECTFAIL}
"""States of a node that a worker may have left behind.

A conductor that starts moves nodes from "inspecting" to "inspect failed".
"""


_EVENTS = {states.INSPECTWAIT: 'resume', states.INSPECTFAIL: 'inspect'}
"""What brings a node to "inspecting", by its state."""


class Inspector:
    """A :class:`worker.Processor` for Ironic's nodes.

    :param requests: the queue that the requests come from.
    :param timeout: seconds that a node may be in "inspect wait".
    """

    def __init__(self, requests: queue.Queue, timeout: float) -> None:
        self._queue = requests
        self._timeout = timeout

    @contextlib.contextmanager
    def lock(self, request: queue.Request) -> Iterator[Any]:
        """See :meth:`worker.Processor.lock`."""
        task = self._acquire(request)
        try:
            yield task
        finally:
            try:
                task.release_resources()
            except (ironic_exception.NodeLocked,
                    ironic_exception.NodeNotLocked) as exc:
                LOG.warning('The lock of node %(node)s was taken away: '
                            '%(error)s',
                            {'node': request.node_uuid, 'error': exc})

    def _acquire(self, request: queue.Request) -> Any:
        context = ironic_context.get_admin_context()
        try:
            return _lock_node(context, request.node_uuid)
        except ironic_exception.NodeNotFound as exc:
            raise exceptions.NodeGone(str(exc)) from exc
        except ironic_exception.NodeLocked as exc:
            if not self._unlock_for_the_dead(context, request):
                raise exceptions.NodeBusy(str(exc)) from exc
        try:
            return _lock_node(context, request.node_uuid)
        except ironic_exception.NodeLocked as exc:
            raise exceptions.NodeBusy(str(exc)) from exc

    def _unlock_for_the_dead(self, context, request: queue.Request) -> bool:
        """Free a node that a worker has not lived to unlock.

        Workers lock nodes only while they hold a request of the node.

        :returns: whether it is worth while to try and lock it again.
        """
        node = objects.Node.get_by_uuid(context, request.node_uuid)
        holder = node.reservation
        if holder and (not worker.is_name(holder) or self._queue.is_held(
                node.uuid, holder, besides=request.uuid)):
            return False
        if holder:
            unlock(context, node.uuid, holder)
        return True

    def check(self, task, request: queue.Request) -> worker.Finding:
        """See :meth:`worker.Processor.check`."""
        return check(task.node.provision_state, request)

    def run(self, task, request: queue.Request,
            notes: journal.Journal) -> str | None:
        """See :meth:`worker.Processor.run`."""
        carry_out: Callable[[Any, queue.Request], str | None] = {
            queue.CONTINUE: self._inspect,
            queue.REAPPLY: self._reapply,
            queue.TIMEOUT: self._time_out,
        }[request.event]
        try:
            with delivery.of(notes):
                task.load_driver()
                _apply_early(request, notes)
                return carry_out(task, request)
        except (exceptions.LeaseLost, exceptions.TemporaryFailure):
            raise
        except Exception as exc:
            if _is_temporary(exc):
                raise exceptions.TemporaryFailure(str(exc)) from exc
            LOG.exception('Request %(request)s of node %(node)s failed',
                          {'request': request.uuid,
                           'node': request.node_uuid})
            self.fail(task, request, str(exc))
            return str(exc)

    def _inspect(self, task, request: queue.Request) -> str | None:
        event = _EVENTS.get(task.node.provision_state)
        if event:
            task.node.last_error = None
            task.process_event(event)
        inspection.continue_inspection(task, request.inventory,
                                       request.plugin_data)
        if task.node.provision_state == states.INSPECTFAIL:
            return task.node.last_error or _('Inspection failed.')
        return None

    def _reapply(self, task, request: queue.Request) -> str | None:
        hooks = getattr(task.driver.inspect, 'hooks', None)
        if hooks is None:
            raise ironic_exception.UnsupportedDriverExtension(
                driver=task.node.driver, extension='reapply')
        inventory, plugin_data = request.inventory, request.plugin_data
        inspect_utils.run_inspection_hooks(task, inventory, plugin_data,
                                           hooks, None)
        engine.apply_rules(task, inventory, plugin_data, model.PHASES[-1])
        plugin_data.pop('logs', None)
        inspect_utils.store_inspection_data(task.node, inventory,
                                            plugin_data, task.context)
        task.node.save()
        return None

    def _time_out(self, task, request: queue.Request) -> str | None:
        if not _is_overdue(task.node, self._timeout):
            return None
        reason = _('The ramdisk did not call for %d seconds.') % self._timeout
        task.process_event('fail')
        conductor_utils.cleanup_inspectwait_timeout(task)
        _keep_error(task.node, reason)
        return reason

    def fail(self, task, request: queue.Request, reason: str) -> None:
        """See :meth:`worker.Processor.fail`.

        A node in inspection fails it. Others only say why: their inspection
        has been over before, or none was asked for.
        """
        node = task.node
        message = _('Inspection request %(request)s failed: %(reason)s') % {
            'request': request.uuid, 'reason': reason}
        if node.provision_state in IN_INSPECTION:
            _clean_up(task, message)
            task.process_event('fail', last_error=message)
        elif (request.event == queue.REAPPLY
              or node.provision_state == states.ENROLL):
            conductor_utils.node_history_record(
                node, event=message, event_type=states.INTROSPECTION,
                error=True)
            node.save()
        elif node.provision_state == states.INSPECTFAIL:
            _keep_error(node, message)


def check(provision_state: str, request: queue.Request) -> worker.Finding:
    """Tell what the state of a node means for a request.

    :param provision_state: of the node.
    """
    if request.event == queue.TIMEOUT:
        return worker.Finding(done=provision_state != states.INSPECTWAIT)
    begun = request.state == state.PROCESSING
    if request.event == queue.REAPPLY:
        allowed = REAPPLICABLE
    elif begun:
        # From "inspecting" the only way here leads over the end of it.
        if provision_state == states.MANAGEABLE:
            return worker.Finding(done=True)
        allowed = _BEGUN
    else:
        allowed = _FRESH
    if provision_state in allowed:
        return worker.Finding()
    return worker.Finding(obstacle=_('the node is in state "%s"')
                          % provision_state)


def unlock(context, node_uuid: str, holder: str) -> None:
    """Free a node of the lock of a dead worker.

    :param holder: the name of the worker.
    """
    try:
        objects.Node.release(context, holder, node_uuid)
    except (ironic_exception.NodeLocked, ironic_exception.NodeNotFound,
            ironic_exception.NodeNotLocked):
        return
    LOG.warning('Node %(node)s is unlocked, worker %(worker)s is dead',
                {'node': node_uuid, 'worker': holder})


def list_overdue(context, timeout: float) -> list[str]:
    """List the UUIDs of nodes that are in "inspect wait" for too long.

    :param timeout: seconds that are not too long.
    """
    return [node.uuid for node in objects.Node.list(
        context, fields=['uuid'],
        filters={'provision_state': states.INSPECTWAIT,
                 'inspection_started_before': timeout,
                 'include_children': True})]


def _keep_error(node, message: str) -> None:
    """Say on a node why it failed, if cleaning up has made it forget."""
    if node.last_error is None:
        node.last_error = message
        node.save()


def _lock_node(context, node_uuid: str) -> Any:
    return task_manager.acquire(
        context, node_uuid, shared=False, retry=False, load_driver=False,
        purpose='inspection request')


def _apply_early(request: queue.Request, notes: journal.Journal) -> None:
    """Bring plugin data to where they were when the request was put."""
    early = notes.read(model.EARLY)
    if early:
        delivery.apply(early, request.plugin_data)


def _is_overdue(node, timeout: float) -> bool:
    started = node.inspection_started_at
    if started is None:
        return False
    return (timeutils.normalize_time(started)
            + datetime.timedelta(seconds=timeout) < timeutils.utcnow())


def _is_temporary(exc: BaseException | None) -> bool:
    """Whether something went wrong because the database went away."""
    while exc is not None:
        if isinstance(exc, db_exc.DBConnectionError):
            return True
        exc = exc.__cause__ or exc.__context__
    return False


def _clean_up(task, message: str) -> None:
    """Take back what was prepared for the ramdisk; tell why on the node."""
    try:
        task.load_driver()
    except ironic_exception.IronicException:
        LOG.exception('Cannot clean up after the inspection of node %s',
                      task.node.uuid)
        conductor_utils.node_history_record(
            task.node, event=message, event_type=states.INTROSPECTION,
            error=True)
        return
    conductor_utils.inspecting_error_handler(task, message, errmsg=message)
