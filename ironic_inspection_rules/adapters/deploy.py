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

"""Refuses to deploy a node that lacks its instance's traits."""

import typing

from ironic_inspection_rules.adapters.seams import deploy as seam
from ironic_inspection_rules.traits import deploy


def install() -> None:
    """Have the conductor check traits at validation and before a deploy."""
    seam.check(_problem)


def _problem(node: typing.Any) -> str | None:
    return deploy.problem(node.instance_info.get('traits'),
                          node.traits.get_trait_names())
