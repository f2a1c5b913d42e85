# SPDX-License-Identifier: Apache-2.0

"""The coordination service that ``[coordination]`` names, and its locks.

Every difference between the drivers of tooz is here.
"""

import base64
from collections.abc import Callable
import importlib.metadata
import os
import pathlib
import types
import typing
import urllib.parse

from oslo_config import cfg
from oslo_log import log
import tooz
from tooz import coordination
from tooz import locking

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

LOG = log.getLogger(__name__)

_EXTRAS = {
    'file': None,
    'redis': 'redis',
    'etcd3+http': 'etcd3gw',
    'etcd3+https': 'etcd3gw',
    'zookeeper': 'zookeeper',
    'kazoo': 'zookeeper',
}
"""Supported schemes of the URL, each with the extra of tooz it needs.

Elections were tried with these; see ``tests/functional/coordination``.
"""


def check(conf: cfg.ConfigOpts) -> None:
    """Check the options, without reaching for the service.

    :param conf: with the options of ``[coordination]``.
    :raises: Invalid that names ``[coordination]backend_url``.
    """
    try:
        _check(urllib.parse.urlsplit(conf.coordination.backend_url))
    except (exceptions.Invalid, OSError) as exc:
        raise exceptions.Invalid(
            _('[coordination]backend_url cannot be used: %s') % exc) from exc


def _check(parsed: urllib.parse.SplitResult) -> None:
    if parsed.scheme not in _EXTRAS:
        raise exceptions.Invalid(
            _('"%(scheme)s" is none of %(schemes)s') % {
                'scheme': parsed.scheme, 'schemes': ', '.join(_EXTRAS)})
    if parsed.scheme == 'file':
        if parsed.netloc or not parsed.path.startswith('/'):
            raise exceptions.Invalid(
                _('a directory is given as file:///directory'))
        prepare(parsed.path)
        return
    try:
        names_host = bool(parsed.hostname) and parsed.port != 0
    except ValueError:
        names_host = False
    if not names_host:
        # What stands there may be part of a password.
        raise exceptions.Invalid(_('it names no host, or a bad port'))
    [driver] = importlib.metadata.entry_points(
        group='tooz.backends', name=parsed.scheme)
    try:
        driver.load()
    except ImportError as exc:
        raise exceptions.Invalid(
            _('%(scheme)s needs a library (%(reason)s), install '
              'tooz[%(extra)s]') % {
                  'scheme': parsed.scheme, 'reason': exc,
                  'extra': _EXTRAS[parsed.scheme]}) from exc


class LockLost(Exception):
    """The coordinator says that the lock is ours no longer."""


class LeasedLock:
    """One connection to the coordinator, and the lock while it is held.

    A context manager: it connects on entry, on exit it frees the lock and
    leaves; then it is used up.

    :param lease: seconds after the last question that the lock is kept for
        us; also how long any answer may take.
    """

    def __init__(self, url: str, member: str, name: str, lease: float) -> None:
        self._coordinator: typing.Any = coordination.get_coordinator(
            url, member.encode(), timeout=lease, lock_timeout=lease,
            membership_timeout=lease)
        self._name = name
        self._lock: locking.Lock | None = None
        self._file: pathlib.Path | None = None
        self._inode = 0
        parsed = urllib.parse.urlsplit(url)
        if parsed.scheme == 'file':
            self._file = pathlib.Path(parsed.path, name)

    def __enter__(self) -> typing.Self:
        if self._file is not None:
            prepare(str(self._file.parent))
            # A file that only this user can open.
            self._file.touch(_FILE_MODE)
        self._coordinator.start()
        return self

    def __exit__(self, exc_type: type[BaseException] | None,
                 exc: BaseException | None,
                 traceback: types.TracebackType | None) -> None:
        steps: list[Callable[[], object]] = [self._coordinator.stop]
        if self._lock is not None:
            steps.insert(0, self._lock.release)
        for step in steps:
            try:
                step()
            # The connection is given up: the lock then runs out by itself.
            except Exception as failure:
                LOG.debug('Leaving %(name)s: %(reason)s',
                          {'name': self._name, 'reason': failure})

    def hold(self) -> bool:
        """Get the lock, or keep it.

        :returns: whether it is ours now.
        :raises: LockLost when it was ours; and anything, when the
            coordinator cannot be asked. The connection is then to be given
            up.
        """
        self._coordinator.heartbeat()
        if self._lock is None:
            lock = self._coordinator.get_lock(self._name.encode())
            if not lock.acquire(blocking=False):
                return False
            self._lock = lock
            if self._file is not None:
                self._inode = self._file.stat().st_ino
        elif not self._is_ours(self._lock):
            self._lock = None
            raise LockLost(_('the lock was taken away'))
        return True

    def _is_ours(self, lock: typing.Any) -> bool:
        if self._file is not None and self._file.stat().st_ino != self._inode:
            return False
        try:
            return lock.is_still_owner()
        except tooz.NotImplemented:
            if self._file is not None:
                return True
        # The driver for etcd does not look at the answer to its heartbeat,
        # in which etcd says that the lease of the key is gone.
        return [base64.b64encode(value).decode() for value
                in self._coordinator.client.get(lock._key)] == [lock._uuid]


_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600


def prepare(path: str) -> None:
    """Make the directory, and let nobody else in.

    Whoever can open a lock file can lock it, and keep a leader from being
    elected. So a directory that is this user's is closed to all others,
    also one that was made before; one of another user is left as it is.

    :raises: OSError when it cannot be made or closed.
    """
    os.makedirs(path, _DIRECTORY_MODE, exist_ok=True)
    found = os.stat(path)
    if found.st_uid == os.geteuid() and found.st_mode & 0o077:
        os.chmod(path, _DIRECTORY_MODE)
