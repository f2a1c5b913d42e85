# SPDX-License-Identifier: Apache-2.0

"""Random filters, made after the grammar of the reference."""

from hypothesis import strategies as st

_ESCAPES = {'\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t'}

texts = st.text(
    st.one_of(
        st.sampled_from('{}|()[],:=\'"\\ \n\tabAB01._-!'),
        st.characters(exclude_categories=['Cs']),
    ),
    max_size=8,
)

plain = st.one_of(
    st.none(),
    st.booleans(),
    texts,
    st.integers(-(10**29), 10**29),
    st.floats(-1e15, 1e15, allow_subnormal=False),
)

values = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def written(draw, value):
    """Write a value as the argument of a filter."""
    if value is None or isinstance(value, bool):
        words = {
            None: ['none', 'None'],
            True: ['true', 'True'],
            False: ['false', 'False'],
        }
        return draw(st.sampled_from(words[value]))
    if isinstance(value, str):
        return draw(_quoted(value))
    blank = draw(st.sampled_from(['', ' ', '  ']))
    if isinstance(value, list):
        items = [draw(written(item)) for item in value]
        return f'[{blank}{f"{blank},".join(items)}]'
    if isinstance(value, dict):
        items = [
            f'{draw(_quoted(key))}{blank}:{blank}{draw(written(item))}'
            for key, item in value.items()
        ]
        return f'{{{blank}{f",{blank}".join(items)}{blank}}}'
    return repr(value)


@st.composite
def _quoted(draw, text):
    quote = draw(st.sampled_from('\'"'))
    escapes = {**_ESCAPES, quote: f'\\{quote}'}
    inner = ''.join(escapes.get(character, character) for character in text)
    return f'{quote}{inner}{quote}'
