# SPDX-License-Identifier: Apache-2.0

"""Names that are no trait, whatever a machine is like, are found."""

from ironic_inspection_rules.kit.authoring.checks import traits
from ironic_inspection_rules.tests.unit import base as unit_base
from ironic_inspection_rules.tests.unit.kit.authoring.checks import base


class ImpossibleTestCase(unit_base.TestCase):
    def test_what_may_become_a_trait_is_good(self):
        for name in (
            'CUSTOM_{inventory.cpu.model_name | trait}',
            '{inventory.cpu.model_name | trait}',
            'CUSTOM_A',
            '{item}',
            '{item}_{item}',
            'HW_CPU_X86_{item}',
            'CUSTOM_{item}_GPU',
            'CUS{item}',
            'HW_CPU_X86_VMX',
        ):
            self.assertIsNone(traits.why_impossible(name), name)

    def test_what_cannot_is_told_with_what_was_meant(self):
        for name, meant in (
            ('custom_{item}', 'CUSTOM_{item}'),
            ('CUSTOM_gpu-{item}', 'CUSTOM_GPU_{item}'),
            ('GPU_MODEL_{item}', 'CUSTOM_GPU_MODEL_{item}'),
            ('CUSTOM_{item} GB', 'CUSTOM_{item}_GB'),
            ('HW_CPU_X86_VMC', 'HW_CPU_X86_VMX'),
            ('custom_gpu', 'CUSTOM_GPU'),
        ):
            self.assertIn(
                f'did you mean "{meant}"?', traits.why_impossible(name), name
            )


class CheckTestCase(base.CheckTestCase):
    def pointers(self, conditions='[]', actions='[{op: log, args: {msg: x}}]'):
        return [
            pointer
            for pointer, _message in self.messages(
                traits.check_traits,
                f'- {{conditions: {conditions}, actions: {actions}}}',
            )
        ]

    def test_actions_on_traits_are_looked_at(self):
        field = '"custom_{inventory.hostname}"'
        for action, pointer in (
            ('add-trait, args: {name: %s}', 'name'),
            ('remove-trait, args: {name: %s}', 'name'),
            ('set-traits, args: {names: [CUSTOM_A, %s]}', 'names'),
            ('set-traits, args: {names: [], prefix: %s}', 'prefix'),
        ):
            self.assertEqual(
                [f'/actions/0/args/{pointer}'],
                self.pointers(actions=f'[{{op: {action % field}}}]'),
                action,
            )
        for prefix in (
            '""',
            'CUSTOM_',
            '"{item | trait}_"',
            '"CUSTOM_{item}"',
        ):
            self.assertEqual(
                [],
                self.pointers(
                    actions='[{op: set-traits, args: {names: [], prefix: '
                    f'{prefix}}}}}]'
                ),
                prefix,
            )

    def test_items_of_a_loop_are_looked_at(self):
        self.assertEqual(
            ['/actions/0/args/name'],
            self.pointers(
                actions='[{op: add-trait, args: {name: "{item}"}, '
                'loop: [CUSTOM_A, gpu-b]}]'
            ),
        )

    def test_conditions_on_the_traits_of_the_node_are_looked_at(self):
        one = '[{op: one-of, args: {value: %s, values: "{node.traits}"}}]'
        self.assertEqual([], self.pointers(one % 'CUSTOM_A'))
        self.assertEqual(
            ['/conditions/0/args/value'], self.pointers(one % 'CUSTOM_a')
        )

    def test_text_of_machines_is_made_fit_for_traits(self):
        for field, count in (
            ('inventory.system_vendor.product_name', 1),
            ('inventory.cpu.model_name', 1),
            ('inventory.hostname', 1),
            ('inventory.cpu.architecture', 0),
            ('inventory.boot.current_boot_mode', 0),
            ('inventory.cpu.count', 0),
            ('item', 0),
            ('inventory.cpu.model_name | trait', 0),
        ):
            for action in (
                'add-trait, args: {name: "CUSTOM_{%s}"}',
                'set-traits, args: {names: ["CUSTOM_{%s}"]}',
            ):
                found = self.messages(
                    traits.check_texts,
                    f'- actions: [{{op: {action % field}}}]',
                )
                self.assertEqual(count, len(found), (field, action))
                for _pointer, message in found:
                    self.assertIn(f'{{{field} | trait}}', message)
