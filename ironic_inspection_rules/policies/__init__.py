# SPDX-License-Identifier: Apache-2.0

"""The policies that this project adds to Ironic's."""

from collections.abc import Iterator
import itertools

from oslo_policy import policy

from ironic_inspection_rules.policies import inspection_request
from ironic_inspection_rules.policies import inspection_rule
from ironic_inspection_rules.policies import inspection_run
from ironic_inspection_rules.policies import inventory_history


def list_rules() -> Iterator[policy.RuleDefault]:
    """List the policies, also for the sample policy generator."""
    return itertools.chain(
        inspection_request.list_rules(),
        inspection_rule.list_rules(),
        inspection_run.list_rules(),
        inventory_history.list_rules(),
    )


def register(enforcer: policy.Enforcer) -> None:
    """Register the policies; doing so again changes nothing."""
    for rule in list_rules():
        if rule.name not in enforcer.registered_rules:
            enforcer.register_default(rule)
