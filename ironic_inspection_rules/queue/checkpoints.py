# SPDX-License-Identifier: Apache-2.0

"""What the attempts at one request tell each other."""

import typing

from ironic_inspection_rules.queue import request as queue_request


class Checkpoints:
    """What attempts have done, by phase; it outlives the worker.

    A checkpoint is only saved while the delivery is the last one.

    :param requests: the queue that the request came from.
    :param request: the request, its processing begun.
    """

    def __init__(self, requests: queue_request.Queue,
                 request: queue_request.Request) -> None:
        self._queue = requests
        self._request = request

    @property
    def request_uuid(self) -> str:
        """UUID of the request."""
        return self._request.uuid

    def read(self, phase: str) -> typing.Any:
        """Give the checkpoint of a phase, None if no attempt saved one."""
        return self._request.checkpoints.get(phase)

    def save(self, phase: str, value: typing.Any,
             transaction: typing.Any = None) -> None:
        """Save the checkpoint of a phase, in the place of an earlier one.

        :param value: anything that JSON can hold, but None.
        :param transaction: a transaction of the database to be part of, so
            that the checkpoint and what else it does happen together.
        :raises: LeaseLost if the delivery is not the last one any more.
        """
        self._request = self._queue.save_checkpoints(
            self._request, {**self._request.checkpoints, phase: value},
            transaction)
