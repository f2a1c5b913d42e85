# SPDX-License-Identifier: Apache-2.0

"""The data of the page of machines unlike their peers."""

from ironic_inspection_rules.kit.report.pages import outliers
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.tests import odd_fleet_trial
from ironic_inspection_rules.tests import page_samples
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.machine.outliers import test_peers
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data


class OutliersTestCase(base.TestCase):

    def page(self, found):
        self.patch(shell, 'now', lambda: '2026-11-22 04:00')
        return outliers.render(found)

    def test_groups_have_their_findings_the_most_first(self):
        data = page_data.read(self.page(page_samples.odd_machines()))
        counts = [len(group['findings']) for group in data['groups']]
        self.assertEqual(sorted(counts, reverse=True), counts)
        self.assertEqual([*range(len(data['findings']))], sorted(
            number for group in data['groups']
            for number in group['findings']))
        for group in data['groups']:
            for number in group['findings']:
                self.assertEqual(group['label'],
                                 data['findings'][number]['group'])

    def test_kinds_have_what_they_differ_in(self):
        data = page_data.read(self.page(page_samples.odd_machines()))
        [kinds] = [group['kinds'] for group in data['groups']
                   if len(group['kinds']) > 1]
        self.assertEqual([25, 15], [kind['machines'] for kind in kinds])
        self.assertEqual('Later ', dict(kinds[1]['differs'])[
            'inventory.cpu.model_name'])

    def test_a_machine_is_called_as_its_file(self):
        machines = {f'/tmp/fleet/{name}.json': machine
                    for name, machine in test_peers.fleet(6).items()}
        machines['/tmp/fleet/m02.json']['inventory']['cpu']['count'] = 4
        data = page_data.read(self.page(odd_fleet_trial.compare(machines)))
        self.assertEqual([('m02', '/tmp/fleet/m02.json')], [
            (each['name'], each['machine']) for each in data['findings']])

    def test_what_was_not_compared_is_listed(self):
        data = page_data.read(self.page(
            odd_fleet_trial.compare(test_peers.fleet(2))))
        self.assertEqual([{'label': 'Acme One', 'machines': ['m00', 'm01']}],
                         data['skipped'])

    def test_nothing_a_machine_sends_ends_the_script(self):
        page = self.page(page_samples.odd_machines('</script><b>'))
        self.assertNotIn('</script><b>', page)
        self.assertIn('\\u003c/script>\\u003cb>', page)
