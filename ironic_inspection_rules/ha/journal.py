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

"""What the attempts at one request tell each other."""

import typing

from ironic_inspection_rules.ha import queue


class Journal:
    """Notes, by phase, that outlive the worker that makes them.

    A note is only taken while the request is still the caller's.

    :param requests: the queue that the request came from.
    :param request: the request, its processing begun.
    """

    def __init__(self, requests: queue.Queue, request: queue.Request) -> None:
        self._queue = requests
        self._request = request

    @property
    def request_uuid(self) -> str:
        """UUID of the request."""
        return self._request.uuid

    def read(self, phase: str) -> typing.Any:
        """Give what an attempt noted for a phase, None if none has."""
        return self._request.progress.get(phase)

    def note(self, phase: str, value: typing.Any,
             transaction: typing.Any = None) -> None:
        """Note something, in the place of what was noted for the phase.

        :param value: anything that JSON can hold, but None.
        :param transaction: a transaction of the database to be part of, so
            that what is noted and what else it does happen together.
        :raises: LeaseLost if the request is another worker's by now.
        """
        self._request = self._queue.note(
            self._request, {**self._request.progress, phase: value},
            transaction)
