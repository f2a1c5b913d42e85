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
