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

"""ironic-inspection-pxe-filter: guards the DHCP server of one host."""

import os
import signal
import sys
import threading

# Picks the threading model of oslo.service, as for Ironic's commands.
import ironic.command  # noqa: F401
from ironic.common import service
from ironic.conf import CONF
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_service import systemd
from sqlalchemy import exc as sa_exc

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.adapters import port
from ironic_inspection_rules.ha import admission
from ironic_inspection_rules.ha import announcement
from ironic_inspection_rules.ha import election
from ironic_inspection_rules.ha import firewall
from ironic_inspection_rules.ha import nftables
from ironic_inspection_rules.ha import pxe_filter
from ironic_inspection_rules.ha import watcher
from ironic_inspection_rules.i18n import _

COMMAND = 'ironic-inspection-pxe-filter'

_DEFAULT_BUS = 'rabbit://'
"""Default of [DEFAULT]transport_url."""

_CLI_OPTS = [
    cfg.BoolOpt('dry-run',
                default=False,
                help=_('Print the nftables script of a leader at this '
                       'moment, and change nothing.')),
]


def main() -> int:
    """Run the command.

    :returns: 0 when it was stopped, 1 with one line on stderr when it could
        not go on. The door is closed in either case.
    """
    conf.register_opts(CONF)
    CONF.register_cli_opts(_CLI_OPTS)
    try:
        service.prepare_command(sys.argv)
        # How often to try again is decided here, with the door closed.
        CONF.set_default('max_retries', 0, group='database')
        table, settings = _table(), _settings()
        if CONF.dry_run:
            print(_dry_run(table, settings), end='')
        else:
            _run(table, settings)
    except (exceptions.InspectionRulesError, cfg.Error, db_exc.DBError,
            sa_exc.SQLAlchemyError) as exc:
        reason = str(exc).splitlines()[0]
        print(f'{COMMAND}: {reason}', file=sys.stderr)
        return 1
    return 0


def _table() -> nftables.Table:
    options = CONF.inspection_pxe_filter
    if not options.interface:
        raise exceptions.Invalid(
            _('[inspection_pxe_filter]interface is required'))
    return nftables.Table(options.interface, options.ports)


def _settings() -> pxe_filter.Settings:
    options = CONF.inspection_pxe_filter
    return pxe_filter.Settings(
        auto_discovery=CONF.auto_discovery.enabled,
        sync_period=options.sync_period,
        whitelist_period=options.whitelist_period,
        retries=CONF.inspection_queue.connection_retries,
        retry_interval=CONF.inspection_queue.connection_retry_interval)


def _source() -> port.PortSource:
    return port.PortSource(
        CONF.inspection_pxe_filter.supported_inspect_interfaces)


def _dry_run(table: nftables.Table, settings: pxe_filter.Settings) -> str:
    """Write the script that takes the kernel from nothing to passing."""
    admit = admission.decide(watcher.look(_source()), leads=True,
                             auto_discovery=settings.auto_discovery)
    return nftables.render([
        *table.create(), *table.change(admission.Admission(), admit),
        *table.hold_open(pxe_filter.seconds_open(election.LEASE))])


def _run(table: nftables.Table, settings: pxe_filter.Settings) -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *args: stop.set())
    this = pxe_filter.PxeFilter(
        firewall.Firewall(table), _source(), _elect, settings)
    this.install()
    systemd.notify_once()
    if _has_message_bus():
        # Reaching the bus may take for ever, and must not hold up the rest.
        threading.Thread(target=announcement.listen, daemon=True,
                         args=(CONF, CONF.host, this.hear)).start()
    this.run(stop)


def _elect(on_gained: election.Callback,
           on_lost: election.Callback) -> election.Election:
    options = CONF.inspection_queue
    return election.Election(
        pxe_filter.OFFICE, CONF.coordination.backend_url,
        f'{CONF.host}:{os.getpid()}', on_gained=on_gained, on_lost=on_lost,
        connection_retries=options.connection_retries,
        connection_retry_interval=options.connection_retry_interval)


def _has_message_bus() -> bool:
    """Whether Ironic's configuration names one, or means the default one."""
    return (CONF.rpc_transport == 'oslo'
            or CONF.transport_url != _DEFAULT_BUS)
