# SPDX-License-Identifier: Apache-2.0

"""Few modules know of secrecy, and most of them in rooms of its name."""

import ast

from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit import test_imports

ROOMS = ('engine.language.secrecy', 'engine.run.secrecy')

MOST = 10

#: Who decides by it that a rule is sensitive or a value masked. Everybody else
#: calls the rooms, or gets what is safe to be shown.
KNOWING = {
    'engine.language.secrecy.disclosure': 'what is told of rules and data',
    'engine.run.secrecy.journal': 'what is told of changes',
    'engine.language.secrecy.masked_field': 'no masked value is written',
    'engine.run.secrecy.masked_views': 'rules see masked data',
    'engine.language.secrecy.masking': 'the names of secrets',
    'engine.language.secrecy.stored_rule': 'what clients read and write',
    'kit.authoring.checks.secrets': 'lint warns of secrets',
    'db.rule': 'which rules are sensitive in any revision',
    'kit.proof.secret': 'what is masked, as formulas',
    'runs.recorded_rule': 'the records of sensitive rules',
}

#: Who has the word as the name of a field, a column, a check or an option,
#: and decides nothing by it.
DATA = {
    'kit.authoring.checks.checked_rule',
    'kit.authoring.conversion.inspector',
    'kit.authoring.conversion.stock_rule',
    'kit.authoring.lint',
    'kit.authoring.schema',
    'command.adopt',
    'db.adoption',
    'db.alembic.versions.7d1f0c3a9b52_make_the_tables',
    'db.models',
    'db.rule_set',
    'engine.language.compiler',
    'engine.language.model',
    'engine.language.table',
    'engine.language.table_members',
    'engine.language.validation',
    'inspection.early_phase',
    'inspection.inspection',
    'inspection.start',
    'inspection.stock_trial',
    'objects.rule',
    'kit.machine.outliers.field_name',
    'kit.client.inspection_table',
    'kit.osc.fleet_evaluation',
    'kit.osc.inspection_rule',
    'kit.osc.inspection_table',
    'kit.report.pages.rule_text',
    'rule_set.repository',
    'rule_set.table_store',
    'runs.replay',
}

_WORDS = frozenset(
    (
        'MASK',
        'WITHHELD',
        'mask_secrets',
        'masking',
        'sensitive',
        'withheld',
        'withhold',
        'withholds',
    )
)
_KEY = 'secret'
"""The key of a rule that is sensitive in any revision; as a name it is also
that of passwords in the configuration."""


def _nodes(tree):
    """The nodes of a tree, but for texts that people read."""
    ahead = [tree]
    while ahead:
        node = ahead.pop()
        yield node
        is_text = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ('_', '_P')
        )
        if not is_text:
            ahead += ast.iter_child_nodes(node)


def words(tree):
    """The words of secrecy that a tree uses as names, keys or values."""
    used = set()
    for node in _nodes(tree):
        if isinstance(node, ast.Constant) and node.value == _KEY:
            used.add(_KEY)
        for name in ('id', 'attr', 'arg', 'name', 'value'):
            word = getattr(node, name, None)
            if isinstance(word, str):
                used |= _WORDS & {word.rpartition('.')[2]}
    return used


def decides(tree):
    """Whether what a tree does depends on a word of secrecy."""
    return any(
        words(test)
        for node in ast.walk(tree)
        for test in (
            *(getattr(node, 'ifs', None) or ()),
            *([node.test] if hasattr(node, 'test') else ()),
            *([node] if isinstance(node, ast.BoolOp | ast.Compare) else ()),
        )
    )


class SecrecyTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.trees = {
            name: ast.parse(path.read_text())
            for name, path in test_imports.modules().items()
        }
        self.using = {
            name: tree for name, tree in self.trees.items() if words(tree)
        }

    def test_at_most_ten_modules_know_of_it_most_of_them_in_two_rooms(self):
        self.assertEqual(KNOWING.keys(), self.using.keys() - DATA)
        self.assertLessEqual(len(KNOWING), MOST)
        within = {
            name
            for name in self.trees
            if any(test_imports.is_within(name, room) for room in ROOMS)
        }
        self.assertEqual(within, KNOWING.keys() & within)
        self.assertGreater(2 * len(within), len(KNOWING))

    def test_who_has_it_as_data_decides_nothing_by_it(self):
        self.assertEqual(DATA, self.using.keys() & DATA)
        self.assertEqual(
            [], [name for name in sorted(DATA) if decides(self.trees[name])]
        )


class WordsTestCase(base.TestCase):
    def test_names_keys_and_imports_are_seen(self):
        for code in (
            'rule.sensitive',
            "rule['sensitive']",
            'withheld = 1',
            'f(mask_secrets=1)',
            'def withhold(): pass',
            "{'withheld': True}",
            'from engine import masking',
            'import engine.masking',
            "rule['secret']",
        ):
            self.assertTrue(words(ast.parse(code)), code)

    def test_texts_and_other_words_are_not(self):
        for code in (
            "_('withheld')",
            '"a sensitive rule"',
            'insensitive',
            'Opt(secret=True)',
        ):
            self.assertFalse(words(ast.parse(code)), code)

    def test_a_decision_is_any_condition(self):
        for code in (
            'if a.sensitive: pass',
            'a if b.sensitive else c',
            '[a for a in b if a.sensitive]',
            'a or b.sensitive',
            'while a.withheld: pass',
            'a.value == MASK',
        ):
            self.assertTrue(decides(ast.parse(code)), code)
        for code in (
            'f(a.sensitive)',
            "{'sensitive': a}",
            "a['sensitive'] = f(b)",
        ):
            self.assertFalse(decides(ast.parse(code)), code)
