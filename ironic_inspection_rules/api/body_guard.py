# SPDX-License-Identifier: Apache-2.0

"""Limits of the body of a request, whatever it claims to be.

Ironic looks at the size and the depth of what claims to be JSON, and parses
other bodies as JSON too. Its oldest releases do not look at all.
"""

import codecs
from collections.abc import Callable
from http import client as http_client
import io
from typing import Any

import webob
from webob import request as webob_request

from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import body_limit


class Refused(Exception):
    """A body that is not let through.

    :param status: of the answer.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class BodyGuard:
    """A layer that refuses bodies which harm those who parse them.

    :param app: the WSGI application below.
    """

    def __init__(self, app: Callable) -> None:
        self._app = app

    def __call__(self, environ: dict[str, Any],
                 start_response: Callable) -> Any:
        content_type = environ.get('CONTENT_TYPE') or ''
        try:
            _check_charset(webob_request.detect_charset(content_type))
            _check_form(content_type)
            if not ('json' in content_type and body_limit.is_of_ironic()):
                _check_body(environ)
        except Refused as exc:
            return webob.Response(status=exc.status, json_body={
                'faultcode': 'Client', 'faultstring': str(exc),
                'debuginfo': None})(environ, start_response)
        return self._app(environ, start_response)


def _check_charset(name: str | None) -> None:
    """Refuse what is not UTF-8, as RFC 8259 "Character Encoding" wants."""
    try:
        known = codecs.lookup(name or 'utf-8').name
    except LookupError:
        known = None
    if known not in ('utf-8', 'ascii'):
        raise Refused(http_client.UNSUPPORTED_MEDIA_TYPE,
                      _('The request must be encoded in UTF-8'))


def _check_form(content_type: str) -> None:
    """Refuse the forms with parts, which Ironic has none of."""
    if content_type.strip().lower().startswith('multipart/'):
        raise Refused(http_client.UNSUPPORTED_MEDIA_TYPE,
                      _('The request must be JSON'))


def _is_utf_8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_body(environ: dict[str, Any]) -> None:
    request = webob.BaseRequest(environ)
    if not request.is_body_readable:
        return
    limit = body_limit.size(environ.get('PATH_INFO', ''))
    length = request.content_length
    body = b''
    if length is None or length <= limit:
        body = environ['wsgi.input'].read(
            limit + 1 if length is None else length)
    if max(len(body), length or 0) > limit:
        raise Refused(http_client.REQUEST_ENTITY_TOO_LARGE,
                      _('The request must not have more than %d bytes')
                      % limit)
    if not _is_utf_8(body):
        raise Refused(http_client.BAD_REQUEST,
                      _('The request must be encoded in UTF-8'))
    if budget.is_deeper(body, body_limit.depth()):
        raise Refused(http_client.BAD_REQUEST,
                      _('The request is nested too deeply'))
    environ['wsgi.input'] = io.BytesIO(body)
    environ['CONTENT_LENGTH'] = str(len(body))
