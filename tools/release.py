#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Pack the documents and a container layer, and try all files of a release.

    tools/release.py [--ironic 39.0.0]

It needs the wheel and the source distribution in dist/, the built documents,
and an index of packages. "make release" runs it. The files are installed into
new environments, as users do:

* the wheel and the source distribution without any other package. The commands
  for files must work there.
* the layer beside a stock Ironic, without an index. The installed command then
  creates the tables.
"""

import argparse
import gzip
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import venv

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_NAME = 'ironic-inspection-rules'
_DOCUMENTS = ('doc', 'api-ref', 'releasenotes')
_WHEELS = pathlib.PurePosixPath('usr/share', _NAME, 'wheels')
"""Directory of the wheels in the layer, relative to the root of a
container."""


class Environment:
    """A separate Python environment.

    :param directory: the directory in which it is created.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        venv.create(directory, with_pip=True)
        self._programs = directory / 'bin'

    def run(self, program: str, *words: object) -> str:
        """Run one of its programs, and return its standard output.

        :raises: subprocess.CalledProcessError if the program fails; its
            messages are on standard error.
        """
        # pip reads constraints from a variable, and those of who calls this
        # are not those of a user.
        return subprocess.run(
            [self._programs / program, *map(str, words)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def install(self, *words: object) -> None:
        """Have pip install something, and check that all fits together."""
        self.run('pip', 'install', '-q', *words)
        self.run('pip', 'check')


def find_one(pattern: str) -> pathlib.Path:
    """Return the file in ``dist`` that is to be published.

    :param pattern: a pattern for its name, such as ``*.whl``.
    :raises: SystemExit if there is no such file, or if there are several.
    """
    paths = list(_ROOT.glob(f'dist/{pattern}'))
    if len(paths) != 1:
        sys.exit(
            f'dist/{pattern}: {len(paths)} files where one is needed: '
            'make clean release'
        )
    return paths[0]


def pack(path: pathlib.Path, members: dict[str, pathlib.Path]) -> None:
    """Write an archive that is reproducible: equal content gives equal bytes.

    :param path: the path of the archive.
    :param members: files and directories, by name in the archive.
    """
    with (
        open(path, 'wb') as file,
        gzip.GzipFile('', 'wb', fileobj=file, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode='w') as archive,
    ):
        for name, member in members.items():
            for part in (member, *sorted(member.rglob('*'))):
                below_member = part.relative_to(member)
                # Sphinx's internal files begin with a dot.
                if any(word.startswith('.') for word in below_member.parts):
                    continue
                archive.add(
                    part,
                    str(pathlib.PurePosixPath(name, below_member)),
                    recursive=False,
                    filter=_without_owner_and_time,
                )


def _without_owner_and_time(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the owner and the time from a member of an archive."""
    member.uid = member.gid = 0
    member.uname = member.gname = ''
    member.mtime = 0
    return member


def pack_documents(version: str) -> pathlib.Path:
    """Pack the documents that "make docs" has built.

    :param version: the version of this project, for the name of the archive.
    :returns: the path of the archive.
    :raises: SystemExit if they are not built.
    """
    members = {}
    for name in _DOCUMENTS:
        directory = _ROOT / name / 'build/html'
        if not directory.joinpath('index.html').exists():
            sys.exit(
                f'{directory.relative_to(_ROOT)}: there is no index.html: '
                'make docs'
            )
        members[f'{_NAME}-{version}/{name}'] = directory
    path = _ROOT / 'dist' / f'{_NAME}-{version}-documents.tar.gz'
    pack(path, members)
    return path


def pack_layer(
    environment: Environment,
    wheel: pathlib.Path,
    version: str,
    ironic: str,
    directory: pathlib.Path,
) -> pathlib.Path:
    """Pack the wheel, and the packages that it needs and an Ironic lacks.

    :param environment: an environment with this Ironic, in which pip reports
        the missing packages.
    :param wheel: the path of the wheel.
    :param version: the version of this project.
    :param ironic: the version of this Ironic.
    :param directory: an empty directory for the wheels.
    :returns: the path of the archive.
    """
    # A dry run of pip names the packages that it would install.
    report = json.loads(
        environment.run(
            'pip',
            'install',
            '-q',
            '--dry-run',
            '--report',
            '-',
            '-c',
            _constraints(ironic),
            wheel,
        )
    )
    missing = []
    for package in report['install']:
        metadata = package['metadata']
        if metadata['name'] != _NAME:
            missing.append(f'{metadata["name"]}=={metadata["version"]}')
    environment.run(
        'pip', 'wheel', '-q', '--no-deps', '-w', directory, wheel, *missing
    )
    # Some of the wheels have parts in C, which are for one Python on one kind
    # of processor, such as cp311-linux-x86_64.
    tag = environment.run(
        'python',
        '-c',
        (
            'import sys, sysconfig; print("cp%d%d-%s" % '
            '(*sys.version_info[:2], sysconfig.get_platform()))'
        ),
    ).strip()
    name = f'{_NAME}-{version}-layer-ironic-{ironic}-{tag}.tar.gz'
    path = _ROOT / 'dist' / name
    pack(path, {str(_WHEELS): directory})
    return path


def _constraints(ironic: str) -> pathlib.Path:
    """Return the constraints file of a release of Ironic."""
    return _ROOT / 'constraints' / f'ironic-{ironic}.txt'


def check_tools(environment: Environment, version: str) -> None:
    """Check the tools that work without Ironic.

    They must print their version, and test the rules of the starter on its
    machines.

    :raises: subprocess.CalledProcessError or AssertionError if they fail.
    """
    printed = environment.run(_NAME, '--version')
    assert version in printed, f'{printed!r} is not version {version}'
    starter = _ROOT / 'deploy/ci/starter'
    environment.run(_NAME, 'lint', starter / 'rules')
    environment.run(
        _NAME,
        'test',
        starter / 'rules',
        '--inventory',
        starter / 'machines',
        '--expect',
        starter / 'expected.yaml',
    )


def check_layer(
    environment: Environment, layer: pathlib.Path, root: pathlib.Path
) -> None:
    """Install a layer without a package index, and create its tables.

    :param environment: an environment with Ironic.
    :param layer: the path of the archive.
    :param root: an empty directory that replaces the root of a container.
    :raises: subprocess.CalledProcessError if a step fails.
    """
    with tarfile.open(layer) as archive:
        archive.extractall(root, filter='data')
    environment.install('--no-index', '--find-links', root / _WHEELS, _NAME)
    configuration = root / 'ironic.conf'
    configuration.write_text(
        f'[database]\nconnection = sqlite:///{root}/ironic.sqlite\n'
    )
    environment.run(
        'ironic-dbsync', '--config-file', configuration, 'create_schema'
    )
    environment.run(
        f'{_NAME}-dbsync', '--config-file', configuration, 'create_schema'
    )


def main() -> int:
    """Pack everything, and install it in the same way as users do.

    :returns: 0; a failure ends the command.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument(
        '--ironic',
        default='39.0.0',
        metavar='VERSION',
        help='the Ironic that the layer is for (default: %(default)s)',
    )
    arguments = parser.parse_args()
    wheel = find_one('*.whl')
    source = find_one('ironic_inspection_rules-*[0-9].tar.gz')
    version = wheel.name.split('-')[1]
    print('Packing the documents', flush=True)
    made = [wheel, source, pack_documents(version)]
    with tempfile.TemporaryDirectory() as temporary:
        place = pathlib.Path(temporary)
        for path in (wheel, source):
            print(f'Installing {path.name}', flush=True)
            environment = Environment(place / path.suffix)
            environment.install(path)
            check_tools(environment, version)
        print(
            f'Installing Ironic {arguments.ironic}, which takes minutes',
            flush=True,
        )
        environment = Environment(place / 'ironic')
        environment.install('-c', _constraints(arguments.ironic), 'ironic')
        print('Packing the layer', flush=True)
        layer = pack_layer(
            environment, wheel, version, arguments.ironic, place / 'wheels'
        )
        print(f'Installing {layer.name}', flush=True)
        root = place / 'root'
        root.mkdir()
        check_layer(environment, layer, root)
        made.append(layer)
    for path in made:
        print(f'{path.stat().st_size / 1e6:8.1f} MB  {path.name}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
