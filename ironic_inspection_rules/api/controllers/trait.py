# SPDX-License-Identifier: Apache-2.0

"""The API of traits, of all nodes and of one node.

/v1/traits and, as Ironic has it but strict, /v1/nodes/<ident>/traits.
"""

from typing import Any

from ironic import api
from ironic.api.controllers.v1 import node as ironic_node
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import metrics_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import storage
from ironic_inspection_rules.patches import controllers
from ironic_inspection_rules.traits import catalog

METRICS = metrics_utils.get_metrics_logger(__name__)

_put = controllers.undecorated(ironic_node.NodeTraitsController.put)
_delete = controllers.undecorated(ironic_node.NodeTraitsController.delete)

QUERY = {'name': args.string, 'associated': args.boolean}
OF_NODE = {'trait': args.string}
"""Ironic takes a trait of a node also as a parameter."""


@METRICS.timer('TraitsController.get_all')
def get_all(query: dict[str, Any]) -> dict[str, Any]:
    """List traits as placement does, with the number of nodes of each.

    Who may list only the nodes of a project sees only their traits. Their
    ``name`` may be asked for as ``startswith:PREFIX`` or ``in:NAME,NAME``;
    ``associated`` ones are those that some node has.
    """
    counts = _count_visible_nodes(
        catalog.parse(query['name']), query['associated']
    )
    return {
        'traits': [
            {'name': name, 'nodes': count} for name, count in counts.items()
        ]
    }


@METRICS.timer('TraitsController.get_one')
def get_one(name: str) -> None:
    """Check that a trait exists: it is a standard one or a node has it.

    :raises: NotFound when it does not, and as :func:`_counts`.
    """
    if not _count_visible_nodes(catalog.Selection(names=frozenset([name]))):
        raise exceptions.NotFound(_('Trait %s could not be found.') % name)


def _count_visible_nodes(
    selection: catalog.Selection, associated: bool | None = None
) -> dict[str, int]:
    """Count the nodes that have a trait, of those that the client may see.

    :param associated: True for traits of at least one node, False for traits
        of no node, None for all.
    :returns: by trait, in the order of their names; 0 for a standard trait
        that no node has.
    :raises: NotFound with an API version without traits; Invalid if this
        process does not reach the database; HTTPForbidden if the client may
        not list nodes.
    """
    if not api_utils.allow_traits():
        raise exceptions.NotFound(_('The API version does not allow traits'))
    # None if the client may list the nodes of all projects.
    project = api_utils.check_list_policy('node')
    storage.require_own_database(
        failure=_('Traits cannot be listed with their nodes')
    )
    return catalog.count_nodes(selection, project, associated)


@METRICS.timer('NodeTraitsController.get_all')
def get_all_of_node(node_ident: str) -> dict[str, list[str]]:
    """List the node's traits."""
    return {'traits': _traits(node_ident, 'list')}


@METRICS.timer('NodeTraitsController.get_one')
def get_one_of_node(node_ident: str, trait: str) -> None:
    """Check that the node has a trait.

    :raises: NotFound when it does not.
    """
    if trait not in _traits(node_ident, 'list'):
        raise exceptions.NotFound(
            _("Node %(node)s doesn't have a trait '%(trait)s'")
            % {'node': node_ident, 'trait': trait}
        )


@METRICS.timer('NodeTraitsController.put')
def put(node_ident: str, *name_and_query: Any) -> None:
    """Add one trait, or replace all with those of the body.

    Ironic's own call does so, after the names are checked here.

    :raises: Invalid when a name is no trait, or when there would be too
        many of them; nothing is changed then.
    """
    trait = _trait(*name_and_query)
    # This also checks that the client may set traits of the node.
    present = _traits(node_ident, 'set')
    body = request.parse(api.request.body, lenient=True)
    if trait:
        trait_names.validate([trait])
        trait_names.validate_count_of_node([*present, trait])
        if body:
            raise exceptions.Invalid(
                _('No body should be provided when adding a trait')
            )
        # The body is empty or null. Ironic would parse it once more, and fail
        # at a byte order mark, which is allowed here.
        api.request.body = b''
    elif isinstance(body, dict) and isinstance(body.get('traits'), list):
        trait_names.validate(body['traits'])
        trait_names.validate_count_of_node(body['traits'])
    # Any other body is Ironic's to refuse.
    if body is None:
        body = {}
    _put(ironic_node.NodeTraitsController(node_ident), trait, body=body)


@METRICS.timer('NodeTraitsController.delete')
def delete(node_ident: str, *name_and_query: Any) -> None:
    """Remove one trait, or all."""
    trait = _trait(*name_and_query)
    _delete(ironic_node.NodeTraitsController(node_ident), trait)


def _trait(*name_and_query: Any) -> str | None:
    """Return the trait that a URL names, in its path or as a parameter.

    Ironic's own API takes either.

    :param name_and_query: the name in the path, if there is one, then the
        query.
    :raises: Invalid if both name one.
    """
    *path, query = name_and_query
    if not path:
        return query['trait']
    if query['trait'] is not None:
        raise exceptions.Invalid(_('The trait is named twice'))
    return path[0]


def _traits(node_ident: str, action: str) -> list[str]:
    """Return the node's traits, for who may list or set them."""
    node = api_utils.check_node_policy_and_retrieve(
        f'baremetal:node:traits:{action}', node_ident
    )
    return node.traits.get_trait_names()
