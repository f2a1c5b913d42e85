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


"""The traits of one node: ``/v1/nodes/<ident>/traits``."""

from collections.abc import Callable
import functools
from http import client as http_client
import json
import typing

from ironic import api
from ironic.api import method
from ironic.api.controllers.v1 import node
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import metrics_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.adapters.seams import controllers
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.traits import names

METRICS = metrics_utils.get_metrics_logger(__name__)

_put = controllers.undecorated(node.NodeTraitsController.put)


def _json_body(function: Callable[..., None]) -> Callable[..., None]:
    """Refuse a request body that is not JSON, before Ironic reads it."""
    @functools.wraps(function)
    def wrapper(*args: typing.Any, **kwargs: typing.Any) -> None:
        try:
            json.loads(api.request.body or 'null')
        except (ValueError, RecursionError) as exc:
            raise exceptions.Invalid(
                _('The body of the request is not JSON: %s') % exc) from exc
        return function(*args, **kwargs)

    return wrapper


class NodeTraitsController(node.NodeTraitsController):
    """Ironic's own, but strict about names, and one trait can be read."""

    @METRICS.timer('NodeTraitsController.get_one')
    @method.expose(status_code=http_client.NO_CONTENT)
    def get_one(self, trait: str) -> None:
        """Say whether the node has a trait.

        :raises: NotFound when it does not.
        """
        if trait not in self._traits('baremetal:node:traits:list'):
            raise exceptions.NotFound(
                _("Node %(node)s doesn't have a trait '%(trait)s'") % {
                    'node': self.node_ident, 'trait': trait})

    @METRICS.timer('NodeTraitsController.put')
    @method.expose(status_code=http_client.NO_CONTENT)
    @_json_body
    @method.body('body')
    def put(self, trait: str | None = None, *path: str,
            body: typing.Any = None, **parameters: typing.Any) -> None:
        """Add one trait, or replace all with those of the body.

        :raises: Invalid when a name is no trait, or when there would be too
            many of them; nothing is changed then.
        """
        if trait:
            names.validate([trait])
            has = self._traits('baremetal:node:traits:set')
            names.validate_count([*has, trait])
        elif isinstance(body, dict) and isinstance(body.get('traits'), list):
            names.validate(body['traits'])
            names.validate_count(body['traits'])
        _put(self, trait, *path, body=body, **parameters)

    def _traits(self, policy: str) -> list[str]:
        """The node's traits, for who may do what the policy is for."""
        found = api_utils.check_node_policy_and_retrieve(
            policy, self.node_ident)
        return found.traits.get_trait_names()
