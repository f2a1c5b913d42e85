# SPDX-License-Identifier: Apache-2.0

"""Locks with a lease in the coordination service, and the check of its URL.

No other module depends on which tooz driver the operator has chosen.
"""

import base64
from collections.abc import Callable, Iterator
import contextlib
import errno
import importlib.metadata
import os
import pathlib
import threading
import types
import typing
import urllib.parse

from oslo_config import cfg
from oslo_log import log
import tooz
from tooz import coordination
from tooz import locking

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import watchdog
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
"""The extra of tooz that a driver needs, by the scheme of the URL.

These are the supported drivers: ``tests/functional/coordination`` runs
elections with them.
"""

_PROBE_TIMEOUT = 5
"""Seconds that a service may take to answer :func:`probe`."""

_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600
_MODE_OF_OTHERS = 0o077
"""Mode bits that give access to the group or to all users."""


def check(conf: cfg.ConfigOpts) -> None:
    """Check the options before an election begins, without connecting.

    During an election, a wrong URL would look like a service that is out of
    reach, and would be retried forever. The directory of a ``file://`` URL is
    created if it does not exist.

    :param conf: the configuration with the options of ``[coordination]``.
    :raises: Invalid that names ``[coordination]backend_url``.
    """
    with _name_option_in_errors():
        url = _check_url(conf.coordination.backend_url)
        if url.scheme == 'file':
            _prepare_directory(url.path)


def probe(conf: cfg.ConfigOpts, member: str) -> None:
    """Check the options, and connect to the service once.

    No directory is created and no mode is changed, because the services may
    run as another user.

    :param member: name of this member, unique in the cluster.
    :raises: Invalid that names ``[coordination]backend_url``.
    """
    backend_url = conf.coordination.backend_url
    with _name_option_in_errors():
        url = _check_url(backend_url)
        if url.scheme == 'file':
            _check_writable(pathlib.Path(url.path))
            return
    problem = _find_connection_problem(backend_url, member)
    if problem:
        raise exceptions.Invalid(
            _(
                'The coordination service ([coordination]backend_url) does '
                'not answer: %s'
            )
            % problem
        )


def _find_connection_problem(backend_url: str, member: str) -> str | None:
    """Return why connecting to the service fails, None if it succeeds.

    :param member: name of this member, unique in the cluster.
    """
    # At most one error. It is a list, because the thread below fills it.
    failures = []

    def connect() -> None:
        """Connect and disconnect, and store the error if this fails."""
        try:
            # The block connects when it begins and disconnects when it ends.
            # The lock is never acquired, so any name is good.
            with LeasedLock(
                url=backend_url,
                member=member,
                name=member,
                lease=_PROBE_TIMEOUT,
            ):
                pass
        # A driver of tooz may raise any error of its library.
        except Exception as exc:
            failures.append(exc)

    # Use a daemon, because it may hang in the library, e.g. the redis library
    # retries for a minute.
    thread = threading.Thread(target=connect, name='probe', daemon=True)
    thread.start()
    thread.join(_PROBE_TIMEOUT)
    if failures:
        return watchdog.one_line_reason(failures[0])
    if thread.is_alive():
        return _('no connection in %d seconds') % _PROBE_TIMEOUT
    return None


@contextlib.contextmanager
def _name_option_in_errors() -> Iterator[None]:
    """Make errors inside of the ``with`` block name the option.

    :raises: Invalid, e.g. "[coordination]backend_url cannot be used: it is not
        a URL".
    """
    try:
        yield
    except (exceptions.Invalid, OSError) as exc:
        raise exceptions.Invalid(
            _('[coordination]backend_url cannot be used: %s') % exc
        ) from exc


def _check_url(backend_url: str) -> urllib.parse.SplitResult:
    """Parse and check the URL of a service, without connecting to it.

    Good URLs are ``file:///var/lib/ironic/locks`` and
    ``redis://:secret@192.0.2.1:6379``.

    :raises: Invalid if it is not a URL of a supported driver, if it has no
        directory or host, or if the library of the driver is not installed.
    """
    try:
        url = urllib.parse.urlsplit(backend_url)
    except ValueError as exc:
        # Python's message may quote the password.
        raise exceptions.Invalid(_('it is not a URL')) from exc
    if url.scheme not in _EXTRAS:
        raise exceptions.Invalid(
            _('"%(scheme)s" is none of %(schemes)s')
            % {'scheme': url.scheme, 'schemes': ', '.join(_EXTRAS)}
        )
    if url.scheme == 'file':
        # With two slashes the first part of the path is parsed as a host.
        if url.netloc or not url.path.startswith('/'):
            raise exceptions.Invalid(
                _('a directory is given as file:///directory')
            )
    else:
        # The message and its cause must not show the port: in
        # etcd3+http://user:se/cret@host, the "port" is "se" of the password.
        if not url.hostname or not _has_valid_port(url):
            raise exceptions.Invalid(_('it names no host, or a bad port'))
        _check_library(url.scheme)
    return url


def _check_writable(path: pathlib.Path) -> None:
    """Check that this user could create files in a directory.

    Nothing is created. If the directory does not exist yet, the user must be
    able to create it.

    :raises: NotADirectoryError or PermissionError if the user could not.
    """
    # The directory, or its nearest parent that exists.
    nearest = path
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    if not nearest.is_dir():
        raise NotADirectoryError(
            errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(nearest)
        )
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(
            errno.EACCES, os.strerror(errno.EACCES), str(nearest)
        )


def _has_valid_port(url: urllib.parse.SplitResult) -> bool:
    """Return whether the port of a URL is from 1 to 65535, or omitted."""
    # Python parses the port only when it is read here, and raises ValueError
    # if it is not a number or too large. It accepts 0, on which no service can
    # listen.
    try:
        return url.port != 0
    except ValueError:
        return False


def _check_library(scheme: str) -> None:
    """Check that the client library of a driver is installed.

    This package does not require it, because an operator needs only the
    library of the chosen service.

    :param scheme: the scheme of the URL, which is the name of the driver.
    :raises: Invalid that says what to install.
    """
    [driver] = importlib.metadata.entry_points(
        group='tooz.backends', name=scheme
    )
    try:
        driver.load()
    except ImportError as exc:
        raise exceptions.Invalid(
            _(
                '%(scheme)s needs a library (%(reason)s), install '
                'tooz[%(extra)s]'
            )
            % {'scheme': scheme, 'reason': exc, 'extra': _EXTRAS[scheme]}
        ) from exc


class LockLost(Exception):
    """This process does not hold the lock any more."""


class LeasedLock:
    """A lock in the coordination service, of a leader or of a power-on.

    The leader of an election holds such a lock, and so does the worker whose
    turn it is to power on a machine. Every lock has its own connection.

    It is a context manager for a single use: it connects on entry; on exit it
    releases the lock if it holds it, and disconnects. Errors on exit are only
    logged.

    :param url: tooz URL of the coordinator.
    :param member: name of this member, unique in the cluster.
    :param name: name of the lock, and of its file.
    :param lease: seconds that the coordinator keeps the lock after a
        heartbeat, and that it may take to answer.
    """

    def __init__(self, url: str, member: str, name: str, lease: float) -> None:
        # An argument overrides only the option of the same name in the URL,
        # and the URL may set any of these three, so pass all of them.
        self._coordinator: typing.Any = coordination.get_coordinator(
            url,
            member.encode(),
            timeout=lease,
            lock_timeout=lease,
            membership_timeout=lease,
        )
        self._name = name
        # None while this process does not hold the lock.
        self._lock: locking.Lock | None = None
        # The file that the driver "file" locks, and its inode when it was
        # locked, because the file may be replaced. Other drivers have no file.
        self._file: pathlib.Path | None = None
        self._inode = 0
        parsed = urllib.parse.urlsplit(url)
        if parsed.scheme == 'file':
            self._file = pathlib.Path(parsed.path, name)

    def __enter__(self) -> typing.Self:
        """Connect to the service, without acquiring the lock."""
        if self._file is not None:
            _prepare_directory(str(self._file.parent))
            # tooz would create the file with a mode that allows other users to
            # open and lock it.
            self._file.touch(_FILE_MODE)
        self._coordinator.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        """Release the lock if it is held, and disconnect.

        Disconnecting is tried even if releasing fails.
        """
        steps: list[Callable[[], object]] = []
        if self._lock is not None:
            steps.append(self._lock.release)
        steps.append(self._coordinator.stop)
        for step in steps:
            try:
                step()
            # Do not raise, because this would hide an error that ended the
            # block. A lock that is not released expires by itself.
            except Exception as failure:
                LOG.debug(
                    'Leaving %(name)s: %(reason)s',
                    {'name': self._name, 'reason': failure},
                )

    def hold(self) -> bool:
        """Acquire the lock without waiting, or renew it.

        :returns: whether this process holds it; False if another process does.
        :raises: LockLost, or any error of the driver or of the file system.
            The connection must not be used afterwards.
        """
        # The heartbeat renews the lock if this process holds it. If the lock
        # has expired, some drivers raise no error, so the owner of the lock is
        # checked below.
        self._coordinator.heartbeat()
        if self._lock is None:
            lock = self._coordinator.get_lock(self._name.encode())
            if not lock.acquire(blocking=False):
                return False
            self._lock = lock
            if self._file is not None:
                # Store it for _is_held_by_us(): the file may be replaced.
                self._inode = self._file.stat().st_ino
            return True
        if not self._is_held_by_us(self._lock):
            self._lock = None
            raise LockLost(_('the lock was taken away'))
        return True

    def _is_held_by_us(self, lock: typing.Any) -> bool:
        """Return whether this process still holds a lock that it acquired.

        :raises: OSError if the lock file is gone, or any error of the driver.
        """
        if self._file is not None:
            # The kernel locks a file, not a name. If the file is replaced by
            # another with the same name, another process can lock the new one.
            inode = self._file.stat().st_ino
            if inode != self._inode:
                return False
        try:
            return lock.is_still_owner()
        except tooz.NotImplemented:
            if self._file is not None:
                # Earlier tooz releases cannot tell this for files. But the
                # kernel keeps the lock of a file as long as this process
                # lives, and the file is still the same.
                return True
            # Among the other drivers, only the etcd driver cannot tell.
            return self._is_held_by_us_in_etcd(lock)

    def _is_held_by_us_in_etcd(self, lock: typing.Any) -> bool:
        """Return whether the key of a lock has the value of this process.

        The key is read from etcd, because the driver has no ``is_still_owner``
        and its ``heartbeat`` ignores the answer that the lease has expired.
        """
        # The driver stores its own value encoded, but decodes what it reads.
        values = self._coordinator.client.get(lock._key)
        encoded = [base64.b64encode(value).decode() for value in values]
        return encoded == [lock._uuid]


def _prepare_directory(path: str) -> None:
    """Create the directory of lock files, with mode 0700.

    An existing directory that this user owns gets that mode as well. Another
    user who can open a lock file could lock it, and block an election.

    :raises: OSError if it cannot be created or its mode cannot be changed.
    """
    os.makedirs(path, _DIRECTORY_MODE, exist_ok=True)
    status = os.stat(path)
    if status.st_uid != os.geteuid():
        return
    if status.st_mode & _MODE_OF_OTHERS:
        os.chmod(path, _DIRECTORY_MODE)
