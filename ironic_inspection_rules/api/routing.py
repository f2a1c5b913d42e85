# SPDX-License-Identifier: Apache-2.0

"""Finds and runs the call of the API that a request asks for.

A :class:`Route` is one call, e.g. ``GET inspection_rules/{rule}``, with the
*handler* that makes its answer. :mod:`.routes` has the table of all routes.

Ironic's API uses the framework pecan, which finds controllers by the parts of
a path, and their methods by name. This project adds one :class:`RoutesBelow`
to Ironic's controllers for every first part of a path, e.g.
``inspection_rules``. It finds the route of a request in the table.
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

_NOT_COMPARABLE = (1267, 1270, 1271, 3854)
"""MySQL's errors about texts in character sets that it cannot compare."""

Handler = Callable[..., Any]
Query = Mapping[str, request.Converter]


@dataclasses.dataclass(frozen=True)
class Route:
    """One call of the API, e.g. ``GET inspection_rules/{rule}``.

    Its handler is called with, in this order: the variable parts of the path,
    the parameters of the URL, and the body.

    :param path: the path after ``/v1/``; a part in braces matches any text.
    :param handler: makes the answer.
    :param policy: checked before the parameters of the URL, which are checked
        before the body. If the path has ``{node}``, the policy is checked for
        that node, and the handler gets the node instead of its name or UUID.
        None if the handler itself checks the policy.
    :param since: first minor version of the API that has the call; None if
        all versions have it.
    :param query: converters of the parameters of the URL, by name. The handler
        gets the converted values as a mapping. With an empty mapping, it gets
        none, and all parameters are refused. With None, the handler itself
        reads the parameters.
    :param schema: JSON Schema of the body; with None, the handler itself reads
        the body.
    :param check_refused_body: called with the parameters and the body, in the
        same form as the handler, if the schema refuses the body; raises
        InvalidInput for problems in members that the schema does not describe.
    :param status: HTTP status of a successful answer; None if the handler sets
        it.
    :param is_queue: whether the call needs durable inspection.
    """

    method: str
    path: str
    handler: Handler
    policy: str | None = None
    since: int | None = RULES
    query: Query | None = dataclasses.field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    check_refused_body: Callable[..., None] | None = None
    status: int | None = http_client.OK
    is_queue: bool = False

    @functools.cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.split('/'))

    @functools.cached_property
    def is_inspector(self) -> bool:
        """Whether the call belongs to ironic-inspector's API and versions."""
        return self.parts[0] in inspector_forms.RESOURCES

    def match(self, path: list[str]) -> list[str] | None:
        """Match a path against the path of the route.

        For example, the route ``nodes/{node}/traits`` matches the parts
        ``nodes``, ``n1`` and ``traits``, and returns ``['n1']``.

        :param path: all parts of the path after ``/v1/``.
        :returns: the variable parts, in their order; None if the path does not
            match.
        """
        if len(path) != len(self.parts):
            return None
        variable_parts = []
        for expected, part in zip(self.parts, path, strict=True):
            if expected.startswith('{'):
                variable_parts.append(part)
            elif part != expected:
                return None
        return variable_parts

    def begins_with(self, path: Sequence[str]) -> bool:
        """Return whether the path of the route begins with the given parts.

        For example, ``nodes/{node}/traits/{trait}`` begins with the parts
        ``nodes``, ``n1`` and ``traits``, because ``{node}`` matches any text.
        """
        if len(self.parts) < len(path):
            return False
        for expected, part in zip(self.parts, path, strict=False):
            if not expected.startswith('{') and part != expected:
                return False
        return True

    def is_in_version(self) -> bool:
        """Return whether the requested version of the API has this call."""
        if self.since is None or self.is_inspector:
            return True
        return bool(api.request.version.minor >= self.since)

    def answer(self, *path: str, **_pecan_arguments: Any) -> Any:
        """Answer a request: check it, call the handler, and set the status.

        These are checked, in this order: that the queue is enabled, the
        version of ironic-inspector's API, the policy, the parameters, and the
        body. The version of Ironic's API was checked before, see
        :attr:`exposed`.

        :param path: the variable parts of the path.
        :param _pecan_arguments: arguments that pecan finds in the query and in
            the body; unused, because both are read from the request instead.
        :returns: the result of the handler; the body of an error answer if
            the input is invalid.
        """
        if self.is_queue:
            _check_queue()
        if self.is_inspector:
            # This raises an error unless inspector's API has the version.
            inspector_forms.requested_version()
            # The client asks only for a version of inspector's API. Set a
            # version of Ironic's API, because its first versions support
            # neither names of nodes nor states of inspection.
            api.request.version.minor = RULES
        arguments: list[Any] = list(path)
        if self.policy is not None and NODE in self.parts:
            # The handler gets the node instead of its name or UUID, which is
            # the first variable part in all of these paths.
            arguments[0] = api_utils.check_node_policy_and_retrieve(
                self.policy, arguments[0]
            )
        elif self.policy is not None:
            api_utils.check_policy(self.policy)
        if any('\0' in part for part in path):
            # PostgreSQL refuses this character in a query.
            raise exceptions.NotFound(
                _('Nothing has the character NUL in its name')
            )
        try:
            # Without query and schema, the handler reads the request itself.
            if self.query is not None or self.schema is not None:
                arguments += self._read_request()
            answered = self.handler(*arguments)
        except exceptions.InvalidInput as exc:
            # Build the answer here, because Ironic's own answer would not list
            # the problems separately.
            api.response.status = exc.code
            return request.fault(str(exc), exc.problems)
        except db_exc.DBConnectionError:
            # The next clause must not handle this error: if the database is
            # unreachable, it cannot be checked whether the tables exist.
            raise
        except (db_exc.DBError, sqlalchemy_exc.DBAPIError) as exc:
            _refuse_incomparable_text(exc)
            # The tables may have been removed from the database. In this case
            # this raises an error that names the command that creates them.
            _check_tables()
            raise
        if self.status is not None:
            api.response.status = self.status
        return answered

    def _read_request(self) -> list[Any]:
        """Read and check the parameters and the body that the call has.

        :returns: the last arguments of the handler: the parameters, if the
            call has any, and the body, if the call has a schema, e.g.
            ``[{'limit': 10, 'marker': None}, {'rules': […]}]``.
        :raises: InvalidInput if the parameters or the body are invalid.
        """
        arguments: list[Any] = []
        if self.query is not None:
            query = request.parse_query(self.query)
            # A call without parameters refuses all of them, and its handler
            # has no argument for them.
            if self.query:
                arguments.append(query)
        if self.schema is not None:
            body = request.parse_body()
            try:
                arguments.append(request.validate(body, self.schema))
            except exceptions.InvalidBody as exc:
                # For example, the schema only says that "rules" is a list.
                # Report problems inside this list in the same answer.
                self._raise_all_problems(exc, [*arguments, body])
                raise
        return arguments

    def _raise_all_problems(
        self, refused: exceptions.InvalidBody, arguments: Sequence[Any]
    ) -> None:
        """Raise all problems of a body that the schema has refused, at once.

        This does nothing if :attr:`check_refused_body` finds no further
        problems; the caller then raises those of the schema.

        :param refused: the error with the problems that the schema has found.
        :param arguments: the parameters of the URL, if the call has any, and
            the body as it was posted.
        :raises: InvalidRuleSet with all problems if there are further ones.
        """
        if self.check_refused_body is None:
            return
        try:
            self.check_refused_body(*arguments)
        except exceptions.InvalidInput as exc:
            raise exceptions.InvalidRuleSet([refused, exc]) from exc

    @functools.cached_property
    def exposed(self) -> types.MethodType:
        """Return a method that pecan can call, and that calls :meth:`answer`.

        It first refuses a request for a version of the API that does not have
        this call. Ironic's decorator ``expose`` converts the result to JSON,
        and errors to answers.
        """
        since = self.since
        if self.is_inspector:
            # Calls of ironic-inspector have the versions of their own API.
            since = None
        # If a version does not have a call, Ironic answers 404 to GET, and 405
        # to other methods.
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
        # pecan needs a bound method, but the decorators return a function.
        return types.MethodType(expose(check_version(Route.answer)), self)


def _check_queue() -> None:
    """Check that durable inspection is enabled."""
    if not CONF.inspection_queue.enabled:
        raise exceptions.NotFound(
            _(
                'Durable inspection is switched off here: it needs '
                '[inspection_queue]enabled = True in the configuration of '
                'the API'
            )
        )


def _refuse_incomparable_text(exc: Exception) -> None:
    """Raise Invalid if an error is about a text that MySQL cannot compare.

    If ``[database]connection`` lacks ``charset=utf8mb4``, MySQL cannot compare
    a text in the request that has a character above U+FFFF, e.g. an emoji,
    with a column. This is a mistake of the client or the operator, and no
    defect of the service.

    :param exc: an error of the database.
    :raises: Invalid if the error is about a text.
    """
    # oslo.db wraps the error of SQLAlchemy, which wraps that of the driver.
    wrapped = getattr(exc, 'inner_exception', exc)
    original = getattr(wrapped, 'orig', None)
    if original is None or not original.args:
        return
    if original.args[0] in _NOT_COMPARABLE:
        raise exceptions.Invalid(
            _('The database cannot search for this text: %s') % original
        ) from exc


def _check_tables() -> None:
    """Check that the tables have not been removed while this service runs.

    :raises: ClientSideError (503) if they have been removed.
    """
    try:
        storage.check()
    except exceptions.DatabaseNotReady as exc:
        raise ironic_exception.ClientSideError(
            str(exc), status_code=http_client.SERVICE_UNAVAILABLE
        ) from exc


def _abort_without_route(method: str, routes: Sequence[Route]) -> None:
    """Answer a request for which no route has the path and the method.

    This always raises an error.

    :param routes: the routes that have the path, with other methods.
    :raises: the answer, an error of webob.
    """
    if not routes:
        pecan.abort(http_client.NOT_FOUND)
    is_in_version = any(route.is_in_version() for route in routes)
    if method == 'GET' and not is_in_version:
        # Ironic answers the same for a path of later versions.
        pecan.abort(http_client.NOT_FOUND)
    status = http_client.METHOD_NOT_ALLOWED
    if method == 'OPTIONS':
        status = http_client.OK
    methods = sorted(route.method for route in routes)
    pecan.abort(status, headers={'Allow': ', '.join(methods)})


class RoutesBelow:
    """All routes below one path, an entry of Ironic's map of controllers."""

    def __init__(self, routes: Iterable[Route], *parts: str) -> None:
        """Select the routes whose paths begin with the given parts.

        :param parts: the parts of the path after ``/v1/``, up to this entry.
        """
        self._parts = list(parts)
        self._routes = []
        # The routes without a variable part such as {rule}, by method and
        # path. For example, the key of PUT inspection_rules is
        # ('PUT', 'inspection_rules').
        self._fixed_routes: dict[tuple[str, ...], Route] = {}
        for route in routes:
            if not route.begins_with(parts):
                continue
            self._routes.append(route)
            if '{' not in route.path:
                self._fixed_routes[route.method, *route.parts] = route

    @pecan.expose()
    def _route(self, args: list[str], request: Any) -> Any:
        """Return the method that answers a request, and its arguments.

        pecan calls this for every request whose path begins with the parts of
        this object, and then calls the returned method. For example, below
        ``inspection_rules``, ``DELETE /v1/inspection_rules/1b2c`` is answered
        by the route ``DELETE inspection_rules/{rule}`` with the argument
        ``1b2c``.

        A request without a route is answered here:

        * 404 if no route has the path, or if the request is a GET and all
          routes of the path belong to later versions of the API.
        * Otherwise 200 for OPTIONS, and 405 for any other method. The header
          "Allow" has the methods of the path.

        :param args: the parts of the path below the entry: ``['1b2c']``.
        :raises: the answer, an error of webob, if there is no route.
        """
        try:
            # pecan reads the parameters next, and would fail if the body is a
            # malformed form. Reading them here shows this earlier.
            request.params  # noqa: B018
        except ValueError:
            pecan.abort(http_client.UNSUPPORTED_MEDIA_TYPE)
        # A trailing or double slash makes an empty part.
        below = [part for part in args if part]
        path = [*self._parts, *below]
        # Find a route without variable parts with a single look-up.
        fixed_route = self._fixed_routes.get((request.method, *path))
        if fixed_route is not None:
            return fixed_route.exposed, []
        matches = self._find_matches(path)
        for route, variable_parts in matches:
            if route.method == request.method:
                return route.exposed, variable_parts
        routes_of_path = [route for route, _variable_parts in matches]
        _abort_without_route(request.method, routes_of_path)

    def _find_matches(self, path: list[str]) -> list[tuple[Route, list[str]]]:
        """Return the routes of a path, with the variable parts of the path.

        For example, ``inspection_rules/1b2c`` has the routes GET, PATCH, PUT
        and DELETE of ``inspection_rules/{rule}``, all of them with
        ``['1b2c']``. Routes with fewer variable parts are preferred: in
        ``inspection_rules/statistics`` the last part is not a UUID of a rule.
        """
        matches = []
        for route in self._routes:
            variable_parts = route.match(path)
            if variable_parts is not None:
                matches.append((route, variable_parts))
        if not matches:
            return []
        fewest = min(len(variable_parts) for _route, variable_parts in matches)
        return [
            (route, variable_parts)
            for route, variable_parts in matches
            if len(variable_parts) == fewest
        ]
