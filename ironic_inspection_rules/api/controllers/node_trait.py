# SPDX-License-Identifier: Apache-2.0

"""The traits of one node: ``/v1/nodes/<ident>/traits``."""

from http import client as http_client
import typing

from ironic import api
from ironic.api import method
from ironic.api.controllers.v1 import node
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import metrics_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.traits import names

METRICS = metrics_utils.get_metrics_logger(__name__)

_put = controllers.undecorated(node.NodeTraitsController.put)
_delete = controllers.undecorated(node.NodeTraitsController.delete)


class NodeTraitsController(node.NodeTraitsController):
    """Ironic's own, but strict about names, and one trait can be read."""

    @METRICS.timer('NodeTraitsController.get_all')
    @method.expose()
    def get_all(self, **parameters: typing.Any) -> dict[str, list[str]]:
        """List the node's traits."""
        if parameters:
            raise exceptions.Invalid(
                _('Unexpected arguments: %s') % ', '.join(parameters))
        return {'traits': self._traits('baremetal:node:traits:list')}

    @METRICS.timer('NodeTraitsController.get_one')
    @base.expose(status_code=http_client.NO_CONTENT)
    def get_one(self, trait: str, *path: str) -> None:
        """Say whether the node has a trait.

        :raises: NotFound when it does not.
        """
        _check_end(path)
        request.query({})
        if trait not in self._traits('baremetal:node:traits:list'):
            raise exceptions.NotFound(
                _("Node %(node)s doesn't have a trait '%(trait)s'") % {
                    'node': self.node_ident, 'trait': trait})

    @METRICS.timer('NodeTraitsController.put')
    @method.expose(status_code=http_client.NO_CONTENT)
    def put(self, *path: str, **parameters: typing.Any) -> None:
        """Add one trait, or replace all with those of the body.

        :raises: Invalid when a name is no trait, or when there would be too
            many of them; nothing is changed then.
        """
        trait = _trait(path, parameters)
        has = self._traits('baremetal:node:traits:set')
        body = request.body(any_type=True)
        if isinstance(body, dict):
            # pecan takes what is in the body for parameters.
            parameters = {name: value for name, value in parameters.items()
                          if name not in body}
        if trait:
            names.validate([trait])
            names.validate_count([*has, trait])
            if body:
                raise exceptions.Invalid(
                    _('No body should be provided when adding a trait'))
            # Ironic reads it once more.
            api.request.body = b''
        elif isinstance(body, dict) and isinstance(body.get('traits'), list):
            names.validate(body['traits'])
            names.validate_count(body['traits'])
        _put(self, trait, body={} if body is None else body,
             **parameters)

    @METRICS.timer('NodeTraitsController.delete')
    @method.expose(status_code=http_client.NO_CONTENT)
    def delete(self, *path: str, **parameters: typing.Any) -> None:
        """Remove one trait, or all."""
        trait = _trait(path, parameters)
        _delete(self, trait, **parameters)

    def _traits(self, policy: str) -> list[str]:
        """The node's traits, for who may do what the policy is for."""
        found = api_utils.check_node_policy_and_retrieve(
            policy, self.node_ident)
        return found.traits.get_trait_names()


def _trait(path: tuple[str, ...],
           parameters: dict[str, typing.Any]) -> str | None:
    """Return the trait that a URL names, in its path or as a parameter.

    :param parameters: loses it.
    """
    _check_end(path[1:])
    if path and 'trait' in parameters:
        raise exceptions.Invalid(_('The trait is named twice'))
    return path[0] if path else parameters.pop('trait', None)


def _check_end(path: tuple[str, ...]) -> None:
    """Refuse a URL that goes on after the name of a trait."""
    if path:
        raise exceptions.NotFound(_('There is nothing beneath a trait.'))
