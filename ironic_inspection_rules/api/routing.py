# SPDX-License-Identifier: Apache-2.0

"""Finds the call of a request by path, method, version and policy.

pecan finds methods of controllers by their names; where it finds none, it
answers 404, 405 or 500. Instead, one object for each place in Ironic's map of
controllers looks into the table of :mod:`.routes`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
import dataclasses
import functools
from http import client as http_client
import types
from typing import Any

from ironic import api
from ironic.api import method as ironic_method
from ironic.api import validation
from ironic.api.controllers.v1 import utils as api_utils
from ironic.api.controllers.v1 import versions
from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from oslo_db import exception as db_exc
import pecan
from sqlalchemy import exc as sqlalchemy_exc
from webob import exc as webob_exc

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import inspector_forms
from ironic_inspection_rules.api import request
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import storage

RULES = versions.MINOR_96_INSPECTION_RULES
NODE = '{node}'

Handler = Callable[..., Any]
Query = Mapping[str, request.Converter]


@dataclasses.dataclass(frozen=True)
class Route:
    """One call of the API.

    ``path`` is what follows ``/v1/``; a part in braces is any text, and
    is given to the handler. ``policy`` is checked before the parameters of
    the URL, and these before the body. Where ``{node}`` is in the path it is
    the policy for that node, and the handler gets the node itself; without a
    policy the handler checks what it has to. ``query`` has the parameters of
    the URL and what converts them; the handler gets them as a mapping, unless
    there are none; None leaves them to the handler. ``schema`` is the JSON
    Schema of the body, which is the last argument; None leaves the body to
    the handler. ``check_refused`` gets the arguments of the handler where the
    schema refuses the body, and raises InvalidInput for problems of other
    members. ``status`` is that of a good answer, None where the handler
    sets it. ``since`` is the first minor version that has the call, None
    where all have it. ``is_queue`` calls need durable inspection.
    """

    method: str
    path: str
    handler: Handler
    policy: str | None = None
    since: int | None = RULES
    query: Query | None = dataclasses.field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    check_refused: Callable[..., None] | None = None
    status: int | None = http_client.OK
    is_queue: bool = False

    @functools.cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.split('/'))

    @functools.cached_property
    def is_inspector(self) -> bool:
        """Whether the call is ironic-inspector's, in versions of its own."""
        return self.parts[0] in inspector_forms.RESOURCES

    def match(self, path: list[str]) -> list[str] | None:
        """Match a path against the path of the route.

        The route ``nodes/{node}/traits`` matches ``nodes``, ``n1``, ``traits``
        and returns ``['n1']``.

        :param path: all parts of the path after ``/v1/``.
        :returns: the parts of any text, in their order; None if the path does
            not match.
        """
        if len(path) != len(self.parts):
            return None
        parts_of_any_text = []
        for expected, part in zip(self.parts, path, strict=True):
            if expected.startswith('{'):
                parts_of_any_text.append(part)
            elif part != expected:
                return None
        return parts_of_any_text

    def is_in_version(self) -> bool:
        """Return whether the requested version of the API has this call."""
        if self.since is None or self.is_inspector:
            return True
        return bool(api.request.version.minor >= self.since)

    def answer(self, *path: str, **_pecan_arguments: Any) -> Any:
        """Answer a request: check it, call the handler, and set the status.

        The queue, a version of inspector's API, the policy, the parameters and
        the body are checked in this order. The version of Ironic's API was
        checked before, see :attr:`exposed`.

        :param path: the parts of the path that are any text.
        :param _pecan_arguments: arguments that pecan finds in the query and in
            the body; both are read from the request instead.
        :returns: the result of the handler; a fault if it raises InvalidInput.
        """
        if self.is_queue:
            _check_queue()
        if self.is_inspector:
            inspector_forms.requested_version()
            # The client asks only for a version of inspector's API. The first
            # versions of Ironic's API know neither names of nodes nor states
            # of inspection.
            api.request.version.minor = RULES
        arguments: list[Any] = list(path)
        if self.policy is not None:
            arguments = self._check_policy(self.policy, path)
        try:
            # Without query and schema, the handler reads the request itself.
            if self.query is not None or self.schema is not None:
                arguments += self._read_request()
            answered = self.handler(*arguments)
        except exceptions.InvalidInput as exc:
            # Ironic's own answer would lack the places of the problems.
            api.response.status = exc.code
            return request.fault(str(exc), exc.problems)
        except db_exc.DBConnectionError:
            # Without the database, the tables cannot be checked.
            raise
        except (db_exc.DBError, sqlalchemy_exc.DBAPIError):
            # Without the tables, the answer names what creates them.
            _check_tables()
            raise
        if self.status is not None:
            api.response.status = self.status
        return answered

    def _check_policy(self, policy: str, path: Sequence[str]) -> list[Any]:
        """Check that the caller may make the call.

        :returns: the parts of the path. If the policy is checked for a node,
            the node replaces its name or UUID.
        """
        arguments: list[Any] = list(path)
        if NODE in self.parts:
            arguments[0] = api_utils.check_node_policy_and_retrieve(
                policy, arguments[0]
            )
        else:
            api_utils.check_policy(policy)
        return arguments

    def _read_request(self) -> list[Any]:
        """Read and check the parameters and the body that the call has.

        :returns: the last arguments of the handler.
        """
        arguments: list[Any] = []
        if self.query is not None:
            query = request.query(self.query)
            # A call without parameters only refuses them.
            if self.query:
                arguments.append(query)
        if self.schema is not None:
            body = request.body()
            try:
                arguments.append(request.validate(body, self.schema))
            except exceptions.InvalidBody as exc:
                self._check_refused(exc, [*arguments, body])
                raise
        return arguments

    def _check_refused(
        self, refused: exceptions.InvalidBody, arguments: Sequence[Any]
    ) -> None:
        """Find further problems of a refused body.

        :raises: InvalidRuleSet with all problems if there are further ones.
        """
        if self.check_refused is None:
            return
        try:
            self.check_refused(*arguments)
        except exceptions.InvalidInput as exc:
            raise exceptions.InvalidRuleSet([refused, exc]) from exc

    @functools.cached_property
    def exposed(self) -> types.MethodType:
        """Return :meth:`answer` as pecan calls it, from its API version on.

        See :func:`ironic.api.method.expose`, which makes JSON and faults of
        what it returns and raises.
        """
        since = self.since
        if self.is_inspector:
            # It has versions of its own.
            since = None
        # As Ironic answers where a version does not have a call.
        refusal = webob_exc.HTTPMethodNotAllowed
        if self.method == 'GET':
            refusal = webob_exc.HTTPNotFound
        check_version = validation.api_version(
            since,
            message=_(
                'This call needs API version 1.%d or newer; ask for it '
                'in the header X-OpenStack-Ironic-API-Version'
            )
            % (since or 0),
            exception_class=refusal,
        )
        expose = ironic_method.expose()
        # pecan asks for a bound method.
        return types.MethodType(expose(check_version(Route.answer)), self)


def _check_queue() -> None:
    """Check that durable inspection is switched on."""
    if not CONF.inspection_queue.enabled:
        raise exceptions.NotFound(
            _(
                'Durable inspection is switched off here: it needs '
                '[inspection_queue]enabled = True in the configuration of '
                'the API'
            )
        )


def _check_tables() -> None:
    """Check that the tables have not been removed while this service runs.

    :raises: ClientSideError (503) if they have.
    """
    try:
        storage.check()
    except exceptions.DatabaseNotReady as exc:
        raise ironic_exception.ClientSideError(
            str(exc), status_code=http_client.SERVICE_UNAVAILABLE
        ) from exc


class RoutesBelow:
    """All routes below one path, an entry of Ironic's map of controllers."""

    def __init__(self, routes: Iterable[Route], *parts: str) -> None:
        """Take the routes whose path begins with some parts.

        :param parts: the parts of the path after ``/v1/``, up to this entry.
        """
        self._parts = list(parts)
        self._routes = []
        # The routes whose path is written out as a whole, by method and path.
        self._written_out: dict[tuple[str, ...], Route] = {}
        for route in routes:
            # With its own rest, every route matches below this entry: only
            # the parts up to the entry decide.
            rest = route.parts[len(parts) :]
            if route.match([*parts, *rest]) is not None:
                self._routes.append(route)
                if '{' not in route.path:
                    self._written_out[route.method, *route.parts] = route

    @pecan.expose()
    def _route(self, args: list[str], request: Any) -> Any:
        """Return the function that pecan calls for a request, and arguments.

        Other requests are answered here: 404 for an unknown path, 405 for
        another method, and OPTIONS with the methods of a path.
        """
        try:
            request.params  # noqa: B018
        except ValueError:
            # The body is a malformed form, on which pecan would fail.
            pecan.abort(http_client.UNSUPPORTED_MEDIA_TYPE)
        # A slash at the end, or two of them, make an empty part.
        below = [part for part in args if part]
        path = [*self._parts, *below]
        written_out = self._written_out.get((request.method, *path))
        if written_out is not None:
            return written_out.exposed, []
        matches = self._matches(path)
        for route, values in matches:
            if route.method == request.method:
                return route.exposed, values
        is_known = any(route.is_in_version() for route, _values in matches)
        if request.method == 'GET' and not is_known:
            # All GETs of this path are of later versions.
            pecan.abort(http_client.NOT_FOUND)
        methods = sorted(route.method for route, _values in matches)
        allowed = ', '.join(methods)
        if request.method == 'OPTIONS' and allowed:
            pecan.abort(http_client.OK, headers={'Allow': allowed})
        if allowed:
            pecan.abort(
                http_client.METHOD_NOT_ALLOWED, headers={'Allow': allowed}
            )
        pecan.abort(http_client.NOT_FOUND)

    def _matches(self, path: list[str]) -> list[tuple[Route, list[str]]]:
        """Return the routes of a path, with the variable parts of the path.

        A route with fewer variable parts is preferred: in
        ``inspection_rules/statistics`` the last part is no UUID of a rule.
        """
        matches = []
        for route in self._routes:
            values = route.match(path)
            if values is not None:
                matches.append((route, values))
        if not matches:
            return []
        fewest = min(len(values) for _route, values in matches)
        return [
            (route, values)
            for route, values in matches
            if len(values) == fewest
        ]
