# SPDX-License-Identifier: Apache-2.0

"""Write a constraints file for every tested Ironic, and one for the tools.

A file is resolved for all supported Pythons at once. It follows OpenStack's
upper constraints at the time of the release, and contains everything that our
own requirements name. Versions that are already in a file are kept, unless
--upgrade is given. This needs git and uv. "make constraints" runs it.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

from ironic_inspection_rules import releases

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_DIRECTORY = _ROOT / 'constraints'
_OLDEST_PYTHON = '3.11'
_UPPER_CONSTRAINTS = 'https://opendev.org/openstack/requirements'

_COMMITS = {
    # Of stable/2026.1.
    '35.0.1': 'c4c55d5279d824dc261a43ac51b56146ccc4dd4f',
    '35.1.0': '0190a07f0add94372d529cbddae77bdc22f3c96c',
    # Of master, on the day of the release.
    '36.0.0': 'a86c570516b474980fbcb590530412e403ce4e1d',
    '37.0.0': 'bc78431533f2e05fc2c68d44c245e3f21d7a4550',
    '38.0.0': 'd1864d8e23aa55598d760b8eb56528db8add8b43',
    '39.0.0': '3353677727f8351bc58ba98efafe6bc884a0257c',
}
"""The commit of OpenStack's requirements that matches a release of Ironic."""

_TOO_OLD = {
    # The commit is four weeks older than this release.
    '39.0.0': ('keystoneauth1', 'oslo.versionedobjects'),
}
"""Packages for which a release needs a newer version than its commit has."""

_TOO_OLD_FOR_TESTS = ('click', 'dnspython')
"""Packages for which our tests need a newer version than OpenStack has.

check-jsonschema does not start with click 8.3, and eventlet cannot load
dnspython 2.8 if httpx and h2 are installed.
"""

_FILES = ('.txt', '.in')
"""Endings of the names of requirements files; anything else is a
requirement."""

_HEADER = '# Made by "make constraints". Do not change it by hand.\n'


def read_upper_constraints(repository: pathlib.Path, release: str) -> str:
    """Return OpenStack's upper constraints at the time of a release of Ironic.

    Packages for which our tests or that Ironic need a newer version are
    skipped.

    :param repository: a clone of OpenStack's requirements.
    :param release: one of :data:`releases.TRIED`.
    :returns: lines such as ``alembic==1.16.5``.
    """
    text = subprocess.run(
        [
            'git',
            '-C',
            str(repository),
            'show',
            f'{_COMMITS[release]}:upper-constraints.txt',
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    left_out = (*_TOO_OLD_FOR_TESTS, *_TOO_OLD.get(release, ()))
    lines = []
    for line in text.splitlines():
        name, _equals, _version = line.partition('===')
        if name not in left_out:
            # uv accepts "===" only for texts that are not versions.
            lines.append(line.replace('===', '=='))
    return '\n'.join(lines)


def resolve(
    path: pathlib.Path,
    requirements: list[str],
    constraints: str,
    *options: str,
) -> None:
    """Write a constraints file.

    :param path: the path of the file. Versions that are in the file already
        are preferred.
    :param requirements: names of requirements files, and requirements such as
        ``ironic==39.0.0``.
    :param constraints: the lines of a constraints file that the result must
        meet.
    :param options: options of "uv pip compile".
    :raises: subprocess.CalledProcessError if there is no solution; uv has
        printed the reason.
    """
    with tempfile.TemporaryDirectory() as directory:
        upper = pathlib.Path(directory, 'upper.txt')
        upper.write_text(constraints)
        # uv reads requirements from files only.
        lines = pathlib.Path(directory, 'lines.in')
        lines.write_text(
            '\n'.join(
                line for line in requirements if not line.endswith(_FILES)
            )
        )
        files = [line for line in requirements if line.endswith(_FILES)]
        subprocess.run(
            [
                'uv',
                'pip',
                'compile',
                '--quiet',
                '--universal',
                '--python-version',
                _OLDEST_PYTHON,
                '--no-header',
                '--no-annotate',
                '--constraints',
                str(upper),
                '--output-file',
                str(path),
                *options,
                *files,
                str(lines),
            ],
            check=True,
            cwd=_ROOT,
        )
    path.write_text(_HEADER + path.read_text())


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--upgrade',
        action='store_true',
        help='use the newest version of every package that OpenStack does '
        'not constrain',
    )
    parser.add_argument(
        '--requirements',
        default=_UPPER_CONSTRAINTS,
        metavar='REPOSITORY',
        help="a URL or a directory of OpenStack's requirements (default: "
        '%(default)s)',
    )
    return parser.parse_args()


def main() -> int:
    """Write the constraints of the tools, and those of all tested Ironics."""
    arguments = parse_arguments()
    options = []
    if arguments.upgrade:
        options.append('--upgrade')
    resolve(_DIRECTORY / 'tools.txt', ['constraints/tools.in'], '', *options)
    with tempfile.TemporaryDirectory() as directory:
        repository = pathlib.Path(directory, 'requirements')
        subprocess.run(
            [
                'git',
                'clone',
                '--quiet',
                '--bare',
                '--filter=blob:none',
                arguments.requirements,
                str(repository),
            ],
            check=True,
        )
        for release in releases.TRIED:
            requirements = [
                'requirements.txt',
                'test-requirements.txt',
                'doc/requirements.txt',
                f'ironic=={release}',
            ]
            if release == releases.TRIED[-1]:
                requirements.append('constraints/newest.in')
            resolve(
                _DIRECTORY / f'ironic-{release}.txt',
                requirements,
                read_upper_constraints(repository, release),
                *options,
            )
            print(f'Constraints for Ironic {release} are written')
    return 0


if __name__ == '__main__':
    sys.exit(main())
