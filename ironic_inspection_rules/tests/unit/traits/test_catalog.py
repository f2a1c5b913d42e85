# SPDX-License-Identifier: Apache-2.0

from ironic.db.sqlalchemy import models
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.tests import database
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.traits import catalog


class ParseTestCase(base.TestCase):
    def test_nothing_selects_all(self):
        self.assertEqual(catalog.Selection(), catalog.parse(None))

    def test_startswith_selects_by_prefix(self):
        selection = catalog.parse('startswith:CUSTOM_A')
        self.assertTrue(selection.includes('CUSTOM_A1'))
        self.assertFalse(selection.includes('CUSTOM_B'))

    def test_an_empty_prefix_selects_all(self):
        self.assertTrue(catalog.parse('startswith:').includes('CUSTOM_A'))

    def test_in_selects_what_it_lists(self):
        selection = catalog.parse('in:CUSTOM_A, CUSTOM_B,')
        self.assertTrue(selection.includes('CUSTOM_B'))
        self.assertFalse(selection.includes('CUSTOM_C'))

    def test_too_many_names_are_refused(self):
        most = trait_names.MOST_ASKED
        good = [f'CUSTOM_{number}' for number in range(most)]
        self.assertEqual(
            frozenset(good), catalog.parse('in:' + ','.join(good)).names
        )
        error = self.assertRaises(
            exceptions.Invalid, catalog.parse, 'in:' + ',' * most
        )
        self.assertIn(f'at most {most} names', str(error))

    def test_any_other_form_is_refused(self):
        for value in (
            '',
            'CUSTOM_A',
            'in',
            'in:',
            'in:,',
            'endswith:A',
            'IN:CUSTOM_A',
        ):
            error = self.assertRaises(exceptions.Invalid, catalog.parse, value)
            self.assertIn('startswith:', str(error))

    def test_the_operator_is_read_before_names_are_counted(self):
        error = self.assertRaises(
            exceptions.Invalid,
            catalog.parse,
            'endswith:' + ',' * trait_names.MOST_ASKED,
        )
        self.assertIn('startswith:', str(error))


class SelectionTestCase(base.TestCase):
    def found(self, selection, *names):
        """Return which of some names a database finds."""
        with sa.create_engine('sqlite://').connect() as connection:
            return [
                name
                for name in names
                if connection.scalar(
                    sa.select(sa.and_(*selection.conditions(sa.literal(name))))
                )
            ]

    def test_a_prefix_is_searched_for_as_it_is(self):
        self.assertEqual(
            ['CUSTOM_A%', 'CUSTOM_A%B'],
            self.found(
                catalog.Selection(prefix='CUSTOM_A%'),
                'CUSTOM_A',
                'CUSTOM_A%',
                'CUSTOM_A%B',
                'CUSTOM_AB',
                'CUSTOMXA%B',
            ),
        )

    def test_a_list_is_searched_for(self):
        self.assertEqual(
            ['CUSTOM_A', 'CUSTOM_B'],
            self.found(
                catalog.Selection(names=frozenset(['CUSTOM_B', 'CUSTOM_A'])),
                'CUSTOM_A',
                'CUSTOM_AB',
                'CUSTOM_B',
                'CUSTOM_C',
            ),
        )

    def test_all_need_no_condition(self):
        for selection in (catalog.Selection(), catalog.Selection(prefix='')):
            self.assertEqual(
                [], list(selection.conditions(sa.column('trait')))
            )


class CountNodesTestCase(base.IronicTestCase):
    selection = catalog.parse(
        'in:CUSTOM_B,CUSTOM_A,HW_CPU_X86_VMX,HW_CPU_X86_SVM,CUSTOM_NONE'
    )

    def setUp(self):
        super().setUp()
        self.useFixture(database.Database(ironic=True))
        with transaction.writer() as session:
            for node_id in range(1, 4):
                session.add(
                    models.Node(
                        id=node_id, owner=f'owner-{node_id}', lessee='all'
                    )
                )
            session.flush()
            for trait, count in (
                ('CUSTOM_B', 2),
                ('CUSTOM_A', 1),
                ('HW_CPU_X86_VMX', 3),
            ):
                for node_id in range(1, count + 1):
                    session.add(
                        models.NodeTrait(
                            node_id=node_id, trait=trait, version='1.0'
                        )
                    )

    def count(self, selection=selection, project=None, associated=None):
        return catalog.count_nodes(selection, project, associated)

    def test_standard_traits_are_there_without_nodes(self):
        found = self.count(catalog.Selection())
        self.assertEqual(
            trait_names.STANDARD | {'CUSTOM_A', 'CUSTOM_B'}, found.keys()
        )
        self.assertEqual(3, found['HW_CPU_X86_VMX'])
        self.assertEqual(0, found['HW_CPU_X86_SVM'])

    def test_only_what_is_asked_for_comes_in_order(self):
        self.assertEqual(
            [
                ('CUSTOM_A', 1),
                ('CUSTOM_B', 2),
                ('HW_CPU_X86_SVM', 0),
                ('HW_CPU_X86_VMX', 3),
            ],
            list(self.count().items()),
        )

    def test_only_nodes_of_a_project_are_counted(self):
        self.assertEqual(
            {'CUSTOM_B': 1, 'HW_CPU_X86_VMX': 1},
            self.count(project='owner-2', associated=True),
        )
        self.assertEqual(self.count(), self.count(project='all'))

    def test_associated_ones_have_nodes(self):
        self.assertEqual(
            ['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX'],
            list(self.count(associated=True)),
        )

    def test_the_others_have_none(self):
        self.assertEqual(
            ['HW_CPU_X86_SVM'], list(self.count(associated=False))
        )
