# SPDX-License-Identifier: Apache-2.0

"""The pages in a real browser."""

from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.machine.profile import component
from ironic_inspection_rules.kit.machine.profile import rules as profile_rules
from ironic_inspection_rules.kit.report.pages import coverage
from ironic_inspection_rules.kit.report.pages import diff
from ironic_inspection_rules.kit.report.pages import fleet
from ironic_inspection_rules.kit.report.pages import outliers
from ironic_inspection_rules.kit.report.pages import replay
from ironic_inspection_rules.kit.report.pages import test
from ironic_inspection_rules.kit.trial import coverage as coverage_
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests import browser
from ironic_inspection_rules.tests import page_example
from ironic_inspection_rules.tests import page_samples
from ironic_inspection_rules.tests.unit.rule_file import files

HOSTILE = page_samples.HOSTILE
RULES = [
    {
        'description': 'Much memory',
        'priority': 5,
        'vars': {'limit': 4096, 'password': 'geheim'},
        'conditions': [
            {'op': 'ge', 'args': ['{inventory.memory.physical_mb}', 4096]}
        ],
        'actions': [{'op': 'set-attribute', 'args': ['/extra/a', HOSTILE]}],
    },
    {
        'description': HOSTILE,
        'conditions': [{'op': 'is-none', 'args': ['{inventory.memory}']}],
        'actions': [{'op': 'fail', 'args': [HOSTILE]}],
    },
]
MACHINES = 10000
VIEWS = ((browser.DESKTOP, False), (browser.PHONE, True))
ROWS = '#machines tbody tr[data-at]'
COUNT = '#machines .count'


class PagesTestCase(files.FilesTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if browser.missing():
            raise cls.skipException(browser.missing())
        cls.browser = browser.start()
        cls.addClassCleanup(cls.browser.close)

    def page(self, text, **how):
        path = self.write('page.html', '')
        (self.directory / 'page.html').write_text(text)
        self.browser.open(path, **how)

    def profile(self):
        """Return the page of a test of a profile; one machine differs."""
        good = working_copy.Facts(files.INVENTORY, {})
        rules = machine_test.load_rules(
            [
                self.write(
                    'profile.json',
                    profile_rules.write(
                        [good],
                        'good',
                        profile_rules.AUDIT,
                        component.Tolerance(),
                    ),
                )
            ]
        )
        plans = machine_test.compile_rules(rules)
        matrix = test.Matrix(rules, [HOSTILE])
        for name, changes in (
            ('good', {}),
            ('bad', {'memory': {'physical_mb': 5}}),
        ):
            path = self.write(f'{name}.json', {**files.INVENTORY, **changes})
            matrix.add(
                matrix.extract(
                    machine_test.try_machine(path, plans, machine_test.Nodes())
                )
            )
        return matrix.render()

    def pages(self):
        rules = machine_test.load_rules([self.write('rules.json', RULES)])
        nodes = machine_test.Nodes()
        paths = [
            self.write(
                f'machine{number}.json',
                {**files.INVENTORY, 'memory': {'physical_mb': 2048 * number}},
            )
            for number in (1, 2, 3)
        ]
        plans = machine_test.compile_rules(rules)
        matrix = test.Matrix(rules, [HOSTILE])
        for path in paths:
            matrix.add(
                matrix.extract(machine_test.try_machine(path, plans, nodes))
            )
        return {
            'test': matrix.render(),
            'profile': self.profile(),
            'coverage': coverage.render(
                coverage_.measure(rules, nodes, paths, lambda count: None),
                len(paths),
                [HOSTILE],
            ),
            'diff': diff.render(page_samples.difference(30, HOSTILE)),
            'replay': replay.render(
                HOSTILE, page_samples.replay(30, HOSTILE), {'a': HOSTILE}
            ),
            'outliers': outliers.render(page_samples.odd_machines(HOSTILE)),
            'table': page_samples.expected_machines(30, HOSTILE),
            'fleet': fleet.render(page_samples.fleet(300, hostile=HOSTILE)),
        }

    def test_pages_open_on_desktop_and_phone(self):
        for name, page in self.pages().items():
            for size, dark in VIEWS:
                with self.subTest(name, size=size):
                    self.page(page, size=size, dark=dark)
                    self.assertEqual([], self.browser.complaints())
                    self.assertEqual(
                        size[0],
                        self.browser.run(
                            'return document.documentElement.scrollWidth'
                        ),
                    )
                    self.assertEqual(
                        'dark' if dark else 'light',
                        self.browser.run(
                            'return document.documentElement.dataset.theme'
                        ),
                    )

    def test_a_page_without_a_script_of_its_own(self):
        self.page(page_example.sample())
        self.assertEqual(
            ['5 machines are not as ordered.'], self.browser.texts('h1')
        )
        self.browser.click('a[href="#show=wrong"]')
        [chosen] = self.browser.texts('#machines .chip')
        self.assertIn('that are not as ordered', chosen)
        self.assertEqual(['5 machines'], self.browser.texts(COUNT))
        self.browser.click('#racks a')
        self.assertEqual(['10 machines'], self.browser.texts(COUNT))
        self.browser.click(f'{ROWS} .opener')
        [detail] = self.browser.texts('#machines tr.detail')
        self.assertIn('- 512 GiB', detail)
        self.assertEqual([], self.browser.complaints())

    def test_tables_say_what_is_not_in_the_page(self):
        self.page(page_example.sample(400))
        self.browser.go_to('machines')
        [table, rows] = self.browser.run("""
            const table = document.querySelector('#machines table');
            const rows = [...table.querySelectorAll('tr[data-at]')];
            return [table.getAttribute('aria-rowcount'), rows.map(
              (row) => row.getAttribute('aria-rowindex'))]""")
        self.assertEqual('401', table)
        self.assertEqual('2', rows[0])
        self.assertLess(len(rows), 80)
        self.browser.search('r3-u03')
        self.assertEqual(['1 machine'], self.browser.texts('[role=status]'))

    def test_cells_have_the_name_of_their_row(self):
        self.page(page_example.sample())
        self.browser.go_to('machines')
        self.assertEqual(
            'r0-u00', self.browser.texts(f'{ROWS} th[scope=row]')[0]
        )

    def test_openers_say_whether_they_are_open(self):
        self.page(page_example.sample())
        self.browser.go_to('machines')
        state = (
            'return document.querySelector(".opener")'
            '.getAttribute("aria-expanded")'
        )
        self.assertEqual('false', self.browser.run(state))
        self.browser.click('.opener')
        self.assertEqual('true', self.browser.run(state))

    def test_keys_go_from_row_to_row(self):
        self.page(page_example.sample())
        self.browser.go_to('machines')
        self.assertEqual(
            ['r0-u00', 'r1-u01', 'r0-u00'],
            [
                self.browser.run(
                    """
                const [key] = arguments;
                document.querySelector('#machines .opener').focus();
                for (const name of key) {
                  document.activeElement.dispatchEvent(new KeyboardEvent(
                    'keydown', {key: name, bubbles: true}));
                }
                return document.activeElement.textContent""",
                    keys,
                )
                for keys in ([], ['ArrowDown'], ['ArrowDown', 'ArrowUp'])
            ],
        )

    def test_the_matrix_names_the_cell_that_is_selected(self):
        self.page(self.pages()['test'])
        self.browser.click('td.matched')
        [label, role] = self.browser.run("""
            const grid = document.querySelector('[role=grid]');
            const id = grid.getAttribute('aria-activedescendant');
            return [document.getElementById(id).getAttribute('aria-label'),
              grid.getAttribute('role')]""")
        self.assertIn('Much memory: matches', label)
        self.assertEqual('grid', role)

    def test_everything_to_press_has_a_name(self):
        for name, page in self.pages().items():
            with self.subTest(name):
                self.page(page)
                self.assertEqual(
                    [],
                    self.browser.run("""
                    const named = (node) => node.textContent.trim() ||
                      node.getAttribute('aria-label');
                    return [...document.querySelectorAll(
                      'a, button, input, [role=region], [role=group]')]
                      .filter((node) => !named(node))
                      .map((node) => node.outerHTML)"""),
                )

    def test_links_are_large_enough_for_a_finger(self):
        if not self.browser.has_touch:
            self.skipTest('no touch screen')
        for name, page in self.pages().items():
            with self.subTest(name):
                self.page(page, size=browser.PHONE)
                # A row opens wherever it is touched. Squares of machines are
                # 24 pixels apart, and their table has the same links.
                self.assertEqual(
                    [],
                    self.browser.run("""
                    return [...document.querySelectorAll('a, button, input')]
                      .filter((node) => !node.matches('.opener, svg a'))
                      .map((node) => [node, node.getBoundingClientRect()])
                      .filter(([, {width, height}]) => width &&
                        Math.min(width, height) < 24)
                      .map(([node, {width, height}]) =>
                        [node.outerHTML, width, height])"""),
                )

    def test_no_tile_is_alone_beside_a_gap(self):
        for name, page in self.pages().items():
            for width in (400, 820, 1280):
                with self.subTest(name, width=width):
                    self.page(page, size=(width, 900))
                    left, right = self.browser.run("""
                        const tiles = document.querySelector('.tiles');
                        const last = tiles.lastElementChild;
                        return [tiles, last].map((node) => Math.round(
                          node.getBoundingClientRect().right))""")
                    self.assertEqual(left, right)

    def test_names_of_rows_have_room_on_a_phone(self):
        for page in (
            page_example.sample(),
            diff.render(page_samples.difference(30)),
            fleet.render(page_samples.fleet(30)),
        ):
            self.page(page, size=(400, 844))
            self.browser.go_to('machines')
            name, table = self.browser.run("""
                const table = document.querySelector('#machines table');
                return [table.querySelector('th'), table].map(
                  (node) => node.getBoundingClientRect().width)""")
            self.assertGreater(name, 0.35 * table, repr(page))

    def test_hostile_text_stays_text(self):
        for name, page in self.pages().items():
            with self.subTest(name):
                self.page(page)
                self.browser.run(
                    'document.querySelectorAll(".opener, td")'
                    '.forEach((each) => each.click())'
                )
                self.browser.settle(100)
                self.assertIn(
                    HOSTILE,
                    self.browser.run(
                        'return document.querySelector(".title").textContent '
                        '+ document.querySelector("main").textContent'
                    ),
                )
                self.assertEqual(
                    0,
                    self.browser.run(
                        'return document.querySelectorAll("img").length'
                    ),
                )
                self.assertNotEqual('owned', self.browser.title)
                self.assertEqual([], self.browser.complaints())

    def test_another_script_does_not_run(self):
        self.page(
            self.pages()['fleet'].replace(
                '</body>', '<script>document.title = "owned"</script></body>'
            )
        )
        self.assertNotEqual('owned', self.browser.title)
        self.assertEqual(1, len(self.browser.complaints()))

    def test_a_test_says_why(self):
        self.page(self.pages()['test'])
        self.browser.click('td.matched')
        [why] = self.browser.texts('.why')
        self.assertIn('Variablesvars: {limit: 4096', why)
        self.assertNotIn('geheim', why)
        self.assertIn("args: ['{inventory.memory.physical_mb}', 4096]", why)
        self.assertIn('values=[4096, 4096]', why)
        self.assertIn(HOSTILE, why)
        self.browser.click('thead a')
        self.assertEqual(['2 machines'], self.browser.texts(COUNT))

    def test_machines_that_differ_from_a_profile_are_found(self):
        self.page(self.profile())
        self.assertIn('1differs', self.browser.texts('.tiles a'))
        self.browser.click('a[href="#show=differs"]')
        self.assertEqual(['1 machine'], self.browser.texts(COUNT))
        self.assertIn('finds a difference', self.browser.texts('aside.why')[0])

    def test_coverage_has_the_rules_as_text(self):
        self.page(self.pages()['coverage'])
        self.assertEqual(
            ['- op: getrue 2 · false 1', '- op: set-attributeran 2'],
            [
                text[1:]
                for text in self.browser.texts(
                    '.below .item:first-child .covered:has(span)'
                )
            ],
        )
        self.browser.search('is-none')
        self.assertEqual(['1 rule'], self.browser.texts('.count'))
        # What is below the table is that of the rows that are left.
        self.assertEqual(
            [f'{HOSTILE} 33 % '],
            self.browser.texts('.below .item:not([hidden]) h3'),
        )

    def test_machines_that_a_change_of_rules_is_bad_for_are_found(self):
        self.page(self.pages()['diff'])
        self.browser.click('a[href="#show=worse"]')
        self.assertEqual(['3 machines'], self.browser.texts(COUNT))

    def test_odd_machines_are_beside_the_norm(self):
        self.page(outliers.render(page_samples.odd_machines()))
        [title] = self.browser.texts('h1')
        self.assertIn('of 99 machines are unlike their peers.', title)
        self.assertEqual(
            ['Kinds differ in25 machines15 machines'],
            self.browser.texts('[aria-label=Kinds] thead'),
        )
        [few] = self.browser.texts('#few > p')
        self.assertIn('m1-0001', few)
        self.browser.click('#groups .grid a')
        [count] = self.browser.texts('#findings .count')
        self.assertIn(count, ('1 finding', '2 findings'))
        self.browser.click('#findings .opener')
        [detail] = self.browser.texts('#findings tr.detail')
        self.assertIn('Where it stands', detail)

    def test_machines_that_did_not_come_are_found_by_rack(self):
        self.page(page_samples.expected_machines(30))
        self.assertEqual(
            ['5 of 302 rows and machines are not as expected.'],
            self.browser.texts('h1'),
        )
        self.browser.click('a[href="#show=missing"]')
        self.assertEqual(['1 entry'], self.browser.texts(COUNT))
        self.assertEqual(['R0-0'], self.browser.texts(f'{ROWS} .opener'))
        [rack, *_others] = self.browser.texts('#groups .item')
        self.assertIn('7 of 11 as expected', rack)
        self.browser.click('#groups a')
        self.assertEqual(['11 entries'], self.browser.texts(COUNT))
        self.browser.search('m00001', '#machines input')
        self.browser.click(f'{ROWS} .opener')
        [detail] = self.browser.texts('#machines tr.detail')
        self.assertIn('- memory: 64', detail)
        self.assertIn('+ memory: 32', detail)
        self.assertEqual([], self.browser.complaints())

    def test_inspections_that_would_end_otherwise_are_found(self):
        self.page(replay.render('new.yaml', page_samples.replay(30), {}))
        self.assertEqual(
            ['29 of 1,004 inspections would have ended otherwise.'],
            self.browser.texts('h1'),
        )
        self.browser.click('a[href="#show=worse"]')
        self.assertEqual(
            ['15 inspections'], self.browser.texts('#inspections .count')
        )
        self.browser.click('#inspections .opener')
        [detail] = self.browser.texts('#inspections tr.detail')
        for part in (
            'too small',
            '- /extra/cpus: 4',
            '+ CUSTOM_BIG',
            'Matched then, not nowa',
        ):
            self.assertIn(part, detail)
        self.browser.click('#differences a')
        self.assertEqual(
            ['5 inspections'], self.browser.texts('#inspections .count')
        )
        self.assertIn('4: rules are gone', self.browser.texts('#reasons')[0])
        self.assertEqual([], self.browser.complaints())

    def test_the_way_from_a_machine_to_its_rules_and_back(self):
        self.page(fleet.render(page_samples.fleet(300)))
        self.browser.go_to('machines')
        self.browser.search('r002-u05', '#machines input')
        self.assertEqual(
            ['r002-u05.example.org'], self.browser.texts(f'{ROWS} .opener')
        )
        self.browser.click(f'{ROWS} .opener')
        [name, *_others] = self.browser.texts('#machines .plain a')
        self.browser.click('#machines .plain a')
        self.assertIn(name, self.browser.texts('#rules .detail')[0])
        self.browser.click('#rules .detail a')
        [chosen] = self.browser.texts('#machines .chip')
        self.assertIn(name, chosen)
        self.browser.search('r002-u05', '#machines input')
        self.assertEqual(
            ['r002-u05.example.org'], self.browser.texts(f'{ROWS} .opener')
        )

    def test_changes_of_sensitive_rules_are_not_said_to_be_none(self):
        data = page_samples.fleet(3)
        data['compared'] = False
        for node in data['nodes']:
            node.update(result='ok', error=None, changes=[])
            for name in ('differs', 'validates'):
                node.pop(name, None)
        for sensitive, headline, state in (
            (False, 'Nothing changes on any machine.', 'Unchanged'),
            (True, 'No change is shown of any machine;', 'No change shown'),
        ):
            data['rules'][0]['sensitive'] = sensitive
            self.page(fleet.render(data))
            [title] = self.browser.texts('h1')
            self.assertIn(headline, title)
            self.browser.go_to('machines')
            self.browser.search('r', '#machines input')
            self.assertIn(state, self.browser.texts(ROWS)[0])

    def test_machines_that_a_flavor_loses_are_found(self):
        sample = page_samples.fleet(1200)
        self.page(fleet.render(sample))
        first = max(sample['capacity'], key=lambda each: each['loss'])
        [row, *_others] = self.browser.texts('#capacity .flavor')
        self.assertIn(first['name'], row)
        self.assertIn('lost by Resource class by memory', row)
        self.browser.click('#capacity .loss')
        self.assertEqual(
            [f'{len(first["lost"])} machines'], self.browser.texts(COUNT)
        )

    def test_a_button_makes_it_dark(self):
        self.page(self.pages()['fleet'])
        theme = 'return document.documentElement.dataset.theme'
        self.assertEqual('light', self.browser.run(theme))
        self.browser.click('[aria-label="Dark or light"]')
        self.assertEqual('dark', self.browser.run(theme))
        self.browser.click('[aria-label="Dark or light"]')

    def test_paper_has_the_rows_that_are_not_seen(self):
        self.page(fleet.render(page_samples.fleet(1200)))
        self.browser.run('dispatchEvent(new Event("beforeprint"))')
        self.assertEqual(1000, len(self.browser.texts(ROWS)))
        self.assertIn('and 200 more', self.browser.texts('#machines')[0])
        self.browser.run('dispatchEvent(new Event("afterprint"))')
        self.assertEqual([], self.browser.texts(ROWS))

    def test_ten_thousand_machines_are_few_rows(self):
        self.page(fleet.render(page_samples.fleet(MACHINES)))
        self.browser.go_to('machines')
        self.assertIn(len(self.browser.texts(ROWS)), range(10, 80))
        sort = '#machines thead button'
        for first in ('r000-u00', 'r249-u39'):
            self.browser.click(sort)
            self.assertIn(first, self.browser.texts(f'{ROWS} .opener')[0])
        self.browser.run('scrollTo(0, document.body.scrollHeight)')
        self.browser.settle(50)
        self.assertIn('r000-u00', self.browser.texts(f'{ROWS} .opener')[-1])
        self.browser.search('r123-u07', '#machines input')
        self.assertEqual(['1 machine'], self.browser.texts(COUNT))
        self.assertEqual([], self.browser.complaints())
