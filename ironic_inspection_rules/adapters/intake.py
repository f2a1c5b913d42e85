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

"""Putting requests into the queue, from Ironic's API."""

from collections.abc import Callable
from typing import Any

from ironic_inspection_rules.adapters import delivery
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.ha import queue


class Intake:
    """Where the API hands over what workers are to process.

    :param requests: the queue.
    :param announce: tells the workers that there is work.
    """

    def __init__(self, requests: queue.Queue,
                 announce: Callable[[], None]) -> None:
        self._queue = requests
        self._announce = announce

    def put(self, node_uuid: str, event: str, inventory: dict | None,
            posted: dict, plugin_data: dict) -> queue.Request:
        """Store a request; when this returns it is on disk.

        :param inventory: None for what the ramdisk posted last.
        :param posted: plugin data as they came.
        :param plugin_data: the same after the early rules.
        :raises: RequestPending
        """
        request = self._queue.put(
            node_uuid, event, inventory, posted,
            {model.EARLY: delivery.difference(posted, plugin_data)})
        self._announce()
        return request

    def find_open(self, node_uuid: str) -> queue.Request | None:
        """Show the open request of a node, if there is one."""
        return self._queue.find_open(node_uuid)

    def abort(self, uuid: str, reason: str) -> queue.Request:
        """End a request that nobody has begun to process.

        :raises: RequestNotFound, RequestNotWaiting
        """
        return self._queue.abort(uuid, reason)


class Reception:
    """Ironic's conductor API, but that inspection data go to the queue.

    :param rpcapi: the ``ConductorAPI`` of an API request.
    :param intake: takes the data.
    :param posted: plugin data as the ramdisk posted them.
    """

    def __init__(self, rpcapi: Any, intake: Intake, posted: dict) -> None:
        self._rpcapi = rpcapi
        self._intake = intake
        self._posted = posted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rpcapi, name)

    def continue_inspection(self, context: Any, node_id: str,
                            inventory: dict, plugin_data: dict,
                            topic: str | None = None) -> None:
        """Put a request in the place of calling a conductor."""
        self._intake.put(node_id, queue.CONTINUE, inventory, self._posted,
                         plugin_data)
