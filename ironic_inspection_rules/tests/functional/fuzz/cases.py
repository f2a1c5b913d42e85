# SPDX-License-Identifier: Apache-2.0

"""Requests that nobody should send, and some that somebody might."""

from collections.abc import Iterator
import dataclasses
import itertools
import json

from hypothesis import strategies as st

from ironic_inspection_rules.api import routes
from ironic_inspection_rules.api import routing
from ironic_inspection_rules.tests.functional.fuzz import child
from ironic_inspection_rules.tests.unit.engine import fuzz

UUID = child.RULE

DEEP = st.builds(
    lambda opened, depth, middle: opened * depth + middle,
    st.sampled_from(['[', '{"a":', '[[', '["', '{"a":[']),
    st.sampled_from([20, 26, 500, 100_000]),
    st.sampled_from(['', '1']),
)

TYPES = st.sampled_from(
    ['application/json'] * 6
    + [
        'text/plain',
        '',
        'application/json; charset=utf-16',
        'application/x-www-form-urlencoded',
        'application/json; charset=x',
    ]
)

KNOWN_OPS = st.sampled_from(
    [
        'eq',
        '!eq',
        'contains',
        'matches',
        'in-net',
        'is-none',
        'one-of',
        'lt',
        'any-of',
        'none-of',
        'exists',
        'fail',
        'log',
        'set-plugin-data',
        'extend-plugin-data',
        'unset-plugin-data',
        'set-attribute',
        'set-port-attribute',
        'set-capability',
        'add-trait',
        'set-traits',
        'x',
    ]
)

ARGUMENTS = st.one_of(
    st.lists(fuzz.values, max_size=4),
    st.dictionaries(
        st.sampled_from(
            [
                'value',
                'values',
                'path',
                'regex',
                'msg',
                'name',
                'names',
                'unique',
                'address',
                'subnet',
                'conditions',
                'port_id',
            ]
        ),
        fuzz.values,
        max_size=4,
    ),
)

OPERATIONS = st.lists(
    st.one_of(
        fuzz.json_values,
        st.fixed_dictionaries(
            {'op': KNOWN_OPS, 'args': ARGUMENTS},
            optional={
                'loop': fuzz.values,
                'multiple': st.sampled_from(['any', 'all', 'first', 'x']),
            },
        ),
    ),
    max_size=3,
)

VALID_RULES = st.builds(
    lambda phase, value, path: {
        'phase': phase,
        'conditions': [{'op': '!eq', 'args': {'values': [value, 1]}}],
        'actions': [
            {'op': 'set-plugin-data', 'args': {'path': path, 'value': value}}
        ],
    },
    st.sampled_from(['early', 'main']),
    fuzz.json_values,
    st.sampled_from(['/a', '/a/b', '/{inventory[a]}/b', '/a/-']),
)

RULES = st.one_of(
    VALID_RULES,
    fuzz.json_values,
    st.fixed_dictionaries(
        {'actions': OPERATIONS, 'conditions': OPERATIONS},
        optional={
            'uuid': st.sampled_from([UUID, 'x', None, 5]),
            'phase': st.sampled_from(['early', 'preprocess', 'main', 1]),
            'priority': fuzz.plain,
            'scope': fuzz.plain,
            'sensitive': fuzz.plain,
            'description': fuzz.plain,
        },
    ),
)

OLD_OPERATIONS = st.lists(
    st.one_of(
        fuzz.json_values,
        st.dictionaries(
            st.sampled_from(
                [
                    'op',
                    'action',
                    'field',
                    'value',
                    'path',
                    'name',
                    'message',
                    'invert',
                    'multiple',
                    'revert',
                ]
            ),
            st.one_of(
                fuzz.texts,
                fuzz.plain,
                st.sampled_from(
                    [
                        'eq',
                        'fail',
                        'set-attribute',
                        'a|' * 500 + 'a',
                        'a.' * 3000,
                        'node://a[*].b',
                        'data://a..b',
                    ]
                ),
            ),
        ),
    ),
    max_size=3,
)

OLD_RULES = st.one_of(
    fuzz.json_values,
    st.fixed_dictionaries(
        {'actions': OLD_OPERATIONS, 'conditions': OLD_OPERATIONS}
    ),
)

INVENTORIES = st.builds(
    lambda inventory, plugin_data, macs: {
        **plugin_data,
        'inventory': {
            **inventory,
            'interfaces': [{'mac_address': mac} for mac in macs],
        },
    },
    fuzz.mappings | st.just({'call': True, 'bmc_password': child.CANARY}),
    fuzz.mappings,
    st.lists(
        st.sampled_from(['52:54:00:00:00:00', 'x', '', '{a}']),
        min_size=1,
        max_size=3,
    ),
)

PATCHES = st.lists(
    st.one_of(
        fuzz.json_values,
        st.fixed_dictionaries(
            {
                'op': st.sampled_from(
                    ['add', 'remove', 'replace', 'move', 'copy', 'test']
                ),
                'path': st.sampled_from(
                    [
                        '',
                        '/actions',
                        '/actions/-',
                        '/actions/0',
                        '/actions/0/args/path',
                        '/conditions/0',
                        '/scope',
                        '/sensitive',
                        '/~',
                        '/uuid',
                    ]
                ),
            },
            optional={
                'value': fuzz.json_values
                | st.sampled_from(["{'op': 'log'}", 'f(', '[' * 100_000]),
                'from': st.sampled_from(['/actions', '/description']),
            },
        ),
    ),
    max_size=4,
)

BOMBS = st.builds(
    lambda source, target, count: (
        [{'op': 'copy', 'from': source, 'path': target}] * count
    ),
    st.sampled_from(['', '/actions', '/scope']),
    st.sampled_from(['/actions/-', '/conditions/-', '/scope', '/actions/0']),
    st.sampled_from([20, 100, 3000]),
)

RULE_SETS = fuzz.json_values | st.fixed_dictionaries(
    {'rules': st.lists(RULES, max_size=3)},
    optional={'revision': fuzz.plain, 'message': fuzz.texts, 'x': fuzz.plain},
)

FLEETS = st.fixed_dictionaries(
    {
        'nodes': st.dictionaries(
            st.sampled_from(
                ['traits', 'owner', 'resource_class', 'x', 'limit']
            ),
            fuzz.plain,
            max_size=2,
        )
        | st.lists(st.sampled_from(['posted', UUID, 'x', 5, '']), max_size=3)
    },
    optional={
        'rules': st.lists(RULES, max_size=2),
        'limit': fuzz.plain,
        'marker': fuzz.plain,
        'compare': fuzz.plain,
        'prune': fuzz.plain,
    },
)

WIDE = st.integers(1, 4).map(
    lambda size: {f'f{number}': number for number in range(10**size)}
)
"""Documents of many members that nobody knows."""

QUERIES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                'traits',
                'not-traits-any',
                'limit',
                'marker',
                'fields',
                'sort_key',
                'sort_dir',
                'detail',
                'scope',
                'phase',
                'name',
                'associated',
                'node',
                'state',
                'path',
                'trait',
                'port',
                'rule',
                'dry_run',
                'prune',
                'node_uuid',
                'x',
            ]
        ),
        st.sampled_from(
            [
                'CUSTOM_A',
                'CUSTOM_A,CUSTOM_B',
                '1',
                '-1',
                'x',
                '',
                '%00',
                '%ff',
                '%F0%9F%98%80',
                UUID,
                'uuid,scope',
                '/extra/a',
                '/~',
                'true',
                '52:54:00:00:00:00',
                'startswith:CUSTOM',
                'in:' + 'A,' * 500,
            ]
        ),
    ),
    max_size=3,
).map(lambda pairs: '&'.join(map('='.join, pairs)))

MANY = st.builds(
    lambda name, count, value: '&'.join(
        f'{name}{number if name == "x" else ""}={value}'
        for number in range(count)
    ),
    st.sampled_from(['x', 'traits', 'traits-any', 'limit', 'name']),
    st.sampled_from([60, 3000]),
    st.sampled_from(['CUSTOM_A', 'x', '']),
)
"""Queries of far more parameters than anybody needs."""

FILES = st.one_of(
    DEEP,
    st.text(max_size=40),
    fuzz.json_values.map(json.dumps),
    st.lists(RULES, max_size=2).map(json.dumps),
    st.integers(2, 12).map(
        lambda levels: '\n'.join(
            [
                'a0: &a0 [x, x]',
                *(
                    f'a{n}: &a{n} [' + ', '.join([f'*a{n - 1}'] * 9) + ']'
                    for n in range(1, levels)
                ),
            ]
        )
    ),
    st.sampled_from(
        [
            '&a [*a]',
            '<<: &a {<<: *a}',
            '- ' * 5000,
            '!!python/object/apply:os.system [x]',
            '*a',
            '{a: 1',
        ]
    ),
)


@dataclasses.dataclass(frozen=True)
class Case:
    """One request, or one file of rules where the method is ``FILE``."""

    method: str
    path: str
    type: str
    body: bytes


def _requests(
    method: str, path: str, documents: st.SearchStrategy
) -> st.SearchStrategy[Case]:
    bodies = st.one_of(
        documents.map(lambda each: json.dumps(each).encode()),
        documents.map(lambda each: json.dumps(each).encode()),
        DEEP.map(str.encode),
        st.binary(max_size=20),
        documents.map(lambda each: json.dumps(each).encode('utf-16')),
    )
    return st.builds(Case, st.just(method), st.just(path), TYPES, bodies)


def _reads(path: str) -> st.SearchStrategy[Case]:
    # Ironic itself fails on fields of nodes that it does not know.
    return (
        (QUERIES | QUERIES | MANY)
        .filter(lambda query: 'nodes' not in path or 'fields=' not in query)
        .map(lambda query: Case('GET', f'{path}?{query}', '', b''))
    )


REAPPLIED = fuzz.json_values | INVENTORIES
BODIES = {
    'POST continue_inspection': INVENTORIES,
    'POST inspection_rules': RULES | WIDE,
    'PUT inspection_rules/{uuid}': RULES,
    'PATCH inspection_rules/{uuid}': PATCHES | BOMBS,
    'PUT inspection_rules': RULE_SETS,
    'POST inspection_rules/evaluate': FLEETS
    | WIDE
    | st.fixed_dictionaries(
        {
            'node': st.sampled_from(['posted', None, 'x', 5]),
            'inventory': fuzz.mappings | st.none(),
        },
        optional={
            'rules': st.lists(RULES, max_size=3),
            'plugin_data': fuzz.json_values,
            'phase': st.sampled_from(['early', 'main', 'x']),
        },
    ),
    'POST rules': OLD_RULES,
    'PUT rules/{uuid}': OLD_RULES,
    'PUT nodes/{node}/traits': (
        fuzz.json_values | st.just({'traits': ['CUSTOM_A']})
    ),
    'POST nodes/{node}/inventory/reapply': REAPPLIED,
    'POST introspection/{node}/data/unprocessed': REAPPLIED,
}
"""What is posted, by the route; anything to others."""

LEFT_OUT = {
    # There would be nothing left to try, or to leak.
    'DELETE inspection_rules',
    # The conductor that is served with changes no states.
    'POST introspection/{node}',
    'POST introspection/{node}/abort',
}

_QUERIES = {
    'PUT inspection_rules': ('?dry_run=true', '?dry_run=x', '?prune=x', '?x=1')
}
_VALUES = {
    '{node}': ['posted'],
    '{uuid}': [UUID, 'x'],
    '{revision}': ['1', 'x', '9' * 30],
    '{name}': ['CUSTOM_A', 'x'],
}


def _paths(route: routing.Route) -> list[str]:
    """Return paths of a route, of things that there are and others."""
    choices = [
        ['x']
        if (part, route.method) == ('{uuid}', 'DELETE')
        else _VALUES.get(part, [part])
        for part in route.parts
    ]
    return [f'/v1/{"/".join(parts)}' for parts in itertools.product(*choices)]


def _cases() -> Iterator[st.SearchStrategy[Case]]:
    """Yield requests for each route."""
    for route in routes.TABLE:
        name = f'{route.method} {route.path}'
        for path in [] if name in LEFT_OUT else _paths(route):
            if route.method == 'GET':
                yield _reads(path)
            elif route.method == 'DELETE':
                yield st.just(Case('DELETE', path, '', b''))
            else:
                for query in _QUERIES.get(name, ['']):
                    yield _requests(
                        route.method,
                        path + query,
                        BODIES.get(name, fuzz.json_values),
                    )


CASES = st.one_of(
    *_cases(),
    VALID_RULES.map(
        lambda rule: Case(
            'POST',
            '/v1/inspection_rules',
            'application/json',
            json.dumps(rule).encode(),
        )
    ),
    *map(_reads, ('/v1/nodes', '/v1/nodes/detail')),
    MANY.map(
        lambda query: Case(
            'POST', f'/v1/continue_inspection?{query}', '', b'{}'
        )
    ),
    FILES.map(
        lambda text: Case(
            'FILE', '', '', text.encode('utf-8', 'surrogatepass')
        )
    ),
)
