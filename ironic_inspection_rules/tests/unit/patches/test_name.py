# SPDX-License-Identifier: Apache-2.0

"""Names of Ironic; each that is used here, on the Ironic that is installed.

Run on another one by "tox -e patches -- --ironic 40.0.0".
"""

import importlib
import logging
import pkgutil
import sys
import types

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules import hook
from ironic_inspection_rules import patches
from ironic_inspection_rules.api import install
from ironic_inspection_rules.patches import name
from ironic_inspection_rules.patches import stock_engine
from ironic_inspection_rules.tests.unit import base


class Owner:
    def __init__(self):
        self.given = 1

    def method(self, task, event='deploy'):
        """Something to be found."""


class Heir(Owner):
    """A class that gives its instances what its parent does."""


class NameTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.module = types.ModuleType('ironic_of_this_test')
        self.module.Owner = Owner
        self.module.Heir = Heir
        self.module.empty = None
        self.module.function = lambda a, b, *rest: None
        self.useFixture(
            fixtures.MonkeyPatch(
                'sys.modules',
                {**sys.modules, self.module.__name__: self.module},
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.patches.name.release',
                lambda: self.release,
            )
        )
        self.release = '39.0.2.dev7'
        name._warn_of_untried.cache_clear()

    def name(self, path, *parameters, **more):
        return name.Name(
            self.module.__name__, path, 'it is off', parameters or None, **more
        )

    def test_what_has_the_name_is_found(self):
        self.assertIs(Owner.method, self.name('Owner.method').find())
        self.assertIsNone(self.name('Owner.moved').find())
        self.assertIsNone(name.Name('ironic_of_no_test', 'a', 'b').find())

    def test_it_can_mean_something_else(self):
        self.name('function').replace_with(len)
        self.assertIs(len, self.module.function)
        self.useFixture(fixtures.MonkeyPatch(f'{__name__}.Owner.method', 0))
        self.name('Owner.method').replace_with(max)
        self.assertIs(max, Owner.method)

    def test_what_is_as_needed_is_no_problem(self):
        for each in (
            self.name('Owner'),
            self.name('empty'),
            self.name('Owner.given'),
            self.name('Heir.given'),
            self.name('Owner.method', 'self', 'task'),
            self.name('Owner.method', 'self', 'task', 'event'),
            self.name('function', 'a', 'b'),
        ):
            self.assertIsNone(each.find_problem(), each)

    def test_a_missing_name_is_a_problem(self):
        for path in ('moved', 'Owner.moved', 'Moved.method'):
            self.assertEqual(
                f'ironic_of_this_test.{path} is not there',
                self.name(path).find_problem(),
            )

    def test_a_missing_module_is_one_where_every_release_has_it(self):
        for everywhere, problem in (
            (False, None),
            (True, 'ironic_40 is not there'),
        ):
            self.assertEqual(
                problem,
                name.Name(
                    'ironic_40', 'a', 'b', in_every_release=everywhere
                ).find_problem(),
            )

    def test_other_parameters_are_a_problem(self):
        for path, parameters, takes in (
            ('Owner.method', ('self', 'node'), 'self, task, event'),
            ('function', ('a',), 'a, b, rest'),
            ('function', ('b', 'a'), 'a, b, rest'),
        ):
            problem = self.name(path, *parameters).find_problem()
            needed = ', '.join(parameters)
            self.assertEqual(
                f'ironic_of_this_test.{path} takes '
                f'({takes}) instead of ({needed})',
                problem,
            )

    def test_what_is_no_function_has_no_parameters(self):
        self.assertEqual(
            'ironic_of_this_test.empty is not a function',
            self.name('empty', 'a').find_problem(),
        )

    def test_the_error_names_all_required_names_that_are_missing(self):
        error = self.assertRaises(
            exceptions.UnsupportedIronic,
            name.check,
            [self.name('moved'), self.name('Owner'), self.name('gone')],
        )
        self.assertEqual(
            'Ironic 39.0.2.dev7 cannot be extended: '
            'ironic_of_this_test.moved is not there, and without it it is '
            'off; ironic_of_this_test.gone is not there, and without it it '
            'is off',
            str(error),
        )

    def test_what_is_not_required_is_switched_off_with_a_warning(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        name.check([self.name('moved', required=False), self.name('Owner')])
        self.assertEqual(
            'This Ironic, 39.0.2.dev7, is not one that is supported: '
            'ironic_of_this_test.moved is not there. Without it it is off.\n',
            log.output,
        )

    def test_a_newer_ironic_with_all_names_gets_one_warning(self):
        self.release = '40.0.0'
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        name.check([self.name('Owner')])
        name.check([self.name('function')])
        self.assertEqual(
            'Ironic 40.0.0 is newer than 39.0.0, the newest that inspection '
            'rules have been tried on. All names that they need are there.\n',
            log.output,
        )

    def test_a_newer_ironic_without_a_name_is_refused(self):
        self.release = '40.0.0'
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        error = self.assertRaises(
            exceptions.UnsupportedIronic, name.check, [self.name('moved')]
        )
        self.assertIn(
            'Ironic 40.0.0 cannot be extended: '
            'ironic_of_this_test.moved is not there',
            str(error),
        )
        self.assertEqual('', log.output)

    def test_an_older_ironic_is_refused(self):
        self.release = '34.0.0'
        error = self.assertRaises(exceptions.UnsupportedIronic, name.check, [])
        self.assertEqual(
            'Ironic 34.0.0 cannot be extended: it is older than 35, the '
            'oldest that is supported',
            str(error),
        )


ALL = {*install.NAMES, *hook.NAMES, *stock_engine.NAMES}


class NamesTestCase(base.IronicTestCase):
    def test_this_ironic_has_every_name_as_needed(self):
        problems = [
            f'{problem}: {each.without}'
            for each in ALL
            if (problem := each.find_problem())
        ]
        self.assertEqual([], sorted(problems), name.release())

    def test_every_patch_says_what_it_needs(self):
        for module in pkgutil.iter_modules(patches.__path__):
            if module.name == 'name':
                continue
            declared = importlib.import_module(
                f'{patches.__name__}.{module.name}'
            ).NAMES
            self.assertIsInstance(declared, tuple, module.name)
            self.assertLessEqual(set(declared), ALL, module.name)
