# SPDX-License-Identifier: Apache-2.0

"""How many nodes can take a flavor, before and after."""

from ironic_inspection_rules.kit.trial.fleet import capacity
from ironic_inspection_rules.kit.trial.fleet import flavor
from ironic_inspection_rules.tests.unit import base

GOLD = flavor.parse(
    'gold',
    {
        'resources:CUSTOM_GOLD': '1',
        'trait:CUSTOM_A': 'required',
        'trait:CUSTOM_B': 'forbidden',
    },
)


def node(**fields):
    return {
        'uuid': 'u',
        'name': 'n',
        'resource_class': 'gold',
        'traits': ['CUSTOM_A'],
        'provision_state': 'available',
        'instance_uuid': None,
        'maintenance': False,
        'retired': False,
        'power_state': 'power off',
        **fields,
    }


def change(path, value=None, of='node', op='replace'):
    return {'object': of, 'op': op, 'path': path, 'value': value}


class CapacityTestCase(base.TestCase):
    def count(self, *pairs):
        """Return what is counted of nodes, each with what is changed."""
        counted = capacity.Capacity([GOLD])
        for fields, changes, entry in pairs:
            counted.add(
                {
                    'result': 'ok',
                    'changes': changes,
                    'changed_by': [
                        f'rule {number}' for number in range(len(changes))
                    ],
                    **entry,
                },
                node(**fields),
            )
        [found] = counted.as_list()
        return found

    def used(self, **fields):
        found = self.count((fields, [], {}))
        self.assertEqual(found['before'], found['after'])
        return [use for use, number in found['before'].items() if number]

    def reasons(self, *changes, **entry):
        found = self.count(({}, changes, entry))
        self.assertEqual({'free': 0, 'in_use': 0}, found['after'])
        [lost] = found['lost']
        self.assertEqual(
            ('u', 'n', 'free'), (lost['uuid'], lost['name'], lost['use'])
        )
        return lost['rules']

    def test_a_node_is_free_in_use_or_neither(self):
        self.assertEqual(['free'], self.used())
        self.assertEqual(['in_use'], self.used(instance_uuid='i'))
        self.assertEqual(
            ['in_use'],
            self.used(
                instance_uuid='i', provision_state='active', maintenance=True
            ),
        )
        for fields in (
            {'provision_state': 'manageable'},
            {'maintenance': True},
            {'retired': True},
            {'power_state': 'error'},
            {'resource_class': None},
            {'resource_class': 'silver'},
            {'traits': []},
            {'traits': ['CUSTOM_A', 'CUSTOM_B']},
        ):
            self.assertEqual([], self.used(**fields), fields)

    def test_a_lost_node_has_the_rules_that_lost_it(self):
        other = change('/extra/x', 1)
        for changes in (
            [other, change('/resource_class', 'silver')],
            [other, change('/resource_class', op='remove')],
            [other, change('/maintenance', True)],
            [other, change('/CUSTOM_A', of='traits', op='remove')],
            [other, change('/CUSTOM_B', of='traits', op='add')],
        ):
            self.assertEqual(['rule 1'], self.reasons(*changes))
        self.assertEqual(
            ['rule 1', 'rule 2'],
            self.reasons(
                change('/CUSTOM_C', of='traits', op='add'),
                change('/resource_class', 'silver'),
                change('/CUSTOM_A', of='traits', op='remove'),
            ),
        )

    def test_the_last_rule_counts(self):
        self.assertEqual(
            ['rule 2'],
            self.reasons(
                change('/resource_class', 'silver'),
                change('/resource_class', 'gold'),
                change('/resource_class', 'bronze'),
            ),
        )
        found = self.count(
            (
                {},
                [
                    change('/CUSTOM_A', of='traits', op='remove'),
                    change('/CUSTOM_A', of='traits', op='add'),
                ],
                {},
            )
        )
        self.assertEqual([], found['lost'])

    def test_a_failed_inspection_loses_a_node(self):
        self.assertEqual(
            ['strict'],
            self.reasons(
                result='failed', failed_by={'rule': 'strict', 'op': 'fail'}
            ),
        )

    def test_a_node_that_was_not_tried_stays(self):
        found = self.count(({}, [], {'result': 'error'}))
        self.assertEqual([], found['lost'])

    def test_the_loss_is_of_all_nodes_free_and_in_use(self):
        silver = [change('/resource_class', 'silver')]
        gold = [change('/resource_class', 'gold')]
        found = self.count(
            ({}, silver, {}),
            ({'instance_uuid': 'i'}, silver, {}),
            ({}, [], {}),
            ({'instance_uuid': 'i'}, [], {}),
            ({'resource_class': 'silver'}, gold, {}),
        )
        self.assertEqual(
            ({'free': 2, 'in_use': 2}, {'free': 2, 'in_use': 1}),
            (found['before'], found['after']),
        )
        self.assertEqual(25, found['loss'])
        self.assertEqual(
            ['free', 'in_use'], [each['use'] for each in found['lost']]
        )
        self.assertEqual(
            [['rule 0']], [each['rules'] for each in found['gained']]
        )
        self.assertEqual(0, self.count()['loss'])
