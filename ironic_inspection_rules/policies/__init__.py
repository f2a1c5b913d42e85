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
