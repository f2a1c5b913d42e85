# SPDX-License-Identifier: Apache-2.0

"""Ironic as the commands reach it."""

from typing import Any


def baremetal(command: Any) -> Any:
    """The bare metal proxy of openstacksdk for a command.

    The ``openstack`` command asks for the newest microversion that
    python-ironicclient knows, by default. python-ironicclient makes do with
    less, but openstacksdk would refuse to talk to an older Ironic.

    :param command: a command that is being carried out.
    """
    cloud = command.app.client_manager.sdk_connection
    cloud.config.config['baremetal_api_version'] = '1'
    return cloud.baremetal
