# SPDX-License-Identifier: Apache-2.0

"""Networks inside of this machine: namespaces, cables, a switch, relays."""

import ctypes
import shutil
import socket
import subprocess
import typing
import uuid

import fixtures

from ironic_inspection_rules.tests.integration import relay

_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)


def why_unable() -> str | None:
    """Why networks cannot be made here, None if they can."""
    for program in ('ip', 'nft', 'dnsmasq', 'udhcpc', 'setpriv'):
        if not shutil.which(program):
            return f'no {program}'
    name = f'ir{uuid.uuid4().hex[:8]}'
    for command in (
        ['ip', 'netns', 'add', name],
        ['ip', 'netns', 'exec', name, 'nft', 'list', 'ruleset'],
        ['ip', 'netns', 'del', name],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return f'{" ".join(command)}: {done.stderr.strip()}'
    return None


class Namespace(fixtures.Fixture):
    """A network namespace with a loopback interface."""

    def _setUp(self) -> None:
        self.name = f'ir{uuid.uuid4().hex[:8]}'
        ip('netns', 'add', self.name)
        self.addCleanup(ip, 'netns', 'del', self.name)
        ip('-n', self.name, 'link', 'set', 'lo', 'up')

    def command(self, *command: str) -> list[str]:
        """A command line that runs a command in here, without a fork."""
        return ['ip', 'netns', 'exec', self.name, *command]

    def run(
        self, *command: str, check: bool = True, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in here to its end."""
        return subprocess.run(
            self.command(*command),
            check=check,
            capture_output=True,
            text=True,
            input=input,
        )

    def listen(self, port: int = 0) -> socket.socket:
        """A socket that listens on the loopback interface in here."""
        with (
            open('/proc/thread-self/ns/net') as outside,
            open(f'/run/netns/{self.name}') as inside,
        ):
            _enter(inside)
            try:
                return socket.create_server(('127.0.0.1', port))
            finally:
                _enter(outside)


class Switch(fixtures.Fixture):
    """A switch that namespaces are plugged into."""

    def _setUp(self) -> None:
        self._namespace = self.useFixture(Namespace()).name
        self._ports = 0
        ip(
            '-n',
            self._namespace,
            'link',
            'add',
            'switch',
            'up',
            'type',
            'bridge',
        )

    def plug(
        self, namespace: Namespace, interface: str, address: str | None = None
    ) -> None:
        """Give a namespace an interface that is plugged in here."""
        self._ports += 1
        port = f'port{self._ports}'
        ip(
            '-n',
            self._namespace,
            'link',
            'add',
            port,
            'type',
            'veth',
            'peer',
            'name',
            interface,
            'netns',
            namespace.name,
        )
        ip(
            '-n',
            self._namespace,
            'link',
            'set',
            port,
            'up',
            'master',
            'switch',
        )
        if address:
            ip(
                '-n',
                namespace.name,
                'address',
                'add',
                address,
                'dev',
                interface,
            )
        ip('-n', namespace.name, 'link', 'set', interface, 'up')


class Relay(relay.Relay):
    """Lets a namespace reach a server outside, until it is cut."""

    def __init__(self, namespace: Namespace, target: tuple[str, int]) -> None:
        super().__init__(target, namespace.listen)


def ip(*arguments: str) -> None:
    """Run the ip program."""
    subprocess.run(['ip', *arguments], check=True, capture_output=True)


def _enter(namespace: typing.IO[str]) -> None:
    """Put this thread into a network namespace."""
    if _LIBC.setns(namespace.fileno(), _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), 'setns')
