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

"""A small client of Ironic's API, and the course of one inspection."""

import time
from typing import Any
from urllib import parse

import requests

_LATEST = {'X-OpenStack-Ironic-API-Version': 'latest'}
_REQUEST_TIMEOUT = 60
_STATE_TIMEOUT = 60
_POLL = 0.1


class Client(requests.Session):
    """Talks to one Ironic at the latest microversion.

    :param url: the root of the API; request paths are taken from there.
    :param auth: user name and password, None without authentication.
    """

    def __init__(self, url: str,
                 auth: tuple[str, str] | None = None) -> None:
        super().__init__()
        self.url = url
        self.auth = auth
        self.headers.update(_LATEST)

    def request(self, method: str, url: str,  # type: ignore[override]
                **kwargs: Any) -> requests.Response:
        """Send one request; ``url`` is a path or a whole URL."""
        kwargs.setdefault('timeout', _REQUEST_TIMEOUT)
        return super().request(method, parse.urljoin(self.url, url), **kwargs)

    def call(self, method: str, path: str,
             body: object = None) -> Any:
        """Send one request that must succeed.

        :returns: the answer's document, None when it is empty.
        :raises: requests.HTTPError that shows the answer otherwise.
        """
        answer = self.request(method, path, json=body)
        if not answer.ok:
            raise requests.HTTPError(
                f'{method} {path}: {answer.status_code} {answer.text}',
                response=answer)
        return answer.json() if answer.content else None

    def enroll(self, macs: list[str] | tuple[str, ...] = (),
               **fields: Any) -> str:
        """Create a manageable node with a port for each MAC address.

        :param fields: of the node; the driver is ``fake-hardware`` unless
            given.
        :returns: the node's UUID.
        """
        node: str = self.call('POST', '/v1/nodes',
                              {'driver': 'fake-hardware', **fields})['uuid']
        for mac in macs:
            self.call('POST', '/v1/ports', {'node_uuid': node,
                                            'address': mac})
        self.call('PUT', f'/v1/nodes/{node}/states/provision',
                  {'target': 'manage'})
        self.wait_for_state(node, 'manageable')
        return node

    def node(self, node: str) -> dict[str, Any]:
        """The node as the API shows it."""
        shown: dict[str, Any] = self.call('GET', f'/v1/nodes/{node}')
        return shown

    def stored_data(self, node: str) -> dict[str, Any]:
        """The node's stored ``inventory`` and ``plugin_data``."""
        stored: dict[str, Any] = self.call('GET',
                                           f'/v1/nodes/{node}/inventory')
        return stored

    def start_inspection(self, node: str) -> None:
        """Have a manageable node wait for the data of its ramdisk."""
        self.call('PUT', f'/v1/nodes/{node}/states/provision',
                  {'target': 'inspect'})
        self.wait_for_state(node, 'inspect wait')

    def inspect(self, node: str, data: dict[str, Any]) -> dict[str, Any]:
        """Inspect a manageable node with what its ramdisk would post.

        :param data: ``inventory`` and, beside it, the plugin data.
        :returns: the node after the inspection, failed or not.
        """
        self.start_inspection(node)
        self.call('POST', f'/v1/continue_inspection?node_uuid={node}', data)
        return self.wait_for_state(node, 'manageable', 'inspect failed')

    def wait_for_state(self, node: str, *states: str) -> dict[str, Any]:
        """Wait until the node is in one of the states and not locked.

        :returns: the node.
        :raises: TimeoutError that names the state it stayed in.
        """
        deadline = time.monotonic() + _STATE_TIMEOUT
        while True:
            shown = self.node(node)
            if shown['provision_state'] in states and (
                    shown['reservation'] is None):
                return shown
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f'node {node} is in {shown["provision_state"]}, not '
                    f'{" or ".join(states)}: {shown["last_error"]}')
            time.sleep(_POLL)
