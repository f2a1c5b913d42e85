# SPDX-License-Identifier: Apache-2.0

"""Cross-references in docstrings name something that exists.

A renamed function leaves its old name in docstrings of other modules, where
neither a linter nor a type checker looks. The documentation is not built from
these docstrings, so Sphinx does not look there either.
"""

import ast
import collections
from collections.abc import Iterable, Iterator
import pathlib
import re

import ironic_inspection_rules
from ironic_inspection_rules.tests.unit import base

ROOT = pathlib.Path(ironic_inspection_rules.__file__).parent

REFERENCE = re.compile(r':(?:func|meth|class|data|attr|exc):`\.?([\w.]+)`')

#: Names of other projects.
FOREIGN = {
    'GenericHardwareManager.initialize',
    'Node.list',
    'json.dumps',
    'sqlalchemy.Table',
}


def names_in(tree: ast.AST) -> Iterator[str]:
    """Yield all names that a module or a class defines, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).rpartition('.')[2]
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


class Names:
    """The names of all modules and classes of the package.

    :param sources: the text of each module, by the name of the module.
    """

    def __init__(self, sources: Iterable[tuple[str, str]]) -> None:
        self._owners: dict[str, set[str]] = collections.defaultdict(set)
        self._bases: dict[str, set[str]] = collections.defaultdict(set)
        for module, source in sources:
            tree = ast.parse(source)
            self._owners[module].update(names_in(tree))
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self._owners[node.name].update(names_in(node))
                    self._bases[node.name].update(
                        re.split(r'[.\[]', ast.unparse(parent))[-1]
                        for parent in node.bases
                    )

    def has(self, owner: str, name: str) -> bool:
        """Return whether a module, a class or a base of it has a name."""
        if name in self._owners.get(owner, ()):
            return True
        return any(self.has(parent, name) for parent in self._bases[owner])

    def is_anywhere(self, name: str) -> bool:
        """Return whether any module defines a name."""
        return any(name in names for names in self._owners.values())

    def find_unknown(self, module: str, source: str) -> list[str]:
        """Return the references of a module that name nothing."""
        unknown = []
        for match in REFERENCE.finditer(source):
            target = match[1]
            *path, name = target.split('.')
            if path:
                exists = self.has(path[-1], name)
            elif match[0].endswith(f'`.{name}`'):
                exists = self.is_anywhere(name)
            else:
                exists = self.has(module, name)
            if not exists and target not in FOREIGN:
                unknown.append(target)
        return unknown


def read_sources() -> dict[pathlib.Path, str]:
    """Return the text of all modules except the tests."""
    return {
        path: path.read_text('utf-8')
        for path in sorted(ROOT.rglob('*.py'))
        if 'tests' not in path.relative_to(ROOT).parts
    }


class ReferencesTestCase(base.TestCase):
    def test_every_reference_names_something(self):
        sources = read_sources()
        names = Names((path.stem, text) for path, text in sources.items())
        unknown = {}
        for path, text in sources.items():
            found = names.find_unknown(path.stem, text)
            if found:
                unknown[str(path.relative_to(ROOT))] = found
        self.assertEqual({}, unknown)

    def test_an_old_name_is_found(self):
        source = (
            'class Loop:\n'
            '    def restart(self):\n'
            '        """See :meth:`start` and :meth:`Loop.watch`."""\n'
            '    def start(self):\n'
            '        """See :meth:`.Loop.restart` and :func:`.gone`."""\n'
        )
        names = Names([('loop', source)])
        self.assertEqual(
            ['Loop.watch', 'gone'], names.find_unknown('loop', source)
        )
