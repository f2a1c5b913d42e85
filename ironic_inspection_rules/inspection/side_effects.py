# SPDX-License-Identifier: Apache-2.0

"""Carries out the actions ``log`` and ``api-call`` of rules.

``api-call`` sends a GET request to a URL of the rule. A phase has a time
limit, so a request, with all its retries and redirects, must end with the
phase: a stopwatch, ``watch``, expires then. The URL and the headers may
contain secrets of the rule, so they do not appear in logs and errors.
"""

import logging
import math
import queue
import threading
from urllib import parse as urlparse

from ironic.conf import CONF
from oslo_log import log
from oslo_utils import strutils
from oslo_utils import timeutils
import requests
from urllib3 import exceptions as urllib3_exceptions
from urllib3.util import retry as urllib3_retry

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import tls

LOG = log.getLogger(__name__)

_RETRIED_STATUSES = (429, 500, 502, 503, 504)
"""Statuses after which a request is repeated, because it may then succeed."""

_SHORTEST_TIMEOUT = 0.001
"""The shortest timeout in seconds, because HTTP libraries refuse zero."""

_THREAD = 'inspection-rules-api-call'
"""Name of the threads that send requests of rules."""


class _Unseen(logging.Filter):
    """Keeps URLs of rules, which may contain secrets, out of the log.

    The HTTP library logs the whole URL with every retry.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Drop records that are logged while a rule's request is sent."""
        return record.threadName != _THREAD


for _name in ('connectionpool', 'util.retry'):
    # Add it to both loggers, because a logger ignores filters of its parents.
    logging.getLogger(f'urllib3.{_name}').addFilter(_Unseen())


class ServiceEffects(working_copy.Effects):
    """Effects of rules that run in a service of Ironic."""

    def log(self, level: str, message: str) -> None:
        """Write one line to the log of the service."""
        LOG.log(
            getattr(logging, level.upper()),
            '%s',
            exceptions.to_one_line(message),
        )

    def call(self, request: working_copy.GetRequest, seconds: float) -> None:
        """Send a GET request, and wait for the answer until the phase ends.

        ``[DEFAULT]webserver_verify_ca`` defines how to verify the server.

        :param seconds: time until the phase ends; infinite without a limit.
        :raises: :class:`.exceptions.OperationError` if the request fails, if
            the status of the answer is an error, or if there is no answer
            before the phase ends. In the last case the request may still reach
            the server.
        """
        # The thread puts one result: None for success, otherwise the problem.
        results: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        watch = timeutils.StopWatch(seconds)
        watch.start()

        def send() -> None:
            results.put(_send(request, watch))

        # Use a thread, because it can be abandoned at the end of the phase.
        # The timeouts of the library "requests" would not suffice: they limit
        # the connection and the pauses between two bytes, but neither the
        # whole request nor the look-up of the host. The filter _Unseen
        # recognizes the thread by its name.
        threading.Thread(target=send, name=_THREAD, daemon=True).start()
        timeout = None
        if seconds != math.inf:
            timeout = seconds
        no_answer = _('no answer before the end of the phase')
        try:
            problem = results.get(timeout=timeout)
        except queue.Empty:
            problem = no_answer
        if problem is None:
            return
        if watch.expired():
            # The thread also gives up when the phase ends. It may do so before
            # the wait above ends, and then reports e.g. an unreachable host.
            problem = no_answer
        raise exceptions.OperationError(problem)


def _limit_to_phase(seconds: float, watch: timeutils.StopWatch) -> float:
    """Return a waiting time that ends with the phase at the latest.

    :param seconds: the waiting time without the limit.
    :param watch: expires when the phase ends.
    """
    return max(min(seconds, watch.leftover()), _SHORTEST_TIMEOUT)


class _Retry(urllib3_retry.Retry):
    """Retries until the end of the phase at the latest.

    urllib3 limits the number of retries, but neither the total time of all
    retries nor a pause that a server asks for, which may be a day.
    """

    watch: timeutils.StopWatch
    """Expires when the phase ends."""

    def new(self, **kw):
        retry = super().new(**kw)
        retry.watch = self.watch
        return retry

    def is_exhausted(self):
        return super().is_exhausted() or self.watch.expired()

    def get_backoff_time(self):
        return _limit_to_phase(super().get_backoff_time(), self.watch)

    def get_retry_after(self, response):
        """Return the pause in seconds that the server asks for, or None.

        The pause ends with the phase at the latest.
        """
        # This is the value of the header Retry-After.
        seconds = super().get_retry_after(response)
        if seconds is None:
            return None
        return _limit_to_phase(seconds, self.watch)


def _send(
    request: working_copy.GetRequest, watch: timeutils.StopWatch
) -> str | None:
    """Send a GET request, and return None or the problem.

    Only the status of the answer matters, so its body is not read.

    :param watch: expires when the phase ends.
    :returns: None for success; otherwise a text such as ``the status is 404``.
        It contains no text of the server, which may be a secret, and no text
        of an error, which may contain the query of the URL.
    """
    try:
        # The library retries after these statuses and after lost connections.
        retry = _Retry(
            total=request.retries,
            backoff_factor=request.backoff_factor,
            status_forcelist=_RETRIED_STATUSES,
            allowed_methods=['GET'],
            raise_on_status=False,
        )
        retry.watch = watch
        with _Session(request, watch) as session:
            for scheme in ('http://', 'https://'):
                session.mount(scheme, tls.make_adapter(max_retries=retry))
            with session.get(
                request.url,
                headers=request.headers,
                proxies=request.proxies,
                timeout=_limit_to_phase(request.timeout, watch),
                verify=_read_verification(),
                stream=True,
            ) as response:
                if response.ok:
                    return None
                return _('the status is %d') % response.status_code
    # Catch everything, because call() waits for a result from this thread.
    except Exception as exc:
        level = logging.ERROR
        if isinstance(exc, _FORESEEN):
            level = logging.DEBUG
        # Log only the type, because the text of an error may have the URL.
        LOG.log(
            level,
            'A request of the action api-call failed: %s',
            type(exc).__name__,
        )
        # Describe the error by its type, because its text is not shown.
        for error_types, problem in _PROBLEMS:
            if isinstance(exc, error_types):
                return problem
        return _('the request cannot be sent')


_ERRORS = requests.exceptions

_FORESEEN = (
    requests.RequestException,
    urllib3_exceptions.HTTPError,
    OSError,
    ValueError,
)
"""Errors caused by the data of a rule or a server; other errors are bugs."""

_PROBLEMS = (
    (_ERRORS.SSLError, _('no TLS connection; its certificate may be invalid')),
    (_ERRORS.ProxyError, _('the proxy cannot be reached')),
    (
        (_ERRORS.ConnectionError, _ERRORS.Timeout),
        _('the host cannot be reached, or does not answer in time'),
    ),
    (_ERRORS.TooManyRedirects, _('too many redirects')),
    (_ERRORS.InvalidSchema, _('a redirect to another scheme')),
)
"""Descriptions of errors of requests; the first matching one is used."""


class _Session(requests.Session):
    """A session that restricts redirects.

    It does not follow redirects to another scheme or after the end of the
    phase, and does not send the headers of the rule to another host.
    """

    def __init__(
        self, request: working_copy.GetRequest, watch: timeutils.StopWatch
    ) -> None:
        super().__init__()
        # Expires when the phase ends.
        self._watch = watch
        self._scheme = urlparse.urlsplit(request.url).scheme
        # The names of the headers of the rule.
        self._own_headers = tuple(request.headers or ())

    def get_redirect_target(self, resp):
        """Return the URL of a redirect; None if the answer is not a redirect.

        :raises: Timeout if the phase has ended; InvalidSchema if the redirect
            leads to another scheme, e.g. from https to http.
        """
        target = super().get_redirect_target(resp)
        if target and self._watch.expired():
            raise requests.exceptions.Timeout()
        # A relative URL has no scheme.
        scheme = urlparse.urlsplit(target or '').scheme
        if scheme and scheme != self._scheme:
            raise requests.exceptions.InvalidSchema(scheme)
        return target

    def rebuild_auth(self, prepared_request, response):
        """Remove the headers of the rule from a request to another host.

        The library calls this for every redirect, before it follows it.

        :param prepared_request: the request to the target of the redirect. It
            is changed in place.
        :param response: the response with the redirect.
        """
        # The library itself removes only the header Authorization.
        super().rebuild_auth(prepared_request, response)
        if self.should_strip_auth(response.request.url, prepared_request.url):
            for name in self._own_headers:
                prepared_request.headers.pop(name, None)


def _read_verification() -> bool | str:
    """Return whether to verify servers, or the path of the CAs to use.

    The option may be ``True``, ``False`` or a path.
    """
    try:
        return strutils.bool_from_string(CONF.webserver_verify_ca, strict=True)
    except ValueError:
        return CONF.webserver_verify_ca
