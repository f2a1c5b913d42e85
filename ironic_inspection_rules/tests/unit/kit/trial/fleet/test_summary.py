# SPDX-License-Identifier: Apache-2.0

import json

from ironic_inspection_rules.kit.trial.fleet import summary
from ironic_inspection_rules.tests.unit import base

RULES = [
    {
        'uuid': 'one',
        'description': 'Tag',
        'phase': 'main',
        'priority': 0,
        'mode': 'enforce',
    },
    {
        'uuid': 'two',
        'description': 'Refuse',
        'phase': 'main',
        'priority': 0,
        'mode': 'enforce',
    },
]
TAGGED = {
    'object': 'traits',
    'op': 'add',
    'path': '/CUSTOM_A',
    'value': 'CUSTOM_A',
}


def entry(number, **fields):
    return {
        'uuid': f'uuid-{number}',
        'name': f'name-{number}',
        'result': 'ok',
        'error': None,
        'matched': ['one'],
        'changes': [],
        **fields,
    }


class SummaryTestCase(base.TestCase):
    def sum_up(self, *entries, compared=False, node=None):
        made = summary.Summary(RULES, compared)
        for each in entries:
            made.add(each, node or {})
        self.made = made
        return json.loads(json.dumps(made.as_dict()))

    def rule(self, shown, uuid):
        return next(rule for rule in shown['rules'] if rule['uuid'] == uuid)

    def test_results_are_counted(self):
        shown = self.sum_up(
            entry(1),
            entry(2, result='failed', error='no'),
            entry(3, result='error', error='nothing is known', matched=[]),
        )
        self.assertEqual(
            (3, 2, 1, 1),
            tuple(
                shown[name] for name in ('machines', 'tried', 'ok', 'failed')
            ),
        )
        self.assertEqual(
            [
                {
                    'uuid': 'uuid-3',
                    'name': 'name-3',
                    'error': 'nothing is known',
                }
            ],
            shown['not_tried'],
        )
        self.assertEqual([], shown['unmatched'])

    def test_rules_are_counted(self):
        shown = self.sum_up(
            entry(
                1,
                matched=['one', 'two'],
                result='failed',
                error='no',
                failed_by={'rule': 'two', 'op': 'fail', 'kind': 'fail'},
            ),
            entry(
                2,
                result='failed',
                error='oh',
                failed_by={'rule': 'two', 'op': 'eq', 'kind': 'error'},
            ),
            entry(3, audit=[{'uuid': 'three'}]),
            # Its conditions had an error.
            entry(4, audit=[{'uuid': 'three', 'matched': False}]),
        )
        self.assertEqual(
            (4, 0, 0),
            tuple(
                self.rule(shown, 'one')[name]
                for name in ('matched', 'failed', 'errors')
            ),
        )
        self.assertEqual(
            ('Refuse', 1, 1, 1),
            tuple(
                self.rule(shown, 'two')[name]
                for name in ('description', 'matched', 'failed', 'errors')
            ),
        )
        self.assertEqual(1, self.rule(shown, 'three')['audited'])
        self.assertEqual(1, self.made.errors)

    def test_what_is_gained_and_lost_is_counted(self):
        shown = self.sum_up(
            entry(1, changes=[TAGGED]),
            entry(
                2,
                changes=[
                    TAGGED,
                    {
                        'object': 'node',
                        'op': 'replace',
                        'path': '/resource_class',
                        'value': 'gpu',
                    },
                ],
            ),
            node={'resource_class': 'baremetal'},
        )
        self.assertEqual(
            {'gained': {'CUSTOM_A': 2}, 'lost': {}}, shown['traits']
        )
        self.assertEqual(
            {'gained': {'gpu': 1}, 'lost': {'baremetal': 1}},
            shown['resource_classes'],
        )
        self.assertEqual({'gained': {}, 'lost': {}}, shown['capabilities'])

    def test_instances_that_were_invalid_before_are_not_at_risk(self):
        shown = self.sum_up(
            entry(1, validates=False, validates_before=True),
            entry(2, validates=False, validates_before=False),
            entry(3, validates=True, validates_before=True),
            entry(4),
        )
        self.assertEqual(
            [{'uuid': 'uuid-1', 'name': 'name-1'}], shown['invalid_instances']
        )

    def test_compared_an_instance_is_at_risk_by_the_difference(self):
        shown = self.sum_up(
            entry(1, validates=False, validates_before=True, differs=False),
            entry(
                2,
                validates=False,
                validates_before=True,
                differs=True,
                in_force={'validates': False},
            ),
            entry(
                3,
                validates=False,
                validates_before=True,
                differs=True,
                in_force={'validates': True},
            ),
            entry(4, validates=False, in_force={'validates': True}),
            compared=True,
        )
        self.assertEqual(
            ['uuid-3', 'uuid-4'],
            [node['uuid'] for node in shown['invalid_instances']],
        )

    def test_machines_that_no_rule_matched_are_named(self):
        shown = self.sum_up(entry(1), entry(2, matched=[]))
        self.assertEqual(
            [{'uuid': 'uuid-2', 'name': 'name-2'}], shown['unmatched']
        )

    def test_compared_only_machines_that_differ_are_grouped(self):
        shown = self.sum_up(
            entry(1, differs=False),
            entry(2, differs=True, changes=[TAGGED]),
            entry(3, differs=True, changes=[TAGGED]),
            compared=True,
        )
        self.assertEqual(2, shown['differ'])
        self.assertEqual(
            [['uuid-2', 'uuid-3']],
            [group['nodes'] for group in shown['groups']],
        )

    def test_machines_that_stay_as_they_are_are_no_group(self):
        self.assertEqual([], self.sum_up(entry(1))['groups'])
        self.assertEqual(
            [],
            self.sum_up(
                entry(1, changes=[TAGGED], differs=False),
                entry(
                    2,
                    result='failed',
                    error='no',
                    failed_by={'rule': 'two', 'op': 'fail', 'kind': 'fail'},
                ),
                compared=True,
            )['groups'],
        )

    def test_what_changes_or_fails_is_grouped(self):
        shown = self.sum_up(
            entry(1, changes=[TAGGED], differs=False),
            entry(2),
            entry(
                3,
                result='failed',
                error='no',
                failed_by={'rule': 'two', 'op': 'fail', 'kind': 'fail'},
            ),
        )
        self.assertEqual(
            [['uuid-1'], ['uuid-3']],
            [group['nodes'] for group in shown['groups']],
        )

    def test_what_most_machines_have_is_first_and_then_by_name(self):
        changes = [
            {**TAGGED, 'path': f'/{name}', 'value': name}
            for name in ('CUSTOM_C', 'CUSTOM_B', 'CUSTOM_D')
        ]
        shown = self.sum_up(
            entry(1, changes=changes), entry(2, changes=changes[2:])
        )
        self.assertEqual(
            ['CUSTOM_D', 'CUSTOM_B', 'CUSTOM_C'],
            list(shown['traits']['gained']),
        )


def changed(number, *changes, result='ok', error=None, failed_by=None):
    return {
        'uuid': f'node-{number}',
        'result': result,
        'error': error,
        'failed_by': failed_by,
        'changes': [
            {'object': target, 'op': 'add', 'path': path, 'value': value}
            for target, path, value in changes
        ],
    }


class GroupsTestCase(base.TestCase):
    def groups(self, *entries):
        groups = summary.FleetGroups()
        for each in entries:
            groups.add(each)
        return groups.as_list()

    def test_machines_that_change_alike_are_one_group(self):
        trait = ('traits', '/A', 'A')
        found = self.groups(
            changed(1, ('node', '/extra/a', 1)),
            changed(2, trait),
            changed(3, trait),
        )
        self.assertEqual(
            [['node-2', 'node-3'], ['node-1']],
            [group['nodes'] for group in found],
        )
        self.assertEqual([2, 1], [group['count'] for group in found])
        self.assertEqual(
            [{'object': 'traits', 'op': 'add', 'path': '/A', 'value': 'A'}],
            found[0]['changes'],
        )

    def test_the_order_of_changes_does_not_matter(self):
        one, two = ('traits', '/A', 'A'), ('traits', '/B', 'B')
        self.assertEqual(
            1, len(self.groups(changed(1, one, two), changed(2, two, one)))
        )

    def test_ports_are_alike_whatever_their_address(self):
        found = self.groups(
            *(
                changed(
                    number, (f'port 52:54:00:00:00:0{number}', '/extra/a', 'b')
                )
                for number in range(3)
            )
        )
        self.assertEqual(
            ['port'],
            [
                change['object']
                for group in found
                for change in group['changes']
            ],
        )

    def test_what_each_machine_has_of_its_own_makes_no_groups(self):
        found = self.groups(
            *(
                changed(
                    number,
                    ('node', '/extra/serial', f'S{number}'),
                    ('node', '/resource_class', 'big'),
                )
                for number in range(30)
            )
        )
        self.assertEqual([30], [group['count'] for group in found])
        self.assertEqual(
            [
                {
                    'object': 'node',
                    'op': 'add',
                    'path': '/extra/serial',
                    'varies': True,
                },
                {
                    'object': 'node',
                    'op': 'add',
                    'path': '/resource_class',
                    'value': 'big',
                },
            ],
            found[0]['changes'],
        )

    def test_many_values_that_machines_share_do(self):
        found = self.groups(
            *(
                changed(number, ('node', '/extra/rack', number // 3))
                for number in range(60)
            )
        )
        self.assertEqual([3] * 20, [group['count'] for group in found])

    def test_who_fails_is_not_with_who_passes(self):
        rule = {'rule': 'a-rule', 'op': 'fail', 'kind': 'fail'}
        found = self.groups(
            changed(1),
            changed(2, result='failed', error='4 CPUs', failed_by=rule),
            changed(3, result='failed', error='5 CPUs', failed_by=rule),
        )
        self.assertEqual(
            [(2, 'failed', '4 CPUs'), (1, 'ok', None)],
            [
                (group['count'], group['result'], group['error'])
                for group in found
            ],
        )


def change(target, op, path, value=None, before=None):
    return {
        'object': target,
        'op': op,
        'path': path,
        'value': value,
        'before': before,
    }


class DifferencesTestCase(base.TestCase):
    def check(self, kind, gained, lost, *changes, compared=False, **node):
        found = summary.differences(changes, node, compared)
        self.assertEqual(
            (set(gained), set(lost)), (found[kind].gained, found[kind].lost)
        )
        for other in summary.KINDS:
            if other != kind:
                nothing = summary.NameDifference(frozenset(), frozenset())
                self.assertEqual(
                    nothing, summary.differences(changes, {}, compared)[other]
                )

    def test_a_trait_that_is_there_is_not_gained(self):
        self.check(
            'traits',
            ['B'],
            ['C'],
            change('traits', 'add', '/A', 'A'),
            change('traits', 'add', '/B', 'B'),
            change('traits', 'remove', '/C'),
            change('traits', 'remove', '/D'),
            traits=['A', 'C'],
        )

    def test_a_trait_that_goes_and_comes_back_stays(self):
        self.check(
            'traits',
            [],
            [],
            change('traits', 'remove', '/A'),
            change('traits', 'add', '/A', 'A'),
            traits=['A'],
        )

    def test_compared_the_traits_of_the_node_do_not_matter(self):
        self.check(
            'traits',
            ['A'],
            ['B'],
            change('traits', 'add', '/A', 'A'),
            change('traits', 'remove', '/B', before='B'),
            compared=True,
            traits=['A'],
        )

    def test_a_resource_class_replaces_another(self):
        self.check(
            'resource_classes',
            ['gpu'],
            ['baremetal'],
            change('node', 'replace', '/resource_class', 'big'),
            change('node', 'replace', '/resource_class', 'gpu'),
            resource_class='baremetal',
        )
        self.check(
            'resource_classes',
            ['gpu'],
            [],
            change('node', 'add', '/resource_class', 'gpu'),
            resource_class=None,
        )
        self.check(
            'resource_classes',
            [],
            [],
            change('node', 'replace', '/resource_class', 'gpu'),
            resource_class='gpu',
        )

    def test_compared_a_change_says_what_was_there(self):
        self.check(
            'resource_classes',
            ['gpu'],
            ['big'],
            change('node', 'replace', '/resource_class', 'gpu', 'big'),
            compared=True,
            resource_class='baremetal',
        )

    def test_capabilities_are_told_one_by_one(self):
        self.check(
            'capabilities',
            ['raid:1'],
            ['boot_mode:bios'],
            change(
                'node',
                'replace',
                '/properties/capabilities',
                'raid:1,cpu_vt:true',
            ),
            properties={'capabilities': 'boot_mode:bios,cpu_vt:true'},
        )
        self.check(
            'capabilities',
            [],
            ['boot_mode:bios'],
            change('node', 'remove', '/properties/capabilities'),
            properties={'capabilities': 'boot_mode:bios'},
        )

    def test_capabilities_come_with_properties_too(self):
        self.check(
            'capabilities',
            ['raid:1'],
            [],
            change(
                'node', 'replace', '/properties', {'capabilities': 'raid:1'}
            ),
        )

    def test_other_places_do_not_count(self):
        self.check(
            'capabilities',
            [],
            [],
            change('port 52:54:00:00:00:01', 'add', '/extra/a', 'b'),
            change('plugin_data', 'add', '/resource_class', 'x'),
            change('node', 'add', '/properties/cpus', 4),
        )
