# SPDX-License-Identifier: Apache-2.0

"""The API of traits, of all nodes and of one node.

``/v1/traits`` lists the traits of all nodes. ``/v1/nodes/<ident>/traits``
lists and changes the traits of a node, as Ironic does, but checks their names
and their number.
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

_put_as_ironic = controllers.undecorate(ironic_node.NodeTraitsController.put)
_delete_as_ironic = controllers.undecorate(
    ironic_node.NodeTraitsController.delete
)

QUERY = {'name': args.string, 'associated': args.boolean}
OF_NODE = {'trait': args.string}
"""Ironic also accepts a trait of a node as a parameter."""


@METRICS.timer('TraitsController.get_all')
def get_all(query: dict[str, Any]) -> dict[str, Any]:
    """List traits as placement does, with the number of nodes that have them.

    For example, ``{'traits': [{'name': 'HW_GPU', 'nodes': 3}]}``. A client
    that may list only the nodes of a project sees only the traits of these.

    :param query: the ``name`` of the traits, as ``startswith:HW_`` or
        ``in:HW_GPU,CUSTOM_A``; ``associated``, true for traits of at least one
        node, false for all other traits. A missing parameter is None.
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
    """Check that a trait exists: it is a standard trait, or a node has it.

    :raises: NotFound if it does not exist; the errors of
        :func:`_count_visible_nodes`.
    """
    only_this_trait = catalog.Selection(names=frozenset([name]))
    # Empty if the trait does not exist. A standard trait is listed even if no
    # node has it.
    counts = _count_visible_nodes(only_this_trait)
    if not counts:
        raise exceptions.NotFound(_('Trait %s could not be found.') % name)


def _count_visible_nodes(
    selection: catalog.Selection, associated: bool | None = None
) -> dict[str, int]:
    """Return for every selected trait how many nodes have it.

    Only nodes that the client may see are counted.

    :param selection: selects traits by their names.
    :param associated: True for traits of at least one node, False for traits
        of no node, None for all.
    :returns: ``{'HW_GPU': 3, 'HW_NUMA_ROOT': 0}``, in the order of the names.
        Standard traits that no node has are included, with 0.
    :raises: NotFound if the API version has no traits; Invalid if this process
        cannot reach the database; HTTPForbidden if the client may not list
        nodes.
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
    """List the traits of a node, as Ironic does."""
    return {'traits': _read_traits(node_ident, 'list')}


@METRICS.timer('NodeTraitsController.get_one')
def get_one_of_node(node_ident: str, trait: str) -> None:
    """Check that a node has a trait.

    :raises: NotFound if it does not have it.
    """
    if trait not in _read_traits(node_ident, 'list'):
        raise exceptions.NotFound(
            _("Node %(node)s doesn't have a trait '%(trait)s'")
            % {'node': node_ident, 'trait': trait}
        )


@METRICS.timer('NodeTraitsController.put')
def put(node_ident: str, query: dict[str, Any]) -> None:
    """Replace all traits of a node, or add the trait that the query names."""
    _put(node_ident, query['trait'])


@METRICS.timer('NodeTraitsController.put')
def put_one(node_ident: str, name: str, query: dict[str, Any]) -> None:
    """Add the trait that the path names to a node."""
    _refuse_second_trait(query)
    _put(node_ident, name)


def _put(node_ident: str, trait: str | None) -> None:
    """Add one trait to a node, or replace all its traits.

    * If the request names a trait, this trait is added, and the request must
      have no body.
    * Otherwise the traits in the body replace all traits of the node.

    The names are checked here, and then Ironic's own method makes the change.

    :param node_ident: the name or the UUID of the node.
    :param trait: the trait that the path or the query names, if any.
    :raises: Invalid if a name is not a valid trait, or if the node would have
        too many traits; nothing is changed then.
    """
    # The action "set" checks that the client may set traits of the node.
    present_traits = _read_traits(node_ident, 'set')
    body = request.parse(api.request.body, lenient=True)
    if trait:
        trait_names.validate([trait])
        trait_names.validate_count_of_node([*present_traits, trait])
        if body:
            raise exceptions.Invalid(
                _('No body should be provided when adding a trait')
            )
        # The body is empty or null. Clear it, because Ironic would parse it
        # again and fail at a byte order mark, which is allowed here.
        api.request.body = b''
    elif isinstance(body, dict) and isinstance(body.get('traits'), list):
        trait_names.validate(body['traits'])
        trait_names.validate_count_of_node(body['traits'])
    # A body in any other form is not checked here, because Ironic refuses it.
    if body is None:
        body = {}
    _put_as_ironic(
        ironic_node.NodeTraitsController(node_ident), trait, body=body
    )


@METRICS.timer('NodeTraitsController.delete')
def delete(node_ident: str, query: dict[str, Any]) -> None:
    """Remove all traits of a node, or the trait that the query names."""
    _delete_as_ironic(
        ironic_node.NodeTraitsController(node_ident), query['trait']
    )


@METRICS.timer('NodeTraitsController.delete')
def delete_one(node_ident: str, name: str, query: dict[str, Any]) -> None:
    """Remove the trait that the path names from a node."""
    _refuse_second_trait(query)
    _delete_as_ironic(ironic_node.NodeTraitsController(node_ident), name)


def _refuse_second_trait(query: dict[str, Any]) -> None:
    """Check that the query names no trait if the path names one.

    As in Ironic, ``/v1/nodes/n1/traits/HW_GPU`` and
    ``/v1/nodes/n1/traits?trait=HW_GPU`` are the same.
    """
    if query['trait'] is not None:
        raise exceptions.Invalid(_('The trait is named twice'))


def _read_traits(node_ident: str, action: str) -> list[str]:
    """Return the traits of a node.

    :param action: the action that the client must be allowed to perform on
        the traits: ``list`` or ``set``.
    """
    node = api_utils.check_node_policy_and_retrieve(
        f'baremetal:node:traits:{action}', node_ident
    )
    return node.traits.get_trait_names()
