# SPDX-License-Identifier: Apache-2.0

"""/v1/nodes/<ident>/traits: Ironic's calls, strict, and one trait is read."""

from typing import Any

from ironic import api
from ironic.api.controllers.v1 import node as ironic_node
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import metrics_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.traits import names

METRICS = metrics_utils.get_metrics_logger(__name__)

_put = controllers.undecorated(ironic_node.NodeTraitsController.put)
_delete = controllers.undecorated(ironic_node.NodeTraitsController.delete)

QUERY = {'trait': args.string}
"""Ironic takes a trait also as a parameter."""


@METRICS.timer('NodeTraitsController.get_all')
def get_all(node_ident: str) -> dict[str, list[str]]:
    """List the node's traits."""
    return {'traits': _traits(node_ident, 'list')}


@METRICS.timer('NodeTraitsController.get_one')
def get_one(node_ident: str, trait: str) -> None:
    """Check that the node has a trait.

    :raises: NotFound when it does not.
    """
    if trait not in _traits(node_ident, 'list'):
        raise exceptions.NotFound(
            _("Node %(node)s doesn't have a trait '%(trait)s'") % {
                'node': node_ident, 'trait': trait})


@METRICS.timer('NodeTraitsController.put')
def put(node_ident: str, *found: Any) -> None:
    """Add one trait, or replace all with those of the body.

    :raises: Invalid when a name is no trait, or when there would be too
        many of them; nothing is changed then.
    """
    trait = _trait(*found)
    has = _traits(node_ident, 'set')
    body = request.body(any_type=True)
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
    _put(ironic_node.NodeTraitsController(node_ident), trait,
         body={} if body is None else body)


@METRICS.timer('NodeTraitsController.delete')
def delete(node_ident: str, *found: Any) -> None:
    """Remove one trait, or all."""
    _delete(ironic_node.NodeTraitsController(node_ident), _trait(*found))


def _trait(*found: Any) -> str | None:
    """Return the trait that a URL names, in its path or as a parameter.

    :param found: the name in the path, if there is one, then the query.
    """
    *path, query = found
    if path and query['trait'] is not None:
        raise exceptions.Invalid(_('The trait is named twice'))
    trait: str | None = path[0] if path else query['trait']
    return trait


def _traits(node_ident: str, action: str) -> list[str]:
    """Return the node's traits, for who may list or set them."""
    found = api_utils.check_node_policy_and_retrieve(
        f'baremetal:node:traits:{action}', node_ident)
    names: list[str] = found.traits.get_trait_names()
    return names
