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

"""What ironic-inspector made of inspection data, and Ironic does not."""

NOW = {
    'cpu_arch': 'inventory.cpu.architecture',
    'cpus': 'inventory.cpu.count',
    'interfaces': 'plugin_data.valid_interfaces',
    'ipmi_address': 'inventory.bmc_address',
    'ipmi_v6address': 'inventory.bmc_v6address',
    'memory_mb': 'inventory.memory.physical_mb',
}
"""Where Ironic has it, by the name beside ``inventory``."""
