# SPDX-License-Identifier: Apache-2.0

"""Every call of the API: with what it is made, and what its answers may show.

The calls are those of the table of routes. One that is not here fails a test.
"""

from collections.abc import Callable, Iterator
import dataclasses
import itertools
import json
from typing import Any

from ironic_inspection_rules.api import routes
from ironic_inspection_rules.tests.functional.secrecy import canaries
from ironic_inspection_rules.tests.functional.secrecy import rules
from ironic_inspection_rules.tests.functional.secrecy import site

NODES = (site.PASSED, site.FAILED)

OF_RULES = frozenset((canaries.TITLE, canaries.OPEN))
"""Who reads rules reads their descriptions."""

OF_RUNS = frozenset((canaries.WRITTEN, canaries.OPEN))
"""Other rules tell what they read."""

OF_MACHINE = frozenset(
    (canaries.NAMED, canaries.WRITTEN, canaries.UNREAD, canaries.OPEN)
)
"""Nodes and stored inventories show what stands there."""

OF_TRIALS = OF_RUNS | {canaries.UNREAD}
"""Rules may be tried that read all of a node."""

NOTHING: frozenset[str] = frozenset((canaries.OPEN,))

Bodies = Callable[['Known'], list[Any]]


def _no_bodies(known: 'Known') -> list[Any]:
    return [None]


@dataclasses.dataclass(frozen=True)
class Call:
    """How a call is made, and what its answers may show.

    :ivar shows: the kinds of canaries that they may have.
    :ivar expects: canaries that those of them must have together that are
        given to a caller who may make the call.
    :ivar queries: each is made with.
    :ivar bodies: each is made with.
    """

    shows: frozenset[str]
    expects: tuple[str, ...] = ()
    queries: tuple[str, ...] = ('',)
    bodies: Bodies = _no_bodies


class Known:
    """What there is at a site, for the placeholders of paths.

    :param most: how many things of a kind are taken, the newest of them.
    """

    def __init__(self, place: site.Site, most: int | None = None) -> None:
        self.rules = place.rules
        self.nodes = list(NODES)[:most]
        listed = place.call('GET', 'inspection_rules').json
        stored = [each['uuid'] for each in listed['inspection_rules']]
        old = place.call('GET', 'rules').json
        of_inspector = [each['uuid'] for each in old['rules']]
        runs: dict[str, list[str]] = {}
        inventories: dict[str, list[str]] = {}
        for node in self.nodes:
            answer = place.call('GET', f'nodes/{node}/inspection_runs').json
            runs[node] = [each['uuid'] for each in answer['inspection_runs']]
            answer = place.call('GET', f'nodes/{node}/inventory/history').json
            inventories[node] = [
                each['uuid'] for each in answer['inventories']
            ]
        requests = place.call('GET', 'inspection_requests').json
        revisions = place.call('GET', 'inspection_rules/revisions').json
        self._of_node = {'inspection_runs': runs, 'history': inventories}
        self._values = {
            'inspection_rules': stored,
            'rules': of_inspector,
            'inspection_tables': ['machines'],
            'inspection_requests': [
                each['uuid'] for each in requests['inspection_requests']
            ],
            'revisions': [
                str(each['revision']) for each in revisions['revisions']
            ],
            'traits': [
                'CUSTOM_' + rules.flow('trai').upper(),
                'CUSTOM_' + rules.public('trai').upper(),
            ],
        }
        self.most = most

    def paths(self, path: str) -> Iterator[str]:
        """Yield the paths of a route, of all things that there are."""
        before, is_of_node, after = path.partition('{node}')
        if not is_of_node:
            yield from self._of_things(path, self._values)
            return
        for node in self.nodes:
            values = {
                name: found[node] for name, found in self._of_node.items()
            }
            yield from self._of_things(
                f'{before}{node}{after}', {**self._values, **values}
            )

    def any(self, kind: str) -> str:
        """Return the newest thing of a kind."""
        return self._values[kind][0]

    def _of_things(
        self, path: str, values: dict[str, list[str]]
    ) -> Iterator[str]:
        before, _brace, after = path.partition('{')
        if not after:
            yield path
            return
        kind = before.rstrip('/').rpartition('/')[2]
        for value in values[kind][: self.most]:
            yield f'{before}{value}{after.partition("}")[2]}'


def _evaluated(known: Known) -> list[Any]:
    bodies: list[Any] = []
    given = _posted(known)
    for members in ({}, {'rules': given}, {'rules': given, 'prune': True}):
        bodies += [{'node': node, **members} for node in known.nodes]
        bodies += [{'nodes': {}, **members}, {'nodes': known.nodes, **members}]
        if members:
            bodies.append({'nodes': {}, 'compare': True, **members})
    cases = (rules.TRIED, *rules.CASES, rules.PASSES, *rules.REFUSED)
    for case in cases if known.most is None else cases[:2]:
        data = rules.data(rules.MAC.format(1), case)
        inventory = data.pop('inventory')
        bodies.append(
            {'node': site.PASSED, 'inventory': inventory, 'plugin_data': data}
        )
    return bodies


def _replayed(known: Known) -> list[Any]:
    given = _posted(known)
    return [
        {'nodes': nodes, **members}
        for nodes in ({}, known.nodes)
        for members in ({}, {'rules': given}, {'rules': given, 'prune': True})
    ]


def _posted(known: Known) -> list[Any]:
    """Return rules to try: an open one, and sensitive ones.

    One of these is stored, and has no operations.
    """
    sensitive = next(
        rule
        for rule in known.rules
        if rule['description'] == rules.WRITES['description']
    )
    return [
        {
            'description': rules.public('tria'),
            'conditions': [
                rules.condition('!eq', field, 1)
                for field in (*rules.READ_SECRETS, *rules.READ_WRITTEN)
            ],
            'actions': [
                rules.action('log', rules.SECRETS),
                rules.action(
                    'set-attribute', '/extra/tried', '{node.extra.written}'
                ),
            ],
        },
        {
            **sensitive,
            'conditions': None,
            'actions': None,
            'vars': None,
            'priority': 3,
        },
        {
            'description': rules.title('post'),
            'sensitive': True,
            'vars': {'x': rules.mute('posx')},
            'conditions': [
                rules.condition('!eq', '{vars.x}', rules.mute('posc'))
            ],
            'actions': [
                rules.action(
                    'set-attribute', '/extra/posted', rules.mute('posv')
                ),
                rules.action(
                    'add-trait', 'CUSTOM_' + rules.mute('post').upper()
                ),
            ],
        },
    ]


def _explained() -> tuple[str, ...]:
    paths = (
        '/extra',
        '/extra/written',
        '/extra/shown',
        '/extra/copy',
        f'/extra/{rules.rest("path")}',
        '/extra/looped',
        '/extra/cleaned',
        '/driver_info/fake_password',
        '/driver_info',
        '/extra/db_password',
        '/properties/capabilities',
        '/plugin_data/written',
        '/plugin_data/copy',
        '/plugin_data/early',
    )
    queries = [f'?path={path}' for path in paths]
    queries += [
        f'?port={rules.MAC.format(number)}&path=/extra/{name}'
        for number in (1, 2)
        for name in ('written', 'copy', 'rest')
    ]
    queries += [
        f'?trait=CUSTOM_{word.upper()}'
        for word in (rules.flow('trai'), rules.public('trai'))
    ]
    number = len(rules.EARLY) + len(rules.SENSITIVE) + len(rules.OPEN)
    queries += [
        f'?rule={each:08}-0000-4000-8000-00000000000a'
        for each in range(1, number + 1)
    ]
    return tuple(queries)


_LIST = ('', '?detail=true')
_NEW = {
    'description': rules.title('newr'),
    'sensitive': True,
    'vars': {rules.mute('newn'): rules.mute('newv')},
    'conditions': [rules.in_case(rules.mute('newc'))],
    'actions': [rules.action('fail', rules.mute('newf'))],
}
_BROKEN = [
    [{'op': 'add', 'path': '/phase', 'value': 'early'}],
    [{'op': 'remove', 'path': '/actions/0/op'}],
    [{'op': 'test', 'path': '/actions/0/op', 'value': 'x'}],
    [{'op': 'copy', 'from': '/actions', 'path': '/description'}],
    [{'op': 'copy', 'from': '/actions/0/op', 'path': '/scope'}],
    [{'op': 'move', 'from': '/conditions', 'path': '/description'}],
    [{'op': 'replace', 'path': '/sensitive', 'value': False}],
    [{'op': 'replace', 'path': '/priority', 'value': 4}],
]

_WRITTEN_IN_RUNS = tuple(
    rules.flow(place)
    for place in ('extr', 'capa', 'trai', 'port', 'plug', 'earl')
)
_OPEN_IN_RUNS = tuple(
    rules.public(place)
    for place in (
        'desc',
        'reas',
        'show',
        'user',
        'inst',
        'modl',
        'sock',
        'bond',
        'accu',
        'seri',
        'rack',
        'mess',
    )
)

CALLS: dict[str, Call] = {
    'GET inspection_rules': Call(
        OF_RULES, (rules.public('desc'), rules.title('main')), _LIST
    ),
    'POST inspection_rules': Call(OF_RULES, bodies=lambda known: [_NEW]),
    'PUT inspection_rules': Call(
        OF_RULES,
        queries=('?dry_run=true', '?dry_run=true&prune=false'),
        bodies=lambda known: [
            {'rules': _posted(known)},
            {'rules': known.rules},
        ],
    ),
    'DELETE inspection_rules': Call(NOTHING),
    'GET inspection_rules/{uuid}': Call(
        OF_RULES,
        (rules.public('desc'), rules.public('show'), rules.title('main')),
    ),
    'PATCH inspection_rules/{uuid}': Call(
        OF_RULES, bodies=lambda known: _BROKEN
    ),
    'PUT inspection_rules/{uuid}': Call(OF_RULES, bodies=lambda known: [_NEW]),
    'DELETE inspection_rules/{uuid}': Call(NOTHING),
    'POST inspection_rules/evaluate': Call(
        OF_TRIALS,
        (*_WRITTEN_IN_RUNS, *_OPEN_IN_RUNS, rules.public('audi')),
        bodies=_evaluated,
    ),
    'POST inspection_rules/replay': Call(
        OF_RUNS, (rules.public('mess'),), bodies=_replayed
    ),
    'GET inspection_rules/statistics': Call(OF_RULES, (rules.public('desc'),)),
    'GET inspection_rules/revisions': Call(OF_RULES),
    'GET inspection_rules/revisions/{revision}': Call(
        OF_RULES,
        (rules.public('desc'), rules.public('show'), rules.title('main')),
    ),
    'POST inspection_rules/revisions/{revision}/restore': Call(OF_RULES),
    'GET nodes/{node}/inspection_runs': Call(
        OF_RUNS, (*_WRITTEN_IN_RUNS, *_OPEN_IN_RUNS), _LIST
    ),
    'GET nodes/{node}/inspection_runs/{uuid}': Call(
        # Data of the machine have what early rules wrote.
        OF_RUNS | {canaries.UNREAD},
        (*_WRITTEN_IN_RUNS, *_OPEN_IN_RUNS),
        ('', '?fields=inventory,plugin_data'),
    ),
    'GET nodes/{node}/inspection_runs/explain': Call(
        OF_RUNS,
        (*_WRITTEN_IN_RUNS, rules.public('show'), rules.public('pcop')),
        _explained(),
    ),
    'GET nodes/{node}/inventory': Call(
        OF_MACHINE,
        (rules.public('seri'), rules.flow('plug'), rules.rest('prep')),
    ),
    'GET nodes/{node}/inventory/unprocessed': Call(
        OF_MACHINE, (rules.public('seri'), rules.public('rack'))
    ),
    'POST nodes/{node}/inventory/reapply': Call(NOTHING),
    'GET nodes/{node}/inventory/history': Call(NOTHING),
    'GET nodes/{node}/inventory/history/{uuid}': Call(
        OF_MACHINE, (rules.public('seri'), rules.public('rack'))
    ),
    'GET nodes/{node}/inventory/history/diff': Call(NOTHING),
    'GET inspection_tables': Call(NOTHING),
    'GET inspection_tables/{name}': Call(NOTHING),
    'GET inspection_tables/{name}/machines': Call(NOTHING),
    'GET inspection_parts': Call(
        NOTHING,
        queries=(f'?id={rules.public("seri")}', '?id=52:54:00:00:00:01'),
    ),
    'POST continue_inspection': Call(
        OF_MACHINE,
        bodies=lambda known: [
            rules.data(rules.MAC.format(1), case) for case in rules.REFUSED
        ],
    ),
    'GET inspection_requests': Call(
        OF_RUNS,
        (rules.public('mess'),),
        ('', f'?node={site.PASSED}', '?state=error'),
    ),
    'GET inspection_requests/{uuid}': Call(OF_RUNS, (rules.public('mess'),)),
    'DELETE inspection_requests/{uuid}': Call(OF_RUNS),
    'GET nodes/{node}/traits': Call(
        OF_MACHINE, (rules.public('trai'), rules.flow('trai'))
    ),
    'GET nodes/{node}/traits/{name}': Call(OF_MACHINE),
    'PUT nodes/{node}/traits': Call(
        OF_MACHINE, bodies=lambda known: [{'traits': ['CUSTOM_A']}]
    ),
    'PUT nodes/{node}/traits/{name}': Call(OF_MACHINE),
    'DELETE nodes/{node}/traits': Call(OF_MACHINE),
    'DELETE nodes/{node}/traits/{name}': Call(OF_MACHINE),
    'GET traits': Call(
        OF_MACHINE,
        (rules.public('trai'), rules.flow('trai')),
        ('', '?associated=true', '?name=startswith:CUSTOM_'),
    ),
    'GET traits/{name}': Call(OF_MACHINE),
    'GET rules': Call(OF_RULES, (rules.title('oldd'),)),
    'POST rules': Call(
        OF_RULES,
        bodies=lambda known: [
            {'actions': [{'action': 'fail', 'message': rules.public('oldm')}]}
        ],
    ),
    'DELETE rules': Call(NOTHING),
    'GET rules/{uuid}': Call(OF_RULES, (rules.title('oldd'),)),
    'PUT rules/{uuid}': Call(
        OF_RULES,
        bodies=lambda known: [
            {'actions': [{'action': 'fail', 'message': rules.public('oldp')}]}
        ],
    ),
    'DELETE rules/{uuid}': Call(NOTHING),
    'GET introspection': Call(OF_RUNS),
    'GET introspection/{node}': Call(OF_RUNS),
    'POST introspection/{node}': Call(NOTHING),
    'POST introspection/{node}/abort': Call(NOTHING),
    'GET introspection/{node}/data': Call(
        OF_MACHINE, (rules.public('seri'), rules.flow('plug'))
    ),
    'GET introspection/{node}/data/unprocessed': Call(
        OF_MACHINE, (rules.public('seri'),)
    ),
    'POST introspection/{node}/data/unprocessed': Call(NOTHING),
    # Ironic's own, where this project adds filters.
    'GET nodes': Call(
        OF_MACHINE,
        queries=('', '?traits=CUSTOM_' + rules.flow('trai').upper()),
    ),
    'GET nodes/detail': Call(
        OF_MACHINE,
        (
            rules.public('note'),
            rules.flow('extr'),
            rules.rest('valu'),
            rules.rest('path'),
            rules.flow('capa'),
        ),
        ('', '?traits=CUSTOM_' + rules.flow('trai').upper()),
    ),
    'GET nodes/{node}': Call(
        OF_MACHINE,
        (rules.public('note'), rules.flow('extr'), rules.rest('valu')),
    ),
    'GET ports/detail': Call(
        OF_MACHINE,
        (rules.public('sock'), rules.flow('port'), rules.rest('port')),
    ),
}
"""By method and path."""

OF_IRONIC = frozenset(
    ('GET nodes', 'GET nodes/detail', 'GET nodes/{node}', 'GET ports/detail')
)
"""Calls that are not in the table of routes."""

_MOST_QUERIES = 8
"""How many ways of a call are tried where only few are."""

HARMLESS = frozenset(
    ('POST inspection_rules/evaluate', 'POST inspection_rules/replay')
)
"""Calls that change nothing though they are no GET."""


@dataclasses.dataclass(frozen=True)
class Request:
    """One request, and the name of its call."""

    name: str
    method: str
    path: str
    body: Any = None

    def __str__(self) -> str:
        text = f'{self.method} {self.path}'
        if self.body is not None:
            text += f' {json.dumps(self.body)[:200]}'
        return text


def served() -> list[str]:
    """Return the names of all calls that there are."""
    of_this_project = [
        f'{route.method} {route.path}' for route in routes.TABLE
    ]
    return [*dict.fromkeys(of_this_project), *sorted(OF_IRONIC)]


def reads(known: Known) -> Iterator[Request]:
    """Yield the requests that change nothing."""
    return _requests(
        known, lambda name: name.startswith('GET') or name in HARMLESS
    )


def writes(known: Known) -> Iterator[Request]:
    """Yield the others; those that remove things come last."""
    yield from _requests(
        known,
        lambda name: (
            not (name.startswith(('GET', 'DELETE')) or name in HARMLESS)
        ),
    )
    yield from _requests(known, lambda name: name.startswith('DELETE'))


def _requests(
    known: Known, is_wanted: Callable[[str], bool]
) -> Iterator[Request]:
    for name in filter(is_wanted, served()):
        method, _space, path = name.partition(' ')
        call = CALLS[name]
        queries = call.queries
        if known.most is not None:
            queries = queries[:_MOST_QUERIES]
        for place, query, body in itertools.product(
            known.paths(path), queries, call.bodies(known)
        ):
            yield Request(name, method, place + query, body)
