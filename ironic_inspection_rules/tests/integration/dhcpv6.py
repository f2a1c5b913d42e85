# SPDX-License-Identifier: Apache-2.0

"""A DHCPv6 client that asks for an address, as far as the first answer.

Run as a program in a network namespace: ``dhcpv6.py INTERFACE MAC`` ends
with 0 when a server advertises an address, with 1 when none does.

Source: RFC 8415.
"""

import secrets
import socket
import struct
import sys

_CLIENT_PORT, _SERVER_PORT = 546, 547
_SERVERS = 'ff02::1:2'
_SOLICIT, _ADVERTISE = 1, 2
_CLIENT_ID, _IA_NA, _ELAPSED_TIME = 1, 3, 8
_TRIES = 3
_TIMEOUT = 1.0


def solicit(mac: str) -> bytes:
    """A message that asks all servers for an address."""
    duid = struct.pack('!HH', 3, 1) + bytes.fromhex(mac.replace(':', ''))
    return (
        bytes([_SOLICIT])
        + secrets.token_bytes(3)
        + b''.join(
            (
                _option(_CLIENT_ID, duid),
                _option(_ELAPSED_TIME, bytes(2)),
                _option(_IA_NA, struct.pack('!III', 1, 0, 0)),
            )
        )
    )


def _option(code: int, data: bytes) -> bytes:
    return struct.pack('!HH', code, len(data)) + data


def main(interface: str, mac: str) -> int:
    """Ask a few times; return the exit code."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.bind(('::', _CLIENT_PORT))
        client.settimeout(_TIMEOUT)
        scope = socket.if_nametoindex(interface)
        for _try in range(_TRIES):
            message = solicit(mac)
            client.sendto(message, (_SERVERS, _SERVER_PORT, 0, scope))
            try:
                answer = client.recv(2000)
            except TimeoutError:
                continue
            if answer[0] == _ADVERTISE and answer[1:4] == message[1:4]:
                return 0
    return 1


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
