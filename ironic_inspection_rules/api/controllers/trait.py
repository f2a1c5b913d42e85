# SPDX-License-Identifier: Apache-2.0

"""The traits there are: ``/v1/traits``."""

import typing

from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import metrics_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import tables
from ironic_inspection_rules.traits import catalog
from ironic_inspection_rules.traits import query

METRICS = metrics_utils.get_metrics_logger(__name__)

QUERY = {'name': args.string, 'associated': args.boolean}


@METRICS.timer('TraitsController.get_all')
def get_all(asked: dict[str, typing.Any]) -> dict[str, typing.Any]:
    """List traits as placement does, with the number of nodes of each.

    Who may list only the nodes of a project sees only their traits. Their
    ``name`` may be asked for as ``startswith:PREFIX`` or ``in:NAME,NAME``;
    ``associated`` ones are those that some node has.
    """
    counts = _counts(catalog.parse(asked['name']), asked['associated'])
    return {'traits': [{'name': found, 'nodes': nodes}
                       for found, nodes in counts.items()]}


@METRICS.timer('TraitsController.get_one')
def get_one(name: str) -> None:
    """Check that a trait exists: it is a standard one or a node has it.

    :raises: NotFound when it does not.
    """
    if not _counts(catalog.Selection(listed=frozenset([name]))):
        raise exceptions.NotFound(_('Trait %s could not be found.') % name)


def _counts(selection: catalog.Selection,
            associated: bool | None = None) -> dict[str, int]:
    if not api_utils.allow_traits():
        raise exceptions.NotFound(_('The API version does not allow traits'))
    project = api_utils.check_list_policy('node')
    tables.require(_('Traits cannot be listed with their nodes'))
    return catalog.select(selection, query.count_nodes(selection, project),
                          associated)
