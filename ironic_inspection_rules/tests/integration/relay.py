# SPDX-License-Identifier: Apache-2.0

"""A TCP relay between a client and a server, which a test may cut."""

from collections.abc import Callable
import contextlib
import socket
import threading

import fixtures


def listen(port: int = 0) -> socket.socket:
    """A socket that listens on the loopback interface."""
    return socket.create_server(('127.0.0.1', port))


class Relay(fixtures.Fixture):
    """Lets clients reach a server, until it is cut.

    :param target: host and port of the server.
    :param listen: makes the socket for the clients, of its port or 0.
    :ivar port: where clients find it, on 127.0.0.1.
    """

    def __init__(
        self,
        target: tuple[str, int],
        listen: Callable[[int], socket.socket] = listen,
    ) -> None:
        super().__init__()
        self._target = target
        self._listen = listen
        self._flows = threading.Event()
        self._open: list[socket.socket] = []

    def _setUp(self) -> None:
        self.port = 0
        self.join()
        self.addCleanup(self.cut)

    def join(self) -> None:
        """Begin to relay, or begin again."""
        self._flows.set()
        self._listener = self._listen(self.port)
        self.port = self._listener.getsockname()[1]
        threading.Thread(
            target=self._accept, args=(self._listener,), daemon=True
        ).start()

    def cut(self) -> None:
        """Break all connections and refuse new ones."""
        for end in [self._listener, *self._open]:
            _end(end)
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
                threading.Thread(
                    target=self._connect, args=(near,), daemon=True
                ).start()

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._target)
        except OSError:
            near.close()
            return
        self._open.append(far)
        threading.Thread(
            target=self._pump, args=(far, near), daemon=True
        ).start()
        self._pump(near, far)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                sink.sendall(data)
        _end(source)
        _end(sink)


def _end(end: socket.socket) -> None:
    """Close a socket, also while another thread waits for its data."""
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
