# SPDX-License-Identifier: Apache-2.0

import itertools

import fixtures
from ironic.db.sqlalchemy import models
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.traits import filter as trait_filter

NAMES = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C')

#: What each parameter means, told once more in other words.
MEANINGS = {
    'traits': lambda has, asked: asked <= has,
    'traits-any': lambda has, asked: bool(asked & has),
    'not-traits': lambda has, asked: not asked <= has,
    'not-traits-any': lambda has, asked: not asked & has,
}


def subsets(names):
    return [
        frozenset(chosen)
        for size in range(len(names) + 1)
        for chosen in itertools.combinations(names, size)
    ]


class ParseTestCase(base.TestCase):
    def test_a_list_is_split_at_commas(self):
        self.assertEqual(
            (('traits', ('CUSTOM_A', 'CUSTOM_B')),),
            trait_filter.parse({'traits': 'CUSTOM_A,CUSTOM_B'}),
        )

    def test_spaces_empty_items_and_duplicates_do_not_count(self):
        self.assertEqual(
            (('traits-any', ('CUSTOM_B', 'CUSTOM_A')),),
            trait_filter.parse(
                {'traits-any': ' CUSTOM_B,,CUSTOM_A , CUSTOM_B,'}
            ),
        )

    def test_a_repeated_parameter_is_a_filter_each_time(self):
        self.assertEqual(
            (('traits-any', ('CUSTOM_A',)), ('traits-any', ('CUSTOM_B',))),
            trait_filter.parse({'traits-any': ['CUSTOM_A', 'CUSTOM_B']}),
        )

    def test_too_many_names_are_refused_before_they_are_looked_at(self):
        most = trait_names.MOST_ASKED
        good = [f'CUSTOM_{number}' for number in range(most)]
        trait_filter.parse({'traits': good[1:], 'traits-any': good[0]})

        for values in (
            {'traits': [*good, 'CUSTOM_A']},
            {'traits': good, 'not-traits': 'CUSTOM_A'},
            {'traits-any': ','.join([*good, '~'])},
            {'traits': ',' * 10_000},
        ):
            error = self.assertRaises(
                exceptions.Invalid, trait_filter.parse, values
            )
            self.assertIn(f'at most {most} names', str(error))

    def test_an_empty_list_is_refused(self):
        for value in ('', ' ', ',', ['CUSTOM_A', '']):
            error = self.assertRaises(
                exceptions.Invalid, trait_filter.parse, {'not-traits': value}
            )
            self.assertIn('not-traits', str(error))

    def test_a_bad_name_is_refused(self):
        error = self.assertRaises(
            exceptions.Invalid,
            trait_filter.parse,
            {'traits': 'CUSTOM_A,custom_b'},
        )
        self.assertIn("'custom_b'", str(error))


class ConditionsTestCase(base.TestCase):
    """Every filter over a fleet that has a node for every set of traits."""

    def setUp(self):
        super().setUp()
        metadata = sa.MetaData()
        self.nodes = sa.Table(
            'nodes', metadata, sa.Column('id', sa.Integer, primary_key=True)
        )
        self.traits = sa.Table(
            'node_traits',
            metadata,
            sa.Column('node_id', sa.Integer),
            sa.Column('trait', sa.String(255)),
        )
        self.engine = sa.create_engine('sqlite://')
        metadata.create_all(self.engine)
        self.addCleanup(self.engine.dispose)

    def enroll(self, fleet):
        self.fleet = dict(enumerate(fleet, 1))
        with self.engine.begin() as connection:
            for number, has in self.fleet.items():
                connection.execute(self.nodes.insert(), {'id': number})
                for trait in has:
                    connection.execute(
                        self.traits.insert(),
                        {'node_id': number, 'trait': trait},
                    )

    def found(self, *terms, rare=()):
        query = sa.select(models.Node.id).where(
            *trait_filter.conditions(terms, rare)
        )
        with self.engine.connect() as connection:
            return sorted(connection.execute(query).scalars())

    def rare(self, *terms):
        query = trait_filter.select_rare(terms)
        with self.engine.connect() as connection:
            return set(connection.execute(query).scalars())

    def expected(self, *terms):
        return [
            number
            for number, has in self.fleet.items()
            if all(
                MEANINGS[term.parameter](has, frozenset(term.names))
                for term in terms
            )
        ]

    def test_each_filter_alone(self):
        self.enroll(subsets(NAMES))
        for parameter, names in itertools.product(
            trait_filter.PARAMETERS, subsets(NAMES)[1:]
        ):
            term = trait_filter.Term(parameter, tuple(names))
            self.assertEqual(self.expected(term), self.found(term), term)

    def test_how_rare_a_trait_is_changes_nothing(self):
        self.enroll(subsets(NAMES))
        for parameter, names, rare in itertools.product(
            trait_filter.PARAMETERS, subsets(NAMES)[1:], subsets(NAMES)
        ):
            term = trait_filter.Term(parameter, tuple(names))
            self.assertEqual(
                self.expected(term), self.found(term, rare=rare), (term, rare)
            )

    def test_rare_is_what_few_nodes_have(self):
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.traits.filter._MOST_NODES_OF_RARE', 1
            )
        )
        self.enroll([{'CUSTOM_A', 'CUSTOM_B'}, {'CUSTOM_A', 'CUSTOM_D'}])
        self.assertEqual(
            {'CUSTOM_B', 'CUSTOM_C'},
            self.rare(
                trait_filter.Term('traits', ('CUSTOM_A', 'CUSTOM_B')),
                trait_filter.Term('traits-any', ('CUSTOM_C',)),
                trait_filter.Term('not-traits', ('CUSTOM_D',)),
            ),
        )

    def test_what_nodes_must_not_have_need_not_be_rare(self):
        self.assertIsNone(
            trait_filter.select_rare(
                (
                    trait_filter.Term('not-traits', ('CUSTOM_A',)),
                    trait_filter.Term('not-traits-any', ('CUSTOM_B',)),
                )
            )
        )

    def test_filters_hold_together(self):
        self.enroll(subsets(NAMES))
        terms = [
            trait_filter.Term(parameter, tuple(names))
            for parameter, names in itertools.product(
                trait_filter.PARAMETERS, subsets(NAMES[:2])[1:]
            )
        ]
        for pair in itertools.combinations(terms, 2):
            self.assertEqual(self.expected(*pair), self.found(*pair), pair)

    def test_long_lists_mean_the_same(self):
        names = tuple(f'CUSTOM_{number}' for number in range(60))
        self.enroll([names, names[1:], names[:-1], names[:1], names[-1:], ()])
        for parameter in trait_filter.PARAMETERS:
            term = trait_filter.Term(parameter, names)
            self.fleet = {
                number: frozenset(has) for number, has in self.fleet.items()
            }
            self.assertEqual(self.expected(term), self.found(term), term)

    def test_no_filter_keeps_every_node(self):
        self.enroll(subsets(NAMES))
        self.assertEqual(list(self.fleet), self.found())
