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

"""The conductor in the same process."""

import threading

from ironic.common import rpc


def is_in_this_process() -> bool:
    """Whether this process is that of a conductor."""
    return rpc.GLOBAL_MANAGER is not None


def stop_event() -> threading.Event:
    """What a conductor in this process sets when it begins to stop.

    :returns: an event that is never set where there is no conductor.
    """
    manager = rpc.GLOBAL_MANAGER
    return threading.Event() if manager is None else manager._shutdown
