# SPDX-License-Identifier: Apache-2.0

"""Mistakes that people make are found, and mended where that is clear."""

import collections
import json
import pathlib
import re

import yaml

import ironic_inspection_rules
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.authoring import mended_file
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit.rule_file import files

_NAME = re.compile(r'"op": "([^"]+)"|\{((?:inventory|node|item)[.\w]+)\}')
SAMPLE = (
    pathlib.Path(ironic_inspection_rules.__file__)
    .parents[1]
    .joinpath('tools', 'samples', 'rules.yaml')
)
PRODUCT = 'inventory.system_vendor.product_name'
"""What PRODUCT stands for."""

# What is written, which check finds it, and what it becomes, if that is clear.
CONDITIONS = (
    # Text where there is true or false, a number or a list.
    (
        'op: eq, args: {values: ["{inventory.disks[0].rotational}", "true"]}',
        'value',
        'op: eq, args: {values: ["{inventory.disks[0].rotational}", true]}',
    ),
    (
        'op: eq, args: {values: ["{item.has_carrier}", "yes"]}, '
        'loop: "{inventory.interfaces}"',
        'value',
        'op: eq, args: {values: ["{item.has_carrier}", true]}, '
        'loop: "{inventory.interfaces}"',
    ),
    (
        "op: ge, args: {values: [\"{inventory.disks | selectattr('rotational',"
        " 'eq', 'false') | length}\", 2]}",
        'value',
        None,
    ),
    ('op: eq, args: {values: ["{inventory.cpu.count}", many]}', 'value', None),
    ('op: eq, args: {values: ["{inventory.disks}", 2]}', 'value', None),
    ('op: eq, args: {values: ["{inventory.disks}", none]}', 'value', None),
    ('op: eq, args: {values: ["{PRODUCT}", [R640, R740]]}', 'value', None),
    # Values that no machine has.
    (
        'op: ge, args: {values: ["{inventory.disks[0].size}", 480]}',
        'value',
        None,
    ),
    (
        'op: ge, args: {values: ["{inventory.memory.total}", 256000]}',
        'value',
        None,
    ),
    (
        'op: ge, args: {values: ["{inventory.memory.physical_mb}", 64]}',
        'value',
        None,
    ),
    (
        'op: eq, args: {values: ["{inventory.cpu.architecture}", amd64]}',
        'value',
        'op: eq, args: {values: ["{inventory.cpu.architecture}", "x86_64"]}',
    ),
    (
        'op: eq, args: {values: ["{inventory.cpu.architecture}", arm64]}',
        'value',
        'op: eq, args: {values: ["{inventory.cpu.architecture}", "aarch64"]}',
    ),
    (
        'op: contains, args: {value: "{inventory.cpu.architecture}", '
        'regex: amd64}',
        'value',
        None,
    ),
    (
        'op: eq, args: {values: ["{inventory.boot.current_boot_mode}", UEFI]}',
        'value',
        'op: eq, args: {values: ["{inventory.boot.current_boot_mode}", '
        '"uefi"]}',
    ),
    (
        'op: one-of, args: {value: "{inventory.boot.current_boot_mode}", '
        'values: [BIOS, uefi]}',
        'value',
        'op: one-of, args: {value: "{inventory.boot.current_boot_mode}", '
        'values: ["bios", uefi]}',
    ),
    (
        'op: eq, args: {values: ["{inventory.interfaces[0].mac_address}", '
        '"52:54:00:AB:CD:EF"]}',
        'value',
        'op: eq, args: {values: ["{inventory.interfaces[0].mac_address}", '
        '"52:54:00:ab:cd:ef"]}',
    ),
    (
        'op: eq, args: {values: ["{item.mac_address}", "52-54-00-ab-cd-ef"]}, '
        'loop: "{inventory.interfaces}"',
        'value',
        'op: eq, args: {values: ["{item.mac_address}", "52:54:00:ab:cd:ef"]}, '
        'loop: "{inventory.interfaces}"',
    ),
    (
        'op: ge, args: {values: ["{inventory.memory.physical_mb}", 64GB]}',
        'unit',
        None,
    ),
    (
        'op: ge, args: {values: ["{inventory.disks[0].size}", "480 GB"]}',
        'unit',
        None,
    ),
    # Versions.
    (
        'op: lt, args: {values: '
        '["{inventory.system_vendor.firmware.version}", "2.10.3"]}',
        'value',
        'op: version-lt, args: {values: '
        '["{inventory.system_vendor.firmware.version}", "2.10.3"]}',
    ),
    (
        'op: ge, args: {values: '
        '["{inventory.system_vendor.firmware.version}", 2.9]}',
        'value',
        'op: version-ge, args: {values: '
        '["{inventory.system_vendor.firmware.version}", "2.9"]}',
    ),
    (
        'op: "! gt", args: {values: ["2.10", '
        '"{inventory.system_vendor.firmware.version}"]}',
        'value',
        'op: "! version-gt", args: {values: ["2.10", '
        '"{inventory.system_vendor.firmware.version}"]}',
    ),
    (
        'op: le, args: {values: '
        '["{inventory.system_vendor.firmware.version}", 2.10]}',
        'plain-scalar',
        'op: version-le, args: {values: '
        '["{inventory.system_vendor.firmware.version}", "2.10"]}',
    ),
    (
        'op: version-lt, args: {values: ["{inventory.cpu.count}", "8"]}',
        'value',
        None,
    ),
    (
        'op: version-gt, args: {values: '
        '["{inventory.system_vendor.firmware.version}", "2.10"]}}, '
        '{op: version-lt, args: {values: '
        '["{inventory.system_vendor.firmware.version}", "2.9"]}',
        'never-holds',
        None,
    ),
    (
        'op: eq, args: {values: '
        '["{inventory.system_vendor.firmware.version}", "2.9"]}}, {op: '
        'version-ge, args: {values: '
        '["{inventory.system_vendor.firmware.version}", "2.10"]}',
        'never-holds',
        None,
    ),
    # What is of stock Ironic.
    (
        'op: one-of, args: {value: "{inventory.hostname}", values: ["", '
        'None]}',
        'stock-rule',
        None,
    ),
    (
        'op: eq, args: {values: ["{inventory.hostname}", x]}, loop: []',
        'stock-rule',
        None,
    ),
    # Regular expressions.
    (
        r"op: contains, args: {value: '{PRODUCT}', regex: 'R640 (SKU=1)'}",
        'value',
        r"op: contains, args: {value: '{PRODUCT}', regex: 'R640 \(SKU=1\)'}",
    ),
    (
        'op: matches, args: {value: "{PRODUCT}", regex: "R6[40"}',
        'invalid',
        None,
    ),
    # What is there for nothing.
    ('op: eq, args: {values: ["{PRODUCT}"]}', 'no-effect', None),
    (
        'op: eq, args: {values: ["{PRODUCT}", R640]}, multiple: all',
        'no-effect',
        None,
    ),
    (
        'op: eq, args: {values: ["{PRODUCT}", R640]}, '
        'loop: "{inventory.disks}"',
        'no-effect',
        None,
    ),
    (
        'op: eq, args: {values: ["{inventory.cpu.count}", 4]}}, {op: eq, '
        'args: {values: ["{inventory.cpu.count}", 4]}',
        'no-effect',
        None,
    ),
    # Fields that are none.
    (
        'op: is-none, args: {value: "inventory.cpu.count"}',
        'no-field',
        'op: is-none, args: {value: "{inventory.cpu.count}"}',
    ),
    (
        'op: is-none, args: {value: "{inventory.cpu.count"}',
        'no-field',
        'op: is-none, args: {value: "{inventory.cpu.count}"}',
    ),
    (
        'op: is-none, args: {value: "${inventory.cpu.count}"}',
        'no-field',
        'op: is-none, args: {value: "{inventory.cpu.count}"}',
    ),
    (
        'op: is-none, args: {value: "{{inventory.cpu.count}}"}',
        'no-field',
        None,
    ),
    (
        'op: eq, args: {values: ["{item.name}", sda]}, loop: inventory.disks',
        'invalid',
        None,
    ),
    ('op: is-none, args: {value: "{{ inventory.cpu.count }}"}', 'jinja', None),
    (
        'op: is-none, args: {value: "{inventory.cpu.cuont}"}',
        'unreported-field',
        'op: is-none, args: {value: "{inventory.cpu.count}"}',
    ),
    (
        'op: is-none, args: {value: "{invntory.cpu.count}"}',
        'unknown-field',
        'op: is-none, args: {value: "{inventory.cpu.count}"}',
    ),
    (
        'op: is-none, args: {value: "{node.drivr}"}',
        'unknown-field',
        'op: is-none, args: {value: "{node.driver}"}',
    ),
    ('op: is-none, args: {value: "{item.x}"}', 'unknown-field', None),
    ('op: is-none, args: {value: "{data[x]}"}', 'unknown-field', None),
    (
        'op: is-none, args: {value: "{node.driver_info.ipmi_adress}"}',
        'node-name',
        None,
    ),
    (
        'op: is-none, args: {value: "{inventory.memory.physical_gb}"}',
        'unreported-field',
        None,
    ),
    (
        'op: ge, args: {values: ["{inventory.disks | '
        "sum(attribute='sizee')}\", 5]}",
        'unreported-field',
        'op: ge, args: {values: ["{inventory.disks | sum(attribute=\'size\')}"'
        ', 5]}',
    ),
    ('op: eq, args: {values: ["{PRODUCT | round}", 5]}', 'value', None),
    (
        'op: is-none, args: {value: "{data[inventory][bmc_address]}"}',
        'unknown-field',
        'op: is-none, args: {value: "{inventory[bmc_address]}"}',
    ),
    (
        'op: is-none, args: {value: "{ports.52:54:00:12:34:56.name}"}',
        'unknown-field',
        'op: is-none, args: {value: "{ports[52:54:00:12:34:56].name}"}',
    ),
    (
        r'op: contains, args: {value: "{PRODUCT}", regex: "\bR640\b"}',
        'plain-scalar',
        r'op: contains, args: {value: "{PRODUCT}", regex: "\\bR640\\b"}',
    ),
    (
        'op: ge, args: {values: ["{inventory.cpu.count}", "1,024"]}',
        'value',
        'op: ge, args: {values: ["{inventory.cpu.count}", 1024]}',
    ),
    (
        'op: version-lt, args: {values: '
        '["{inventory.system_vendor.firmware.version}", "{vars.v}"]}',
        'unknown-field',
        None,
    ),
    ('op: eq, args: {values: ["{PRODUCT | lower}", R640]}', 'value', None),
    (
        'op: eq, args: {values: ["{PRODUCT | uper}", X]}',
        'invalid',
        'op: eq, args: {values: ["{PRODUCT | upper}", X]}',
    ),
    # YAML 1.1.
    (
        'op: eq, args: {values: ["{inventory.bmc_mac}", 52:54:00:12:34:56]}',
        'plain-scalar',
        'op: eq, args: {values: ["{inventory.bmc_mac}", "52:54:00:12:34:56"]}',
    ),
    (
        'op: eq, args: {values: ["{inventory.system_vendor.serial_number}", '
        '0123456]}',
        'plain-scalar',
        'op: eq, args: {values: ["{inventory.system_vendor.serial_number}", '
        '"0123456"]}',
    ),
    (
        'op: eq, args: {values: ["{inventory.system_vendor.serial_number}", '
        'NO]}',
        'plain-scalar',
        'op: eq, args: {values: ["{inventory.system_vendor.serial_number}", '
        '"NO"]}',
    ),
    (
        'op: eq, args: {values: '
        '["{inventory.system_vendor.firmware.version}", 2.10]}',
        'plain-scalar',
        'op: eq, args: {values: '
        '["{inventory.system_vendor.firmware.version}", "2.10"]}',
    ),
    # What never holds.
    ('op: eq, args: {values: [1, 2]}', 'never-holds', None),
    (
        'op: gt, args: {values: ["{inventory.cpu.count}", 8]}}, {op: lt, '
        'args: {values: ["{inventory.cpu.count}", 8]}',
        'never-holds',
        None,
    ),
    (
        'op: is-true, args: {value: "{node.auto_discovered}"}}, {op: '
        'is-false, args: {value: "{node.auto_discovered}"}',
        'never-holds',
        None,
    ),
    (
        'op: one-of, args: {value: "custom_x", values: "{node.traits}"}',
        'invalid-trait',
        None,
    ),
    # Names.
    (
        'op: eqq, args: {values: ["{inventory.cpu.count}", 4]}',
        'invalid',
        'op: eq, args: {values: ["{inventory.cpu.count}", 4]}',
    ),
    (
        'op: in-net, args: {address: "{inventory.bmc_address}", '
        'subnet: 10.0.0.0/33}',
        'invalid',
        None,
    ),
    (
        'op: is-none, args: {valeu: "{inventory.cpu.count}"}',
        'invalid',
        'op: is-none, args: {value: "{inventory.cpu.count}"}',
    ),
    (
        'op: is-none, agrs: {value: "{inventory.cpu.count}"}',
        'invalid',
        'op: is-none, args: {value: "{inventory.cpu.count}"}',
    ),
    (
        'op: is-none, args: ["{inventory.cpu.count}"]',
        'list-arguments',
        'op: is-none, args: {value: "{inventory.cpu.count}"}',
    ),
    (
        'op: eq, args: {values: ["{item}", 1]}, loop: [1, 2], multiple: frist',
        'invalid',
        'op: eq, args: {values: ["{item}", 1]}, loop: [1, 2], multiple: first',
    ),
)
ACTIONS = (
    (
        'op: set-attribute, args: {path: /propertis/x, value: 1}',
        'invalid',
        'op: set-attribute, args: {path: /properties/x, value: 1}',
    ),
    (
        'op: set-attribute, args: {path: /extra/x, '
        'value: inventory.cpu.count}',
        'no-field',
        'op: set-attribute, args: {path: /extra/x, '
        'value: "{inventory.cpu.count}"}',
    ),
    (
        'op: set-attribute, args: {path: /extra/x, value: "a ${node.name} b"}',
        'no-field',
        'op: set-attribute, args: {path: /extra/x, value: "a {node.name} b"}',
    ),
    (
        'op: set-attribute, args: {path: /extra/x, '
        'value: "a {{node.name|upper}} b"}',
        'no-field',
        None,
    ),
    ('op: fail, args: {msg: "no {{inventory.hostname}}"}', 'no-field', None),
    (
        'op: set-attribute, args: {path: /extra/serial, value: 0123456}',
        'plain-scalar',
        'op: set-attribute, args: {path: /extra/serial, value: "0123456"}',
    ),
    (
        'op: set-attribute, args: {path: /extra/mac, value: '
        '52:54:00:12:34:56}',
        'plain-scalar',
        'op: set-attribute, args: {path: /extra/mac, '
        'value: "52:54:00:12:34:56"}',
    ),
    (
        'op: set-attribute, args: {path: /properties/capabilities/x, value: '
        '1}',
        'capability-path',
        None,
    ),
    (
        'op: set-attribute, args: {path: /driver_info/ipmi_adress, value: x}',
        'node-name',
        None,
    ),
    (
        'op: set-attribute, args: {path: /driver_info/ipmi_password, value: '
        'x}',
        'secret',
        None,
    ),
    (
        'op: set-attribute, args: {path: /extra/x, '
        'value: "{node.driver_info.ipmi_password}"}',
        'masked-value',
        None,
    ),
    (
        'op: set-capability, args: {name: x, '
        'value: "{plugin_data.bmc[api_key] | upper}"}',
        'masked-value',
        None,
    ),
    (
        'op: set-attribute, args: {path: /extra/x, value: '
        '"{node.driver_info}"}',
        'masked-value',
        None,
    ),
    (
        'op: set-attribute, args: {path: "/extra/{item.password}", value: 1}, '
        'loop: "{plugin_data.users}"',
        'masked-value',
        None,
    ),
    (
        'op: set-plugin-data, args: {path: /x, value: '
        '"{plugin_data.users | map(attribute=\'password\')}"}',
        'masked-value',
        None,
    ),
    (
        'op: set-plugin-data, args: {path: /x, value: "{inventory.hostname | '
        'default(node.driver_info.snmp_auth_key)}"}',
        'masked-value',
        None,
    ),
    ('op: extend-plugin-data, args: {path: /l/-1, value: x}', 'invalid', None),
    ('op: set-capability, args: {name: a, value: "b,c:d"}', 'invalid', None),
    ('op: set-capability, args: {name: "a:b", value: c}', 'invalid', None),
    (
        'op: add-trait, args: {name: custom_gpu}',
        'invalid',
        'op: add-trait, args: {name: CUSTOM_GPU}',
    ),
    ('op: add-trait, args: {name: "CUSTOM_{PRODUCT}"}', 'trait-of-text', None),
    (
        'op: add-trait, args: {name: "custom_{node.name | trait}"}',
        'invalid-trait',
        None,
    ),
    (
        'op: set-traits, args: {names: [CUSTOM_A], prefix: CUSTOM_B}',
        'invalid',
        None,
    ),
    ('op: add-trait, args: {name: CUSTOM_A}, loop: [1, 2]', 'no-effect', None),
    (
        'op: set-port-attribute, args: {port_id: "52:54:00:12:34:56", '
        'path: /pxe_enabled, value: true}',
        'one-port',
        None,
    ),
    (
        'op: set-port-attribute, args: {port_id: "{item.address}", '
        'path: /pxe_enable, value: true}, loop: "{ports}"',
        'invalid',
        'op: set-port-attribute, args: {port_id: "{item.address}", '
        'path: /pxe_enabled, value: true}, loop: "{ports}"',
    ),
    (
        'op: fail, args: {msg: no}',
        'plain-scalar',
        'op: fail, args: {msg: "no"}',
    ),
    (
        'op: fail, args: {msg: a}}, {op: log, args: {msg: x}',
        'unreachable-action',
        None,
    ),
    ('op: fail, args: {message: "x"}', 'invalid', None),
    ('op: log, args: {msg: x, level: warn}', 'invalid', None),
    (
        'op: set-attribute, args: {path: /maintenance, value: sure}',
        'invalid',
        None,
    ),
    ('op: api-call, args: {url: "ftp://x"}', 'invalid', None),
    ('op: set-plugin-data, args: {path: "", value: 1}', 'invalid', None),
)
RULES = (
    (
        """
- vars: {one: "{previous.plugin_data.token}", two: "{vars.one}-x"}
  actions: [{op: set-attribute, args: {path: /name, value: "{vars.two}"}}]
""",
        'masked-value',
    ),
    (
        """
- vars: {v: 2.9}
  conditions: [{op: version-lt, args: {values: ["{PRODUCT}", "{vars.v}"]}}]
  actions: [{op: log, args: {msg: x}}]
""",
        'value',
    ),
    # The machine names what is in its own mappings.
    (
        """
- vars: {row: "{plugin_data.row}"}
  sensitive: true
  actions:
  - op: set-attribute
    args: {path: /driver_info/x, value: "{vars.row.password}"}
""",
        'masked-value',
    ),
    # Whoever may read the node, or the inventory, reads it there.
    (
        """
- sensitive: true
  actions: [{op: set-attribute, args: {path: /extra/code, value: pa55}}]
""",
        'readable-secret',
    ),
    (
        """
- sensitive: true
  vars: {row: {code: pa55}}
  actions: [{op: set-plugin-data, args: {path: /a, value: ["{vars.row}"]}}]
""",
        'readable-secret',
    ),
    (
        """
- sensitive: true
  actions:
  - {op: set-attribute, args: {path: /driver_info/snmp_community, value: c0mm}}
""",
        'readable-secret',
    ),
    (
        """
- sensitive: true
  actions:
  - op: set-attribute
    args: {path: /driver_info, value: {ipmi_password: pa55, my_pw: pa55}}
""",
        'readable-secret',
    ),
    (
        """
- sensitive: true
  actions:
  - op: set-capability
    args:
      name: key
      value: "{PRODUCT | lookup({'R640': 'pa55', 'R740': 'pa66'})}"
""",
        'readable-secret',
    ),
    (
        """
- sensitive: true
  actions:
  - op: set-port-attribute
    args: {port_id: "{item.address}", path: /extra/key, value: "pa55-{item}"}
    loop: "{ports}"
""",
        'readable-secret',
    ),
    (
        """
- sensitive: true
  actions:
  - op: extend-attribute
    args: {path: /extra/pins, value: "{item.pin}"}
    loop: [{pin: 123456}]
""",
        'readable-secret',
    ),
    (
        """
- sensitive: true
  actions:
  - op: set-attribute
    args: {path: /extra/state, value: "{PRODUCT}", cleanup: pa55}
""",
        'readable-secret',
    ),
    # The conditions say that it is missing.
    (
        """
- conditions: [{op: is-none, args: {value: "{inventory.hostname}"}}]
  actions:
  - {op: set-attribute, args: {path: /name, value: "{inventory.hostname}"}}
""",
        'missing',
    ),
    # What is read is written later.
    (
        """
- conditions: [{op: eq, args: {values: ["{plugin_data.my_tier}", 1]}}]
  actions: [{op: log, args: {msg: x}}]
- actions: [{op: set-plugin-data, args: {path: /my_tier, value: 1}}]
""",
        'too-early',
    ),
    (
        """
- actions: [{op: set-attribute, args: {path: /driver, value: ipmi}}]
- actions: [{op: set-attribute, args: {path: driver, value: redfish}}]
""",
        'conflict',
    ),
    (
        """
- conditions: [{op: contains, args: {value: "{PRODUCT}", regex: PowerEdge}}]
  actions: [{op: set-attribute, args: {path: /driver, value: ipmi}}]
- conditions: [{op: contains, args: {value: "{PRODUCT}", regex: R320}}]
  actions: [{op: set-attribute, args: {path: /driver, value: redfish}}]
""",
        'conflict',
    ),
    (
        """
- actions: [{op: fail, args: {msg: x}}]
- actions: [{op: log, args: {msg: x}}]
""",
        'unreachable-rule',
    ),
    (
        """
- phase: erly
  actions: [{op: log, args: {msg: x}}]
""",
        'invalid',
    ),
    (
        """
- phase: early
  actions: [{op: add-trait, args: {name: CUSTOM_A}}]
""",
        'invalid',
    ),
    (
        """
- description: OFF
  actions: [{op: log, args: {msg: x}}]
""",
        'plain-scalar',
    ),
    (
        """
- sensitve: true
  actions: [{op: log, args: {msg: x}}]
""",
        'invalid',
    ),
    (
        """
- uuid: 0a1b2c3d-0000-4000-8000-000000000001
  actions: [{op: log, args: {msg: x}}]
- uuid: 0a1b2c3d-0000-4000-8000-000000000001
  actions: [{op: log, args: {msg: y}}]
""",
        'duplicate-uuid',
    ),
)


class PlantedTestCase(files.FilesTestCase):
    def checks(self, text):
        return [
            each.check
            for each in lint.lint(
                [self.write('rules.yaml', text)], registry.installed()
            )
        ]

    def rule(self, condition='', action='op: log, args: {msg: x}'):
        conditions = f'  conditions: [{{{condition}}}]\n' if condition else ''
        text = f'- description: one\n{conditions}  actions: [{{{action}}}]\n'
        return text.replace('PRODUCT', PRODUCT)

    def table(self):
        for condition, check, mended in CONDITIONS:
            yield (
                self.rule(condition),
                check,
                mended and self.rule(condition=mended),
            )
        for action, check, mended in ACTIONS:
            yield (
                self.rule(action=action),
                check,
                mended and self.rule(action=mended),
            )
        for text, check in RULES:
            yield text.replace('PRODUCT', PRODUCT), check, None

    def test_mistakes_are_found(self):
        missed = [
            (text, check)
            for text, check, _mended in self.table()
            if check not in self.checks(text)
        ]
        self.assertEqual([], missed)

    def test_texts_that_an_op_takes_are_not_the_rules(self):
        for op in ('is-true', 'is-false', '! is-true', '! is-false'):
            self.assertNotIn(
                'value',
                self.checks(
                    self.rule(
                        f'op: "{op}", args: {{value: "{{item.rotational}}"}}, '
                        'loop: "{inventory.disks}"'
                    )
                ),
                op,
            )

    def test_what_is_clear_is_mended_and_then_good(self):
        for text, check, expected in self.table():
            mended, _made = mended_file.mend_text(
                'r.yaml', text, registry.installed()
            )
            if expected is not None:
                self.assertEqual(
                    yaml.safe_load(expected), yaml.safe_load(mended)
                )
                self.assertNotIn(check, self.checks(mended))

    def test_mending_leaves_what_is_not_clear(self):
        for text, check, expected in self.table():
            if (
                expected is None
                and text.startswith('-')
                and (check != 'list-arguments')
            ):
                mended, _made = mended_file.mend_text(
                    'r.yaml', text, registry.installed()
                )
                self.assertIn(check, self.checks(mended), text)

    def test_secrets_may_be_asked_for_and_told_of(self):
        for condition, action in (
            ('', 'op: fail, args: {msg: "{node.driver_info.password}"}'),
            ('', 'op: log, args: {msg: "{node.driver_info}"}'),
            (
                'op: is-empty, args: {value: "{node.driver_info.password}"}',
                'op: log, args: {msg: x}',
            ),
            (
                '',
                'op: set-attribute, args: {path: /extra/x, value: 1}, '
                'when: [{op: is-none, '
                'args: {value: "{node.driver_info.password}"}}]',
            ),
            (
                '',
                'op: set-attribute, args: {path: "/extra/x", value: 1}, '
                'loop: "{plugin_data.passwords}"',
            ),
        ):
            self.assertNotIn(
                'masked-value',
                self.checks(self.rule(condition, action)),
                (condition, action),
            )

    def test_what_shows_nothing_of_a_sensitive_rule_is_no_secret(self):
        for action in (
            '{op: set-attribute, args: {path: /driver_info/ipmi_password, '
            'value: pa55}}',
            '{op: set-attribute, args: {path: /driver_info/ipmi_username, '
            'value: admin}}',
            '{op: set-attribute, args: {path: /driver_info, '
            'value: {ipmi_username: admin, ipmi_password: pa55}}}',
            '{op: set-attribute, args: {path: /driver, value: redfish}}',
            '{op: set-attribute, args: {path: /resource_class, '
            'value: baremetal}}',
            '{op: set-attribute, args: {path: /extra/seen, value: true}}',
            '{op: set-attribute, args: {path: /extra/serial, value: '
            '"{inventory.system_vendor.serial_number | upper}"}}',
            '{op: set-attribute, args: {path: /extra/url, '
            'value: "https://{inventory.bmc_address}/"}}',
            '{op: set-attribute, args: {path: "/driver_info/{item.key}", '
            'value: "{item.value}"}, loop: "{vars.row | dict2items}"}',
            '{op: set-attribute, args: {path: "/driver_info/{item.a}", '
            'value: pa55}, loop: [{a: ipmi_password}]}',
            '{op: set-capability, args: {name: boot_mode, value: uefi}}',
            '{op: add-trait, args: {name: CUSTOM_GOLD}}',
            '{op: set-attribute, args: {path: /extra/p, '
            'value: "{vars.product}"}}',
        ):
            self.assertNotIn(
                'readable-secret',
                self.checks(f"""
- sensitive: true
  vars: {{row: {{ipmi_password: pa55}}, product: "{{PRODUCT}}"}}
  actions: [{action}]
"""),
                action,
            )

    def test_only_a_sensitive_rule_has_something_to_lose(self):
        self.assertNotIn(
            'readable-secret',
            self.checks(
                '- actions: [{op: set-attribute, args: {path: /extra/a, '
                'value: pa55}}]'
            ),
        )

    def test_a_value_of_the_rule_is_no_secret_of_the_machine(self):
        for row in (
            '{password: x}',
            "\"{PRODUCT | lookup({'R640': {'password': 'x'}})}\"",
        ):
            text = f"""
- vars: {{row: {row}}}
  sensitive: true
  actions:
  - op: set-attribute
    args: {{path: /driver_info/ipmi_password, value: "{{vars.row.password}}"}}
"""
            self.assertEqual(
                [], self.checks(text.replace('PRODUCT', PRODUCT)), row
            )

    def test_checks_that_a_machine_has_memory_are_good(self):
        for op, value in (('gt', 0), ('ge', 1), ('ge', 100), ('ge', 1000)):
            self.assertEqual(
                [],
                self.checks(
                    self.rule(
                        f'op: {op}, args: {{values: '
                        f'["{{inventory.memory.physical_mb}}", {value}]}}'
                    )
                ),
            )

    def test_public_rules_have_no_errors(self):
        for path in sorted(shared_data.directory().glob('rules-*/*')):
            found = [
                each
                for each in lint.lint([str(path)], registry.installed())
                if each.level == 'error'
            ]
            self.assertEqual([], found, path.name)

    def test_mistakes_in_public_rules_are_found(self):
        """Each op and each field has a letter too many, one at a time."""
        missed, tried = [], 0
        for path in [
            *sorted(shared_data.directory().glob('rules-ironic/*')),
            SAMPLE,
        ]:
            text = json.dumps(yaml.safe_load(path.read_text()))
            before = collections.Counter(self.checks(text))
            for match in _NAME.finditer(text):
                name = match[1] or match[2]
                end = match.end(1 if match[1] else 2)
                tried += 1
                if (
                    not collections.Counter(
                        self.checks(text[:end] + name[-1] + text[end:])
                    )
                    - before
                ):
                    missed.append((path.name, match[0]))
        self.assertGreater(tried, 50)
        self.assertLess(len(missed), tried / 10, missed)
