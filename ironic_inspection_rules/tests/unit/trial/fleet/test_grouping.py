# SPDX-License-Identifier: Apache-2.0

from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.trial.fleet import grouping


def entry(number, *changes, result='ok', error=None, failed_by=None):
    return {'uuid': f'node-{number}', 'result': result, 'error': error,
            'failed_by': failed_by, 'changes': [
                {'object': target, 'op': 'add', 'path': path, 'value': value}
                for target, path, value in changes]}


class GroupsTestCase(base.TestCase):

    def groups(self, *entries):
        groups = grouping.Groups()
        for each in entries:
            groups.add(each)
        return groups.as_list()

    def test_machines_that_change_alike_are_one_group(self):
        trait = ('traits', '/A', 'A')
        found = self.groups(
            entry(1, ('node', '/extra/a', 1)), entry(2, trait),
            entry(3, trait))
        self.assertEqual([['node-2', 'node-3'], ['node-1']],
                         [group['nodes'] for group in found])
        self.assertEqual([2, 1], [group['count'] for group in found])
        self.assertEqual([{'object': 'traits', 'op': 'add', 'path': '/A',
                           'value': 'A'}], found[0]['changes'])

    def test_the_order_of_changes_does_not_matter(self):
        one, two = ('traits', '/A', 'A'), ('traits', '/B', 'B')
        self.assertEqual(1, len(self.groups(entry(1, one, two),
                                            entry(2, two, one))))

    def test_ports_are_alike_whatever_their_address(self):
        found = self.groups(*(entry(
            number, (f'port 52:54:00:00:00:0{number}', '/extra/a', 'b'))
            for number in range(3)))
        self.assertEqual(['port'], [
            change['object'] for group in found
            for change in group['changes']])

    def test_what_each_machine_has_of_its_own_makes_no_groups(self):
        found = self.groups(*(entry(
            number, ('node', '/extra/serial', f'S{number}'),
            ('node', '/resource_class', 'big')) for number in range(30)))
        self.assertEqual([30], [group['count'] for group in found])
        self.assertEqual([
            {'object': 'node', 'op': 'add', 'path': '/extra/serial',
             'varies': True},
            {'object': 'node', 'op': 'add', 'path': '/resource_class',
             'value': 'big'}], found[0]['changes'])

    def test_many_values_that_machines_share_do(self):
        found = self.groups(*(entry(
            number, ('node', '/extra/rack', number // 3))
            for number in range(60)))
        self.assertEqual([3] * 20, [group['count'] for group in found])

    def test_who_fails_is_not_with_who_passes(self):
        rule = {'rule': 'a-rule', 'op': 'fail', 'kind': 'fail'}
        found = self.groups(
            entry(1), entry(2, result='failed', error='4 CPUs',
                            failed_by=rule),
            entry(3, result='failed', error='5 CPUs', failed_by=rule))
        self.assertEqual([(2, 'failed', '4 CPUs'), (1, 'ok', None)], [
            (group['count'], group['result'], group['error'])
            for group in found])
