# SPDX-License-Identifier: Apache-2.0

"""Problems of posted rules, shown at their places in files."""

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.tests.unit import base

ONE = """\
- description: size
  actions:
  - {op: log, args: [a]}
"""

TWO = """\
- actions:
  - {op: log, args: [a]}
- actions:
  - op: log
    args: {msg: a}
"""


class ExplainTestCase(base.TestCase):
    def explain(self, *problems):
        files = file_set.of_documents(
            [document.parse('one.yaml', ONE), document.parse('two.yaml', TWO)]
        )
        return files.format_problems(
            exceptions.Problem(*problem) for problem in problems
        ).splitlines()

    def test_a_problem_is_shown_where_its_author_wrote_it(self):
        self.assertEqual(
            [
                'one.yaml:3:5: #1 (size): action 1: no op; perhaps "fail"',
                'two.yaml:5:17: #2: action 1, msg: too long',
                'two.yaml:1:3: #1: not here',
            ],
            self.explain(
                ('/rules/0/actions/0', 'no op', 'perhaps "fail"'),
                ('/rules/2/actions/0/args/msg', 'too long'),
                ('/rules/1', 'not here'),
            ),
        )

    def test_what_a_problem_says_is_no_place(self):
        self.assertEqual(
            ['one.yaml:1:3: #1 (size): one; /rules/1: two; and 3 more'],
            self.explain(('/rules/0', 'one; /rules/1: two; and 3 more')),
        )

    def test_what_is_of_no_rule_stands_beside_those_of_rules(self):
        self.assertEqual(
            ['one.yaml:1:3: #1 (size): bad', 'and 9 more'],
            self.explain(('/rules/0', 'bad'), ('', 'and 9 more')),
        )

    def test_without_a_known_rule_nothing_is_explained(self):
        for pointer in (
            '',
            '/nodes',
            '/rules',
            '/rules/3',
            '/rules/-1',
            '/rules/x',
            '/rules/00',
            '/vars/rules/0',
        ):
            self.assertEqual([], self.explain((pointer, 'bad')), pointer)
        self.assertEqual([], self.explain())
