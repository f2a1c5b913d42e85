# SPDX-License-Identifier: Apache-2.0

"""Ironic's calls of nodes, whose lists can also be filtered by trait.

For example, ``GET /v1/nodes?traits=HW_GPU`` lists the nodes with this trait.
The request for a single trait of a node, which is a call of this project, is
answered with 404 in versions of the API without traits.
"""

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
    """Ironic's controller of nodes, with filters by trait in its lists.

    It also answers requests for a single trait in old versions of the API.
    """

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

        There is one exception, a call that this project adds to Ironic's:
        ``GET /v1/nodes/<ident>/traits/<trait>`` is answered with 404 if the
        requested API version does not have traits. Ironic's lookup finds no
        controller for such a version, and the call would fail.

        :param ident: the name or the UUID of the node.
        :param remainder: the parts of the path after the node, e.g.
            ``traits``, ``HW_GPU``.
        """
        names_trait = len(remainder) > 1 and remainder[0] == 'traits'
        if api.request.method == 'GET' and names_trait:
            if not api_utils.allow_traits():
                pecan.abort(http_client.NOT_FOUND)
        return super()._lookup(ident, *remainder)
