# SPDX-License-Identifier: Apache-2.0

"""Private coordinators that a test may stop, freeze and kill."""

import importlib.util
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import fixtures
from oslo_utils import importutils

etcd3gw = importutils.try_import('etcd3gw')
kazoo_client = importutils.try_import('kazoo.client')
kazoo_exceptions = importutils.try_import('kazoo.exceptions')
redis = importutils.try_import('redis')


class Coordinator(fixtures.Fixture):
    """A server in a process of its own, started by the fixture."""

    program = ''
    library = ''
    scheme = ''
    patience = 60

    @classmethod
    def why_missing(cls) -> str | None:
        """What is not installed, None if nothing."""
        if not importlib.util.find_spec(cls.library):
            return f'no Python package {cls.library}'
        return None if shutil.which(cls.program) else f'no {cls.program}'

    def __init__(self, host: str = '127.0.0.1') -> None:
        super().__init__()
        self.host = host
        self._ports: list[socket.socket] = []
        self.port = self.keep_port(host)

    def keep_port(self, host: str = '127.0.0.1') -> int:
        """A TCP port that stays ours, also while the server is away.

        Who has bound it with SO_REUSEADDR and does not listen lets a server
        have it that sets this option too, but nobody who takes any port.
        """
        kept = socket.socket()
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind((host, 0))
        self._ports.append(kept)
        return kept.getsockname()[1]

    @property
    def url(self) -> str:
        return f'{self.scheme}://{self.host}:{self.port}'

    def _setUp(self) -> None:
        for kept in self._ports:
            self.addCleanup(kept.close)
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.start()
        self.addCleanup(self.stop)

    def arguments(self) -> list[str]:
        raise NotImplementedError()

    def start(self) -> None:
        """Start it, with the data of the last time if the server keeps it."""
        self._process = subprocess.Popen(
            [self.program, *self.arguments()],
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + self.patience
        while True:
            try:
                socket.create_connection((self.host, self.port)).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def forget(self, name: str) -> None:
        """Take a lock away from whoever holds it.

        On a busy machine its holder may just have lost it.
        """
        deadline = time.monotonic() + self.patience
        while not self.take_away(name):
            if time.monotonic() > deadline:
                raise AssertionError(f'nobody holds {name}')
            time.sleep(0.05)

    def take_away(self, name: str) -> bool:
        """Delete a lock, and tell whether there was one."""
        raise NotImplementedError()

    def stop(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Let it answer nobody, but keep its connections."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)


class Redis(Coordinator):
    """A redis that forgets everything when it is started again."""

    program = 'redis-server'
    library = 'redis'
    scheme = 'redis'

    def arguments(self) -> list[str]:
        return [
            '--port',
            str(self.port),
            '--bind',
            self.host,
            '--save',
            '',
            '--protected-mode',
            'no',
        ]

    def take_away(self, name: str) -> bool:
        with redis.Redis(self.host, self.port) as client:
            return bool(client.delete(f'_tooz_{name}_lock'))


class Etcd(Coordinator):
    """An etcd of one node."""

    program = 'etcd'
    library = 'etcd3gw'
    scheme = 'etcd3+http'

    def __init__(self, host: str = '127.0.0.1') -> None:
        super().__init__(host)
        self._peer_port = self.keep_port()

    @property
    def url(self) -> str:
        return f'{super().url}?api_version=v3'

    def arguments(self) -> list[str]:
        clients = f'http://{self.host}:{self.port}'
        peers = f'http://127.0.0.1:{self._peer_port}'
        return [
            '--data-dir',
            'data',
            '--listen-client-urls',
            clients,
            '--advertise-client-urls',
            clients,
            '--listen-peer-urls',
            peers,
            '--initial-advertise-peer-urls',
            peers,
            '--initial-cluster',
            f'default={peers}',
        ]

    def take_away(self, name: str) -> bool:
        client = etcd3gw.client(self.host, self.port, api_path='/v3/')
        return client.delete(f'/tooz/locks{name}')


class Zookeeper(Coordinator):
    """A zookeeper of one node, as Debian packages it."""

    program = '/usr/share/zookeeper/bin/zkServer.sh'
    library = 'kazoo'
    scheme = 'zookeeper'

    def arguments(self) -> list[str]:
        config = self.directory / 'zoo.cfg'
        config.write_text(
            f'tickTime=500\ndataDir={self.directory}\n'
            f'clientPort={self.port}\nclientPortAddress={self.host}\n'
            'admin.enableServer=false\n'
        )
        return ['start-foreground', str(config)]

    def take_away(self, name: str) -> bool:
        client = kazoo_client.KazooClient(f'{self.host}:{self.port}')
        client.start()
        try:
            path = f'/tooz/locks/{name}'
            holders = sorted(
                client.get_children(path), key=lambda child: child[-10:]
            )
            if holders:
                client.delete(f'{path}/{holders[0]}')
            return bool(holders)
        except kazoo_exceptions.NoNodeError:
            return False
        finally:
            client.stop()
            client.close()
