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

"""An inspection worker inside the all-in-one Ironic."""

import threading

from ironic.conf import CONF

from ironic_inspection_rules.adapters import crew
from ironic_inspection_rules.adapters.seams import conductor
from ironic_inspection_rules.ha import worker


def is_wanted() -> bool:
    """Whether this process is to run a worker.

    Only where API and conductor share a process: the worker locks nodes in
    the conductor's name, and a conductor that starts unlocks those nodes.
    """
    wanted = CONF.inspection_queue.embedded
    if wanted is None:
        wanted = CONF.rpc_transport in ('none', 'local')
    return wanted and conductor.is_in_this_process()


def start() -> crew.Crew:
    """Start a worker, which stops when the conductor does."""
    started = crew.Crew(worker.make_name(CONF.host))
    started.start()
    threading.Thread(target=_stop_with_conductor, args=(started,),
                     name='embedded-worker', daemon=True).start()
    return started


def _stop_with_conductor(started: crew.Crew) -> None:
    # Ironic then waits until no node is locked in its name.
    conductor.stop_event().wait()
    started.stop()
