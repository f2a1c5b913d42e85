# SPDX-License-Identifier: Apache-2.0

"""An inspection worker inside the all-in-one Ironic."""

import threading

from ironic.conf import CONF

from ironic_inspection_rules.patches import conductor
from ironic_inspection_rules.queue import service
from ironic_inspection_rules.queue import worker


def is_wanted() -> bool:
    """Whether this process is to run a worker.

    Only where API and conductor share a process, which then ends when both
    are done.
    """
    wanted = CONF.inspection_queue.embedded
    if wanted is None:
        wanted = CONF.rpc_transport in ('none', 'local')
    return wanted and conductor.is_in_this_process()


def start() -> service.WorkerService:
    """Start a worker, which stops when the conductor does."""
    started = service.WorkerService(worker.make_name(CONF.host))
    started.start()
    conductor.keep_running_while(started.is_working)
    threading.Thread(target=_stop_with_conductor, args=(started,),
                     name='embedded-worker', daemon=True).start()
    return started


def _stop_with_conductor(started: service.WorkerService) -> None:
    conductor.stop_event().wait()
    started.stop()
