# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


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
