# SPDX-License-Identifier: Apache-2.0

"""Runs Ironic's API in installed web servers, with the samples in etc."""

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

from ironic_inspection_rules.tests.live import launcher

ETC = pathlib.Path(__file__).parents[3] / 'etc'

_PYTHON = '/usr/bin/python3'
"""The Python that the web servers of Linux distributions are built with."""


def why_no_environment() -> str | None:
    """Return why :func:`make_environment` would fail; None if it works."""
    version = '.'.join(map(str, sys.version_info[:2]))
    if not shutil.which(_PYTHON):
        return f'no {_PYTHON}'
    done = subprocess.run(
        [_PYTHON, '--version'], capture_output=True, text=True
    )
    if f' {version}.' not in done.stdout:
        return f'{_PYTHON} is not of Python {version}'
    return None


def make_environment(directory: pathlib.Path) -> pathlib.Path:
    """Create a virtual environment that gives web servers our packages.

    It uses the Python of the distribution, because web servers are built with
    it.
    """
    path = directory / 'environment'
    subprocess.run(
        [_PYTHON, '-m', 'venv', '--without-pip', str(path)], check=True
    )
    [packages] = path.glob('lib/python*/site-packages')
    (packages / 'ours.pth').write_text(
        f'{sysconfig.get_path("purelib")}\n{ETC.parent}\n'
    )
    return path


def sample(
    directory: pathlib.Path, name: str, *changes: tuple[str, str]
) -> str:
    """Write a copy of a sample with changes for this machine.

    :param changes: pairs of a regular expression, which must match, and its
        replacement.
    :returns: the path of the copy.
    :raises: LookupError if an expression does not match.
    """
    text = (ETC / name).read_text()
    for expression, replacement in changes:
        text, count = re.subn(expression, replacement, text)
        if not count:
            raise LookupError(f'{name} has no {expression}')
    path = directory / pathlib.Path(name).name
    path.write_text(text)
    return str(path)


def uwsgi_config(
    ironic: launcher.Ironic, processes: int = 1, proxied: int | None = None
) -> str:
    """Write a copy of the sample of uWSGI for the API of an Ironic.

    :param proxied: the port on which uWSGI speaks its own protocol with a web
        server, which then has the port of the API; None if uWSGI itself
        serves the API by HTTP.
    :returns: the path of the copy.
    """
    if proxied:
        option = 'socket'
        port = proxied
    else:
        option = 'http-socket'
        port = ironic.options['api']['port']
    return sample(
        ironic.directory,
        'uwsgi/ironic-api.ini',
        (r'http-socket = .*', f'{option} = 127.0.0.1:{port}'),
        (r'processes = .*', f'processes = {processes}'),
        (r'/etc/ironic/ironic\.conf', str(ironic.config)),
    )


def uwsgi(
    ironic: launcher.Ironic,
    environment: pathlib.Path,
    proxied: int | None = None,
) -> list[str]:
    """Return the command that serves the API of an Ironic with uWSGI.

    :param proxied: see :func:`uwsgi_config`.
    """
    return [
        'uwsgi',
        '--plugin',
        'python3',
        '--ini',
        uwsgi_config(ironic, proxied=proxied),
        '--virtualenv',
        str(environment),
    ]
