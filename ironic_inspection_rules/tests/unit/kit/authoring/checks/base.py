# SPDX-License-Identifier: Apache-2.0

"""Rules that single checks are tried on."""

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.tests.unit.rule_file import files


class CheckTestCase(files.FilesTestCase):
    def rules(self, text):
        """Read rules as the checks have them."""
        return [
            checked_rule.build(rule, registry.installed())
            for rule in file_rule.load(self.write('rules.yaml', text))
        ]

    def messages(self, check, text):
        """Return pointers and messages of a check of single rules."""
        return [found for rule in self.rules(text) for found in check(rule)]
