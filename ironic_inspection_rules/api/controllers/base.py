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
        controller, remainder = super()._route(args, request)
        remainder = [part for part in remainder if part]
        signature = inspect.signature(controller)
        try:
            signature.bind_partial(*remainder)
        except TypeError:
            pecan.abort(http_client.NOT_FOUND)
        try:
            signature.bind(*remainder)
        except TypeError:
            pecan.abort(http_client.METHOD_NOT_ALLOWED)
        return controller, remainder
