# SPDX-License-Identifier: Apache-2.0

"""Every slip in a field of the public rule sets is found."""

import re

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import inventory
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.plugins.legacy import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests import shared_data
from ironic_inspection_rules.tests.unit.rule_file import files

BELOW_WRONG = ('system', 'lldp_processed', 'i')
"""Steps of these sets that are mistakes as they are."""


def typos(name):
    """Yield a name with a letter left out, doubled, swapped or replaced."""
    for position, letter in enumerate(name):
        before, after = name[:position], name[position + 1 :]
        yield before + after
        yield before + letter * 2 + after
        if after:
            yield before + after[0] + letter + after[1:]
        for other in 'ex':
            yield before + other + after


class TyposTestCase(files.FilesTestCase):
    def setUp(self):
        super().setUp()
        self.ops = registry.installed()

    def fields(self):
        """The fields of the public rule sets, as steps from the roots."""
        found = set()
        for path in shared_data.directory().glob('rules-*/*'):
            for rule in file_rule.load(str(path)):
                found.update(
                    steps
                    for _pointer, _text, steps in inventory.fields(
                        checked_rule.build(rule, self.ops)
                    )
                )
        return sorted(found)

    def mistyped(self):
        """All fields with one slip in a name that inspection reports.

        :returns: for each the slip, what was meant, and all that may be
            there.
        """
        found = {}
        for steps in self.fields():
            for index, step in enumerate(steps):
                if step in BELOW_WRONG:
                    break
                others = self.others(steps, index)
                if step not in others:
                    continue
                for typo in typos(step):
                    if typo and typo not in others:
                        text = ''.join(
                            f'[{each}]'
                            for each in (
                                *steps[:index],
                                typo,
                                *steps[index + 1 :],
                            )
                        )
                        found[text[1:].replace(']', '', 1)] = (
                            typo,
                            step,
                            others,
                        )
        return found

    @staticmethod
    def others(steps, index):
        """The names that may be at a place."""
        if index == 0:
            return ['inventory', 'plugin_data', 'node', 'ports', 'item']
        above = inventory_fields.find_field(
            inventory_fields.known_fields(), steps[:index]
        )
        return [*above.names, *(document.IN_IRONIC if index == 1 else ())]

    def test_each_is_found_with_the_name_that_was_meant(self):
        fields = self.mistyped()
        self.assertLess(1000, len(fields))
        # Conditions of one rule are compared with each other: few in each.
        path = self.write(
            'rules.json',
            [
                {
                    'actions': [{'op': 'log', 'args': {'msg': 'x'}}],
                    'conditions': [
                        {'op': 'is-none', 'args': {'value': f'{{{field}}}'}}
                        for field in some
                    ],
                }
                for some in (
                    list(fields)[first : first + 50]
                    for first in range(0, len(fields), 50)
                )
            ],
        )
        told = {}
        for each in lint.lint([path], self.ops):
            if each.is_problem:
                field = re.search(r'\{([^}]*)\}', each.message)[1]
                told[field] = each.message
        self.assertEqual([], [field for field in fields if field not in told])
        self.assertEqual(
            [],
            [
                field
                for field, (typo, step, others) in fields.items()
                if suggestion.find_intended(typo, others) == step
                and f'"{step}"' not in told[field]
            ],
        )

    def test_those_of_the_old_language_are_found(self):
        fields = [
            f'{typo}.{rest}' if rest else typo
            for name, rest in (
                ('inventory', 'system_vendor.manufacturer'),
                ('root_disk', 'wwn'),
                ('memory_mb', ''),
                ('local_gb', ''),
                ('auto_discovered', ''),
            )
            for typo in typos(name)
            if typo != name
        ]
        path = self.write(
            'rules.json',
            [
                {
                    'actions': [{'action': 'fail', 'message': 'x'}],
                    'conditions': [
                        {'op': 'is-empty', 'field': field} for field in fields
                    ],
                }
            ],
        )
        told = [each.message for each in lint.lint([path], self.ops)]
        self.assertEqual(
            [],
            [
                field
                for field in fields
                if not any(f'{{{field}}}' in message for message in told)
            ],
        )
