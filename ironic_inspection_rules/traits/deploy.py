# SPDX-License-Identifier: Apache-2.0

"""Checks that a node has the traits its instance asks for.

Spec 004 "Proposed change": ``instance_info['traits']`` must be a subset of
the node's traits, so that a change that the scheduler has not yet seen does
not lead to a wrong deployment.
"""

from collections.abc import Collection
import typing

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.traits import names


def node_problem(node: typing.Any) -> str | None:
    """Return why a node cannot be deployed with its instance's traits."""
    return problem(node.instance_info.get('traits'),
                   node.traits.get_trait_names())


def problem(wanted: object, present: Collection[str]) -> str | None:
    """Return why a node cannot be deployed with the traits asked for.

    :param wanted: ``instance_info['traits']``, of any type; None when the
        instance asks for none.
    """
    if wanted is None:
        return None
    if not isinstance(wanted, list):
        return _('instance_info/traits must be a list of traits, '
                 'not %r') % (wanted,)
    lacking = [name for name in wanted if name not in list(present)]
    problems = [found for found in map(names.problem, lacking) if found]
    missing = sorted({name for name in lacking if not names.problem(name)})
    if missing:
        problems.append(_('the node lacks traits of instance_info/traits: '
                          '%s') % ', '.join(missing))
    return '; '.join(problems) or None
