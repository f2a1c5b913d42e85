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

    It is a WSGI middleware. Answers of ironic-inspector's calls and of the
    API's root get the headers with its versions; errors of its calls become
    ``{"error": {"message": …}}``. All other answers stay.
    """
    path = request.environ.get('PATH_INFO', '').rstrip('/')
    is_resource = f'{path}/'.startswith(
        tuple(f'/v1/{name}/' for name in RESOURCES)
    )
    if not is_resource and path not in ('', '/v1'):
        return app
    response = request.get_response(app)
    response.headers.update(
        {MIN_VERSION: _format(OLDEST), MAX_VERSION: _format(NEWEST)}
    )
    if is_resource and response.status_int >= 400:
        response.json = {'error': {'message': _find_message(response)}}
        # webob has only set the body. It may have been one of HTML.
        response.content_type = 'application/json'
    return response


def requested_version() -> tuple[int, int]:
    """Return the version of ironic-inspector's API that a request asks for.

    It is in a header; without one, or with ``latest``, it is the newest.

    :returns: such as (1, 18).
    :raises: Invalid if the header is no version.
    :raises: ClientSideError (406) if the API does not have that version.
    """
    text = api.request.headers.get(VERSION)
    if not text or text.lower() == 'latest':
        return NEWEST
    number = re.fullmatch(r'([0-9]{1,9})\.([0-9]{1,9})', text.strip())
    if number is None:
        raise exceptions.Invalid(
            _('"%s" is not a version of the API such as 1.18 or latest') % text
        )
    version = int(number[1]), int(number[2])
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
    """Return the sentence that an error answer has for its reader.

    Ironic, pecan and Keystone put it into JSON in different ways, or answer
    with plain text. Without a body it is the status.
    """
    error: Any = response.text
    # Ironic's error_message is JSON in a string of JSON: it is unpacked until
    # nothing more is inside.
    while True:
        try:
            error = json.loads(error)
        except (TypeError, ValueError):
            return str(error).strip() or response.status
        inner = _inner_error(error)
        if inner is None:
            return str(error)
        error = inner


def _inner_error(error: Any) -> Any:
    """Return the member of an error that says what is wrong, None without."""
    if not isinstance(error, dict):
        return None
    for name in ('error_message', 'faultstring', 'message', 'title'):
        if error.get(name):
            return error[name]
    return None
