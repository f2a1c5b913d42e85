# SPDX-License-Identifier: Apache-2.0

"""The arguments an op declares, and those a rule gives it."""

import typing

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz


def plain(target, path: str, value: typing.Any, unique: bool = False):
    """Declare arguments as an action does."""


def variadic(*values, force_strings: bool = False):
    """Declare arguments as a comparison does."""


class SignatureTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.plain = arguments.Signature(plain, skip=1)
        self.variadic = arguments.Signature(variadic)

    def test_it_reads_as_it_is_declared(self):
        self.assertEqual('path, value, unique=false', str(self.plain))
        self.assertEqual('*values, force_strings=false', str(self.variadic))
        self.assertEqual('no arguments', str(arguments.Signature(lambda: 0)))

    def test_a_list_and_a_mapping_bind_alike(self):
        bound = ({'path': '/a', 'value': 1, 'unique': True}, [])
        self.assertEqual(bound, self.plain.bind(['/a', 1, True]))
        self.assertEqual(
            bound, self.plain.bind({'unique': True, 'value': 1, 'path': '/a'})
        )

    def test_a_variadic_argument_takes_all_of_a_list(self):
        for args in ([1, 2], [[1, 2]], {'values': [1, 2]}):
            self.assertEqual(
                ({'values': [1, 2]}, []), self.variadic.bind(args)
            )

    def test_null_is_no_arguments(self):
        bound, problems = self.plain.bind(None)
        self.assertEqual({}, bound)
        self.assertEqual(2, len(problems))

    def test_every_problem_is_reported(self):
        _bound, problems = self.plain.bind({'pat': 1, 'valeu': 2})
        self.assertEqual(
            ['/pat', '/valeu', '', ''],
            [problem.pointer for problem in problems],
        )

    def test_parameters_that_have_no_name_are_no_plugin(self):
        for function in (lambda **others: 0, lambda a, /: 0):
            self.assertRaises(
                exceptions.PluginError, arguments.Signature, function
            )

    def test_a_plugin_takes_what_the_engine_gives(self):
        self.assertRaises(
            exceptions.PluginError, arguments.Signature, lambda: 0, skip=1
        )

    @fuzz.settings
    @hypothesis.given(st.one_of(fuzz.json_values, fuzz.mappings))
    def test_nothing_raises(self, args):
        for signature in (self.plain, self.variadic):
            bound, problems = signature.bind(args)
            if not problems:
                self.assertLessEqual(
                    bound.keys(), signature.by_name.keys(), repr(signature)
                )


class ConvertTestCase(base.TestCase):
    def convert(self, kind, value, default=arguments.REQUIRED):
        return arguments.convert(
            value, arguments.Argument('it', kind, default)
        )

    def test_values_are_read_leniently(self):
        for kind, value, expected in (
            (bool, 'yes', True),
            (bool, 'False', False),
            (bool, 1, True),
            (int, '5', 5),
            (int, 5.0, 5),
            (float, '2.5', 2.5),
            (float, 2, 2.0),
            (str, 5, '5'),
            (str, 'a', 'a'),
            (list, [1], [1]),
            (typing.Any, {}, {}),
        ):
            found = self.convert(kind, value)
            self.assertEqual((expected, type(expected)), (found, type(found)))

    def test_what_cannot_be_read_is_refused(self):
        for kind, value in (
            (bool, 'perhaps'),
            (bool, []),
            (bool, None),
            (int, True),
            (int, 'a'),
            (int, float('inf')),
            (float, {}),
            (str, []),
            (int, '1_0'),
            (int, '1 0'),
            (int, '\u0661'),
            (int, '5.0'),
            (float, '1_0.5'),
            (float, '\u0661.5'),
            (float, 'inf'),
            (str, None),
            (list, 'text'),
            (list, {}),
            (list, None),
        ):
            self.assertRaises(
                exceptions.OperationError, self.convert, kind, value
            )

    def test_null_is_the_default(self):
        self.assertEqual(3, self.convert(int, None, default=3))
        self.assertIsNone(self.convert(typing.Any, None))
