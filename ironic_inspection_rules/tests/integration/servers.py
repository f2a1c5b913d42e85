# SPDX-License-Identifier: Apache-2.0

"""Private servers that a test may stop and start at will."""

from collections.abc import Sequence
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

from ironic_inspection_rules.tests.functional import coordinator

_RABBITMQ = '/usr/lib/rabbitmq/bin/rabbitmq-server'


class MariaDB(coordinator.Coordinator):
    """A MariaDB that keeps its data while it is stopped."""

    program = 'mariadbd'

    @classmethod
    def why_missing(cls) -> str | None:
        return None if shutil.which(cls.program) else 'no MariaDB'

    @property
    def url(self) -> str:
        return f'mysql+pymysql://root@{self.host}:{self.port}/ironic'

    def _setUp(self) -> None:
        super()._setUp()
        _run(
            'mariadb',
            '--no-defaults',
            '-h',
            self.host,
            '-P',
            str(self.port),
            '-u',
            'root',
            '-e',
            'CREATE DATABASE ironic',
        )

    def start(self) -> None:
        if not (self.directory / 'data').exists():
            _run(
                'mariadb-install-db',
                '--no-defaults',
                '--user=root',
                f'--datadir={self.directory}/data',
                '--skip-test-db',
                '--auth-root-authentication-method=normal',
            )
        super().start()

    def arguments(self) -> list[str]:
        return [
            '--no-defaults',
            '--user=root',
            f'--datadir={self.directory}/data',
            f'--socket={self.directory}/socket',
            f'--bind-address={self.host}',
            f'--port={self.port}',
            '--skip-log-bin',
            '--innodb-flush-log-at-trx-commit=2',
        ]


class RabbitMQ(coordinator.Coordinator):
    """A RabbitMQ of its own."""

    program = 'env'
    patience = 60

    def __init__(self, host: str = '127.0.0.1') -> None:
        super().__init__(host)
        self._peer_port = self.keep_port()

    @classmethod
    def why_missing(cls) -> str | None:
        return None if os.path.exists(_RABBITMQ) else 'no RabbitMQ'

    @property
    def url(self) -> str:
        return f'rabbit://guest:guest@{self.host}:{self.port}/'

    def arguments(self) -> list[str]:
        config = self.directory / 'rabbitmq.conf'
        config.write_text(f'listeners.tcp.1 = {self.host}:{self.port}\n')
        files = {
            'CONFIG_FILE': config,
            'MNESIA_BASE': self.directory,
            'LOG_BASE': self.directory,
            'PID_FILE': self._pid_file,
            'ENABLED_PLUGINS_FILE': self.directory / 'plugins',
            'NODENAME': f'ir{self.port}@localhost',
            'DIST_PORT': self._peer_port,
        }
        return [
            f'HOME={self.directory}',
            *(f'RABBITMQ_{name}={value}' for name, value in files.items()),
            _RABBITMQ,
        ]

    def stop(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(self._pid_file.read_text()), signal.SIGKILL)
            self._pid_file.unlink()
            # A killed broker takes connections until it is gone, and then
            # its script ends.
            self._process.wait(self.patience)
        super().stop()

    @property
    def _pid_file(self) -> pathlib.Path:
        return self.directory / 'pid'


class HAProxy(coordinator.Coordinator):
    """A load balancer.

    :param ports: of the servers behind it, on the same host.
    """

    program = 'haproxy'

    @classmethod
    def why_missing(cls) -> str | None:
        return None if shutil.which(cls.program) else 'no HAProxy'

    def __init__(self, ports: Sequence[int]) -> None:
        super().__init__()
        self._behind = ports

    def arguments(self) -> list[str]:
        servers = ''.join(
            f'  server api{port} {self.host}:{port} check inter 500\n'
            for port in self._behind
        )
        config = self.directory / 'haproxy.cfg'
        config.write_text(
            'defaults\n  mode http\n  timeout connect 5s\n'
            '  timeout client 60s\n  timeout server 60s\n'
            '  option redispatch\n  retries 3\n'
            f'listen ironic\n  bind {self.host}:{self.port}\n'
            f'  balance roundrobin\n{servers}'
        )
        return ['-f', str(config)]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
