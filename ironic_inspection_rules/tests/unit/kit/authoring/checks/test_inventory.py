# SPDX-License-Identifier: Apache-2.0

"""A mistyped field of inspection data is found, a right one never."""

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import inventory
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests.unit.rule_file import files

RULE = """
- conditions:
  - op: is-none
    args: {{value: "{}"}}
    loop: {}
  actions:
  - {{op: set-plugin-data, args: {{path: /rack/row, value: 1}}}}
"""


class CheckTestCase(files.FilesTestCase):
    def setUp(self):
        super().setUp()
        self.ops = registry.installed()

    def check(self, field, loop='null'):
        return self.check_file(
            self.write('rules.yaml', RULE.format(field, loop))
        )

    def check_file(self, path):
        rules = [
            checked_rule.build(rule, self.ops) for rule in file_rule.load(path)
        ]
        own = frozenset(
            effects.names_of_plugin_data(
                action for rule in rules for action in rule.actions
            )
        )
        return [
            message
            for rule in rules
            for _pointer, message, is_note in inventory.check(
                rule, own, inventory_fields.ANY
            )
            if not is_note
        ]

    def test_a_path_that_cannot_be_parsed_is_left_to_validation(self):
        path = self.write(
            'rules.yaml',
            '- conditions:\n'
            "  - {op: inspector-eq, args: {field: '{item}', value: 1}}\n"
            '  actions: [{op: log, args: {msg: x}}]\n',
        )
        self.assertEqual([], self.check_file(path))

    def test_what_the_ramdisk_hooks_and_redfish_report_is_right(self):
        for field in (
            '{inventory[disks][0][serial]}',
            '{inventory.system_vendor.firmware.version}',
            '{inventory.storage_controllers}',
            '{plugin_data[pci_devices][3][vendor_id]}',
            '{plugin_data[all_interfaces][eth7][pxe_enabled]}',
            '{plugin_data.parsed_lldp.eth0.switch_port_id}',
            '{plugin_data[dmi][bios][Version]}',
            '{inventory[cpu][flags][0]}',
            '{node.extra[x]}',
        ):
            self.assertEqual([], self.check(field), field)

    def test_the_near_name_is_told(self):
        self.assertEqual(
            [
                '{inventory[memory][phyiscal_mb]}: no inspection reports '
                '"phyiscal_mb" in inventory.memory; did you mean '
                '"physical_mb"?'
            ],
            self.check('{inventory[memory][phyiscal_mb]}'),
        )

    def test_without_a_near_name_those_there_are_are_told(self):
        self.assertEqual(
            [
                '{inventory[memory][banks]}: no inspection reports "banks" in '
                'inventory.memory; known: physical_mb, total'
            ],
            self.check('{inventory[memory][banks]}'),
        )

    def test_what_was_stored_before_has_the_same_names(self):
        self.assertEqual([], self.check('{previous.inventory.disks[0].size}'))
        for field in (
            '{previous.inventory.cpu.cuont}',
            "{previous.inventory.cpu | get('cuont')}",
        ):
            self.assertIn('did you mean "count"?', self.check(field)[0])

    def test_get_steps_into_what_a_filter_gave(self):
        disks = "{inventory.disks | min(attribute='size') | get('%s')}"
        self.assertEqual([], self.check(disks % 'serial'))
        self.assertIn('"seriel"', self.check(disks % 'seriel')[0])
        self.assertEqual(
            [],
            self.check(
                '{plugin_data.parsed_lldp | get(inventory.hostname) | get(0)}'
            ),
        )
        for path in ('system_vendor.firmwares', '/system_vendor/firmwares'):
            self.assertIn(
                '"firmwares"', self.check(f"{{inventory | get('{path}')}}")[0]
            )

    def test_items_of_a_loop_are_known(self):
        loop = '"{inventory[interfaces]}"'
        self.assertEqual([], self.check('{item[mac_address]}', loop))
        self.assertIn('"mac_adress"', self.check('{item.mac_adress}', loop)[0])
        self.assertEqual([], self.check('{item.x}', '[{x: 1}]'))

    def test_filters_and_their_arguments_are_known(self):
        loop = (
            "\"{inventory.disks | selectattr('rotational', 'eq', false) "
            "| sort(attribute='size')}\""
        )
        self.assertEqual([], self.check('{item.serial}', loop))
        for field, typo in (
            ("{inventory.disks | map(attribute='sise') | max}", 'sise'),
            (
                "{inventory.disks | selectattr('rotatonal', 'eq', true)}",
                'rotatonal',
            ),
            ("{inventory.disks | sum('siz')}", 'siz'),
            ('{inventory.hostname | default(inventory.hostnam)}', 'hostnam'),
            ('{inventory.hostname | default([inventory.hostnam])}', 'hostnam'),
            ("{inventory.interfaces | map(attribute='lldp') | first}", None),
            ('{item.serail}', 'serail'),
        ):
            found = self.check(field, loop)
            if typo is None:
                self.assertEqual([], found, field)
            else:
                self.assertIn(f'"{typo}"', found[0], field)

    def test_items_of_groups_are_known(self):
        path = self.write(
            'rules.yaml',
            """
            - conditions:
              - op: all-of
                loop: "{inventory.interfaces}"
                conditions:
                - {op: is-none, args: {value: "{item.mac_adress}"}}
                - op: any-of
                  conditions:
                  - {op: is-none, args: {value: "{item.vedor}"}}
              actions: [{op: log, args: {msg: x}}]
            """,
        )
        first, second = self.check_file(path)
        self.assertIn('"mac_address"', first)
        self.assertIn('"vendor"', second)

    def notes(self, field, target=inventory_fields.ANY):
        path = self.write('rules.yaml', RULE.format(field, 'null'))
        (rule,) = (
            checked_rule.build(each, self.ops) for each in file_rule.load(path)
        )
        return [
            message
            for _pointer, message, _is_note in inventory.check(
                rule, frozenset(), target
            )
        ]

    def test_what_an_inspection_needs_is_told(self):
        for field, needs in (
            ('inventory[storage_controllers][0][name]', 'Redfish only'),
            (
                'plugin_data[parsed_lldp][eth0]',
                'needs the hook parse-lldp, or Redfish',
            ),
            (
                'plugin_data[pci_devices][0][vendor_id]',
                "needs the ramdisk's collector pci-devices",
            ),
            ('plugin_data[local_gb]', 'needs the hook root-device'),
            (
                'plugin_data[dmi][bios]',
                "needs the ramdisk's collector dmi-decode",
            ),
        ):
            self.assertEqual(
                [f'{{{field}}}: {needs}'], self.notes(f'{{{field}}}')
            )
        for field in (
            'inventory[disks][0][serial]',
            'plugin_data[macs]',
            'plugin_data[all_interfaces][eth0][pxe_enabled]',
            'plugin_data[boot_interface]',
            'inventory',
        ):
            self.assertEqual([], self.notes(f'{{{field}}}'), field)

    def test_the_near_name_comes_with_what_it_needs(self):
        (found,) = self.notes('{inventory[storage_controlers]}')
        self.assertIn('"storage_controllers"? (Redfish only)', found)

    def test_a_field_of_other_inspections_is_found(self):
        model = '{inventory[disks][0][model]}'
        for field, interface, release, count in (
            (model, None, None, 0),
            (model, None, '38', 0),
            (model, 'redfish', None, 0),
            (model, 'redfish', '39.0', 0),
            (model, 'redfish', '38', 1),
            (model, 'agent', '35', 0),
            ('{inventory[hostname]}', 'redfish', None, 1),
            ('{plugin_data[valid_interfaces]}', 'redfish', None, 0),
            ('{inventory[pci_devices]}', 'agent', None, 1),
        ):
            target = inventory_fields.InspectionTarget(interface, release)
            found = [
                text
                for text in self.notes(field, target)
                if 'no inspection' in text
            ]
            self.assertEqual(count, len(found), (field, interface, release))
        (found,) = self.notes(
            '{inventory[hostname]}',
            inventory_fields.InspectionTarget('redfish', '39'),
        )
        self.assertIn('by redfish in Ironic 39', found)
        self.assertIn('the ramdisk only', found)

    def test_plugin_data_of_a_site_are_its_own(self):
        self.assertEqual([], self.check('{plugin_data[rack][column]}'))
        self.assertEqual([], self.check('{plugin_data[weather]}'))
        self.assertEqual(1, len(self.check('{plugin_data[pci_device]}')))

    def test_what_is_read_before_it_is_written_is_told(self):
        write = '{op: set-plugin-data, args: {path: /rack/row, value: 1}}'
        log = '{op: log, args: {msg: "{plugin_data.%s}"}}'
        for name, count in (
            ('rack', 1),
            ('rack.row', 1),
            ('rack.row.x', 1),
            ('weather', 0),
        ):
            path = self.write(
                'rules.yaml',
                f"""
                - priority: 5
                  actions: [{log % name}]
                - actions: [{write}]
                """,
            )
            found = list(
                inventory.check_order(
                    [
                        checked_rule.build(rule, self.ops)
                        for rule in file_rule.load(path)
                    ]
                )
            )
            self.assertEqual(count, len(found), name)

    def test_fields_of_the_old_language_are_checked_too(self):
        for field, count in (
            ('memory_mb', 0),
            ('root_disk.wwn', 0),
            ('local_gb', 0),
            ('interfaces.eth0.pxe', 0),
            ('all_interfaces.eth0.ip', 0),
            ('interfaces.eth0.mac_adress', 1),
            ('all_interfaces.eth0.addr', 1),
            ('all_interfaces.eth0.lldp_processed.switch_port_id', 0),
            ('all_interfaces.eth0.lldp_processed.switch_port_it', 1),
            ('data://root_disk.serail', 1),
            ('inventory.disks[*].sizes', 1),
        ):
            path = self.write(
                'old.yaml',
                f"""
                - conditions:
                  - {{op: eq, field: "{field}", value: 1}}
                  actions: [{{action: fail, message: no}}]
                """,
            )
            self.assertEqual(count, len(self.check_file(path)), field)
        path = self.write(
            'old.yaml',
            """
            - actions:
              - action: set-attribute
                path: /driver_info/redfish_address
                value: "{data[inventory][bmc_adress]}"
            """,
        )
        self.assertIn('"bmc_address"', self.check_file(path)[0])

    def test_what_redfish_has_under_another_name_is_found_there(self):
        target = inventory_fields.InspectionTarget(
            inventory_fields.REDFISH, '39'
        )
        for field, count in (
            ('memory_mb', 0),
            ('cpus', 0),
            ('cpu_arch', 0),
            ('ipmi_address', 1),
            ('ipmi_v6address', 1),
        ):
            path = self.write(
                'old.yaml',
                f"""
                - conditions:
                  - {{op: is-empty, field: "{field}"}}
                  actions: [{{action: fail, message: no}}]
                """,
            )
            (rule,) = file_rule.load(path)
            found = list(
                inventory.check(
                    checked_rule.build(rule, self.ops), frozenset(), target
                )
            )
            self.assertEqual(count, len(found), field)
