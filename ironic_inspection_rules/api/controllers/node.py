# SPDX-License-Identifier: Apache-2.0

"""Ironic's list of nodes with filters by trait."""

from http import client as http_client
import typing

from ironic import api
from ironic.api import method
from ironic.api.controllers.v1 import node
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import metrics_utils
import pecan

from ironic_inspection_rules.api import node_list

METRICS = metrics_utils.get_metrics_logger(__name__)


class NodesController(node.NodesController):
    """Ironic's controller of nodes, with filters by trait in its lists."""

    @METRICS.timer('NodesController.get_all')
    @method.expose()
    def get_all(
        self, chassis_uuid: str | None = None, **parameters: typing.Any
    ) -> dict[str, typing.Any]:
        """List nodes; the parameters are Ironic's and those of traits."""
        return node_list.list_nodes(
            self, node_list.GET_ALL, chassis_uuid, parameters
        )

    @METRICS.timer('NodesController.detail')
    @method.expose()
    def detail(
        self, chassis_uuid: str | None = None, **parameters: typing.Any
    ) -> dict[str, typing.Any]:
        """List nodes in detail, with the same parameters."""
        return node_list.list_nodes(
            self, node_list.DETAIL, chassis_uuid, parameters
        )

    @pecan.expose()
    def _lookup(self, ident: str, *remainder: str) -> typing.Any:
        """Find the controller of ``/v1/nodes/<ident>/…`` by Ironic's method.

        One call is answered here: ``GET /v1/nodes/<ident>/traits/<trait>``
        with an API version from before traits gets 404.
        """
        names_trait = remainder[:1] == ('traits',) and len(remainder) > 1
        reads_trait = names_trait and api.request.method == 'GET'
        # For these versions Ironic's method answers calls below "traits" as
        # Ironic did before it had traits. This call is one that the plugin
        # adds: there is no answer of Ironic to keep.
        if reads_trait and not api_utils.allow_traits():
            pecan.abort(http_client.NOT_FOUND)
        return super()._lookup(ident, *remainder)
