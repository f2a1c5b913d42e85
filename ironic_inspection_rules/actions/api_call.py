# SPDX-License-Identifier: Apache-2.0

"""The action that tells another service."""

import dataclasses
import math
import typing
from urllib import parse as urlparse

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import effects
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import schema
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.i18n import _

_STRINGS = [{'type': 'object', 'additionalProperties': {'type': 'string'}},
            schema.NULL]


class ApiCall(plugin.Action):
    """``api-call``: send a GET request.

    Takes the arguments of Ironic's own action: ``timeout`` in seconds,
    ``retries`` on connection errors and on 429 and 5xx answers,
    ``backoff_factor`` for the seconds between them.
    """

    SUPPORTS_EARLY = True
    SCHEMAS = {
        'url': [{'type': 'string', 'pattern':
                 r'^[\u0000-\u0020]*[hH][tT]{2}[pP][sS]?:'}],
        'headers': _STRINGS, 'proxies': _STRINGS,
        'timeout': [{'type': 'number', 'exclusiveMinimum': 0},
                    schema.whole(schema.NUMBER)],
        'retries': [{'type': 'number', 'exclusiveMinimum': -1},
                    schema.whole(schema.WHOLE_NUMBER)],
        'backoff_factor': [{'type': 'number', 'minimum': 0},
                           schema.whole(schema.NUMBER)],
    }

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        for name, value in arguments.items():
            if value is not None and not _CHECKS[name].holds(value):
                yield name, _CHECKS[name].message

    def writes(self, arguments: plugin.Arguments
               ) -> typing.Iterator[plugin.Write]:
        yield from ()

    def __call__(self, target: working_copy.WorkingCopy, url: str,
                 headers: typing.Any = None, proxies: typing.Any = None,
                 timeout: float = 5.0, retries: int = 3,
                 backoff_factor: float = 0.3) -> None:
        request = effects.Request(
            url, headers, proxies, timeout, retries, backoff_factor)
        for name, message in self.problems(dataclasses.asdict(request)):
            raise exceptions.OperationError(f'{name} {message}')
        target.call(request)


class _Check(typing.NamedTuple):
    """A check of an argument, and the message where it fails."""

    holds: typing.Callable[[typing.Any], bool]
    message: str


def _is_url(url: str) -> bool:
    try:
        parts = urlparse.urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ('http', 'https') and bool(parts.netloc)


def _is_mapping(value: typing.Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(text, str) for pair in value.items() for text in pair)


_MAPPING = _Check(_is_mapping, _('must be a mapping of strings to strings'))

_CHECKS = {
    'url': _Check(_is_url, _('must be an http or https URL')),
    'headers': _MAPPING,
    'proxies': _MAPPING,
    'timeout': _Check(lambda seconds: 0 < seconds < math.inf,
                      _('must be greater than zero')),
    'retries': _Check(lambda times: times >= 0, _('must not be negative')),
    'backoff_factor': _Check(lambda seconds: 0 <= seconds < math.inf,
                             _('must not be negative')),
}
