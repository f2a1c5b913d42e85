# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Networks inside of this machine: namespaces, cables, a switch, relays."""

import contextlib
import ctypes
import shutil
import socket
import subprocess
import threading
import typing
import uuid

import fixtures

_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)


def why_unable() -> str | None:
    """Why networks cannot be made here, None if they can."""
    for program in ('ip', 'nft', 'dnsmasq', 'udhcpc', 'setpriv'):
        if not shutil.which(program):
            return f'no {program}'
    name = f'ir{uuid.uuid4().hex[:8]}'
    for command in (['ip', 'netns', 'add', name],
                    ['ip', 'netns', 'exec', name, 'nft', 'list', 'ruleset'],
                    ['ip', 'netns', 'del', name]):
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

    def run(self, *command: str, check: bool = True
            ) -> subprocess.CompletedProcess[str]:
        """Run a command in here to its end."""
        return subprocess.run(self.command(*command), check=check,
                              capture_output=True, text=True)

    def listen(self, port: int = 0) -> socket.socket:
        """A socket that listens on the loopback interface in here."""
        with (open('/proc/thread-self/ns/net') as outside,
              open(f'/run/netns/{self.name}') as inside):
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
        ip('-n', self._namespace, 'link', 'add', 'switch', 'up', 'type',
           'bridge')

    def plug(self, namespace: Namespace, interface: str,
             address: str | None = None) -> None:
        """Give a namespace an interface that is plugged in here."""
        self._ports += 1
        port = f'port{self._ports}'
        ip('-n', self._namespace, 'link', 'add', port, 'type', 'veth', 'peer',
           'name', interface, 'netns', namespace.name)
        ip('-n', self._namespace, 'link', 'set', port, 'up', 'master',
           'switch')
        if address:
            ip('-n', namespace.name, 'address', 'add', address, 'dev',
               interface)
        ip('-n', namespace.name, 'link', 'set', interface, 'up')


class Relay(fixtures.Fixture):
    """Lets a namespace reach a server outside, until it is cut.

    :param target: host and port of the server.
    :ivar port: where it listens in the namespace, on 127.0.0.1.
    """

    def __init__(self, namespace: Namespace, target: tuple[str, int]) -> None:
        super().__init__()
        self._namespace = namespace
        self._target = target
        self._flows = threading.Event()
        self._open: list[socket.socket] = []

    def _setUp(self) -> None:
        self.port = 0
        self.join()
        self.addCleanup(self.cut)

    def join(self) -> None:
        """Begin to relay, or begin again."""
        self._flows.set()
        self._listener = self._namespace.listen(self.port)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,),
                         daemon=True).start()

    def cut(self) -> None:
        """Break all connections and refuse new ones."""
        for end in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._open.clear()
        self._flows.set()

    def freeze(self) -> None:
        """Keep all connections, and take new ones, but pass nothing on."""
        self._flows.clear()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near = listener.accept()[0]
                self._open.append(near)
                threading.Thread(target=self._connect, args=(near,),
                                 daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._target)
        except OSError:
            near.close()
            return
        self._open.append(far)
        threading.Thread(target=self._pump, args=(far, near),
                         daemon=True).start()
        self._pump(near, far)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError), source, sink:
            while data := source.recv(65536):
                self._flows.wait()
                sink.sendall(data)


def ip(*arguments: str) -> None:
    """Run the ip program."""
    subprocess.run(['ip', *arguments], check=True, capture_output=True)


def _enter(namespace: typing.IO[str]) -> None:
    """Put this thread into a network namespace."""
    if _LIBC.setns(namespace.fileno(), _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), 'setns')
