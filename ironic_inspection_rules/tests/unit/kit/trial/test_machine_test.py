# SPDX-License-Identifier: Apache-2.0

"""Rules tried on machines from files, and what is told of them."""

import errno
import json
import os

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.report import trial_text
from ironic_inspection_rules.kit.trial import expectation
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests.unit.rule_file import files

RULES = """
- description: Refuse little memory
  conditions: [{op: lt, args: ["{inventory.memory.physical_mb}", 1024]}]
  actions:
  - {op: set-attribute, args: [/extra/refused, true]}
  - {op: fail, args: [too little]}
- description: Note the vendor
  priority: 5
  conditions: [{op: "!is-empty", args: ["{inventory.system_vendor}"]}]
  actions:
  - op: set-attribute
    args: [/extra/vendor, "{inventory.system_vendor.manufacturer}"]
- description: Set the driver
  conditions: [{op: eq, args: ["{plugin_data.kind}", dell]}]
  actions:
  - {op: set-attribute, args: [/driver, idrac]}
  - {op: set-attribute, args: [/driver_info/redfish_password, geheim]}
  - {op: add-trait, args: [CUSTOM_DELL]}
  - {op: remove-trait, args: [CUSTOM_OLD]}
  - op: set-port-attribute
    args: ["52:54:00:00:00:01", /extra/a, 1]
"""


class MachinesTestCase(files.FilesTestCase):
    def rules(self, text=RULES):
        return machine_test.load_rules([self.write('rules.yaml', text)])

    def run_on(self, content, node=None, rules=RULES, name='m/a.json'):
        node_path = node and self.write('node.yaml', node)
        return machine_test.run(
            self.write(name, content),
            machine_test.compile_rules(self.rules(rules)),
            machine_test.load_node(node_path),
        )

    def dell(self, node=None):
        return self.run_on(
            {'inventory': files.INVENTORY, 'kind': 'dell'}, node
        )


class NodesTestCase(MachinesTestCase):
    def test_a_directory_has_a_node_for_each_machine(self):
        self.write('nodes/a.yaml', 'name: first')
        self.write('nodes/b.json', {'node': {'name': 'second'}, 'ports': []})
        nodes = machine_test.Nodes(str(self.directory / 'nodes'))
        self.assertEqual(
            ['first', 'second', None],
            [
                nodes.node_for(f'm/{name}').fields.get('name')
                for name in ('a.json', 'b.yaml', 'c.json')
            ],
        )
        self.assertEqual((), nodes.node_for('b.json').ports)

    def test_a_file_has_the_node_of_all(self):
        nodes = machine_test.Nodes(self.write('a.yaml', 'name: all'))
        self.assertEqual('all', nodes.node_for('b.json').fields['name'])


class RunAllTestCase(MachinesTestCase):
    def run_all(self, *paths, nodes=None):
        count = []
        rows, texts = [
            list(
                machine_test.run_all(
                    self.rules(),
                    nodes or machine_test.Nodes(),
                    paths,
                    extract,
                    count.append,
                )
            )
            for extract in (
                trial_text.TableListing.extract,
                trial_text.as_json,
            )
        ]
        self.assertEqual(2 * len(paths), sum(count))
        return rows, list(map(json.loads, texts))

    def test_a_broken_file_is_an_error_of_its_own(self):
        paths = [
            self.write('m/a.json', files.INVENTORY),
            self.write('m/b.json', '{"inventory": '),
            str(self.directory / 'gone.json'),
            self.write('m/d.json', files.INVENTORY),
        ]
        rows, read = self.run_all(*paths)
        self.assertEqual(
            ['ok', 'error', 'error', 'ok'],
            [result for _path, result, *_others in rows],
        )
        self.assertEqual(paths, [each['inventory'] for each in read])
        self.assertIn('b.json', read[1]['error'])
        self.assertIn(os.strerror(errno.ENOENT), rows[2][5])

    def test_a_broken_node_is_an_error_of_its_own(self):
        path = self.write('m/a.json', files.INVENTORY)
        self.write('nodes/a.json', '[]')
        rows, _read = self.run_all(
            path, nodes=machine_test.Nodes(str(self.directory / 'nodes'))
        )
        self.assertEqual('error', rows[0][1])

    def test_machines_of_many_processes_come_in_order(self):
        paths = [
            self.write(f'm/{number:03}.json', files.INVENTORY)
            for number in range(60)
        ]
        rows, _read = self.run_all(*paths)
        self.assertEqual(paths, [path for path, *_others in rows])


class TrialTestCase(MachinesTestCase):
    def test_a_rule_that_is_off_does_not_run(self):
        [rule] = self.rules('{mode: off, actions: [{op: fail, args: [no]}]}')

        self.assertEqual('off', rule.mode)
        self.assertEqual(
            {'early': [], 'preprocess': [], 'main': []},
            machine_test.compile_rules([rule]),
        )

    def test_a_sensitive_rule_is_withheld(self):
        made = self.run_on(
            files.INVENTORY,
            rules="""
            - sensitive: true
              conditions: [{op: eq, args: ["{inventory.memory.physical_mb}",
                                           1]}]
              actions: [{op: set-attribute, args: [/extra/a, secret]}]
        """,
        )
        text = trial_text.DetailsListing.extract(made)[2]
        self.assertIn('withheld', text)
        self.assertNotIn('4096', text)

    def test_all_forms_of_inventories_are_read(self):
        for content in (
            files.INVENTORY,
            {'inventory': files.INVENTORY},
            {'inventory': files.INVENTORY, 'plugin_data': {'a': 1}},
            {'inventory': files.INVENTORY, 'boot_interface': 'x'},
        ):
            self.assertEqual(['Note the vendor'], self.run_on(content).matched)

    def test_old_and_new_rules_run_together(self):
        made = self.run_on(
            files.INVENTORY,
            rules="""
            - actions: [{op: set-attribute, args: [/extra/new, 1]}]
            - actions: [{action: set-attribute, path: extra/old, value: 1}]
        """,
        )
        self.assertEqual(
            ['/extra/new', '/extra/old'],
            [each.path for each in made.outcome.changes],
        )

    def test_a_new_node_has_what_every_node_has(self):
        made = self.run_on(
            files.INVENTORY,
            rules="""
            - conditions: [{op: eq, args: ["{node.extra}", {}]},
                           {op: eq, args: ["{ports[0].pxe_enabled}", true]}]
              description: hit
              actions: [{op: log, args: [x]}]
        """,
        )
        self.assertEqual(['hit'], made.matched)

    def test_a_node_file_may_have_ports_beside_the_node(self):
        rules = """
            - conditions: [{op: eq, args: ["{node.name}", n]}]
              actions: [{op: set-attribute,
                         args: [/extra/ports, "{ports}"]}]
        """
        for node, ports in (
            ('name: n', ['52:54:00:00:00:01']),
            ('{node: {name: n}, ports: []}', []),
            ('{node: {name: n}, ports: [{address: x}]}', ['x']),
        ):
            made = self.run_on(files.INVENTORY, node, rules)
            (change,) = made.outcome.changes
            self.assertEqual(ports, [port['address'] for port in change.value])

    def test_ports_that_are_no_list_are_named(self):
        path = self.write('node.json', '{"node": {}, "ports": {}}')

        error = self.assertRaises(
            exceptions.InvalidDocument, machine_test.load_node, path
        )

        self.assertIn('"ports" must be a list', str(error))

    def test_results_tell_errors_from_failures(self):
        self.assertEqual('ok', self.dell().result)
        small = {**files.INVENTORY, 'memory': {'physical_mb': 5}}
        self.assertEqual('failed', self.run_on(small).result)
        self.assertEqual(
            'error',
            self.run_on({**files.INVENTORY, 'system_vendor': {'x': 1}}).result,
        )

    def test_directories_are_searched(self):
        for name in ('m/b.yaml', 'm/a.json', 'm/readme.txt'):
            self.write(name, '{}')
        found = machine_test.find_inventories([str(self.directory)])
        self.assertEqual(
            ['a.json', 'b.yaml'], [path.rpartition('/')[2] for path in found]
        )
        (self.directory / 'empty').mkdir()
        self.assertRaises(
            exceptions.InvalidDocument,
            machine_test.find_inventories,
            [str(self.directory / 'empty')],
        )

    def test_a_bad_rule_is_told_with_its_place(self):
        self.assertRaisesRegex(
            exceptions.InvalidDocument,
            ':2:18: .*#1 .bad.: action 1, op: .*faill',
            self.rules,
            '- description: bad\n  actions: [{op: faill}]\n',
        )
        self.assertRaisesRegex(
            exceptions.InvalidDocument,
            'there twice',
            self.rules,
            '- actions: [{op: log, args: [x]}]\n' * 2,
        )

    def test_details_name_what_does_not_hold(self):
        text = '\n'.join(trial_text.DetailsListing.extract(self.dell()))
        self.assertIn('inspection would succeed', text)
        self.assertRegex(text, 'Refuse little memory .* no .*4096, 1024')

    def test_a_diff_has_old_and_new_values_without_secrets(self):
        made = self.dell(
            {
                'driver': 'ipmi',
                'traits': ['CUSTOM_OLD'],
                'driver_info': {'redfish_password': 'old'},
            }
        )
        self.assertEqual(
            [
                'node',
                '+ /extra/vendor: "Dell Inc."',
                '- /driver: "ipmi"',
                '+ /driver: "idrac"',
                '- /driver_info/redfish_password: "******"',
                '+ /driver_info/redfish_password: "******"',
                'traits',
                '+ CUSTOM_DELL',
                '- CUSTOM_OLD',
                'port 52:54:00:00:00:01',
                '+ /extra/a: 1',
            ],
            trial_text.diff_lines(made.outcome.changes),
        )


class ExpectationTestCase(MachinesTestCase):
    def setUp(self):
        super().setUp()
        self.path = str(self.directory / 'expected.yaml')

    def differences(self, text, *trials):
        self.write('expected.yaml', text)
        return [
            text
            for _name, text in expectation.compare(
                self.path,
                expectation.load(self.path),
                map(expectation.build_actual_outcome, trials),
            )
            if text
        ]

    def test_what_was_written_is_met(self):
        made = self.dell()
        expectation.dump(self.path, [expectation.build_actual_outcome(made)])
        self.assertEqual(
            [('m/a.json', '')],
            list(
                expectation.compare(
                    self.path,
                    expectation.load(self.path),
                    [expectation.build_actual_outcome(made)],
                )
            ),
        )

    def test_only_what_is_mentioned_is_compared(self):
        self.assertEqual(
            [], self.differences('m/a.json: {result: ok}', self.dell())
        )
        self.assertEqual([], self.differences('m/a.json: {}', self.dell()))

    def test_a_difference_is_a_diff(self):
        (text,) = self.differences(
            'm/a.json: {result: ok, matched: [Note the vendor]}', self.dell()
        )
        self.assertIn('--- m/a.json as expected', text)
        self.assertIn('\n - Note the vendor\n+- Set the driver', text)

    def test_values_of_changes_are_compared_by_type(self):
        made = self.run_on(
            files.INVENTORY,
            rules="""
            - actions: [{op: set-attribute, args: [/extra/a, 1]},
                        {op: del-attribute, args: [/extra/a]}]
        """,
        )
        changes = (
            'm/a.json: {changes: ['
            '{path: /extra/a, op: add, object: node, value: %s}, '
            '{path: /extra/a, op: remove, object: node}]}'
        )
        self.assertEqual([], self.differences(changes % '1', made))
        self.assertEqual(1, len(self.differences(changes % '"1"', made)))

    def test_both_sides_must_know_the_inventory(self):
        found = self.differences('m/b.json: {result: ok}', self.dell())
        self.assertEqual(2, len(found))
        self.assertIn('m/a.json', found[0])
        self.assertIn('m/b.json', found[1])

    def test_unknown_expectations_are_refused(self):
        for text in ('m/a.json: {resullt: ok}', 'm/a.json: ok', '[1]'):
            self.assertRaises(
                exceptions.InvalidDocument, self.differences, text
            )
