# SPDX-License-Identifier: Apache-2.0

"""Policies of what is kept of inspections, one after another."""

from oslo_policy import policy

GET = 'baremetal:node:inventory:history:get'
PARTS = 'baremetal:inspection_part:get'

_SCOPES = ['system', 'project']
_HISTORY = '/nodes/{node_ident}/inventory/history'

_RULES = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str='rule:baremetal:node:inventory:get',
        scope_types=_SCOPES,
        description='Show what inspections of a node found over time',
        operations=[{'path': _HISTORY, 'method': 'GET'},
                    {'path': _HISTORY + '/{uuid}', 'method': 'GET'},
                    {'path': _HISTORY + '/diff', 'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=PARTS,
        # Which nodes are named depends on the policy above.
        check_str='rule:baremetal:node:list',
        scope_types=_SCOPES,
        description='Find the nodes that a part has been in, among those '
                    'whose history may be seen',
        operations=[{'path': '/inspection_parts', 'method': 'GET'}]),
)


def list_rules() -> tuple[policy.DocumentedRuleDefault, ...]:
    """List these policies."""
    return _RULES
