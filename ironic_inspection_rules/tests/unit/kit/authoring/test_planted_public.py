# SPDX-License-Identifier: Apache-2.0

"""Mistakes that people make are found in real rule sets too."""

import collections

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit.rule_file import files

KAYOBE = 'rules-ironic/kayobe-2026.json'
DOCS = 'rules-ironic/ironic-docs-full-example.yaml'
LOOPS = 'rules-ironic/ironic-docs-loops.yaml'
SPEC = 'rules-ironic/spec-examples.yaml'
API = 'rules-ironic/apiref-create-request.json'
TRIPLEO = 'rules-inspector/tripleo-profile_matching-3.json'
OLD = 'rules-inspector/kayobe-inspector-dsl.json'

# In which file what is written, and what is written in its place.
MISTAKES = (
    # Names in fields.
    (KAYOBE, '{inventory[bmc_address]}', '{inventory[bmc_adress]}'),
    (
        KAYOBE,
        '{node.driver_info[redfish_address]}',
        '{node.driver_info[redfish_adress]}',
    ),
    (
        KAYOBE,
        '{node.properties[root_device]}',
        '{node.propertys[root_device]}',
    ),
    (
        KAYOBE,
        '{inventory[system_vendor][manufacturer]}',
        '{inventory[system_vendor][manufacturer_name]}',
    ),
    (
        DOCS,
        '{inventory[system_vendor][manufacturer]}',
        '{inventory[system][manufacturer]}',
    ),
    (DOCS, '{inventory[bmc_address]}', '{bmc_address}'),
    (DOCS, '{inventory[bmc_address]}', '{data[inventory][bmc_address]}'),
    (
        LOOPS,
        '{inventory[system_vendor][product_name]}',
        '{inventory[system_vendor][product]}',
    ),
    (LOOPS, "'{item[path]}'", "'{item[pth]}'"),
    (LOOPS, "'{item[value]}'", "'{items[value]}'"),
    (SPEC, '{node.auto_discovered}', '{node.autodiscovered}'),
    (SPEC, '{inventory[bmc_v6address]}', '{inventory[bmc_ipv6_address]}'),
    (OLD, 'node://driver_info.ipmi_username', 'node://drivr_info.x'),
    # Braces.
    (
        DOCS,
        'https://{inventory[bmc_address]}',
        'https://{{ inventory.bmc_address }}',
    ),
    (
        DOCS,
        'https://{inventory[bmc_address]}',
        'https://${inventory[bmc_address]}',
    ),
    (
        KAYOBE,
        '"value": "{inventory[bmc_address]}"',
        '"value": "inventory[bmc_address]"',
    ),
    (
        KAYOBE,
        '"value": "{plugin_data[root_disk][serial]}"',
        '"value": "{plugin_data[root_disk][serial]"',
    ),
    # Paths.
    (KAYOBE, '/driver_info/redfish_verify_ca', '/drivr_info/verify_ca'),
    (
        KAYOBE,
        '/driver_info/redfish_verify_ca',
        '/driver_info/redfish_verfy_ca',
    ),
    (KAYOBE, '/extra/pxe_interface_mac', '/extras/pxe_interface_mac'),
    (API, 'driver_info.redfish_address', 'driverinfo.redfish_address'),
    (DOCS, '/driver_info/redfish_username', '/provision_state'),
    (
        KAYOBE,
        '/properties/root_device/serial',
        '/properties/capabilities/root_device',
    ),
    # Ops, arguments and keys.
    (KAYOBE, '"!is-empty"', '"!is-emtpy"'),
    (KAYOBE, '"!is-empty"', '"not-empty"'),
    (DOCS, 'op: is-true', 'op: true'),
    (DOCS, 'regex: (?i)dell', 'regexp: (?i)dell'),
    (DOCS, 'regex: (?i)dell', 'regex: (?i)(dell'),
    (DOCS, 'level: info', 'level: notice'),
    (DOCS, 'priority: 100', 'prio: 100'),
    (DOCS, 'priority: 100', 'priority: high'),
    (DOCS, 'phase: main', 'phase: post'),
    (DOCS, 'phase: main', 'phase: early'),
    (LOOPS, 'multiple: any', 'multiple: some'),
    (API, '"sensitive": true', '"sensitive": false'),
    # What never holds, or does nothing.
    (LOOPS, "'{item}'\n    loop", "'{inventory[hostname]}'\n    loop"),
    (
        DOCS,
        '  - op: is-true\n    args:\n',
        "  - op: '!contains'\n    args:\n      regex: (?i)dell\n",
    ),
    (API, '"op": "is-true"', '"op": "eq"'),
    (SPEC, '- ipmi\n', '- "{node.driver_info[ipmi_password]}"\n'),
    (
        KAYOBE,
        '"value": "8fd65c97-4d00-4aa8-8b7e-d166a60971aa"',
        '"value": "{node.driver_info}"',
    ),
    (TRIPLEO, '"op": "lt"', '"op": "less"'),
    (TRIPLEO, 'memory_mb', 'memry_mb'),
    (SPEC, '  sensitive: true\n  conditions:', '  conditions:'),
    (DOCS, '  - op: log\n', '  - op: fail\n    args: {msg: x}\n  - op: log\n'),
)


class PlantedTestCase(files.FilesTestCase):
    def checks(self, name, text):
        return collections.Counter(
            each.check
            for each in lint.lint(
                [self.write(name.rpartition('/')[2], text)],
                registry.installed(),
            )
            if each.is_problem
        )

    def test_nine_of_ten_are_found(self):
        missed = []
        before = {}
        for name, old, new in MISTAKES:
            text = (shared_data.directory() / name).read_text()
            self.assertIn(old, text, name)
            if name not in before:
                before[name] = self.checks(name, text)
            with_mistake = text.replace(old, new, 1)
            if not self.checks(name, with_mistake) - before[name]:
                missed.append((name, old, new))
        self.assertGreaterEqual(len(MISTAKES), 40)
        self.assertLessEqual(len(missed), len(MISTAKES) // 10, missed)
