# SPDX-License-Identifier: Apache-2.0

"""Invariants of the queue: after every step, and at the end."""

import collections
from collections.abc import Callable, Iterator
import contextlib
import json
import math
from typing import Any

from ironic.common import states

from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.tests.simulation import database as sim_database

PHASES = ('preprocess', 'main')
ABORTED = 'aborted by an operator'
"""The error of a request or a node that was aborted."""


class Violated(AssertionError):
    """An invariant of the queue was violated."""


class Invariants:
    """Checks the invariants of a cluster.

    Requests are known by the *mark* in their inventory. Rules append it to the
    node once in each phase.

    :param database: the database of the cluster.
    """

    def __init__(self, database: sim_database.Database) -> None:
        self._database = database
        self._delivered: set[tuple[str, int]] = set()
        self._delivered_at: dict[str, float] = {}
        self._posting: collections.Counter[str] = collections.Counter()
        self._posted_in: dict[str, int] = {}
        self._delivered_in: dict[str, int] = {}
        self.time_limit = self.lease = 0.0
        self.disturbed_until: Callable[[], float] = lambda: math.inf
        self.inside: list[queue_request.Request] = []
        self.process_of: dict[str, Any] = {}
        self.marks: dict[str, str] = {}
        self.deleted: set[str] = set()
        self._inspections: collections.Counter[str] = collections.Counter()
        self._posted: dict[str, tuple[str, int, int]] = {}
        self._accepted: dict[str, tuple[str, str]] = {}
        self._allowed: dict[str, str] = {}
        self._excuses: collections.Counter[str] = collections.Counter()
        self._seen: set[str] = set()
        self._settled = False
        self._violation: Violated | None = None

    def _violate(self, what: str) -> None:
        """Record a violation; the thread might catch an error."""
        self._violation = self._violation or Violated(what)

    def delivered(self, request: queue_request.Request) -> None:
        """Record that a request was delivered to a worker."""
        key = request.uuid, request.token
        self._check_lease(request)
        if key in self._delivered:
            self._violate(f'{key} was delivered twice')
        self._delivered.add(key)
        if request.token == max(
            token for uuid, token in self._delivered if uuid == request.uuid
        ):
            self.marks[request.uuid] = request.inventory.get('mark')

    def _check_lease(self, request: queue_request.Request) -> None:
        """Check that no worker loses a request whose lease it renews.

        Not checked shortly after a fault, as a heartbeat may have been late,
        or if the machine posts again, which makes the request due at once.
        """
        now = self._database.turns.now
        self._delivered_at[request.delivery] = now
        self._delivered_in[request.delivery] = self._database.turns.steps
        for other in self.inside:
            node_uuid = other.node_uuid
            is_posted = self._posting[node_uuid] or (
                self._posted_in.get(node_uuid, -1)
                > self._delivered_in[other.delivery]
            )
            if (
                other.uuid == request.uuid
                and not is_posted
                and now - self._delivered_at[other.delivery] <= self.time_limit
                and now - self.disturbed_until() > self.lease
            ):
                self._violate(
                    f'{other.delivery} is at work, and '
                    f'{request.delivery} takes over'
                )

    @contextlib.contextmanager
    def begin_inspection(self, node_uuid: str) -> Iterator[None]:
        """Record that a new inspection of a node begins in this context.

        It does not if an error prevents the change of the node.
        """
        before = self._state(node_uuid)
        self._inspections[node_uuid] += 1
        try:
            yield
        except BaseException:
            if self._state(node_uuid) == before:
                self._inspections[node_uuid] -= 1
                now = self._inspections[node_uuid]
                for mark, (node, first, last) in self._posted.items():
                    if node == node_uuid:
                        self._posted[mark] = (
                            node,
                            min(first, now),
                            min(last, now),
                        )
            raise

    def _state(self, node_uuid: str) -> Any:
        return next(
            (
                node['provision_state']
                for node in self._database.nodes()
                if node['uuid'] == node_uuid
            ),
            None,
        )

    def posts(self, node_uuid: str, mark: str) -> None:
        """Record in which inspection a machine posts."""
        now = self._inspections[node_uuid]
        first = self._posted[mark][1] if mark in self._posted else now
        self._posted[mark] = node_uuid, first, now

    @contextlib.contextmanager
    def posting(self, node_uuid: str) -> Iterator[None]:
        """Record that a machine posts in this context."""
        self._posting[node_uuid] += 1
        try:
            yield
        finally:
            self._posting[node_uuid] -= 1
            self._posted_in[node_uuid] = self._database.turns.steps

    def accepted(self, node_uuid: str, mark: str, uuid: str) -> None:
        """Record that a machine was answered with 202."""
        self.posts(node_uuid, mark)
        self._accepted[uuid] = node_uuid, mark

    def may_end(self, uuid: str, how: str) -> None:
        """Record that a request may end, because of a call."""
        self._allowed[uuid] = how

    @contextlib.contextmanager
    def aborting(self, node_uuid: str) -> Iterator[None]:
        """Record that open requests may end if the node is aborted here.

        A request may have been accepted after the abort looked for one. The
        abort may be committed although its answer was lost.
        """
        try:
            yield
        finally:
            if self._state(node_uuid) != states.INSPECTWAIT:
                for row in self._database.requests():
                    if row['open_node_uuid'] == node_uuid:
                        self.may_end(row['uuid'], 'aborted')

    def excuse(self, request: queue_request.Request | None) -> None:
        """Record that a fault makes an attempt fail."""
        if request is not None:
            self._excuses[request.uuid] += 1

    def excuse_all(self, process: Any) -> None:
        """Record that a process dies or stalls in all its attempts."""
        for request in self.inside:
            if self.process_of[request.delivery] is process:
                self.excuse(request)

    def around_commit(self, commit: Any) -> None:
        """Commit; check that an old delivery changes nothing."""
        request = self._database.turns.current.local.get('request')
        if request is None or self._is_at_work(request):
            commit()
            return
        before = self._snapshot()
        commit()
        if self._snapshot() != before:
            self._violate(f'{request.delivery} is over and changed something')

    def _snapshot(self) -> list[Any]:
        """Read all that an attempt may change, except the node's lock."""
        return [
            {
                name: value
                for name, value in row.items()
                if name not in ('reservation', 'updated_at')
            }
            for row in self._database.nodes() + self._database.requests()
        ]

    def _is_at_work(self, request: queue_request.Request) -> bool:
        """Return whether a delivery is the last one of its request.

        That of an ended request settles the node.
        """
        return any(
            row['open_node_uuid'] is not None
            or request.state in state.TERMINAL
            for row in self._rows(request)
        )

    def _has_lock(self, request: queue_request.Request) -> bool:
        """Return whether no other delivery may unlock the node.

        See :meth:`.queue.request.Queue.is_held`.
        """
        return any(
            row['open_node_uuid'] is not None
            or (row['due_at'] or 0.0) > self._database.now()
            for row in self._rows(request)
        )

    def _rows(self, request: queue_request.Request) -> list[Any]:
        return [
            row
            for row in self._database.requests()
            if row['uuid'] == request.uuid and row['token'] == request.token
        ]

    def check(self) -> None:
        """Check what must hold after every step."""
        if self._violation is not None:
            raise self._violation
        if not self.inside or not self._database.changed:
            return
        self._database.changed = False
        self._check_new_marks()
        live = [request for request in self.inside if self._has_lock(request)]
        if len({request.node_uuid for request in live}) < len(live):
            raise Violated(f'two attempts inside one node: {live}')
        holders = (
            {row['uuid']: row['reservation'] for row in self._database.nodes()}
            if live
            else {}
        )
        for request in live:
            if holders[request.node_uuid] is None:
                raise Violated(
                    'another process has released the lock of '
                    f'{request.delivery}'
                )

    def _check_new_marks(self) -> None:
        """Check that no data are processed in another inspection."""
        for node in self._database.nodes():
            for mark in _marks(node):
                if (key := f'{node["uuid"]} {mark}') in self._seen:
                    continue
                self._seen.add(key)
                now = self._inspections[node['uuid']]
                _node, first, last = self._posted[mark.split()[0]]
                if not first <= now <= last:
                    raise Violated(
                        f'{mark} is of inspection {first}, and is '
                        f'processed in inspection {now}'
                    )

    def is_settled(self) -> bool:
        """Return whether all requests have ended as they must."""
        if self.inside:
            return False
        if not self._database.was_written:
            return self._settled
        self._database.was_written = False
        self._settled = self._is_end()
        return self._settled

    def _is_end(self) -> bool:
        try:
            self.check_end()
        except Violated:
            return False
        return True

    def check_end(self) -> None:
        """Check what must hold at the end, after the last fault."""
        requests = self._database.requests()
        for row in requests:
            self._check_promise(row, requests)
            if row['open_node_uuid'] is not None:
                raise Violated(f'request {row["uuid"]} does not end')
            if row['state'] == state.ERROR and not row['last_error']:
                raise Violated(f'request {row["uuid"]} fails without reason')
            if row['progress'] not in ('{}', {}):
                raise Violated(
                    f'request {row["uuid"]} keeps {row["progress"]}'
                )
        for node in self._database.nodes():
            self._check_node(
                node,
                [row for row in requests if row['node_uuid'] == node['uuid']],
            )

    def _check_promise(self, row: Any, requests: list[Any]) -> None:
        """Check that an accepted request is finished.

        Unless it or its inspection was aborted, it was replaced by a newer
        inspection or posting, its node was deleted, or faults made all its
        attempts fail.
        """
        uuid, node_uuid = row['uuid'], row['node_uuid']
        if (
            uuid not in self._accepted
            or row['state'] != state.ERROR
            or node_uuid in self.deleted
            or uuid in self._allowed
            or self._excuses[uuid] >= row['attempts'] > 2
        ):
            return
        inspection = self._posted[self._accepted[uuid][1]]
        if self._inspections[node_uuid] > inspection[1]:
            return
        marks = [
            self.marks.get(other['uuid'], '')
            for other in requests
            if other['state'] == state.FINISHED
        ]
        # Its data came after the abort of a request, before the node's.
        marks += [
            self._accepted[other['uuid']][1]
            for other in requests
            if other['last_error'] == ABORTED
            and other['uuid'] in self._accepted
        ]
        if inspection in map(self._posted.get, marks):
            return
        raise Violated(
            f'request {uuid} was accepted, and is not finished: '
            f'{row["last_error"]}'
        )

    def _check_outcome(self, node: Any, requests: list[Any]) -> None:
        """Check that a node whose data were processed does not fail."""
        if node['provision_state'] != states.INSPECTFAIL:
            return
        for row in requests:
            accepted = self._accepted.get(row['uuid'])
            if (
                accepted
                and row['state'] == state.FINISHED
                and (
                    self._posted[accepted[1]][1]
                    == self._inspections[node['uuid']]
                )
            ):
                raise Violated(
                    f'{accepted[1]} was processed, and the node '
                    f'fails: {node["last_error"]}'
                )

    def _check_node(self, node: Any, requests: list[Any]) -> None:
        if node['reservation'] is not None:
            raise Violated(f'the node stays locked by {node["reservation"]}')
        if node['provision_state'] not in (
            states.MANAGEABLE,
            states.INSPECTFAIL,
        ):
            raise Violated(f'the node stays in {node["provision_state"]}')
        if (
            node['provision_state'] == states.INSPECTFAIL
            and not node['last_error']
        ):
            raise Violated('the node fails without a reason')
        self._check_outcome(node, requests)
        marks = collections.Counter(_marks(node))
        # A machine that got no answer posts the same again, perhaps in
        # another inspection.
        delivered = collections.Counter(
            self.marks.get(row['uuid']) for row in requests
        )
        for row in requests:
            mark = self.marks.get(row['uuid'])
            for phase in PHASES:
                count = marks[f'{mark} {phase}']
                wanted = (
                    row['event'] == queue_request.CONTINUE
                    and row['state'] == state.FINISHED
                )
                if count > delivered[mark] or wanted and not count:
                    raise Violated(
                        f'phase {phase} of {row["uuid"]} happened '
                        f'{count} times'
                    )


def _marks(node: Any) -> list[str]:
    return json.loads(node['extra'] or '{}').get('marks', [])
