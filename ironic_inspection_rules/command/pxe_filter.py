# SPDX-License-Identifier: Apache-2.0

"""The command ironic-inspection-pxe-filter.

The command runs on the host of a DHCP server. It fills an nftables table, so
that requests of machines reach the server only if the machine may boot the
ramdisk of inspection. One of several hosts is elected the leader. Only the
leader lets machines pass; all other hosts block every machine.
"""

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
    """Run the filter until a signal stops it, and return the exit code.

    With ``--dry-run``, only print the nftables script that the leader would
    apply now.

    :returns: 0 after a signal, or after the script was printed. 1, with one
        line on stderr, after an error. If the nftables table was created
        before the error, every machine stays blocked.
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
        # From here on, every machine is blocked, unless this is a dry run.
        table, guard = _prepare_firewall()
        warnings_of_unknown_options = config_file.find_unknown_options()
        for message in warnings_of_unknown_options:
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
            script = _build_script_of_leader(table, settings)
            print(script, end='')
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
    """Redirect log messages from standard output to standard error.

    If no log file is configured, oslo.log writes to standard output. A dry run
    prints its script there, so a warning would become part of the script.
    """
    for handler in logging.getLogger().handlers:
        if not isinstance(handler, logging.StreamHandler):
            # This handler writes to syslog or the journal.
            continue
        if handler.stream is sys.stdout:
            handler.setStream(sys.stderr)


def _prepare_firewall() -> tuple[nftables.FilterTable, firewall.Firewall]:
    """Block every machine with a new nftables table, then check all options.

    Machines are blocked first, because the command ends if an option is bad,
    and no machine may pass afterwards. A dry run blocks nothing.

    :returns: the table, which builds nftables scripts, and the firewall, which
        applies scripts of this table in the kernel.
    :raises: Invalid for options of this package that are bad.
    :raises: FirewallError if the table cannot be created.
    """
    try:
        table = _make_table()
        guard = firewall.Firewall(table)
        if not CONF.dry_run:
            # The new table has no machines yet, and so blocks all of them.
            guard.install()
    finally:
        # Check the options even after an error above. If one is bad, the error
        # of the check replaces the error above: oslo.config raises a longer
        # message, which names only one bad option.
        conf.check(CONF)
    return table, guard


def _make_table() -> nftables.FilterTable:
    """Build the table for the interface and the ports in the configuration.

    :raises: Invalid if the configuration lacks the interface or the ports.
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
    """Build the object that reads the ports of nodes from the database.

    It reads only nodes with one of the inspect interfaces in the option
    ``supported_inspect_interfaces``. A typo in this option would block
    machines in inspection, so its value is checked.

    :raises: Invalid if the option is empty, or names an interface that is not
        installed.
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


def _build_script_of_leader(
    table: nftables.FilterTable, settings: filter_service.Settings
) -> str:
    """Return the nftables script that a leader would apply at this moment.

    The script creates the table, adds the machines that are in the database
    now, and lets the machines in inspection pass for some seconds. This
    function does not apply it.

    :raises: Invalid if the names of inspect interfaces in the configuration
        are wrong.
    :raises: BadAddress if the MAC address of a port in the database is wrong.
    """
    ports = _build_port_source()
    machines = watcher.read_machines(ports)
    admitted = admission.decide(
        machines, leads=True, auto_discovery=settings.auto_discovery
    )
    # Assume that this host became the leader just now. Then its leadership
    # lasts a whole lease, and machines pass for the longest possible time.
    leader_for = election.LEASE
    pass_for = firewall.seconds_to_pass(leader_for)
    # nft reads the end as a time of day, so a monotonic clock cannot be used.
    now = time.time()
    # A new table has no machines, so all machines are added.
    nobody = admission.Admission()
    lines = [
        *table.create(),
        *table.change(nobody, admitted),
        *table.pass_for(pass_for, now, now + leader_for),
    ]
    return ''.join(f'{line}\n' for line in lines)


def _run(guard: firewall.Firewall, settings: filter_service.Settings) -> None:
    """Run the filter until SIGTERM or SIGINT.

    The filter takes part in the election of the leader and reads the database.
    If there is a message broker, the filter also listens to messages of other
    services.

    :param guard: the firewall, which already blocks every machine.
    :raises: Invalid if the options of the coordinator or the names of inspect
        interfaces are wrong.
    """
    stop = threading.Event()
    request_stop = functools.partial(_request_stop, stop)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, request_stop)
    # Check the options first. With a wrong URL, the election would only retry
    # forever.
    coordinator.check(CONF)
    ports = _build_port_source()
    pxe_filter = filter_service.PxeFilter(guard, ports, _elect, settings)
    # Tell systemd that the service has started.
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
