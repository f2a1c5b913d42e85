# SPDX-License-Identifier: Apache-2.0

"""Locks with a lease in the coordination service, and the check of its URL.

The coordination service (the coordinator) is redis, etcd, ZooKeeper, or a
directory of lock files. The operator chooses it by a URL, e.g.
``redis://192.0.2.1:6379``, in the option ``[coordination]backend_url``. The
scheme of the URL is the name of the driver of tooz.

A lock with a lease expires if its holder does not renew it in time. Only this
module depends on the driver.
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
    """Check the URL of the coordination service, without connecting to it.

    Services call this when they start. An election could not report a wrong
    URL, because it retries forever if it cannot connect.

    The directory of a ``file://`` URL is created if it does not exist, and is
    closed for other users.

    :param conf: the configuration with ``[coordination]backend_url``.
    :raises: Invalid if the URL cannot be used; the message names the option.
    """
    with _name_option_in_errors():
        url = _check_url(conf.coordination.backend_url)
        if url.scheme == 'file':
            _prepare_directory(url.path)


def probe(conf: cfg.ConfigOpts, member: str) -> None:
    """Check the URL of the coordination service, and connect to the service.

    Lock files need no connection; their directory is checked instead.

    The command that checks a configuration calls this. It creates no directory
    and changes no mode: the services may run as another user, and could not
    use a directory that belongs to this user.

    :param member: name for this connection, unique in the cluster.
    :raises: Invalid if the URL cannot be used, or if the service does not
        answer; the message names the option.
    """
    backend_url = conf.coordination.backend_url
    with _name_option_in_errors():
        url = _check_url(backend_url)
        if url.scheme == 'file':
            # Lock files need no connection.
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

    It connects in a thread, because a library may not return in time. For
    example, the redis library retries for a minute.

    :param member: name for this connection, unique in the cluster.
    """
    # The thread stores its error here, if it has one.
    failures = []

    def connect() -> None:
        """Connect and disconnect, and store the error if this fails."""
        # The lock is never acquired, so it may have any name.
        try:
            lock = LeasedLock(
                url=backend_url,
                member=member,
                name=member,
                lease=_PROBE_TIMEOUT,
            )
            # Entering the block connects, leaving it disconnects.
            with lock:
                pass
        # A driver of tooz may raise any error of its library.
        except Exception as exc:
            failures.append(exc)

    # The end of the process does not wait for a daemon.
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
    """Name the option in the message of an error of the ``with`` block.

    For example, "it is not a URL" becomes "[coordination]backend_url cannot be
    used: it is not a URL".

    :raises: Invalid for an Invalid or an OSError of the block.
    """
    try:
        yield
    except (exceptions.Invalid, OSError) as exc:
        raise exceptions.Invalid(
            _('[coordination]backend_url cannot be used: %s') % exc
        ) from exc


def _check_url(backend_url: str) -> urllib.parse.SplitResult:
    """Parse and check the URL of the coordination service.

    - Its scheme must be the name of a supported driver.
    - A URL of lock files must have a directory and no host, e.g.
      ``file:///var/lib/ironic/locks``.
    - Any other URL must have a host, e.g. ``redis://:secret@192.0.2.1:6379``,
      and the client library of the driver must be installed.

    :raises: Invalid if the URL breaks one of these rules. The message quotes
        at most the scheme, because the rest may contain a password.
    """
    try:
        url = urllib.parse.urlsplit(backend_url)
    except ValueError as exc:
        # Do not use Python's message, because it may quote the password.
        raise exceptions.Invalid(_('it is not a URL')) from exc
    if url.scheme not in _EXTRAS:
        raise exceptions.Invalid(
            _('"%(scheme)s" is none of %(schemes)s')
            % {'scheme': url.scheme, 'schemes': ', '.join(_EXTRAS)}
        )
    if url.scheme == 'file':
        # In file://var/locks, with only two slashes, "var" is a host.
        if url.netloc or not url.path.startswith('/'):
            raise exceptions.Invalid(
                _('a directory is given as file:///directory')
            )
    else:
        # The message and its cause must not show the port. It may be a part of
        # the password: in etcd3+http://user:se/cret@host, the port is "se".
        if not url.hostname or not _has_valid_port(url):
            raise exceptions.Invalid(_('it names no host, or a bad port'))
        _check_library(url.scheme)
    return url


def _check_writable(path: pathlib.Path) -> None:
    """Check that this user could create files in a directory.

    Nothing is created. If the directory does not exist, the user must be able
    to create it in the nearest parent directory that exists.

    :param path: an absolute path.
    :raises: NotADirectoryError or PermissionError if the user could not.
    """
    # The loop ends at "/" at the latest. A link that leads nowhere counts as
    # existing, because no directory can be created in its place.
    existing_path = path
    while not os.path.lexists(existing_path):
        existing_path = existing_path.parent
    if not existing_path.is_dir():
        raise NotADirectoryError(
            errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing_path)
        )
    if not os.access(existing_path, os.W_OK | os.X_OK):
        raise PermissionError(
            errno.EACCES, os.strerror(errno.EACCES), str(existing_path)
        )


def _has_valid_port(url: urllib.parse.SplitResult) -> bool:
    """Return whether the port of a URL is from 1 to 65535, or omitted."""
    try:
        # Python parses the port here, and raises ValueError if it is not a
        # number or too large.
        port = url.port
    except ValueError:
        return False
    # Python accepts 0, but no service can listen there.
    return port != 0


def _check_library(scheme: str) -> None:
    """Check that the client library of a driver is installed.

    This package does not require it, because an operator needs only the
    library of the chosen service.

    :param scheme: the scheme of the URL, which is the name of the driver.
    :raises: Invalid if the library is not installed; the message says what to
        install.
    """
    # tooz has exactly one driver of this name.
    [driver] = importlib.metadata.entry_points(
        group='tooz.backends', name=scheme
    )
    try:
        # This imports the driver, which imports its library.
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
    """A lock in the coordination service, which expires if it is not renewed.

    The leader of an election holds such a lock. The worker whose turn it is to
    power on a machine holds another one. Every lock has its own connection::

        with LeasedLock(url, 'worker-1', 'election', lease=3) as lock:
            while lock.hold():
                …

    Entering the block connects. Leaving it releases the lock, if it is held,
    and disconnects. A lock can be used only once.

    :param url: tooz URL of the coordinator.
    :param member: name of this member, unique in the cluster.
    :param name: name of the lock. The ``file`` driver has a lock file of this
        name.
    :param lease: seconds that the coordinator keeps the lock after a
        heartbeat, and that it may take to answer.
    """

    def __init__(self, url: str, member: str, name: str, lease: float) -> None:
        # The URL may set the three options below, e.g. by "?timeout=30". Pass
        # all of them, because an argument overrides only the option of the
        # same name.
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
        # The file that the driver "file" locks; None for other drivers.
        self._file: pathlib.Path | None = None
        # The inode of the file when it was locked. Another file may replace it
        # later, and then has another inode.
        self._inode = 0
        parsed = urllib.parse.urlsplit(url)
        if parsed.scheme == 'file':
            self._file = pathlib.Path(parsed.path, name)

    def __enter__(self) -> typing.Self:
        """Connect to the service, without acquiring the lock."""
        if self._file is not None:
            _prepare_directory(str(self._file.parent))
            # Create the file before tooz does, which would allow other users
            # to open and lock it.
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

        An error is only logged. Disconnecting is tried even if releasing
        fails.
        """
        functions: list[Callable[[], object]] = []
        if self._lock is not None:
            functions.append(self._lock.release)
        functions.append(self._coordinator.stop)
        for function in functions:
            try:
                function()
            # Do not raise, because this would hide an error that ended the
            # block. A lock that is not released expires by itself.
            except Exception as failure:
                LOG.debug(
                    'Leaving %(name)s: %(reason)s',
                    {'name': self._name, 'reason': failure},
                )

    def hold(self) -> bool:
        """Renew the lock if it is held, otherwise try to acquire it.

        :returns: True if this process holds the lock, False if another process
            holds it.
        :raises: LockLost if this process held the lock and has lost it, or any
            error of the driver or of the file system. The connection must not
            be used afterwards.
        """
        # The heartbeat renews the lock if this process holds it.
        self._coordinator.heartbeat()
        if self._lock is not None:
            # Some drivers do not report that the lock had expired before the
            # heartbeat, so ask for its owner.
            if self._is_held_by_us(self._lock):
                return True
            # Forget the lock, so that __exit__() does not release it.
            self._lock = None
            raise LockLost(_('the lock was taken away'))
        lock = self._coordinator.get_lock(self._name.encode())
        if not lock.acquire(blocking=False):
            return False
        self._lock = lock
        if self._file is not None:
            self._inode = self._file.stat().st_ino
        return True

    def _is_held_by_us(self, lock: typing.Any) -> bool:
        """Return whether this process still holds a lock that it acquired.

        The driver answers this, with two exceptions. It does not notice that
        a lock file was replaced, so the file is compared first. The etcd
        driver, and the file driver of older tooz releases, cannot answer.

        :raises: OSError if the lock file is gone, or any error of the driver.
        """
        if self._file is not None:
            # The kernel locks a file, not a name. If another file has replaced
            # the file, another process can lock the new file.
            inode = self._file.stat().st_ino
            if inode != self._inode:
                return False
        try:
            return lock.is_still_owner()
        except tooz.NotImplemented:
            if self._file is not None:
                # The file is still the same, see above. The kernel keeps its
                # lock until this process ends.
                return True
            # Only the etcd driver is left.
            return self._is_held_by_us_in_etcd(lock)

    def _is_held_by_us_in_etcd(self, lock: typing.Any) -> bool:
        """Return whether etcd has this process as the holder of a lock.

        In etcd, a lock is a key. Its value is a UUID of the holder. The key is
        read here, because the driver cannot tell who holds a lock, and its
        ``heartbeat`` does not report that the lock has expired.
        """
        # A list of one value, or an empty list if the lock has expired.
        values = self._coordinator.client.get(lock._key)
        # The client decodes what it reads, but the attribute "_uuid" of the
        # lock is encoded.
        encoded = [base64.b64encode(value).decode() for value in values]
        return encoded == [lock._uuid]


def _prepare_directory(path: str) -> None:
    """Create the directory of lock files, closed for other users.

    Another user who can open a lock file could lock it, and block an election.
    If the directory exists, its mode becomes 0700. If another user owns it, it
    is not changed, because only its owner may change its mode.

    :raises: OSError if it cannot be created or its mode cannot be changed.
    """
    os.makedirs(path, _DIRECTORY_MODE, exist_ok=True)
    status = os.stat(path)
    is_own = status.st_uid == os.geteuid()
    is_open_to_others = status.st_mode & _MODE_OF_OTHERS
    if is_own and is_open_to_others:
        os.chmod(path, _DIRECTORY_MODE)
