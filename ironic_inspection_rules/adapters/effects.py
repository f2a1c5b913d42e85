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

"""What actions do beyond the data of the machine."""

import logging
from urllib import parse as urlparse

from ironic.common import image_service
from ironic.conf import CONF
from oslo_log import log
from oslo_utils import strutils
import requests
from urllib3.util import retry as urllib3_retry

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.i18n import _

LOG = log.getLogger(__name__)

_RETRIED = (429, 500, 502, 503, 504)


class ServiceEffects:
    """Effects of a rule that runs in a service of Ironic."""

    def log(self, level: str, message: str) -> None:
        """Write a line to the log of the service."""
        LOG.log(getattr(logging, level.upper()), '%s', message)

    def call(self, request: engine_target.Request) -> None:
        """Send a GET request, verified as ``[DEFAULT]webserver_verify_ca``.

        :raises: :class:`.exceptions.OperationError` where it fails.
        """
        retry = urllib3_retry.Retry(
            total=request.retries, backoff_factor=request.backoff_factor,
            status_forcelist=_RETRIED, allowed_methods=['GET'],
            raise_on_status=False)
        shown = masking.mask_url(request.url)
        try:
            with _Session(urlparse.urlsplit(request.url).scheme) as session:
                for scheme in ('http://', 'https://'):
                    session.mount(scheme, image_service.TLSHTTPAdapter(
                        max_retries=retry))
                response = session.get(
                    request.url, headers=request.headers,
                    proxies=request.proxies, timeout=request.timeout,
                    verify=_verify())
        except (requests.RequestException, ValueError) as exc:
            raise exceptions.OperationError(
                _('GET %(url)s failed: %(error)s')
                % {'url': shown, 'error': type(exc).__name__}) from exc
        if not response.ok:
            raise exceptions.OperationError(
                _('GET %(url)s failed: %(status)d %(reason)s')
                % {'url': shown, 'status': response.status_code,
                   'reason': response.reason})


class _Session(requests.Session):
    """A session that refuses redirects to another scheme."""

    def __init__(self, scheme: str) -> None:
        super().__init__()
        self._scheme = scheme

    def get_redirect_target(self, resp):
        target = super().get_redirect_target(resp)
        scheme = urlparse.urlsplit(target or '').scheme
        if scheme and scheme != self._scheme:
            raise requests.exceptions.InvalidSchema(scheme)
        return target


def _verify() -> bool | str:
    try:
        return strutils.bool_from_string(CONF.webserver_verify_ca,
                                         strict=True)
    except ValueError:
        return CONF.webserver_verify_ca
