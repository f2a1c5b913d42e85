# SPDX-License-Identifier: Apache-2.0

"""Sends requests to the API, and checks the answers.

All functions of this package take ``baremetal``, the bare metal proxy of an
openstacksdk connection, which several threads may use.

An answer is a JSON object with members, e.g. ``{"nodes": [{"uuid": ...}],
"next": ...}``. If a wrong endpoint is configured, another service or a proxy
may answer. So a call names a member that an answer of Ironic has, and an
answer without this required member is an error, unless other members prove
that Ironic has answered (``sufficient_members``). A deletion has no answer;
its status is checked.
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
    required_member: str,
    is_list: bool = False,
    required_in_items: Sequence[str] = (),
    sufficient_members: Sequence[str] = (),
    microversion: str = MICROVERSION,
    **kwargs: Any,
) -> dict[str, Any]:
    """Send a request and return the members of the answer.

    :param method: the HTTP method, e.g. ``GET``.
    :param path: the path below ``/v1``, e.g. ``/nodes``.
    :param required_member: a member that the answer must have, e.g. ``nodes``.
    :param is_list: whether the required member must be a list of objects.
    :param required_in_items: members that each of these objects must have.
    :param sufficient_members: members that only an answer of Ironic has. An
        answer with one of them passes without the other checks.
    :param microversion: the minimum version of the API that supports the call.
    :param kwargs: further arguments of the request for keystoneauth, e.g.
        ``json`` or ``params``.
    :raises: an exception of openstacksdk if the answer is an error; an
        exception of keystoneauth if there is no answer; Invalid if the answer
        is not a JSON object or lacks a required member.
    """
    response = _send(
        baremetal, method, path, microversion=microversion, **kwargs
    )
    try:
        answer = response.json()
    except ValueError:
        # The answer is not JSON. The error is raised below.
        answer = None
    is_object = isinstance(answer, dict)
    if is_object and any(name in answer for name in sufficient_members):
        return answer
    if not is_object or required_member not in answer:
        raise _unexpected_answer(
            response, required_member, _describe_answer(response)
        )
    if is_list:
        _check_items(response, required_member, answer, required_in_items)
    return answer


def delete(baremetal, path: str) -> None:
    """Send a request to delete something.

    :param path: the path below ``/v1``.
    :raises: an exception of openstacksdk if the answer is an error; an
        exception of keystoneauth if there is no answer; Invalid if the answer
        is not an answer of Ironic.
    """
    response = _send(baremetal, 'DELETE', path)
    # Ironic answers without a body, so only the status can be checked.
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
    """Send a request and return the response, whose content is not checked.

    :param kwargs: further arguments of the request for keystoneauth.
    :raises: an exception of openstacksdk if the status is an error. Its
        ``details`` are the message of Ironic, or describe the answer of
        another service.
    :raises: an exception of keystoneauth if there is no answer.
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
            # This is an error of Ironic. openstacksdk has read its message,
            # unless the message is in a member "description".
            exc.details = _read_description(response) or exc.details
        else:
            # A proxy has answered, or Ironic has failed in its answer.
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


def _check_items(
    response: Any,
    list_name: str,
    answer: dict[str, Any],
    required_in_items: Sequence[str],
) -> None:
    """Check that a member of an answer is a list of the expected objects.

    :param list_name: the name of the member.
    :param required_in_items: members that each object must have.
    :raises: Invalid if the member is no list of objects, or if an object lacks
        a required member.
    """
    items = answer[list_name]
    are_objects = isinstance(items, list) and all(
        isinstance(item, dict) for item in items
    )
    if not are_objects:
        raise _unexpected_answer(
            response, list_name, _('has no list of objects')
        )
    for item in items:
        for required_in_item in required_in_items:
            if required_in_item in item:
                continue
            # For example: has an item of "nodes" that has the members "name".
            description = _('has an item of "%(list)s" that %(item)s') % {
                'list': list_name,
                'item': _describe_value(item),
            }
            raise _unexpected_answer(response, required_in_item, description)


def _unexpected_answer(
    response: Any, name: str, description: str
) -> exceptions.Invalid:
    """Build the error for an answer that lacks a required member.

    :param name: the name of the required member.
    :param description: the predicate of a sentence about the answer, e.g. "is
        empty".
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

    An error of Ironic is a JSON object. The error of a proxy is usually a page
    in HTML.
    """
    try:
        return isinstance(response.json(), dict)
    except ValueError:
        return False


def _describe_answer(response: Any) -> str:
    """Describe an answer that is not the expected answer.

    The description is the end of the sentence "The answer from URL …":

    - ``is empty``;
    - ``has the members "versions", "id"`` for a JSON object with members;
    - ``is [1, 2]`` for any other JSON;
    - ``is no JSON ("502 Bad Gateway")`` for anything else, e.g. for the page
      of a proxy with ``<h1>502 Bad Gateway</h1>``.
    """
    if not response.content:
        return _('is empty')
    try:
        return _describe_value(response.json())
    except ValueError:
        # Quote the words of the page without its HTML tags.
        words = re.sub(r'<[^>]*>', ' ', response.text).split()
        text = ' '.join(words) or response.text
        return _('is no JSON (%s)') % _quote(text)


def _describe_value(value: Any) -> str:
    """Describe a JSON value by the names of its members, or by its text.

    - ``{"versions": [], "id": 1}`` gives ``has the members "versions", "id"``.
      Only the first five members are named.
    - ``[1, 2]`` gives ``is [1, 2]``; a long text is cut off.
    """
    if isinstance(value, dict) and value:
        first_names = list(value)[:_MAX_MEMBERS]
        return _('has the members %s') % ', '.join(map(_quote, first_names))
    text = json.dumps(value, ensure_ascii=False)
    return _('is %s') % text[:_MAX_QUOTE_LENGTH]


def _quote(text: str) -> str:
    """Return the beginning of a text in quotes, on one line."""
    return json.dumps(text[:_MAX_QUOTE_LENGTH], ensure_ascii=False)


def call_with_large_body(
    baremetal, method: str, path: str, body: Any, **kwargs: Any
) -> Any:
    """Send a request that may be large, e.g. a request with tables.

    :param method: the HTTP method, e.g. ``POST``.
    :param path: the path below ``/v1``.
    :param body: plain data, which are sent as JSON.
    :param kwargs: further arguments of :func:`call`, e.g. ``required_member``.
    :returns: the members of the answer.
    :raises: the same as :func:`call`; also Invalid if the body is larger than
        Ironic accepts. The message then names the option to raise.
    """
    encoded = _encode_json(body)
    LOG.debug('%s %s with a body of %d bytes', method, path, len(encoded))
    try:
        # Do not let keystoneauth log the body, which may contain secret
        # columns of tables. For its log, keystoneauth would also copy the body
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
        is_too_large = exc.status_code == http_client.REQUEST_ENTITY_TOO_LARGE
        # No option of Ironic raises the limit of a proxy in front of it.
        if not is_too_large or not _is_object(exc.response):
            raise
        raise exceptions.Invalid(
            _(
                'The request is larger than the API takes: raise '
                '[api]max_json_body_size_inspection in its configuration (%s)'
            )
            % exc.details
        ) from exc


def _encode_json(body: Any) -> bytes:
    """Return the body of a request as JSON in bytes, row by row.

    A body may contain large tables, e.g. ``{"tables": {"racks": {"rows":
    [...]}}}``. The text of a whole table would be in memory in addition to its
    bytes, so the text of each row is converted to bytes separately.

    :param body: plain data.
    """
    encoded = io.BytesIO()
    for piece in _json_pieces(body, _DEPTH_OF_ROWS):
        encoded.write(piece.encode())
    return encoded.getvalue()


def _json_pieces(value: Any, depth: int) -> Iterator[str]:
    """Yield the JSON of a value piece by piece.

    For example, ``{"a": [1, 2]}`` gives ``{"a":``, ``[1, 2]`` and ``}`` at
    depth 1. At depth 2, the list is divided into ``[``, ``1``, ``,``, ``2``
    and ``]``.

    :param value: plain data.
    :param depth: the number of levels of mappings and lists that are divided.
        A value below these levels is one piece.
    """
    may_be_divided = depth > 0 and isinstance(value, dict | list)
    if not value or not may_be_divided:
        # An empty mapping or list is one piece as well, because the code below
        # writes the opening bracket with the first member or item.
        yield json.dumps(value)
    elif isinstance(value, dict):
        # Before the first member is the opening bracket, then commas follow.
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
    """Return the problems that the API found in the body of a request.

    Ironic returns ``{"error_message": TEXT}``, where the text itself is JSON:
    ``{"problems": [{"pointer": "/rules/0/scope", "detail": ...}]}``.

    :param exc: the error that the request has raised.
    :returns: an empty list if the error has no list of problems, because it is
        another error of Ironic or the answer of a proxy.
    """
    if exc.response is None:
        return []
    problems = []
    try:
        error = json.loads(exc.response.json()['error_message'])
        for data in error['problems']:
            # The hint is optional.
            hint = data.get('hint')
            if hint is not None:
                hint = str(hint)
            problems.append(
                exceptions.Problem(
                    str(data['pointer']), str(data['detail']), hint
                )
            )
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
    return problems


def without_none(**values: Any) -> dict[str, Any]:
    """Remove the values that are None, which means that they are not given.

    For example, ``without_none(limit=5, marker=None)`` is ``{'limit': 5}``.
    """
    return {name: value for name, value in values.items() if value is not None}


def _read_description(response: Any) -> str | None:
    """Return the description of an error, or None.

    An error of Ironic's web framework has a description, which openstacksdk
    does not read. Ironic returns ``{"error_message": TEXT}``, where the text
    itself is JSON: ``{"description": ...}``.
    """
    try:
        error = json.loads(response.json()['error_message'])
        return str(error['description'])
    except (ValueError, KeyError, TypeError):
        return None


def list_items(
    baremetal,
    path: str,
    name: str,
    query: dict[str, Any],
    required_in_items: Sequence[str] = (),
    microversion: str = MICROVERSION,
) -> Iterator[dict[str, Any]]:
    """Yield the items of a collection, page by page.

    A page is ``{"nodes": [...], "next": LINK}``. The link is the URL of the
    next page; the last page has none.

    :param path: the path below ``/v1``.
    :param name: the name of the list in the answer, e.g. ``nodes``.
    :param query: the query parameters of every page; None means not given.
    :param required_in_items: members that each item must have.
    :param microversion: the minimum version of the API that supports the call.
    :raises: the same as :func:`call`; also Invalid if a page names itself as
        the next page, because the loop would never end.
    """
    parameters = without_none(**query)
    while True:
        page = call(
            baremetal,
            'GET',
            path,
            required_member=name,
            is_list=True,
            required_in_items=required_in_items,
            microversion=microversion,
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
        # The link to the next page of nodes lacks most filters, so keep the
        # parameters of this page.
        parameters = {**parameters, **parameters_of_link}
