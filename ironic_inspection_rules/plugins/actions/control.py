# SPDX-License-Identifier: Apache-2.0

"""Implements the actions fail, log and api-call (spec 003).

These actions fail the inspection, write to a log, or call another service.

``problems`` checks the literal arguments of an action when a rule is created.
An argument with a replacement field, e.g. ``{node.name}``, has a value only
when the rule runs. Then ``__call__`` gets all arguments, and the target, which
is the data of the machine and also sends requests and writes to the log.
"""

import dataclasses
import math
import typing
from urllib import parse as urlparse

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.i18n import _

_STRINGS = [
    {'type': 'object', 'additionalProperties': {'type': 'string'}},
    schema.NULL,
]

LEVELS = ('debug', 'info', 'warning', 'error', 'critical')


class Fail(plugin.Action):
    """``fail``: fail the inspection with a message."""

    SUPPORTS_EARLY = True
    TELLS = frozenset({'msg'})
    FAILS = True

    def of_node(self, arguments: plugin.Arguments) -> typing.Iterator[str]:
        """Yield ``maintenance`` if the action sets maintenance of the node."""
        if arguments.get('maintenance'):
            yield 'maintenance'

    def __call__(
        self, target: plugin.Target, msg: typing.Any, maintenance: bool = False
    ) -> None:
        """Fail the inspection.

        :param maintenance: whether to put the node into maintenance too.
        :raises: :class:`.exceptions.FailRequested` always.
        """
        raise exceptions.FailRequested(str(msg), maintenance)


class Log(plugin.Action):
    """``log``: write a message to the log of the service."""

    SUPPORTS_EARLY = True
    TELLS = frozenset({'msg'})
    SCHEMAS = {'level': [schema.text_matching(schema.match_words(LEVELS))]}

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem if a literal level is none of :data:`LEVELS`."""
        if arguments.get('level', 'info').lower() not in LEVELS:
            yield 'level', _('must be one of %s') % ', '.join(LEVELS)

    def __call__(
        self, target: plugin.Target, msg: typing.Any, level: str = 'info'
    ) -> None:
        """Write the message to the log.

        :raises: :class:`.exceptions.OperationError` if the level is none of
            :data:`LEVELS`. The value of a field may be any text.
        """
        if level.lower() not in LEVELS:
            raise exceptions.OperationError(
                _('level must be one of %s') % ', '.join(LEVELS)
            )
        target.log(level.lower(), str(msg))


class ApiCall(plugin.Action):
    """``api-call``: send a GET request.

    The arguments are those of Ironic's own action: ``timeout`` in seconds, the
    number of ``retries`` after connection errors and responses 429 and 5xx,
    and ``backoff_factor``, which controls the seconds between retries.
    """

    SUPPORTS_EARLY = True
    SCHEMAS = {
        'url': [
            {
                'type': 'string',
                'pattern': r'^[\u0000-\u0020]*[hH][tT]{2}[pP][sS]?:',
            }
        ],
        'headers': _STRINGS,
        'proxies': _STRINGS,
        'timeout': [
            {'type': 'number', 'exclusiveMinimum': 0},
            schema.text_matching(schema.NUMBER),
        ],
        'retries': [
            {'type': 'number', 'exclusiveMinimum': -1},
            schema.text_matching(schema.WHOLE_NUMBER),
        ],
        'backoff_factor': [
            {'type': 'number', 'minimum': 0},
            schema.text_matching(schema.NUMBER),
        ],
    }

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield the arguments that cannot be part of a request.

        For example, ``('retries', 'must not be negative')``.

        :param arguments: the values of arguments, by name.
        """
        for name, value in arguments.items():
            if value is None:
                # E.g. "headers: null" for a request without headers.
                continue
            check = _CHECKS[name]
            if not check.accepts(value):
                yield name, check.message

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield nothing, because a request changes no data of the machine."""
        yield from ()

    def __call__(
        self,
        target: plugin.Target,
        url: str,
        headers: typing.Any = None,
        proxies: typing.Any = None,
        timeout: float = 5.0,
        retries: int = 3,
        backoff_factor: float = 0.3,
    ) -> None:
        """Check the arguments, and send the request.

        :param timeout: the time limit in seconds.
        :param retries: how often a failed request is sent again.
        :raises: :class:`.exceptions.OperationError` if an argument is invalid
            or the request fails.
        """
        request = plugin.GetRequest(
            url, headers, proxies, timeout, retries, backoff_factor
        )
        # Check all arguments here, because arguments with replacement fields
        # could not be checked when the rule was created.
        problems = self.problems(dataclasses.asdict(request))
        first_problem = next(problems, None)
        if first_problem is not None:
            name, message = first_problem
            raise exceptions.OperationError(f'{name} {message}')
        target.call(request)


def _is_url(url: str) -> bool:
    """Return whether a text is an HTTP or HTTPS URL with a host."""
    try:
        parts = urlparse.urlsplit(url)
    except ValueError:
        return False
    has_host = bool(parts.netloc)
    return parts.scheme in ('http', 'https') and has_host


def _is_mapping_of_texts(value: typing.Any) -> bool:
    """Return whether a value is a mapping of strings to strings."""
    if not isinstance(value, dict):
        return False
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            return False
    return True


def _is_timeout(seconds: float) -> bool:
    """Return whether a number can be the time limit of a request."""
    return 0 < seconds < math.inf


def _is_count(times: int) -> bool:
    """Return whether a number can be the number of retries."""
    return times >= 0


def _is_factor(seconds: float) -> bool:
    """Return whether a number can be the backoff factor of retries."""
    return 0 <= seconds < math.inf


class _Check(typing.NamedTuple):
    """The check of an argument, and the message if the check fails.

    ``accepts`` is called with the value of the argument.
    """

    accepts: typing.Callable[[typing.Any], bool]
    message: str


_CHECKS = {
    'url': _Check(_is_url, _('must be an http or https URL')),
    'headers': _Check(
        _is_mapping_of_texts, _('must be a mapping of strings to strings')
    ),
    'proxies': _Check(
        _is_mapping_of_texts, _('must be a mapping of strings to strings')
    ),
    'timeout': _Check(_is_timeout, _('must be greater than zero')),
    'retries': _Check(_is_count, _('must not be negative')),
    'backoff_factor': _Check(_is_factor, _('must not be negative')),
}
"""The checks of the arguments of ``api-call``, by name."""
