# SPDX-License-Identifier: Apache-2.0

"""Reading what a client has sent, without trusting it."""

from collections.abc import Callable
from collections.abc import Mapping
from http import client as http_client
import json
import math
from typing import Any
import uuid

from ironic import api
from ironic.common import exception as ironic_exception
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.i18n import _


def body(*, any_type: bool = False, finite: bool = True) -> Any:
    """Parse the body of the request; to be called once policies allow it.

    Its size, depth and charset are within what :mod:`.body_guard` and Ironic
    let through.

    :param any_type: whether it may claim to be something else than JSON, as
        it may for Ironic.
    :param finite: whether there may be only what JSON can say, and the
        answer can say again: no NaN and no infinity.
    :returns: the document, None if there is no body.
    :raises: Invalid if the body is no such document.
    :raises: ClientSideError (415) if the body does not claim to be JSON.
    """
    if not (any_type or api.request.content_type.endswith('json')):
        raise ironic_exception.ClientSideError(
            _('The request must have the content type application/json'),
            status_code=http_client.UNSUPPORTED_MEDIA_TYPE)
    number: Any = ({'parse_float': _finite, 'parse_constant': _finite}
                   if finite else {})
    try:
        # A byte order mark may be ignored (RFC 8259).
        text = api.request.body.decode('utf-8-sig')
        return json.loads(text, **number) if text else None
    except (ValueError, RecursionError) as exc:
        raise exceptions.Invalid(
            _('The request is not valid JSON: %s') % exc) from exc


def ramdisk_data() -> dict[str, Any]:
    """Parse the body of the request as Ironic reads it from a ramdisk.

    That is of any content type, and NaN may be in it.

    :raises: Invalid if the body is no JSON object.
    """
    data = body(any_type=True, finite=False)
    if data is None and not api.request.body:
        return {}
    if not isinstance(data, dict):
        raise exceptions.Invalid(_('The request must be a JSON object'))
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(_('%s is no JSON number') % text)
    return number


def query(parameters: Mapping[str, Callable[[str, str], Any]]
          ) -> dict[str, Any]:
    """Read the parameters of the URL.

    :param parameters: the parameters there are; each converts a value, given
        the name and the value.
    :returns: the values of all of these, None for those not given.
    :raises: Invalid if there are others, or one is there twice.
    """
    given = api.request.GET.mixed()
    unknown = suggestion.all_unknown(_('query parameter'), given, parameters)
    if unknown:
        raise exceptions.Invalid(unknown)
    for name, value in given.items():
        if not isinstance(value, str):
            raise exceptions.Invalid(
                _('Query parameter %s was given several times') % name)
    return {name: convert(name, given[name]) if name in given else None
            for name, convert in parameters.items()}


def rule_uuid(text: str) -> str:
    """Bring the UUID of a rule into the form that it is stored in.

    :raises: Invalid if it is no UUID.
    """
    if not uuidutils.is_uuid_like(text):
        raise exceptions.Invalid(_('Expected a UUID, got "%s"') % text)
    return str(uuid.UUID(text))
