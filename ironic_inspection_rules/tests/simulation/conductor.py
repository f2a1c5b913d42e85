# SPDX-License-Identifier: Apache-2.0

"""Actions of the conductor and of operators in a simulated cluster."""

from collections.abc import Callable, Iterator
from concurrent import futures
import types
from typing import Any

from ironic import objects
from ironic.common import context as ironic_context
from ironic.common import exception as ironic_exception
from ironic.common import states
from ironic.conductor import base_manager
from ironic.conductor import inspection
from ironic.conductor import manager
from ironic.conductor import task_manager
from ironic.db import api as db_api
from oslo_db import exception as db_exc
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.tests.simulation import invariants
from ironic_inspection_rules.tests.simulation import scheduler

HOST = 'conductor'
TROUBLE = (db_exc.DBError, sa.exc.OperationalError)
"""Errors of the database; oslo.db does not convert "database is locked"."""


class Conductor:
    """A conductor, and the operators that call it.

    :param turns: the scheduler.
    :param watch: the invariants.
    :param requests: the queue, as the API has it.
    :param post: lets the machine of a node post its data.
    """

    def __init__(
        self,
        turns: scheduler.Scheduler,
        watch: invariants.Invariants,
        requests: database_queue.DatabaseQueue,
        post: Callable[[str], None],
    ) -> None:
        self._turns = turns
        self._watch = watch
        self._queue = requests
        self._post = post
        self._context = ironic_context.get_admin_context()
        self._process = scheduler.Process(HOST)
        self._is_up = True

    def _spawn(self, name: str, target: Callable[[], None]) -> None:
        """Start a thread once the conductor is up.

        An error of the database restarts the conductor.
        """

        def run() -> None:
            if not self._is_up:
                self._turns.pause(lambda: self._is_up)
            try:
                target()
            except (
                exceptions.InspectionRulesError,
                ironic_exception.IronicException,
                *TROUBLE,
            ) as exc:
                self._turns.note(f'{name} is given up: {exc}')
                if isinstance(exc, TROUBLE):
                    # It may have a lock without knowing, after a lost answer.
                    self._turns.soon.append(self.restart)

        self._turns.spawn(name, self._process, run)

    def abort(self, node_uuid: str) -> None:
        """Abort the inspection of a node, as an operator."""
        self._spawn('abort', lambda: self._abort(node_uuid))

    def _abort(self, node_uuid: str) -> None:
        waiting = self._queue.find_open(node_uuid)
        if waiting is not None:
            self._watch.may_end(waiting.uuid, 'aborted')
            self._queue.abort(waiting.uuid, invariants.ABORTED)
        with self._lock(node_uuid, 'abort') as task:
            if task.node.provision_state == states.INSPECTWAIT:
                task.node.last_error = invariants.ABORTED
                with (
                    self._watch.begin_inspection(node_uuid),
                    self._watch.aborting(node_uuid),
                ):
                    task.process_event('abort')

    def _lock(self, node_uuid: str, purpose: str) -> Any:
        return task_manager.acquire(
            self._context,
            node_uuid,
            retry=False,
            load_driver=False,
            purpose=purpose,
        )

    def inspect(self, node_uuid: str) -> None:
        """Inspect a node again, as an operator."""
        self._spawn('inspect', lambda: self._inspect(node_uuid))

    def _inspect(self, node_uuid: str) -> None:
        with self._lock(node_uuid, 'inspect') as task:
            if task.node.provision_state not in (
                states.MANAGEABLE,
                states.INSPECTFAIL,
            ):
                return
            # Two inspections of a node must not begin at the same time.
            self._turns.pause(lambda: False, 1.0)
            task.load_driver()
            with self._watch.begin_inspection(node_uuid):
                task.process_event('inspect')
            database_queue.DatabaseQueue(1).supersede(node_uuid)
            inspection.inspect_hardware(task)
        self._turns.note(f'node {node_uuid} is inspected anew')
        self._turns.pause(lambda: False, self._turns.random.uniform(0, 20))
        self._post(node_uuid)

    def delete(self, node_uuid: str) -> None:
        """Delete a node, as an operator."""
        self._spawn('delete', lambda: self._delete(node_uuid))

    def _delete(self, node_uuid: str) -> None:
        with self._lock(node_uuid, 'delete') as task:
            self._watch.deleted.add(node_uuid)
            task.node.destroy()
        self._turns.note(f'node {node_uuid} is deleted')

    def lock(self, node_uuid: str) -> None:
        """Lock a node for a while, as other work of a conductor does."""
        self._spawn('lock', lambda: self._keep_locked(node_uuid))

    def _keep_locked(self, node_uuid: str) -> None:
        with self._lock(node_uuid, 'something'):
            self._turns.pause(
                lambda: False,
                self._turns.random.choice((0.0, 3.0, 8.0, 100.0)),
            )

    def time_out(self) -> None:
        """Run Ironic's periodic task for timeouts of inspection."""
        self._spawn(
            'timeouts',
            lambda: unwrapped(
                manager.ConductorManager._check_inspect_wait_timeouts
            )(self._manager(), self._context),
        )

    def restart(self) -> None:
        """Kill the conductor, and start it again."""
        self._turns.kill(self._process)
        self._process = scheduler.Process(HOST)
        self._is_up = False
        self._turns.spawn('start', self._process, self._start)

    def _start(self) -> None:
        while not self._is_up:
            try:
                db_api.get_instance().clear_node_reservations_for_conductor(
                    HOST
                )
                base_manager.BaseConductorManager._fail_transient_state(
                    self._manager(), states.INSPECTING, 'no conductor'
                )
                self._is_up = True
            except TROUBLE:
                self._turns.pause(lambda: False, 1.0)

    def _manager(self) -> Any:
        """Build the part of a conductor that Ironic's methods use."""
        one = types.SimpleNamespace(
            host=HOST, iter_nodes=self._iter_nodes, _spawn_worker=_run_at_once
        )
        one._fail_if_in_state = types.MethodType(
            base_manager.BaseConductorManager._fail_if_in_state, one
        )
        return one

    def _iter_nodes(
        self, filters: dict, sort_key: str, sort_dir: str
    ) -> Iterator[tuple[str, str, str]]:
        for node in objects.Node.list(
            self._context,
            filters=filters,
            sort_key=sort_key,
            sort_dir=sort_dir,
        ):
            yield node.uuid, node.driver, node.conductor_group


def unwrapped(method: Any) -> Any:
    """Return a method without its metrics decorator."""
    return getattr(method, '__wrapped__', method)


def _run_at_once(
    function: Callable[..., Any], *args: Any, **kwargs: Any
) -> futures.Future:
    future: futures.Future = futures.Future()
    future.set_result(function(*args, **kwargs))
    return future
