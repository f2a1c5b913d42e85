# SPDX-License-Identifier: Apache-2.0

"""Puts posted inventories into the queue of durable inspection."""

import functools
from typing import Any

from ironic import api
from ironic import objects
from ironic.conductor import utils as conductor_utils
from ironic.conf import CONF

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.objects import storage
from ironic_inspection_rules.patches import body_limit


@functools.cache
def requests() -> Any:
    """Return the queue of this process, which the first call makes.

    That is when the API starts. The call starts a worker, too, where an
    all-in-one Ironic is to have one.

    :returns: a :class:`.DatabaseQueue`.
    """
    # Imported here, so that an API without durable inspection, which is off
    # by default, loads nothing of the queue.
    from ironic_inspection_rules.queue import service
    from ironic_inspection_rules.queue import wakeup
    from ironic_inspection_rules.queue import worker_absence

    wake_workers = None
    if service.is_embedded_wanted():
        wake_workers = service.start_embedded().wake
    elif wakeup.is_available():
        wake_workers = wakeup.WakeupSender().wake
    absence = worker_absence.WorkerAbsence(CONF.inspection_queue.lease)

    def after_put() -> None:
        # Where nothing can wake them, workers find the request when they next
        # look for work.
        if wake_workers is not None:
            wake_workers()
        # Logs a warning if requests wait and no worker takes them.
        absence.check()

    return service.make_queue(wake=after_put)


def install() -> None:
    """Prepare this API to put posted inventories into the queue.

    :raises: :class:`.exceptions.Invalid` if this process has no database;
        Ironic does not start then.
    """
    if not storage.is_here():
        raise exceptions.Invalid(
            _(
                '[inspection_queue]enabled needs an API that reaches the '
                'database itself, without [DEFAULT]use_rpc_for_database.'
            )
        )
    # The queue is made now and not with the first inventory, as this may start
    # a worker, too. The cache is cleared for a process that sets up the API
    # for a second time.
    requests.cache_clear()
    requests()
    # These two calls may post an inventory, so their bodies may be as large as
    # those of continue_inspection.
    for ending in ('inventory/reapply', 'data/unprocessed'):
        body_limit.as_inspection_data(ending)


def put_instead(
    posted: dict[str, Any],
    early_record: Any,
    token: Any,
    context: Any,
    node_id: str,
    inventory: dict[str, Any],
    plugin_data: dict[str, Any],
    topic: str | None = None,
) -> None:
    """Put posted data into the queue, instead of handing them to a conductor.

    Ironic calls it in place of ``ConductorAPI.continue_inspection``, which has
    the parameters from ``context`` on.

    :param posted: plugin data as they were posted.
    :param early_record: the early phase in the record of the run, see
        :mod:`.inspection.early_phase`; None if it has none.
    :param token: the agent token, which proves that the machine is the sender.
    :param plugin_data: plugin data as the early rules left them.
    """
    from ironic_inspection_rules.queue import request as queue_request

    is_machine = isinstance(token, str) and (
        conductor_utils.is_agent_token_valid(
            objects.Node.get_by_uuid(context, node_id), token
        )
    )
    # The data are stored as they were posted, and the changes of early rules
    # as a checkpoint, so that every attempt begins with the same data.
    checkpoints = checkpoint.of_early_phase(posted, plugin_data, early_record)
    requests().put(
        node_id,
        queue_request.CONTINUE,
        inventory=inventory,
        plugin_data=posted,
        checkpoints=checkpoints,
        sender=api.request.client_addr,
        trusted=is_machine,
    )
