# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The action that tells another service."""

import typing
from urllib import parse as urlparse

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.i18n import _


class ApiCall(plugin.Action):
    """``api-call``: send a GET request.

    Takes the arguments of Ironic's own action: ``timeout`` in seconds,
    ``retries`` on connection errors and on 429 and 5xx answers,
    ``backoff_factor`` for the seconds between them.
    """

    SUPPORTS_EARLY = True

    def problems(self, arguments: typing.Mapping[str, typing.Any]
                 ) -> typing.Iterator[tuple[str, str]]:
        for name in ('url', 'timeout', 'retries', 'backoff_factor',
                     'headers', 'proxies'):
            try:
                _check(**{name: arguments[name]} if name in arguments else {})
            except exceptions.OperationError as exc:
                yield name, str(exc)

    def __call__(self, target: engine_target.Target, url: str,
                 headers: typing.Any = None, proxies: typing.Any = None,
                 timeout: float = 5.0, retries: int = 3,
                 backoff_factor: float = 0.3) -> None:
        _check(url, headers, proxies, timeout, retries, backoff_factor)
        target.call(engine_target.Request(
            url, headers, proxies, timeout, retries, backoff_factor))


def _check(url: str = 'http://host', headers: typing.Any = None,
           proxies: typing.Any = None, timeout: float = 1.0,
           retries: int = 0, backoff_factor: float = 0.0) -> None:
    parts = urlparse.urlsplit(url)
    if parts.scheme not in ('http', 'https') or not parts.netloc:
        raise exceptions.OperationError(
            _('must be an http or https URL'))
    if not timeout > 0 or retries < 0 or not backoff_factor >= 0:
        raise exceptions.OperationError(_('must be greater than zero')
                                        if not timeout > 0 else
                                        _('must not be negative'))
    for mapping in (headers, proxies):
        if mapping is not None and not (
                isinstance(mapping, dict)
                and all(isinstance(text, str) for pair in mapping.items()
                        for text in pair)):
            raise exceptions.OperationError(
                _('must be a mapping of strings to strings'))
