# SPDX-License-Identifier: Apache-2.0

"""Send requests to the API: large bodies, errors in answers, pages.

All functions of this package take ``baremetal``, the bare metal proxy of an
openstacksdk connection, which several threads may use.
"""

from collections.abc import Iterator, Sequence
from http import client as http_client
import io
import json
import logging
import re
from typing import Any
from urllib import parse as urlparse

from keystoneauth1 import exceptions as auth_exceptions
from openstack import exceptions as sdk_exceptions
import requests

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

LOG = logging.getLogger(__name__)

MICROVERSION = '1.96'

REQUEST_ERRORS = (
    sdk_exceptions.SDKException,
    auth_exceptions.ClientException,
    requests.RequestException,
    exceptions.Invalid,
)
"""Exceptions of a request: it was refused, there was no answer, or the answer
is not an answer of Ironic."""

_RETRIABLE_STATUSES = frozenset([http_client.SERVICE_UNAVAILABLE])
"""Statuses after which the SDK sends a request again. By default it also sends
it again after 409, which stock Ironic returns for a locked node. Here, 409
means that rules have changed or a name is taken, so the same request would be
refused again."""

_MAX_QUOTE_LENGTH = 300
"""Maximum length of an answer in an error message."""

_MAX_MEMBERS = 5
"""Maximum number of members of an answer that an error message names."""

_DEPTH_OF_ROWS = 4
"""Number of levels above a row in ``{"tables": {NAME: {"rows": [ROW,
...]}}}``."""


def call(
    baremetal,
    method: str,
    path: str,
    *,
    needed: str,
    is_list: bool = False,
    needed_of_items: Sequence[str] = (),
    identified_by: Sequence[str] = (),
    microversion: str = MICROVERSION,
    **kwargs: Any,
) -> dict[str, Any]:
    """Send a request and return the members of the answer.

    :param path: the path below ``/v1``.
    :param needed: a member that the answer must have.
    :param is_list: whether that member is a list of objects.
    :param needed_of_items: members that each of these objects must have.
    :param identified_by: members that identify an answer of Ironic. If the
        answer has one of them, the needed member is not checked.
    :param microversion: the minimum version of the API that supports the call.
    :param kwargs: further arguments of the request for keystoneauth, e.g.
        ``json`` or ``params``.
    :raises: an exception of openstacksdk if the answer is an error; an
        exception of keystoneauth if there is no answer; Invalid if the answer
        is not a JSON object or lacks a needed member.
    """
    response = _send(
        baremetal, method, path, microversion=microversion, **kwargs
    )
    return _read_members(
        response,
        needed=needed,
        is_list=is_list,
        needed_of_items=needed_of_items,
        identified_by=identified_by,
    )


def delete(baremetal, path: str) -> None:
    """Send a request to delete something, which Ironic answers without a body.

    :raises: an exception of openstacksdk if the answer is an error; an
        exception of keystoneauth if there is no answer; Invalid if the answer
        is not an answer of Ironic.
    """
    response = _send(baremetal, 'DELETE', path)
    if response.status_code != http_client.NO_CONTENT:
        raise exceptions.Invalid(
            _(
                'The answer from %(url)s has the status %(status)d, and that '
                'of Ironic has 204: check the endpoint of the bare metal '
                'service'
            )
            % {'url': response.url, 'status': response.status_code}
        )


def _send(
    baremetal,
    method: str,
    path: str,
    microversion: str = MICROVERSION,
    **kwargs: Any,
) -> Any:
    """Send a request and return the response.

    :raises: an exception of openstacksdk if the answer is an error; an
        exception of keystoneauth if there is no answer.
    """
    response = baremetal.request(
        path,
        method,
        microversion=microversion,
        retriable_status_codes=_RETRIABLE_STATUSES,
        **kwargs,
    )
    LOG.debug(
        '%s %s was answered with %s, request ID %s',
        method,
        path,
        response.status_code,
        response.headers.get('openstack-request-id'),
    )
    try:
        sdk_exceptions.raise_from_response(response)
    except sdk_exceptions.HttpException as exc:
        if _is_object(response):
            # The SDK has already read the message, unless it is a
            # "description".
            exc.details = _read_description(response) or exc.details
        else:
            # This is the answer of a proxy, or of a server that broke off.
            exc.details = _(
                'The answer from %(url)s with the status %(status)d '
                '%(description)s'
            ) % {
                'url': response.url,
                'status': response.status_code,
                'description': _describe_answer(response),
            }
        raise
    return response


def _read_members(
    response: Any,
    needed: str,
    is_list: bool = False,
    needed_of_items: Sequence[str] = (),
    identified_by: Sequence[str] = (),
) -> dict[str, Any]:
    """Read the members of an answer.

    For example, ``{"nodes": [{"uuid": ...}], "next": ...}`` has all members
    for ``needed='nodes'``, ``is_list=True`` and ``needed_of_items=['uuid']``.

    :param needed: a member that the answer must have.
    :param is_list: whether that member is a list of objects.
    :param needed_of_items: members that each of these objects must have.
    :param identified_by: members that identify an answer of Ironic. If the
        answer has one of them, the needed member is not checked.
    :raises: Invalid if the answer is not a JSON object, lacks a needed member,
        or has no list of objects. It may come from another service or from a
        proxy.
    """
    try:
        answer = response.json()
    except ValueError:
        # The error below describes the answer.
        answer = None
    if not isinstance(answer, dict):
        raise _unexpected_answer(response, needed, _describe_answer(response))
    if any(name in answer for name in identified_by):
        return answer
    if needed not in answer:
        raise _unexpected_answer(response, needed, _describe_answer(response))
    if is_list and not _is_list_of_objects(answer[needed]):
        raise _unexpected_answer(response, needed, _('has no list of objects'))
    for name_of_member in needed_of_items:
        for item in answer[needed]:
            if name_of_member in item:
                continue
            # An example is "has an item of "nodes" that has the members
            # "name"".
            description = _('has an item of "%(list)s" that %(item)s') % {
                'list': needed,
                'item': _describe_value(item),
            }
            raise _unexpected_answer(response, name_of_member, description)
    return answer


def _unexpected_answer(
    response: Any, name: str, description: str
) -> exceptions.Invalid:
    """Build the error for an answer that lacks a needed member.

    :param name: the name of the needed member.
    :param description: what the answer is instead, e.g. "is empty".
    """
    return exceptions.Invalid(
        _(
            'The answer from %(url)s %(description)s, where "%(name)s" is '
            'expected: check the endpoint of the bare metal service'
        )
        % {
            'url': response.url,
            'name': name,
            'description': description,
        }
    )


def _is_object(response: Any) -> bool:
    """Return whether an answer is a JSON object.

    Errors of Ironic are JSON objects; the page of a proxy is not.
    """
    try:
        return isinstance(response.json(), dict)
    except ValueError:
        return False


def _describe_answer(response: Any) -> str:
    """Describe an answer that is not the expected answer.

    :returns: the end of the sentence "The answer from URL …": ``is empty``,
        ``is no JSON ("502 Bad Gateway")``, or the text of
        :func:`_describe_value`.
    """
    if not response.content:
        return _('is empty')
    try:
        return _describe_value(response.json())
    except ValueError:
        # Usually this is the HTML page of a proxy. For example, "<h1>502 Bad
        # Gateway</h1>" is quoted as "502 Bad Gateway".
        words = re.sub(r'<[^>]*>', ' ', response.text).split()
        text = ' '.join(words) or response.text
        return _('is no JSON (%s)') % _quote(text)


def _describe_value(value: Any) -> str:
    """Describe a JSON value by the names of its members, or by its beginning.

    For example, ``{"versions": [], "id": 1}`` is described as ``has the
    members "versions", "id"``, and ``[1, 2]`` as ``is [1, 2]``.
    """
    if isinstance(value, dict) and value:
        first_names = list(value)[:_MAX_MEMBERS]
        return _('has the members %s') % ', '.join(map(_quote, first_names))
    text = json.dumps(value, ensure_ascii=False)
    return _('is %s') % text[:_MAX_QUOTE_LENGTH]


def _quote(text: str) -> str:
    """Return the beginning of a text in quotes, on one line."""
    return json.dumps(text[:_MAX_QUOTE_LENGTH], ensure_ascii=False)


def _is_list_of_objects(value: Any) -> bool:
    """Return whether a JSON value is a list that contains only objects."""
    if not isinstance(value, list):
        return False
    return all(isinstance(item, dict) for item in value)


def call_with_large_body(
    baremetal, method: str, path: str, body: Any, **kwargs: Any
) -> Any:
    """Send a request that may be large, e.g. a request with tables.

    :param body: plain data, which are sent as JSON.
    :param kwargs: further arguments of :func:`call`, e.g. ``needed``.
    :raises: the same as :func:`call`; also Invalid if the body is larger than
        Ironic accepts. The message then names the option to raise.
    """
    encoded = _encode_json(body)
    LOG.debug('%s %s with a body of %d bytes', method, path, len(encoded))
    try:
        # Disable the log of keystoneauth, because the body may contain secret
        # columns of tables. For the log, keystoneauth would also copy the body
        # three times, even if nothing is logged.
        return call(
            baremetal,
            method,
            path,
            data=encoded,
            log=False,
            headers={'Content-Type': 'application/json'},
            **kwargs,
        )
    except sdk_exceptions.HttpException as exc:
        is_too_large = (
            exc.response is not None
            and exc.response.status_code
            == http_client.REQUEST_ENTITY_TOO_LARGE
        )
        if not is_too_large:
            raise
        if not _is_object(exc.response):
            # The limit is that of a proxy before the API, which no option of
            # Ironic can raise.
            raise
        raise exceptions.Invalid(
            _(
                'The request is larger than the API takes: raise '
                '[api]max_json_body_size_inspection in its configuration (%s)'
            )
            % exc.details
        ) from exc


def _encode_json(body: Any) -> bytes:
    """Return a body as JSON in bytes.

    keystoneauth would build one text of all data, and requests would convert
    it to bytes, so a large table would be in memory twice. Here, only the text
    of one row is in memory in addition to the bytes.
    """
    encoded = io.BytesIO()
    for part in _json_pieces(body, _DEPTH_OF_ROWS):
        encoded.write(part.encode())
    return encoded.getvalue()


def _json_pieces(value: Any, depth: int) -> Iterator[str]:
    """Yield the JSON of a value piece by piece.

    For example, ``{"a": [1]}`` gives ``{"a":``, ``[``, ``1``, ``]`` and ``}``
    at depth 2.

    :param depth: how many levels of mappings and lists are divided; deeper
        values are one piece.
    """
    may_be_divided = depth > 0 and isinstance(value, dict | list)
    is_empty = not value
    if is_empty or not may_be_divided:
        # An empty value must be written separately, because below the opening
        # bracket is emitted with the first member or item.
        yield json.dumps(value)
    elif isinstance(value, dict):
        separator = '{'
        for name, member in value.items():
            yield f'{separator}{json.dumps(name)}:'
            yield from _json_pieces(member, depth - 1)
            separator = ','
        yield '}'
    else:
        separator = '['
        for item in value:
            yield separator
            yield from _json_pieces(item, depth - 1)
            separator = ','
        yield ']'


def read_problems(
    exc: sdk_exceptions.HttpException,
) -> list[exceptions.Problem]:
    """Read the problems that the API found in the body of a request.

    In the answer, a problem is ``{"pointer": "/rules/0/scope", "detail": ...,
    "hint": ...}``. The hint is optional.

    :returns: an empty list for any other error.
    """
    if exc.response is None:
        return []
    try:
        # Ironic writes the error as JSON in a string of JSON.
        error = json.loads(exc.response.json()['error_message'])
        return [_read_problem(data) for data in error['problems']]
    except (ValueError, KeyError, TypeError):
        # This is another error of Ironic, or the answer of a proxy.
        return []


def _read_problem(data: dict[str, Any]) -> exceptions.Problem:
    """Read a problem from an answer.

    :raises: KeyError or TypeError if the data are not a problem.
    """
    pointer = str(data['pointer'])
    detail = str(data['detail'])
    hint = None
    if 'hint' in data:
        hint = str(data['hint'])
    return exceptions.Problem(pointer, detail, hint)


def without_none(**values: Any) -> dict[str, Any]:
    """Remove the values that are None, which means that they are not given.

    For example, ``without_none(limit=5, marker=None)`` is ``{'limit': 5}``.
    """
    return {name: value for name, value in values.items() if value is not None}


def _read_description(response: Any) -> str | None:
    """Read the description of an error; None if there is no description.

    Errors of Ironic's web framework have a description, but the SDK does not
    read it.
    """
    try:
        # Ironic writes the error as JSON in a string of JSON.
        error = json.loads(response.json()['error_message'])
        return str(error['description'])
    except (ValueError, KeyError, TypeError):
        return None


def list_items(
    baremetal,
    path: str,
    name: str,
    query: dict[str, Any],
    needed_of_items: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the items of a collection, page by page.

    :param name: the name of the list in the answer.
    :param query: the query parameters of every page; None means not given.
    :param needed_of_items: members that each item must have.
    :raises: the same as :func:`call`; also Invalid if a page names itself as
        the next page, because the loop would never end.
    """
    parameters = without_none(**query)
    while True:
        page = call(
            baremetal,
            'GET',
            path,
            needed=name,
            is_list=True,
            needed_of_items=needed_of_items,
            params=parameters,
        )
        yield from page[name]
        # For example, "http://ironic/v1/nodes?limit=2&marker=<UUID>".
        link = page.get('next')
        if link is None:
            return
        query_of_link = urlparse.urlsplit(link).query
        parameters_of_link = dict(
            urlparse.parse_qsl(query_of_link, keep_blank_values=True)
        )
        if parameters_of_link.get('marker') == parameters.get('marker'):
            raise exceptions.Invalid(
                _(
                    'The answer from %(path)s names this page itself as the '
                    'next page: %(link)s'
                )
                % {'path': path, 'link': link}
            )
        # The link of Ironic's list of nodes lacks most filters, so they are
        # sent again.
        parameters = {**parameters, **parameters_of_link}
