# SPDX-License-Identifier: Apache-2.0

"""Starts real Ironic services as processes of the running interpreter.

Both the integration tests and ``tools/demo`` use this package. It therefore
needs only packages that Ironic itself installs.
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
    """An Ironic that consists of services with one common database.

    :param directory: an existing directory for its files.
    :param overrides: options that override :func:`options.all_in_one`.
    :param services: the console scripts to start, in this order.
    :param auth: user name and password for HTTP basic authentication; None
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
        """Return the path of the SQLite file, which is the default database.

        An Ironic does not have this file if ``overrides`` set another
        database.
        """
        return options.database_file(self.directory)

    @property
    def url(self) -> str:
        """Return the URL of the API."""
        return f'http://127.0.0.1:{self.options["api"]["port"]}'

    def client(self) -> client.Client:
        """Create a client of the API with the rights of an administrator."""
        return client.Client(self.url, self.auth)

    def write_config(self) -> None:
        """Write the current options to the file :attr:`config`."""
        self.config.write_text(options.as_ini(self.options))

    def create_database(self) -> None:
        """Create Ironic's tables, then the tables of the plugin."""
        self.run('ironic-dbsync', 'create_schema')
        self.run('ironic-inspection-rules-dbsync', 'create_schema')

    def run(self, name: str, *arguments: str) -> str:
        """Run a console script with this configuration until it ends.

        :returns: the output of the script.
        :raises: LaunchError if the script fails.
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

        :raises: LaunchError if a service fails, if Ironic does not answer in
            time, or if another Ironic already uses the port.
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

        Its log is the file ``<name>.log``, which is kept across restarts.

        :param changes: options to override for only this service.
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
        """Stop all services in reverse order, and keep the database."""
        while self.services:
            self.services.pop().stop()

    def kill(self) -> None:
        """Kill all services, as a crash of the machine would."""
        while self.services:
            self.services.pop().kill()

    def restart(self, changes: options.Options | None = None) -> None:
        """Stop all services, and start them again with the same database.

        :param changes: options to override from now on.
        """
        self.stop()
        self.options = options.merged(self.options, changes or {})
        self.start()

    def logs(self) -> str:
        """Return the logs of all services so far."""
        return '\n'.join(
            f'--- {path.name}\n{path.read_text(errors="replace")}'
            for path in sorted(self.directory.glob('*.log'))
        )

    def _answers(self) -> bool:
        """Return whether the API answers and has drivers of a conductor."""
        try:
            with self.client() as session:
                return bool(session.call('GET', '/v1/drivers')['drivers'])
        except requests.RequestException:
            return False


def tail(text: str, lines: int = 50) -> str:
    """Return the last lines of a text."""
    return '\n'.join(text.splitlines()[-lines:])
