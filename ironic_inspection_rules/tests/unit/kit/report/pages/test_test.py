# SPDX-License-Identifier: Apache-2.0

"""The data of the page of rules and machines as a matrix."""

from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.kit.machine.profile import component
from ironic_inspection_rules.kit.machine.profile import rules as profile_rules
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.report.pages import test
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests.unit.kit.report.pages import page_data
from ironic_inspection_rules.tests.unit.rule_file import files

RULES = """
- description: Refuse little memory
  conditions: [{op: lt, args: ["{inventory.memory.physical_mb}", 1024]}]
  actions: [{op: fail, args: [too little]}]
- description: Note the vendor
  priority: 5
  actions:
  - {op: set-attribute, args: [/extra/vendor, known]}
- description: Set the driver
  conditions: [{op: eq, args: ["{plugin_data.kind}", dell]}]
  actions: [{op: set-attribute, args: [/driver, idrac]}]
"""
SMALL = {**files.INVENTORY, 'memory': {'physical_mb': 5}}


class TestPageTestCase(files.FilesTestCase):
    def setUp(self):
        super().setUp()
        self.patch(shell, 'format_now', lambda: '2026-11-22 04:00')
        self.page = self.draw(
            ('m/a.json', {'inventory': files.INVENTORY, 'kind': 'dell'}),
            ('m/b/small.json', SMALL),
            ('m/c.json', SMALL),
            ('m/d.json', '[]'),
        )
        self.data = page_data.read(self.page)

    def draw(self, *machines, rules=RULES):
        rules = machine_test.load_rules([self.write('rules.yaml', rules)])
        plans = machine_test.compile_rules(rules)
        matrix = test.Matrix(rules, ['a/rules.yaml'])
        for path, content in machines:
            matrix.add(
                matrix.extract(
                    machine_test.try_machine(
                        self.write(path, content), plans, machine_test.Nodes()
                    )
                )
            )
        return matrix.render()

    def test_the_title_has_the_file_and_the_date(self):
        self.assertIn(
            '<title>rules.yaml on machines, 2026-11-22 04:00<', self.page
        )
        self.assertEqual(
            ('rules.yaml', '2026-11-22 04:00'),
            (self.data['files'], self.data['made']),
        )

    def test_there_is_a_cell_for_each_rule_of_each_machine(self):
        self.assertEqual(
            ['Note the vendor', 'Refuse little memory', 'Set the driver'],
            [rule['title'] for rule in self.data['rules']],
        )
        self.assertEqual(
            [
                ('a.json', 'ok', ['matched', 'unmatched', 'matched']),
                ('b/small.json', 'failed', ['matched', 'failed', 'skipped']),
                ('c.json', 'failed', ['matched', 'failed', 'skipped']),
                ('d.json', 'error', ['skipped'] * 3),
            ],
            [
                (name, result, [state for state, *_why in cells])
                for name, result, cells in self.machines()
            ],
        )

    def test_a_difference_from_a_profile_is_no_success(self):
        good = working_copy.Facts(files.INVENTORY, {})
        rules = profile_rules.write(
            [good], 'good', profile_rules.FAIL, component.Tolerance()
        )
        rules.append(
            {
                'description': 'In audit',
                'mode': 'audit',
                'actions': [{'op': 'fail', 'args': {'msg': 'no'}}],
            }
        )
        self.data = page_data.read(
            self.draw(
                ('m/a.json', files.INVENTORY), ('m/b.json', SMALL), rules=rules
            )
        )
        titles = [rule['title'] for rule in self.data['rules']]
        states = {
            name: dict(
                zip(titles, [state for state, *_why in cells], strict=True)
            )
            for name, _result, cells in self.machines()
        }
        self.assertEqual(
            ['In audit'],
            [
                title
                for title, state in states['a.json'].items()
                if state == 'differs'
            ],
        )
        self.assertEqual('differs', states['b.json']['good: memory'])
        self.assertEqual('matched', states['b.json']['good: begin'])
        self.assertEqual('failed', states['b.json']['good: verdict'])

    def machines(self):
        for name, outcome in self.data['machines']:
            result, _error, _diff, row = self.data['outcomes'][outcome]
            yield (
                name,
                result,
                [self.data['cells'][at] for at in self.data['rows'][row]],
            )

    def test_a_cell_says_why_and_what(self):
        _name, _result, cells = next(self.machines())
        _state, [condition], [action] = cells[2]
        texts = self.data['texts']
        self.assertEqual(
            [texts.index('eq'), True, texts.index("values=['dell', 'dell']")],
            self.data['conditions'][condition],
        )
        self.assertEqual(
            [
                texts.index('set-attribute'),
                False,
                [texts.index('add node /driver = "idrac"')],
            ],
            self.data['actions'][action],
        )

    def test_a_cell_says_when_an_action_was_carried_out(self):
        texts = page_data.read(
            self.draw(
                ('m/e.json', files.INVENTORY),
                rules="""
- actions:
  - op: set-attribute
    args: [/extra/a, "{item}"]
    loop: [1, 2, 3]
    when: [{op: ge, args: ["{item}", 2]}]
""",
            )
        )['texts']
        (told,) = (text for text in texts if text.startswith('when '))
        self.assertIn('when ge: 2/3, ', told)
        self.assertIn('[1, 2]', told)

    def test_a_cell_says_why_an_action_did_not_run(self):
        reason = 'did not run: the loop has no items'
        for sensitive in (False, True):
            page = self.draw(
                ('m/a.json', files.INVENTORY),
                rules=f"""
- description: Nothing to do
  sensitive: {str(sensitive).lower()}
  actions: [{{op: log, args: ["{{item}}"], loop: []}}]
""",
            )
            data = page_data.read(page)
            self.assertEqual(not sensitive, reason in data['texts'])
            # By this the page says that changes may be left out.
            self.assertEqual(sensitive, 'withheld' in data['rules'][0])

    def test_operations_are_shown_as_they_are_written(self):
        rule = self.data['rules'][1]
        self.assertEqual(
            ["args: ['{inventory.memory.physical_mb}', 1024]"],
            rule['conditions'],
        )
        self.assertEqual(['args: [too little]'], rule['actions'])

    def test_what_is_equal_is_there_once(self):
        _first, small, other, _broken = self.data['machines']
        self.assertEqual(small[1:], other[1:])
        self.assertEqual(
            [3, 3], [len(self.data[name]) for name in ('outcomes', 'rows')]
        )

    def test_machines_of_their_own_kind_do_not_make_it_larger(self):
        self.patch(test, '_MAX_CELLS', 3)
        self.data = page_data.read(
            self.draw(
                *(
                    (
                        f'm/{number}.json',
                        {
                            **files.INVENTORY,
                            'memory': {'physical_mb': 2000 + number},
                        },
                    )
                    for number in range(9)
                )
            )
        )
        self.assertEqual(9, len(self.data['machines']))
        self.assertEqual(4, len(self.data['outcomes']))
        reasons = [
            self.data['texts'][reason]
            for _op, _result, reason in self.data['conditions']
        ]
        self.assertIn('values=[2002, 1024]', reasons)
        self.assertNotIn('values=[2003, 1024]', reasons)
        self.assertEqual(1, sum('left out' in each for each in reasons))
