# SPDX-License-Identifier: Apache-2.0

"""The command ironic-inspection-worker, which processes inspection requests.

If ``[inspection_queue]enabled`` is set, Ironic's API stores the data that a
machine has posted as a request in the database. Workers take these requests
and inspect the machines. Any number of workers can run, on any hosts.
"""

import sys
from typing import Any

from ironic_inspection_rules.command import threading_model  # noqa: F401

# isort: split
from ironic.common import service as ironic_service
from ironic.conf import CONF
from oslo_log import log
from oslo_service import service

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.coordination import coordinator
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import announcement
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.queue import service as worker_service
from ironic_inspection_rules.queue import worker

LOG = log.getLogger(__name__)

NAME = 'ironic_inspection_worker'


class WorkerProcess(service.ServiceBase):
    """Runs the worker as a service of oslo.service in a child process."""

    def __init__(self, argv: list[str]) -> None:
        self._argv = argv
        self._service: worker_service.WorkerService | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore this object in a child process and read the configuration.

        oslo.service pickles this object for a child process that it spawns,
        and the new process has not read the configuration yet.
        """
        self.__dict__.update(state)
        _prepare(self._argv)

    def start(self) -> None:
        """Start the worker under a name that is unique to this process."""
        self._service = worker_service.WorkerService(
            worker.make_name(CONF.host)
        )
        self._service.start()

    def wait(self) -> None:
        """Wait until the worker ends."""
        if self._service is not None:
            self._service.wait()

    def stop(self) -> None:
        """Stop the worker after it has finished its current requests."""
        if self._service is not None:
            self._service.stop()
            self._service.wait()

    def reset(self) -> None:
        """Do nothing, because mutable options are read when they are used."""


def main() -> None:
    """Run the worker until a signal stops it, then exit.

    The command exits with one line on stderr if the queue is disabled, if the
    options of the coordination service are wrong, or if the rules cannot be
    loaded.
    """
    _prepare(sys.argv)
    try:
        if not CONF.inspection_queue.enabled:
            raise exceptions.Invalid(
                _(
                    'There is no work for inspection workers: '
                    '[inspection_queue]enabled is not set.'
                )
            )
        coordinator.check(CONF)
        # Load the rules here, so that an error in them ends the command.
        rules = start.rules()
        announcement.announce('inspection worker', rules)
    except exceptions.InspectionRulesError as exc:
        sys.exit(str(exc))
    # On SIGHUP, the launcher reads the mutable options again.
    launcher = service.launch(
        CONF, WorkerProcess(sys.argv), restart_method='mutate'
    )
    sys.exit(launcher.wait())


def _prepare(argv: list[str]) -> None:
    """Read the configuration, and register the options of this project."""
    ironic_service.prepare_service(NAME, argv)
    conf.register_opts(CONF)
