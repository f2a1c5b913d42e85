# SPDX-License-Identifier: Apache-2.0

"""Policies of inspection rules that Ironic does not have itself."""

from oslo_policy import policy

EVALUATE = 'baremetal:inspection_rule:evaluate'

_RULES = (
    policy.DocumentedRuleDefault(
        name=EVALUATE,
        check_str='role:admin and system_scope:all',
        scope_types=['system', 'project'],
        description='Try inspection rules without changing anything',
        operations=[{'path': '/inspection_rules/evaluate',
                     'method': 'POST'},
                    {'path': '/inspection_rules/replay',
                     'method': 'POST'}]),
)


def list_rules() -> tuple[policy.DocumentedRuleDefault, ...]:
    """List these policies."""
    return _RULES
