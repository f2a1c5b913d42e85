# SPDX-License-Identifier: Apache-2.0

"""Runs Keystone as a process of this interpreter, if it is installed."""

import functools
import getpass
import grp
import os
import pathlib
import subprocess
import sys
import time
from typing import Any, Self

import requests

from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service

USER, PASSWORD = 'admin', 'pa55'
"""The administrator of the cloud, of its domain and of its project."""

REGION = 'RegionOne'

_START_TIMEOUT = 60
_POLL = 0.2


class Keystone:
    """A Keystone with one administrator, which runs while its context lasts.

    :param directory: an existing directory for its files.
    :ivar url: the URL of its API.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self._config = directory / 'keystone.conf'
        self._directory = directory
        self._port = options.free_port()
        self.url = f'http://127.0.0.1:{self._port}/v3'

    def __enter__(self) -> Self:
        """Create the database, keys and administrator, and start Keystone."""
        self._write_config()
        self._manage('db_sync')
        owner = (
            '--keystone-user',
            getpass.getuser(),
            '--keystone-group',
            grp.getgrgid(os.getgid()).gr_name,
        )
        self._manage('fernet_setup', *owner)
        self._manage('credential_setup', *owner)
        self._manage(
            'bootstrap',
            '--bootstrap-username',
            USER,
            '--bootstrap-password',
            PASSWORD,
            '--bootstrap-region-id',
            REGION,
            *(
                argument
                for interface in ('admin', 'internal', 'public')
                for argument in (f'--bootstrap-{interface}-url', self.url)
            ),
        )
        with open(self._directory / 'keystone.log', 'ab') as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    '-m',
                    __name__,
                    str(self._config),
                    str(self._port),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=service.end_with_parent,
            )
        self._wait()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._process.terminate()
        self._process.wait()

    @functools.cached_property
    def token(self) -> str:
        """A token of the administrator with system scope."""
        answer = requests.post(
            f'{self.url}/auth/tokens',
            json={
                'auth': {
                    'identity': {
                        'methods': ['password'],
                        'password': {
                            'user': {
                                'name': USER,
                                'domain': {'id': 'default'},
                                'password': PASSWORD,
                            }
                        },
                    },
                    'scope': {'system': {'all': True}},
                }
            },
            timeout=30,
        )
        answer.raise_for_status()
        return answer.headers['X-Subject-Token']

    def add_service(self, kind: str, url: str) -> None:
        """Add a service and its endpoints to the catalog.

        :param kind: the type of the service, e.g. ``baremetal``.
        :param url: the URL of all its endpoints.
        """
        added = self._post('services', 'service', {'type': kind})
        for interface in ('admin', 'internal', 'public'):
            self._post(
                'endpoints',
                'endpoint',
                {
                    'service_id': added['id'],
                    'interface': interface,
                    'url': url,
                    'region': REGION,
                },
            )

    def _post(self, path: str, name: str, body: dict[str, Any]) -> Any:
        """Create an object through the API, and return it.

        :param name: the key of the object in the documents of the API.
        """
        answer = requests.post(
            f'{self.url}/{path}',
            json={name: body},
            timeout=30,
            headers={'X-Auth-Token': self.token},
        )
        answer.raise_for_status()
        return answer.json()[name]

    def _write_config(self) -> None:
        """Write the configuration, and create the directories of keys."""
        groups = {'fernet_tokens': 'fernet', 'credential': 'credential'}
        for name in groups.values():
            (self._directory / name).mkdir(mode=0o700)
        self._config.write_text(
            options.as_ini(
                {
                    'database': {
                        'connection': f'sqlite:///{self._directory}/keystone.sqlite'
                    },
                    **{
                        group: {'key_repository': self._directory / name}
                        for group, name in groups.items()
                    },
                }
            )
        )

    def _manage(self, *arguments: str) -> None:
        """Run keystone-manage.

        :raises: LaunchError if it fails.
        """
        done = subprocess.run(
            [
                *service.console_script('keystone-manage'),
                '--config-file',
                str(self._config),
                *arguments,
            ],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode:
            raise service.LaunchError(
                f'keystone-manage {arguments[0]}:\n{done.stdout}'
            )

    def _wait(self) -> None:
        """Wait until the API answers.

        :raises: LaunchError if it does not answer in time, or its process
            fails.
        """
        deadline = time.monotonic() + _START_TIMEOUT
        while True:
            try:
                requests.get(self.url, timeout=30)
            except requests.ConnectionError as exc:
                if time.monotonic() > deadline or self._process.poll():
                    raise service.LaunchError('Keystone is not up') from exc
                time.sleep(_POLL)
            else:
                return


def serve(config: str, port: str) -> None:
    """Answer requests until the process ends."""
    from cheroot import wsgi as server
    from keystone.server import wsgi

    os.environ['OS_KEYSTONE_CONFIG_FILES'] = config
    application = wsgi.initialize_public_application()
    server.Server(('127.0.0.1', int(port)), application).start()


if __name__ == '__main__':
    # Remove the arguments, because Keystone reads the command line, too.
    arguments, sys.argv[1:] = sys.argv[1:], []
    serve(*arguments)
