# SPDX-License-Identifier: Apache-2.0

"""Policies of inspection requests, and of processing data again."""

from typing import Any

from oslo_policy import policy

GET = 'baremetal:inspection_request:get'
DELETE = 'baremetal:inspection_request:delete'
REAPPLY = 'baremetal:node:inventory:reapply'
REAPPLY_WITH_DATA = 'baremetal:node:inventory:reapply_with_data'
UNPROCESSED_LOGS = 'baremetal:node:inventory:unprocessed_logs'

_SCOPES = ['system', 'project']

_ADMIN_OR_SERVICE = ('(role:admin and system_scope:all) or '
                     '(role:service and system_scope:all) or '
                     'rule:service_role')

_REAPPLY_OPERATIONS: list[Any] = [
    {'path': '/nodes/{node_ident}/inventory/reapply', 'method': 'POST'},
    {'path': '/introspection/{node_ident}/data/unprocessed',
     'method': 'POST'}]

_RULES = (
    policy.DocumentedRuleDefault(
        name=GET,
        check_str='(role:reader and system_scope:all) or '
                  '(role:service and system_scope:all) or rule:service_role',
        scope_types=_SCOPES,
        description='Show inspection requests',
        operations=[{'path': '/inspection_requests', 'method': 'GET'},
                    {'path': '/inspection_requests/{request_uuid}',
                     'method': 'GET'}]),
    policy.DocumentedRuleDefault(
        name=DELETE,
        check_str='(role:member and system_scope:all) or rule:service_role',
        scope_types=_SCOPES,
        description='Abort inspection requests that are not yet processed',
        operations=[{'path': '/inspection_requests/{request_uuid}',
                     'method': 'DELETE'}]),
    policy.DocumentedRuleDefault(
        name=REAPPLY,
        check_str='rule:baremetal:node:set_provision_state',
        scope_types=_SCOPES,
        description='Run inspection hooks and rules again for a node',
        operations=_REAPPLY_OPERATIONS),
    policy.DocumentedRuleDefault(
        name=REAPPLY_WITH_DATA,
        check_str=_ADMIN_OR_SERVICE,
        scope_types=_SCOPES,
        description='Run inspection hooks and rules again for a node on '
                    'inspection data in the request, besides the policy of '
                    'a request without data. Rules write what they find in '
                    'these data to the node, where most projects must not '
                    'write themselves',
        operations=_REAPPLY_OPERATIONS),
    policy.DocumentedRuleDefault(
        name=UNPROCESSED_LOGS,
        check_str=_ADMIN_OR_SERVICE,
        scope_types=_SCOPES,
        description='See the logs of the ramdisk among unprocessed '
                    'inspection data',
        operations=[{'path': '/nodes/{node_ident}/inventory/unprocessed',
                     'method': 'GET'}]),
)


def list_rules() -> tuple[policy.DocumentedRuleDefault, ...]:
    """List these policies."""
    return _RULES
