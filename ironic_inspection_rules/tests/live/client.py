# SPDX-License-Identifier: Apache-2.0

"""A small client of Ironic's API that can also inspect a node."""

from collections.abc import Callable
import time
from typing import Any
from urllib import parse

import requests

_LATEST = {'X-OpenStack-Ironic-API-Version': 'latest'}
# These timeouts are longer than one minute, because Ironic itself waits for
# one minute when it changes the power of a machine or calls another service. A
# caller does not lose time by them, because waiting ends with the event.
_REQUEST_TIMEOUT = 180
_WAIT_TIMEOUT = 180
_POLL = 0.1


class Client(requests.Session):
    """A client of one Ironic that uses the latest microversion.

    :param url: the root of the API; paths of requests are relative to it.
    :param auth: user name and password; None for no authentication.
    :ivar patience: the number of seconds to wait for an event.
    :ivar pause: the number of seconds between two checks for an event.
    """

    def __init__(self, url: str, auth: tuple[str, str] | None = None) -> None:
        super().__init__()
        self.url = url
        self.auth = auth
        self.patience = _WAIT_TIMEOUT
        self.pause = _POLL
        self.headers.update(_LATEST)
        # Do not reuse connections, because a server may close an idle one just
        # when a request arrives. A request that changes something could then
        # not be repeated.
        self.headers['Connection'] = 'close'

    def request(
        self,
        method: str,
        url: str,  # type: ignore[override]
        **kwargs: Any,
    ) -> requests.Response:
        """Send one request.

        :param url: a path of the API, or a whole URL.
        """
        kwargs.setdefault('timeout', _REQUEST_TIMEOUT)
        return super().request(method, parse.urljoin(self.url, url), **kwargs)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send one request that must succeed.

        :returns: the JSON document of the response; None if it is empty.
        :raises: requests.HTTPError with the response if the request fails.
        """
        answer = self.request(method, path, json=body)
        if not answer.ok:
            raise requests.HTTPError(
                f'{method} {path}: {answer.status_code} {answer.text}',
                response=answer,
            )
        if not answer.content:
            return None
        return answer.json()

    def enroll(
        self, macs: list[str] | tuple[str, ...] = (), **fields: Any
    ) -> str:
        """Create a manageable node with a port for each MAC address.

        :param fields: fields of the node; the default of ``driver`` is
            ``fake-hardware``.
        :returns: the node's UUID.
        """
        node: str = self.call(
            'POST', '/v1/nodes', {'driver': 'fake-hardware', **fields}
        )['uuid']
        for mac in macs:
            self.call('POST', '/v1/ports', {'node_uuid': node, 'address': mac})
        self.call(
            'PUT', f'/v1/nodes/{node}/states/provision', {'target': 'manage'}
        )
        self.wait_for_state(node, 'manageable')
        return node

    def node(self, node: str) -> dict[str, Any]:
        """Return a node in the form in which the API returns it."""
        shown: dict[str, Any] = self.call('GET', f'/v1/nodes/{node}')
        return shown

    def stored_data(self, node: str) -> dict[str, Any]:
        """Return the node's stored ``inventory`` and ``plugin_data``."""
        stored: dict[str, Any] = self.call(
            'GET', f'/v1/nodes/{node}/inventory'
        )
        return stored

    def trace(self, node: str) -> dict[str, list[dict[str, Any]]]:
        """Return what rules did in the last inspection, by phase."""
        trace: dict[str, list[dict[str, Any]]]
        trace = self.stored_data(node)['plugin_data']['inspection_rules']
        return trace

    def traits(self, node: str) -> list[str]:
        """Return the node's traits in alphabetical order."""
        return sorted(self.call('GET', f'/v1/nodes/{node}/traits')['traits'])

    def port(self, mac: str) -> dict[str, Any]:
        """Return the port with a MAC address."""
        port: dict[str, Any]
        (port,) = self.call('GET', f'/v1/ports/detail?address={mac}')['ports']
        return port

    def start_inspection(self, node: str) -> None:
        """Start an inspection, and wait until it needs data of the ramdisk."""
        self.call(
            'PUT', f'/v1/nodes/{node}/states/provision', {'target': 'inspect'}
        )
        self.wait_for_state(node, 'inspect wait')

    def inspect(self, node: str, data: dict[str, Any]) -> dict[str, Any]:
        """Inspect a manageable node with data that its ramdisk could post.

        :param data: the ``inventory`` and, on the same level, plugin data.
        :returns: the node after the inspection, even if the inspection failed.
        """
        self.start_inspection(node)
        self.call('POST', f'/v1/continue_inspection?node_uuid={node}', data)
        return self.wait_for_state(node, 'manageable', 'inspect failed')

    def wait_for_state(self, node: str, *states: str) -> dict[str, Any]:
        """Wait until the node is in one of the states and not locked.

        :returns: the node.
        :raises: TimeoutError with the last state if this takes too long.
        """

        def is_reached(fields: dict[str, Any]) -> bool:
            return fields['provision_state'] in states

        return self.wait_for(node, is_reached)

    def discover(self, data: dict[str, Any]) -> dict[str, Any]:
        """Post the data of an unknown machine, so that Ironic enrolls it.

        :returns: the new node after its inspection.
        """
        answer = self.call('POST', '/v1/continue_inspection', data)
        node: str = answer['node']['uuid']

        def is_done(fields: dict[str, Any]) -> bool:
            if fields['last_error']:
                return True
            # Ironic stores the inventory at the end of the inspection.
            return self.get(f'/v1/nodes/{node}/inventory').ok

        self.wait_for(node, is_done)
        return self.node(node)

    def wait_for(
        self, node: str, holds: Callable[[dict[str, Any]], object]
    ) -> dict[str, Any]:
        """Wait until a node is not locked and meets a condition.

        :param holds: the condition, which is called with the node's fields.
        :returns: the fields of the node that meet the condition.
        :raises: TimeoutError with the last state if this takes too long.
        """
        deadline = time.monotonic() + self.patience
        while True:
            shown = self.node(node)
            if shown['reservation'] is None and holds(shown):
                return shown
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f'node {node} stays in {shown["provision_state"]}: '
                    f'{shown["last_error"]}'
                )
            time.sleep(self.pause)
