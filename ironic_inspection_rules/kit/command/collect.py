# SPDX-License-Identifier: Apache-2.0

"""Implement ``collect``, which prints the inventory of this machine.

The inventory is made by the collectors of ironic-python-agent, the program in
the ramdisk that Ironic boots for inspection. The package of the agent is
optional, so it is only imported when the command runs.
"""

import argparse
import importlib.util
import json
import logging
import os
import shutil
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.command import arguments

_TOOLS = {
    'lsblk': 'util-linux',
    'lscpu': 'util-linux',
    'lshw': 'lshw',
    'udevadm': 'udev',
}
"""The commands that ironic-python-agent needs, and their Debian packages."""


class Collect(arguments.FileCommand):
    """Collect the inventory of this machine, as its ramdisk would post it.

    The default collector of ironic-python-agent makes it, so it is the
    inventory that Ironic would get. Needs no Ironic. Without root, serial
    numbers and firmware data are missing.
    """

    example = 'machine.json'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'file',
            metavar='<file>',
            nargs='?',
            type=arguments.check_new_file,
            default=arguments.STANDARD_OUTPUT,
            help=_('File to write; "-" and none are standard output'),
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Write the inventory as JSON to the given file.

        :raises: InspectionRulesError that names all missing programs and
            packages.
        """
        # List everything that is missing, so that a user can install all of it
        # in one step.
        missing = []
        for tool, package in _TOOLS.items():
            if not shutil.which(tool):
                missing.append(
                    _('%(tool)s (package %(package)s)')
                    % {'tool': tool, 'package': package}
                )
        if importlib.util.find_spec('ironic_python_agent') is None:
            missing.append(
                _(
                    'ironic-python-agent (pip install '
                    '"ironic-inspection-rules[collect]")'
                )
            )
        if missing:
            raise exceptions.InspectionRulesError(
                _('collect needs %s') % ', '.join(missing)
            )
        is_root = os.geteuid() == 0
        if not is_root:
            self.app.stderr.write(
                _(
                    'Collected without root: serial numbers, the BMC and what '
                    'firmware tells may be missing.\n'
                )
            )
        text = json.dumps(_collect_data(), indent=2, sort_keys=True) + '\n'
        arguments.write(parsed_args.file, text, self.app.stdout)
        return 0


def _do_nothing(_manager: typing.Any) -> None:
    """Replace :meth:`GenericHardwareManager.initialize` of the agent."""


def _collect_data() -> dict[str, typing.Any]:
    """Run the agent's default collector on this machine.

    :returns: the data that the agent would post to Ironic, e.g.
        ``{'inventory': {'cpu': {…}, 'disks': […], …}, …}``.
    """
    # The agent is imported here because it is large and may be missing.
    from ironic_python_agent import config  # noqa: F401 registers options
    from ironic_python_agent import encoding
    from ironic_python_agent import errors
    from ironic_python_agent import hardware
    from ironic_python_agent import inspector
    from ironic_python_agent import utils
    from oslo_config import cfg

    # The agent logs everything that a virtual machine or a container lacks.
    logging.getLogger('ironic_python_agent').setLevel(logging.ERROR)
    cfg.CONF([], project='ironic-python-agent', default_config_files=[])
    # In a ramdisk, the agent first assembles RAIDs, sets up multipath and
    # loads modules, which must not be done on a machine in use.
    hardware.GenericHardwareManager.initialize = _do_nothing
    # Every collector takes an object for its failures. The default collector
    # never adds any, so the failures are not read.
    failures = utils.AccumulatedFailures(exc_class=errors.InspectionError)
    data: dict[str, typing.Any] = {}
    inspector.collect_default(data, failures)
    # The data contain objects of the agent, e.g. for disks. The agent's
    # encoder converts them to JSON, which is decoded to plain data.
    encoded = encoding.RESTJSONEncoder().encode(data)
    return json.loads(encoded)
