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
        """Find the controller of ``/v1/nodes/<ident>/…`` as Ironic does.

        Only ``GET /v1/nodes/<ident>/traits/<trait>`` is answered here, with
        404, if the request asks for an API version from before traits. Ironic
        does not have this call.

        :param remainder: the parts of the path after the node: ``traits``,
            ``HW_GPU``.
        """
        has_trait_in_path = remainder[:1] == ('traits',) and len(remainder) > 1
        reads_trait = has_trait_in_path and api.request.method == 'GET'
        if reads_trait and not api_utils.allow_traits():
            pecan.abort(http_client.NOT_FOUND)
        # Other calls below "traits" get the answers that Ironic gave in these
        # versions.
        return super()._lookup(ident, *remainder)
