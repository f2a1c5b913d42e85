# SPDX-License-Identifier: Apache-2.0

"""Effects of actions outside of the data: log lines and requests."""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """A GET request; ``timeout`` and ``backoff_factor`` are seconds."""

    url: str
    headers: dict[str, str] | None = None
    proxies: dict[str, str] | None = None
    timeout: float = 5.0
    retries: int = 3
    backoff_factor: float = 0.3


class Effects(typing.Protocol):
    """Carries out what actions do outside of the data."""

    def log(self, level: str, message: str) -> None:
        """Write a line to the log of the service."""

    def call(self, request: Request, seconds: float) -> None:
        """Send a GET request.

        :param seconds: when the phase ends, from now on.
        :raises: :class:`.exceptions.OperationError` where it fails.
        """


class NoEffects:
    """Effects of a dry run: there are none."""

    def log(self, level: str, message: str) -> None:
        """Write nothing."""

    def call(self, request: Request, seconds: float) -> None:
        """Send nothing."""
