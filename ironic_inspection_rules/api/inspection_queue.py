# SPDX-License-Identifier: Apache-2.0

"""Puts posted inventories into the queue of durable inspection."""

from collections.abc import Callable
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
def get_queue() -> Any:
    """Return the queue of this process, which the first call creates.

    The API makes the first call when it starts. This call also starts a
    worker, if this process is an all-in-one Ironic that should have one.

    :returns: a :class:`.DatabaseQueue`.
    """
    # These modules are imported here because an API without durable
    # inspection, which is off by default, does not need them.
    from ironic_inspection_rules.queue import service
    from ironic_inspection_rules.queue import wakeup
    from ironic_inspection_rules.queue import worker_absence

    # Functions that the queue calls after it has stored a request. The first
    # one wakes the workers. Without it, they find the request when they next
    # look for work.
    after_put: list[Callable[[], None]] = []
    if service.is_embedded_wanted():
        after_put.append(service.start_embedded().wake)
    elif wakeup.is_available():
        after_put.append(wakeup.WakeupSender().wake)
    absence = worker_absence.WorkerAbsence(CONF.inspection_queue.lease)
    # This logs a warning if requests wait and no worker takes them.
    after_put.append(absence.check)
    return service.make_queue(after_put=after_put)


def install() -> None:
    """Prepare this API to put posted inventories into the queue.

    :raises: :class:`.exceptions.Invalid` if this process has no direct access
        to the database; Ironic does not start then.
    """
    if not storage.has_database():
        raise exceptions.Invalid(
            _(
                '[inspection_queue]enabled needs an API that reaches the '
                'database itself, without [DEFAULT]use_rpc_for_database.'
            )
        )
    # The queue is created now instead of with the first inventory, because
    # this may also start a worker. The cache is cleared in case this process
    # sets up the API for a second time.
    get_queue.cache_clear()
    get_queue()
    # These two calls may post an inventory, so their bodies may be as large as
    # those of continue_inspection.
    for ending in ('inventory/reapply', 'data/unprocessed'):
        body_limit.allow_size_of_inspection_data(ending)


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
    """Put posted data into the queue instead of sending them to a conductor.

    Ironic's controller calls this when it has found the node, instead of
    ``ConductorAPI.continue_inspection``. The parameters from ``context`` on
    are those of this method.

    :param posted: plugin data as they were posted.
    :param early_record: the record of the early rules, see
        :mod:`.inspection.early_phase`; None if there is nothing to keep.
    :param token: the agent token that was posted, of any type. The token of
        the node proves that the machine is the sender.
    :param plugin_data: plugin data after the changes by early rules.
    """
    from ironic_inspection_rules.queue import request as queue_request

    is_machine = False
    # A machine may post any JSON value instead of a token.
    if isinstance(token, str):
        node = objects.Node.get_by_uuid(context, node_id)
        is_machine = conductor_utils.is_agent_token_valid(node, token)
    # The data are stored as they were posted, and changes by early rules are
    # stored as a checkpoint, so that every attempt begins with the same data.
    checkpoints = checkpoint.build_for_early_phase(
        posted, plugin_data, early_record
    )
    get_queue().put(
        node_id,
        queue_request.CONTINUE,
        inventory=inventory,
        plugin_data=posted,
        checkpoints=checkpoints,
        sender=api.request.client_addr,
        trusted=is_machine,
    )
