# SPDX-License-Identifier: Apache-2.0

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
