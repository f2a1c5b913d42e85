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
                     'method': 'POST'}]),
)


def list_rules() -> tuple[policy.DocumentedRuleDefault, ...]:
    """List these policies."""
    return _RULES
