# SPDX-License-Identifier: Apache-2.0

"""What releases leave in the database: dumps of their tables.

``releases/X.Y.json`` is what release X.Y has written. It has ``revision``,
that of the tables; ``tables``, for each of them the columns that the release
reads and writes, with their types, and the rows; and ``read``, what the layers
above the tables read of these rows. Such a file is never changed: later
releases have to read it. A new release adds one of its own::

    python -m ironic_inspection_rules.tests.functional.db.dump 1.1
"""

import base64
import datetime
import json
import pathlib
import sys
import typing

from ironic.common import context as ironic_context
from ironic.conf import CONF
from oslo_utils import timeutils
import sqlalchemy as sa

from ironic_inspection_rules import conf
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import table as db_table
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.db import unprocessed
from ironic_inspection_rules.objects import early_phase
from ironic_inspection_rules.objects import request as request_object
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import rule_statistics
from ironic_inspection_rules.objects import run as run_object
from ironic_inspection_rules.objects import table as table_object
from ironic_inspection_rules.queue import database_queue
from ironic_inspection_rules.queue import request as queue_request
from ironic_inspection_rules.queue import state
from ironic_inspection_rules.rule_set import table_store
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.tests import database

DIRECTORY = pathlib.Path(__file__).with_name('releases')
NODES = tuple(
    f'00000000-0000-4000-8000-00000000000{number}' for number in range(4)
)
TYPES = {
    'boolean': sa.Boolean(),
    'binary': sa.LargeBinary(),
    'integer': sa.BigInteger(),
    'number': sa.Double(),
    'text': sa.Text(),
    'time': sa.DateTime(),
}
"""The types of columns, by their names in dumps."""


class Table(typing.NamedTuple):
    """A table as a release knows it.

    :param known: the table with the columns of the release, and no others.
    :param rows: of the release, as its statements write them.
    """

    known: sa.TableClause
    rows: list[dict[str, typing.Any]]


class Dump(typing.NamedTuple):
    """What a release has left, see above."""

    release: str
    revision: str
    tables: dict[str, Table]
    read: dict[str, typing.Any]


def load_all() -> list[Dump]:
    """Read the dumps of all releases."""
    return [_load(path) for path in sorted(DIRECTORY.glob('*.json'))]


def _load(path: pathlib.Path) -> Dump:
    plain = json.loads(path.read_text(encoding='utf-8'))
    tables = {}
    for name, table in plain['tables'].items():
        columns = table['columns']
        tables[name] = Table(
            sa.table(
                name,
                *(
                    sa.column(column, TYPES[kind])
                    for column, kind in columns.items()
                ),
            ),
            [
                {
                    column: _from_plain(value, columns[column])
                    for column, value in row.items()
                }
                for row in table['rows']
            ],
        )
    return Dump(path.stem, plain['revision'], tables, plain['read'])


def _from_plain(value: typing.Any, kind: str) -> typing.Any:
    if value is None:
        return None
    if kind == 'binary':
        return base64.b64decode(value)
    if kind == 'time':
        return datetime.datetime.fromisoformat(value)
    return value


def read_all() -> dict[str, typing.Any]:
    """Read every row by the layers above the tables, as plain JSON data."""
    context = ironic_context.get_admin_context()
    rules = rule_object.StoredRule
    requests = request_object.InspectionRequest.list(context)
    revisions = rules.list_revisions(context, 100)
    with transaction.reader() as session:
        digests = (
            session.execute(sa.select(models.ContentRow.__table__.c.digest))
            .scalars()
            .all()
        )
    found = {
        'rules': rules.list(context),
        'rule_set': rules.read_rule_set(context),
        'revisions': [
            rules.get_rules_of_revision(context, row['revision'])
            for row in revisions
        ],
        'tables': [_tables(context, row['revision']) for row in revisions],
        'requests': requests,
        'deliveries': [
            database_queue.DatabaseQueue(60.0).find(request.uuid)
            for request in requests
        ],
        'unprocessed': {
            node: unprocessed.get_unprocessed(node) for node in NODES
        },
        'runs': {
            node: run_object.InspectionRun.list(context, node, whole=True)
            for node in NODES
        },
        'data': {
            node: run_object.InspectionRun.get_data(context, node)
            for node in NODES
        },
        'early': {
            node: early_phase.EarlyPhase.take(_of_request(node), node)
            for node in NODES
        },
        'statistics': sorted(
            rule_statistics.RuleStatistics.list(context),
            key=lambda row: row['rule_uuid'],
        ),
        'contents': content.load(digests),
        'inventories': {
            node: [
                _fields(models.KeptInventoryRow, row)
                for row in db_history.list_inventories(node, patches=True)
            ]
            for node in NODES
        },
        'parts': {
            identity: db_history.list_stays(identity, 9)
            for identity in ('s1', 's2')
        },
    }
    return json.loads(json.dumps(found, default=_to_plain))


def _of_request(node: str) -> ironic_context.RequestContext:
    """Return the context of the request that posted the data of a node."""
    return ironic_context.RequestContext(request_id=f'req-{node}')


def _tables(context: typing.Any, revision: int) -> list[typing.Any]:
    source = table_object.RuleTable
    found = source.list_plain(context, revision)
    return [
        {
            **described,
            'rows': list(
                table_store.read_chunks(
                    source, context, described['name'], revision
                ).values()
            ),
        }
        for described in found
    ]


def _fields(model: typing.Any, row: typing.Any) -> dict[str, typing.Any]:
    return {
        name: getattr(row, name) for name in model.__table__.columns.keys()
    }


def _to_plain(value: typing.Any) -> typing.Any:
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, 'as_dict'):
        return value.as_dict()
    return vars(value)


def make_rows() -> None:
    """Make rows of every kind, by the layers above the tables."""
    _make_rules()
    _make_requests()
    _make_runs()


def _chunks(pairs: typing.Sequence[db_table.Pair]) -> list[db_table.Stored]:
    return [[chunk.digest, chunk.text] for chunk in db_table.split(pairs)]


def _make_rules() -> None:
    context = ironic_context.RequestContext(
        user_id='operator', project_id='project'
    )
    rules = rule_object.StoredRule
    plain = {
        'uuid': NODES[0].replace('4000', '4001'),
        'description': 'plain',
        'conditions': [
            {
                'op': 'eq',
                'args': ['{inventory.cpu.count}', 4],
                'loop': [1, 2],
                'multiple': 'all',
            }
        ],
        'actions': [{'op': 'fail', 'args': {'msg': 'no'}}],
    }
    secret = {
        'uuid': NODES[1].replace('4000', '4001'),
        'sensitive': True,
        'priority': 100,
        'scope': 'rack1',
        'phase': 'preprocess',
        'mode': 'audit',
        'vars': {'b': 1, 'a': '{vars.b}'},
        'conditions': [],
        'actions': [
            {
                'op': 'set-attribute',
                'args': ['/extra/key', '{vars.a}'],
                'when': [{'op': 'is-true', 'args': [True]}],
            }
        ],
    }
    gone = {
        'uuid': NODES[2].replace('4000', '4001'),
        'phase': 'early',
        'mode': 'off',
        'conditions': [],
        'actions': [{'op': 'log', 'args': ['\N{SNOWMAN} 1']}],
    }
    pairs = [
        ['A1', {'serial': 'a1', 'cpus': 4, 'pin': '\N{SNOWMAN}'}],
        ['B2', {'serial': 'b2', 'cpus': None, 'pin': ''}],
    ]
    table = {
        'name': 'machines',
        'definition': {
            'key': '{serial | upper}',
            'of': '{inventory.serial}',
            'types': {'cpus': 'integer'},
            'secret': ['pin'],
            'expect': {'cpus': '{inventory.cpu.count}'},
            'columns': ['serial', 'cpus', 'pin'],
        },
        'size': 2,
        'chunks': _chunks(pairs),
        'rows': {'new': 2, 'changed': 0, 'gone': 0},
    }
    revision = rules.change(
        context, 0, [plain, secret, gone], {}, [], 'first', [table]
    )
    rules.change(
        context,
        revision,
        [],
        {plain['uuid']: {'position': 9.5}},
        [gone['uuid']],
        None,
        [
            {
                **table,
                'size': 1,
                'chunks': _chunks(pairs[:1]),
                'rows': {'new': 0, 'changed': 0, 'gone': 1},
            }
        ],
    )
    rule = rules.get_by_uuid(context, secret['uuid'])
    rule.priority = 5
    rule.save()
    now = '2026-11-01T10:00:00+00:00'
    for uuid, matched in ((plain['uuid'], now), (secret['uuid'], None)):
        rule_statistics.RuleStatistics.add(
            context,
            [
                {
                    'rule_uuid': uuid,
                    'since': now,
                    'runs': 7,
                    'matched': 3,
                    'failed': 2,
                    'audited': 1,
                    'seconds': 0.5,
                    'last_matched_at': matched,
                    'last_matched_node': matched and NODES[0],
                }
            ],
        )


def _make_requests() -> None:
    def accept(
        _session: typing.Any, node_uuid: str, starting: bool
    ) -> datetime.datetime:
        return datetime.datetime(2026, 11, 1)

    queue = database_queue.DatabaseQueue(60.0, accept)
    inventory = {'cpu': {'count': 4, 'flags': 'flag ' * 400}}

    def post(node: str) -> queue_request.Request:
        return queue.put(
            node,
            queue_request.CONTINUE,
            inventory,
            {'logs': 'L' * 2000},
            {'early': {'result': 'ok'}},
            sender='192.0.2.1',
        )

    post(NODES[0])
    queue.consume(queue.begin(queue.get('worker'), state.PROCESSING))
    unprocessed.store_by_content(9)
    post(NODES[1])
    failed = queue.begin(queue.get('worker'), state.PROCESSING)
    queue.consume(failed, 'it failed')
    queue.put(NODES[1], queue_request.REAPPLY, {'cpu': {'count': 8}}, {})
    post(NODES[2])
    queue.begin(queue.get('worker'), state.PROCESSING)
    queue.put(NODES[3], queue_request.TIMEOUT)


def _make_runs() -> None:
    document = {'inventory': {'cpu': {'count': 4}}, 'plugin_data': {'a': 1}}
    values = {
        'uuid': NODES[0],
        'node_uuid': NODES[0],
        'event': 'inspection',
        'inspect_interface': 'agent',
        'result': 'failed',
        'error': 'no',
        'revision': 1,
        'started_at': datetime.datetime(2026, 11, 1),
        'phases': {
            'main': {
                'rules': [
                    {'uuid': NODES[2], 'matched': True, 'withheld': True}
                ],
                'reverted': [],
                'audit': [],
                'saved': True,
                'seconds': 0.5,
            }
        },
        'places': {'main': {NODES[2]: [['node', '/extra/x']]}},
    }
    database.record_run({**values, 'content': content.store(document)}, 5)
    database.record_run(
        {
            **values,
            'uuid': NODES[1],
            'node_uuid': NODES[1],
            'result': 'ok',
            'error': None,
            'revision': None,
            'event': 'reapply',
        },
        5,
    )
    early_phase.EarlyPhase.put(
        _of_request(NODES[1]),
        NODES[1],
        {
            'record': values['phases']['main'],
            'places': values['places']['main'],
            'found': {'set': {'a': 1}, 'unset': ['b'], 'revision': 1},
        },
    )
    began = datetime.datetime(2026, 11, 1)
    for number, (patch, ended) in enumerate(
        ((None, {}), (b'\x00\xff patch', {'disk s1': began}))
    ):
        database.keep_inspection(
            history.PreparedInspection(
                values={
                    'uuid': NODES[number],
                    'node_uuid': NODES[0],
                    'created_at': began,
                    'interface': 'agent',
                    'changed': True,
                    'content': content.store(document),
                    'parts': content.store(
                        {'parts': [], 'sources': {}, 'announced': {}}
                    ),
                    'patch': patch,
                },
                new_stays=[
                    {
                        'identity': f's{number + 1}',
                        'kind': 'disk',
                        'label': f'S{number + 1}',
                        'node_uuid': NODES[0],
                        'began_at': began,
                        'ended_at': None,
                    }
                ],
                end_times=ended,
            )
        )


def _describe(column: sa.Column) -> str:
    kind: typing.Any = column.type
    if isinstance(kind, sa.TypeDecorator):
        return 'text'
    for name in ('boolean', 'time', 'binary', 'number', 'integer'):
        if isinstance(kind, type(TYPES[name])) or (
            name == 'integer' and isinstance(kind, sa.Integer)
        ):
            return name
    return 'text'


def _write(path: pathlib.Path) -> None:
    """Write the dump of the database that oslo.db works on."""
    tables = {}
    with transaction.reader() as session:
        for table in models.Base.metadata.sorted_tables:
            columns = {
                column.name: _describe(column) for column in table.columns
            }
            # As they are in the database: JSON is text there.
            stored = sa.table(
                table.name,
                *(
                    sa.column(name, TYPES[kind])
                    for name, kind in columns.items()
                ),
            )
            tables[table.name] = {
                'columns': columns,
                'rows': [
                    dict(row)
                    for row in session.execute(sa.select(stored)).mappings()
                ],
            }
    path.write_text(
        json.dumps(
            {
                'revision': migration.version(),
                'tables': tables,
                'read': read_all(),
            },
            indent=1,
            default=_to_plain,
        )
        + '\n',
        encoding='utf-8',
    )


def main() -> None:
    path = DIRECTORY / f'{sys.argv[1]}.json'
    if path.exists():
        sys.exit(f'{path} is what that release has written: it stays')
    conf.register_opts(CONF)
    # MySQL drops the fractions of seconds.
    timeutils.set_time_override(datetime.datetime(2026, 11, 1, 10))
    with database.Database():
        make_rows()
        _write(path)


if __name__ == '__main__':
    main()
