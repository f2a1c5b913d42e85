# SPDX-License-Identifier: Apache-2.0

"""Requests to the API: large bodies, errors in answers, page after page.

Each function of this room takes ``baremetal``, the bare metal proxy of an
openstacksdk connection, of which several threads may ask.
"""

from collections.abc import Iterator, Sequence
from http import client as http_client
import io
import json
import logging
import re
from typing import Any
from urllib import parse as urlparse

from openstack import exceptions as sdk_exceptions

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

LOG = logging.getLogger(__name__)

MICROVERSION = '1.96'

_LONGEST_QUOTE = 300
"""Most characters of an answer in an error."""

_MOST_MEMBERS = 5
"""Most members of an answer that an error names."""

_DEPTH_OF_ROWS = 4
"""Levels above a row in ``{"tables": {NAME: {"rows": [ROW, ...]}}}``."""


def call(
    baremetal,
    method: str,
    path: str,
    *,
    needed: str,
    is_list: bool = False,
    needed_of_items: Sequence[str] = (),
    microversion: str = MICROVERSION,
    **kwargs: Any,
) -> dict[str, Any]:
    """Send a request and return what the answer holds.

    :param path: below ``/v1``.
    :param needed: a member that the answer must have.
    :param is_list: whether that member is a list of objects.
    :param needed_of_items: members that each of these objects must have.
    :param microversion: the least version of the API that has this call.
    :param kwargs: further arguments of the request, such as ``json`` or
        ``params``, as keystoneauth takes them.
    :raises: an exception of openstacksdk for any error; Invalid for an answer
        that is no JSON, or lacks what is needed.
    """
    response = _send(
        baremetal, method, path, microversion=microversion, **kwargs
    )
    return content(response, needed, is_list, needed_of_items)


def delete(baremetal, path: str) -> None:
    """Send a request to delete something, which Ironic answers without a body.

    :raises: an exception of openstacksdk for any error; Invalid for an answer
        of something else than Ironic.
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

    :raises: an exception of openstacksdk for any error.
    """
    # The SDK would also send a request again after 409, by which Ironic says
    # that a node is locked. Our calls say by it that rules have changed or a
    # name is taken: the same request would be refused again.
    response = baremetal.request(
        path,
        method,
        microversion=microversion,
        retriable_status_codes={503},
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
        exc.details = _description(response) or exc.details
        if not _is_object(response):
            # That of a proxy, or of a server that broke off.
            exc.details = _(
                'The answer from %(url)s with the status %(status)d %(came)s'
            ) % {
                'url': response.url,
                'status': response.status_code,
                'came': _what_came(response),
            }
        raise
    return response


def content(
    response: Any,
    needed: str,
    is_list: bool = False,
    needed_of_items: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what an answer holds.

    :param needed: a member that it must have.
    :param is_list: whether that member is a list of objects.
    :param needed_of_items: members that each of these objects must have.
    :raises: Invalid if it is no JSON, or lacks what is needed: it may be the
        answer of another service, or of a proxy.
    """
    answer: Any = None
    try:
        answer = response.json()
    except ValueError:
        # What came instead is part of the error below.
        pass
    if not _has(answer, needed, is_list):
        came = _what_came(response)
        if isinstance(answer, dict) and needed in answer:
            # To name it as what came instead would say nothing.
            came = _('has no list of objects')
        raise _unexpected(response, needed, came)
    members: dict[str, Any] = answer
    for name in needed_of_items:
        for item in members[needed]:
            if name not in item:
                came = _('has an item of "%(list)s" that %(came)s') % {
                    'list': needed,
                    'came': _described(item),
                }
                raise _unexpected(response, name, came)
    return members


def _unexpected(response: Any, name: str, came: str) -> exceptions.Invalid:
    """Return the error for an answer that has not what is needed.

    :param name: of the member that is needed.
    :param came: what is there instead: "is empty".
    """
    return exceptions.Invalid(
        _(
            'The answer from %(url)s %(came)s, where "%(name)s" is expected: '
            'check the endpoint of the bare metal service'
        )
        % {'url': response.url, 'name': name, 'came': came}
    )


def _is_object(response: Any) -> bool:
    """Return whether an answer is a JSON object, as errors of services are."""
    try:
        return isinstance(response.json(), dict)
    except ValueError:
        return False


def _what_came(response: Any) -> str:
    """Return what an answer is, in words and shortened: "is empty"."""
    if not response.content:
        return _('is empty')
    try:
        return _described(response.json())
    except ValueError:
        return _('is no JSON (%s)') % _quoted(_without_tags(response.text))


def _described(value: Any) -> str:
    """Return what a JSON value is: its names, or the beginning of it."""
    if isinstance(value, dict) and value:
        names = list(value)[:_MOST_MEMBERS]
        return _('has the members %s') % ', '.join(map(_quoted, names))
    return _('is %s') % json.dumps(value, ensure_ascii=False)[:_LONGEST_QUOTE]


def _without_tags(page: str) -> str:
    """Return the words of a page in HTML; the page itself if it has none."""
    words = re.sub(r'<[^>]*>', ' ', page).split()
    return ' '.join(words) or page


def _quoted(text: str) -> str:
    """Return a text in quotes, shortened."""
    return json.dumps(text[:_LONGEST_QUOTE], ensure_ascii=False)


def _has(answer: Any, name: str, is_list: bool) -> bool:
    """Check whether an answer has a member, of the kind that it has to be."""
    if not isinstance(answer, dict) or name not in answer:
        return False
    if not is_list:
        return True
    items = answer[name]
    return isinstance(items, list) and all(
        isinstance(item, dict) for item in items
    )


def call_with_large_body(
    baremetal, method: str, path: str, body: Any, **kwargs: Any
) -> Any:
    """Send a request that may be large, such as one with tables.

    :param body: plain data, which are sent as JSON.
    :param kwargs: further arguments of :func:`call`, such as ``needed``.
    :raises: an exception of openstacksdk for any error; Invalid for an answer
        that is no JSON, or lacks what is needed; Invalid that names the option
        to raise if the body is larger than the API takes.
    """
    encoded = _encoded(body)
    LOG.debug('%s %s with a body of %d bytes', method, path, len(encoded))
    try:
        # keystoneauth would log the body, which may have secret columns of
        # tables. It prepares that log line, with three more copies of the
        # body, even if nobody reads it.
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
        if exc.response is None or exc.response.status_code != 413:
            raise
        raise exceptions.Invalid(
            _(
                'The request is larger than the API takes: raise '
                '[api]max_json_body_size_inspection in its configuration (%s)'
            )
            % exc.details
        ) from exc


def _encoded(body: Any) -> bytes:
    """Return a body as the bytes of its JSON.

    keystoneauth would first make one text of all of it: a large table would
    be in memory twice.
    """
    encoded = io.BytesIO()
    for part in _parts(body, _DEPTH_OF_ROWS):
        encoded.write(part.encode())
    return encoded.getvalue()


def _parts(value: Any, depth: int) -> Iterator[str]:
    """Yield the JSON of a value piece by piece.

    Of ``[[1, 2], [3]]``, for example, with depth 1: ``[``, ``[1, 2]``, ``,``,
    ``[3]`` and ``]``.

    :param depth: how many levels of mappings and lists are divided.
    """
    is_divided = depth > 0 and isinstance(value, dict | list)
    if not is_divided or not value:
        yield json.dumps(value)
    elif isinstance(value, dict):
        separator = '{'
        for name, member in value.items():
            yield f'{separator}{json.dumps(name)}:'
            yield from _parts(member, depth - 1)
            separator = ','
        yield '}'
    else:
        separator = '['
        for item in value:
            yield separator
            yield from _parts(item, depth - 1)
            separator = ','
        yield ']'


def problems(exc: sdk_exceptions.HttpException) -> list[exceptions.Problem]:
    """Return the problems that the API found in the body of a request.

    :returns: none where the error is another one.
    """
    if exc.response is None:
        return []
    try:
        error = json.loads(exc.response.json()['error_message'])
        return [_problem(data) for data in error['problems']]
    except (ValueError, KeyError, TypeError):
        # Another error of Ironic, or the answer of a proxy before it.
        return []


def _problem(data: dict[str, Any]) -> exceptions.Problem:
    """Read a problem from an answer.

    :raises: KeyError or TypeError if it is something else.
    """
    pointer = str(data['pointer'])
    detail = str(data['detail'])
    hint = None
    if 'hint' in data:
        hint = str(data['hint'])
    return exceptions.Problem(pointer, detail, hint)


def without_none(**values: Any) -> dict[str, Any]:
    """Return the values that are not None, by their names."""
    return {name: value for name, value in values.items() if value is not None}


def _description(response: Any) -> str | None:
    """Return the description in the answer of an error, None without one.

    Errors of Ironic's web framework have one, and the SDK does not read it.
    """
    try:
        error = json.loads(response.json()['error_message'])
        return str(error['description'])
    except (ValueError, KeyError, TypeError):
        return None


def items(
    baremetal,
    path: str,
    name: str,
    query: dict[str, Any],
    needed_of_items: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the items of a collection, page by page.

    :param name: of the list in the answer.
    :param query: of every page; None counts as not given.
    :param needed_of_items: members that each item must have.
    """
    query = without_none(**query)
    while True:
        page = call(
            baremetal,
            'GET',
            path,
            needed=name,
            is_list=True,
            needed_of_items=needed_of_items,
            params=query,
        )
        yield from page[name]
        if 'next' not in page:
            return
        # The link to the next page has the marker. In Ironic's list of nodes
        # it lacks most filters: those of the first page are sent again.
        following = urlparse.urlsplit(page['next'])
        parameters = urlparse.parse_qsl(
            following.query, keep_blank_values=True
        )
        query = {**query, **dict(parameters)}
