# SPDX-License-Identifier: Apache-2.0

"""Who may import whom, as contributor/architecture.rst draws it."""

import ast
import collections
import graphlib
import os
import pathlib
import subprocess
import sys

import ironic_inspection_rules
from ironic_inspection_rules.tests.unit import base

PACKAGE = ironic_inspection_rules.__name__
ROOT = pathlib.Path(ironic_inspection_rules.__file__).parent

#: Open to every module.
OPEN = {
    'exceptions',
    'i18n',
    'releases',
    'escapes',
    'engine.language.suggestion',
}

ANY_LAYER_BELOW = {
    'engine',
    'plugins',
    'rule_file',
    'machine',
    'rule_set',
    'traits',
    'db',
    'objects',
    'conf',
    'policies',
    'coordination',
    'queue',
    'pxe_filter',
    'inspection',
    'patches',
    'runs',
    'ironic',
}

#: What works on a machine without Ironic: the kit, and what it stands on.
OFFLINE = {
    'engine',
    'plugins',
    'rule_file',
    'rule_set',
    'machine',
    'releases',
    'escapes',
    'kit',
}

#: The only module of the server part that imports the kit: it takes over
#: Ironic's own rules by the conversion of files, and tries them on machines.
ASTRIDE = 'command.adopt'

#: What a module may import besides what the row names; the longest row that
#: fits a module counts. ``ironic`` is Ironic itself.
MAY_IMPORT = {
    'exceptions': set(),
    'i18n': set(),
    'releases': set(),
    'escapes': set(),
    'engine.language': set(),
    'engine.run': {'engine.language'},
    'traits': {'db.transaction', 'engine.language.trait_names', 'ironic'},
    'db': {'engine.language.model', 'engine.language.path'},
    'db.node_reservation': {'db', 'ironic'},
    'conf': set(),
    'policies': {'ironic'},
    'plugins.conditions': {'engine.language'},
    'plugins.actions': {'engine.language'},
    'plugins.filters': {'engine.language', 'plugins.conditions'},
    'plugins.legacy': {
        'engine.language',
        'plugins.actions',
        'plugins.conditions',
    },
    'objects': {'db', 'engine.language.model', 'ironic'},
    'objects.run': {'db', 'objects', 'runs', 'ironic'},
    'coordination': set(),
    'queue': {'db'},
    'queue.attempt': {
        'queue',
        'db',
        'engine.language.model',
        'inspection',
        'patches',
        'runs',
        'ironic',
    },
    'queue.database_queue': {'queue', 'db', 'objects'},
    'queue.maintenance': {'queue', 'coordination', 'db', 'runs', 'ironic'},
    'queue.power_on': {'queue', 'coordination', 'db', 'patches', 'ironic'},
    'queue.node': {'queue', 'db', 'runs', 'ironic'},
    'queue.failure': {'queue', 'ironic'},
    'queue.service': {
        'queue',
        'coordination',
        'db',
        'inspection',
        'patches',
        'runs',
        'ironic',
    },
    'queue.external_error': {'queue', 'ironic'},
    'queue.worker': {'queue', 'coordination'},
    'queue.wakeup': {'queue', 'coordination', 'ironic'},
    'pxe_filter': {'coordination'},
    'pxe_filter.notification': {'pxe_filter', 'coordination', 'ironic'},
    'pxe_filter.watcher': {'db.transaction', 'pxe_filter', 'ironic'},
    'rule_file': {'engine.language', 'plugins.legacy'},
    'rule_set': {'engine.language', 'rule_file'},
    'machine': {'engine.language.path'},
    'machine.table_comparison': {'engine', 'machine', 'plugins.conditions'},
    'patches': {'engine.language', 'ironic'},
    'runs': {'engine'},
    'runs.metrics': {'ironic'},
    'runs.history': {'engine', 'machine', 'runs', 'db'},
    'runs.replay': {'engine', 'runs'},
    'runs.recorder': {'engine', 'runs', 'db'},
    'runs.deleted_node': {'ironic'},
    'hook': {
        'inspection',
        'objects',
        'patches',
        'queue.power_on',
        'runs',
        'traits',
        'ironic',
    },
    'inspection': {
        'engine',
        'rule_file',
        'rule_set',
        'objects',
        'conf',
        'coordination',
        'patches',
        'runs',
        'ironic',
    },
    'inspection.announcement': {
        'conf',
        'db',
        'inspection',
        'objects',
        'rule_file',
        'rule_set',
        'ironic',
    },
    'inspection.inspection': {
        'db.transaction',
        'engine',
        'inspection',
        'objects',
        'patches',
        'rule_set',
        'runs',
        'ironic',
    },
    'inspection.saving': {'db', 'engine', 'inspection', 'patches', 'ironic'},
    'api': ANY_LAYER_BELOW,
    'api.install': ANY_LAYER_BELOW | {'api', 'hook'},
    'command': ANY_LAYER_BELOW | {'api'},
    ASTRIDE: ANY_LAYER_BELOW
    | {
        'kit.authoring.conversion',
        'kit.terminal.table',
        'kit.trial.machine_test',
    },
    'kit.machine': {'engine', 'machine', 'rule_file'},
    'kit.machine.anonymity': {'engine.language.secrecy'},
    'kit.trial': {
        'engine',
        'kit.machine',
        'machine',
        'plugins.actions',
        'rule_file',
        'rule_set',
    },
    'kit.trial.fleet': set(),
    'kit.authoring': {
        'engine',
        'kit.machine',
        'kit.trial',
        'plugins.actions',
        'plugins.conditions',
        'plugins.legacy',
        'rule_file',
        'rule_set',
    },
    'kit.proof': {
        'engine',
        'kit.machine',
        'kit.trial',
        'plugins.actions',
        'plugins.conditions',
        'rule_file',
        'rule_set',
    },
    'kit.terminal': set(),
    'kit.report': {
        'engine',
        'kit.authoring',
        'kit.machine',
        'kit.terminal',
        'kit.trial',
        'machine',
        'rule_file',
        'rule_set',
    },
    'kit.client': {
        'engine.language.model',
        'engine.language.secrecy.stored_rule',
    },
    'kit.osc': {
        'engine.language.model',
        'engine.language.registry',
        'engine.language.secrecy',
        'engine.language.table',
        'engine.run.views',
        'kit.authoring',
        'kit.client',
        'kit.command.arguments',
        'kit.command.peer_arguments',
        'kit.machine',
        'kit.report.pages',
        'kit.report.table_machines',
        'kit.terminal',
        'kit.trial.fleet',
        'machine.table_comparison',
        'rule_file',
        'rule_set',
    },
    'kit.command': OFFLINE,
    'kit.command.arguments': set(),
    'kit.command.peer_arguments': {
        'engine.language.path',
        'kit.command.arguments',
        'kit.machine',
        'kit.report',
        'rule_file',
    },
    'kit.command.shell': {'kit.command.arguments', 'kit.terminal'},
}


def is_within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + '.')


def modules() -> dict[str, pathlib.Path]:
    """Every module of the package outside of its tests, by dotted name.

    :returns: names without the package's own: ``'engine.language.path'``.
    """
    found = {}
    for path in sorted(ROOT.rglob('*.py')):
        parts = path.relative_to(ROOT).with_suffix('').parts
        if parts[0] != 'tests' and path.stat().st_size:
            found['.'.join(parts).removesuffix('.__init__')] = path
    return found


def imports(source: str) -> set[str]:
    """Names that a module imports from this package, and ``ironic``."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(f'{node.module}.{alias.name}' for alias in node.names)
    ours = {
        name.removeprefix(f'{PACKAGE}.')
        for name in names
        if is_within(name, PACKAGE)
    }
    return ours | {'ironic' for name in names if is_within(name, 'ironic')}


def siblings(module: str, imported: str) -> tuple[str, str, str]:
    """The room that has both names, and what each is below within it."""
    one, other = module.split('.'), imported.split('.')
    depth = len(os.path.commonprefix([one, other]))
    return (
        '.'.join(one[:depth]),
        ''.join(one[depth : depth + 1]),
        ''.join(other[depth : depth + 1]),
    )


def violations(module: str, source: str) -> list[str]:
    """Imports of a module that no row of the table allows."""
    rows = [row for row in MAY_IMPORT if is_within(module, row)]
    if not rows:
        return [f'{module} belongs to no row of MAY_IMPORT']
    row = max(rows, key=len)
    allowed = MAY_IMPORT[row] | OPEN | {row}
    return [
        f'{module} imports {name}'
        for name in sorted(imports(source))
        if not any(is_within(name, prefix) for prefix in allowed)
    ]


class ImportsTestCase(base.TestCase):
    def test_every_module_keeps_to_the_table(self):
        self.assertEqual(
            [],
            [
                problem
                for name, path in modules().items()
                for problem in violations(name, path.read_text())
            ],
        )

    def test_the_server_part_does_not_import_the_kit(self):
        self.assertEqual(
            {ASTRIDE},
            {
                name
                for name, path in modules().items()
                if not is_within(name, 'kit')
                and any(
                    is_within(imported, 'kit')
                    for imported in imports(path.read_text())
                )
            },
        )

    def test_the_kit_needs_no_ironic(self):
        names = [
            f'{PACKAGE}.{name}'
            for name in modules()
            if any(is_within(name, prefix) for prefix in OFFLINE)
        ]
        # Beside an Ironic up to 37, oslo.log imports Eventlet, which warns.
        script = (
            'import importlib, sys, warnings\n'
            'warnings.filterwarnings(\n'
            '    "ignore", r"\\s*Eventlet is deprecated")\n'
            'sys.modules["ironic"] = None\n'
            'for name in sys.argv[1:]:\n'
            '    importlib.import_module(name)\n'
        )
        result = subprocess.run(
            [sys.executable, '-c', script, *names],
            capture_output=True,
            text=True,
        )
        self.assertEqual((0, ''), (result.returncode, result.stderr))

    def test_rooms_have_no_circles(self):
        # Of rooms, and of rooms and modules inside of a room.
        graphs = collections.defaultdict(lambda: collections.defaultdict(set))
        known = modules()
        for name, path in known.items():
            for imported in imports(path.read_text()):
                room, one, other = siblings(name, imported)
                if one and other:
                    graphs[room][one].add(other)
        for graph in graphs.values():
            graphlib.TopologicalSorter(graph).prepare()


class SiblingsTestCase(base.TestCase):
    def test_two_rooms_are_below_the_package(self):
        self.assertEqual(
            ('', 'queue', 'db'), siblings('queue.worker', 'db.models')
        )

    def test_two_rooms_inside_of_a_room_are_below_that(self):
        self.assertEqual(
            ('api', 'fleet', 'view'), siblings('api.fleet.page', 'api.view')
        )

    def test_a_room_and_what_is_in_it_are_none(self):
        self.assertEqual(('api', '', 'view'), siblings('api', 'api.view'))


class ViolationsTestCase(base.TestCase):
    def test_own_package_and_open_modules_are_allowed(self):
        self.assertEqual(
            [],
            violations(
                'engine.run.runner',
                'from ironic_inspection_rules.engine.language import path\n'
                'from ironic_inspection_rules import exceptions\n'
                'import os.path\n',
            ),
        )

    def test_another_package_is_named(self):
        self.assertEqual(
            ['engine.run.runner imports db.models'],
            violations(
                'engine.run.runner',
                'from ironic_inspection_rules.db import models\n',
            ),
        )

    def test_ironic_is_named_inside_a_function_too(self):
        self.assertEqual(
            ['queue.worker imports ironic'],
            violations(
                'queue.worker', 'def load():\n    from ironic import objects\n'
            ),
        )

    def test_the_longest_row_counts(self):
        source = 'from ironic_inspection_rules.runs import recorder\n'
        self.assertEqual([], violations('queue.node', source))
        self.assertEqual(
            ['queue.state imports runs.recorder'],
            violations('queue.state', source),
        )

    def test_commands_of_the_kit_are_held_shorter_than_the_others(self):
        source = 'from ironic_inspection_rules.objects import rule\n'
        self.assertEqual([], violations('command.worker', source))
        self.assertEqual(
            ['kit.command.authoring imports objects.rule'],
            violations('kit.command.authoring', source),
        )

    def test_a_new_package_needs_a_row(self):
        self.assertEqual(
            ['cells.core belongs to no row of MAY_IMPORT'],
            violations('cells.core', ''),
        )
