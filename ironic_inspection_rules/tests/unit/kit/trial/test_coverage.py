# SPDX-License-Identifier: Apache-2.0

"""How much of their rules some machines reach."""

from ironic_inspection_rules.kit.trial import coverage
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests.unit.rule_file import files

RULES = """
- description: little
  conditions:
  - {op: lt, args: {values: ["{inventory[memory][physical_mb]}", 4096]}}
  actions:
  - {op: log, args: {msg: little}}
  - {op: fail, args: {msg: too little}}
- description: after
  actions:
  - {op: log, args: {msg: enough}}
"""


class CoverageCase(files.FilesTestCase):
    def setUp(self):
        super().setUp()
        self.rules = machine_test.load_rules([self.write('rules.yaml', RULES)])

    def cover(self, *megabytes):
        covered = coverage.Coverage(self.rules)
        plans = machine_test.compile_rules(self.rules)
        watch = coverage.Watch(plans)
        for number in megabytes:
            inventory = {**files.INVENTORY, 'memory': {'physical_mb': number}}
            watch.results.clear()
            covered.count_machine(
                machine_test.run(
                    self.write(f'{number}.json', inventory),
                    plans,
                    machine_test.load_node(None),
                ),
                watch,
            )
        return covered


class CoverageTestCase(CoverageCase):
    def test_no_machine_covers_nothing(self):
        self.assertEqual(0, self.cover().percent)

    def test_rules_that_are_not_there_are_covered(self):
        self.assertEqual(100, coverage.Coverage([]).percent)

    def test_machines_are_counted_for_each_part(self):
        self.assertEqual(
            [
                {
                    'description': 'little',
                    'uuid': self.rules[0].uuid,
                    'conditions': [{'true': 1, 'false': 2}],
                    'actions': [{'ran': 1}, {'ran': 1}],
                },
                {
                    'description': 'after',
                    'uuid': self.rules[1].uuid,
                    'conditions': [],
                    'actions': [{'ran': 2}],
                },
            ],
            self.cover(1024, 8192, 16384).as_dict()['rules'],
        )

    def test_the_share_counts_true_and_false_and_each_action(self):
        covered = self.cover(1024)
        self.assertEqual(60, covered.percent)
        self.assertEqual(
            [75, 0], [covered.percent_of(rule) for rule in self.rules]
        )
        self.assertEqual(100, self.cover(1024, 8192).percent)

    def test_a_condition_with_an_error_was_neither(self):
        self.rules = machine_test.load_rules(
            [
                self.write(
                    'error.yaml',
                    """
- description: error
  conditions:
  - {op: eq, args: ["{inventory.memory | int}", 1]}
  actions: [{op: log, args: [x]}]
""",
                )
            ]
        )
        [rule] = self.cover(1024).as_dict()['rules']
        self.assertEqual([{'true': 0, 'false': 0}], rule['conditions'])
        self.assertEqual([{'ran': 0}], rule['actions'])

    def test_conditions_of_actions_count_too(self):
        self.rules = machine_test.load_rules(
            [
                self.write(
                    'when.yaml',
                    """
- actions:
  - op: log
    args: {msg: little}
    when:
    - {op: lt, args: {values: ["{inventory[memory][physical_mb]}", 4096]}}
""",
                ),
                self.write(
                    'other.yaml',
                    """
- actions:
  - op: log
    args: {msg: "{item}"}
    loop: [1, 2]
    when: [{op: gt, args: {values: ["{item}", 1]}}]
""",
                ),
            ]
        )
        covered = self.cover(1024, 8192, 16384)
        self.assertEqual(
            [
                [
                    {
                        'ran': 1,
                        'not_run': {'when': 2},
                        'when': [{'true': 1, 'false': 2}],
                    }
                ],
                [{'ran': 3, 'when': [{'true': 3, 'false': 3}]}],
            ],
            [each['actions'] for each in covered.as_dict()['rules']],
        )
        self.assertEqual(100, covered.percent)
        covered = self.cover(8192)
        self.assertEqual(
            [100 / 3, 100], [covered.percent_of(rule) for rule in self.rules]
        )
        self.assertEqual(
            [
                'action 1 (log) never ran: its conditions do not hold '
                '(1 machine)',
                'condition 1 (lt) of action 1 was never true',
            ],
            list(covered.missed(self.rules[0])),
        )

    def test_an_action_that_did_nothing_did_not_run(self):
        self.rules = machine_test.load_rules(
            [
                self.write(
                    'idle.yaml',
                    """
- actions:
  - {op: log, args: ["{item}"], loop: []}
  - {op: log, args: ["{item}"], loop: "{inventory.gone | default(null)}"}
  - {op: log, args: ["{item.a}"], loop: {}}
  - op: set-plugin-data
    args: [/a, "{item}"]
    loop: ["{inventory.memory.physical_mb}"]
    when: [{op: gt, args: ["{item}", 4096]}]
- actions:
  - {op: log, args: [ran]}
  - {op: set-plugin-data, args: [/x, "{inventory.memory.gone}"]}
  - {op: log, args: [never]}
""",
                )
            ]
        )
        covered = self.cover(1024, 2048)
        first, second = covered.as_dict()['rules']
        self.assertEqual(
            [{'ran': 0, 'not_run': {'empty_loop': 2}}] * 2
            + [{'ran': 2}]
            + [
                {
                    'ran': 0,
                    'not_run': {'when': 2},
                    'when': [{'true': 0, 'false': 2}],
                }
            ],
            first['actions'],
        )
        self.assertEqual(
            [{'ran': 2}, {'ran': 0, 'not_run': {'error': 2}}, {'ran': 0}],
            second['actions'],
        )
        self.assertEqual(
            [
                'action 2 (set-plugin-data) never ran: it ends in an error '
                '(2 machines)',
                'action 3 (log) never ran',
            ],
            list(covered.missed(self.rules[1])),
        )
        self.assertEqual(100 * 3 / 9, covered.percent)

    def test_to_fail_is_what_an_action_may_run_for(self):
        self.rules = machine_test.load_rules(
            [
                self.write(
                    'fail.yaml',
                    """
- actions:
  - op: fail
    args: {msg: "{item}"}
    loop: [1, 2]
    when: [{op: gt, args: ["{item}", 1]}]
""",
                )
            ]
        )
        self.assertEqual(100, self.cover(1).percent)

    def test_what_others_counted_is_added(self):
        covered = self.cover(1024)
        covered.add(self.cover(8192))
        self.assertEqual(self.cover(1024, 8192).as_dict(), covered.as_dict())


GROUP = """
- description: either
  conditions:
  - op: any-of
    conditions:
    - {op: lt, args: ["{inventory.memory.physical_mb}", 4096]}
    - op: none-of
      conditions:
      - {op: lt, args: ["{inventory.memory.physical}", 9]}
  actions:
  - {op: log, args: [x]}
"""
AUDIT = RULES.replace(
    '- description: after', '- mode: audit\n  description: after'
).replace('- description: little', '- mode: "off"\n  description: none')


class InsideTestCase(CoverageCase):
    def use(self, text):
        self.rules = machine_test.load_rules([self.write('other.yaml', text)])

    def test_conditions_of_groups_count(self):
        self.use(GROUP)
        covered = self.cover(1024, 8192)
        (rule,) = covered.as_dict()['rules']
        self.assertEqual(
            [
                {
                    'true': 2,
                    'false': 0,
                    'conditions': [
                        {'true': 1, 'false': 1},
                        {
                            'true': 1,
                            'false': 0,
                            'conditions': [{'true': 0, 'false': 1}],
                        },
                    ],
                }
            ],
            rule['conditions'],
        )
        self.assertEqual(
            [
                'condition 1 (any-of) was never false',
                'condition 1.2 (none-of) was never false',
                'condition 1.2.1 (lt) was never true',
            ],
            list(covered.missed(self.rules[0])),
        )
        self.assertEqual(100 * 6 / 9, covered.percent)
        other = self.cover(1024)
        other.add(self.cover(8192))
        self.assertEqual(covered.as_dict(), other.as_dict())

    def test_audit_rules_count_and_those_that_are_off_do_not(self):
        self.use(AUDIT)
        covered = self.cover(1024)
        self.assertEqual(
            ['after'],
            [each['description'] for each in covered.as_dict()['rules']],
        )
        self.assertEqual(100, covered.percent)
