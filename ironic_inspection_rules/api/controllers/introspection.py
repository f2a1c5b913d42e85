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

"""/v1/introspection: what an unmodified client of ironic-inspector asks."""

from http import client as http_client
from typing import Any

from ironic import api
from ironic.common import args
import pecan

from ironic_inspection_rules.adapters import intake
from ironic_inspection_rules.api import reapplication
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api.controllers import base

_PATH = ('data', 'unprocessed')


class IntrospectionController(base.RestController):
    """Leads to ``/v1/introspection/<ident>/data/unprocessed`` only.

    :param requests: where requests are put.
    """

    def __init__(self, requests: intake.Intake) -> None:
        self._requests = requests

    @pecan.expose()
    def _lookup(self, node_ident: str, *remainder: str) -> Any:
        if remainder[:len(_PATH)] != _PATH:
            pecan.abort(http_client.NOT_FOUND)
        return (UnprocessedDataController(self._requests, node_ident),
                remainder[len(_PATH):])


class UnprocessedDataController(base.RestController):
    """Reprocessing in ironic-inspector's words.

    :param requests: where requests are put.
    :param node_ident: UUID or name of the node.
    """

    def __init__(self, requests: intake.Intake, node_ident: str) -> None:
        self._requests = requests
        self._node_ident = node_ident

    @base.expose(status_code=http_client.ACCEPTED)
    def post(self) -> None:
        """Put a request to process the node's data again."""
        request.query({})
        body = request.body() if api.request.body else None
        reapplication.reapply(
            self._requests, args.uuid_or_name('node_ident', self._node_ident),
            reapplication.checked(body) if body else None)
