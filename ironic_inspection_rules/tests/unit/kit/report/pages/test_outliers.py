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
        self.patch(shell, 'format_now', lambda: '2026-11-22 04:00')
        return outliers.render(found)

    def test_groups_have_their_findings_the_most_first(self):
        found = page_samples.odd_machines()
        data = page_data.read(self.page(found))
        items = list(page_data.parts(data, 'item'))
        counts = []
        for item in items:
            label = item['heading'][0]['text']
            grid = next(page_data.parts(item, 'grid'))
            counts.append(len(grid['rows']))
            self.assertEqual(
                counts[-1], sum(odd.group == label for odd in found.findings)
            )
        self.assertEqual(sorted(counts, reverse=True), counts)
        self.assertEqual(len(found.findings), sum(counts))

    def test_a_picture_has_a_square_for_each_machine(self):
        found = page_samples.odd_machines()
        crowds = list(
            page_data.parts(page_data.read(self.page(found)), 'crowd')
        )
        self.assertEqual([59, 40], [crowd['machines'] for crowd in crowds])
        self.assertEqual(
            {odd.machine for odd in found.findings},
            {
                machine
                for crowd in crowds
                for _name, machine, _words in crowd['odd']
            },
        )

    def test_kinds_have_what_they_differ_in(self):
        data = page_data.read(self.page(page_samples.odd_machines()))
        [kinds] = [
            grid
            for grid in page_data.parts(data, 'grid')
            if grid['label'] == 'Kinds'
        ]
        self.assertEqual(
            ['Kinds differ in', '25 machines', '15 machines'], kinds['heads']
        )
        self.assertIn(
            ['inventory.cpu.model_name', 'Later'],
            [[row[0], row[2]] for row in kinds['rows']],
        )

    def test_a_machine_is_called_as_its_file(self):
        machines = {
            f'/tmp/fleet/{name}.json': machine
            for name, machine in test_peers.fleet(6).items()
        }
        machines['/tmp/fleet/m02.json']['inventory']['cpu']['count'] = 4
        data = page_data.read(self.page(odd_fleet_trial.compare(machines)))
        [row] = page_data.rows(data)
        self.assertEqual('m02', row['cells'][0])
        self.assertIn('machine=/tmp/fleet/m02.json', row['marks'])
        self.assertIn(
            ['File', ['/tmp/fleet/m02.json']], page_data.words(row['opened'])
        )

    def test_the_name_of_a_node_stays_whole(self):
        for name in ('r1.example.com', 'r1.5', '.json', 'node', 'a.json.old'):
            self.assertEqual(name, outliers._short_name(name))
        for path in ('r1.json', 'data/r1.yaml', '/data.d/r1.YML'):
            self.assertEqual('r1', outliers._short_name(path))
        self.assertEqual('r1.dump', outliers._short_name('data/r1.dump'))

    def test_what_was_not_compared_is_listed(self):
        data = page_data.read(
            self.page(odd_fleet_trial.compare(test_peers.fleet(2)))
        )
        [card] = page_data.parts(data, 'card')
        self.assertEqual(
            [['Acme One: ', 'm00, m01']], page_data.words(card['parts'])
        )

    def test_nothing_a_machine_sends_ends_the_script(self):
        page = self.page(page_samples.odd_machines('</script><b>'))
        self.assertNotIn('</script><b>', page)
        self.assertIn('\\u003c/script>\\u003cb>', page)
