# SPDX-License-Identifier: Apache-2.0

"""Defects that schedules have to find; most were real once."""

from collections.abc import Iterator
import contextlib
from typing import Any
from unittest import mock

from ironic import objects
from ironic.conductor import task_manager
import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.db import clock
from ironic_inspection_rules.db import fence
from ironic_inspection_rules.db import lease as leases
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import node_reservation
from ironic_inspection_rules.db import request as db_request
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.pxe_filter import nftables
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.queue import node as queue_node
from ironic_inspection_rules.queue import worker


class _LockInTheNameOfTheWorker(queue_node.DeliveryTask):
    def __init__(self, context: Any, request: Any) -> None:
        task_manager.TaskManager.__init__(
            self, context, request.node_uuid, shared=True, load_driver=False
        )
        self._holder = request.worker
        self.node = objects.Node.reserve(
            context, self._holder, request.node_uuid
        )
        self.shared = False


def _unlock_by_worker(context: Any, requests: Any, request: Any) -> bool:
    node = objects.Node.get_by_uuid(context, request.node_uuid)
    query = sa.select(models.RequestRow.uuid).where(
        models.RequestRow.node_uuid == node.uuid,
        models.RequestRow.worker == node.reservation,
        models.RequestRow.due_at > clock.now(),
    )
    with transaction.reader() as session:
        if set(session.execute(query).scalars()) - {request.uuid}:
            return False
    if node.reservation is not None:
        if not node.reservation.startswith('inspection-worker:'):
            return False
        objects.Node.release(context, node.reservation, node.uuid)
    return True


@contextlib.contextmanager
def node_lock_of_worker() -> Iterator[None]:
    """Lock nodes by worker, which confuses its own locks with dead ones."""
    with (
        mock.patch.object(
            queue_node, 'DeliveryTask', _LockInTheNameOfTheWorker
        ),
        mock.patch.object(
            queue_node, '_unlock_ended_holder', _unlock_by_worker
        ),
        mock.patch.object(
            fence, 'while_locked', lambda *args: contextlib.nullcontext()
        ),
    ):
        yield


class _ByRequest(dict):
    def __setitem__(self, delivery: str, request: Any) -> None:
        super().__setitem__(request.uuid, request)

    def pop(self, delivery: str, *default: Any) -> Any:
        return super().pop(delivery.split(':')[1], *default)


@contextlib.contextmanager
def in_hand_by_request() -> Iterator[None]:
    """Store deliveries in progress by request, one for each."""
    make = worker.Worker.__init__

    def make_with_defect(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self._in_progress = _ByRequest()

    with mock.patch.object(worker.Worker, '__init__', make_with_defect):
        yield


@contextlib.contextmanager
def election_for_once() -> Iterator[None]:
    """Leave the election after an outage of the coordinator."""
    hold_lock = election.Candidacy._hold_lock

    def hold_lock_once(self: Any) -> None:
        try:
            hold_lock(self)
        except ConnectionError:
            self.leave()
            raise

    with mock.patch.object(election.Candidacy, '_hold_lock', hold_lock_once):
        yield


def _claim_and_read_later(
    candidate: Any, worker_name: str, lease: float, _is_deliverable: Any
) -> leases.Claimed | None:
    with transaction.reader() as session:
        uuid = session.get_one(models.RequestRow, candidate.id).uuid
    token = candidate.token
    if not db_request.change_request(
        uuid, token, {'worker': worker_name, 'token': token + 1}, due_in=lease
    ):
        return None
    with transaction.reader() as session:
        request, data = session.execute(
            sa.select(models.RequestRow, models.InspectionDataRow)
            .options(orm.undefer(models.RequestRow.checkpoints))
            .outerjoin(
                models.InspectionDataRow,
                models.InspectionDataRow.id
                == models.RequestRow.unprocessed_id,
            )
            .where(models.RequestRow.uuid == uuid)
        ).one()
        return leases.Claimed(request, data, was_due=False)


@contextlib.contextmanager
def claim_of_another() -> Iterator[None]:
    """Read a claimed request later, perhaps with the next token."""
    with mock.patch.object(leases, '_claim', _claim_and_read_later):
        yield


def _end_apart(self: Any, consume: Any, store: Any = None) -> Any:
    with fence.suspended(), transaction.writer() as session:
        self.shared = node_reservation.release(
            session, self.node.uuid, self._holder
        )
    with fence.suspended(), transaction.writer() as session:
        return consume(session)


@contextlib.contextmanager
def end_apart() -> Iterator[None]:
    """Unlock a node and end its request in two transactions."""
    with mock.patch.object(queue_node.DeliveryTask, 'end', _end_apart):
        yield


@contextlib.contextmanager
def one_attempt() -> Iterator[None]:
    """Fail a request after its first attempt."""
    decide = delivery.decide
    with mock.patch.object(
        delivery, 'decide', lambda request, most: decide(request, 1)
    ):
        yield


@contextlib.contextmanager
def claim_at_any_time() -> Iterator[None]:
    """Deliver requests that a worker holds."""
    with mock.patch.object(
        leases,
        '_deliverable_conditions',
        lambda lease: (models.RequestRow.id > 0,),
    ):
        yield


@contextlib.contextmanager
def no_heartbeat() -> Iterator[None]:
    """Renew no lease at a heartbeat."""
    with mock.patch.object(
        leases, 'prolong_requests', lambda held, lease: set(held)
    ):
        yield


@contextlib.contextmanager
def no_fence() -> Iterator[None]:
    """Accept writes of workers that have lost their lease."""
    with mock.patch.object(
        fence, 'while_locked', lambda *args: contextlib.nullcontext()
    ):
        yield


@contextlib.contextmanager
def leader_at_once() -> Iterator[None]:
    """Lead at once, without waiting for the end of an earlier leader."""
    make = election.Leadership

    def make_at_once(since: float, until: float) -> election.Leadership:
        return make(since=0.0, until=until)

    with mock.patch.object(election, 'Leadership', make_at_once):
        yield


@contextlib.contextmanager
def lease_without_end() -> Iterator[None]:
    """Let machines pass for the full time after a late nft."""
    pass_for = nftables.FilterTable.pass_for

    def pass_for_ever(
        self: Any, seconds: float, now: float, until: float
    ) -> list[str]:
        return pass_for(self, seconds, 0.0, 1e10)

    with mock.patch.object(nftables.FilterTable, 'pass_for', pass_for_ever):
        yield
