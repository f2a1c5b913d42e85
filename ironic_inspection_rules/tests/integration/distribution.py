# SPDX-License-Identifier: Apache-2.0

"""The package as pip and index servers get it."""

import os
import pathlib
import shutil
import subprocess
import sys

from ironic_inspection_rules.tests import guide

_GIT = (
    'git',
    '-c',
    'user.name=Nobody',
    '-c',
    'user.email=nobody@localhost',
    '-c',
    'init.defaultBranch=main',
)


def checkout(directory: pathlib.Path) -> pathlib.Path:
    """Make a checkout of the tree as it is now, without tags.

    :param directory: where to; must exist.
    """
    source = directory / 'source'
    shutil.copytree(
        guide.ROOT,
        source,
        ignore=shutil.ignore_patterns(
            '.git',
            '.tox',
            '.venv',
            '.dev',
            '.stestr',
            '.*_cache',
            'build',
            'dist',
            '*.egg-info',
            '__pycache__',
            'reno.cache',
        ),
    )
    # Of a single commit pbr takes no version.
    for arguments in (
        ('init', '-q'),
        ('commit', '-qm', '1', '--allow-empty'),
        ('add', '-A'),
        ('commit', '-qm', '2'),
    ):
        subprocess.run([*_GIT, *arguments], cwd=source, check=True)
    return source


def wheel(source: pathlib.Path) -> pathlib.Path:
    """Build the wheel of a checkout or an unpacked source distribution.

    :returns: its path, in the directory that holds the checkout.
    :raises: RuntimeError that shows what pip printed.
    """
    # pip refuses constraints for a build that it does not isolate.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ('PBR_VERSION', 'PIP_BUILD_CONSTRAINT')
    }
    done = subprocess.run(
        [
            sys.executable,
            '-m',
            'pip',
            'wheel',
            '-q',
            '--no-deps',
            '--no-build-isolation',
            '-w',
            str(source.parent),
            str(source),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    if done.returncode:
        raise RuntimeError(done.stdout)
    (built,) = source.parent.glob('*.whl')
    return built


def sdist(source: pathlib.Path) -> pathlib.Path:
    """Build the source distribution of a checkout.

    :returns: the directory that it unpacks to, beside the checkout.
    """
    subprocess.run(
        [
            sys.executable,
            '-W',
            'ignore',
            '-c',
            'from pbr import build; build.build_sdist("..")',
        ],
        cwd=source,
        check=True,
        capture_output=True,
        env={
            name: value
            for name, value in os.environ.items()
            if name != 'PBR_VERSION'
        },
    )
    (archive,) = source.parent.glob('*.tar.gz')
    shutil.unpack_archive(archive, source.parent)
    return archive.with_name(archive.name.removesuffix('.tar.gz'))
