# SPDX-License-Identifier: Apache-2.0

"""The command ironic-inspection-pxe-filter."""

import functools
import importlib.metadata
import logging
import os
import signal
import sys
import threading
import time

from ironic_inspection_rules.command import threading_model  # noqa: F401

# isort: split
from ironic.common import service
from ironic.conf import CONF
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_log import log
from oslo_service import systemd
from sqlalchemy import exc as sa_exc

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import coordinator
from ironic_inspection_rules.coordination import election
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import config_file
from ironic_inspection_rules.pxe_filter import admission
from ironic_inspection_rules.pxe_filter import firewall
from ironic_inspection_rules.pxe_filter import nftables
from ironic_inspection_rules.pxe_filter import notification
from ironic_inspection_rules.pxe_filter import service as filter_service
from ironic_inspection_rules.pxe_filter import watcher

LOG = log.getLogger(__name__)

COMMAND = 'ironic-inspection-pxe-filter'


def main() -> int:
    """Guard the DHCP server until a signal stops the process.

    With ``--dry-run``, print the nftables script of a leader instead.

    :returns: 0 after a signal or after the script is printed; 1, with one line
        on stderr, if the filter could not start. Except in a dry run,
        everything is blocked on the interface afterwards, if the configuration
        names the interface and the ports.
    """
    conf.register_opts(CONF)
    CONF.register_cli_opt(
        cfg.BoolOpt(
            'dry-run',
            default=False,
            help=_(
                'Print the nftables script that the leader would apply now, '
                'and change nothing.'
            ),
        )
    )
    try:
        service.prepare_command(sys.argv)
        if CONF.dry_run:
            _log_to_standard_error()
        # oslo.db must not retry if the database is down, because the filter
        # itself retries, and blocks in the meantime.
        CONF.set_default('max_retries', 0, group='database')
        options = CONF.inspection_pxe_filter
        table, guard = _prepare_firewall()
        for message in config_file.unknown():
            LOG.warning('%s', message)
        _warn_of_late_admission()
        settings = filter_service.Settings(
            auto_discovery=CONF.auto_discovery.enabled,
            sync_period=options.sync_period,
            allowlist_period=options.whitelist_period,
            retries=CONF.inspection_queue.connection_retries,
            retry_interval=CONF.inspection_queue.connection_retry_interval,
        )
        if CONF.dry_run:
            print(_dry_run(table, settings), end='')
        else:
            _run(guard, settings)
    except (
        exceptions.InspectionRulesError,
        cfg.Error,
        db_exc.DBError,
        sa_exc.SQLAlchemyError,
    ) as exc:
        reason = str(exc).splitlines()[0]
        print(f'{COMMAND}: {reason}', file=sys.stderr)
        return 1
    return 0


def _log_to_standard_error() -> None:
    """Write the log to standard error instead of standard output.

    Without a log file, oslo.log writes to standard output, where a warning
    would become part of the printed script.
    """
    for handler in logging.getLogger().handlers:
        if not isinstance(handler, logging.StreamHandler):
            continue
        if handler.stream is sys.stdout:
            handler.setStream(sys.stderr)


def _prepare_firewall() -> tuple[nftables.FilterTable, firewall.Firewall]:
    """Block everything, unless in a dry run, and check the configuration.

    The order matters: if an option is bad, the command ends, and no machine
    may pass afterwards.

    :raises: Invalid for options of this package that are bad.
    :raises: FirewallError if the table cannot be created.
    """
    try:
        table = _make_table()
        guard = firewall.Firewall(table)
        if not CONF.dry_run:
            guard.install()
    finally:
        # This also runs after an error above. If options are bad, its error
        # replaces that error, because it names all bad options in fewer words
        # than oslo.config.
        conf.check(CONF)
    return table, guard


def _make_table() -> nftables.FilterTable:
    """Return the table of the interface and the ports of the configuration.

    :raises: Invalid if one of them is missing.
    """
    options = CONF.inspection_pxe_filter
    for name in ('interface', 'ports'):
        if not options[name]:
            raise exceptions.Invalid(
                _('[inspection_pxe_filter]%s is required') % name
            )
    return nftables.FilterTable(options.interface, options.ports)


def _warn_of_late_admission() -> None:
    """Log a warning if a machine may boot before the filter knows about it."""
    period = CONF.inspection_pxe_filter.whitelist_period
    if notification.may_let_pass_too_late(CONF):
        LOG.warning(
            'A machine may boot before it may pass: '
            '[inspection_pxe_filter]whitelist_period is %(period)g, and '
            'this configuration shows no messages by the notification '
            'driver "%(driver)s". Use a period above 0 of at most '
            '%(in_time)g seconds, or that driver and a message broker.',
            {
                'period': period,
                'driver': notification.DRIVER,
                'in_time': notification.SHORT_PERIOD,
            },
        )


def _build_port_source() -> watcher.PortSource:
    """Build the source from which the filter reads the ports of nodes.

    Machines pass only if their node has one of the inspect interfaces that the
    configuration names.

    :raises: Invalid if it names none, or one that is not installed. This may
        be a typo, and the filter would then block machines in inspection.
    """
    names = CONF.inspection_pxe_filter.supported_inspect_interfaces
    if not names:
        raise exceptions.Invalid(
            _(
                '[inspection_pxe_filter]supported_inspect_interfaces is '
                'empty: no node in inspection would pass'
            )
        )
    interfaces = importlib.metadata.entry_points(
        group='ironic.hardware.interfaces.inspect'
    )
    installed = {interface.name for interface in interfaces}
    unknown = sorted(set(names) - installed)
    if unknown:
        raise exceptions.Invalid(
            _(
                '[inspection_pxe_filter]supported_inspect_interfaces: '
                '%(unknown)s: no such interface; there are %(known)s'
            )
            % {
                'unknown': ', '.join(unknown),
                'known': ', '.join(sorted(installed)),
            }
        )
    return watcher.PortSource(names)


def _dry_run(
    table: nftables.FilterTable, settings: filter_service.Settings
) -> str:
    """Return the nftables script that a leader would apply at this moment.

    The script creates the table, fills it with the current machines of the
    database, and lets those in inspection pass for some seconds. It is not
    run.

    :raises: Invalid, see :func:`_build_port_source`, or BadAddress, see
        :func:`.read_macs`.
    """
    machines = watcher.read_machines(_build_port_source())
    admitted = admission.decide(
        machines, leads=True, auto_discovery=settings.auto_discovery
    )
    # Assume that the coordinator has confirmed the leadership just now. It
    # then lasts a whole lease, so machines pass for the longest time.
    leader_for = election.LEASE
    pass_for = firewall.seconds_to_pass(leader_for)
    # nft reads the end as a time of day, so a monotonic clock cannot be used.
    now = time.time()
    nobody = admission.Admission()
    lines = [
        *table.create(),
        *table.change(nobody, admitted),
        *table.pass_for(pass_for, now, now + leader_for),
    ]
    return ''.join(f'{line}\n' for line in lines)


def _run(guard: firewall.Firewall, settings: filter_service.Settings) -> None:
    """Run the filter until SIGTERM or SIGINT.

    It takes part in the election of the leader, reads the database, and
    listens to messages of other services if there is a message broker.

    :param guard: the firewall, which already blocks everything.
    :raises: Invalid if the options of the coordinator or the names of inspect
        interfaces are wrong.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, functools.partial(_request_stop, stop))
    coordinator.check(CONF)
    pxe_filter = filter_service.PxeFilter(
        guard, _build_port_source(), _elect, settings
    )
    systemd.notify_once()
    if notification.receives_messages(CONF):
        # Use a separate thread, because connecting to the message broker may
        # take forever.
        threading.Thread(
            target=notification.listen,
            daemon=True,
            args=(CONF, CONF.host, pxe_filter.handle),
        ).start()
    pxe_filter.run(stop)


def _request_stop(stop: threading.Event, *_signal: object) -> None:
    """Make the filter stop, as the handler of a signal.

    :param stop: the event that the filter waits for.
    """
    stop.set()


def _elect(
    on_gained: election.Callback, on_lost: election.Callback
) -> election.Election:
    """Build this host's part in the election."""
    return election.make(
        CONF,
        filter_service.ELECTION_NAME,
        f'{CONF.host}:{os.getpid()}',
        on_gained=on_gained,
        on_lost=on_lost,
    )
