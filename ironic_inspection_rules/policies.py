# SPDX-License-Identifier: Apache-2.0

"""The policies of the API calls."""

from typing import Any

from ironic.common import policy as ironic_policy
from oslo_policy import policy

EVALUATE = 'baremetal:inspection_rule:evaluate'
STATISTICS = 'baremetal:inspection_rule:statistics'
TABLE_GET = 'baremetal:inspection_rule:table:get'
RUN_GET = 'baremetal:node:inspection_rule:run:get'
HISTORY_GET = 'baremetal:node:inventory:history:get'
PART_GET = 'baremetal:inspection_part:get'
REQUEST_GET = 'baremetal:inspection_request:get'
REQUEST_DELETE = 'baremetal:inspection_request:delete'
REAPPLY = 'baremetal:node:inventory:reapply'
REAPPLY_WITH_DATA = 'baremetal:node:inventory:reapply_with_data'
UNPROCESSED_LOGS = 'baremetal:node:inventory:unprocessed_logs'

_SYSTEM_READER = (
    '(role:reader and system_scope:all) or '
    '(role:service and system_scope:all) or rule:service_role'
)
_ADMIN_OR_SERVICE = (
    '(role:admin and system_scope:all) or '
    '(role:service and system_scope:all) or '
    'rule:service_role'
)
_INVENTORY = 'rule:baremetal:node:inventory:get'
"""Users who may see the inventory may also see runs and history."""

_RUNS = '/nodes/{node_ident}/inspection_runs'
_HISTORY = '/nodes/{node_ident}/inventory/history'
_REAPPLY_CALLS = (
    'POST /nodes/{node_ident}/inventory/reapply',
    'POST /introspection/{node_ident}/data/unprocessed',
)


def _rule(
    name: str, check: str, description: str, *calls: str
) -> policy.DocumentedRuleDefault:
    """Build a policy.

    :param name: the name of the policy.
    :param check: the default check.
    :param calls: the API calls that the policy guards, such as ``'GET
        /inspection_requests'``; used only in the sample policy.
    """
    operations: list[Any] = []
    for call in calls:
        method, path = call.split()
        operations.append({'method': method, 'path': path})
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        scope_types=['system', 'project'],
        operations=operations,
    )


_RULES = (
    _rule(
        REQUEST_GET,
        _SYSTEM_READER,
        'Show inspection requests',
        'GET /inspection_requests',
        'GET /inspection_requests/{request_uuid}',
    ),
    _rule(
        REQUEST_DELETE,
        '(role:member and system_scope:all) or rule:service_role',
        'Abort inspection requests that are not yet processed',
        'DELETE /inspection_requests/{request_uuid}',
    ),
    _rule(
        REAPPLY,
        'rule:baremetal:node:set_provision_state',
        'Run inspection hooks and rules again for a node',
        *_REAPPLY_CALLS,
    ),
    _rule(
        REAPPLY_WITH_DATA,
        _ADMIN_OR_SERVICE,
        'Run inspection hooks and rules again for a node on inspection '
        'data in the request, besides the policy of a request without '
        'data. Rules write what they find in these data to the node, where '
        'most projects must not write themselves',
        *_REAPPLY_CALLS,
    ),
    _rule(
        UNPROCESSED_LOGS,
        _ADMIN_OR_SERVICE,
        'See the logs of the ramdisk among unprocessed inspection data',
        'GET /nodes/{node_ident}/inventory/unprocessed',
    ),
    _rule(
        EVALUATE,
        'role:admin and system_scope:all',
        'Try inspection rules without changing anything',
        'POST /inspection_rules/evaluate',
        'POST /inspection_rules/replay',
    ),
    _rule(
        TABLE_GET,
        'rule:baremetal:inspection_rule:get',
        'Show the tables of the rule set without their secret columns',
        'GET /inspection_tables',
        'GET /inspection_tables/{table_name}',
        'GET /inspection_tables/{table_name}/machines',
    ),
    _rule(
        RUN_GET,
        _INVENTORY,
        'Show what inspection rules did to a node, and why',
        f'GET {_RUNS}',
        f'GET {_RUNS}/{{run_uuid}}',
        f'GET {_RUNS}/explain',
    ),
    _rule(
        STATISTICS,
        _SYSTEM_READER,
        'Show how often inspection rules ran and matched',
        'GET /inspection_rules/statistics',
    ),
    _rule(
        HISTORY_GET,
        _INVENTORY,
        'Show what inspections of a node found over time',
        f'GET {_HISTORY}',
        f'GET {_HISTORY}/{{uuid}}',
        f'GET {_HISTORY}/diff',
    ),
    # HISTORY_GET decides which nodes the response includes.
    _rule(
        PART_GET,
        'rule:baremetal:node:list',
        'Find the nodes that a part has been in, among those whose history '
        'may be seen',
        'GET /inspection_parts',
    ),
)


def list_rules() -> tuple[policy.DocumentedRuleDefault, ...]:
    """List the policies; the sample policy generator calls this, too."""
    return _RULES


def register(enforcer: policy.Enforcer) -> None:
    """Register the policies, unless they are registered already."""
    for rule in _RULES:
        if rule.name not in enforcer.registered_rules:
            enforcer.register_default(rule)


def get_enforcer() -> policy.Enforcer:
    """Return an enforcer of Ironic's policies and ours.

    It is called by the commands of oslo.policy, such as
    ``oslopolicy-list-redundant``. Operators keep both kinds of policies in one
    file. Ironic reads the arguments of the command, without the options that
    belong to oslo.policy.
    """
    enforcer = ironic_policy.get_oslo_policy_enforcer()
    register(enforcer)
    return enforcer
