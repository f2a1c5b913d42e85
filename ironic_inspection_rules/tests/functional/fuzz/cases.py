# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Requests that nobody should send, and some that somebody might."""

import dataclasses
import json

from hypothesis import strategies as st

from ironic_inspection_rules.tests.functional.fuzz import child
from ironic_inspection_rules.tests.unit.engine import fuzz

UUID = child.RULE

DEEP = st.builds(
    lambda opened, depth, middle: opened * depth + middle,
    st.sampled_from(['[', '{"a":', '[[', '["', '{"a":[']),
    st.sampled_from([20, 26, 500, 100_000]), st.sampled_from(['', '1']))

TYPES = st.sampled_from([
    'application/json'] * 6 + [
    'text/plain', '', 'application/json; charset=utf-16',
    'application/x-www-form-urlencoded', 'application/json; charset=x'])

KNOWN_OPS = st.sampled_from([
    'eq', '!eq', 'contains', 'matches', 'in-net', 'is-none', 'one-of', 'lt',
    'any-of', 'none-of', 'exists', 'fail', 'log', 'set-plugin-data',
    'extend-plugin-data', 'unset-plugin-data', 'set-attribute',
    'set-port-attribute', 'set-capability', 'add-trait', 'set-traits', 'x'])

ARGUMENTS = st.one_of(
    st.lists(fuzz.values, max_size=4),
    st.dictionaries(st.sampled_from([
        'value', 'values', 'path', 'regex', 'msg', 'name', 'names', 'unique',
        'address', 'subnet', 'conditions', 'port_id']), fuzz.values,
        max_size=4))

OPERATIONS = st.lists(st.one_of(fuzz.json_values, st.fixed_dictionaries(
    {'op': KNOWN_OPS, 'args': ARGUMENTS},
    optional={'loop': fuzz.values, 'multiple': st.sampled_from(
        ['any', 'all', 'first', 'x'])})), max_size=3)

VALID_RULES = st.builds(
    lambda phase, value, path: {
        'phase': phase,
        'conditions': [{'op': '!eq', 'args': {'values': [value, 1]}}],
        'actions': [{'op': 'set-plugin-data', 'args': {
            'path': path, 'value': value}}]},
    st.sampled_from(['early', 'main']), fuzz.json_values,
    st.sampled_from(['/a', '/a/b', '/{inventory[a]}/b', '/a/-']))

RULES = st.one_of(VALID_RULES, fuzz.json_values, st.fixed_dictionaries(
    {'actions': OPERATIONS, 'conditions': OPERATIONS},
    optional={'uuid': st.sampled_from([UUID, 'x', None, 5]),
              'phase': st.sampled_from(['early', 'preprocess', 'main', 1]),
              'priority': fuzz.plain, 'scope': fuzz.plain,
              'sensitive': fuzz.plain, 'description': fuzz.plain}))

OLD_OPERATIONS = st.lists(st.one_of(fuzz.json_values, st.dictionaries(
    st.sampled_from(['op', 'action', 'field', 'value', 'path', 'name',
                     'message', 'invert', 'multiple', 'revert']),
    st.one_of(fuzz.texts, fuzz.plain, st.sampled_from([
        'eq', 'fail', 'set-attribute', 'a|' * 500 + 'a', 'a.' * 3000,
        'node://a[*].b', 'data://a..b'])))), max_size=3)

OLD_RULES = st.one_of(fuzz.json_values, st.fixed_dictionaries(
    {'actions': OLD_OPERATIONS, 'conditions': OLD_OPERATIONS}))

INVENTORIES = st.builds(
    lambda inventory, plugin_data, macs: {**plugin_data, 'inventory': {
        **inventory, 'interfaces': [{'mac_address': mac} for mac in macs]}},
    fuzz.mappings | st.just({'call': True, 'bmc_password': child.CANARY}),
    fuzz.mappings, st.lists(st.sampled_from(
        ['52:54:00:00:00:00', 'x', '', '{a}']), min_size=1, max_size=3))

PATCHES = st.lists(st.one_of(fuzz.json_values, st.fixed_dictionaries(
    {'op': st.sampled_from(['add', 'remove', 'replace', 'move', 'copy',
                            'test']),
     'path': st.sampled_from(['', '/actions', '/actions/-', '/actions/0',
                              '/actions/0/args/path', '/conditions/0',
                              '/scope', '/sensitive', '/~', '/uuid'])},
    optional={'value': fuzz.json_values | st.sampled_from(
        ["{'op': 'log'}", 'f(', '[' * 100_000]),
        'from': st.sampled_from(['/actions', '/description'])})), max_size=4)

QUERIES = st.lists(st.tuples(
    st.sampled_from(['traits', 'not-traits-any', 'limit', 'marker', 'fields',
                     'sort_key', 'sort_dir', 'detail', 'scope', 'phase',
                     'name', 'associated', 'node', 'state', 'x']),
    st.sampled_from(['CUSTOM_A', 'CUSTOM_A,CUSTOM_B', '1', '-1', 'x', '',
                     '%00', '%ff', '%F0%9F%98%80', UUID, 'uuid,scope',
                     'startswith:CUSTOM', 'in:' + 'A,' * 500])),
    max_size=3).map(lambda pairs: '&'.join(map('='.join, pairs)))

FILES = st.one_of(
    DEEP, st.text(max_size=40), fuzz.json_values.map(json.dumps),
    st.lists(RULES, max_size=2).map(json.dumps),
    st.integers(2, 12).map(lambda levels: '\n'.join(
        ['a0: &a0 [x, x]', *(
            f'a{n}: &a{n} [' + ', '.join([f'*a{n - 1}'] * 9) + ']'
            for n in range(1, levels))])),
    st.sampled_from(['&a [*a]', '<<: &a {<<: *a}', '- ' * 5000,
                     '!!python/object/apply:os.system [x]', '*a', '{a: 1']))


@dataclasses.dataclass(frozen=True)
class Case:
    """One request, or one file of rules where the method is ``FILE``."""

    method: str
    path: str
    type: str
    body: bytes


def _requests(method: str, path: str, documents: st.SearchStrategy
              ) -> st.SearchStrategy[Case]:
    bodies = st.one_of(
        documents.map(lambda each: json.dumps(each).encode()),
        documents.map(lambda each: json.dumps(each).encode()),
        DEEP.map(str.encode), st.binary(max_size=20),
        documents.map(lambda each: json.dumps(each).encode('utf-16')))
    return st.builds(Case, st.just(method), st.just(path), TYPES, bodies)


def _reads(path: str) -> st.SearchStrategy[Case]:
    # Ironic itself fails on fields of nodes that it does not know.
    return QUERIES.filter(lambda query: (
        'nodes' not in path or 'fields=' not in query)).map(
            lambda query: Case('GET', f'{path}?{query}', '', b''))


CASES = st.one_of(
    _requests('POST', '/v1/continue_inspection', INVENTORIES),
    _requests('POST', '/v1/inspection_rules', RULES),
    _requests('PUT', f'/v1/inspection_rules/{UUID}', RULES),
    _requests('PATCH', f'/v1/inspection_rules/{UUID}', PATCHES),
    _requests('POST', '/v1/inspection_rules/evaluate', st.fixed_dictionaries(
        {'node': st.sampled_from(['posted', None, 'x', 5]),
         'inventory': fuzz.mappings | st.none()},
        optional={'rules': st.lists(RULES, max_size=3),
                  'plugin_data': fuzz.json_values,
                  'phase': st.sampled_from(['early', 'main', 'x'])})),
    _requests('POST', '/v1/rules', OLD_RULES),
    _requests('PUT', '/v1/nodes/posted/traits', fuzz.json_values
              | st.just({'traits': ['CUSTOM_A']})),
    _requests('POST', '/v1/nodes/posted/inventory/reapply',
              fuzz.json_values),
    *map(_reads, ('/v1/inspection_rules', f'/v1/inspection_rules/{UUID}',
                  '/v1/rules', '/v1/nodes', '/v1/nodes/detail', '/v1/traits',
                  '/v1/inspection_requests')),
    FILES.map(lambda text: Case(
        'FILE', '', '', text.encode('utf-8', 'surrogatepass'))),
)
