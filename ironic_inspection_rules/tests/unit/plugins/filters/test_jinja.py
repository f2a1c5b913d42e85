# SPDX-License-Identifier: Apache-2.0

"""Filters do what those of Jinja2 and Ansible do, for any values."""

import datetime
import functools
import itertools
import math
import re
import types

import hypothesis
from hypothesis import strategies as st
import jinja2

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.engine import fuzz
from ironic_inspection_rules.tests.unit.plugins.filters import grammar

_JINJA = jinja2.Environment(autoescape=False)
_NOTHING = object()

# There are many expressions.
_settings = hypothesis.settings(fuzz.settings, max_examples=base.EXAMPLES // 2)

whole = st.integers(-(10**12), 10**12)
numbers = st.one_of(whole, st.floats(-1e12, 1e12))
words = st.text('abAB äÖß,.-_', max_size=6)
dicts = st.fixed_dictionaries({'n': numbers, 'w': words})
deep = numbers.map(lambda number: {'in': {'n': number}})


def ours(expression, **data):
    """What a field gives; an error is its class, nothing is nothing."""
    compiled = template.compile_value(f'{{{expression}}}')
    try:
        value = compiled.render(budget.View({'plugin_data': data}))
    except exceptions.OperationError:
        return exceptions.OperationError
    return _NOTHING if isinstance(value, rendering.Missing) else value


def refused(expression):
    """Return the class of the error with which a rule is refused."""
    try:
        template.compile_value(f'{{{expression}}}')
    except exceptions.OperationError as exc:
        return type(exc)
    return None


@functools.cache
def _compile(expression):
    return _JINJA.compile_expression(expression, undefined_to_none=False)


def jinja(expression, **data):
    """What Jinja2 makes of the same text, a list of a generator."""
    compiled = _compile(expression)
    try:
        value = compiled(plugin_data=data)
        if isinstance(value, types.GeneratorType | itertools.chain):
            value = list(value)
    except (TypeError, ValueError, ArithmeticError):
        return exceptions.OperationError
    return _NOTHING if isinstance(value, jinja2.Undefined) else value


# Each filter as it is written, what it is given, and its arguments a and b.
_NONE = st.none()
CASES = {
    'lower': [('lower', st.one_of(words, grammar.texts, numbers), _NONE)],
    'upper': [('upper', st.one_of(words, grammar.texts, numbers), _NONE)],
    'trim': [
        ('trim', grammar.texts, _NONE),
        ('trim(plugin_data.a)', words, words),
    ],
    'replace': [
        ('replace(plugin_data.a, plugin_data.b)', words, words),
        ("replace('a', plugin_data.a, 2)", words, words),
        *[
            (
                f'replace({written})',
                st.one_of(words, numbers, st.text('ab', min_size=80)),
                _NONE,
            )
            for written in ("'', 'ab'", "'b', '', 300", f"'a', '{'b' * 300}'")
        ],
    ],
    'join': [
        ('join', st.lists(st.one_of(words, numbers)), _NONE),
        ('join(plugin_data.a)', st.lists(st.one_of(words, whole)), words),
        ("join('-', 'n')", st.lists(dicts), _NONE),
        ("join(', ', attribute='w')", st.lists(dicts), _NONE),
    ],
    'default': [
        ('default(plugin_data.a)', grammar.values, grammar.values),
        ('default(plugin_data.a, true)', grammar.values, grammar.values),
        ('nothing | default(plugin_data.a)', st.just({}), grammar.values),
    ],
    'int': [
        ('int', st.one_of(numbers, whole.map(str), numbers.map(str)), _NONE)
    ],
    'float': [('float', st.one_of(numbers, numbers.map(str)), _NONE)],
    'round': [
        ('round', numbers, _NONE),
        ('round(plugin_data.a)', numbers, st.integers(-12, 12)),
    ],
    'abs': [('abs', numbers, _NONE)],
    'length': [
        (
            'length',
            st.one_of(words, st.lists(numbers), st.dictionaries(words, words)),
            _NONE,
        )
    ],
    'sum': [
        ('sum', st.lists(numbers), _NONE),
        ("sum('n')", st.lists(dicts), _NONE),
        ("sum(attribute='in.n')", st.lists(deep), _NONE),
    ],
    **{
        name: [
            (name, st.one_of(st.lists(numbers), st.lists(words)), _NONE),
            (f"{name}(attribute='n')", st.lists(dicts), _NONE),
            (f"{name}(attribute='w')", st.lists(dicts), _NONE),
        ]
        for name in ('min', 'max')
    },
    'first': [('first', st.one_of(st.lists(grammar.values), words), _NONE)],
    'last': [('last', st.one_of(st.lists(grammar.values), words), _NONE)],
    'unique': [
        (
            'unique',
            st.lists(st.one_of(words, whole, st.booleans(), _NONE)),
            _NONE,
        ),
        ("unique(attribute='w')", st.lists(dicts), _NONE),
    ],
    'sort': [
        (
            'sort',
            st.one_of(
                st.lists(numbers),
                st.lists(words),
                st.lists(st.one_of(whole, words)),
            ),
            _NONE,
        ),
        ("sort(attribute='w')", st.lists(dicts), _NONE),
        ("sort(attribute='w,n')", st.lists(dicts), _NONE),
        ('sort', st.lists(st.one_of(_NONE, st.just({}))), _NONE),
        ('sort(reverse=true)', st.lists(words), _NONE),
        ("sort(reverse=true, attribute='in.n')", st.lists(deep), _NONE),
    ],
    'map': [
        ("map(attribute='n')", st.lists(dicts), _NONE),
        ("map(attribute='in.n')", st.lists(deep), _NONE),
        (
            "map(attribute='w', default=7)",
            st.lists(st.one_of(dicts, st.just({}))),
            _NONE,
        ),
        ("map('upper')", st.lists(words), _NONE),
        ("map('round', 1)", st.lists(numbers), _NONE),
        ("map('replace', 'a', plugin_data.a)", st.lists(words), words),
        ("map('default', plugin_data.a, true)", st.lists(words), words),
    ],
    **{
        name: [
            (
                f"{name}('{op}', plugin_data.a)",
                st.lists(st.integers(-3, 3)),
                st.integers(-3, 3),
            )
            for op in ('eq', 'ne', 'lt', 'le', 'gt', 'ge')
        ]
        for name in ('select', 'reject')
    },
    **{
        name: [
            (f"{name}('w', 'eq', plugin_data.a)", st.lists(dicts), words),
            *[
                (
                    f"{name}('n', '{op}', plugin_data.a)",
                    st.lists(dicts),
                    numbers,
                )
                for op in ('ne', 'lt', 'le', 'gt', 'ge')
            ],
        ]
        for name in ('selectattr', 'rejectattr')
    },
}

# What Jinja2 has no filter for, and how it is said there.
_mappings = st.dictionaries(words, grammar.values, max_size=5)
OTHERWISE = [
    ('plugin_data.v | keys', 'plugin_data.v.keys() | list', _mappings, _NONE),
    (
        'plugin_data.v | values',
        'plugin_data.v.values() | list',
        _mappings,
        _NONE,
    ),
    (
        'plugin_data.v | get("n")',
        'plugin_data.v["n"]',
        st.one_of(dicts, st.just({})),
        _NONE,
    ),
    (
        'plugin_data.v | get("in.n", 7)',
        'plugin_data.v["in"]["n"]',
        deep,
        _NONE,
    ),
    ('plugin_data.v | get(1)', 'plugin_data.v[1]', st.lists(words), _NONE),
    (
        'plugin_data.v | get(plugin_data.a)',
        'plugin_data.v[plugin_data.a]',
        _mappings,
        words,
    ),
    *[
        (
            f'plugin_data.v | {name}(plugin_data.a)',
            f'plugin_data.v {sign} plugin_data.a',
            numbers,
            numbers,
        )
        for name, sign in (
            ('add', '+'),
            ('subtract', '-'),
            ('multiply', '*'),
            ('divide', '/'),
        )
    ],
]


class JinjaTestCase(base.TestCase):
    """Has one test for each filter; see the end of this module."""

    def check(self, name):
        for expression, values, arguments in CASES[name]:
            self.check_expression(expression, values, arguments)

    def check_expression(self, expression, values, arguments):
        dot = '.' if expression.startswith('nothing') else ' | '
        expression = f'plugin_data.v{dot}{expression}'

        @_settings
        @hypothesis.given(values, arguments, arguments)
        def check(value, a, b):
            data = {'v': value, 'a': a, 'b': b}
            expected = jinja(expression, **data)
            found = ours(expression, **data)
            self.assertEqual(repr(expected), repr(found), (expression, data))

        check()

    @fuzz.settings
    @hypothesis.given(st.data(), grammar.values)
    def test_literals_are_read_as_they_are_there(self, data, value):
        text = data.draw(grammar.written(value))
        expression = f'plugin_data.nothing | default({text})'
        self.assertEqual(repr(value), repr(ours(expression)))
        self.assertEqual(repr(jinja(expression)), repr(ours(expression)))

    @fuzz.settings
    @hypothesis.given(words, st.sampled_from([*'aäB ,', 'ab', None]))
    def test_split_is_that_of_python_as_in_ansible(self, text, separator):
        call = 'split' if separator is None else 'split(plugin_data.a)'
        self.assertEqual(
            text.split(separator),
            ours(f'plugin_data.v | {call}', v=text, a=separator),
        )

    @fuzz.settings
    @hypothesis.given(
        words,
        st.sampled_from(
            ['a', '[aA]+', '(a)|(b)', '^.', r'(?P<n>\w)b', 'x*', '']
        ),
    )
    def test_regex_search_is_that_of_ansible(self, text, expression):
        match = re.search(expression, text)
        self.assertEqual(
            match[0] if match else _NOTHING,
            ours(rf'plugin_data.v | regex_search("{expression}")', v=text),
        )

    @fuzz.settings
    @hypothesis.given(
        words,
        st.sampled_from(['a', '[aA]+', '()(b)', 'x*']),
        st.sampled_from(['', 'b', r'<\g<0>>', 'Ö-']),
    )
    def test_regex_replace_is_that_of_ansible(self, text, expression, to):
        self.assertEqual(
            re.sub(expression, to, text),
            ours(
                rf'plugin_data.v | regex_replace("{expression}", "{to}")',
                v=text,
            ),
        )

    @fuzz.settings
    @hypothesis.given(st.sampled_from(sorted(CASES)), grammar.values)
    def test_what_a_filter_cannot_take_is_no_other_error(self, name, value):
        for expression, _values, _arguments in CASES[name]:
            if not expression.startswith('nothing'):
                ours(f'plugin_data.v | {expression}', v=value, a=1, b=2)

    def test_what_is_equal_stays_in_order(self):
        data = [
            {'n': number, 'at': at}
            for at, number in enumerate([1, 2, 1, 2, 1])
        ]
        for reverse in ('false', 'true'):
            expression = (
                f"plugin_data.x | sort(attribute='n', "
                f"reverse={reverse}) | map(attribute='at')"
            )
            self.assertEqual(
                jinja(expression, x=data), ours(expression, x=data)
            )

    def test_numbers_are_finite(self):
        filters = (
            'int',
            'float',
            'round',
            'abs',
            'add(1)',
            'divide(2)',
            "tier([[0, 'a']])",
        )
        for number in (math.inf, -math.inf, math.nan):
            for each in filters:
                self.assertIs(
                    exceptions.OperationError,
                    ours(f'plugin_data.v | {each}', v=number),
                    repr(number),
                )
        for values in ([1e308, 1e308], [math.inf]):
            self.assertIs(
                exceptions.OperationError,
                ours('plugin_data.v | sum', v=values),
                repr(values),
            )

    def test_what_jinja_says_otherwise(self):
        for case in OTHERWISE:
            self.check_otherwise(*case)

    def check_otherwise(self, expression, said, values, arguments):
        @_settings
        @hypothesis.given(values, arguments)
        def check(value, a):
            expected = jinja(said, v=value, a=a)
            if isinstance(expected, float) and not math.isfinite(expected):
                expected = exceptions.OperationError
            self.assertEqual(
                repr(expected),
                repr(ours(expression, v=value, a=a)),
                (expression, value, a),
            )

        check()

    @fuzz.settings
    @hypothesis.given(_mappings)
    def test_dict2items_is_that_of_ansible(self, mapping):
        for call, key, value in (
            ('dict2items', 'key', 'value'),
            ("dict2items(key_name='file', value_name='path')", 'file', 'path'),
        ):
            self.assertEqual(
                repr([{key: each, value: mapping[each]} for each in mapping]),
                repr(ours(f'plugin_data.v | {call}', v=mapping)),
            )
        self.assertIs(
            exceptions.OperationError,
            ours('plugin_data.v | dict2items', v=[mapping]),
        )

    @fuzz.settings
    @hypothesis.given(
        st.datetimes(),
        st.sampled_from(
            ['%m/%d/%Y', '%Y%m%d', '%d.%m.%Y %H:%M', '%Y-%j', '100%% %d %b %Y']
        ),
    )
    def test_date_reads_what_was_written(self, moment, written):
        hypothesis.assume(moment.year >= 1000)
        read = datetime.datetime.strptime(moment.strftime(written), written)
        self.assertEqual(
            (read if '%H' in written else read.date()).isoformat(),
            ours(
                f"plugin_data.v | date('{written}')",
                v=moment.strftime(written),
            ),
        )

    def test_a_date_has_a_format_of_python(self):
        for written in ('%Q', '%'):
            self.assertIs(
                exceptions.OperationError,
                refused(f"plugin_data.v | date('{written}')"),
                repr(written),
            )
        self.assertIs(
            exceptions.OperationError,
            refused('plugin_data.v | date(plugin_data.a)'),
        )


for _name in CASES:
    setattr(
        JinjaTestCase,
        f'test_{_name}',
        lambda self, name=_name: self.check(name),
    )
