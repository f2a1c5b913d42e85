# SPDX-License-Identifier: Apache-2.0

"""What the controllers of this project have in common."""

from collections.abc import Callable
import functools
from http import client as http_client
import inspect
from typing import Any

from ironic.api import method
import pecan
from pecan import rest


def expose(status_code: int | None = None) -> Callable[[Callable], Callable]:
    """Make a method answer requests, as Ironic's decorator of that name does.

    What is in the path becomes its arguments. What pecan finds in the query
    and in the body does not: it would be mistaken for these.

    :param status_code: that of a good answer, 200 if not given.
    """
    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def exposed(self: Any, *path: str, **_found: Any) -> Any:
            return function(self, *path)

        return method.expose(status_code)(exposed)

    return decorate


class RestController(rest.RestController):
    """pecan's, which answers some requests with a server error by itself."""

    def _lookup_child(self, remainder: str) -> Any:
        # Not "__class__" and the like.
        if remainder.startswith('_'):
            return None
        return super()._lookup_child(remainder)

    @pecan.expose()
    def _route(self, args: list[str], request: Any = None) -> Any:
        try:
            request.params  # noqa: B018
        except ValueError:
            # A form that is none; pecan would not expect it.
            pecan.abort(http_client.UNSUPPORTED_MEDIA_TYPE)
        controller, remainder = super()._route(args, request)
        path = [part for part in remainder if part]
        if not _takes(controller, path):
            allowed = [verb for verb, name in _METHODS
                       if _takes(getattr(self, name, None), path)]
            pecan.abort(
                http_client.METHOD_NOT_ALLOWED if allowed
                else http_client.NOT_FOUND,
                headers={'Allow': ', '.join(allowed)} if allowed else None)
        return controller, path


_METHODS = (('DELETE', 'delete'), ('GET', 'get_all'), ('GET', 'get_one'),
            ('PATCH', 'patch'), ('POST', 'post'), ('PUT', 'put'))


def _takes(controller: Any, path: list[str]) -> bool:
    """Tell whether a method takes what is in the path, no more, no less."""
    try:
        inspect.signature(controller).bind(*path)
    except TypeError:
        return False
    return True
