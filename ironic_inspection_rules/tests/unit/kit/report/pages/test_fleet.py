# SPDX-License-Identifier: Apache-2.0

"""The data of the report of a fleet."""

from ironic_inspection_rules.kit.report.pages import fleet
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data

RULE = {
    'uuid': 'r1',
    'description': 'Set the class',
    'phase': 'main',
    'priority': 5,
    'mode': 'enforce',
}
CHANGES = [
    {
        'object': 'node',
        'op': 'replace',
        'path': '/resource_class',
        'value': 'large',
    },
    {'object': 'traits', 'op': 'remove', 'path': '/CUSTOM_A', 'value': None},
]


def node(uuid: str, **fields: object) -> dict[str, object]:
    return {
        'uuid': uuid,
        'name': None,
        'result': 'ok',
        'error': None,
        'matched': ['r1'],
        'changes': CHANGES,
        'traits': ['CUSTOM_A'],
        'resource_class': 'small',
        **fields,
    }


def packed(
    *nodes: dict[str, object], compared: bool = False
) -> dict[str, object]:
    return page_data.read(
        fleet.render(
            {
                'made': '2026-11-22T04:00:00+00:00',
                'title': 'Classes',
                'compared': compared,
                'filters': {'owner': 'lab'},
                'rules': [RULE],
                'nodes': nodes,
                'summary': {},
            }
        )
    )


def at_risk(node: dict[str, object], compared: bool) -> bool:
    [found] = packed(node, compared=compared)['nodes']
    return bool(found[8])


class FleetTestCase(base.TestCase):
    def test_what_is_equal_is_there_once(self):
        data = packed(node('n1'), node('n2'))
        self.assertEqual(1, len(data['outcomes']))
        self.assertEqual(1, len(data['traits']))
        self.assertEqual(['n1', 'n2'], [each[0] for each in data['nodes']])

    def test_changes_keep_their_parts(self):
        data = packed(
            node('n1', changes=[*CHANGES, {**CHANGES[0], 'before': None}])
        )
        self.assertEqual(
            [
                ('node', 'replace', '/resource_class', '"large"', None),
                ('traits', 'remove', '/CUSTOM_A', None, None),
                ('node', 'replace', '/resource_class', '"large"', 'null'),
            ],
            [
                tuple(
                    None if part < 0 else data['texts'][part]
                    for part in data['changes'][at]
                )
                for at in data['outcomes'][0]
            ],
        )

    def test_values_that_differ_only_in_type_are_two(self):
        change = CHANGES[0]
        data = packed(
            node('n1', changes=[{**change, 'value': 1}]),
            node('n2', changes=[{**change, 'value': True}]),
            node('n3', changes=[{**change, 'value': '1'}]),
        )
        self.assertEqual(3, len(data['changes']))

    def test_an_instance_is_at_risk_that_validates_now(self):
        for validates, before, expected in (
            (False, True, True),
            (False, None, True),
            (False, False, False),
            (True, True, False),
            (None, None, False),
        ):
            self.assertEqual(
                expected,
                at_risk(
                    node('n1', validates=validates, validates_before=before),
                    False,
                ),
            )

    def test_an_instance_is_at_risk_that_rules_in_force_do_no_harm(self):
        invalid = node('n1', validates=False)
        self.assertTrue(at_risk(invalid, True))
        self.assertFalse(at_risk({**invalid, 'differs': False}, True))
        for validates in (True, False):
            self.assertEqual(
                validates,
                at_risk(
                    {
                        **invalid,
                        'differs': True,
                        'in_force': {'result': 'ok', 'validates': validates},
                    },
                    True,
                ),
            )

    def test_what_a_rule_says_is_no_error_of_it(self):
        data = packed(
            *(
                node(str(number), result=result, failed_by=by)
                for number, (result, by) in enumerate(
                    (
                        ('ok', None),
                        ('failed', None),
                        ('failed', {'rule': 'r1', 'kind': 'fail'}),
                        ('failed', {'rule': 'r1', 'kind': 'error'}),
                        ('error', None),
                    )
                )
            )
        )
        self.assertEqual(
            ['ok', 'failed', 'failed', 'error', 'untried'],
            [each[2] for each in data['nodes']],
        )

    def test_rules_in_audit_are_kept_apart(self):
        data = packed(
            node(
                'n1',
                audit=[
                    {'uuid': 'r2', 'matched': True},
                    {'uuid': 'r3', 'matched': False},
                ],
            )
        )
        [found] = data['nodes']
        self.assertEqual(
            [[0], [1]], [data['matches'][at] for at in found[4:6]]
        )
        self.assertEqual([RULE, {'uuid': 'r2'}], data['rules'])

    def test_a_rule_that_is_not_listed_is_shown_by_its_uuid(self):
        data = packed(node('n1', matched=['r2', 'r1']))
        self.assertEqual([RULE, {'uuid': 'r2'}], data['rules'])
        self.assertEqual([0, 1], data['matches'][0])

    def test_lost_machines_of_a_flavor_are_there_by_their_places(self):
        data = page_data.read(
            fleet.render(
                {
                    'title': 'x',
                    'rules': [RULE],
                    'nodes': [node('n1'), node('n2')],
                    'capacity': [
                        {
                            'name': 'bm',
                            'problem': None,
                            'ignored': [],
                            'loss': 50.0,
                            'before': {'free': 2, 'in_use': 0},
                            'after': {'free': 1, 'in_use': 0},
                            'gained': [],
                            'lost': [
                                {
                                    'uuid': 'n2',
                                    'name': None,
                                    'use': 'free',
                                    'rules': ['r2', 'r1'],
                                }
                            ],
                        }
                    ],
                }
            )
        )
        [flavor] = data['capacity']
        self.assertEqual([[1, [1, 0]]], flavor['lost'])
        self.assertEqual(0, flavor['gained'])
        self.assertEqual([RULE, {'uuid': 'r2'}], data['rules'])

    def test_what_is_missing_of_a_node_is_none(self):
        data = packed(
            {'uuid': None, 'name': 'n', 'result': 'error', 'error': 'no'}
        )
        self.assertEqual(
            [
                [
                    '',
                    'n',
                    'untried',
                    data['texts'].index('no'),
                    0,
                    0,
                    0,
                    0,
                    0,
                    None,
                    -1,
                    0,
                    -1,
                ]
            ],
            data['nodes'],
        )
