# SPDX-License-Identifier: Apache-2.0

"""What YAML reads as something else is found where it was not meant."""

from ironic_inspection_rules.kit.authoring.checks import scalars
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base

SERIAL = 'inventory.system_vendor.serial_number'
MEMORY = 'inventory.memory.physical_mb'


class ScalarsTestCase(base.CheckTestCase):
    def found(self, condition=None, action='op: log, args: {msg: x}', **more):
        conditions = f'conditions: [{{{condition}}}], ' if condition else ''
        fields = ''.join(f'{name}: {value}, ' for name, value in more.items())
        return [
            pointer
            for pointer, _message in self.messages(
                scalars.check,
                f'- {{{fields}{conditions}actions: [{{{action}}}]}}',
            )
        ]

    def test_forms_of_numbers_are_found_beside_text(self):
        for written in ('0x1F', '1_000', '0b11', '1.2e+5'):
            for field, count in ((SERIAL, 1), (MEMORY, 0)):
                self.assertEqual(
                    count,
                    len(
                        self.found(
                            'op: eq, args: '
                            f'{{values: ["{{{field}}}", {written}]}}'
                        )
                    ),
                    (field, written),
                )
            self.assertEqual(
                ['/conditions/0/args/values/1'],
                self.found(
                    'op: eq, args: '
                    f'{{values: ["{{item.serial}}", {written}]}}, '
                    'loop: "{inventory.disks}"'
                ),
                written,
            )
            self.assertEqual(
                [],
                self.found(
                    action='op: set-attribute, args: '
                    f'{{path: /extra/a, value: {written}}}'
                ),
                written,
            )

    def test_what_is_read_as_it_is_written_is_a_number(self):
        rule = (
            '- {{conditions: [{{op: eq, args: ["{{{}}}", {}]}}], '
            'actions: [{{op: log, args: {{msg: x}}}}]}}'
        )
        for written, message in (
            (
                '1.5e+300',
                '1.5e+300 is read as a number; put text in quotes: "1.5e+300"',
            ),
            (
                '1.0e+300',
                'YAML reads 1.0e+300 as 1e+300; put text in quotes: '
                '"1.0e+300"',
            ),
        ):
            self.assertEqual(
                [('/conditions/0/args/1', message)],
                self.messages(scalars.check, rule.format(SERIAL, written)),
            )

    def test_a_message_is_text(self):
        for written in ('no', 'yes', 'off', '2.10', '0x1F'):
            self.assertEqual(
                ['/actions/0/args/msg'],
                self.found(action=f'op: fail, args: {{msg: {written}}}'),
                written,
            )
        self.assertEqual(
            [], self.found(action='op: fail, args: {msg: x, maintenance: yes}')
        )

    def test_so_is_a_capability_and_no_attribute(self):
        self.assertEqual(
            ['/actions/0/args/value'],
            self.found(
                action='op: set-capability, args: {name: a, value: yes}'
            ),
        )
        self.assertEqual(
            [],
            self.found(
                action='op: set-attribute, args: {path: /extra/a, value: yes}'
            ),
        )

    def test_values_of_a_rule_may_be_versions(self):
        for written, count in (
            ('2.10', 1),
            ('0123', 1),
            ('12:30:45', 1),
            ('"2.10"', 0),
            ('no', 0),
            ('0x1F', 0),
        ):
            self.assertEqual(
                count, len(self.found(vars=f'{{a: {written}}}')), written
            )

    def test_control_characters_come_out_of_escapes(self):
        for text, count in (
            (r'"\bR640\b"', 1),
            (r"'\bR640\b'", 0),
            (r'"\e"', 1),
            (r'"a\tb"', 0),
        ):
            self.assertEqual(
                count,
                len(
                    self.found(
                        f'op: contains, args: {{value: "{{node.name}}", '
                        f'regex: {text}}}'
                    )
                ),
                text,
            )

    def test_a_newline_at_the_end_is_compared(self):
        for text, count in ((r'"a\n"', 1), (r'"a\nb"', 0), (r'"(?x) a\n"', 0)):
            self.assertEqual(
                count,
                len(
                    self.found(
                        f'op: contains, args: {{value: "{{node.name}}", '
                        f'regex: {text}}}'
                    )
                ),
                text,
            )
        self.assertEqual([], self.found(action=r'op: log, args: {msg: "a\n"}'))
