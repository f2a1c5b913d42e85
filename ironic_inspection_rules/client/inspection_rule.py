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

"""What openstacksdk lacks for inspection rules.

Each function takes ``baremetal``, the bare metal proxy of an openstacksdk
connection, and is named as its methods are (spec 003 "openstacksdk").
"""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from ironic_inspection_rules.client import http

_RULES = '/inspection_rules'


def inspection_rules(baremetal, details: bool = False,
                     **query: Any) -> Iterator[dict[str, Any]]:
    """List rules, page by page.

    :param details: whether with conditions and actions.
    :param query: ``scope``, ``phase``, ``limit``, ``marker``, ``sort_key``,
        ``sort_dir``, ``fields``.
    """
    if details:
        query['detail'] = 'true'
    return http.items(baremetal, _RULES, 'inspection_rules', query)


def create_inspection_rule(baremetal, rule: Mapping[str, Any]
                           ) -> dict[str, Any]:
    """Make a rule and return it."""
    return http.call(baremetal, 'POST', _RULES, json=rule)


def replace_inspection_rule(baremetal, uuid: str, rule: Mapping[str, Any]
                            ) -> dict[str, Any]:
    """Replace a rule whole and return it."""
    return http.call(baremetal, 'PUT', f'{_RULES}/{uuid}', json=rule)


def delete_inspection_rule(baremetal, uuid: str) -> None:
    """Remove a rule."""
    http.call(baremetal, 'DELETE', f'{_RULES}/{uuid}')


def delete_all_inspection_rules(baremetal) -> None:
    """Remove all rules but the built-in ones."""
    http.call(baremetal, 'DELETE', _RULES)


def evaluate_inspection_rules(baremetal, **request: Any) -> dict[str, Any]:
    """Try rules without changing anything.

    :param request: any of ``node``, ``inventory``, ``plugin_data``,
        ``rules`` and ``phase``; None counts as not given.
    """
    return http.call(baremetal, 'POST', f'{_RULES}/evaluate', json={
        name: value for name, value in request.items() if value is not None})
