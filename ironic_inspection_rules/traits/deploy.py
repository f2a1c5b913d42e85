# SPDX-License-Identifier: Apache-2.0

"""Finds the traits of an instance that a node lacks.

Spec 004 "Proposed change" requires that ``instance_info['traits']`` is a
subset of the node's traits. Otherwise a change of traits that the scheduler
has not seen yet could lead to a wrong deployment.
"""

from collections.abc import Collection
import typing

from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.i18n import _


def find_problem_of_node(node: typing.Any) -> str | None:
    """Return why a node cannot be deployed with its instance's traits.

    :param node: a node object of Ironic.
    :returns: the reasons in one text, or None if the node can be deployed.
    """
    return find_problem(
        node.instance_info.get('traits'), node.traits.get_trait_names()
    )


def find_problem(wanted: object, present: Collection[str]) -> str | None:
    """Return why a node cannot be deployed with the wanted traits.

    This is used before a deployment, and for nodes on which rules are tried.

    :param wanted: ``instance_info['traits']``, which may be of any type; None
        if the instance does not require traits.
    :param present: the names of the node's traits.
    :returns: the reasons in one text, such as ``the node lacks traits of
        instance_info/traits: HW_GPU``; None if the node can be deployed.
    """
    if wanted is None:
        return None
    if not isinstance(wanted, list):
        return _(
            'instance_info/traits must be a list of traits, not %s'
        ) % suggestion.quote(wanted)
    # Use a list instead of a set, because wanted names may be unhashable.
    present_names = list(present)
    problems = []
    missing_names = set()
    for name in wanted:
        # Check this first, because a trait that the node has is valid even if
        # this service has an older os-traits that does not know the name.
        if name in present_names:
            continue
        problem_of_name = trait_names.find_problem(name)
        if problem_of_name is None:
            missing_names.add(name)
        else:
            problems.append(problem_of_name)
    if missing_names:
        problems.append(
            _('the node lacks traits of instance_info/traits: %s')
            % ', '.join(sorted(missing_names))
        )
    if not problems:
        return None
    return '; '.join(problems)
