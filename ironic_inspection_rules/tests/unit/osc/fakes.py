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

"""The parts of the ``openstack`` command that commands use."""

import types


class App:
    """An application that is connected to a cloud.

    :param baremetal: what stands for the cloud's bare metal proxy.
    """

    def __init__(self, baremetal='baremetal'):
        self.cloud = types.SimpleNamespace(
            config=types.SimpleNamespace(config={}), baremetal=baremetal)
        self.client_manager = types.SimpleNamespace(
            sdk_connection=self.cloud)
