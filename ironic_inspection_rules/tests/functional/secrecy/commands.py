# SPDX-License-Identifier: Apache-2.0

"""Every command, with what it is called, and what it may print and write.

The commands are those of the entry points and, of the services, those of
their parsers. One that is not here fails a test.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import importlib
import io
import json
import pathlib
import types
from typing import Any

from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.kit.command import shell
from ironic_inspection_rules.tests.functional.osc import test_rule_set
from ironic_inspection_rules.tests.functional.secrecy import calls
from ironic_inspection_rules.tests.functional.secrecy import canaries
from ironic_inspection_rules.tests.functional.secrecy import rules
from ironic_inspection_rules.tests.functional.secrecy import site
from ironic_inspection_rules.tests.unit.kit.command import test_help

OPENSTACK = 'openstack.baremetal.v1'
FILES = 'ironic_inspection_rules.commands'
SERVICES = 'console_scripts'


@dataclasses.dataclass(frozen=True)
class Command:
    """How a command is called, and what it may print and write.

    Words in braces stand for what there is, see :class:`Place`.

    :ivar shows: as of :class:`.calls.Call`; the files that it writes may
        have the same.
    :ivar expects: canaries that all of it must have together.
    """

    shows: frozenset[str]
    words: tuple[str, ...]
    expects: tuple[str, ...] = ()


_TABLE_AND_JSON = ('-f table', '-f json', '-f yaml')


def _each(words: str, *more: str) -> tuple[str, ...]:
    return tuple(f'{words} {each}' for each in more)


_NODE = site.PASSED
_OF_TRIALS = calls.OF_TRIALS | {canaries.TITLE}
"""Who calls the command has read the rules, or has their file."""
_OPEN_IN_RUNS = (rules.public('desc'), rules.public('seri'))

READS: dict[str, Command] = {
    'baremetal_inspection_data_export': Command(
        calls.OF_MACHINE,
        ('{new}/plain', '{new}/strange --anonymize'),
        (rules.public('seri'), rules.public('rack')),
    ),
    'baremetal_inspection_data_outliers': Command(
        calls.OF_MACHINE, ('', '-f json', '-f html', '--since 30d')
    ),
    'baremetal_inspection_request_list': Command(
        calls.OF_RUNS, ('', '--long', f'--node {_NODE} -f json')
    ),
    'baremetal_inspection_request_show': Command(
        calls.OF_RUNS, ('{request}', '{request} -f json')
    ),
    'baremetal_inspection_rule_plan': Command(
        calls.OF_RULES,
        ('{changed}', '{changed} --prune', '{changed} -f json', '{rules}'),
        (rules.public('plan'),),
    ),
    'baremetal_inspection_rule_history': Command(
        calls.OF_RULES, _each('', *_TABLE_AND_JSON)
    ),
    'baremetal_inspection_rule_replay': Command(
        _OF_TRIALS,
        (
            '--jobs 1',
            '--jobs 1 -f json',
            '{open} --jobs 1 -f json',
            '{changed} --jobs 1 --report {new}/replay.html',
        ),
    ),
    'baremetal_inspection_rule_evaluate': Command(
        _OF_TRIALS,
        (
            f'--node {_NODE}',
            f'--node {site.FAILED} -f json',
            f'--node {_NODE} --rules {{open}} -f yaml',
            f'--node {_NODE} --inventory {{inventory}} --rules {{changed}}',
            '--nodes --jobs 1',
            '--nodes --jobs 1 -f json',
            '--nodes --jobs 1 --rules {changed} --report {new}/fleet.html',
        ),
        (*_OPEN_IN_RUNS, rules.flow('extr')),
    ),
    'baremetal_inspection_rule_export': Command(
        calls.OF_RULES,
        ('', '{new}/exported.json', '--revision {revision}'),
        (rules.public('desc'), rules.public('show'), rules.title('main')),
    ),
    'baremetal_inspection_rule_get': Command(
        calls.OF_RULES, _each('{sensitive}', *_TABLE_AND_JSON)
    ),
    'baremetal_inspection_rule_statistics': Command(
        calls.OF_RULES, ('', '--long -f json')
    ),
    'baremetal_inspection_table_list': Command(calls.NOTHING, ('',)),
    'baremetal_inspection_table_show': Command(calls.NOTHING, ('machines',)),
    'baremetal_inspection_table_machines': Command(
        calls.NOTHING, _each('machines', '-f table', '-f json', '-f csv')
    ),
    'baremetal_inspection_part_find': Command(
        calls.NOTHING, (rules.public('seri'),)
    ),
    'baremetal_node_inventory_history_diff': Command(
        calls.NOTHING, (_NODE, '--since 30d')
    ),
    'baremetal_node_inventory_history_list': Command(
        calls.NOTHING, _each(_NODE, *_TABLE_AND_JSON)
    ),
    'baremetal_node_inventory_history_show': Command(
        calls.OF_MACHINE, (_NODE,), (rules.public('seri'),)
    ),
    'baremetal_node_rule_explain': Command(
        calls.OF_RUNS,
        (
            _NODE,
            f'{_NODE} -f json',
            *(
                f'{_NODE} --path {path} -f {how}'
                for path in (
                    '/extra/written',
                    '/extra/copy',
                    '/driver_info/fake_password',
                    '/extra/looped',
                )
                for how in ('text', 'json')
            ),
            f'{_NODE} --trait CUSTOM_{rules.flow("trai").upper()}',
            f'{_NODE} --rule {{sensitive}}',
            f'{_NODE} --rule {{read}}',
        ),
        (rules.flow('extr'), rules.public('reas')),
    ),
    'baremetal_node_rule_run_list': Command(
        calls.OF_RUNS, _each(_NODE, *_TABLE_AND_JSON)
    ),
    'baremetal_node_rule_run_show': Command(
        calls.OF_RUNS,
        (*_each(_NODE, *_TABLE_AND_JSON), site.FAILED),
        (*_OPEN_IN_RUNS, rules.flow('extr'), rules.flow('plug')),
    ),
    'baremetal_trait_list': Command(
        calls.OF_MACHINE, ('', '--associated'), (rules.flow('trai'),)
    ),
}
"""Commands of the client that change nothing, by their entry points."""

OF_RECORDS = frozenset(
    (
        'baremetal_inspection_data_export',
        'baremetal_inspection_rule_evaluate',
        'baremetal_node_inventory_history_show',
        'baremetal_node_rule_explain',
        'baremetal_node_rule_run_show',
    )
)
"""Those of them that show what rules saw of machines."""

WRITES: dict[str, Command] = {
    'baremetal_inspection_reapply': Command(calls.NOTHING, (_NODE,)),
    'baremetal_inspection_request_abort': Command(
        calls.OF_RUNS, ('{request}',)
    ),
    'baremetal_inspection_rule_reapply': Command(
        calls.NOTHING, (f'--nodes {site.FAILED} --jobs 1',)
    ),
    'baremetal_inspection_rule_edit': Command(
        calls.OF_RULES,
        ('{sensitive} --priority 7 -f json', '{sensitive} --phase early'),
    ),
    'baremetal_inspection_rule_import': Command(
        calls.OF_RULES, ('{changed} --replace',)
    ),
    'baremetal_inspection_rule_apply': Command(
        calls.OF_RULES, ('{rules} --yes', '{changed} --yes')
    ),
    'baremetal_inspection_rule_restore': Command(
        calls.OF_RULES, ('{revision} --yes',)
    ),
    'baremetal_inspection_rule_purge': Command(calls.NOTHING, ('--yes',)),
}
"""The others; they are called last, in this order."""

OF_FILES: dict[str, Command] = {
    'lint': Command(
        # It names what is wrong in a file.
        calls.OF_RULES | {canaries.OWN},
        _each('{rules} {changed}', '-f table', '-f json', '-f sarif'),
    ),
    'test': Command(
        _OF_TRIALS,
        (
            *_each(
                '{rules} --inventory {inventory} --node {node}',
                '-f table',
                '-f json',
                '-f yaml',
                '-f junit',
                '--html {new}/test.html',
            ),
            *_each(
                '{rules} --inventory {inventory} --coverage',
                '-f table',
                '-f json',
                '--html {new}/coverage.html',
            ),
        ),
        (rules.public('desc'), rules.public('reas')),
    ),
    'diff': Command(
        calls.OF_RULES,
        _each(
            '{rules} {changed} --inventory {inventory}',
            '-f table',
            '-f json',
            '-f markdown',
            '--html {new}/diff.html',
        ),
        (rules.public('plan'),),
    ),
    'prove': Command(
        calls.OF_RULES,
        (
            '{small} --time-limit 3 -f json',
            '{small} --time-limit 3 --equivalent {small}',
        ),
    ),
    'profile': Command(calls.OF_MACHINE, ('{inventory}',)),
    'outliers': Command(
        calls.OF_MACHINE,
        _each(
            '{inventory}',
            '-f table',
            '-f json',
            '-f html',
            '--learn {new}/learned.yaml',
        ),
    ),
}
"""Commands on files that tell of rules or machines."""

OF_SERVICES = {
    'ironic-inspection-rules': 'has the commands on files',
    'ironic-inspection-rules-dbsync': 'test_adoption calls it',
    'ironic-inspection-worker': 'does what the site does with requests',
    'ironic-inspection-pxe-filter': 'reads addresses of ports, and no rule',
}
"""The services, and where they are tried or why not."""

LEFT_OUT = {
    'baremetal_node_trait_find': 'asks by openstacksdk for what GET nodes has',
    'collect': 'reads the machine that it runs on, and no rule',
    'completion': 'reads nothing',
    'convert': 'its output is the rules that it was given',
    'schema': 'shows names of columns; unit/kit/authoring/test_schema',
    'table': 'unit/kit/command/test_table looks for its secrets',
}
"""Commands that are not called, and why."""


def entry_points() -> dict[str, dict[str, str]]:
    """Return the commands that there are, by group and name."""
    return {
        group: test_help.entry_points(group)
        for group in (OPENSTACK, FILES, SERVICES)
    }


class _Baremetal(test_rule_set.Baremetal):
    """openstacksdk's proxy, with the token of an administrator."""

    def __init__(self, place: site.Site) -> None:
        def app(environ: dict, start_response: Any) -> Any:
            environ['HTTP_X_AUTH_TOKEN'] = site.ADMIN
            return place.app(environ, start_response)

        super().__init__(app)

    def get(self, path: str, microversion: str, **arguments: Any) -> Any:
        return self.request(path, 'GET', microversion, (), **arguments)


class _ShippedManager:
    """python-ironicclient's manager of inspection rules."""

    def __init__(self, place: site.Site) -> None:
        self._place = place

    def get(self, uuid: str, fields: Any = None) -> Any:
        """Return a rule as the shipped command takes it."""
        answer = self._place.call('GET', f'inspection_rules/{uuid}')
        return types.SimpleNamespace(_info=answer.json)


class Place:
    """A directory with files, beside a site.

    :ivar directory: of the files that commands write.
    """

    def __init__(
        self, place: site.Site, known: calls.Known, directory: str
    ) -> None:
        self._baremetal = _Baremetal(place)
        self._ironicclient = types.SimpleNamespace(
            inspection_rule=_ShippedManager(place)
        )
        root = pathlib.Path(directory)
        self.directory = root / 'new'
        self.directory.mkdir()
        changed = [
            {
                **rule,
                'priority': 77,
                'actions': [
                    *rule['actions'],
                    rules.action(
                        'log',
                        (
                            rules.mute('plan')
                            if rule.get('sensitive')
                            else rules.public('plan')
                        ),
                    ),
                ],
            }
            for rule in place.rules
        ]
        files = {
            'rules': place.rules,
            'changed': changed,
            'open': [
                rule for rule in place.rules if not rule.get('sensitive')
            ],
            'small': place.rules[4:6],
            'inventory': {
                'inventory': rules.data(rules.MAC.format(1), rules.PASSES)[
                    'inventory'
                ]
            },
            'node': {
                'node': rules.NODE,
                'ports': [{'address': rules.MAC.format(1), **rules.PORT}],
            },
        }
        self._words = {
            'new': str(self.directory),
            'request': known.any('inspection_requests'),
            'revision': known.any('revisions'),
            'sensitive': _uuid(place, rules.WRITES),
            'read': _uuid(place, rules.OPEN[0]),
        }
        for name, content in files.items():
            path = root / f'{name}.json'
            path.write_text(json.dumps(content))
            self._words[name] = str(path)

    def words(self, text: str) -> list[str]:
        """Return the words of a call."""
        return text.format(**self._words).split()

    def call_openstack(self, place: str, words: list[str]) -> str:
        """Call a command of the ``openstack`` client.

        :param place: its entry point.
        :returns: all that it prints.
        """
        output = io.StringIO()
        app = types.SimpleNamespace(
            stdout=output,
            stderr=output,
            options=None,
            client_manager=types.SimpleNamespace(
                baremetal=self._ironicclient,
                sdk_connection=types.SimpleNamespace(
                    config=types.SimpleNamespace(config={}),
                    baremetal=self._baremetal,
                ),
            ),
        )
        module, _colon, attribute = place.partition(':')
        command = getattr(importlib.import_module(module), attribute)(
            app, None
        )
        parsed = command.get_parser('test').parse_args(words)
        with contextlib.redirect_stderr(output):
            try:
                command.run(parsed)
            except osc_exceptions.CommandError as exc:
                output.write(str(exc))
        return output.getvalue()

    def call_on_files(self, name: str, words: list[str]) -> str:
        """Call a command of ``ironic-inspection-rules``.

        :returns: all that it prints.
        """
        output = io.StringIO()
        with (
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            shell.main([name, *words])
        return output.getvalue()

    def written(self) -> Iterator[tuple[str, str]]:
        """Yield the names and texts of the files that commands wrote."""
        for path in sorted(self.directory.rglob('*')):
            if path.is_file():
                yield str(path.relative_to(self.directory)), path.read_text()


def _uuid(place: site.Site, rule: dict[str, Any]) -> str:
    found: str = next(
        each['uuid']
        for each in place.rules
        if each['description'] == rule['description']
    )
    return found
