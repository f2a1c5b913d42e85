# SPDX-License-Identifier: Apache-2.0

"""Policies of what rules did: runs and statistics."""

from oslo_policy import policy

GET = 'baremetal:node:inspection_rule:run:get'
STATISTICS = 'baremetal:inspection_rule:statistics'

_SCOPES = ['system', 'project']

_RUNS = '/nodes/{node_ident}/inspection_runs'

_RULES = (
    policy.DocumentedRuleDefault(
        name=GET,
        # Whoever may see the inventory may see what was made of it.
        check_str='rule:baremetal:node:inventory:get',
        scope_types=_SCOPES,
        description='Show what inspection rules did to a node, and why',
        operations=[{'path': _RUNS, 'method': 'GET'},
                    {'path': _RUNS + '/{run_uuid}', 'method': 'GET'},
                    {'path': _RUNS + '/explain', 'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=STATISTICS,
        check_str='(role:reader and system_scope:all) or '
                  '(role:service and system_scope:all) or rule:service_role',
        scope_types=_SCOPES,
        description='Show how often inspection rules ran and matched',
        operations=[{'path': '/inspection_rules/statistics',
                     'method': 'GET'}]),
)


def list_rules() -> tuple[policy.DocumentedRuleDefault, ...]:
    """List these policies."""
    return _RULES
