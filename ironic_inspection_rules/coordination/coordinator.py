# SPDX-License-Identifier: Apache-2.0

"""The coordination service that ``[coordination]`` names."""

from collections.abc import Callable
import importlib.metadata
import urllib.parse

from oslo_config import cfg

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.coordination import leased_lock
from ironic_inspection_rules.i18n import _

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
    url = conf.coordination.backend_url
    try:
        _check(url)
    except (exceptions.Invalid, OSError) as exc:
        raise exceptions.Invalid(
            _('[coordination]backend_url cannot be used: %s') % exc) from exc


def _check(url: str) -> None:
    parsed = urllib.parse.urlsplit(url)
    if parsed.scheme not in _EXTRAS:
        raise exceptions.Invalid(
            _('"%(scheme)s" is none of %(schemes)s') % {
                'scheme': parsed.scheme, 'schemes': ', '.join(_EXTRAS)})
    if parsed.scheme == 'file':
        if parsed.netloc or not parsed.path.startswith('/'):
            raise exceptions.Invalid(
                _('a directory is given as file:///directory'))
        leased_lock.prepare(parsed.path)
        return
    if not parsed.hostname or not _has_good_port(parsed):
        # What stands there may be part of a password.
        raise exceptions.Invalid(_('it names no host, or a bad port'))
    _load_driver(parsed.scheme)


def _has_good_port(parsed: urllib.parse.SplitResult) -> bool:
    try:
        return parsed.port != 0
    except ValueError:
        return False


def _load_driver(scheme: str) -> None:
    [driver] = importlib.metadata.entry_points(
        group='tooz.backends', name=scheme)
    try:
        driver.load()
    except ImportError as exc:
        raise exceptions.Invalid(
            _('%(scheme)s needs a library (%(reason)s), install '
              'tooz[%(extra)s]') % {'scheme': scheme, 'reason': exc,
                                    'extra': _EXTRAS[scheme]}) from exc


def make_election(conf: cfg.ConfigOpts, name: str, member: str, *,
                  on_gained: Callable[[], None],
                  on_lost: Callable[[], None]) -> election.Election:
    """Make a member's part in an election.

    :param conf: with the options of ``[coordination]``.
    :param name: see :class:`.election.Election`, as the others.
    """
    options = conf.coordination
    return election.Election(
        name, options.backend_url, member, on_gained=on_gained,
        on_lost=on_lost, connection_retries=options.connection_retries,
        connection_retry_interval=options.connection_retry_interval)


def make_lock(conf: cfg.ConfigOpts, name: str,
              member: str) -> leased_lock.LeasedLock:
    """Make one connection to the service, for a lock.

    :param conf: with the options of ``[coordination]``.
    :param name: of the lock.
    :param member: who wants it.
    """
    return leased_lock.LeasedLock(conf.coordination.backend_url, member, name,
                                  election.LEASE)
