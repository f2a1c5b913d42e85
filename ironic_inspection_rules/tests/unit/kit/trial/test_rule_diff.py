# SPDX-License-Identifier: Apache-2.0

"""What changes from some files of rules to others is told rule by rule."""

import uuid

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.kit.trial import rule_diff
from ironic_inspection_rules.tests.unit.rule_file import files

FIRST = str(uuid.uuid4())
A = '- {description: A, actions: [{op: log, args: [a]}]}\n'
B = '- {description: B, actions: [{op: log, args: [b]}]}\n'
NEW_A = '- {description: A, actions: [{op: log, args: [new]}]}\n'
NAMED_A = A.replace('{desc', f'{{uuid: {FIRST}, desc')


class RuleDiffTestCase(files.FilesTestCase):
    def compare(self, old, new):
        before, after = (
            rule_diff.ComparedRules.load([self.write(name, text)])
            for name, text in (('old.yaml', old), ('new.yaml', new))
        )
        self.changes, rules = rule_diff.compare(before, after)
        self.uuids = (
            [rule.uuid for rule in before.rules],
            [rule.uuid for rule in rules],
        )
        return [(each.change, each.title) for each in self.changes]

    def test_the_same_rules_change_nothing(self):
        self.assertEqual([], self.compare(A + B, A + B))

    def test_how_they_are_written_does_not_matter(self):
        self.assertEqual(
            [],
            self.compare(
                A, '# about A\nactions: [{args: [a], op: log}]\ndescription: A'
            ),
        )

    def test_a_rule_is_known_by_its_description(self):
        self.assertEqual([('changed', 'A')], self.compare(A, NEW_A))
        self.assertEqual(self.uuids[0], self.uuids[1])
        self.assertEqual(
            ['-  - a', '+  - new'],
            [line for line in self.changes[0].lines if line[0] in '+-'],
        )

    def test_a_rule_is_known_by_its_uuid_first(self):
        self.assertEqual(
            [('changed', 'B')],
            self.compare(
                NAMED_A,
                NAMED_A.replace('description: A', 'description: B').replace(
                    '[a]', '[new]'
                ),
            ),
        )
        self.assertEqual(
            [('added', 'A'), ('removed', 'A')],
            self.compare(NAMED_A, NAMED_A.replace(FIRST, str(uuid.uuid4()))),
        )

    def test_a_uuid_that_is_given_for_the_first_time_makes_no_new_rule(self):
        self.assertEqual([], self.compare(A, NAMED_A))
        self.assertEqual(self.uuids[0], self.uuids[1])

    def test_what_comes_and_goes_is_told_whole(self):
        self.assertEqual(
            [('added', 'B'), ('removed', 'A')], self.compare(A, B)
        )
        self.assertTrue(all(each.differs for each in self.changes))
        self.assertIn('+description: B', self.changes[0].lines)
        self.assertIn('-description: A', self.changes[1].lines)

    def test_another_description_is_a_rename_and_no_difference(self):
        renamed = A.replace('description: A', 'description: C')
        for old, new in (
            (A + B, renamed + B),
            (A, NAMED_A.replace('description: A', 'description: C')),
            (NAMED_A, NAMED_A.replace('description: A', 'description: C')),
        ):
            self.assertEqual([('renamed', 'A → C')], self.compare(old, new))
            self.assertFalse(self.changes[0].differs, (old, new))
            self.assertEqual(self.uuids[0], self.uuids[1])
            self.assertIn('+description: C', self.changes[0].lines)

    def test_equal_rules_are_renamed_one_to_one(self):
        twice = A + A.replace('description: A', 'description: B')
        other = twice.replace('description: ', 'description: new ')
        self.assertEqual(
            [('renamed', 'A → new A'), ('renamed', 'B → new B')],
            self.compare(twice, other),
        )
        self.assertEqual(
            [('renamed', 'A → new A'), ('removed', 'B')],
            self.compare(twice, other.splitlines()[0]),
        )
        thrice = twice + A.replace('description: A', 'description: C')
        self.assertEqual(
            [('renamed', 'A → new A'), ('removed', 'B'), ('removed', 'C')],
            self.compare(thrice, other.splitlines()[0]),
        )

    def test_a_rule_that_is_renamed_and_moved_is_moved(self):
        third = B.replace('description: B', 'description: D')
        self.assertEqual(
            [('moved', 'A → C')],
            self.compare(
                A + B + third,
                B + third + A.replace('description: A', 'description: C'),
            ),
        )
        self.assertTrue(self.changes[0].differs)

    def test_another_way_to_write_it_is_no_difference(self):
        self.assertEqual(
            [('rewritten', 'A')],
            self.compare(A, A.replace('[a]', '{msg: a, level: info}')),
        )
        self.assertFalse(self.changes[0].differs)

    def test_a_new_name_and_another_way_to_write_it_is_more_than_a_name(self):
        self.assertEqual(
            [('rewritten', 'A → C')],
            self.compare(
                A, A.replace('[a]', '{msg: a}').replace('tion: A', 'tion: C')
            ),
        )
        self.assertFalse(self.changes[0].differs)

    def test_another_order_is_told(self):
        self.assertEqual(
            ['moved'],
            [change for change, _title in self.compare(A + B, B + A)],
        )

    def test_what_a_sensitive_rule_does_is_not_shown(self):
        hidden = A.replace('{desc', '{sensitive: true, desc')
        self.assertEqual(
            [('changed', 'A')],
            self.compare(hidden, hidden.replace('[a]', '[secret]')),
        )
        self.assertNotIn('secret', '\n'.join(self.changes[0].lines))

    def test_a_directory_is_one_set(self):
        self.write('rules/a.yaml', A)
        self.write('rules/b.yaml', B)
        found = rule_diff.ComparedRules.load([str(self.directory / 'rules')])
        self.assertEqual(
            ['A', 'B'], [rule.description for rule in found.rules]
        )
        (self.directory / 'empty').mkdir()
        self.assertRaisesRegex(
            exceptions.InvalidDocument,
            'files of rules',
            rule_diff.ComparedRules.load,
            [str(self.directory / 'empty')],
        )
