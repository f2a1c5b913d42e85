# SPDX-License-Identifier: Apache-2.0

"""Errors and headers of answers, in the form of ironic-inspector.

Its clients look for the versions of its API in the headers of every answer,
also of the ones from the top of the API, and for errors as
``{"error": {"message": …}}``.
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
"""What is ironic-inspector's beneath ``/v1/``."""


@dec.wsgify.middleware
def layer(request: webob.Request, app: Callable) -> Any:
    """Pass a request on, and give some answers ironic-inspector's form.

    This is a WSGI middleware around Ironic's API. Answers of
    ironic-inspector's calls, such as ``/v1/rules``, and of the root of the API
    get the two headers with the versions of ironic-inspector's API. An error
    of its calls becomes ``{"error": {"message": "Rule … could not be
    found."}}``. All other answers stay.
    """
    path = request.environ.get('PATH_INFO', '').rstrip('/')
    prefixes = tuple(f'/v1/{name}/' for name in RESOURCES)
    # The slash at the end: /v1/rules is one of its calls, and /v1/rules2 not.
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
        # webob has only set the body. It may have been one of HTML.
        response.content_type = 'application/json'
    return response


def requested_version() -> tuple[int, int]:
    """Return the version of ironic-inspector's API that a request asks for.

    The header :data:`VERSION` has it. Without the header, or with ``latest``
    in it, it is the newest version.

    :returns: the major and the minor number: ``(1, 18)``.
    :raises: Invalid if the header is no version.
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
    """Return the sentence in which an error answer says what is wrong.

    Ironic answers ``{"error_message": "{\\"faultstring\\": \\"Rule …\\"}"}``,
    which is JSON in a string of JSON: the sentence is ``Rule …``. pecan, webob
    and Keystone answer with other members, or with plain text. An answer
    without a body has only its status.
    """
    error: Any = response.text
    while True:
        try:
            error = json.loads(error)
        except (TypeError, ValueError):
            # This is no JSON any more, so it is the sentence itself.
            return str(error).strip() or response.status
        inner_error = _inner_error(error)
        if inner_error is None:
            return str(error)
        error = inner_error


def _inner_error(error: Any) -> Any:
    """Return the member of a JSON error that says what is wrong.

    :param error: a decoded error, of any type.
    :returns: the value of the member, which may be JSON again; None if the
        error has no such member.
    """
    if not isinstance(error, dict):
        return None
    # "error_message" and "faultstring" are Ironic's. webob has a "message",
    # and where that is empty a "title" such as "Not Found".
    for name in ('error_message', 'faultstring', 'message', 'title'):
        if error.get(name):
            return error[name]
    return None
