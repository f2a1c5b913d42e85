# SPDX-License-Identifier: Apache-2.0

"""Old rules do what ironic-inspector 12.5.0 did with them."""

import ast

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.plugins.legacy import inspection

INVENTORIES = {
    'inspector-functional': 'variant-inspector-functional',
}


HOOK_DATA = (
    'all_interfaces',
    'cpu_arch',
    'cpus',
    'interfaces',
    'ipmi_address',
    'ipmi_v6address',
    'local_gb',
    'memory_mb',
)
"""What hooks of ironic-inspector added to what the ramdisk sent."""

WHOLE = 'introspection_data'
"""Where the rules of kayobe store the text of all data."""


def run(entries: list, data: dict, node: dict) -> dict:
    """Apply old rules to a machine.

    :returns: what is compared, under the names of a recorded result.
    """
    rules, invalid = [], []
    for index, entry in enumerate(entries):
        try:
            rules.append(inspection.parse(entry, index))
        except exceptions.InvalidRule:
            invalid.append(index)
    result = inspection.run(rules, data, {**node, 'traits': []})
    changed = {
        name: readable(value)
        for name, value in result.node.items()
        if name not in node or value != node[name]
    }
    return {
        'invalid': invalid,
        'matched': result.matched,
        'error': result.error is not None,
        'traits': changed.pop('traits'),
        'node': changed,
    }


def recorded(result: dict) -> dict:
    """Return what is compared of a recorded result."""
    return {
        'invalid': [each['rule'] for each in result['invalid']],
        'matched': result['matched'],
        'error': result['error'] is not None,
        'traits': result['traits'],
        'node': {
            name: readable(value) for name, value in result['node'].items()
        },
    }


def readable(value):
    """Read the text that ``{data}`` makes of a document back into one.

    The order of its keys is not kept: here ``inventory`` comes first.
    """
    if isinstance(value, dict):
        return {key: readable(item) for key, item in value.items()}
    if isinstance(value, str) and value.startswith("{'"):
        return ast.literal_eval(value)
    return value


class GoldenTestCase(base.TestCase):
    def test_edge_cases_end_alike(self):
        golden = shared_data.read('golden-inspector-micro.json')
        differences = {}
        for name, case in golden['cases'].items():
            result = run(
                case['rules'], golden['data'], golden['nodes'][case['node']]
            )
            if result != recorded(case['expect']):
                differences[name] = result
        self.assertEqual({}, differences)

    def test_rule_sets_end_alike(self):
        golden = shared_data.read('golden-inspector.json')
        differences = {}
        for rule_set, inventories in golden['results'].items():
            rules = shared_data.read(f'rules-inspector/{rule_set}.json')
            for name, nodes in inventories.items():
                data = shared_data.read(
                    f'inventories/{INVENTORIES.get(name, name)}.json'
                )
                for node, expected in nodes.items():
                    result = run(rules, data, golden['nodes'][node])
                    if result != recorded(expected):
                        differences[rule_set, name, node] = result
        self.assertEqual({}, differences)

    def test_rule_sets_end_alike_on_what_the_ramdisk_sends(self):
        golden = shared_data.read('golden-inspector.json')
        differences = {}
        for rule_set, inventories in golden['results'].items():
            rules = shared_data.read(f'rules-inspector/{rule_set}.json')
            for name, nodes in inventories.items():
                data = shared_data.read(
                    f'inventories/{INVENTORIES.get(name, name)}.json'
                )
                sent = {
                    key: value
                    for key, value in data.items()
                    if key not in HOOK_DATA
                }
                # The other node has hints that no disk there meets, at which
                # ironic-inspector failed before it ran rules.
                for node in nodes if name != 'metal3-kvm-vm' else ['fresh']:
                    result = run(rules, sent, golden['nodes'][node])
                    expected = recorded(nodes[node])
                    for each in (result, expected):
                        each['node'].get('extra', {}).pop(WHOLE, None)
                    if result != expected:
                        differences[rule_set, name, node] = result
        self.assertEqual({}, differences)
