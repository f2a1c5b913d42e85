# SPDX-License-Identifier: Apache-2.0

"""Rules that hypothesis makes: good ones, and ones with something wrong."""

import string

from hypothesis import strategies as st

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry

FIELDS = (
    '{node.name}',
    '{inventory[memory][physical_mb]}',
    '{item}',
    'a {plugin_data.x} b',
    '{{x}}',
    '{x',
    '{',
    '}',
    '{{{node.name}',
    '{nobody}',
    '}}{inventory}',
)

WORDS = (
    '',
    '/extra/a',
    'extra.a',
    '/name',
    '/driver',
    '/owner',
    '/',
    '.a',
    '.a/b',
    '//a',
    'extra',
    '/extra',
    '/nme',
    '/address',
    '/retired',
    'CUSTOM_A',
    'HW_CPU_X86_VMX',
    'custom',
    'info',
    'WARNING',
    'loud',
    'yes',
    ' No ',
    'off',
    '5',
    '-3',
    '1.5',
    '1e3',
    'inf',
    '10.0.0.0/8',
    'fd00::/8',
    'http://a/b',
    'ftp://a',
    'x',
    '52:54:00:00:00:01',
    '/extra/{item}/b',
    '12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11',
    *FIELDS,
)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 20000),
    st.sampled_from(WORDS),
    st.floats(-5, 5, allow_nan=False).filter(lambda x: not x.is_integer()),
    st.text(string.ascii_letters + '{}/.-_: 5', max_size=6),
)

VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(('a', 'b', 'value', '{node.name}')),
            inner,
            max_size=2,
        )
    ),
    max_leaves=4,
)

LOOPS = st.one_of(
    st.none(),
    st.just([1, 'a']),
    st.just({'a': 1}),
    st.just('{ports}'),
    st.just(['{ports | nosuch}']),
    VALUES,
)


NAMED = {
    'path': (
        '/extra/a',
        'extra.a',
        'extra',
        '/name',
        '/retired',
        '/owner',
        '/driver_info/x',
        '/local_link_connection/y',
        '/address',
        '/extra/l/-1',
        'extra.l.-1',
        [1],
    ),
    'level': ('info', 'WARNING', 'error'),
    'subnet': ('10.0.0.0/8', 'fd00::/8', '{node.extra[net]}'),
    'url': ('http://a/b', 'https://a', '{inventory.bmc_address}'),
    'name': ('CUSTOM_A', 'HW_CPU_X86_VMX', '{item}'),
    'names': ([], ['CUSTOM_A'], ['{item}'], '{node.traits}'),
    'prefix': ('', 'CUSTOM_'),
    'regex': ('a', '(?i)b', '{item}'),
    'headers': ({}, {'a': 'b'}, {'a': '{node.name}'}),
    'proxies': ({}, {'http': 'x'}, {'http': 5}),
    'values': ([], ['a', 'b'], '{ports}', [['a', 1]]),
    'force_strings': (True, 'no', 1),
    'maintenance': (True, 'yes', 0, 1.0, 0.5),
    'unique': (False, 'ON'),
    'timeout': (5, '2.5', 0.1),
    'retries': (0, '3'),
    'backoff_factor': (0, 1.5, '1e3'),
}
"""What arguments of these names mostly are."""

TEXT = ('x', '{node.name}', 5, 'a', True)


def rarely(strategy):
    """What is left out of most mappings."""
    return st.sampled_from((True, *[False] * 9)).flatmap(
        lambda given: strategy if given else st.just(...)
    )


def mostly(good, other):
    """What is good nine times of ten."""
    return st.sampled_from((False, *[True] * 9)).flatmap(
        lambda is_good: good if is_good else other
    )


def mapping(**fields):
    """A mapping of which those fields are left out that are ``...``."""
    return st.fixed_dictionaries(fields).map(
        lambda made: {
            key: value for key, value in made.items() if value is not ...
        }
    )


def argument(declared):
    """What an argument is, mostly as it should be."""
    return mostly(st.sampled_from(NAMED.get(declared.name, TEXT)), VALUES)


def arguments(op):
    """Arguments for an op, mostly by the right names."""
    declared = op.signature.arguments
    by_name = mapping(
        **{
            each.name: mostly(argument(each), st.just(...))
            if each.required
            else rarely(argument(each))
            for each in declared
        }
    )
    by_place = st.tuples(*map(argument, declared)).map(list)
    required = sum(each.required for each in declared)
    return mostly(
        st.one_of(
            by_name,
            by_name,
            by_place,
            by_place.map(lambda args: args[:required]),
        ),
        st.one_of(
            st.none(),
            st.lists(VALUES, max_size=3),
            st.builds(
                lambda given, more: {**given, more: 1},
                by_name,
                st.sampled_from(('valu', 'path', 'msg')),
            ),
        ),
    )


def operation(ops, names, sign, **more):
    """A condition or an action with one of some ops."""

    def make(name):
        op = ops.get(name)
        return mapping(
            op=mostly(
                st.just(name),
                st.sampled_from(
                    (f'{sign}{name}', f' {sign} {name} ', name, f'!{name}')
                ),
            ),
            args=arguments(op) if op else rarely(VALUES),
            loop=rarely(LOOPS),
            **more,
        )

    return st.sampled_from(names).flatmap(make)


def rules():
    """Whole rules; of what may be left out most is."""
    ops = registry.installed()
    groups = ('any-of', 'all-of', 'none-of')
    conditions = [
        name
        for name in ops.conditions
        if not name.startswith('inspector') and name not in groups
    ]
    actions = [
        name for name in ops.actions if not name.startswith('inspector')
    ]
    single = operation(
        ops.conditions,
        [*conditions, 'inspector-eq', 'eqq'],
        '!',
        multiple=rarely(st.sampled_from(('any', 'all', 'none', None))),
        conditions=rarely(st.just([])),
    )
    condition = st.recursive(
        single,
        lambda inner: mapping(
            op=st.sampled_from((*groups, '!any-of')),
            conditions=mostly(
                st.lists(inner, min_size=1, max_size=2),
                st.lists(inner, max_size=1),
            ),
            loop=rarely(LOOPS),
            args=rarely(st.just({})),
            multiple=rarely(st.just('all')),
        ),
        max_leaves=3,
    )
    action = operation(
        ops.actions,
        [*actions, 'lg'],
        '',
        revert=rarely(
            st.sampled_from((True, False, None, 'yes', 'no', 1, 'x'))
        ),
        multiple=rarely(rarely(st.just('any'))),
    )
    early = operation(
        ops.actions,
        [name for name in actions if ops.actions[name].plugin.SUPPORTS_EARLY],
        '',
    )
    return mapping(
        **{
            name: rarely(st.sampled_from(values))
            for name, values in FIELDS_OF_RULES.items()
        },
        conditions=mostly(
            st.lists(condition, max_size=2), st.just(...) | VALUES
        ),
        actions=mostly(
            st.lists(action | early, min_size=1, max_size=2),
            VALUES | st.just(...),
        ),
    )


FIELDS_OF_RULES = {
    'uuid': (
        '12ab7a3e-7a4b-4b0e-8b0e-6d3c5f0f9a11',
        'x',
        None,
        '12AB7A3E7A4B4B0E8B0E6D3C5F0F9A11',
        5,
    ),
    'description': ('', 'x' * 255, 'x' * 256, None, 5),
    'scope': ('', 'a', None, 5),
    'priority': (
        5.0,
        '9999',
        '10000',
        ' 0_5 ',
        '+7',
        '-0',
        '007',
        9999,
        10000,
        -1,
        0,
        '-1',
        None,
        True,
        1.5,
    ),
    'sensitive': (True, None, 'yes', 'OFF', ' no', 0, 'x'),
    'phase': (*model.PHASES, None, 'late', 'early'),
    'mode': (*model.MODES, None, False, 0, 'on'),
    'more': (1,),
}
"""Values of each field, good and bad."""
