# SPDX-License-Identifier: Apache-2.0

"""Starts real Ironics as processes of the running interpreter.

The integration tests and ``tools/demo`` drive the same Ironic through this
package, so it needs nothing beyond what Ironic itself installs.
"""

from collections.abc import Sequence
import os
import pathlib
import subprocess
import time
from typing import Self

import requests

from ironic_inspection_rules.tests.live import client
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service

_START_TIMEOUT = 120
_POLL = 0.1


class Ironic:
    """An Ironic made of one or more services over one database.

    :param directory: an existing directory for its files.
    :param overrides: configuration on top of :func:`options.all_in_one`.
    :param services: console scripts in the order they start.
    :param auth: user name and password for HTTP basic authentication, None
        for no authentication.
    :param outlive: whether the services may outlive this process.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        overrides: options.Options | None = None,
        services: Sequence[str] = ('ironic',),
        auth: tuple[str, str] | None = None,
        outlive: bool = False,
    ) -> None:
        self.directory = pathlib.Path(directory)
        self.config = self.directory / 'ironic.conf'
        self.auth = auth
        self.services: list[service.Service] = []
        options_of_auth: options.Options = {}
        if auth:
            options_of_auth = options.basic_auth(self.directory, *auth)
        self.options = options.merged(
            options.all_in_one(self.directory),
            options_of_auth,
            overrides or {},
        )
        self._names = tuple(services)
        self._outlive = outlive

    def __enter__(self) -> Self:
        self.create_database()
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    @property
    def database_file(self) -> pathlib.Path:
        """Return the SQLite file of an Ironic without another database."""
        return options.database_file(self.directory)

    @property
    def url(self) -> str:
        """Return the URL of the API."""
        return f'http://127.0.0.1:{self.options["api"]["port"]}'

    def client(self) -> client.Client:
        """Make a client of the API, which may do everything."""
        return client.Client(self.url, self.auth)

    def write_config(self) -> None:
        """Write the options as they are now to :attr:`config`."""
        self.config.write_text(options.as_ini(self.options))

    def create_database(self) -> None:
        """Make Ironic's tables, then the plugin's."""
        self.run('ironic-dbsync', 'create_schema')
        self.run('ironic-inspection-rules-dbsync', 'create_schema')

    def run(self, name: str, *arguments: str) -> str:
        """Run a console script with this configuration to its end.

        :returns: what it printed.
        :raises: LaunchError when it fails.
        """
        self.write_config()
        done = subprocess.run(
            [
                *service.console_script(name),
                '--config-file',
                str(self.config),
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise service.LaunchError(
                f'{name} {" ".join(arguments)} ended with '
                f'{done.returncode}:\n{done.stdout}'
            )
        return done.stdout

    def start(self) -> None:
        """Start all services and wait until the API has a conductor.

        :raises: LaunchError when a service fails or time runs out.
        """
        if self._names and self._answers():
            raise service.LaunchError(f'Another Ironic has {self.url}')
        for name in self._names:
            self.spawn(name)
        deadline = time.monotonic() + _START_TIMEOUT
        while not self._answers():
            for part in self.services:
                reason = part.failure()
                if reason:
                    raise service.LaunchError(
                        f'{reason}:\n{tail(part.output())}'
                    )
            if time.monotonic() > deadline:
                raise service.LaunchError(
                    f'Ironic did not come up:\n{tail(self.logs())}'
                )
            time.sleep(_POLL)

    def spawn(
        self, name: str, changes: options.Options | None = None
    ) -> service.Service:
        """Start one console script as a service with this configuration.

        Its log is the file ``<name>.log``, which outlives restarts.

        :param changes: to the configuration, for this service alone.
        """
        self.write_config()
        config = self.config
        if changes:
            config = self.directory / f'{name}-{len(self.services)}.conf'
            config.write_text(
                options.as_ini(options.merged(self.options, changes))
            )
        started = service.Service(
            name, config, self.directory / f'{name}.log', self._outlive
        )
        self.services.append(started)
        return started

    def stop(self) -> None:
        """Stop all services, last started first; the database stays."""
        while self.services:
            self.services.pop().stop()

    def kill(self) -> None:
        """End all services at once, as a crash of the machine would."""
        while self.services:
            self.services.pop().kill()

    def restart(self, changes: options.Options | None = None) -> None:
        """Stop and start again on the same database.

        :param changes: to the configuration.
        """
        self.stop()
        self.options = options.merged(self.options, changes or {})
        self.start()

    def logs(self) -> str:
        """Everything all services have logged so far."""
        return '\n'.join(
            f'--- {path.name}\n{path.read_text(errors="replace")}'
            for path in sorted(self.directory.glob('*.log'))
        )

    def _answers(self) -> bool:
        try:
            with self.client() as session:
                return bool(session.call('GET', '/v1/drivers')['drivers'])
        except requests.RequestException:
            return False


def tail(text: str, lines: int = 50) -> str:
    """The last lines of a text."""
    return '\n'.join(text.splitlines()[-lines:])
