# SPDX-License-Identifier: Apache-2.0

"""Converts errors and headers of answers to the form of ironic-inspector.

Clients of ironic-inspector expect the versions of its API in the headers of
every answer, including answers from the root of the API, and they expect
errors in the form ``{"error": {"message": …}}``.
"""

from collections.abc import Callable
import json
import re
from typing import Any

from ironic import api
from ironic.common import exception as ironic_exception
import webob
from webob import dec

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

VERSION = 'X-OpenStack-Ironic-Inspector-API-Version'
MIN_VERSION = 'X-OpenStack-Ironic-Inspector-API-Minimum-Version'
MAX_VERSION = 'X-OpenStack-Ironic-Inspector-API-Maximum-Version'

OLDEST, NEWEST = (1, 0), (1, 18)
"""The versions of the API of ironic-inspector 12.5.0."""

RESOURCES = ('introspection', 'rules')
"""The resources below ``/v1/`` that belong to ironic-inspector's API."""


@dec.wsgify.middleware
def layer(request: webob.Request, app: Callable) -> Any:
    """Pass a request on, and convert some answers to ironic-inspector's form.

    This is a WSGI middleware around Ironic's API:

    * Answers of ironic-inspector's calls, e.g. ``/v1/rules``, and of the root
      of the API get two headers with the versions of ironic-inspector's API.
    * Errors of ironic-inspector's calls are converted to ``{"error":
      {"message": "Rule … could not be found."}}``.
    * All other answers are not changed.
    """
    path = request.environ.get('PATH_INFO', '').rstrip('/')
    prefixes = tuple(f'/v1/{name}/' for name in RESOURCES)
    # The slash is appended because /v1/rules must match, but not /v1/rules2.
    is_inspector_call = f'{path}/'.startswith(prefixes)
    # Clients of ironic-inspector ask the root for the versions.
    is_root = path in ('', '/v1')
    if not is_inspector_call and not is_root:
        return app
    response = request.get_response(app)
    response.headers.update(
        {MIN_VERSION: _format(OLDEST), MAX_VERSION: _format(NEWEST)}
    )
    if is_inspector_call and response.status_int >= 400:
        response.json = {'error': {'message': _find_message(response)}}
        # webob has set only the body, and the original body may have been
        # HTML.
        response.content_type = 'application/json'
    return response


def requested_version() -> tuple[int, int]:
    """Return the version of ironic-inspector's API that a request asks for.

    The version is read from the header :data:`VERSION`. If the header is
    missing or has the value ``latest``, the newest version is returned.

    :returns: the major and the minor number, e.g. ``(1, 18)``.
    :raises: Invalid if the header is not a version.
    :raises: ClientSideError (406) if the API does not have that version.
    """
    text = api.request.headers.get(VERSION)
    if not text or text.lower() == 'latest':
        return NEWEST
    matched = re.fullmatch(r'([0-9]{1,9})\.([0-9]{1,9})', text.strip())
    if matched is None:
        raise exceptions.Invalid(
            _('"%s" is not a version of the API such as 1.18 or latest') % text
        )
    version = int(matched[1]), int(matched[2])
    if not OLDEST <= version <= NEWEST:
        raise ironic_exception.ClientSideError(
            _(
                'Version %(version)s of the API does not exist, only '
                '%(oldest)s to %(newest)s'
            )
            % {
                'version': text,
                'oldest': _format(OLDEST),
                'newest': _format(NEWEST),
            },
            status_code=406,
        )
    return version


def _format(version: tuple[int, int]) -> str:
    return '.'.join(map(str, version))


def _find_message(response: webob.Response) -> str:
    """Extract the error message from an answer.

    Ironic answers ``{"error_message": "{\\"faultstring\\": \\"Rule …\\"}"}``,
    which is JSON in a string of JSON. Here, the message is ``Rule …``. pecan,
    webob and Keystone use other members or plain text. If the answer has no
    body, its status is returned.
    """
    error: Any = response.text
    # Each round decodes one level of JSON.
    while True:
        try:
            error = json.loads(error)
        except (TypeError, ValueError):
            # This is not JSON, so it is the message itself, or empty.
            return str(error).strip() or response.status
        inner_error = _inner_error(error)
        if inner_error is None:
            # The JSON has no known member for the message. Show all of it.
            return str(error)
        error = inner_error


def _inner_error(error: Any) -> Any:
    """Return the member of a decoded JSON error that has the message.

    :param error: a decoded error of any type.
    :returns: the value of the member, which may again be JSON; None if the
        error has no such member.
    """
    if not isinstance(error, dict):
        return None
    # Ironic uses "error_message" and "faultstring". webob uses "message" and,
    # if the message is empty, a "title" such as "Not Found".
    for name in ('error_message', 'faultstring', 'message', 'title'):
        if error.get(name):
            return error[name]
    return None
