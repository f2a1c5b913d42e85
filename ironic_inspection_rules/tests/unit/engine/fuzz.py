# SPDX-License-Identifier: Apache-2.0

"""What tests with random input have in common."""

import hypothesis
from hypothesis import strategies as st

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.tests.unit import base

# Tests may not depend on the time they take, nor on earlier runs.
settings = hypothesis.settings(
    deadline=None,
    database=None,
    max_examples=base.EXAMPLES,
    suppress_health_check=list(hypothesis.HealthCheck),
)

keys = st.one_of(
    st.sampled_from(
        [
            'a',
            'b',
            'name',
            'password',
            'a.b',
            'a/b',
            'a~b',
            'a[0]',
            '{a}',
            '0',
            '-',
            '',
            '__class__',
            'items',
            'größe',
            '\ud800',
            ' ',
        ]
    ),
    st.text(max_size=4),
)

plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    keys,
    st.sampled_from(
        [
            10**300,
            -(10**300),
            'true',
            'no',
            '8',
            '1e999',
            '192.0.2.1',
            '::1',
            '10.0.0.0/8',
            'CUSTOM_A',
            '52:54:00:aa:bb:01',
            '/extra/a',
            'http://[',
        ]
    ),
)

json_values = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)

mappings = st.dictionaries(keys, json_values, max_size=4)

_roots = st.sampled_from(
    [*interpolation.ROOTS, interpolation.ITEM, 'self', '__builtins__', '']
)
_steps = st.one_of(keys.map('.{}'.format), keys.map('[{}]'.format))
_tails = st.sampled_from(
    [
        '',
        '!s',
        '!r',
        '!a',
        ':>5',
        ':d',
        ':,',
        ':%Y',
        ':99999',
        ':{',
        '!s:<3',
        ':c',
        ':.3f',
    ]
)

fields = st.builds(
    lambda root, steps, tail: f'{{{root}{"".join(steps)}{tail}}}',
    _roots,
    st.lists(_steps, max_size=3),
    _tails,
)

texts = st.lists(
    st.one_of(
        fields,
        st.sampled_from(['{', '}', '{{', '}}', '[', ']', '.', '!', ':', 'a']),
        keys,
    ),
    max_size=5,
).map(''.join)
"""Text as rules hold it, and as they should not."""

values = st.recursive(
    st.one_of(plain, texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(keys, texts), inner, max_size=3),
    ),
    max_leaves=6,
)
"""Values as rules hold them, with fields anywhere."""
