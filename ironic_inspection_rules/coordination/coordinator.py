# SPDX-License-Identifier: Apache-2.0

"""The coordination service of ``[coordination]``, and its locks.

All code that depends on the driver of tooz is here.
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
"""Supported schemes of the URL, each with the extra of tooz that it needs.

``tests/functional/coordination`` tests elections with them.
"""


def check(conf: cfg.ConfigOpts) -> None:
    """Check the options, without connecting to the service.

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
        # Do not show the port: it may be part of a password.
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
    """This process does not hold the lock any more."""


class LeasedLock:
    """One connection to the coordinator, and a lock.

    A context manager for a single use: it connects on entry; on exit it
    releases the lock and disconnects.

    :param url: tooz URL of the coordinator.
    :param member: name of this member, unique in the cluster.
    :param name: name of the lock; also that of its file.
    :param lease: seconds that the coordinator keeps the lock after a
        heartbeat, and that it may take to answer.
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
            # tooz would let other users open it.
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
            # Without this connection the lock expires by itself.
            except Exception as failure:
                LOG.debug('Leaving %(name)s: %(reason)s',
                          {'name': self._name, 'reason': failure})

    def hold(self) -> bool:
        """Acquire the lock, or renew it.

        :returns: whether this process holds it; False if another one does.
        :raises: LockLost, or any error of the driver. The connection must
            not be used any more then.
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
        # tooz ignores the answer of etcd to a heartbeat, which tells that
        # the lease has expired.
        return [base64.b64encode(value).decode() for value
                in self._coordinator.client.get(lock._key)] == [lock._uuid]


_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600


def prepare(path: str) -> None:
    """Create the directory of lock files, with mode 0700.

    Whoever can open a lock file can lock it and prevent an election. So the
    mode of an existing directory is changed too, unless another user owns it.

    :raises: OSError when it cannot be created or its mode changed.
    """
    os.makedirs(path, _DIRECTORY_MODE, exist_ok=True)
    found = os.stat(path)
    if found.st_uid == os.geteuid() and found.st_mode & 0o077:
        os.chmod(path, _DIRECTORY_MODE)
