#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Check the names of other projects that the documents use.

It searches the sources of every project for its names in
tools/deployments.yaml. It prints the names that are no longer in their place,
and where they are now. Then it tries the changes of deploy/kolla and
deploy/metal3 on the files of those projects.

    python tools/check_deployments.py                  # clones all projects
    python tools/check_deployments.py kayobe bifrost   # clones only these two
    python tools/check_deployments.py kayobe=../kayobe # uses this checkout
    python tools/check_deployments.py --release stable/2026.2 kolla
"""

import argparse
from collections.abc import Iterator
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jinja2
import yaml

ROOT = pathlib.Path(__file__).parents[1]
DATA = ROOT / 'tools' / 'deployments.yaml'
LARGEST = 1_000_000
"""Size from which a file is not searched for a name that has moved, in
bytes."""


@dataclasses.dataclass(frozen=True)
class Project:
    """The place of the sources of a project, and the version checked last.

    :ivar git: the URL of its repository.
    :ivar release: the branch that is checked.
    :ivar commit: the commit that was checked last.
    """

    name: str
    git: str
    release: str
    commit: str


@dataclasses.dataclass(frozen=True)
class Name:
    """A name on a page, and a place in the sources of a project that has it.

    :ivar page: the document that uses the name.
    :ivar project: the name of the project.
    :ivar text: the name, such as an option of the project.
    :ivar file: the path of a file in the sources of the project.
    :ivar pattern: a regular expression that a line of the file must match;
        None if the file only has to exist.
    """

    page: str
    project: str
    text: str
    file: str
    pattern: str | None

    def problem(self, checkout: pathlib.Path) -> str | None:
        """Return the problem of this name; None if it is at its place.

        :param checkout: the directory with the sources of the project.
        """
        path = checkout / self.file
        if not path.exists():
            return f'{self.file} is gone{self._elsewhere(checkout)}'
        if self.pattern is None:
            return None
        if re.search(self.pattern, path.read_text(), re.MULTILINE):
            return None
        return (
            f'{self.file} has no line with {self.pattern}'
            f'{self._elsewhere(checkout)}'
        )

    def _elsewhere(self, checkout: pathlib.Path) -> str:
        """Return where the file is now, or which files have the name.

        Only the first three files are named: ``; see a.sh, b.sh, c.sh and 2
        more``.
        """
        paths = {
            str(path.relative_to(checkout)): path
            for path in _list_searched_files(checkout)
        }
        # The file may have moved into another folder.
        places = [name for name in paths if name.endswith(f'/{self.file}')]
        if not places:
            places = [
                name
                for name, path in paths.items()
                if self.text in _read_text(path)
            ]
        if not places:
            return '; it is nowhere else'
        more = ''
        if len(places) > 3:
            more = f' and {len(places) - 3} more'
        return f'; see {", ".join(places[:3])}{more}'


def load(
    path: pathlib.Path = DATA,
) -> tuple[dict[str, Project], list[Name], list[str]]:
    """Read the file with the names.

    :returns: the projects by name, the places of all names, and the prefixes
        of names that only this project uses.
    """
    data = yaml.safe_load(path.read_text())
    projects = {
        name: Project(name, **fields)
        for name, fields in data['projects'].items()
    }
    names = []
    for page, by_project in data['pages'].items():
        for project, by_text in by_project.items():
            for text, places in by_text.items():
                for place in places:
                    # A place is a file, which may be followed by a pattern for
                    # a line.
                    file, pattern = [*place, None][:2]
                    names.append(Name(page, project, str(text), file, pattern))
    return projects, names, data['ours']


def _list_searched_files(checkout: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the files that may contain a name that has moved."""
    for path in sorted(checkout.rglob('*')):
        folders = path.relative_to(checkout).parts
        # Release notes are skipped because they also have names that were
        # removed.
        if '.git' in folders or 'releasenotes' in folders:
            continue
        if path.is_file() and path.stat().st_size < LARGEST:
            yield path


def _read_text(path: pathlib.Path) -> str:
    """Return the text of a file, which may be a binary file."""
    return path.read_text(errors='replace')


def fetch_sources(
    project: Project, place: str, release: str, directory: pathlib.Path
) -> pathlib.Path:
    """Return a directory with the sources of a project.

    :param place: a checkout, which is returned as it is, or a URL or a bare
        repository, which is cloned.
    :param release: the branch to clone.
    :param directory: the directory in which the clone is made.
    """
    path = pathlib.Path(place)
    # A bare repository has HEAD in its top directory, and a checkout in .git.
    is_bare = (path / 'HEAD').exists()
    if path.is_dir() and not is_bare:
        return path
    target = directory / project.name
    subprocess.run(
        [
            'git',
            'clone',
            '--quiet',
            '--depth',
            '1',
            '--branch',
            release,
            '--single-branch',
            place,
            str(target),
        ],
        check=True,
    )
    return target


def describe_revision(checkout: pathlib.Path) -> str:
    """Return commit and date of a clone, e.g. ``1a2b3c4 of 2026-11-30``.

    The result is empty if the directory is not a clone.
    """
    if not (checkout / '.git').exists():
        return ''
    done = subprocess.run(
        ['git', '-C', str(checkout), 'log', '-1', '--format=%h of %cs'],
        text=True,
        capture_output=True,
        check=False,
    )
    return done.stdout.strip()


def kolla_lines() -> str:
    """Return the shell commands of kolla's image of the API.

    They are rendered from our override of its template, in the same way as
    kolla does it.
    """
    override = ROOT.joinpath('deploy', 'kolla', 'template-override.j2')
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(
            {
                'parent': '{% block ironic_api_footer %}{% endblock %}',
                'override': override.read_text(),
            }
        )
    )
    rendered = environment.get_template('override').render(
        parent_template='parent'
    )
    return rendered.strip().removeprefix('RUN ')


def metal3_lines() -> str:
    """Return the shell commands with which our layer changes the image.

    In the Dockerfile, these are the ``RUN sed`` commands of the last stage.
    """
    text = ROOT.joinpath('deploy', 'metal3', 'Dockerfile').read_text()
    last_stage = text.rpartition('\nFROM ')[2]
    # A line that ends with a backslash continues on the next line.
    joined = re.sub(r'\\\n', '', last_stage)
    steps = re.findall('^RUN (sed .*)$', joined, re.MULTILINE)
    return '\n'.join(steps)


CHANGED = {
    'kolla': (
        kolla_lines,
        {
            'docker/ironic/ironic-api/extend_start.sh': (
                'usr/local/bin/kolla_ironic_extend_start'
            )
        },
    ),
    'ironic-image': (
        metal3_lines,
        {
            'scripts/runironic': 'bin/runironic',
            'ironic-config/ironic.conf.j2': 'etc/ironic/ironic.conf.j2',
        },
    ),
}
"""By project, what returns the instructions that change files of an image, and
these files: their place in the sources, and in the image."""


def change(
    project: str, checkout: pathlib.Path, root: pathlib.Path
) -> str | None:
    """Apply the changes of our layer to the files of a project.

    :param project: one of CHANGED.
    :param checkout: the sources of the project, which are not changed.
    :param root: an empty directory that replaces the root of the image.
    :returns: the problem; None if all files were changed.
    """
    make_script, files = CHANGED[project]
    for source, target in files.items():
        if not (checkout / source).exists():
            return f'{source} is gone'
        path = root / target
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(checkout / source, path)
    script = make_script()
    for target in files.values():
        script = script.replace(f' /{target}', f' {root}/{target}')
    done = subprocess.run(
        ['bash', '-ec', script], text=True, capture_output=True, check=False
    )
    if done.returncode:
        return f'the instructions of the image fail: {done.stderr.strip()}'
    for source, target in files.items():
        if (checkout / source).read_text() == (root / target).read_text():
            return f'the instructions of the image leave {source} as it is'
        # The files of the image are scripts, except for templates.
        if not target.endswith('.j2'):
            syntax = subprocess.run(
                ['bash', '-n', str(root / target)], check=False
            )
            if syntax.returncode:
                return f'{source} is no script any more'
    return None


def check(
    project: Project, names: list[Name], checkout: pathlib.Path
) -> list[str]:
    """Return one line for every difference in a project since the last check.

    An example is ``user/kolla.rst: kolla_ironic: ansible/a.yml is gone; it is
    nowhere else``.

    :param names: the places of the names of this project.
    :param checkout: the sources of the project.
    """
    problems = []
    for name in names:
        problem = name.problem(checkout)
        if problem:
            problems.append(f'{name.page}: {name.text}: {problem}')
    if project.name in CHANGED:
        with tempfile.TemporaryDirectory() as root:
            problem = change(project.name, checkout, pathlib.Path(root))
        if problem:
            problems.append(f'deploy: {problem}')
    return problems


def main(argv: list[str] | None = None) -> int:
    """Check all projects, or only the given ones.

    :returns: 1 if anything has changed, otherwise 0.
    """
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'project',
        nargs='*',
        metavar='PROJECT[=PLACE]',
        help='a project, with the place of its checkout or Git repository',
    )
    parser.add_argument(
        '--release', help='the branch or tag to check, if not the usual one'
    )
    arguments = parser.parse_args(argv)
    projects, names, _ours = load()
    # The places of projects by their names; empty for the URL in the file.
    places = {}
    for word in arguments.project or projects:
        project_name, _equals, place = word.partition('=')
        places[project_name] = place
    unknown = places.keys() - projects.keys()
    if unknown:
        parser.error(f'no such project: {", ".join(sorted(unknown))}')
    count = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name, place in places.items():
            project = projects[name]
            release = arguments.release or project.release
            checkout = fetch_sources(
                project, place or project.git, release, pathlib.Path(temporary)
            )
            of_project = [
                place_of_name
                for place_of_name in names
                if place_of_name.project == name
            ]
            problems = check(project, of_project, checkout)
            count += len(problems)
            print(
                f'{name}, {release} {describe_revision(checkout)}: '
                f'{len(of_project)} places, {len(problems)} moved'
            )
            for problem in problems:
                print(f'  {problem}')
    return int(count > 0)


if __name__ == '__main__':
    sys.exit(main())
