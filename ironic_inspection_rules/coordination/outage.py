# SPDX-License-Identifier: Apache-2.0

"""Logging what fails, and works again, by its changes."""

import threading

from oslo_log import log

from ironic_inspection_rules import exceptions

LOG = log.getLogger(__name__)


class Outage:
    """Logs changes only, however often a connection is tried.

    The first failure is a warning, one that outlasts ``retries`` an error,
    and the first success after either is an info.

    :param what: fails, for the log; with the option that names it where
        there is one.
    :param retries: number of failures in a row that are followed by no more
        than the first warning.
    """

    def __init__(self, what: str, retries: int) -> None:
        self._what = what
        self._retries = retries
        self._failures = 0
        self._kinds: set[type[BaseException]] = set()
        self._lock = threading.Lock()

    @property
    def lasts(self) -> bool:
        """True if the last thing noted was a failure."""
        return bool(self._failures)

    def failed(self, failure: BaseException,
               traceback: bool = False) -> None:
        """Count a failure; log it if it is new, or one too many.

        :param traceback: whether a new one is logged with where it happened.
        """
        with self._lock:
            self._failures += 1
            is_new = type(failure) not in self._kinds
            self._kinds.add(type(failure))
            failures = self._failures
        if failures == self._retries + 1:
            LOG.error('%(what)s still fails after %(count)d retries: '
                      '%(reason)s',
                      {'what': self._what, 'count': self._retries,
                       'reason': reason(failure)})
        elif is_new:
            LOG.warning('%(what)s failed and is tried again: %(reason)s',
                        {'what': self._what, 'reason': reason(failure)},
                        exc_info=failure if traceback else None)

    def over(self) -> None:
        """Count a success; log it if there was a failure before."""
        with self._lock:
            failures, self._failures = self._failures, 0
            self._kinds.clear()
        if failures:
            LOG.info('%s works again', self._what)


def reason(failure: BaseException) -> str:
    """Return in one line why something failed.

    What a library made an error of says more than that error; our own errors
    say enough.
    """
    cause = failure
    if not isinstance(failure, exceptions.InspectionRulesError):
        cause = failure.__cause__ or failure
    return str(cause).partition('\n')[0] or repr(cause)
